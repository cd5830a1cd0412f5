"""Lower bounds on all objectives in cells, each a box of directions and all their multiples.

Let r lie in a box with centre c and half widths h. No <a_i, r> exceeds

    U_i = <a_i, c> + <|a_i|, h>,      and      sum_j squares_j r_j^2 >= m.

Side rows t <g, r> <= s leave an interval [t_low, t_high] of factors t, by the least <g, r> of the
box. A hyperplane that keeps point i has t U_i >= 1; in a band, where one b serves both classes, two
points of different classes that are kept have t (U_i + U_j) >= 2. What is left is one-dimensional:

RAY   Points are kept from the largest U down. The cost is at least the least, over numbers of kept
      points, of m max(t, t_low)^2 + prices of the others, with t = 1 / U of the last one kept and
      t <= t_high; nobody kept costs m t_low^2 + all prices.
BAND  Each class is kept from its largest U down. With the a smallest U of one class and the b
      smallest of the other one given up, t = 2 / (U_a + U_b); a class that is given up whole costs
      m t_low^2 and its prices.
The ramp loss is in ramp_bounds.py. All U are rounded up by `blur`, and m, costs and lower ends of t
downwards.

A conflict is a set D of points that no hyperplane keeps whole at a square below N (conflict.py).
Where no point of D is among those that thresholds give up, a hyperplane keeps D whole, and its
square is at least N, or it gives up one more point. Of side rows alone D is empty, and every square
is at least N. That closes cells around an optimum where it is
smooth in some direction, and boxes alone would have to be as small as the gap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.proofs.cones.conflict import ProvenCaps, ProvenConflict
from tightmargin.solvers.proofs.cones.problem import DOWN, EPS, LARGEST, UP, ConeProblem
from tightmargin.solvers.proofs.cones.ramp_bounds import ramp_bounds


def cell_bounds(
    problem: ConeProblem,
    centre: Array,
    half: Array,
    ceiling: float = LARGEST,
    known: Sequence[ProvenConflict | ProvenCaps] = (),
    cheapest: Cheapest | None = None,
) -> Array:
    """Lower bounds (B,) for boxes of the cube; infinite where a cell has no point.

    Parameters
    ----------
    centre, half : arrays (B, k)
        Exact, with |centre| + half at most 1.
    ceiling : float
        Bounds above it are of no interest; it takes their place.
    known : sequence of ProvenConflict or ProvenCaps
        For cells that are not bounded by the ceiling without them.
    cheapest : callable, optional
        What does the same as `cheapest_levels`, in its place.
    """
    by_levels = cheapest or cheapest_levels
    U = centre @ problem.points.T + half @ problem.sizes.T + problem.blur
    least = np.maximum(np.abs(centre) - half, 0.0)
    m = (least * least) @ problem.squares * (DOWN - EPS * problem.k)
    low, high = factors(problem, centre, half, m)
    low = np.maximum(low, _counted(problem, U))
    if problem.free_norm:
        m = np.zeros_like(m)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        if problem.ramp:
            caps = [found for found in known if isinstance(found, ProvenCaps)]
            return ramp_bounds(problem, (centre, half), U, m, (low, high), ceiling, caps)
        found = Cells(problem, U, m, low, high, ceiling, by_levels).bounds(None)
        for conflict in known:
            weak = np.flatnonzero(found < ceiling)
            if len(weak) and isinstance(conflict, ProvenConflict):
                parts = U[weak], m[weak], low[weak], high[weak]
                some = Cells(problem, *parts, ceiling, by_levels)
                found[weak] = np.maximum(found[weak], some.bounds(conflict))
    return found


@dataclass(frozen=True, eq=False)
class Cells:
    """U (B, n), m and the interval of t (B,) of some cells."""

    problem: ConeProblem
    U: Array
    m: Array
    low: Array
    high: Array
    ceiling: float
    by_levels: Cheapest

    def bounds(self, conflict: ProvenConflict | None) -> Array:
        """Their bounds (B,)."""
        found = self.band(conflict) if self.problem.band else self.ray(conflict)
        rounded = DOWN - 2 * EPS * len(self.problem.prices)
        found = np.minimum(found * rounded, min(self.ceiling, LARGEST))
        return np.where((self.low <= self.high) & (self.low < np.inf), found, np.inf)

    def costs(self, width: Array, reach: float, lost: Array) -> Array:
        """m t^2 + lost with t >= reach / width; infinite where no t is left, also for m = 0."""
        t = np.where(width > 0, reach * DOWN / width, np.inf)
        t = np.where(t <= self.high[:, None], np.maximum(t, self.low[:, None]), np.inf)
        return np.where(np.isfinite(t), self.m[:, None] * t * t + lost, np.inf)

    def nothing_kept(self, conflict: ProvenConflict | None) -> Array:
        """The square where no point asks for anything."""
        square = self.m * self.low * self.low
        by_rows = conflict is not None and not len(conflict.points)
        return np.maximum(square, conflict.square) if by_rows and conflict is not None else square

    def ray(self, conflict: ProvenConflict | None) -> Array:
        """One threshold."""
        problem, U, n = self.problem, self.U, self.U.shape[1]
        total = float(problem.prices.sum())
        nobody = self.nothing_kept(conflict) + total
        if not n:
            return nobody
        if problem.price is None:
            ordered, lost = _sorted_with(U, problem.prices)
        else:
            ordered = np.sort(U, axis=1)
            lost = np.asarray(problem.price * np.arange(n), dtype=np.float64)[None, :]
        found = self.costs(ordered, 1.0, lost)
        if conflict is not None:
            nearest = _least(U[:, conflict.points])
            found = np.where(ordered <= nearest, conflict.beside(found, lost), found)
        return np.minimum(nobody, found.min(axis=1))

    def band(self, conflict: ProvenConflict | None) -> Array:
        """Two thresholds."""
        problem, cut = self.problem, self.problem.positives
        most = min((most for _, most in problem.counts), default=self.U.shape[1])
        found, sides = np.full(len(self.U), np.inf), []
        for part in (slice(0, cut), slice(cut, None)):
            U, must, prices = self.U[:, part], problem.kept[part], problem.prices[part]
            if not must.any() and len(prices) <= most:
                whole = self.nothing_kept(conflict) + float(prices.sum())
                found = np.minimum(found, whole)
            sides.append(np.minimum(U, U[:, must].min(axis=1, keepdims=True)) if must.any() else U)
        if not 0 < cut < self.U.shape[1] or most < 0:
            return found
        # What is given up must cost less than the ceiling, or than a class that is given up whole.
        rest = min(self.ceiling, LARGEST, float(found.max()))
        nearest = [np.full((len(self.U), 1), -np.inf)] * 2
        if conflict is not None:
            classes = (
                conflict.points[conflict.points < cut],
                conflict.points[conflict.points >= cut],
            )
            nearest = [_least(self.U[:, part]) for part in classes]
        solve = self.pairs if problem.price is None else self.levels
        return np.minimum(found, solve(sides, nearest, rest, most, conflict))

    def levels(
        self,
        sides: list[Array],
        nearest: list[Array],
        rest: float,
        most: int,
        conflict: ProvenConflict | None,
    ) -> Array:
        """Points of one price: the widest band for every number of them."""
        price = self.problem.price
        assert price is not None
        levels = most if price == 0 else int(min(rest / price + 1, most))
        first, second = (_smallest(side, levels) for side in sides)
        return self.by_levels(self, (first, second), (nearest[0], nearest[1]), levels, conflict)

    def pairs(
        self,
        sides: list[Array],
        nearest: list[Array],
        rest: float,
        most: int,
        conflict: ProvenConflict | None,
    ) -> Array:
        """Points of any prices: every pair of thresholds."""
        cut, prices = self.problem.positives, self.problem.prices
        first, lost_first = _sorted_with(sides[0], prices[:cut])
        second, lost_second = _sorted_with(sides[1], prices[cut:])
        found = np.full(len(first), np.inf)
        for a in range(min(first.shape[1], most + 1)):
            if lost_first[:, a].min() >= rest:
                break
            end = min(second.shape[1], most + 1 - a)
            lost = lost_first[:, a : a + 1] + lost_second[:, :end]
            value = self.costs(first[:, a : a + 1] + second[:, :end], 2.0, lost)
            if conflict is not None:
                inside = (first[:, a : a + 1] <= nearest[0]) & (second[:, :end] <= nearest[1])
                value = np.where(inside, conflict.beside(value, lost), value)
            found = np.minimum(found, value.min(axis=1))
        return found


def cheapest_levels(
    cells: Cells,
    ends: tuple[Array, Array],
    nearest: tuple[Array, Array],
    levels: int,
    conflict: ProvenConflict | None,
) -> Array:
    """Least cost (B,) over numbers of points of one price.

    Parameters
    ----------
    ends : tuple of two arrays (B, any)
        The smallest U of either class, upwards.
    nearest : tuple of two arrays (B, 1)
        The smallest U of the conflict's points of either class.
    levels : int
        The largest number of points that are given up.
    """
    price = cells.problem.price
    assert price is not None
    first, second = ends
    count = min(levels, first.shape[1] + second.shape[1] - 2) + 1
    lost: Array = price * np.arange(count)[None, :]
    if conflict is None:
        return np.asarray(cells.costs(widest(first, second, levels), 2.0, lost).min(axis=1))
    inside = first <= nearest[0], second <= nearest[1]
    within = [np.where(i, U, -np.inf) for i, U in zip(inside, ends, strict=True)]
    beyond = [np.where(i, -np.inf, U) for i, U in zip(inside, ends, strict=True)]
    apart = np.maximum(widest(beyond[0], second, levels), widest(first, beyond[1], levels))
    whole = cells.costs(widest(within[0], within[1], levels), 2.0, lost)
    others = cells.costs(apart, 2.0, lost)
    return np.minimum(others, conflict.beside(whole, lost)).min(axis=1)


Cheapest: TypeAlias = Callable[
    [Cells, tuple[Array, Array], tuple[Array, Array], int, ProvenConflict | None], Array
]


def factors(problem: ConeProblem, centre: Array, half: Array, m: Array) -> tuple[Array, Array]:
    """The interval of t that the side rows and the largest norm leave, rounded outwards."""
    low, high = np.zeros(len(m)), np.full(len(m), np.inf)
    if np.isfinite(problem.largest_norm):
        with np.errstate(divide="ignore"):
            high = np.sqrt(problem.largest_norm / m) * UP
    if not len(problem.sides):
        return low, high
    least = centre @ problem.rows.T - half @ np.abs(problem.rows).T - problem.row_blur
    s = problem.sides
    with np.errstate(divide="ignore", invalid="ignore"):
        t = s / least
    above = np.where((s < 0) & (least < 0), t * DOWN, 0.0)
    above = np.where((s < 0) & (least >= 0), np.inf, above)
    # Beside s = 0 a row with a positive least side has no t at all, and one without any t.
    below = np.where((s > 0) & (least > 0), t * UP, np.inf)
    below = np.where((s == 0) & (least > 0), -1.0, below)
    return np.maximum(low, above.max(axis=1)), np.minimum(high, below.min(axis=1))


def _counted(problem: ConeProblem, U: Array) -> Array:
    """Least t at which kept points and counts can be met."""
    low = np.zeros(len(U))
    parts = [(np.flatnonzero(problem.kept), 0), *problem.counts]
    for points, most in () if problem.band else parts:
        if most < 0:
            return np.full(len(U), np.inf)
        if len(points) > most:
            first = np.partition(U[:, points], most, axis=1)[:, most]
            with np.errstate(divide="ignore"):
                low = np.maximum(low, np.where(first > 0, DOWN / first, np.inf))
    return low


def _least(U: Array) -> Array:
    """The smallest of each line (B, 1); infinite where there is none."""
    return np.asarray(U.min(axis=1, keepdims=True, initial=np.inf))


def _smallest(U: Array, levels: int) -> Array:
    """The levels + 1 smallest entries of each line, upwards."""
    if levels + 1 < U.shape[1]:
        U = np.partition(U, levels, axis=1)[:, : levels + 1]
    return np.sort(U, axis=1)


def widest(first: Array, second: Array, levels: int) -> Array:
    """Largest first_a + second_b with a + b = k, for every k up to `levels` that has any.

    One rounded sum for each pair, and comparisons: in any order the doubles are the same.
    """
    count = min(levels, first.shape[1] + second.shape[1] - 2) + 1
    # Cells along the rows of memory: twice as quick as numbers of points.
    across, along = np.ascontiguousarray(first.T), np.ascontiguousarray(second.T)
    found, room = np.full((count, len(first)), -np.inf), np.empty((count, len(first)))
    for a in range(min(len(across), count)):
        part = along[: count - a]
        place = found[a : a + len(part)]
        np.maximum(place, np.add(part, across[a], out=room[: len(part)]), out=place)
    return np.ascontiguousarray(found.T)


def _sorted_with(U: Array, prices: Array) -> tuple[Array, Array]:
    """U upwards, and the prices of what comes before each."""
    order = np.argsort(U, axis=1)
    # A sum less its last price would be off by what that price hides, which may be much dearer.
    lost = np.hstack([np.zeros((len(U), 1)), np.cumsum(prices[order[:, :-1]], axis=1)])
    return np.take_along_axis(U, order, axis=1), lost
