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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import lcm
from typing import cast

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.exact import rounded_down, rounded_up
from tightmargin.solvers.kernel.points import (
    NONE,
    as_floats,
    near_point,
    proven_point,
    proven_unbounded,
)
from tightmargin.solvers.kernel.statement import (
    SEAL,
    FeasiblePoint,
    Infeasible,
    LowerBound,
    Proof,
    Unbounded,
)
from tightmargin.solvers.model.columns import Labels, Listed, Rows
from tightmargin.solvers.model.exponential import (
    ENTROPY,
    EXP,
    LOG,
    ExponentialForm,
    Part,
    Term,
    exponential_form,
)
from tightmargin.solvers.model.reader import StandardForm

# --- exp and log of rational numbers between two rational numbers, by whole numbers alone --------
# Nobody bounds the error of a library's exp. Here every number is a multiple of 2^-BITS, sums and
# products of such numbers are whole-number operations, each is rounded towards the side that is
# asked for, and what a series leaves out is bounded by its first term:
#     exp(r) = sum_k r^k / k!                  0 <= r < 1; left out is at most 2 r^(N+1) / (N+1)!
#     log(m) = 2 sum_k z^(2k+1) / (2k+1)       z = (m - 1) / (m + 1) <= 1/3; at most 3 z^(2N+3)
# with exp(x) = 2^k exp(x - k log 2) and log(2^e m) = e log 2 + log(m), 1 <= m < 2.


BITS = 160
ONE = 1 << BITS
# Beyond these exp is a double no longer: its end is that of the number in its place.
LEAST, LARGEST = -745, 709

Interval = tuple[Fraction, Fraction]


def log_between(y: Fraction) -> Interval:
    """Rational numbers between which log(y) lies, 2^-140 apart for doubles y.

    Raises ValueError: y is not positive.
    """
    if y <= 0:
        raise ValueError(f"log({float(y)}) is no number")
    top, bottom = y.numerator, y.denominator
    e = top.bit_length() - bottom.bit_length()
    if e > 0:
        bottom <<= e
    else:
        top <<= -e
    if top < bottom:
        e, top = e - 1, 2 * top
    low, high = _log_of_mantissa(top, bottom)
    two_low, two_high = _log_of_two()
    if e < 0:
        two_low, two_high = two_high, two_low
    return Fraction(e * two_low + low, ONE), Fraction(e * two_high + high, ONE)


def exp_between(x: Fraction) -> tuple[Fraction, Fraction | None]:
    """Rational numbers between which exp(x) lies; None above where it is beyond the doubles."""
    if x > LARGEST:
        return exp_between(Fraction(LARGEST))[0], None
    if x < LEAST:
        return Fraction(0), exp_between(Fraction(LEAST))[1]
    two_low, two_high = _log_of_two()
    scaled = x * ONE
    k = int(scaled // two_high) if x >= 0 else int(scaled // two_low)
    # r = x - k log 2, whatever k is; it is chosen so that r is at least 0 and less than 1.
    ends = sorted((k * two_low, k * two_high))
    low, high = _floor(scaled) - ends[1], _ceil(scaled) - ends[0]
    factor = Fraction(2) ** k
    return Fraction(_exp_series(max(low, 0), up=False), ONE) * factor, Fraction(
        _exp_series(high, up=True), ONE
    ) * factor


def _exp_series(r: int, *, up: bool) -> int:
    """exp(r 2^-BITS) 2^BITS on one side, for 0 <= r 2^-BITS <= 1."""
    assert 0 <= r <= ONE
    total, term, k = ONE, ONE, 0
    while term > 1:
        k += 1
        term = _shifted(term * r, up=up)
        term = -(-term // k) if up else term // k
        total += term
    # Each later term is at most half of the one before it.
    return total + 2 * term if up else total


def _log_of_mantissa(top: int, bottom: int) -> tuple[int, int]:
    """log(top / bottom) 2^BITS, below and above, for 1 <= top / bottom <= 2."""
    z, rest = divmod((top - bottom) << BITS, top + bottom)
    return _log_series(z, up=False), _log_series(z + bool(rest), up=True)


@cache
def _log_of_two() -> tuple[int, int]:
    return _log_of_mantissa(2, 1)


def _log_series(z: int, *, up: bool) -> int:
    """2 artanh(z 2^-BITS) 2^BITS on one side, for 0 <= z 2^-BITS <= 1/3 and a unit more."""
    square = _shifted(z * z, up=up)
    power, k = z, 0
    total = power
    while power > 1:
        k += 1
        power = _shifted(power * square, up=up)
        total += -(-power // (2 * k + 1)) if up else power // (2 * k + 1)
    # Each later power is at most a fifth of the one before it.
    return 2 * (total + power) if up else 2 * total


def _shifted(product: int, *, up: bool) -> int:
    """A product of two numbers at 2^BITS, at 2^BITS again."""
    return -(-product >> BITS) if up else product >> BITS


def _floor(number: Fraction) -> int:
    return number.numerator // number.denominator


def _ceil(number: Fraction) -> int:
    return -(-number.numerator // number.denominator)


METHOD = "weak duality of the exponential cone, "
Slopes = tuple[int, Sequence[float]]
Tangent = tuple[int, Sequence[float], float]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Minorised(Proof):
    """Every feasible point of the subject is one of `form`, with the same objective.

    form: the model with affine functions in the place of its terms; the subject is the model.
    tangents (number of a term, slopes, constant): of its last rows, in order.
    """

    form: StandardForm
    tangents: tuple[Tangent, ...]

    def _says(self) -> str:
        return "every point of the model is one of the model with affine functions for exp and log"


@dataclass(frozen=True, eq=False)
class OfTangents:
    """A statement about a model with affine functions for its terms, as one about the model.

    read: the model with terms.
    """

    read: ExponentialForm
    proof: Minorised
    statement: LowerBound | Infeasible


def minorised(form: StandardForm, slopes: Sequence[Slopes]) -> Minorised | None:
    """The model with a row t >= sum_k s_k p_k + constant for each of the slopes.

    slopes (number of a term, its s): any numbers; for -log(p) the number s above, for a sum as many
        as it has parts, and none for p >= 0. Those that are no slopes are left out.
    Returns: none for a model in which exp and log stand in other places too, or not at all.
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

    Raises ValueError: the bound is of another model.
    """
    if bound.subject != proof.form:
        raise ValueError("the bound is of another model than the one with affine functions")
    evidence = OfTangents(_read(proof), proof, bound)
    return LowerBound(
        subject=proof.subject, words=METHOD + bound.words, seal=SEAL, varying=bound.varying,
        evidence=evidence,
    )  # fmt: skip


def empty_too(proof: Minorised, empty: Infeasible) -> Infeasible:
    """That a model has no point, as the one with affine functions has none.

    Raises ValueError: another model has none.
    """
    if empty.subject != proof.form:
        raise ValueError("another model than the one with affine functions has no point")
    evidence = OfTangents(_read(proof), proof, empty)
    return Infeasible(
        subject=proof.subject, words=METHOD + empty.words, seal=SEAL, evidence=evidence
    )


def _read(proof: Minorised) -> ExponentialForm:
    assert isinstance(proof.subject, StandardForm)
    read = exponential_form(proof.subject)
    assert read is not None
    return read


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


# --- Feasible points of models with exp and log: each t is put where it is proven to be enough ---
# p and t are functions of the other coordinates. p is solved for in rational numbers, t is the
# upper end of an enclosure of the term there, and the rows and the objective of what is left are
# evaluated as those of any model.


@dataclass(frozen=True, eq=False)
class Completed:
    """A point of `exponential_form(form).form` whose affine functions and terms have values.

    x: to the nearest doubles.
    exact: coordinates that are no doubles, by column.
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

    x, exact: coordinates of `read.form`; those of its terms and affine functions are not looked at.
    Returns: none where a term has no value.
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

    form: of the model as it stands.
    x: coordinates of `exponential_form(form).form`; those of its terms and affine functions are not
        looked at.
    exact: rational coordinates in the place of some of them, by column.
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


# --- Rays of models with exp and log, along which each column rises as fast as its term does
#     at last
# The set of points above a convex term is closed, and from any of its points the same rays stay in
# it: those along which the term's value rises at last by no more than its column,
#     exp(p)      0 where p does not rise     log(sum_k c_k exp(p_k))     the largest rise of a p_k
#     -log(p)     0 where p does not fall     p log(p)                    0 where p stays
# and by more than any line elsewhere (Rockafellar, Convex Analysis, 1970, section 8). What is left
# is a ray of a model without terms.


def proven_exponential_ray(form: StandardForm, x: Array, ray: Array) -> Unbounded | None:
    """A model whose objective falls along a ray from a point; None where these prove it not.

    form: of the model as it stands.
    x, ray (n,): a point and a direction in its columns, taken as the exact numbers that they are.
    """
    read = exponential_form(form)
    if read is None or read.form.nonlinear or not (np.isfinite(x).all() and np.isfinite(ray).all()):
        return None
    full = np.zeros(read.form.n)
    full[read.columns] = x
    whole, d = completed(read, full), completed_ray(read, ray)
    if whole is None or d is None:
        return None
    point = proven_point(read.form, whole.x, whole.exact)
    unit = lcm(*(value.denominator for value in d))
    numbers = [int(value * unit) for value in d]
    found = None if point is None else proven_unbounded(read.form, point, numbers)
    if found is None:
        return None
    words = f"{found.words}, exp and log enclosed in rational numbers"
    along = as_floats([numbers[k] for k in read.columns.tolist()])
    x = found.x[read.columns]
    return Unbounded(subject=form, words=words, seal=SEAL, x=x, ray=along, evidence=read)


def completed_ray(read: ExponentialForm, ray: Array) -> list[Fraction] | None:
    """A direction of `read.form`, each term's column rising as it must; None where a term ends it.

    ray (n,): in the columns of the model.
    """
    d = dict(zip(read.columns.tolist(), map(Fraction, ray.tolist()), strict=True))
    for equation in read.equations:
        span = slice(*read.form.A.indptr[equation.row : equation.row + 2].tolist())
        columns, numbers = read.form.A.indices[span].tolist(), read.form.A.data[span].tolist()
        entries = {j: Fraction(a) for j, a in zip(columns, numbers, strict=True)}
        own = entries.pop(equation.column)
        rest = sum((a * d[j] for j, a in entries.items()), Fraction(0))
        d[equation.column] = -rest / own
    for term in read.terms:
        rise = _rise(term, d)
        if rise is None:
            return None
        d[term.value] = rise
    return [d[j] for j in range(read.form.n)]


def _rise(term: Term, d: Mapping[int, Fraction]) -> Fraction | None:
    p = [Fraction(part.sign) * d.get(part.column, Fraction(0)) for part in term.parts]
    stays = {EXP: p[0] <= 0, LOG: p[0] >= 0, ENTROPY: p[0] == 0}.get(term.kind)
    if stays is None:
        return max(p)
    return Fraction(0) if stays else None
