"""Bounds on boxes from any multipliers, many at a time, with every rounding counted.

Let z = V'x lie in a box, and f, h_k be as in squares.py. For mu >= 0, y with the signs of the sides
of rows A x that are there, w >= 0 and any slopes t, every feasible x has

    mu f(x) >= sum_i y_i side_i - sum_k w_k const_k
               + sum_i min over limits of x_i of  rho_i x_i
               + sum_j min over the box of  t_j z_j - P_j z_j^2
               - mu |x'E_0 x| - sum_k w_k |x'E_k x|,

    rho = mu a - sum_k w_k b_k - A'y - V t,    P = mu p_0 + sum_k w_k p_k.

This is Lagrange's bound once z = V'x is priced by t. Where P_j >= 0 a term is concave over the box,
so its minimum is at one of the ends; where P_j < 0 it is convex, and nowhere below any of its
tangents. What does not depend on the box is computed once for multipliers that several boxes share.
For mu = 0 a bound above 0 proves that the box has no feasible point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.proofs.cover.squares import LARGEST, SMALLEST, Squares, usable
from tightmargin.solvers.standard_form.standard_form import StandardForm

READ = 1e-13  # of the sides: what a reader may have rounded in moving fixed columns there


@dataclass(frozen=True, eq=False)
class BoxMultipliers:
    """Any numbers, a line for each choice of multipliers.

    Attributes
    ----------
    mu : array (C,)
        0 or 1.
    rows : csr_matrix (C, m)
        y, of the linear rows.
    sides : array (C, K)
        w, of the sides of quadratic rows.
    slopes : array (C, r)
        t.
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

    Attributes
    ----------
    constant : array (C,)
        What does not depend on the box, rounded down; -inf where the multipliers prove nothing.
    slopes, weights : arrays (C, r)
        t, and P rounded up.
    mu : array (C,)
    noise : array (C,)
        What a bound has to exceed where mu = 0.
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
