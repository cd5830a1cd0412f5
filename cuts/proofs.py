"""A tree of boxes over directions that covers all points, each leaf closed by multipliers.

The root box is what rows imply of z = V'x, for a linear objective together with
a cutoff, above which nothing has to be covered; a branch splits a box into
z_j <= at and z_j >= at, so that the leaves cover it by the way they are made; and in every leaf
multipliers say how low the objective can be, or that there is no point. The least of the leaves
is a lower bound for all feasible points, and where no leaf has a point the model has none.

Boxes of this kind are those of Falk & Soland, An algorithm for separable nonconvex programming
problems (Management Science 15, 1969); that the multipliers of a leaf bound every box, so that they
cut pieces off others too, is range reduction as of Ryoo & Sahinidis, A branch-and-reduce approach
to global optimization (Journal of Global Optimization 8, 1996).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.common.rounding import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.number_words import count_text
from tightmargin.printing import Printed
from tightmargin.solvers.exact import dyadic, rounded_down, rounded_up, scaled, solve_exactly
from tightmargin.solvers.kernel.exact_bounds import exact_lp_value, of_size_1, proven_infeasible
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.statement import SEAL, Infeasible, LowerBound, relaxed
from tightmargin.solvers.model.columns import Columns, Labels, Listed, Rows
from tightmargin.solvers.model.polynomial import Quadratic
from tightmargin.solvers.model.reader import StandardForm

# --- Quadratic parts of a model as weighted squares, with a bound on what the squares do not hold
# For directions v_j and weights p_kj that anybody found, with z = V'x,
#     objective       f(x)   = a'x - sum_j p_0j z_j^2 - x'E_0 x
#     side of a row   h_k(x) = b_k'x + const_k + sum_j p_kj z_j^2 + x'E_k x >= 0,
# which is true of any numbers, since E_k is defined by it. Weights above 0 make an objective
# concave and a row reverse convex, weights below 0 a row convex. |E_k| is bounded entry by entry
# with every rounding counted, so that no eigenvector has to be right and no matrix semidefinite:
# where the squares are not what the model has, E_k is large and the bounds are poor, but never
# false.


# Sizes of numbers, other than 0, whose products of up to four neither under- nor overflow.
SMALLEST, LARGEST = 2.0**-240, 2.0**240
SMALLEST_ENTRY, LARGEST_ENTRY = 2.0**-80, 2.0**80  # of directions, which are multiplied twice


@dataclass(frozen=True, eq=False)
class Directions:
    """Any numbers; what they are worth is for `squares_of` to say.

    vectors (n, r).
    weights (1 + K, r): of the objective first, then of each row.
    rows: numbers of K quadratic rows, with 1 for their lower side and -1 for their upper
        one.
    """

    vectors: Array
    weights: Array
    rows: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class Squares:
    """The parts of a model in the terms of the module's docstring.

    vectors (n, r).
    weights (1 + K, r).
    linear (1 + K, n): a and b_k.
    constants: const_k is the sum of the two, for each row.
    support: columns that occur in squares.
    excess (1 + K, s, s): bounds on |E_k| over the support; 0 outside of it.
    """

    vectors: Array
    weights: Array
    linear: Array
    constants: tuple[tuple[float, float], ...]
    support: NDArray[np.int64]
    excess: Array

    def excess_within(self, size: Array) -> Array:
        """Bounds (1 + K,) on |x'E_k x| where |x| <= size (n,), rounded up; infinity without any."""
        reach = size[self.support]
        reach = np.where((reach > 0) & (reach < SMALLEST), SMALLEST, reach)  # products are kept
        with np.errstate(invalid="ignore"):
            along = np.where(self.excess > 0, self.excess * reach, 0.0).sum(axis=2)
            total = np.where(along > 0, along * reach, 0.0).sum(axis=1)
        return np.asarray(total * (1 + 4 * UNIT * (2 * len(reach) + 4)))


def squares_of(form: StandardForm, claimed: Directions) -> Squares | None:
    """The parts of a model over some directions; None where the numbers say nothing of it.

    Those are an objective or row beyond degree two, a side that is infinite, or numbers so large or
    small that products of them are lost.
    """
    vectors, weights, rows = claimed.vectors, claimed.weights, claimed.rows
    n, r = form.n, vectors.shape[1] if vectors.ndim == 2 else -1
    if form.goal is not None or vectors.shape != (n, r) or weights.shape != (1 + len(rows), r):
        return None
    if vectors.dtype != np.float64 or weights.dtype != np.float64:
        return None
    if not (usable(weights) and usable(vectors, SMALLEST_ENTRY, LARGEST_ENTRY)):
        return None
    lines, constants = [form.objective.a], []
    for number, sign in rows:
        known = type(number) is type(sign) is int and 0 <= number < len(form.quadratic)
        if not known or sign not in (-1, 1):
            return None
        row = form.quadratic[number]
        side = row.lower if sign == 1 else row.upper
        if not np.isfinite(side):
            return None
        line = np.zeros(n)
        line[row.body.index] = sign * row.body.a
        lines.append(line)
        constants.append((-sign * side, sign * row.body.constant))
    linear = np.array(lines)
    if not (usable(linear) and usable(np.array(constants))):
        return None
    support = _support(form, claimed)
    excess = _excess(form, claimed, support)
    if excess is None:
        return None
    return Squares(vectors, weights, linear, tuple(constants), support, excess)


def usable(numbers: Array, smallest: float = SMALLEST, largest: float = LARGEST) -> bool:
    """Whether all numbers are 0 or of a size that products keep."""
    size = np.abs(numbers)
    return bool(((size == 0) | ((size >= smallest) & (size <= largest))).all())


def _support(form: StandardForm, claimed: Directions) -> NDArray[np.int64]:
    used = claimed.vectors.any(axis=1)
    used |= np.diff(form.objective.Q.indptr) > 0
    for number, _ in claimed.rows:
        body = form.quadratic[number].body
        used[body.index[body.i]] = True
    return np.flatnonzero(used)


def _excess(form: StandardForm, claimed: Directions, support: NDArray[np.int64]) -> Array | None:
    """Bounds on |N_k - V diag(p_k) V'| over the support, with N_0 = -Q and N_k of the rows."""
    V = claimed.vectors[support]
    place = np.full(form.n, -1)
    place[support] = np.arange(len(support))
    matrices = [-form.objective.Q[support][:, support].toarray()]
    for number, sign in claimed.rows:
        body = form.quadratic[number].body
        matrix = np.zeros((len(support), len(support)))
        np.add.at(matrix, (place[body.index[body.i]], place[body.index[body.j]]), sign * body.v)
        matrices.append(matrix)
    # One square a column, of that column alone, times powers of 2: the products have one term, and
    # are exact.
    alone = bool(np.isin(np.frexp(np.abs(V))[0], (0.0, 0.5)).all())
    alone = alone and bool(((V != 0).sum(axis=0) <= 1).all() and ((V != 0).sum(axis=1) <= 1).all())
    found = []
    for matrix, weights in zip(matrices, claimed.weights, strict=True):
        if not usable(matrix):
            return None
        weighted = V * weights
        left = matrix - weighted @ V.T
        size = np.abs(matrix) + np.abs(weighted) @ np.abs(V).T
        terms = 1 if alone else len(weights) + 4
        # A difference of two doubles is 0 only where they are the same.
        rounding = 2 * UNIT * terms * (np.abs(left) if alone else size)
        found.append((np.abs(left) + rounding) * (1 + 4 * UNIT))
    return np.array(found)


# --- Bounds on boxes from any multipliers, many at a time, with every rounding counted -----------
# Let z = V'x lie in a box, and f, h_k be as above. For mu >= 0, y with the signs of the
# sides of rows A x that are there, w >= 0 and any slopes t, every feasible x has
#     mu f(x) >= sum_i y_i side_i - sum_k w_k const_k
#                + sum_i min over limits of x_i of  rho_i x_i
#                + sum_j min over the box of  t_j z_j - P_j z_j^2
#                - mu |x'E_0 x| - sum_k w_k |x'E_k x|,
#     rho = mu a - sum_k w_k b_k - A'y - V t,    P = mu p_0 + sum_k w_k p_k.
# This is Lagrange's bound once z = V'x is priced by t. Where P_j >= 0 a term is concave over the
# box, so its minimum is at one of the ends; where P_j < 0 it is convex, and nowhere below any of
# its tangents. What does not depend on the box is computed once for multipliers that several boxes
# share. For mu = 0 a bound above 0 proves that the box has no feasible point.


READ = 1e-13  # of the sides: what a reader may have rounded in moving fixed columns there


@dataclass(frozen=True, eq=False)
class BoxMultipliers:
    """Any numbers, a line for each choice of multipliers.

    mu (C,): 0 or 1.
    rows (C, m): y, of the linear rows.
    sides (C, K): w, of the sides of quadratic rows.
    slopes (C, r): t.
    """

    mu: Array
    rows: sp.csr_matrix
    sides: Array
    slopes: Array

    def fits(self, form: StandardForm, squares: Squares) -> bool:
        """Whether the shapes are those of a model, and the numbers doubles."""
        count, kept = len(self.mu), len(squares.constants)
        try:
            self.rows.check_format(full_check=True)
        except ValueError:  # columns that are not there
            return False
        shapes = (
            self.rows.shape == (count, len(form.rows))
            and self.sides.shape == (count, kept)
            and self.slopes.shape == (count, squares.vectors.shape[1])
        )
        numbers = (self.mu, self.rows.data, self.sides, self.slopes)
        return shapes and all(part.dtype == np.float64 for part in numbers)


@dataclass(frozen=True, eq=False)
class LeafBounds:
    """The right side of the inequality for every choice of multipliers.

    constant (C,): what does not depend on the box, rounded down; -inf where the multipliers prove
        nothing.
    slopes, weights (C, r): t, and P rounded up.
    mu (C,).
    noise (C,): what a bound has to exceed where mu = 0.
    """

    constant: Array
    slopes: Array
    weights: Array
    mu: Array
    noise: Array

    def over(self, choice: Index, low: Array, high: Array) -> Array:
        """Bounds (L,) on f in boxes (L, r); infinity where a box has no point, -inf without any."""
        t, P = self.slopes[choice], self.weights[choice]
        terms = _least_terms(t, P, _outwards(low, -1), _outwards(high, 1))
        constant = self.constant[choice]
        count = terms.shape[1] + 4
        with np.errstate(invalid="ignore"):
            total = constant + terms.sum(axis=1)
            size = np.abs(constant) + np.abs(terms).sum(axis=1)
            total = total - 2 * UNIT * count * size
        total = np.where(np.isfinite(total), total, -np.inf)
        empty = np.where(total > self.noise[choice], np.inf, -np.inf)
        mu = self.mu[choice]
        found = np.where(mu == 1, total, np.where(mu == 0, empty, -np.inf))
        return np.where((low > high).any(axis=1), np.inf, found)


def leaf_bounds(
    form: StandardForm, squares: Squares, found: BoxMultipliers, low: Array, high: Array
) -> LeafBounds:
    """The constants of the inequality, where columns have the limits `low` and `high` (n,)."""
    Y, W, T, useless = _cleaned(form, found)
    mu = np.where((found.mu == 0) | (found.mu == 1), found.mu, 0.0)
    useless = useless | (mu != found.mu)
    V, a, B = squares.vectors, squares.linear[0], squares.linear[1:]
    A = form.A
    if not (usable(A.data) and usable(_finite(form.row_lower)) and usable(_finite(form.row_upper))):
        useless[:] = True
    with np.errstate(over="ignore", invalid="ignore"):
        rest = mu[:, None] * a - W @ B - (Y @ A).toarray() - T @ V.T
        size = mu[:, None] * np.abs(a) + W @ np.abs(B) + T_size(T, V) + (abs(Y) @ abs(A)).toarray()
        terms = int(np.diff(form.columnwise.indptr).max(initial=0)) + W.shape[1] + T.shape[1] + 4
        radius = 4 * UNIT * terms * size
        columns = _least(rest - radius, rest + radius, _outwards(low, -1), _outwards(high, 1))
        sides = _side_products(form, Y)
        consts = np.array(squares.constants).reshape(-1, 2)
        paid = -W @ consts.sum(axis=1)
        size_of_sides = np.asarray(abs(sides).sum(axis=1)).ravel() + W @ np.abs(consts).sum(axis=1)
        reach = np.maximum(np.abs(_outwards(low, -1)), np.abs(_outwards(high, 1)))
        excess = squares.excess_within(reach)
        lost = _priced(np.column_stack([mu, W]), excess)
        parts = np.asarray(sides.sum(axis=1)).ravel() + paid + columns.sum(axis=1) - lost
        total = size_of_sides + np.abs(columns).sum(axis=1) + lost
        count = int(np.diff(Y.indptr).max(initial=0)) + W.shape[1] + form.n + 8
        constant = parts - 4 * UNIT * count * total
        prices = np.column_stack([mu, W])
        weights = prices @ squares.weights
        weights = weights + 2 * UNIT * (W.shape[1] + 4) * (prices @ np.abs(squares.weights))
        # A weight that is nearly nothing is 0, which is more.
        weights = np.where((weights < 0) & (weights > -SMALLEST), 0.0, weights)
    constant = np.where(useless | ~np.isfinite(constant), -np.inf, constant)
    return LeafBounds(constant, T, weights, mu, READ * size_of_sides)


def T_size(T: Array, V: Array) -> Array:  # noqa: N802  (matrices)
    """|T| |V|'."""
    return np.asarray(np.abs(T) @ np.abs(V).T)


def _finite(numbers: Array) -> Array:
    return numbers[np.isfinite(numbers)]


def _outwards(ends: Array, sign: int) -> Array:
    """Limits whose products are kept: one that is nearly 0 moves to 0 or beyond it."""
    tiny = (ends != 0) & (np.abs(ends) < SMALLEST)
    return np.where(tiny, np.where(sign * ends > 0, sign * SMALLEST, 0.0), ends)


def _cleaned(
    form: StandardForm, found: BoxMultipliers
) -> tuple[sp.csr_matrix, Array, Array, NDArray[np.bool_]]:
    """Multipliers without those that are tiny or of an infinite side, and which are of no use."""
    # An entry that is there twice is summed here, so that all that is computed of it is of one
    # number; in a new matrix, since the old one may say of itself that nothing is there twice.
    given = found.rows
    Y = sp.csr_matrix((given.data, given.indices, given.indptr), shape=given.shape, copy=True)
    Y.sum_duplicates()
    side = np.where(Y.data > 0, form.row_lower[Y.indices], form.row_upper[Y.indices])
    Y.data = np.where(np.isfinite(side) & (np.abs(Y.data) >= SMALLEST), Y.data, 0.0)
    W = np.where(found.sides >= SMALLEST, found.sides, 0.0)
    T = np.where(np.abs(found.slopes) >= SMALLEST, found.slopes, 0.0)
    largest = [np.abs(part).max(axis=1, initial=0.0) for part in (found.sides, found.slopes)]
    of_rows = sp.csr_matrix((np.abs(given.data), given.indices, given.indptr), shape=given.shape)
    of_rows = np.asarray(of_rows.sum(axis=1)).ravel()
    size = np.maximum.reduce([*largest, of_rows])
    return Y, W, T, ~(size <= LARGEST)


def _side_products(form: StandardForm, Y: sp.csr_matrix) -> sp.csr_matrix:
    """y_i side_i, entry by entry."""
    side = np.where(Y.data > 0, form.row_lower[Y.indices], form.row_upper[Y.indices])
    products = np.where(Y.data == 0, 0.0, Y.data * np.where(np.isfinite(side), side, 0.0))
    return sp.csr_matrix((products, Y.indices, Y.indptr), shape=Y.shape)


def _least(low: Array, high: Array, below: Array, above: Array) -> Array:
    """Least of r x over r from `low` to `high` and x from `below` to `above`, rounded down."""
    corners = []
    for r in (low, high):
        for end in (below, above):
            end = np.broadcast_to(end, r.shape)
            corners.append(np.where((r == 0) | (end == 0), 0.0, r * end))
    least = np.minimum.reduce(corners)
    return np.where(np.isnan(least), -np.inf, least - 2 * UNIT * np.abs(least))


def _priced(weights: Array, excess: Array) -> Array:
    """Sums (C,) of weights times bounds, rounded up, in which 0 times infinity is 0."""
    with np.errstate(invalid="ignore"):
        products = np.where((weights == 0) | (excess == 0), 0.0, weights * excess)
    return np.asarray(products.sum(axis=1) * (1 + 4 * UNIT * (len(excess) + 2)))


def _least_terms(t: Array, P: Array, low: Array, high: Array) -> Array:
    """Least of t z - P z^2 between two ends, rounded down."""
    ends = np.minimum(_at(t, P, low), _at(t, P, high))
    if not (P < 0).any():
        return ends
    return np.where(P < 0, _least_tangent(t, np.minimum(P, 0.0), low, high), ends)


def _least_tangent(t: Array, P: Array, low: Array, high: Array) -> Array:
    """Least of a tangent of t z - P z^2, P <= 0, near its minimum between two ends, rounded down.

    The tangent at c is (t - 2 P c) z + P c^2, whatever c.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        c = np.clip(np.where(P < 0, t / (2 * P), 0.0), low, high)
        c = np.where(np.isfinite(c) & (np.abs(c) >= SMALLEST), c, 0.0)
        bend = 2 * P * c
        slope, radius = t - bend, 4 * UNIT * (np.abs(t) + np.abs(bend))
        constant = P * c * c * (1 + 8 * UNIT)
        line = _least(slope - radius, slope + radius, low, high)
        value = line + constant - 4 * UNIT * (np.abs(line) + np.abs(constant))
    return np.where(np.isnan(value), -np.inf, value)


def _at(t: Array, P: Array, z: Array) -> Array:
    """t z - P z^2 at an end of the box, rounded down; -inf at infinity unless nothing is priced."""
    with np.errstate(over="ignore", invalid="ignore"):
        line = np.where((t == 0) | (z == 0), 0.0, t * z)
        square = np.where((P == 0) | (z == 0), 0.0, P * z * z)
        value = line - square - 8 * UNIT * (np.abs(line) + np.abs(square))
    return np.where(np.isnan(value), -np.inf, value)


# --- A model with linear rows more ---------------------------------------------------------------


def with_rows(
    form: StandardForm, lines: Array, low: Sequence[float], high: Sequence[float], word: str
) -> StandardForm:
    """The form with rows low <= lines x <= high (p, n) behind its own, named by a word."""
    count, places = len(lines), np.arange(len(lines))
    names = Listed([f"{word} {k}" for k in range(count)])
    labels = Labels(("", form.rows, np.arange(len(form.rows))), ("", names, places))
    return replace(
        form,
        matrix=sp.vstack([form.A, sp.csr_matrix(lines.reshape(-1, form.n))], format="csr"),
        row_lower=np.concatenate([form.row_lower, low]),
        row_upper=np.concatenate([form.row_upper, high]),
        rows=cast(Rows, labels),
    )


# --- Limits of columns and directions that rows and bounds imply, with every rounding counted ----
# A linear limit is a bound on a linear program. Floating-point multipliers leave something of
# stationarity on every column, which a free column may not have: where a bound with all roundings
# taken off is none for that reason, it is made in exact arithmetic. Columns with one limit that
# are left with next to nothing are then taken as free too, which loses that limit and is never
# wrong, and kernel/exact_bounds.py makes what is left of free columns 0.
# A convex row  sum_j |p_j| z_j^2 <= const + b'x + x'E x  limits each z_j by what its right side
# can be. Limits are proven one after the other, each with those before it.


NEARLY_NOTHING = 1e-9  # of the terms that make up a reduced cost
ROUNDED = 2.0**-50  # more than a rounding, and than its share of sums


@dataclass(frozen=True, eq=False)
class LinearLimit:
    """That sign times a column, or a direction, is at least what the multipliers prove.

    of_direction: whether `number` is one of directions, and not of columns.
    number, sign: the sign is 1 or -1.
    rows, y (p,): which linear rows have a multiplier, and how much.
    price: of the row that keeps a linear objective at a cutoff or below it: 0 or a power of 2, so
        that costs times it are exact.
    """

    of_direction: bool
    number: int
    sign: int
    rows: NDArray[np.int64]
    y: Array
    price: float = 0.0


@dataclass(frozen=True)
class SquareLimit:
    """That the directions of a convex row are limited by it; the row's number among the squares."""

    row: int


Limit = LinearLimit | SquareLimit
Ends = tuple[Array, Array]


def proven_limits(
    form: StandardForm, squares: Squares, claimed: tuple[Limit, ...], cutoff: float = math.inf
) -> tuple[Ends, Ends]:
    """Limits of the columns (n,), and of the directions (r,), as far as they are proven.

    cutoff: the limits are those of points with a linear objective, its constant left out, of at
        most that. Without one prices prove nothing.
    """
    V = squares.vectors
    n, r = V.shape
    columns = form.lower.copy(), form.upper.copy()
    directions = np.full(r, -np.inf), np.full(r, np.inf)
    program = linear(form)
    goal = form.objective.a
    for limit in claimed:
        if isinstance(limit, SquareLimit):
            _squared(squares, limit.row, columns, directions)
            _onto_columns(V, columns, directions)
            continue
        size = r if limit.of_direction else n
        number, sign = limit.number, limit.sign
        if not (type(number) is type(sign) is int and 0 <= number < size and sign in (-1, 1)):
            continue
        along = V[:, number] if limit.of_direction else np.eye(1, n, number).ravel()
        now = replace(program, lower=columns[0].copy(), upper=columns[1].copy())
        least = linear_least(now, sign * along, limit, goal, cutoff)
        ends = directions if limit.of_direction else columns
        if sign == 1:
            ends[0][number] = max(ends[0][number], least)
        else:
            ends[1][number] = min(ends[1][number], -least)
    return columns, directions


def linear(form: StandardForm) -> StandardForm:
    """The linear rows of a model alone."""
    n = form.n
    nothing = Quadratic(sp.csr_matrix((n, n)), np.zeros(n), 0.0)
    return replace(
        form, objective=nothing, sense=1, integer=np.zeros(n, dtype=bool), quadratic=(), psd=(),
        nonlinear=(),
    )  # fmt: skip


def _squared(squares: Squares, row: int, columns: Ends, directions: Ends) -> None:
    """Move limits of directions and columns in to what a convex row says."""
    if not (type(row) is int and 0 <= row < len(squares.constants)):
        return
    found = _ball_of(squares, 1 + row) or _within_columns(squares, 1 + row, columns)
    if found is None:
        return
    most, radius, inside = found
    if most < 0:
        return  # no point at all, which is for others to prove
    weights = squares.weights[1 + row]
    for j in np.flatnonzero(weights).tolist():
        reach = _root_up(most / Fraction(-float(weights[j])))
        directions[0][j] = max(directions[0][j], -reach)
        directions[1][j] = min(directions[1][j], reach)
    for i, unit in inside.items():
        columns[0][i] = max(columns[0][i], -radius * unit)
        columns[1][i] = min(columns[1][i], radius * unit)


def _within_columns(
    squares: Squares, part: int, columns: Ends
) -> tuple[Fraction, float, dict[int, float]] | None:
    """What the squares of a convex row come to at most, from limits of columns."""
    weights, line = squares.weights[part], squares.linear[part]
    used = np.flatnonzero(line)
    ends = np.where(line[used] > 0, columns[1][used], columns[0][used])
    size = np.maximum(np.abs(columns[0]), np.abs(columns[1]))
    excess = float(squares.excess_within(size)[part])
    if not ((weights <= 0).all() and np.isfinite(ends).all() and math.isfinite(excess)):
        return None
    most = sum((Fraction(c) for c in squares.constants[part - 1]), Fraction(excess))
    for a, x in zip(line[used].tolist(), ends.tolist(), strict=True):
        most += Fraction(a) * Fraction(x)
    return most, math.inf, {}


def _ball_of(squares: Squares, part: int) -> tuple[Fraction, float, dict[int, float]] | None:
    """The same of a row that is a ball or an ellipsoid, its radius, and the columns in it.

    With the directions V of the row square and VV' = I + F, |F| <= phi < 1, ||z||^2 is at least
    (1 - phi) ||x||^2; with |x'Ex| <= e ||x||^2 that is at most a share theta of the squares. So
    (1 - theta) p (1 - phi) ||x||^2 <= const + ||b|| ||x|| for the least weight p. Columns in other
    units are multiplied by powers of two first.
    """
    weights, line = squares.weights[part], squares.linear[part]
    own = np.flatnonzero(weights)
    V = squares.vectors[:, own]
    inside = np.flatnonzero(V.any(axis=1))
    if (weights > 0).any() or len(own) != len(inside) or not len(own):
        return None
    if np.delete(line, inside).any():
        return None
    of_support = np.isin(squares.support, inside)
    E = squares.excess[part]
    if E[~of_support].any() or E[:, ~of_support].any():
        return None
    units = 2.0 ** -np.round(np.log2(np.linalg.norm(V[inside], axis=1)))
    V, line = units[:, None] * V[inside], units * line[inside]
    E = units[:, None] * E[np.ix_(of_support, of_support)] * units
    off = np.abs(V @ V.T - np.eye(len(inside))) + ROUNDED * len(inside) * (np.abs(V) @ np.abs(V).T)
    phi, rest = _row_sums(off), _row_sums(np.maximum(E, E.T))
    least = Fraction(float(-weights[own].max()))
    if phi >= Fraction(1, 2) or 2 * rest >= least * (1 - phi):
        return None
    share = rest / (least * (1 - phi))
    bend = (1 - share) * least * (1 - phi)
    constant = sum((Fraction(c) for c in squares.constants[part - 1]), Fraction(0))
    slope = _root_up(sum((Fraction(a) ** 2 for a in line.tolist()), Fraction(0)))
    if constant < 0 and not slope:
        return constant, 0.0, {}
    root = _root_up(max(Fraction(slope) ** 2 + 4 * bend * constant, Fraction(0)))
    radius = (Fraction(slope) + Fraction(root)) / (2 * bend)
    most = (constant + Fraction(slope) * radius) / (1 - share)
    return most, rounded_up(radius), dict(zip(inside.tolist(), units.tolist(), strict=True))


def _row_sums(sizes: Array) -> Fraction:
    """The largest sum of a row, rounded up."""
    return Fraction(float(sizes.sum(axis=1).max())) * (1 + Fraction(ROUNDED) * sizes.shape[1])


def _root_up(number: Fraction) -> float:
    return math.nextafter(math.sqrt(rounded_up(number)), math.inf) if number else 0.0


def _onto_columns(vectors: Array, columns: Ends, directions: Ends) -> None:
    """Move limits of columns in to those of directions that are multiples of one column."""
    for j in np.flatnonzero((vectors != 0).sum(axis=0) == 1).tolist():
        i = int(np.flatnonzero(vectors[:, j])[0])
        low, high = float(directions[0][j]), float(directions[1][j])
        v = float(vectors[i, j])
        if abs(v) != 1:
            parts = [end / v for end in (low, high)]
            low, high = math.nextafter(min(parts), -math.inf), math.nextafter(max(parts), math.inf)
        elif v < 0:
            low, high = -high, -low
        columns[0][i] = max(columns[0][i], low)
        columns[1][i] = min(columns[1][i], high)


def linear_least(
    program: StandardForm, along: Array, limit: LinearLimit, goal: Array, cutoff: float
) -> float:
    """The least that along'x can be, rounded down; -inf where the multipliers prove nothing.

    That is the least of (along + price goal)'x, less price times the cutoff.

    program: linear.
    goal (n,): of the cutoff.
    """
    y, price = np.zeros(len(program.rows)), limit.price
    whole = np.issubdtype(limit.rows.dtype, np.integer) and limit.rows.shape == limit.y.shape
    if not whole or not np.isfinite(limit.y).all():
        return -math.inf
    if len(limit.rows) and not 0 <= limit.rows.min() <= limit.rows.max() < len(y):
        return -math.inf
    y[limit.rows] = limit.y
    if not (isinstance(price, float) and (price == 0 or _is_price(price, goal, cutoff))):
        return -math.inf
    found: Fraction | float | None = _rounded_least(program, along + price * goal, y)
    if found == -math.inf:
        found = _exact_limit(program, along, price * goal, y)
    if found is None:
        return -math.inf
    return rounded_down(Fraction(found) - (Fraction(price) * Fraction(cutoff) if price else 0))


def _is_price(price: float, goal: Array, cutoff: float) -> bool:
    power = math.isfinite(price) and price > 0 and math.frexp(price)[0] == 0.5
    return power and math.isfinite(cutoff) and usable(goal) and usable(price * goal)


def _rounded_least(program: StandardForm, cost: Array, y: Array) -> float:
    """The least of cost'x in double precision, all roundings taken off, that of the cost too."""
    n, nothing = program.n, np.zeros((1, 0))
    squares = Squares(
        np.zeros((n, 0)), nothing, cost[None], (), np.zeros(0, dtype=np.int64), np.zeros((1, 0, 0))
    )
    one = BoxMultipliers(np.ones(1), sp.csr_matrix(y), nothing, nothing)
    if not usable(cost):
        return -math.inf
    return float(leaf_bounds(program, squares, one, program.lower, program.upper).constant[0])


def _exact_limit(program: StandardForm, along: Array, priced: Array, y: Array) -> Fraction | None:
    """The least of along'x + priced'x in fractions.

    The sum of the two costs would be rounded: along'x is a column of its own where both are there.
    """
    n = program.n
    if not priced.any():
        goal = Quadratic(sp.csr_matrix((n, n)), along, 0.0)
        return exact_least(replace(program, objective=goal), y)
    columns = Labels(("", program.columns, np.arange(n)), ("", Listed(["along"]), np.arange(1)))
    row = np.append(along, -1.0)
    wider = replace(
        program,
        columns=cast(Columns, columns),
        lower=np.append(program.lower, -np.inf),
        upper=np.append(program.upper, np.inf),
        integer=np.zeros(n + 1, dtype=bool),
        objective=Quadratic(sp.csr_matrix((n + 1, n + 1)), np.append(priced, 1.0), 0.0),
        matrix=sp.hstack([program.A, sp.csr_matrix((len(y), 1))], format="csr"),
    )
    return exact_least(with_rows(wider, row[None], [0.0], [0.0], "along"), np.append(y, -1.0))


def exact_least(program: StandardForm, y: Array) -> Fraction | None:
    """The least value of a linear program that multipliers prove; None where they prove nothing."""
    cost, A = program.objective.a, program.A
    nothing = np.abs(cost - A.T @ y) <= NEARLY_NOTHING * (np.abs(cost) + abs(A).T @ np.abs(y))
    one_sided = nothing & (np.isfinite(program.lower) != np.isfinite(program.upper))
    looser = replace(
        program,
        lower=np.where(one_sided, -np.inf, program.lower),
        upper=np.where(one_sided, np.inf, program.upper),
    )
    for tried in (looser, program) if one_sided.any() else (program,):
        found = exact_lp_value(Subject(tried), y)
        if found is not None:
            return found
    return None


# --- A bound on one box in rational arithmetic, for columns that have no limit on some side ------
# What floating-point multipliers leave of stationarity on such a column costs everything, however
# little it is. With s_k = b_k'x and the multipliers w >= 0 of the sides as they are given,
#     mu f(x) >= mu a'x - sum_k w_k s_k - sum_j P_j z_j^2 - sum_k w_k const_k - what squares leave,
# and -P_j z_j^2 >= -c_j z_j + least of (c_j z - P_j z^2) in the box for any c: a secant where P_j
# > 0 and a tangent where P_j < 0. The linear program over (x, z, s) that this leaves goes to
# kernel/exact_bounds.py, which makes what is left of columns without limits exactly 0.


def exact_leaf(
    form: StandardForm,
    squares: Squares,
    found: BoxMultipliers,
    choice: int,
    box: tuple[Array, Array],
    excess: Array,
) -> float:
    """Lower bound on f in a box, infinity where it has no point, -inf without any.

    found, choice: the multipliers that are tried.
    box (r,): finite, or nothing is proven.
    excess (1 + K,): bounds on what the squares leave of the objective and of each row.
    """
    mu = float(found.mu[choice])
    ends = np.concatenate(box)
    if mu not in (0.0, 1.0) or not ((np.abs(ends) <= LARGEST).all() and np.isfinite(excess).all()):
        return -math.inf
    w = np.where(found.sides[choice] > 0, found.sides[choice], 0.0)
    t, y = found.slopes[choice], found.rows[choice].toarray().ravel()
    if not (np.abs(np.concatenate([w, t, y])) <= LARGEST).all():
        return -math.inf
    prices = np.append(mu, w)
    weights = [_dot(prices, column) for column in squares.weights.T]
    slopes = _slopes(weights, t, box)
    constant = sum(
        (_least_exactly(*each) for each in zip(slopes, weights, *box, strict=True)), Fraction(0)
    )
    constant -= _dot(prices, excess)
    paid = [sum((Fraction(c) for c in each), Fraction(0)) for each in squares.constants]
    paid = [Fraction(k) * c for k, c in zip(w.tolist(), paid, strict=True)]
    program = _linear(form, squares, box, mu * squares.linear[0], slopes, w)
    least = exact_least(program, np.concatenate([y, t, w]))
    if least is None:
        return -math.inf
    value = least + constant - sum(paid, Fraction(0))
    if mu == 0:
        sides = np.concatenate([form.row_lower, form.row_upper])
        size = float(np.abs(sides[np.isfinite(sides)]).max(initial=0.0))
        noise = READ * (size * float(np.abs(y).sum()) + float(sum(map(abs, paid))))
        return math.inf if value > noise else -math.inf
    return rounded_down(value)


def _dot(a: Array, b: Array) -> Fraction:
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    return sum((Fraction(p) * Fraction(q) for p, q in pairs if p and q), Fraction(0))


def _slopes(weights: list[Fraction], t: Array, box: tuple[Array, Array]) -> Array:
    """c of each direction; any numbers would do."""
    P = np.array([float(weight) for weight in weights])
    with np.errstate(all="ignore"):
        at = np.clip(np.where(P < 0, t / (2 * P), 0.0), *box)
        slopes = np.where(P < 0, 2 * P * at, P * (box[0] + box[1]))
    return np.where(np.isfinite(slopes), slopes, 0.0)


def _linear(
    form: StandardForm,
    squares: Squares,
    box: tuple[Array, Array],
    cost: Array,
    slopes: Array,
    w: Array,
) -> StandardForm:
    """The linear program over x, z = V'x and s = B x."""
    n, r = squares.vectors.shape
    K = len(w)
    more, endless = np.arange(r + K), np.full(K, np.inf)
    links = sp.vstack([sp.csr_matrix(squares.vectors.T), sp.csr_matrix(squares.linear[1:])])
    rows = sp.hstack([form.A, sp.csr_matrix((len(form.rows), r + K))])
    names = Listed([f"direction {j}" for j in range(r)] + [f"side {k}" for k in range(K)])
    column_names = Labels(("", form.columns, np.arange(n)), ("", names, more))
    row_names = Labels(("", form.rows, np.arange(len(form.rows))), ("", names, more))
    return replace(
        form,
        columns=cast(Columns, column_names),
        lower=np.concatenate([form.lower, box[0], -endless]),
        upper=np.concatenate([form.upper, box[1], endless]),
        integer=np.zeros(n + r + K, dtype=bool),
        objective=Quadratic(
            sp.csr_matrix((n + r + K, n + r + K)), np.concatenate([cost, -slopes, -w]), 0.0
        ),
        sense=1,
        matrix=sp.vstack([rows, sp.hstack([links, -sp.identity(r + K)])], format="csr"),
        row_lower=np.concatenate([form.row_lower, np.zeros(r + K)]),
        row_upper=np.concatenate([form.row_upper, np.zeros(r + K)]),
        rows=cast(Rows, row_names),
        quadratic=(), psd=(), nonlinear=(),
    )  # fmt: skip


def _least_exactly(c: float, weight: Fraction, low: float, high: float) -> Fraction:
    """Least of c z - P z^2 in the box: at an end where it is concave, anywhere where convex."""
    slope = Fraction(float(c))
    if weight < 0:
        return slope * slope / (4 * weight)
    ends = (Fraction(float(low)), Fraction(float(high)))
    return min(slope * z - weight * z * z for z in ends)


METHOD = "cover by boxes over concave directions, every leaf by weak duality"
TOGETHER = 4096  # leaves and multipliers that are evaluated at a time


@dataclass(frozen=True, eq=False, repr=False)
class BoxCover(Printed):
    """What the module's docstring describes; any numbers, which `cover_bound` checks.

    limits: from which the root box, and limits of columns, are proven.
    axis (N,): direction that a node is split in; -1 for a leaf. The first node is the root.
    at (N,): where it is split.
    below, above (N,): children for z <= at and z >= at.
    choice (N,): multipliers of a leaf; -1 for none, which leaves it open.
    cutoff: of a linear objective without its constant: the boxes are for points of at most that,
        and all others are no better than it.
    """

    directions: Directions
    limits: tuple[Limit, ...]
    axis: Index
    at: Array
    below: Index
    above: Index
    choice: Index
    multipliers: BoxMultipliers
    cutoff: float = math.inf

    def _title(self) -> str:
        leaves = int((self.axis < 0).sum())
        return f"BoxCover: {count_text(leaves, 'leaf', 'leaves')}"


def cover_bound(form: StandardForm, cover: BoxCover) -> LowerBound | Infeasible | None:
    """What a cover proves of a model; None where it proves nothing.

    Linear rows and bounds, the sides of quadratic rows that the directions name and the objective
    are used;
    integrality and all other rows only take points away.
    """
    squares = squares_of(form, cover.directions)
    if squares is None or not cover.multipliers.fits(form, squares):
        return None
    cutoff = cover.cutoff
    is_linear = not (form.objective.Q.nnz or squares.weights[0].any())
    if not (
        isinstance(cutoff, float) and (cutoff == math.inf or (is_linear and -math.inf < cutoff))
    ):
        return None
    columns, root = proven_limits(form, squares, cover.limits, cutoff)
    if (columns[0] > columns[1]).any() or (root[0] > root[1]).any():
        return None  # a Farkas vector says so, with what a reader may have rounded taken off
    leaves = _leaves(cover, *root)
    if leaves is None:
        return None
    choice, low, high = leaves
    bounds = _in_parts(form, squares, cover.multipliers, columns)
    open_columns = not (np.isfinite(columns[0]).all() and np.isfinite(columns[1]).all())
    excess = squares.excess_within(np.maximum(np.abs(columns[0]), np.abs(columns[1])))
    value = math.inf
    for start in range(0, len(choice), TOGETHER):
        part = slice(start, start + TOGETHER)
        found = bounds.over(choice[part], low[part], high[part])
        for k in np.flatnonzero(found == -np.inf).tolist() if open_columns else ():
            box = low[part][k], high[part][k]
            found[k] = exact_leaf(
                form, squares, cover.multipliers, int(choice[part][k]), box, excess
            )
            if found[k] == -np.inf:
                return None
        value = min(value, float(found.min()))
    value = min(value, cutoff)
    words = f"{METHOD}, {count_text(len(choice), 'leaf', 'leaves')}{relaxed(form)}"
    if value == math.inf:
        return Infeasible(subject=form, words=words, seal=SEAL)
    if not math.isfinite(value):
        return None
    return LowerBound(subject=form, words=words, seal=SEAL, varying=value)


def _in_parts(
    form: StandardForm, squares: Squares, found: BoxMultipliers, columns: tuple[Array, Array]
) -> LeafBounds:
    """Constants of all multipliers, computed for a few thousand at a time."""
    parts = []
    for start in range(0, max(1, len(found.mu)), TOGETHER):
        part = slice(start, start + TOGETHER)
        few = BoxMultipliers(
            found.mu[part], found.rows[part], found.sides[part], found.slopes[part]
        )
        parts.append(leaf_bounds(form, squares, few, *columns))
    names = ("constant", "slopes", "weights", "mu", "noise")
    return LeafBounds(*(np.concatenate([getattr(p, name) for p in parts]) for name in names))


def _leaves(cover: BoxCover, low: Array, high: Array) -> tuple[Index, Array, Array] | None:
    """Multipliers and boxes of all leaves; None where the nodes are no tree or a leaf is open."""
    count, r = len(cover.axis), len(low)
    arrays = (cover.at, cover.below, cover.above, cover.choice)
    if count == 0 or any(part.shape != (count,) for part in arrays):
        return None
    whole = (cover.axis, cover.below, cover.above, cover.choice)
    if not all(np.issubdtype(part.dtype, np.integer) for part in whole):
        return None
    if cover.at.dtype != np.float64:
        return None
    axis, below, above = cover.axis.tolist(), cover.below.tolist(), cover.above.tolist()
    at, choice = cover.at.tolist(), cover.choice.tolist()
    seen = [False] * count
    chosen, lows, highs = [], [], []
    stack = [(0, low, high)]
    while stack:
        number, low, high = stack.pop()
        if not 0 <= number < count or seen[number]:
            return None
        seen[number] = True
        j = axis[number]
        if j == -1:
            if not 0 <= choice[number] < len(cover.multipliers.mu):
                return None
            chosen.append(choice[number])
            lows.append(low)
            highs.append(high)
            continue
        if not 0 <= j < r or not math.isfinite(at[number]):
            return None
        left, right = high.copy(), low.copy()
        left[j], right[j] = min(left[j], at[number]), max(right[j], at[number])
        stack += [(below[number], low, left), (above[number], right, high)]
    return np.array(chosen), np.array(lows), np.array(highs)


# --- Names of the inequalities of a polytope, of cuts, and of a cutoff ---------------------------


ROW, COLUMN, CUT, CUTOFF = "row", "column", "cut", "cutoff"


@dataclass(frozen=True)
class Side:
    """One inequality: the lower side (sign 1) or the upper one (-1) of a row or column, or a cut.

    kind: "row", "column", "cut", or "cutoff" for the objective at most gamma.
    """

    kind: str
    number: int
    sign: int


# --- Facial cuts (Majthay & Whinston 1974) in exact arithmetic: no corner of a polytope is lost --
# A cut normal'x >= side removes no corner of P that the cuts so far, M, have kept, if there is a
# set I of inequalities of P that pins no point, their rank being less than the dimension, and
# every other inequality i has
#     normal'x >= side   on   P, M and {inequality i is tight}.
# For at a corner some inequality outside of I is tight. Where P is bounded and a concave function
# is at least gamma at every corner that concavity cuts removed, nothing being left means gamma on
# all of P: the corners are where it is least. See Majthay & Whinston, Quasi-concave minimization
# subject to linear constraints (Discrete Mathematics 9, 1974).


@dataclass(frozen=True, eq=False)
class FacialCut:
    """normal'x >= side, and what proves that no corner is lost; any numbers.

    tight: I of the module's docstring.
    others (Side, array): every other inequality of P, with multipliers over linear rows, cuts so
        far and the cutoff: of the bound, or a Farkas vector where nothing is tight there.
    """

    tight: tuple[Side, ...]
    normal: Array
    side: float
    others: tuple[tuple[Side, Array], ...]


def inequalities(program: StandardForm, rows: int, cutoff: bool) -> set[tuple[str, int, int]]:
    """Every finite side of a polytope: of its first rows, its columns, and its last row.

    program: linear rows, cuts behind them, and the cutoff as the last row if there is one.
    rows: how many rows are no cuts.
    """
    found = set()
    for kind, ends, sign in (
        (ROW, program.row_lower[:rows], 1), (ROW, program.row_upper[:rows], -1),
        (COLUMN, program.lower, 1), (COLUMN, program.upper, -1),
    ):  # fmt: skip
        found |= {(kind, k, sign) for k in np.flatnonzero(np.isfinite(ends)).tolist()}
    if cutoff:
        found.add((ROW, len(program.rows) - 1, -1))
    return found


def keeps_corners(
    program: StandardForm, cut: FacialCut, rows: int, cutoff: bool, place: dict[Side, int]
) -> bool:
    """Whether a facial cut removes no corner of P that is left.

    program, rows, cutoff: as of `inequalities`, with the cuts before this one.
    place: rows of the program by their sides, for those that are no rows of the model.
    """

    def known(side: Side) -> tuple[str, int, int] | None:
        if side.kind in (ROW, COLUMN):
            return side.kind, side.number, side.sign
        return (ROW, place[side], side.sign) if side in place else None

    missing = inequalities(program, rows, cutoff)
    tight = [known(side) for side in cut.tight]
    lines = [_line(program, each) for each in tight if each in missing]
    if len(lines) != len(tight) or _rank(lines) >= program.n:
        return False
    missing -= set(tight)
    goal = Quadratic(sp.csr_matrix((program.n, program.n)), cut.normal, 0.0)
    for side, multipliers in cut.others:
        other = known(side)
        if other in missing and other is not None and multipliers.shape == (len(program.rows),):
            held = _held(replace(program, objective=goal), other)
            least = exact_least(held, multipliers)
            if (least is not None and least >= Fraction(cut.side)) or (
                proven_infeasible(held, of_size_1(multipliers)) is not None
            ):
                missing.discard(other)
    return not missing


def _line(program: StandardForm, side: tuple[str, int, int] | None) -> list[Fraction]:
    assert side is not None
    kind, number, _ = side
    line = program.A[number].toarray().ravel() if kind == ROW else np.eye(1, program.n, number)[0]
    return [Fraction(a) for a in line.tolist()]


def _rank(lines: Sequence[list[Fraction]]) -> int:
    """Rank, by elimination."""
    left, rank = [list(line) for line in lines], 0
    width = len(left[0]) if left else 0
    for column in range(width):
        pivot = next((k for k in range(rank, len(left)) if left[k][column]), None)
        if pivot is None:
            continue
        left[rank], left[pivot] = left[pivot], left[rank]
        for k in range(rank + 1, len(left)):
            factor = left[k][column] / left[rank][column]
            if factor:
                left[k] = [a - factor * b for a, b in zip(left[k], left[rank], strict=True)]
        rank += 1
    return rank


def _held(program: StandardForm, side: tuple[str, int, int]) -> StandardForm:
    """The program with an inequality made an equation."""
    kind, number, sign = side
    names = ("row_lower", "row_upper") if kind == ROW else ("lower", "upper")
    low, high = (getattr(program, name).copy() for name in names)
    if sign == 1:
        high[number] = low[number]
    else:
        low[number] = high[number]
    return replace(program, **{names[0]: low, names[1]: high})


# --- Concavity cuts (Tuy) that leave nothing of a polytope, each checked in rational arithmetic --
# Let a_j'x >= b_j, j = 1..n, be independent rows of the polytope or cuts before. With v where all
# are tight and d_j where a_j'd_j = 1 and the others stay tight, v + cone(d_1..d_n) holds
# everything that is left. A cut  normal'x >= side  with  normal'v < side  and  normal'd_j > 0
# removes from the cone no more than the simplex of v and the points where the rays meet it; where
# a concave function is at least gamma at these n + 1 points, it is so on all that is removed. Once
# a Farkas vector proves that nothing is left, it is at least gamma on the whole polytope.
#     objective    f >= gamma on the polytope: gamma is a lower bound
#     row h >= 0   h < 0 on the part of the polytope where the linear objective is at most gamma:
#                  then gamma is a lower bound too
# The function is the sum of weighted squares, which is concave as it is written whatever the
# numbers; what the model has besides is bounded over the limits of the columns and taken off.
# Facial cuts among them remove no corner of the polytope, and the function is
# least at a corner: at one that a concavity cut removed, since none is left.
# After Tuy, Concave programming under linear constraints (Soviet Mathematics 5, 1964).


CUT_METHOD = "concavity cuts that leave nothing, each checked in rational arithmetic"
LARGEST_CHECKED = 40  # columns up to which cuts are checked


@dataclass(frozen=True, eq=False)
class ConcavityCut:
    """normal'x >= side, at the vertex where the inequalities of `basis` are tight."""

    basis: tuple[Side, ...]
    normal: Array
    side: float


@dataclass(frozen=True, eq=False)
class CutSequence:
    """Cuts in their order, and what proves that they leave nothing; any numbers.

    limits: from which limits of columns are proven, where squares leave something of the model.
    part: 0 for the objective, 1 for the first reverse convex row of the directions, and so on.
    cuts, tuple of ConcavityCut and FacialCut.
    multipliers: a Farkas vector over linear rows, cuts and the cutoff, in this order, as they are
        written.
    """

    directions: Directions
    limits: tuple[Limit, ...]
    part: int
    gamma: float
    cuts: tuple[ConcavityCut | FacialCut, ...]
    multipliers: Array


def cuts_bound(form: StandardForm, sequence: CutSequence) -> LowerBound | None:
    """The lower bound that cuts prove; None where one of them may remove something better."""
    squares = squares_of(form, sequence.directions)
    part, gamma = sequence.part, sequence.gamma
    if squares is None or form.n > LARGEST_CHECKED or not 0 <= part <= len(squares.constants):
        return None
    if not (isinstance(gamma, float) and math.isfinite(gamma)):
        return None
    # Not concave; and no linear row that could be a cutoff.
    curved = part > 0 and (form.objective.Q.nnz or squares.weights[0].any())
    if (squares.weights[part] < 0).any() or curved:
        return None
    if not all(_is_plain(cut, form.n) for cut in sequence.cuts):
        return None
    columns, _ = proven_limits(form, squares, sequence.limits)
    size = np.maximum(np.abs(columns[0]), np.abs(columns[1]))
    excess = float(squares.excess_within(size)[part])
    if not math.isfinite(excess):
        return None
    # Of a row the squares have to be below 0 by more than what they leave; of the objective what
    # they leave is taken off the bound.
    function = _Function(squares, part)
    level = Fraction(gamma) if part == 0 else Fraction(excess)
    if any(isinstance(cut, FacialCut) for cut in sequence.cuts) and not _is_bounded(
        form, squares, sequence.limits
    ):
        return None
    numbers = range(len(sequence.cuts))
    if not all(_may_be_made(form, sequence, k, function, level) for k in numbers):
        return None
    if not _leave_nothing(form, sequence):
        return None
    value = Fraction(gamma) - (Fraction(excess) if part == 0 else 0)
    words = f"{CUT_METHOD}, {count_text(len(sequence.cuts), 'cut')}{relaxed(form)}"
    return LowerBound(subject=form, words=words, seal=SEAL, varying=rounded_down(value))


def _is_bounded(form: StandardForm, squares: Squares, limits: tuple[Limit, ...]) -> bool:
    """Whether linear rows alone limit all columns.

    A polytope without ends need not have its least value at a corner, and a convex row that limits
    the columns makes no polytope of it: its points are no mixtures of corners.
    """
    of_rows = tuple(limit for limit in limits if isinstance(limit, LinearLimit))
    columns, _ = proven_limits(form, squares, of_rows)
    return bool(np.isfinite(np.concatenate(columns)).all())


class _Function:
    """The concave function in rational numbers: f of the objective, or -h of a row."""

    def __init__(self, squares: Squares, part: int) -> None:
        sign = 1 if part == 0 else -1
        self.strict = part > 0
        self.line = [sign * Fraction(a) for a in squares.linear[part].tolist()]
        self.constant = Fraction(0)
        if part:
            self.constant = -sum((Fraction(c) for c in squares.constants[part - 1]), Fraction(0))
        used = np.flatnonzero(squares.weights[part])
        self.weights = [Fraction(p) for p in squares.weights[part][used].tolist()]
        self.vectors = [
            [Fraction(v) for v in column] for column in squares.vectors.T[used].tolist()
        ]

    def reaches(self, x: Sequence[Fraction], level: Fraction) -> bool:
        """Whether the function is at least, or for a row above, a level."""
        value = self.constant + _exact_dot(self.line, x)
        for weight, vector in zip(self.weights, self.vectors, strict=True):
            value -= weight * _exact_dot(vector, x) ** 2
        return value > level if self.strict else value >= level


def _exact_dot(a: Sequence[Fraction], x: Sequence[Fraction]) -> Fraction:
    return sum((p * q for p, q in zip(a, x, strict=True) if p and q), Fraction(0))


def _is_plain(cut: ConcavityCut | FacialCut, n: int) -> bool:
    known = cut.normal.shape == (n,) and cut.normal.dtype == np.float64
    return known and bool(np.isfinite(cut.normal).all()) and isinstance(cut.side, float) and (
        math.isfinite(cut.side)
    )  # fmt: skip


def _inequality(
    form: StandardForm, sequence: CutSequence, before: int, side: Side
) -> tuple[Array, float] | None:
    """a and b of a'x >= b, if it is one that holds before a cut."""
    k, sign, n = side.number, side.sign, form.n
    if type(k) is not int or k < 0 or sign not in (-1, 1):
        return None
    if side.kind == ROW and k < len(form.rows):
        end = form.row_lower[k] if sign == 1 else form.row_upper[k]
        line = form.A[k].toarray().ravel()
    elif side.kind == COLUMN and k < n:
        end = form.lower[k] if sign == 1 else form.upper[k]
        line = np.eye(1, n, k).ravel()
    elif side.kind == CUT and k < before and sign == 1:
        end, line = sequence.cuts[k].side, sequence.cuts[k].normal
    elif side.kind == CUTOFF and sequence.part and sign == -1:
        end, line = sequence.gamma, form.objective.a
    else:
        return None
    return (sign * line, sign * float(end)) if math.isfinite(end) else None


def _removes_nothing_better(
    form: StandardForm, sequence: CutSequence, number: int, cut: ConcavityCut,
    function: _Function, level: Fraction,
) -> bool:  # fmt: skip
    n = form.n
    found = [_inequality(form, sequence, number, side) for side in cut.basis]
    rows = [each for each in found if each is not None]
    if len(rows) != n or len(found) != n:
        return False
    # Row j in whole numbers is a_j times 2^-e_j; the rays are scaled by as much, which keeps them.
    matrix, units = [], []
    for line, _ in rows:
        exact = dyadic(line)
        matrix.append(exact.integers)
        units.append(scaled(1, -exact.exponent))
    right = [Fraction(b) * unit for (_, b), unit in zip(rows, units, strict=True)]
    vertex = solve_exactly(matrix, right)
    normal, side = [Fraction(a) for a in cut.normal.tolist()], Fraction(cut.side)
    if vertex is None:
        return False
    missing = side - _exact_dot(normal, vertex)
    if missing <= 0 or not function.reaches(vertex, level):
        return False
    for j in range(n):
        ray = solve_exactly(matrix, [Fraction(int(i == j)) for i in range(n)])
        along = Fraction(0) if ray is None else _exact_dot(normal, ray)
        if ray is None or along <= 0:
            return False
        end = [v + missing / along * d for v, d in zip(vertex, ray, strict=True)]
        if not function.reaches(end, level):
            return False
    return True


def _may_be_made(
    form: StandardForm, sequence: CutSequence, number: int, function: _Function, level: Fraction
) -> bool:
    cut = sequence.cuts[number]
    if isinstance(cut, FacialCut):
        return _keeps_corners(form, sequence, number, cut)
    return _removes_nothing_better(form, sequence, number, cut, function, level)


def _keeps_corners(form: StandardForm, sequence: CutSequence, number: int, cut: FacialCut) -> bool:
    """Whether a facial cut removes no corner that the cuts before it have kept."""
    program, m, cutoff = _with_cuts(form, sequence, number), len(form.rows), sequence.part > 0
    program = linear(program)
    others = tuple((side, _of_unit(form, sequence, y)) for side, y in cut.others)
    place = {Side(CUT, k, 1): m + k for k in range(number)}
    if cutoff:
        place[Side(CUTOFF, 0, -1)] = m + number
    return keeps_corners(program, replace(cut, others=others), m, cutoff, place)


def _leave_nothing(form: StandardForm, sequence: CutSequence) -> bool:
    rest, unit = _with_cuts(form, sequence, len(sequence.cuts)), _unit(form)
    known = sequence.multipliers.shape == (len(rest.rows),)
    if not known or (sequence.part and unit * sequence.gamma / unit != sequence.gamma):
        return False
    found = of_size_1(_of_unit(form, sequence, sequence.multipliers))
    return proven_infeasible(rest, found) is not None


def _with_cuts(form: StandardForm, sequence: CutSequence, count: int) -> StandardForm:
    """The linear rows of a model with the first cuts, and with the cutoff where there is one."""
    lines = [cut.normal for cut in sequence.cuts[:count]]
    low = [cut.side for cut in sequence.cuts[:count]]
    high = [math.inf] * len(lines)
    if sequence.part:
        unit = _unit(form)
        lines.append(unit * form.objective.a)
        low.append(-math.inf)
        high.append(unit * sequence.gamma)
    rows = with_rows(form, np.array(lines).reshape(-1, form.n), low, high, CUT)
    return replace(rows, quadratic=())


def _unit(form: StandardForm) -> float:
    """The power of 2 that makes the largest cost about 1.

    What a row has to be missed by to count is absolute, and a cutoff is in the objective's units.
    """
    return math.ldexp(1.0, -math.frexp(float(np.abs(form.objective.a).max(initial=0.0)))[1])


def _of_unit(form: StandardForm, sequence: CutSequence, y: Array) -> Array:
    """Multipliers of which the last is one of the cutoff, of the cutoff in that unit."""
    return np.append(y[:-1], y[-1:] / _unit(form)) if sequence.part else y
