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
from typing import Any

import numpy as np
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
from tightmargin.solvers.standard_form.standard_form import PsdRow, QuadraticRow, StandardForm

# Within these a product of two doubles is exactly a sum of two.
SMALLEST, LARGEST = 1e-230, 1e100
SPLIT = 2.0**27 + 1
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
    """

    x: Array
    exact: Mapping[int, Fraction]
    inexact: NDArray[np.bool_]

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
    kept = {j: number for j, number in exact.items() if Fraction(float(x[j])) != number}
    if any(abs(number) < UNDERFLOW for number in kept.values()):
        return None
    inexact = np.zeros(len(x), dtype=bool)
    inexact[list(kept)] = True
    return Point(x, kept, inexact)


def bound_excess(form: StandardForm, at: Point) -> Array:
    """By how much each coordinate is outside its bounds, rounded up."""
    x = at.x
    found = np.maximum(form.lower - x, x - form.upper)
    found = np.where(found > 0, np.nextafter(found, np.inf), 0.0)
    for j, number in at.exact.items():
        found[j] = _outside(number, float(form.lower[j]), float(form.upper[j]))
    return found


def is_whole(form: StandardForm, at: Point) -> bool:
    """Whether integer columns hold whole numbers."""
    return bool((at.x == np.round(at.x))[form.integer].all() and not at.inexact[form.integer].any())


def linear_excess(form: StandardForm, at: Point, *, stop: bool = False) -> Array:
    """By how much each linear row is missed, rounded up.

    Parameters
    ----------
    stop : bool
        Whether one row that is certainly missed is enough: the others are then left at 0.
    """
    A, x = form.A, at.x
    with np.errstate(over="ignore", invalid="ignore"):
        value, size = A @ x, abs(A) @ np.abs(x)
        count = np.diff(A.indptr)
        # One unit more for coordinates that are no doubles, and for what is done with the radius.
        radius = _growth(count + 4) * size * OUTWARD + count * UNDERFLOW
        low, high = value - radius, value + radius
        holds = (low >= form.row_lower) & (high <= form.row_upper)
        missed = (high < form.row_lower) | (low > form.row_upper)
    found = np.zeros(len(count))
    if stop and missed.any():
        found[missed] = np.inf
        return found
    left = np.flatnonzero(~holds)
    if not len(left):
        return found
    part = A[left]
    entries = x[part.indices]
    products, errors = two_product(part.data, entries)
    safe = _in_range(part.data, entries, products) & ~at.inexact[part.indices]
    parts = np.column_stack([products, errors]).ravel().tolist()
    plain = _all_of(part.indptr, safe)
    for k, i in enumerate(left.tolist()):
        lower, upper = float(form.row_lower[i]), float(form.row_upper[i])
        start, end = int(part.indptr[k]), int(part.indptr[k + 1])
        if plain[k]:
            found[i] = _excess_of_sum(parts[2 * start : 2 * end], lower, upper)
        else:
            number = exact_dot(part.data[start:end], part.indices[start:end], at)
            found[i] = _outside(number, lower, upper)
    return found


def quadratic_excess(rows: Sequence[QuadraticRow], at: Point) -> Array:
    """By how much each quadratic row is missed, rounded up."""
    found = np.zeros(len(rows))
    for k in np.flatnonzero(~_hold_clearly(rows, at)).tolist():
        row = rows[k]
        found[k] = _outside(_quadratic(row, at), row.lower, row.upper)
    return found


def _hold_clearly(rows: Sequence[QuadraticRow], at: Point) -> NDArray[np.bool_]:
    """Which quadratic rows hold by more than their rounding."""
    if not rows:
        return np.zeros(0, dtype=bool)
    bodies = [row.body for row in rows]
    squares = np.array([len(body.v) for body in bodies])
    lines = np.array([len(body.a) for body in bodies])
    first = np.repeat(np.cumsum(lines) - lines, squares)
    y = at.x[np.concatenate([body.index for body in bodies])]
    v, a = (np.concatenate([getattr(body, name) for body in bodies]) for name in "va")
    i, j = (first + np.concatenate([getattr(body, name) for body in bodies]) for name in "ij")
    constant = np.array([body.constant for body in bodies])
    owners = [np.repeat(np.arange(len(rows)), counts) for counts in (squares, lines)]
    with np.errstate(over="ignore", invalid="ignore"):
        terms = (v * (y[i] * y[j]), a * y)
        value, size = constant.copy(), np.abs(constant)
        for owner, part in zip(owners, terms, strict=True):
            value = value + np.bincount(owner, part, len(rows))
            size = size + np.bincount(owner, np.abs(part), len(rows))
        count = squares + lines
        lost = count * (1 + np.abs(v).max(initial=0.0)) * UNDERFLOW
        radius = _growth(count + 10) * size * OUTWARD + lost
        lower = np.array([row.lower for row in rows])
        upper = np.array([row.upper for row in rows])
        holds: NDArray[np.bool_] = (value - radius >= lower) & (value + radius <= upper)
    return holds


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
        radius = _growth(count + 5) * size * OUTWARD + (count + 1) * UNDERFLOW
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


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Rounded products and what they lack, without a fused multiply-add."""
    product = a * b
    a_high, b_high = _upper_half(a), _upper_half(b)
    a_low, b_low = a - a_high, b - b_high
    return product, a_low * b_low - (
        ((product - a_high * b_high) - a_low * b_high) - a_high * b_low
    )


def _upper_half(a: Array) -> Array:
    far = SPLIT * a
    return far - (far - a)


def _growth(terms: NDArray[np.int64]) -> Array:
    product = terms * ROUNDOFF
    return product / (1 - product)


def _in_range(a: Array, b: Array, products: Array) -> NDArray[np.bool_]:
    """Which products lose nothing to underflow."""
    sizes = np.abs(products)
    inside = (np.abs(a) <= LARGEST) & (np.abs(b) <= LARGEST) & (sizes >= SMALLEST)
    found: NDArray[np.bool_] = inside | (a == 0) | (b == 0)
    return found


def _excess_of_sum(parts: Sequence[float], lower: float, upper: float) -> float:
    """By how much a sum of doubles is outside two sides, rounded up."""
    short = -math.fsum([*parts, -lower]) if math.isfinite(lower) else -math.inf
    over = math.fsum([*parts, -upper]) if math.isfinite(upper) else -math.inf
    excess = max(short, over)
    return math.nextafter(excess, math.inf) if excess > 0 else 0.0


def _outside(number: Fraction, lower: float, upper: float) -> float:
    """By how much a rational number is outside two sides, rounded up."""
    short = Fraction(lower) - number if math.isfinite(lower) else Fraction(0)
    over = number - Fraction(upper) if math.isfinite(upper) else Fraction(0)
    return rounded_up(max(short, over, Fraction(0)))


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


def _all_of(indptr: NDArray[Any], flags: NDArray[np.bool_]) -> list[bool]:
    """Whether the flags of all entries of each row are set."""
    unset = np.r_[0, np.cumsum(~flags)]
    return [bool(same) for same in unset[indptr[1:]] == unset[indptr[:-1]]]
