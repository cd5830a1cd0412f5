"""Sets of points that cannot all be kept by an optimum: conflicts of the 0-1 loss.

Let rho(S) be the least norm2 of a hyperplane that keeps all of S. If an optimum kept S, it would
pay rho(S) at least, and the penalty for every violated point outside S. Of k disjoint conflicts
that do not touch S each holds such a point, so

    rho(S) > cutoff - k penalty      proves      sum_S z_i >= 1,

with k = 0 until something is known. These are combinatorial Benders cuts (Codato & Fischetti,
Operations Research 54, 2006; for this loss Santana et al., Journal of Global Optimization 2025);
conflicts that are found lower the right-hand side for others. The k penalties are those of the
lightest point of each where the points are weighted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import positive
from tightmargin.formulations.zero_one.conflicts import (
    disjoint,
    hard_margin_weights,
    pair_norms,
    proven_norm,
    single_norms,
)
from tightmargin.formulations.zero_one.slack_bounds import SlackBounds, shrunk, with_rows

Points = tuple[int, ...]

ROUNDS = 20
PAIR_LIMIT = 3000  # points: beyond, the table of pairs takes too much memory
VIOLATED = 1e-4  # least violation of a cut that is worth a row


@dataclass(frozen=True)
class Conflict:
    """A minimal set of points of which one is violated.

    points, tuple of int, ascending.
    norm2: proven lower bound on rho(points), computed without rounding from multipliers.
    """

    points: Points
    norm2: float


@dataclass(frozen=True, eq=False)
class _ConflictSearch:
    """What conflicts are measured against: violated points and disjoint conflicts cost already."""

    data: TrainingData
    intercept: str
    prices: Array
    cutoff: float
    paid: tuple[Points, ...]

    def ceiling(self, points: Iterable[int]) -> float:
        """Norm that keeping some points must exceed; rounded upwards."""
        own = set(points)
        outside = (group for group in self.paid if own.isdisjoint(group))
        return (self.cutoff - math.fsum(map(self.price, outside))) + 4e-16 * self.cutoff

    def price(self, points: Points) -> float:
        """What one of some points costs at least."""
        return float(self.prices[list(points)].min())

    def norm(self, points: Sequence[int]) -> tuple[float, Index]:
        """Proven bound on rho, and the points that prove it."""
        weights = hard_margin_weights(self.data, points, self.intercept)
        support = np.asarray(points, dtype=np.intp)[weights > 0]
        return proven_norm(self.data, points, weights, self.intercept), support

    def conflict(self, points: Sequence[int]) -> Conflict | None:
        """A minimal conflict within some points; None when they can all be kept."""
        norm2, support = self.norm(points)
        if norm2 <= self.ceiling(points):
            return None
        left = [int(i) for i in support]
        norm2, _ = self.norm(left)
        if norm2 <= self.ceiling(left):  # touches fewer of the disjoint conflicts, or was close
            left, norm2 = [int(i) for i in points], self.norm(points)[0]
        for point in list(left):
            rest = [i for i in left if i != point]
            without = self.norm(rest)[0] if rest else 0.0
            if without > self.ceiling(rest):
                left, norm2 = rest, without
        return Conflict(tuple(sorted(left)), norm2)


def with_conflicts(
    bounds: SlackBounds,
    data: TrainingData,
    *,
    penalty: float,
    intercept: str,
    z: ArrayLike | None = None,
) -> SlackBounds:
    """Bounds with single, pair and larger conflicts, each proven by its multipliers.

    Pairs come from the closed form; larger ones from points outside the disjoint conflicts so far,
    as long as these cannot all be kept, and from `separated` where a relaxation's z is given.
    Every new disjoint conflict lowers the norm by the price of a point, so the search starts
    again.

    Parameters
    ----------
    bounds : SlackBounds
        Its cutoff is what conflicts are measured against.
    data, penalty, intercept
        Those of the bounds.
    z : array (n,), optional
        Point of a relaxation to be cut off.

    Raises
    ------
    ValueError
        Bad penalty, or z of another shape.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> bounds = tm.tighten(data, penalty=1.0, intercept="penalised", conflicts=False).bounds
    >>> more = tm.cuts.with_conflicts(bounds, data, penalty=1.0, intercept="penalised")
    >>> len(more.conflicts) >= len(bounds.conflicts)
    True
    """
    cost = positive("penalty", penalty)
    prices = data.prices(cost)
    for _ in range(ROUNDS):
        search = _search(bounds, data, cost, intercept)
        grown = with_rows(bounds, _short(search), prices)
        grown = with_rows(grown, _outside(_search(grown, data, cost, intercept)), prices)
        grown = shrunk(grown, data, intercept)
        finished = grown.norm2 == bounds.norm2 and len(grown.conflicts) == len(bounds.conflicts)
        bounds = grown
        if finished:
            break
    if z is not None:
        found = separated(bounds, data, z, penalty=cost, intercept=intercept)
        bounds = with_rows(bounds, tuple(c.points for c in found), prices)
        bounds = shrunk(bounds, data, intercept)
    sets = len(bounds.conflicts)
    if not sets:
        return bounds
    words = f"{bounds.proof}; {sets} conflicts by weak duality of their hard-margin machines"
    return replace(bounds, proof=words)


def separated(
    bounds: SlackBounds,
    data: TrainingData,
    z: ArrayLike,
    *,
    penalty: float,
    intercept: str,
    most: int = 50,
) -> tuple[Conflict, ...]:
    """Minimal conflicts with sum_S z < 1, the cheapest points of a relaxation first.

    The shortest beginning of the points in order of z that cannot be kept holds one; its dearest
    point is then left out of the search, and so on until nothing is violated.

    Raises ValueError: z of another shape than (n,) or not finite.
    """
    prices = np.asarray(z, dtype=float)
    if prices.shape != (data.n,) or not np.isfinite(prices).all():
        raise ValueError(f"z must be {data.n} finite numbers, got shape {prices.shape}")
    search = _search(bounds, data, positive("penalty", penalty), intercept)
    order = [int(i) for i in np.argsort(prices, kind="stable") if not bounds.violated[i]]
    found: dict[Points, Conflict] = {}
    while len(found) < most:
        conflict = search.conflict(_shortest(search, order)) if order else None
        if conflict is None:
            break
        points = list(conflict.points)
        if prices[points].sum() < 1 - VIOLATED:
            found[conflict.points] = conflict
        order.remove(max(points, key=lambda i: prices[i]))
    return tuple(found.values())


def _shortest(search: _ConflictSearch, order: list[int]) -> list[int]:
    """Shortest beginning that cannot be kept, by bisection; everything when all can be."""
    low, high = 0, len(order)
    while high - low > 1:
        middle = (low + high) // 2
        if search.norm(order[:middle])[0] > search.ceiling(order[:middle]):
            high = middle
        else:
            low = middle
    return order[:high]


def _paid(bounds: SlackBounds) -> tuple[Points, ...]:
    """Disjoint sets that each hold a violated point."""
    alone = tuple((int(i),) for i in np.flatnonzero(bounds.violated))
    return disjoint((*alone, *bounds.conflicts))


def _search(
    bounds: SlackBounds, data: TrainingData, penalty: float, intercept: str
) -> _ConflictSearch:
    return _ConflictSearch(data, intercept, data.prices(penalty), bounds.cutoff, _paid(bounds))


def _short(search: _ConflictSearch) -> tuple[Points, ...]:
    """Singles and pairs above their ceilings, in closed form."""
    data, n = search.data, search.data.n
    if n > PAIR_LIMIT:
        return ()
    group, own = np.full(n, -1), np.zeros(n)  # own: the price of one's own group
    alone = np.zeros(n, dtype=bool)
    for number, points in enumerate(search.paid):
        group[list(points)] = number
        own[list(points)] = search.price(points)
        alone[list(points)] = len(points) == 1
    inside = group >= 0
    floor = search.ceiling(()) + own  # with one's own group not counted
    found: list[Points] = [
        (int(i),) for i in np.flatnonzero(~alone & (single_norms(data, search.intercept) > floor))
    ]
    alone[[i for (i,) in found]] = True
    apart = inside[:, None] & inside[None, :] & (group[:, None] != group[None, :])
    both = np.minimum(own[:, None], own[None, :]) * apart
    ceilings = np.maximum(floor[:, None], floor[None, :]) + both
    i, j = np.nonzero(np.triu(pair_norms(data, search.intercept) > ceilings * (1 + 1e-15), 1))
    wanted = ~(alone[i] | alone[j])
    return (*found, *zip(i[wanted].tolist(), j[wanted].tolist(), strict=True))


def _outside(search: _ConflictSearch) -> tuple[Points, ...]:
    """Further disjoint conflicts, among the points of none so far."""
    taken = {i for group in search.paid for i in group}
    rest = [i for i in range(search.data.n) if i not in taken]
    found: list[Points] = []
    while len(rest) > 1:
        conflict = search.conflict(rest)
        if conflict is None:
            break
        found.append(conflict.points)
        search = replace(search, paid=(*search.paid, conflict.points))
        rest = [i for i in rest if i not in conflict.points]
    return tuple(found)
