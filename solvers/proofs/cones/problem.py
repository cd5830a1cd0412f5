"""A loss over cones of directions: signed points, prices and side rows in the units of a cube.

Every v = (w, b) other than 0 is t r with t > 0 and r on the boundary of the cube [-1, 1]^k, whose
coordinates are those of v in units of powers of two. With a_i = y_i (x_i, 1), or y_i x_i where
there is no price on b or no b, a hyperplane keeps point i where

    t <a_i, r> >= 1                                       (RAY: b is none, or a coordinate of r)
    t <a_i, r> + y_i b >= 1 for some b common to all      (BAND: b is free, and no coordinate)

and costs t^2 sum_j squares_j r_j^2 and the prices of the points that it does not keep, or the ramp
loss of all. A free b that side rows speak of is a coordinate whose square costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.proofs.packings.side_rows import SideRows

EPS = float(np.finfo(np.float64).eps)
LARGEST = 1e300  # objectives from here on are not told apart
UP, DOWN = 1 + 8 * EPS, 1 - 8 * EPS
READ = 1e-14  # relative, of sides that a reader may have rounded in moving fixed columns there
UNREADABLE = 0.25  # of a margin that rounding may have moved further, nothing is asked
FARTHEST = 200  # largest exponent of a unit: squares of units and of products stay doubles
TINY = 2.0**-300  # stands for coordinates whose products could be lost


@dataclass(frozen=True, eq=False)
class Given:
    """The data of a problem as they are: points in its order, side rows, what margins may miss."""

    X: Array
    weights: Array
    of_b: Array
    doubt: Array
    penalised: bool
    square: float


@dataclass(frozen=True, eq=False)
class ConeProblem:
    """What the module's docstring describes; `cone_problem` makes it of points.

    Attributes
    ----------
    points : array (n, k)
        a_i in the units of the cube, positive points first.
    blur : array (n,)
        What <a_i, c> + <|a_i|, h>, summed in any order for a box of centre c and half widths h,
        may be off from the largest <a_i, r> of the exact points, and what `doubt` makes of it.
    prices : array (n,)
    positives : int
        Points of the positive class.
    band : bool
    ramp : bool
        The loss is prices_i min(2, max(0, 1 - u_i)) in the place of prices_i [u_i < 1].
    squares : array (k,)
        Prices of the squares of r's coordinates.
    rows, row_blur, sides : arrays (m, k), (m,), (m,)
        Side rows t <rows_j, r> <= sides_j; no blur is forgotten in the sides.
    kept : array (n,) of bool
        Points that have to be kept; they pay nothing.
    counts : tuple of (array of int, int)
        At most so many of some points are not kept; in a band all of them only.
    free_norm : bool
        The square costs nothing: what is minimised are the prices alone.
    largest_norm : float
        The most that the square may be.
    order : array (n,) of int
        Which points of the data these are.
    units : array (k,)
        What the cube's coordinates were multiplied by: a hyperplane is r / units.
    centre : array (d,)
        What was subtracted from the points.
    given : Given
    free_intercept : bool
        In a band, or lifted.
    constant : float
        What every objective costs besides, rounded down: points that are paid for, pairs of the
        ramp loss.
    """

    points: Array
    blur: Array
    prices: Array
    positives: int
    band: bool
    ramp: bool
    squares: Array
    rows: Array
    row_blur: Array
    sides: Array
    kept: NDArray[np.bool_]
    counts: tuple[tuple[Index, int], ...]
    free_norm: bool
    largest_norm: float
    order: Index
    units: Array
    centre: Array
    given: Given
    free_intercept: bool
    constant: float

    @property
    def k(self) -> int:
        """Dimensions of the cube."""
        return self.points.shape[1]

    @cached_property
    def sizes(self) -> Array:
        """|a_i| by coordinate (n, k)."""
        return np.abs(self.points)

    @cached_property
    def price(self) -> float | None:
        """That of every point, where they have the same and none is kept by decree."""
        same = len(self.prices) > 0 and (self.prices == self.prices[0]).all()
        return float(self.prices[0]) if same and not self.kept.any() else None

    @cached_property
    def at_zero(self) -> float:
        """Least objective of v = 0, any b with it in a band; infinite where it is not allowed."""
        if (self.sides < 0).any():
            return np.inf
        n, first = len(self.prices), np.arange(len(self.prices)) < self.positives
        if self.ramp:
            return float(self.prices.sum()) * (1 - EPS * (n + 2))
        given_up = [first, ~first] if self.band else [np.ones(n, dtype=bool)]
        allowed = [
            float(self.prices[part].sum())
            for part in given_up
            if not (part & self.kept).any()
            and all(int(part[points].sum()) <= most for points, most in self.counts)
        ]
        return min(allowed, default=np.inf) * (1 - EPS * (n + 2))


def cone_problem(
    X: Array,
    y: Array,
    prices: Array,
    *,
    intercept: str,
    ramp: bool = False,
    square: float = 1.0,
    sides: SideRows | None = None,
    free_norm: bool = False,
    largest_norm: float = np.inf,
) -> ConeProblem:
    """The problem over cones of directions for points (n, d) and labels.

    Points that `sides` says are paid for are left out, with what they cost. So are points of
    different classes in one place from a ramp loss: l(u) + l(-u) = 2 for every u.

    Fixed columns move the right side of a margin row by terms that its reader may have rounded, so
    that the row is t <a_i, r> >= 1 - e_i with e_i <= READ moved_i. Points with e_i above 1/4 are
    left out, which lowers all objectives. For the others t |a_i|_1 >= 1 - e_i > 1/2 where t r keeps
    the point, and 2 e_i |a_i|_1 more in every <a_i, r> is enough. In a band two points together
    have t (|a_i|_1 + |a_j|_1) >= 2 - e_i - e_j > 1, where one alone may be next to 0: with the
    largest e in the place of both, their sum is enough. The ramp loss is off by at most e_i.

    Parameters
    ----------
    prices : array (n,)
        Of a violation, or of a unit of the ramp loss.
    square : float
        1 or 1/2: what the objective multiplies the square of the norm by.

    Raises
    ------
    ValueError
        Coordinates beyond 2^200 or all within 2^-200, and a ramp loss beside decisions.
    """
    n, d = X.shape
    sides = SideRows.nothing(n, d) if sides is None else sides
    if ramp and (sides.kept.any() or sides.paid.any() or len(sides.counts)):
        raise ValueError("the cells of the ramp loss take rows of w and b, and no decisions")
    open_counts = any(not points.all() for points, _ in sides.counts)
    lifted = intercept == "free" and (ramp or bool((sides.of_b != 0).any()) or open_counts)
    band = intercept == "free" and not lifted
    column = intercept == "penalised" or lifted
    centre = _centre(X, intercept)
    full = np.column_stack([X - centre, np.ones((n, 1))]) if column else X - centre
    units = _units(full)
    if column and lifted:
        units[-1] = 1.0
    weights = sides.weights - sides.of_b[:, None] * centre
    rows = np.column_stack([weights, sides.of_b]) if column else weights
    asked = prices
    prices, paired = _without_pairs(X, y, prices) if ramp else (prices, 0.0)
    doubt = READ * sides.moved
    there = ~sides.paid & (prices > 0) & (doubt <= UNREADABLE)  # pairs have no price left
    order = np.r_[np.flatnonzero((y > 0) & there), np.flatnonzero((y < 0) & there)]
    constant = (float(prices[sides.paid].sum()) + paired) * (1 - EPS * (n + 4))
    if ramp and doubt.any():
        constant -= float(asked @ np.minimum(doubt, 2.0)) * (1 + EPS * (n + 4))
    doubt = doubt[order]
    points = _flushed((y[:, None] * full / units)[order])
    k = points.shape[1]
    size = np.abs(points).sum(axis=1)
    blur = (k + 10) * EPS * size + k * TINY
    if not ramp:
        blur += 2 * (doubt.max(initial=0.0) if band else doubt) * size
    sizes = np.abs(sides.weights) + np.abs(sides.of_b)[:, None] * np.abs(centre)
    sizes = np.column_stack([sizes, np.abs(sides.of_b)]) if column else sizes
    rows, sizes = rows / units, sizes / units
    squares = np.full(k, square) / units**2
    if lifted:
        squares[-1] = 0.0
    place = np.full(n, -1)
    place[order] = np.arange(len(order))
    # A price that is no longer a number leaves its point out, and no count speaks of it then.
    counts = tuple(
        (place[chosen & (place >= 0)], most - int((chosen & sides.paid).sum()))
        for chosen, most in sides.counts
    )
    kept = sides.kept[order]
    given = Given(X[order], sides.weights, sides.of_b, doubt, intercept == "penalised", square)
    return ConeProblem(
        points, blur, np.where(kept, 0.0, prices[order]), int((y[order] > 0).sum()), band, ramp,
        squares, rows, (k + 10) * EPS * sizes.sum(axis=1) + k * TINY,
        sides.most + READ * np.abs(sides.most), kept, counts, free_norm, largest_norm, order, units,
        centre, given, intercept == "free", constant,
    )  # fmt: skip


def _without_pairs(X: Array, y: Array, prices: Array) -> tuple[Array, float]:
    """Prices without those of pairs of both classes in one place, and what the pairs cost."""
    _, place = np.unique(X, axis=0, return_inverse=True)
    place = place.ravel()
    both = np.intersect1d(place[y > 0], place[y < 0])
    prices, cost = prices.copy(), 0.0
    for spot in both.tolist():
        here = place == spot
        first, second = (np.flatnonzero(here & (y == label)).tolist() for label in (1.0, -1.0))
        while first and second:
            i, j = first[-1], second[-1]
            common = min(prices[i], prices[j])
            cost += 2 * common
            for k, side in ((i, first), (j, second)):
                prices[k] = (prices[k] - common) * (1 - EPS)
                if prices[k] == 0:
                    side.pop()
    return prices, cost


def fits_a_cube(X: Array, intercept: str) -> bool:
    """Whether the columns of X, centred where the intercept is free, have sizes that are taken."""
    return bool((np.abs(_exponents(X - _centre(X, intercept))) <= FARTHEST).all())


def _centre(X: Array, intercept: str) -> Array:
    free = intercept == "free" and len(X)
    return np.asarray(np.median(X, axis=0)) if free else np.zeros(X.shape[1])


def _exponents(full: Array) -> Array:
    """Of powers of two near the size of each coordinate."""
    size = np.abs(full).max(axis=0, initial=0.0)
    exponent = np.zeros(full.shape[1])
    exponent[size > 0] = np.round(np.log2(size[size > 0]))
    exponent[size == 0] = exponent.max(initial=0.0)
    return exponent


def _units(full: Array) -> Array:
    """Powers of two near the size of each coordinate."""
    exponent = _exponents(full)
    if (np.abs(exponent) > FARTHEST).any():
        raise ValueError(
            f"X has columns of sizes beyond 2^{FARTHEST} or within 2^-{FARTHEST}: rescale them"
        )
    return np.asarray(2.0**exponent)


def _flushed(points: Array) -> Array:
    """Without coordinates whose products could be lost; their blur covers them."""
    return np.where(np.abs(points) < TINY, 0.0, points)
