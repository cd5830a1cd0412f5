"""Feasible points of models with exp and log: each t is put where it is proven to be enough.

p and t are functions of the other coordinates. p is solved for in rational numbers, t is the upper
end of an enclosure of the term there, and the rows and the objective of what is left are evaluated
as those of any model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.exact_arithmetic import rounded_up
from tightmargin.solvers.proofs.exponential.enclosures import exp_between, log_between
from tightmargin.solvers.proofs.feasible_point import NONE, near_point, proven_point
from tightmargin.solvers.proofs.statement import SEAL, FeasiblePoint
from tightmargin.solvers.standard_form.exponential_terms import (
    ENTROPY,
    EXP,
    LOG,
    ExponentialForm,
    Part,
    Term,
    exponential_form,
)
from tightmargin.solvers.standard_form.standard_form import StandardForm


@dataclass(frozen=True, eq=False)
class Completed:
    """A point of `exponential_form(form).form` whose affine functions and terms have values.

    Attributes
    ----------
    x : array
        To the nearest doubles.
    exact : mapping
        Coordinates that are no doubles, by column.
    """

    x: Array
    exact: Mapping[int, Fraction]

    @property
    def coordinates(self) -> list[Fraction]:
        """All of them, as rational numbers."""
        return [self.exact.get(j, Fraction(value)) for j, value in enumerate(self.x.tolist())]


def completed(
    read: ExponentialForm, x: Array, exact: Mapping[int, Fraction] = NONE
) -> Completed | None:
    """A point with affine functions solved for, and each term where it is proven to be enough.

    Parameters
    ----------
    x, exact
        Coordinates of `read.form`; those of its terms and affine functions are not looked at.

    Returns
    -------
    Completed or None
        None where a term has no value.
    """
    known = dict(exact)
    x = x.copy()
    for equation in read.equations:
        _solve(read.form, equation.row, equation.column, x, known)
    for term in read.terms:
        value = value_above(term, x, known)
        if value is None:
            return None
        known.pop(term.value, None)
        x[term.value] = value
    return Completed(x, known)


def proven_exponential_point(
    form: StandardForm, x: Array, exact: Mapping[int, Fraction] = NONE
) -> FeasiblePoint | None:
    """The statement that a point is feasible, or by how much it misses rows; None without one.

    Parameters
    ----------
    form : StandardForm
        Of the model as it stands.
    x : array
        Coordinates of `exponential_form(form).form`; those of its terms and affine functions are
        not looked at.
    exact : mapping
        Rational coordinates in the place of some of them, by column.
    """
    read = exponential_form(form)
    if read is None or read.form.nonlinear or not np.isfinite(x).all():
        return None
    whole = completed(read, x, exact)
    if whole is None:
        return None
    found = proven_point(read.form, whole.x, whole.exact) or near_point(read.form, whole.x)
    if found is None or found.x is None:
        return None
    words = f"{found.words}, exp and log enclosed in rational numbers"
    columns = enumerate(read.columns.tolist())
    rational = {j: found.rational[k] for j, k in columns if k in found.rational}
    return FeasiblePoint(
        subject=form, words=words, seal=SEAL, varying=found.varying, x=found.x[read.columns],
        eps=found.eps, worst=found.worst, rational=rational,
    )  # fmt: skip


def value_above(term: Term, x: Array, known: Mapping[int, Fraction]) -> float | None:
    """A double that a term does not exceed at a point; None where it has no value there."""
    first = _at(term.parts[0], x, known)
    above: Fraction | None
    if term.kind == EXP:
        above = exp_between(first)[1]
    elif term.kind in (LOG, ENTROPY):
        if first <= 0:
            return None
        low, high = log_between(first)
        above = -low if term.kind == LOG else first * high
    else:
        above = _log_of_sum(term, x, known)
    value = None if above is None else rounded_up(above)
    return value if value is not None and np.isfinite(value) else None


def _log_of_sum(term: Term, x: Array, known: Mapping[int, Fraction]) -> Fraction | None:
    """A number that log(sum_k c_k exp(p_k)) does not exceed: the largest p_k is taken out."""
    ends = [_at(part, x, known) for part in term.parts]
    top = max(ends)
    total = Fraction(0)
    for part, p in zip(term.parts, ends, strict=True):
        above = exp_between(p - top)[1]
        assert above is not None
        total += Fraction(part.c) * above
    return top + log_between(total)[1]


def _at(part: Part, x: Array, known: Mapping[int, Fraction]) -> Fraction:
    if part.column < 0:
        return Fraction(0)
    return Fraction(part.sign) * _coordinate(part.column, x, known)


def _coordinate(column: int, x: Array, known: Mapping[int, Fraction]) -> Fraction:
    found = known.get(column)
    return Fraction(float(x[column])) if found is None else found


def _solve(form: StandardForm, row: int, column: int, x: Array, known: dict[int, Fraction]) -> None:
    """Give a column the value that its row, an equation, asks for."""
    span = slice(form.A.indptr[row], form.A.indptr[row + 1])
    own, rest = Fraction(0), Fraction(float(form.row_lower[row]))
    pairs = zip(form.A.indices[span].tolist(), form.A.data[span].tolist(), strict=True)
    for j, a in pairs:
        if j == column:
            own = Fraction(a)
        else:
            rest -= Fraction(a) * _coordinate(j, x, known)
    value = rest / own
    x[column] = float(value)
    known.pop(column, None)
    if Fraction(float(value)) != value:
        known[column] = value
