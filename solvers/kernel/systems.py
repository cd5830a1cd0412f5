"""Moves of a few numbers that solve equations: rational ones, or each within a proven radius."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr

from tightmargin.formulations.common.rounding import OUTWARD, ROUNDOFF, UNDERFLOW, growth
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.exact import dot_integers, dyadic, scaled, solve_exactly
from tightmargin.solvers.model.conic import ConicForm
from tightmargin.solvers.model.polynomial import QuadraticRow

# --- Sums in twice the precision, with a radius that is measured and no estimate ------------------
# Terms are added in pairs, and what each addition loses is kept (Ogita, Rump & Oishi, Accurate sum
# and dot product, SIAM Journal on Scientific Computing 26, 2005). What is kept is itself summed
# with rounding, which the sizes of its terms bound.


# --- A matrix times a vector without any rounding, at the speed of floating-point products -------
# Numbers are cut into limbs of so few bits that sums of products of two limbs are whole numbers
# below 2^53, which floating-point arithmetic adds up without error in any order (Ozaki, Ogita,
# Oishi & Rump, Error-free transformations of matrix multiplication by using fast routines of
# matrix multiplication and its applications, Numerical Algorithms 59, 2012).


BITS = 53
MOST_LIMBS = 12  # of numbers further apart than these hold, Python's integers are the faster way
BLOCK = 2**14  # numbers that are worked on together: they stay in the processor's cache


def exact_products(M: sp.csr_matrix, v: Array) -> tuple[list[int], int] | None:
    """M v as integers times a power of two.

    Returns: entry i is integers[i] * 2**exponent. None where the sizes of the numbers are too
        different.
    """
    count = int(np.diff(M.indptr).max(initial=0))
    if not count or not M.data.any() or not v.any():
        return [0] * M.shape[0], 0
    width = (BITS - count.bit_length()) // 2
    left, right = _limbs(M.data, width), _limbs(v, width)
    if left is None or right is None:
        return None
    columns = np.column_stack(right.parts)
    depth = len(left.parts) + len(right.parts) - 1
    sums = np.zeros((depth, M.shape[0]), dtype=np.int64)
    for i, part in enumerate(left.parts):
        limb = sp.csr_matrix((part, M.indices, M.indptr), shape=M.shape)
        sums[i : i + len(right.parts)] += (limb @ columns).T.astype(np.int64)
    return _joined(sums, width), left.top + right.top - (depth + 1) * width


def _joined(sums: NDArray[np.int64], width: int) -> list[int]:
    """Sum of sums[k] 2**(width (depth - 1 - k)) by columns; below 2**57 each, and changed."""
    depth = len(sums)
    for k in range(depth - 1, 0, -1):
        sums[k - 1] += sums[k] >> width
        sums[k] &= (1 << width) - 1
    total = sums[0].astype(object)
    several = 62 // width  # of what is left fit into one machine word
    for start in range(1, depth, several):
        lines = sums[start : start + several]
        word = lines[0]
        for line in lines[1:]:
            word = (word << width) | line
        total = (total << (width * len(lines))) + word
    return [int(entry) for entry in total]


@dataclass(frozen=True, eq=False)
class _Limbs:
    """Numbers as sum_k parts[k] 2**(top - (k + 1) width), parts whole and at most 2**width."""

    parts: list[Array]
    top: int


def _limbs(numbers: Array, width: int) -> _Limbs | None:
    """Numbers cut from the top; None where that needs too many cuts."""
    exponents = np.frexp(numbers)[1][numbers != 0]
    top, least = int(exponents.max()), int(exponents.min())
    if top - least + BITS > MOST_LIMBS * width:
        return None
    parts: list[Array] = []
    for start in range(0, len(numbers), BLOCK):
        rest, k = np.ldexp(numbers[start : start + BLOCK], width - top), 0
        while rest.any():
            whole = np.rint(rest)
            if k == len(parts):
                parts.append(np.zeros(len(numbers)))
            parts[k][start : start + BLOCK] = whole
            rest, k = (rest - whole) * 2.0**width, k + 1
    return _Limbs(parts, top)


# Within these a product of two doubles is exactly a sum of two.
SMALLEST_FACTOR, LARGEST_FACTOR = 1e-230, 1e100
SPLIT = 2.0**27 + 1


@dataclass(frozen=True, eq=False)
class DoubleSums:
    """Sums s with |s - high - low| <= radius, where high is s to about one rounding."""

    high: Array
    low: Array
    radius: Array

    def less(self, side: Array) -> tuple[Array, Array]:
        """The sums less a finite number each, and how far that may be off."""
        high, lost = two_sum(self.high, -side)
        low = self.low + lost
        value = high + low
        return value, OUTWARD * (self.radius + 2 * ROUNDOFF * (np.abs(low) + np.abs(value)))

    def plus(
        self, owner: NDArray[np.int64], more: Array, sizes: Array, least: float = UNDERFLOW
    ) -> DoubleSums:
        """The sums with small terms added that are known to a few roundings.

        owner: sum that each of them belongs to.
        sizes: each term is known to 4 roundings of itself, and to 4 squares of one of its size.
        least: and to so much, where products underflow.
        """
        height = len(self.high)
        off = 4 * ROUNDOFF * np.abs(more) + 4 * ROUNDOFF**2 * sizes + least
        radius = self.radius + np.bincount(owner, off, height)
        added = np.bincount(owner, more, height)
        count = np.bincount(owner, minlength=height)
        radius += roundings(count + 2) * np.bincount(owner, np.abs(more), height)
        low = self.low + added
        return DoubleSums(self.high, low, OUTWARD * (radius + 2 * ROUNDOFF * np.abs(low)))

    def outside(self, lower: Array, upper: Array) -> tuple[Array, NDArray[np.bool_]]:
        """By how much the sums are outside two sides each, rounded up, where that is decided.

        Returns: 0 inside; and which of them are decided.
        """
        found, decided = np.zeros(len(self.high)), np.isfinite(self.high + self.radius)
        for side, sign in ((lower, 1.0), (upper, -1.0)):
            finite = np.isfinite(side)
            with np.errstate(over="ignore", invalid="ignore"):
                value, radius = self.less(np.where(finite, side, 0.0))
                inside, missed = sign * value >= radius, sign * value < -radius
                excess = np.nextafter((radius - sign * value) * (1 + 4 * ROUNDOFF), np.inf)
            found = np.where(finite & missed, np.maximum(found, excess), found)
            decided &= ~finite | inside | missed
        return found, decided


def double_sums(terms: Array, lost: Array, indptr: NDArray[np.int64]) -> DoubleSums:
    """Sums over the rows of a compressed matrix, of terms and of what their rounding has lost.

    Nothing may over- or underflow: sums of doubles never do the latter.
    """
    count = np.diff(indptr)
    high, low, radius = (np.zeros(len(count)) for _ in range(3))
    shares = np.frexp(np.maximum(count, 1) - 0.5)[1]  # rows of 2^(k - 1) + 1 to 2^k terms
    for share in np.unique(shares[count > 0]).tolist():
        alike, size = np.flatnonzero((shares == share) & (count > 0)), 1 << share
        step = max(BLOCK // size, 1)
        for start in range(0, len(alike), step):
            rows = alike[start : start + step]
            inside = np.arange(size)[:, None] < count[rows]
            at = np.where(inside, indptr[rows] + np.arange(size)[:, None], 0)
            found = _in_pairs(np.where(inside, terms[at], 0.0), np.where(inside, lost[at], 0.0))
            high[rows], low[rows], radius[rows] = found
    return DoubleSums(high, low, radius)


def _in_pairs(terms: Array, lost: Array) -> tuple[Array, Array, Array]:
    """Sums of the columns of an array with a power of two of rows, added in halves."""
    sizes, additions = np.abs(lost), 1
    while len(terms) > 1:
        half = len(terms) // 2
        terms, errors = two_sum(terms[:half], terms[half:])
        lost = (lost[:half] + lost[half:]) + errors
        sizes = (sizes[:half] + sizes[half:]) + np.abs(errors)
        additions += 2
    return terms[0], lost[0], 2 * additions * ROUNDOFF * OUTWARD * sizes[0]


def two_products(a: Array, b: Array) -> tuple[Array, Array]:
    """Rounded products and what they lack, without a fused multiply-add.

    After Dekker, A floating-point technique for extending the available precision, Numerische
    Mathematik 18, 1971; exact where nothing over- or underflows.
    """
    product, lost = np.empty_like(a), np.empty_like(a)
    for start in range(0, len(a), BLOCK):
        part = slice(start, start + BLOCK)
        product[part], lost[part] = two_product(a[part], b[part])
    return product, lost


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """`two_products` of a few numbers."""
    product = a * b
    a_high, b_high = _upper_half(a), _upper_half(b)
    a_low, b_low = a - a_high, b - b_high
    return product, a_low * b_low - (
        ((product - a_high * b_high) - a_low * b_high) - a_high * b_low
    )


def _upper_half(a: Array) -> Array:
    far = SPLIT * a
    return far - (far - a)


def in_range(a: Array, b: Array, products: Array) -> NDArray[np.bool_]:
    """Which products lose nothing to over- or underflow."""
    sizes = np.abs(products)
    inside = (
        (np.abs(a) <= LARGEST_FACTOR) & (np.abs(b) <= LARGEST_FACTOR) & (sizes >= SMALLEST_FACTOR)
    )
    found: NDArray[np.bool_] = inside | (a == 0) | (b == 0)
    return found


def roundings(terms: NDArray[np.int64]) -> Array:
    """g with |computed sum of products - true one| <= g sum |products|, for so many roundings."""
    product = terms * ROUNDOFF
    return product / (1 - product)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Rounded sums and what they lack."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)


# --- Quadratic rows of few columns each, all of them evaluated together --------------------------


@dataclass(frozen=True, eq=False)
class Stack:
    """Quadratic rows one below the other.

    columns: of all rows, row by row; `i` and `j` are positions in it.
    squares, lines: rows that the entries of `v` and of `a` belong to.
    """

    columns: NDArray[np.int64]
    i: NDArray[np.int64]
    j: NDArray[np.int64]
    v: Array
    a: Array
    constant: Array
    lower: Array
    upper: Array
    squares: NDArray[np.int64]
    lines: NDArray[np.int64]

    @property
    def count(self) -> NDArray[np.int64]:
        """Terms of each row without its constant."""
        height = len(self.constant)
        return np.bincount(self.squares, minlength=height) + np.bincount(
            self.lines, minlength=height
        )


@lru_cache(maxsize=2)
def known_stack(rows: tuple[QuadraticRow, ...]) -> Stack:
    """`stacked` of the rows of a model, which are looked at for one candidate after another."""
    return stacked(rows)


def stacked(rows: Sequence[QuadraticRow]) -> Stack:
    """Rows one below the other, at least one."""
    bodies = [row.body for row in rows]
    squares = np.array([len(body.v) for body in bodies])
    lines = np.array([len(body.a) for body in bodies])
    first = np.repeat(np.cumsum(lines) - lines, squares)
    v, a, i, j = (np.concatenate([getattr(body, name) for body in bodies]) for name in "vaij")
    constant = np.array([body.constant for body in bodies])
    sides = (np.array([getattr(row, side) for row in rows]) for side in ("lower", "upper"))
    columns = np.concatenate([body.index for body in bodies])
    owners = (np.repeat(np.arange(len(rows)), counts) for counts in (squares, lines))
    return Stack(columns, first + i, first + j, v, a, constant, *sides, *owners)


def hold_clearly(stack: Stack, x: Array) -> NDArray[np.bool_]:
    """Which quadratic rows hold by more than their rounding."""
    y, v, height = x[stack.columns], stack.v, len(stack.constant)
    with np.errstate(over="ignore", invalid="ignore"):
        terms = (v * (y[stack.i] * y[stack.j]), stack.a * y)
        value, size = stack.constant.copy(), np.abs(stack.constant)
        for owner, part in zip((stack.squares, stack.lines), terms, strict=True):
            value = value + np.bincount(owner, part, height)
            size = size + np.bincount(owner, np.abs(part), height)
        lost = stack.count * (1 + np.abs(v).max(initial=0.0)) * UNDERFLOW
        radius = roundings(stack.count + 10) * size * OUTWARD + lost
        holds: NDArray[np.bool_] = (value - radius >= stack.lower) & (value + radius <= stack.upper)
    return holds


def sums_outside(stack: Stack, x: Array, rest: Array) -> tuple[Array, NDArray[np.bool_]]:
    """By how much rows are missed, rounded up, and which of them that is decided for.

    A product of three doubles is a sum of four: (p + e) y_j, where v y_i = p + e.

    rest (n,): what coordinates lack that are no doubles, to the nearest double.
    """
    y, height = x[stack.columns], len(stack.constant)
    yi, yj = y[stack.i], y[stack.j]
    with np.errstate(over="ignore", invalid="ignore"):
        half, small_half = two_product(stack.v, yi)
        large, small = two_product(half, yj), two_product(small_half, yj)
        line = two_product(stack.a, y)
        unsafe_squares = ~in_range(stack.v, yi, half) | ~in_range(half, yj, large[0])
        unsafe_squares |= ~in_range(small_half, yj, small[0])
        unsafe = np.bincount(stack.squares, unsafe_squares, height)
        unsafe += np.bincount(stack.lines, ~in_range(stack.a, y, line[0]), height)
        owner = np.concatenate([stack.squares, stack.squares, stack.lines, np.arange(height)])
        terms = np.concatenate([large[0], small[0], line[0], stack.constant])
        lost = np.concatenate([large[1], small[1], line[1], np.zeros(height)])
        order = np.argsort(owner, kind="stable")
        indptr = np.searchsorted(owner[order], np.arange(height + 1))
        sums = double_sums(terms[order], lost[order], indptr)
        short = rest[stack.columns]
        if short.any():
            ri, rj = short[stack.i], short[stack.j]
            more = half * rj, (stack.v * ri) * (yj + rj), stack.a * short
            sizes = np.where((ri != 0) | (rj != 0), np.abs(large[0]), 0.0)
            lines = np.where(short != 0, np.abs(line[0]), 0.0)
            owner = np.concatenate([stack.squares, stack.squares, stack.lines])
            # An underflow of v r_i is multiplied with the other coordinate.
            least = UNDERFLOW * (1 + float(np.abs(y).max()))
            sums = sums.plus(
                owner, np.concatenate(more), np.concatenate([sizes, 0 * sizes, lines]), least
            )
        found, decided = sums.outside(stack.lower, stack.upper)
    return found, decided & (unsafe == 0)


# --- What multipliers leave of stationarity in a few columns: exactly, or between two near numbers


Residuals = dict[int, tuple[Fraction, Fraction]]  # by column, between two numbers


def exact_residuals(conic: ConicForm, x: Array, z: Array, columns: Index) -> Residuals:
    """P x + q + A'z in some columns: both ends are the same."""
    total = [Fraction(number) for number in conic.q[columns].tolist()]
    for matrix, vector in ((conic.P, x), (conic.A, z)):
        lines = matrix[:, columns].T.tocsr()
        if not lines.nnz:
            continue
        found = exact_products(lines, vector)
        for k in range(len(total)):
            if found is not None:
                total[k] += scaled(found[0][k], found[1]) if found[0][k] else 0
                continue
            span = slice(lines.indptr[k], lines.indptr[k + 1])
            a, v = dyadic(lines.data[span]), dyadic(vector[lines.indices[span]])
            product = dot_integers(a.integers, v.integers)
            total[k] += scaled(product, a.exponent + v.exponent)
    return dict(zip(columns.tolist(), zip(total, total, strict=True), strict=True))


def near_residuals(conic: ConicForm, x: Array, z: Array, columns: Index) -> Residuals | None:
    """The same in twice the precision; None where products over- or underflow."""
    lines, vector = conic.A[:, columns], z
    bent = conic.P[:, columns]
    if bent.nnz:
        lines = sp.vstack([lines, bent], format="csc")
        vector = np.concatenate([z, x])
    used = vector[lines.indices] != 0
    starts = np.concatenate([[0], np.cumsum(used)])[lines.indptr]
    numbers, entries = lines.data[used], vector[lines.indices[used]]
    with np.errstate(over="ignore", invalid="ignore"):
        products, errors = two_products(numbers, entries)
        sums = double_sums(products, errors, starts)
        value, radius = sums.less(-conic.q[columns])
        known = np.isfinite(value).all() and np.isfinite(radius).all()
        if not (known and in_range(numbers, entries, products).all()):
            return None
    ends = [
        (Fraction(middle) - Fraction(far), Fraction(middle) + Fraction(far))
        for middle, far in zip(value.tolist(), radius.tolist(), strict=True)
    ]
    return dict(zip(columns.tolist(), ends, strict=True))


# --- A box that is proven to hold the solution of a square system, in floating point -------------
# For B s = r with B in doubles, any R and any s^, let E = |I - R B|. Where its largest row sum
# beta is below 1, B is regular, and with the residual p = r - B s^ the error e = B^-1 p solves (I
# - (I - R B)) e = R p, so that
#     |s - s^|  <=  |R p| + beta / (1 - beta) max |R p|.
# (Rump, Verification methods: rigorous results using floating-point arithmetic, Acta Numerica 19,
# 2010, sec. 10). The residual is taken in whole numbers, so that only the last place of s^ counts.


CONTRACTION = 0.5  # of the row sums: near 1 the box is too wide to be of use
LARGEST = 1e60  # of all numbers: products of a few stay far from the largest double


def enclosed_solution(
    matrix: Array, right: Sequence[Fraction], spread: Array
) -> tuple[Array, Array] | None:
    """The solution of a square system to within a proven radius, entry by entry.

    matrix (k, k): its entries are taken as the exact numbers that doubles are.
    right (k,).
    spread (k,): how far the right side may be off: the solution for every one of them is in the
        box.
    Returns: middle and radius. None where the matrix is not proven to be regular, or where numbers
        are too far apart.
    """
    k = len(matrix)
    sizes = max((abs(b) for b in right), default=Fraction(0))
    if matrix.shape != (k, k) or len(right) != k or sizes > LARGEST:
        return None
    if not ((spread >= 0) & (spread <= LARGEST)).all():
        return None
    if not np.isfinite(matrix).all() or float(np.abs(matrix).max(initial=0.0)) > LARGEST:
        return None
    try:
        inverse = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(inverse).all() or float(np.abs(inverse).max(initial=0.0)) > LARGEST:
        return None
    share = _distance_from_inverse(inverse, matrix)
    if share is None:
        return None
    middle = inverse @ np.array([float(b) for b in right])
    left = _residual(matrix, middle, right)
    if left is None:
        return None
    middle = middle + inverse @ left  # right to a rounding or so
    left = _residual(matrix, middle, right)
    if left is None:
        return None
    # One rounding of each entry of the residual, and those of the product.
    sizes_of_rows = np.abs(inverse).sum(axis=1) + k + 1
    lost = growth(k + 2) * (np.abs(inverse) @ np.abs(left)) + sizes_of_rows * UNDERFLOW
    lost = lost + np.abs(inverse) @ spread
    moved = (np.abs(inverse @ left) + lost) * OUTWARD
    radius = (moved + share / (1 - share) * moved.max(initial=0.0)) * OUTWARD
    return (middle, radius) if np.isfinite(radius).all() else None


def _distance_from_inverse(inverse: Array, matrix: Array) -> float | None:
    """Largest row sum of |I - R B|, rounded up; None where it is not small."""
    k = len(matrix)
    off = np.abs(np.eye(k) - inverse @ matrix)
    lost = growth(k + 2) * (np.abs(inverse) @ np.abs(matrix) + 1) + (k + 1) * UNDERFLOW
    share = float(((off + lost) * OUTWARD).sum(axis=1).max(initial=0.0)) * OUTWARD
    return share if share <= CONTRACTION else None


def _residual(matrix: Array, x: Array, right: Sequence[Fraction]) -> Array | None:
    """What a point leaves of the right side, to the nearest doubles."""
    found = exact_products(sp.csr_matrix(matrix), x) if np.isfinite(x).all() else None
    if found is None:
        return None
    products, exponent = found
    rest = [b - scaled(a, exponent) for a, b in zip(products, right, strict=True)]
    return np.array([float(number) for number in rest])


# Equations that are solved in whole numbers; beyond that in floating point, up to those that take a
# few tenths of a second.
FREE_LIMIT, ENCLOSED_LIMIT = 24, 1000
# Moves of another size lose more than their last places.
TINY, HUGE = Fraction(2) ** -900, Fraction(2) ** 900


@dataclass(frozen=True, eq=False)
class Step:
    """Moves by number of the mover, each within its radius of one that solves the equations.

    radius: 0 where the moves are a solution themselves.
    """

    moves: dict[int, Fraction]
    radius: Array

    def floats(self) -> Array | None:
        """The moves to the nearest floats; None where one is too small or large to be near."""
        if any(delta and not TINY <= abs(delta) <= HUGE for delta in self.moves.values()):
            return None
        return np.array([float(delta) for delta in self.moves.values()])


def step_of(
    block: Array,
    weights: Array,
    numbers: NDArray[np.intp],
    right: Sequence[Fraction],
    spread: Array | None = None,
    limit: int = FREE_LIMIT,
) -> Step | None:
    """Steps of the movers with the largest weights that solve the equations; None without any.

    block (movers, equations): coefficients, doubles as they stand.
    weights (movers,): 0 stands for one like the largest, and for a mover whose step is to be known
        exactly.
    numbers (movers,): what the movers are called.
    right (equations,).
    spread (equations,): how far the right side may be off: the step is then enclosed, as it is
        where there are more equations than whole numbers solve quickly.
    limit: so many they may be.
    """
    chosen = independent_movers(block, weights)
    rank = len(chosen)
    if not rank:
        return None
    places = [int(numbers[k]) for k in chosen]
    if spread is not None or len(right) > limit:
        off = np.zeros(len(right)) if spread is None else spread
        enclosed = rank == len(right) and (weights[chosen] > 0).all()
        near = enclosed_solution(block[chosen].T, right, off) if enclosed else None
        if near is None:
            return None
        middle, radius = near
        return Step(dict(zip(places, map(Fraction, middle.tolist()), strict=True)), radius)
    exact = rational_moves(block[chosen], right)
    return None if exact is None else Step(dict(zip(places, exact, strict=True)), np.zeros(rank))


def independent_movers(block: Array, weights: Array) -> NDArray[np.intp]:
    """Places of as many movers as are independent, those of large weights first.

    Equations count alike, whatever the size of their coefficients.

    block, weights (movers, equations) (movers,): as for `step_of`.
    """
    if not len(block):
        return np.zeros(0, dtype=np.intp)
    weighted = block * np.where(weights > 0, weights, 1.0)[:, None]
    straight, bent = (
        np.abs(weighted[part]).max(initial=0.0) for part in (weights > 0, weights == 0)
    )
    if bent > 0:
        weighted[weights == 0] *= (straight or 1.0) / bent
    if not np.isfinite(weighted).all():
        return np.zeros(0, dtype=np.intp)
    weighted /= np.maximum(np.abs(weighted).max(axis=0, initial=0.0), 1e-300)
    r, pivots = qr(weighted.T, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(r))
    rank = int((diagonal > 1e-11 * diagonal.max(initial=0.0)).sum())
    return np.asarray(pivots[:rank], dtype=np.intp)


def rational_moves(movers: Array, right: Sequence[Fraction]) -> list[Fraction] | None:
    """Moves of independent movers (rank, equations) that solve the equations; None without any."""
    rank = len(movers)
    exact = dyadic(movers.T.ravel())
    lines = [exact.integers[k * rank : (k + 1) * rank] for k in range(len(right))]
    found = solve_exactly(lines, right)
    if found is None:
        return None
    unit = scaled(1, -exact.exponent)
    return [delta * unit for delta in found]
