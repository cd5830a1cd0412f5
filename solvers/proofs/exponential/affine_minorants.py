"""Weak duality of the exponential cone: affine functions that a term is nowhere below.

For every p at which the term has a value, and for any slopes,

    exp(p)      >= s p + s - s log(s)                           s >= 0
    -log(p)     >= -s p + 1 + log(s)                            s > 0
    p log(p)    >= s p - exp(s - 1)                             any s
    log(sum_k c_k exp(p_k))  >=  sum_k s_k p_k - sum_k s_k log(s_k / c_k)     s >= 0, sum_k s_k = 1

and p >= 0 under a logarithm (0 log 0 = 0). Each is the inequality u'z >= 0 for u in the exponential
cone and z in its dual, {(a, b, c) : a < 0, c >= -a exp(b / a - 1)} and its closure, with the
multiplier of t scaled to 1, or 0 for p >= 0: the slopes are the multipliers, and the constant is
what the dual cone then allows. The slopes are doubles, taken as they are; the constant is enclosed
in rational numbers and rounded down.

A model with such rows in the place of its terms has every point of the model, t being the values of
the terms there, and the same objective. What is proven of it is therefore true of the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

import numpy as np
import scipy.sparse as sp

from tightmargin.solvers.exact_arithmetic import rounded_down
from tightmargin.solvers.proofs.exponential.enclosures import exp_between, log_between
from tightmargin.solvers.proofs.statement import SEAL, Infeasible, LowerBound, Proof
from tightmargin.solvers.standard_form.columns import Rows
from tightmargin.solvers.standard_form.exponential_terms import (
    ENTROPY,
    EXP,
    LOG,
    ExponentialForm,
    Term,
    exponential_form,
)
from tightmargin.solvers.standard_form.names import Labels, Listed
from tightmargin.solvers.standard_form.standard_form import StandardForm

METHOD = "weak duality of the exponential cone, "
Slopes = tuple[int, Sequence[float]]
Tangent = tuple[int, Sequence[float], float]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Minorised(Proof):
    """Every feasible point of the subject is one of `form`, with the same objective.

    Attributes
    ----------
    form : StandardForm
        The model with affine functions in the place of its terms; the subject is the model.
    tangents : tuple of (number of a term, slopes, constant)
        Of its last rows, in order.
    """

    form: StandardForm
    tangents: tuple[Tangent, ...]

    def _says(self) -> str:
        return "every point of the model is one of the model with affine functions for exp and log"


def minorised(form: StandardForm, slopes: Sequence[Slopes]) -> Minorised | None:
    """The model with a row t >= sum_k s_k p_k + constant for each of the slopes.

    Parameters
    ----------
    slopes : sequence of (number of a term, its s)
        Any numbers; for -log(p) the number s above, for a sum as many as it has parts, and none
        for p >= 0. Those that are no slopes are left out.

    Returns
    -------
    Minorised or None
        None for a model in which exp and log stand in other places too, or not at all.
    """
    read = exponential_form(form)
    if read is None or read.form.nonlinear:
        return None
    rows: list[tuple[list[tuple[int, float]], float]] = []
    tangents: list[Tangent] = []
    for number, s in slopes:
        term = read.terms[number]
        constant = constant_below(term, s)
        entries = None if constant is None else _row(term, s)
        if entries is not None and constant is not None and np.isfinite(constant):
            rows.append((entries, constant))
            tangents.append((number, s, constant))
    wider = _with_rows(read, rows)
    return Minorised(
        subject=form, words="affine functions below exp and log", seal=SEAL, form=wider,
        tangents=tuple(tangents),
    )  # fmt: skip


def of_the_model(proof: Minorised, bound: LowerBound) -> LowerBound:
    """A bound of the model with affine functions as one of the model.

    Raises
    ------
    ValueError
        The bound is of another model.
    """
    if bound.subject != proof.form:
        raise ValueError("the bound is of another model than the one with affine functions")
    return LowerBound(
        subject=proof.subject, words=METHOD + bound.words, seal=SEAL, varying=bound.varying
    )


def empty_too(proof: Minorised, empty: Infeasible) -> Infeasible:
    """That a model has no point, as the one with affine functions has none.

    Raises
    ------
    ValueError
        Another model has none.
    """
    if empty.subject != proof.form:
        raise ValueError("another model than the one with affine functions has no point")
    return Infeasible(subject=proof.subject, words=METHOD + empty.words, seal=SEAL)


def constant_below(term: Term, s: Sequence[float]) -> float | None:
    """The constant of the module's docstring, rounded down; None where s are no slopes."""
    if not len(s):
        return 0.0 if term.kind in (LOG, ENTROPY) else None
    if len(s) != len(term.parts) or not np.isfinite(s).all():
        return None
    exact = [Fraction(float(each)) for each in s]
    if term.kind == ENTROPY:
        above = exp_between(exact[0] - 1)[1]
        return None if above is None else rounded_down(-above)
    if min(exact) < 0:
        return None
    if term.kind == EXP:
        return rounded_down(exact[0] - _times_log(exact[0], Fraction(1)))
    if term.kind == LOG:
        return rounded_down(1 + log_between(exact[0])[0]) if exact[0] else None
    if sum(exact) != 1:
        return None
    parts = zip(exact, term.parts, strict=True)
    costs = (_times_log(each, Fraction(part.c)) for each, part in parts)
    return rounded_down(-sum(costs, Fraction(0)))


def _times_log(s: Fraction, c: Fraction) -> Fraction:
    """A number that s log(s / c) does not exceed."""
    return s * log_between(s / c)[1] if s else Fraction(0)


def _row(term: Term, s: Sequence[float]) -> list[tuple[int, float]] | None:
    """Entries of t - sum_k s_k p_k; None where those of one column add up to no double."""
    if not len(s):
        return [(part.column, part.sign) for part in term.parts if part.column >= 0]
    sign = -1 if term.kind == LOG else 1
    totals: dict[int, Fraction] = {term.value: Fraction(1)}
    for part, each in zip(term.parts, s, strict=True):
        if part.column >= 0:
            slope = -sign * Fraction(part.sign) * Fraction(float(each))
            totals[part.column] = totals.get(part.column, Fraction(0)) + slope
    entries = [(column, float(total)) for column, total in totals.items() if total]
    exact = all(Fraction(v) == totals[column] for column, v in entries)
    return entries if exact else None


def _with_rows(
    read: ExponentialForm, rows: Sequence[tuple[list[tuple[int, float]], float]]
) -> StandardForm:
    """The form with rows entries'x >= constant behind its own."""
    form, m = read.form, len(read.form.rows)
    entries = [(i, j, v) for i, (row, _) in enumerate(rows) for j, v in row]
    i, j, v = (np.array([entry[k] for entry in entries]) for k in range(3))
    more = sp.csr_matrix((v, (i.astype(int), j.astype(int))), shape=(len(rows), form.n))
    low = np.array([constant for _, constant in rows])
    names = Labels(
        ("", form.rows, np.arange(m)),
        ("", Listed([f"tangent {k}" for k in range(len(rows))]), np.arange(len(rows))),
    )
    return replace(
        form,
        matrix=sp.vstack([form.A, more], format="csr"),
        row_lower=np.concatenate([form.row_lower, low]),
        row_upper=np.concatenate([form.row_upper, np.full(len(rows), np.inf)]),
        rows=cast(Rows, names),
    )
