"""Points that are feasible in exact arithmetic, and points that are proven to be nearly so."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.common.rounding import (
    OUTWARD,
    ROUNDOFF,
    UNDERFLOW,
    growth,
    least_eigenvalue,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.modeling.cones import lower_pairs, symmetric
from tightmargin.solvers.exact import (
    Dyadic,
    dot_integers,
    dyadic,
    is_semidefinite,
    rounded_up,
    scaled,
    shortened_up,
)
from tightmargin.solvers.kernel.statement import SEAL, FeasiblePoint, Unbounded
from tightmargin.solvers.kernel.systems import (
    double_sums,
    exact_products,
    hold_clearly,
    in_range,
    known_stack,
    roundings,
    stacked,
    sums_outside,
    two_products,
)
from tightmargin.solvers.model.exponential import exponential_form
from tightmargin.solvers.model.polynomial import Key, LocalQuadratic, QuadraticRow, lost_at
from tightmargin.solvers.model.reader import PsdRow, StandardForm

# --- By how much a point misses each row of a model, where 0 is a proof that it misses none ------
# A row that holds by more than its rounding could be wrong by is decided in floating point: a sum
# of k products is off by at most gamma_k times the sum of their sizes in any order (Higham,
# Accuracy and Stability of Numerical Algorithms, 2002, sec. 3.1). The rest is summed without
# error: a product of two doubles is a sum of two doubles (Dekker, A floating-point technique for
# extending the available precision, Numerische Mathematik 18, 1971), and math.fsum rounds once, so
# that its sign is that of the sum. What is left, coordinates that are no doubles and products that
# under- or overflow, goes to rational numbers. Semidefinite rows are decided by a Cholesky
# factorisation that ends (formulations/common/rounding.py), or by elimination in whole
# numbers.


Side = float | Fraction | None

LEAST = 2.0**-1074  # by which a bound is missed that no point may attain
EXACT_ORDER = 64  # of a matrix that is eliminated in whole numbers: some tenths of a second


@dataclass(frozen=True, eq=False)
class Point:
    """A point with rational coordinates.

    x (n,): to the nearest doubles: each is right to one unit roundoff.
    exact: coordinates that are no doubles, by column.
    inexact (n,): which these are.
    rest (n,): what the doubles lack, to the nearest double.
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

    among (m,): the rows that are looked at, all by default: the others are left at 0.
    stop: whether one row that is certainly missed is enough: the others are then left at 0.
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

    stop: whether it is enough to know that it is below 0: infinity stands for that.
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


# The objective is taken in rational numbers where it has few terms, or where rounding is more of it
# than this and they are no more than so many.
NEGLIGIBLE = 1e-12
FEW_TERMS, MANY_TERMS = 200, 100_000
NONE: Mapping[int, Fraction] = MappingProxyType({})


def proven_point(
    form: StandardForm, x: Array, exact: Mapping[int, Fraction] = NONE
) -> FeasiblePoint | None:
    """The statement that a point is feasible, without any tolerance; None where it is not.

    x (n,): coordinates, taken as the exact numbers that doubles are.
    exact: rational coordinates in the place of some of them, by column: solutions of equations are
        seldom doubles.
    Returns: none also for models with rows beyond degree two, which nothing here evaluates.
    """
    at = None if form.nonlinear else point_of(x, exact)
    if at is None or not is_whole(form, at) or bound_excess(form, at).any():
        return None
    if linear_excess(form, at, stop=True).any() or quadratic_excess(form.quadratic, at).any():
        return None
    if any(semidefinite_excess(row, at, stop=True) > 0 for row in form.psd):
        return None
    return _statement(form, at, "every row holds in exact arithmetic")


def near_point(form: StandardForm, x: Array) -> FeasiblePoint | None:
    """The statement by how much a point misses rows whose largest coefficient is scaled to 1.

    Returns: with eps = 0 where it misses none. None where integer columns hold no whole numbers,
        where a row without any coefficient is missed, and for models with rows beyond degree two.
    """
    at = None if form.nonlinear else point_of(x, NONE)
    if at is None or not is_whole(form, at):
        return None
    eps, worst = 0.0, ""
    for excess, sizes, name in _violations(form, at):
        missed, shares = ~(excess <= 0), np.zeros(len(excess))
        with np.errstate(divide="ignore"):
            shares[missed] = np.nextafter(excess[missed] / sizes[missed], np.inf)
        k = int(np.argmax(shares)) if len(shares) else -1
        if k >= 0 and not shares[k] <= eps:
            eps, worst = float(shares[k]), name(k)
    if not math.isfinite(eps):
        return None
    words = "every row holds in exact arithmetic" if not eps else "every violation rounded up"
    return _statement(form, at, words, eps, worst)


def _statement(
    form: StandardForm, at: Point, words: str, eps: float = 0.0, worst: str = ""
) -> FeasiblePoint:
    varying, number = _objective_above(form, at)
    return FeasiblePoint(
        subject=form, words=words, seal=SEAL, varying=varying, x=at.x, eps=eps, worst=worst,
        rational=dict(at.exact), number=number,
    )  # fmt: skip


def constant_of(subject: Hashable) -> tuple[Fraction, Fraction]:
    """What proofs leave out of a model's objective, and its whole constant k.

    k is the constant of the polynomial part once fixed columns are put in: those that a user fixed
    are numbers to the reader already, those with equal limits are put in here. A problem that is a
    model and more has the model for its `form`; a subject without one has neither number.
    """
    form = subject if isinstance(subject, StandardForm) else getattr(subject, "form", None)
    if not isinstance(form, StandardForm):
        return Fraction(0), Fraction(0)
    read = exponential_form(form) if form.goal is not None else None
    form = form if read is None else read.form
    left_out = Fraction(form.objective.exact_constant)
    low = np.where(form.integer, np.ceil(form.lower), form.lower)
    high = np.where(form.integer, np.floor(form.upper), form.upper)
    fixed = (low == high) & np.isfinite(low)
    at = point_of(np.where(fixed, low, 0.0), NONE) if fixed.any() else None
    return left_out, left_out if at is None else left_out + _objective(form, at)


def _objective_above(form: StandardForm, at: Point) -> tuple[float, Fraction | None]:
    """The objective without its constant, rounded up, and its sum where that is exact."""
    goal, x = form.objective, at.x
    Q = goal.Q
    with np.errstate(over="ignore", invalid="ignore"):
        along = x * (Q @ x)
        lines = goal.a * x
        size_of_squares = np.abs(x) * (abs(Q) @ np.abs(x))
        longest = int(np.diff(Q.indptr).max(initial=0))
    used = np.flatnonzero(size_of_squares), np.flatnonzero(lines)
    parts = [*along[used[0]].tolist(), *lines[used[1]].tolist()]
    squares = float(size_of_squares.sum()) * OUTWARD
    size = float(np.abs(lines).sum()) * OUTWARD
    radius = growth(longest + 6) * squares + 4 * ROUNDOFF * size
    radius += (len(parts) + Q.nnz) * UNDERFLOW * (1 + float(np.abs(x).max(initial=0.0)))
    if parts and math.isfinite(radius) and not goal.lost:
        value = math.fsum(parts)
        terms = Q.nnz + len(used[1])
        sure = radius <= NEGLIGIBLE * abs(value)
        if terms > (FEW_TERMS if sure else MANY_TERMS):
            return math.nextafter(value + radius * OUTWARD, math.inf), None
    exact = shortened_up(_objective(form, at))
    return rounded_up(exact) + 0.0, exact  # and never -0.0


def _objective(form: StandardForm, at: Point) -> Fraction:
    goal = form.objective
    total = exact_dot(goal.a, np.arange(form.n), at)
    Q = goal.Q
    lines = np.flatnonzero((np.diff(Q.indptr) > 0) & (at.x != 0))
    for i in lines.tolist():
        span = slice(Q.indptr[i], Q.indptr[i + 1])
        total += at.fraction(i) * exact_dot(Q.data[span], Q.indices[span], at)
    return total + lost_at(goal.lost, at.fraction)


def _violations(
    form: StandardForm, at: Point
) -> Iterator[tuple[Array, Array, Callable[[int], str]]]:
    """Violations of each kind, the largest coefficients of their rows, and their names."""
    yield bound_excess(form, at), np.ones(form.n), lambda j: f"bound of {form.columns.name(j)}"
    yield linear_excess(form, at), form.largest, lambda i: f"row {form.rows.name(i)}"
    quadratic = [max(_largest(row.body.v), _largest(row.body.a)) for row in form.quadratic]
    missed = quadratic_excess(form.quadratic, at)
    yield missed, np.array(quadratic), lambda k: f"row {form.quadratic[k].data.name}"
    short = np.array([semidefinite_excess(row, at) for row in form.psd])
    semidefinite = np.array([_largest(row.F.data) for row in form.psd])
    yield short, semidefinite, lambda k: f"row {form.psd[k].data.name}"


def _largest(numbers: Array) -> float:
    return float(np.abs(numbers).max(initial=0.0))


# --- Whether a point and a ray prove a model unbounded below, decided in exact arithmetic --------
# Along x + t d every part of a model is a polynomial in t of degree two, whose two coefficients
# the floating-point data and d determine exactly. A row that holds at x holds for all t >= 0 when
# neither coefficient leads across its side; the objective falls without end when its leading one
# is negative. This needs no convexity: x may be any feasible point, of a reverse convex row too.


ORDER_LIMIT = 60


RAY = "a ray that no row ever stops and along which the objective falls, in exact arithmetic"
EXACT_POINT = "from a point that is feasible in exact arithmetic"
NEAR_POINT = "from a point that misses a row by {:.1e} of its largest coefficient"


def proven_unbounded(
    form: StandardForm, point: FeasiblePoint, ray: Sequence[int]
) -> Unbounded | None:
    """A model whose objective falls along a ray that starts at a point; None where it may not.

    point: of this model.
    ray: a direction; its length does not matter, so that whole numbers are no restriction.
    """
    if point.subject is not form or point.x is None or not _falls(form, point.x, ray):
        return None
    eps = point.eps
    if point.exact and _bends(form, ray) and proven_point(form, point.x) is None:
        return None  # its coordinates are no doubles, and what bends along the ray asks for them
    words = f"{RAY}, {NEAR_POINT.format(eps) if eps else EXACT_POINT}"
    return Unbounded(subject=form, words=words, seal=SEAL, x=point.x, ray=as_floats(ray), eps=eps)


def as_floats(ray: Sequence[int]) -> Array:
    """A direction as floats, exactly where its numbers fit in 53 bits, else to rounding."""
    largest = max(map(abs, ray), default=0)
    if largest < 2**53:
        return np.array(ray, dtype=np.float64)
    return np.array([number / largest for number in ray])


def _falls(form: StandardForm, point: Array, ray: Sequence[int]) -> bool:
    """Whether no row ever stops the ray, from a point that is feasible, and the objective falls."""
    if form.nonlinear or not _stays_in_bounds(form, ray) or not _stays_in_linear_rows(form, ray):
        return False
    lost = [form.objective.lost, *(row.lost for row in form.quadratic)]
    if any(ray[j] for numbers in lost for key in numbers for j in key):
        return False  # the coefficients along the ray are other ones
    if not all(_stays_in_quadratic_row(row, point, ray) for row in form.quadratic):
        return False
    if not all(_stays_semidefinite(row, ray) for row in form.psd):
        return False
    Q = form.objective.Q.tocoo()
    curvature, slope = _along(Q.row, Q.col, Q.data, form.objective.a, point.tolist(), ray)
    return curvature < 0 or (curvature == 0 and slope < 0)


def _bends(form: StandardForm, ray: Sequence[int]) -> bool:
    """Whether a slope along the ray depends on the point: Q d is not 0 for some row or the goal."""
    Q = form.objective.Q.tocoo()
    parts = [(Q.row, Q.col, Q.data, list(ray))]
    for row in form.quadratic:
        body, at = row.body, row.body.index.tolist()
        parts.append((body.i, body.j, body.v, [ray[k] for k in at]))
    return any(any(_product(i, j, dyadic(v), d)) for i, j, v, d in parts)


def _stays_in_bounds(form: StandardForm, ray: Sequence[int]) -> bool:
    sign = np.array([(d > 0) - (d < 0) for d in ray])
    stopped = ((sign < 0) & np.isfinite(form.lower)) | ((sign > 0) & np.isfinite(form.upper))
    return not stopped.any()


def _row_products(form: StandardForm, numbers: Sequence[int]) -> tuple[list[int], int]:
    """A times whole numbers, as integers and their exponent."""
    a = dyadic(form.A.data)
    starts, columns = form.A.indptr.tolist(), form.A.indices.tolist()
    found = []
    for start, end in pairwise(starts):
        entries = [numbers[j] for j in columns[start:end]]
        found.append(dot_integers(a.integers[start:end], entries))
    return found, a.exponent


def _stays_in_linear_rows(form: StandardForm, ray: Sequence[int]) -> bool:
    products, _ = _row_products(form, ray)
    sign = np.array([(p > 0) - (p < 0) for p in products], dtype=int)
    stopped = (sign < 0) & np.isfinite(form.row_lower)
    return not (stopped | ((sign > 0) & np.isfinite(form.row_upper))).any()


def _stays_in_quadratic_row(row: QuadraticRow, point: Array, ray: Sequence[int]) -> bool:
    body, at = row.body, row.body.index.tolist()
    curvature, slope = _along(
        body.i, body.j, body.v, body.a, point[body.index].tolist(), [ray[k] for k in at]
    )
    if np.isfinite(row.upper) and (curvature > 0 or slope > 0):
        return False
    return not (np.isfinite(row.lower) and (curvature < 0 or slope < 0))


def _along(
    i: NDArray, j: NDArray, v: Array, a: Array, x: Sequence[float], d: Sequence[int]
) -> tuple[Fraction, Fraction]:
    """Coefficients of t^2 and t in x'Qx + a'x along x + t d."""
    q, linear = dyadic(v), dyadic(a)
    product = _product(i, j, q, d)
    curvature = scaled(dot_integers(d, product), q.exponent)
    slope = scaled(dot_integers(linear.integers, d), linear.exponent)
    bend = sum((p * Fraction(at) for p, at in zip(product, x, strict=True) if p), Fraction(0))
    return curvature, slope + 2 * bend * scaled(1, q.exponent)


def _product(i: NDArray, j: NDArray, q: Dyadic, d: Sequence[int]) -> list[int]:
    """Q d in units of the exponent of q."""
    found = [0] * len(d)
    for row, column, value in zip(i.tolist(), j.tolist(), q.integers, strict=True):
        found[row] += value * d[column]
    return found


def _stays_semidefinite(row: PsdRow, ray: Sequence[int]) -> bool:
    if row.order > ORDER_LIMIT:
        return False
    return is_semidefinite(_matrix(row, [Fraction(d) for d in ray]))


def _matrix(row: PsdRow, x: Sequence[Fraction]) -> list[list[Fraction]]:
    """F x as a symmetric matrix."""
    F, k = row.F, row.order
    matrix = [[Fraction(0)] * k for _ in range(k)]
    for entry, (i, j) in enumerate(lower_pairs(k)):
        span = slice(F.indptr[entry], F.indptr[entry + 1])
        terms = zip(F.data[span].tolist(), F.indices[span].tolist(), strict=True)
        value = sum((Fraction(a) * x[c] for a, c in terms), Fraction(0))
        matrix[i][j] = matrix[j][i] = value
    return matrix


# --- A feasible point between two others, where a quadratic equation has no rational solution
#     nearby
# ||x||^2 = 2 beside x_1 = x_2 / 3 has two solutions and no rational one. Two points that meet
# every other row, on the two sides of the equation, have one between them: on the segment the left
# side is continuous, and linear rows, semidefinite rows and quadratic ones that do not bend
# outwards along it hold on all of it because they hold at its ends.


Coordinates = tuple[Array, Mapping[int, Fraction]]


def held_row(form: StandardForm) -> int | None:
    """The number of the one quadratic equation of a form; None without one, or with several."""
    held = [k for k, row in enumerate(form.quadratic) if row.lower == row.upper]
    return held[0] if len(held) == 1 else None


def crossing_point(
    form: StandardForm, one: Coordinates, other: Coordinates
) -> FeasiblePoint | None:
    """The statement that there is a feasible point between two points; None where that is open.

    one, other (n,): as `proven_point` takes them.
    """
    held = None if form.nonlinear else held_row(form)
    ends = [point_of(*each) for each in (one, other)]
    if held is None or ends[0] is None or ends[1] is None:
        return None
    p, q = ends[0], ends[1]
    along = {j: q.fraction(j) - p.fraction(j) for j in range(form.n)}
    whole = np.flatnonzero(form.integer).tolist()
    if any(along[j] for j in whole) or not _others_hold(form, held, (p, q), along):
        return None
    row = form.quadratic[held]
    if row.is_rounded:
        return None
    sides = sorted(_value(row.body, at) - Fraction(row.lower) for at in (p, q))
    if not sides[0] <= 0 <= sides[1]:
        return None
    # Of a quadratic function the largest value on a segment exceeds those at the ends by no more
    # than a quarter of how it bends.
    bend = -_bend_of_objective(form, along)
    value = max(_objective_along(form, at) for at in (p, q)) + max(bend, Fraction(0)) / 4
    words = f"two points between which row {row.data.name} changes sides, all others held"
    return FeasiblePoint(
        subject=form, words=words, seal=SEAL, varying=rounded_up(value) + 0.0, x=p.x, between=True
    )


def _others_hold(
    form: StandardForm, held: int, ends: tuple[Point, Point], along: Mapping[int, Fraction]
) -> bool:
    """Whether every row but one holds at both ends, and so on all of the segment."""
    others = tuple(row for k, row in enumerate(form.quadratic) if k != held)
    for at in ends:
        if not is_whole(form, at) or bound_excess(form, at).any():
            return False
        if linear_excess(form, at, stop=True).any() or quadratic_excess(others, at).any():
            return False
        if any(semidefinite_excess(row, at, stop=True) > 0 for row in form.psd):
            return False
    return all(_stays(row, along) for row in others)


def _stays(row: QuadraticRow, along: Mapping[int, Fraction]) -> bool:
    bend = _bend(row.body, along) + _lost_bend(row.lost, along)
    return (bend >= 0 or row.upper == np.inf) and (bend <= 0 or row.lower == -np.inf)


def _bend(body: LocalQuadratic, along: Mapping[int, Fraction]) -> Fraction:
    index = body.index.tolist()
    return sum(
        (
            Fraction(v) * along[index[i]] * along[index[j]]
            for i, j, v in zip(body.i.tolist(), body.j.tolist(), body.v.tolist(), strict=True)
        ),
        Fraction(0),
    )


def _value(body: LocalQuadratic, at: Point) -> Fraction:
    index = body.index.tolist()
    coordinates = {j: at.fraction(j) for j in index}
    lines = zip(body.a.tolist(), index, strict=True)
    linear = sum((Fraction(a) * coordinates[j] for a, j in lines), Fraction(body.constant))
    return linear + _bend(body, coordinates)


def _objective_along(form: StandardForm, at: Point) -> Fraction:
    coordinates = {j: at.fraction(j) for j in range(form.n)}
    lines = zip(form.objective.a.tolist(), coordinates.values(), strict=True)
    linear = sum((Fraction(a) * x for a, x in lines if a), Fraction(0))
    lost = {key: value for key, value in form.objective.lost.items() if len(key) < 2}
    return linear + _bend_of_objective(form, coordinates) + lost_at(lost, coordinates.__getitem__)


def _bend_of_objective(form: StandardForm, along: Mapping[int, Fraction]) -> Fraction:
    Q = form.objective.Q.tocoo()
    places = zip(Q.row.tolist(), Q.col.tolist(), Q.data.tolist(), strict=True)
    bend = sum((Fraction(v) * along[i] * along[j] for i, j, v in places), Fraction(0))
    return bend + _lost_bend(form.objective.lost, along)


def _lost_bend(lost: Mapping[Key, Fraction], along: Mapping[int, Fraction]) -> Fraction:
    squares: dict[Key, Fraction] = {key: value for key, value in lost.items() if len(key) == 2}
    return lost_at(squares, along.__getitem__)
