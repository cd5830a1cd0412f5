"""By how much a point misses each row of a model, where 0 is a proof that it misses none.

A row that holds by more than its rounding could be wrong by is decided in floating point: a sum of
k products is off by at most gamma_k times the sum of their sizes in any order (Higham, Accuracy and
Stability of Numerical Algorithms, 2002, sec. 3.1). The rest is summed without error: a product of
two doubles is a sum of two doubles (Dekker, A floating-point technique for extending the available
precision, Numerische Mathematik 18, 1971), and math.fsum rounds once, so that its sign is that of
the sum. What is left, coordinates that are no doubles and products that under- or overflow, goes to
rational numbers. Semidefinite rows are decided by a Cholesky factorisation that ends
(formulations/common/least_eigenvalue.py), or by elimination in whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.common.least_eigenvalue import (
    OUTWARD,
    ROUNDOFF,
    UNDERFLOW,
    least_eigenvalue,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.modeling.semidefinite import symmetric
from tightmargin.solvers.exact_arithmetic import dot_integers, dyadic, rounded_up, scaled
from tightmargin.solvers.proofs.exact_sums.double_sums import (
    double_sums,
    in_range,
    roundings,
    two_products,
)
from tightmargin.solvers.proofs.exact_sums.exact_products import exact_products
from tightmargin.solvers.proofs.exact_sums.quadratic_rows import (
    hold_clearly,
    known_stack,
    stacked,
    sums_outside,
)
from tightmargin.solvers.standard_form.quadratic import lost_at
from tightmargin.solvers.standard_form.standard_form import PsdRow, QuadraticRow, StandardForm

Side = float | Fraction | None

LEAST = 2.0**-1074  # by which a bound is missed that no point may attain
EXACT_ORDER = 64  # of a matrix that is eliminated in whole numbers: some tenths of a second


@dataclass(frozen=True, eq=False)
class Point:
    """A point with rational coordinates.

    Attributes
    ----------
    x : array (n,)
        To the nearest doubles: each is right to one unit roundoff.
    exact : mapping
        Coordinates that are no doubles, by column.
    inexact : array of bool (n,)
        Which these are.
    rest : array (n,)
        What the doubles lack, to the nearest double.
    """

    x: Array
    exact: Mapping[int, Fraction]
    inexact: NDArray[np.bool_]
    rest: Array

    def fraction(self, j: int) -> Fraction:
        """Coordinate of a column."""
        return self.exact[j] if j in self.exact else Fraction(float(self.x[j]))


def point_of(x: Array, exact: Mapping[int, Fraction]) -> Point | None:
    """The point, or None where a coordinate is beyond the doubles, or too small for their error."""
    x = np.array(x, dtype=np.float64)
    try:
        for j, number in exact.items():
            x[j] = float(number)
    except OverflowError:
        return None
    if not np.isfinite(x).all():
        return None
    lacking = {j: number - Fraction(float(x[j])) for j, number in exact.items()}
    kept = {j: exact[j] for j, rest in lacking.items() if rest}
    if any(abs(number) < UNDERFLOW for number in kept.values()):
        return None
    inexact, rest = np.zeros(len(x), dtype=bool), np.zeros(len(x))
    inexact[list(kept)] = True
    rest[list(kept)] = [float(lacking[j]) for j in kept]
    return Point(x, kept, inexact, rest)


def bound_excess(form: StandardForm, at: Point) -> Array:
    """By how much each coordinate is outside its bounds, rounded up."""
    x = at.x
    found = np.maximum(form.lower - x, x - form.upper)
    found = np.where(found > 0, np.nextafter(found, np.inf), 0.0)
    for j, number in at.exact.items():
        found[j] = _outside(number, float(form.lower[j]), float(form.upper[j]))
    for j, sides in form.exact.bounds.items():
        found[j] = max(found[j], _outside(at.fraction(j), *sides))
    for j, excluded in form.exact.open.items():
        ends = zip(excluded, (form.lower[j], form.upper[j]), strict=True)
        if any(out and at.fraction(j) == Fraction(float(end)) for out, end in ends):
            found[j] = max(found[j], LEAST)
    return found


def is_whole(form: StandardForm, at: Point) -> bool:
    """Whether integer columns hold whole numbers."""
    return bool((at.x == np.round(at.x))[form.integer].all() and not at.inexact[form.integer].any())


def linear_excess(
    form: StandardForm, at: Point, *, among: NDArray[np.bool_] | None = None, stop: bool = False
) -> Array:
    """By how much each linear row is missed, rounded up.

    A side that no double is counts as it is.

    Parameters
    ----------
    among : array of bool (m,), optional
        The rows that are looked at, all by default: the others are left at 0.
    stop : bool
        Whether one row that is certainly missed is enough: the others are then left at 0.
    """
    found = _excess_of_doubles(form, at, among, stop=stop)
    sides = form.exact.sides
    rows = [i for i in sides if among is None or among[i]]
    if rows and not (stop and found.any()):
        for i, number in zip(rows, exact_dots(form.A[rows], at), strict=True):
            found[i] = max(found[i], _outside(number, *sides[i]))
    return found


def _excess_of_doubles(
    form: StandardForm, at: Point, among: NDArray[np.bool_] | None, *, stop: bool
) -> Array:
    A, x = form.A, at.x
    with np.errstate(over="ignore", invalid="ignore"):
        value, size = A @ x, form.sizes @ np.abs(x)
        count = np.diff(A.indptr)
        # One unit more for coordinates that are no doubles, and for what is done with the radius.
        radius = roundings(count + 4) * size * OUTWARD + count * UNDERFLOW
        low, high = value - radius, value + radius
        holds = (low >= form.row_lower) & (high <= form.row_upper)
        missed = (high < form.row_lower) | (low > form.row_upper)
    found = np.zeros(len(count))
    if stop and missed.any():
        found[missed] = np.inf
        return found
    left = np.flatnonzero(~holds if among is None else among & ~holds)
    if not len(left):
        return found
    part = A[left]
    entries, rational = x[part.indices], at.inexact[part.indices]
    with np.errstate(over="ignore", invalid="ignore"):
        products, errors = two_products(part.data, entries)
        safe = _all_of(part.indptr, in_range(part.data, entries, products))
        plain = safe & _all_of(part.indptr, ~rational)
        sums = double_sums(products, errors, part.indptr)
        if rational.any():
            more = part.data * at.rest[part.indices]
            owner = np.repeat(np.arange(len(left)), np.diff(part.indptr))
            sums = sums.plus(owner, more, np.where(rational, np.abs(products), 0.0))
        found[left], decided = sums.outside(form.row_lower[left], form.row_upper[left])
    for k in np.flatnonzero(plain & ~decided).tolist():
        i, span = int(left[k]), slice(int(part.indptr[k]), int(part.indptr[k + 1]))
        lower, upper = float(form.row_lower[i]), float(form.row_upper[i])
        parts = [*products[span].tolist(), *errors[span].tolist()]
        found[i] = _excess_of_sum(parts, lower, upper)
    rest = np.flatnonzero(~plain & ~(safe & decided))
    numbers = exact_dots(part[rest], at)
    for i, number in zip(left[rest].tolist(), numbers, strict=True):
        found[i] = _outside(number, float(form.row_lower[i]), float(form.row_upper[i]))
    return found


def quadratic_excess(rows: Sequence[QuadraticRow], at: Point) -> Array:
    """By how much each quadratic row is missed, rounded up."""
    found = np.zeros(len(rows))
    if not rows:
        return found
    for k, row in enumerate(rows):
        if row.is_rounded:
            number = _quadratic(row, at) + lost_at(row.lost, at.fraction)
            sides = zip(row.sides, (row.lower, row.upper), strict=True)
            found[k] = _outside(number, *(end if exact is None else exact for exact, end in sides))
    stack = known_stack(tuple(rows))
    clear = hold_clearly(stack, at.x) | np.array([row.is_rounded for row in rows])
    left = np.flatnonzero(~clear)
    if not len(left):
        return found
    if len(left) < len(rows):
        stack = stacked([rows[k] for k in left.tolist()])
    found[left], decided = sums_outside(stack, at.x, at.rest)
    for k in left[~decided].tolist():
        row = rows[k]
        found[k] = _outside(_quadratic(row, at), row.lower, row.upper)
    return found


def semidefinite_excess(row: PsdRow, at: Point, *, stop: bool = False) -> float:
    """How far the least eigenvalue of a semidefinite row is below 0, rounded up; 0 or more.

    Parameters
    ----------
    stop : bool
        Whether it is enough to know that it is below 0: infinity stands for that.
    """
    F = row.F
    with np.errstate(over="ignore", invalid="ignore"):
        entries = F @ at.x + row.g
        size = abs(F) @ np.abs(at.x) + np.abs(row.g)
        count = np.diff(F.indptr)
        radius = roundings(count + 5) * size * OUTWARD + (count + 1) * UNDERFLOW
    if not (np.isfinite(entries).all() and np.isfinite(radius).all()):
        return math.inf
    M, R = symmetric(entries), symmetric(radius)
    if _proven_semidefinite(M, R):
        return 0.0
    error = float(R.sum(axis=1).max()) * OUTWARD
    noise = 8 * error + 8 * row.order**2 * ROUNDOFF * float(np.abs(M).max())
    short = max(0.0, -float(np.linalg.eigvalsh(M)[0]))
    if stop and short > noise:
        return math.inf
    if row.order <= EXACT_ORDER and _is_semidefinite(_whole_matrix(row, at)):
        return 0.0
    shift = 2 * short + noise
    lifted = M + shift * np.eye(row.order)
    error += 2 * ROUNDOFF * (float(np.abs(M).max()) + shift)
    return shift if least_eigenvalue(lifted, error) is not None else math.inf


def exact_dot(a: Array, columns: NDArray[Any], at: Point) -> Fraction:
    """Numbers times coordinates of some columns, in rational numbers."""
    plain = ~at.inexact[columns]
    left, right = dyadic(a[plain]), dyadic(at.x[columns[plain]])
    total = scaled(dot_integers(left.integers, right.integers), left.exponent + right.exponent)
    rest = zip(a[~plain].tolist(), columns[~plain].tolist(), strict=True)
    return sum((Fraction(number) * at.exact[j] for number, j in rest), total)


def exact_dots(A: sp.csr_matrix, at: Point) -> list[Fraction]:
    """Rows of a matrix times a point, in rational numbers."""
    found = exact_products(A, np.where(at.inexact, 0.0, at.x))
    if found is None:
        spans = [slice(start, end) for start, end in pairwise(A.indptr.tolist())]
        return [exact_dot(A.data[span], A.indices[span], at) for span in spans]
    total = [scaled(number, found[1]) for number in found[0]]
    entries = np.flatnonzero(at.inexact[A.indices])
    owner = np.searchsorted(A.indptr, entries, side="right") - 1
    columns, numbers = A.indices[entries].tolist(), A.data[entries].tolist()
    for i, j, number in zip(owner.tolist(), columns, numbers, strict=True):
        total[i] += Fraction(number) * at.exact[j]
    return total


def _excess_of_sum(parts: Sequence[float], lower: float, upper: float) -> float:
    """By how much a sum of doubles is outside two sides, rounded up."""
    short = -math.fsum([*parts, -lower]) if math.isfinite(lower) else -math.inf
    over = math.fsum([*parts, -upper]) if math.isfinite(upper) else -math.inf
    excess = max(short, over)
    return math.nextafter(excess, math.inf) if excess > 0 else 0.0


def _outside(number: Fraction, lower: Side, upper: Side) -> float:
    """By how much a rational number is outside two sides, rounded up; None stands for none."""
    missed = [Fraction(0)]
    if lower is not None and number < lower:
        missed.append(Fraction(lower) - number)
    if upper is not None and number > upper:
        missed.append(number - Fraction(upper))
    return rounded_up(max(missed)) if len(missed) > 1 else 0.0


def _quadratic(row: QuadraticRow, at: Point) -> Fraction:
    body = row.body
    y = [at.fraction(j) for j in body.index.tolist()]
    squares = zip(body.i.tolist(), body.j.tolist(), body.v.tolist(), strict=True)
    total = sum((Fraction(v) * y[i] * y[j] for i, j, v in squares), Fraction(body.constant))
    return sum((Fraction(a) * z for a, z in zip(body.a.tolist(), y, strict=True)), total)


def _proven_semidefinite(M: Array, R: Array) -> bool:
    """Whether every matrix within R of M is definite, its diagonal brought near 1 first."""
    diagonal = np.diag(M)
    if not (diagonal > 0).all():
        return False
    factors = np.exp2(-np.round(np.log2(diagonal) / 2))
    with np.errstate(over="ignore"):
        M, R = (factors[:, None] * part * factors for part in (M, R))
    # Powers of two lose nothing but what underflows.
    error = float((R + UNDERFLOW).sum(axis=1).max()) * OUTWARD
    return least_eigenvalue(M, error) is not None


def _whole_matrix(row: PsdRow, at: Point) -> list[list[int]]:
    """F x + g times a positive number that makes it whole."""
    F = row.F
    entries = [
        exact_dot(F.data[start:end], F.indices[start:end], at) + Fraction(float(g))
        for start, end, g in zip(F.indptr[:-1], F.indptr[1:], row.g, strict=True)
    ]
    common = math.lcm(*(entry.denominator for entry in entries))
    numbers = iter([int(entry * common) for entry in entries])
    lower = [[next(numbers) for _ in range(i + 1)] for i in range(row.order)]
    return [[lower[max(i, j)][min(i, j)] for j in range(row.order)] for i in range(row.order)]


def _is_semidefinite(rows: list[list[int]]) -> bool:
    """Whether a symmetric matrix of whole numbers is semidefinite.

    Fraction-free elimination: every division is exact (Bareiss, Mathematics of Computation 22,
    1968), and a pivot has the sign of a principal minor. A pivot of 0 needs a row of zeros.
    """
    k, previous = len(rows), 1
    for p in range(k):
        lead = rows[p]
        pivot = lead[p]
        if pivot < 0 or (pivot == 0 and any(lead[p + 1 :])):
            return False
        if pivot == 0:
            continue
        for i in range(p + 1, k):
            line, factor = rows[i], lead[i]
            rows[i] = [0] * i + [
                (pivot * line[j] - factor * lead[j]) // previous for j in range(i, k)
            ]
        previous = pivot
    return True


def _all_of(indptr: NDArray[Any], flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether the flags of all entries of each row are set."""
    unset = np.r_[0, np.cumsum(~flags)]
    same: NDArray[np.bool_] = unset[indptr[1:]] == unset[indptr[:-1]]
    return same
