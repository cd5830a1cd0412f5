"""Depth-first search over the active sets of the 0-1 loss, in batches, with rounding accounted for.

The proof that these sets are enough, and that nearly dependent ones may be skipped, stands in
enumeration.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.zero_one.loss import (
    EPS,
    margins,
    scale_onto_margin,
    trivial_points,
    zero_one_objective,
)
from tightmargin.solvers.execution.live_line import LiveLine
from tightmargin.solvers.zero_one.enumeration.active_sets import (
    ActiveSets,
    Points,
    RationalPoint,
    RationalPoints,
    extend,
    multipliers,
    set_margins,
)

MARGIN_TOLERANCE = 5e-10
RESOLVED_GAP = 4e-9  # more than any stretching by twice the tolerance can cost
ROUNDING = 16.0
DOUBTFUL = 1e-6  # relative error of a point above which its set is tested for dependence
LOOKS = 8  # points of a batch that are tried out for each penalty
NUMBERS_AT_ONCE = 2_000_000


@dataclass
class BestPoint:
    """Best point, and least value of the sets seen, for one penalty."""

    penalty: float
    intercept: str
    objective: float
    w: Array
    b: float
    lower: float = np.inf

    @property
    def threshold(self) -> float:
        """Sets at or above this value need no closer look."""
        return self.objective * (1 - RESOLVED_GAP)

    def offer(self, data: TrainingData, w: Array, b: float, tolerance: float) -> None:
        """Stretch (w, b) until points within the tolerance are kept; remember it if it is best."""
        slack = 2 * min(tolerance, 1e-6) + _margin_rounding(data, w, b)
        kept = margins(data, w, b) >= 1 - slack
        stretched = scale_onto_margin(data, w, b, kept)
        if stretched is None:
            return
        w, b = stretched
        value = zero_one_objective(data, w, b, penalty=self.penalty, intercept=self.intercept)
        if value < self.objective:
            self.objective, self.w, self.b = value, w, b


def trivial_start(data: TrainingData, penalty: float, intercept: str) -> BestPoint:
    """The best point with w = 0, before any set is seen."""
    point = trivial_points(data, penalty=penalty, intercept=intercept)[0]
    return BestPoint(penalty, intercept, point.objective, point.w, point.b)


@dataclass
class SetSearch:
    """Depth-first enumeration in batches, so that memory holds one batch per size of set."""

    data: TrainingData
    points: Points
    best: list[BestPoint]
    unresolved: list[tuple[Index, Array]] = field(default_factory=list)
    exact: RationalPoints | None = None
    line: LiveLine | None = None
    count: int = 0

    @property
    def rounded(self) -> float:
        """Share of a value that its sums may have rounded up; those of weights are no counts."""
        return (4 if self.data.weights is None else 4 + self.data.n) * EPS

    @property
    def ceiling(self) -> float:
        """Sets that cost more matter to no penalty."""
        return max(best.objective for best in self.best)

    def descend(self, parents: ActiveSets) -> None:
        """Visit every set that consists of a parent and later points."""
        for parent, point in self._children(parents.members):
            sets = extend(self.points, parents, parent, point)
            self.count += len(sets.members)
            if self.line is not None and self.line.is_due:
                self.line.show(None, self.ceiling, f"{self.count:,} sets")
            sets = sets.take((_sure_norm2(self.points, sets) < self.ceiling) & ~self._covered(sets))
            self._visit(sets)
            if sets.members.shape[1] < self.points.largest:
                self.descend(self._independent(sets))

    def _children(self, members: Index) -> Iterator[tuple[Index, Index]]:
        """Pairs (parent, later point) in batches."""
        if not len(members):
            return
        count, dimension = self.points.rows.shape
        next_point = members[:, -1] + 1 if members.shape[1] else np.zeros(1, dtype=np.intp)
        number = count - next_point
        ends = np.cumsum(number)
        batch = (ends - 1) // max(1, NUMBERS_AT_ONCE // max(count, 2 * dimension**2))
        cuts = np.flatnonzero(np.diff(batch)) + 1
        for start, stop in pairwise([0, *cuts.tolist(), len(members)]):
            parent = np.repeat(np.arange(start, stop, dtype=np.intp), number[start:stop])
            first_child = np.repeat((ends - number)[start:stop], number[start:stop])
            position = np.arange(len(parent), dtype=np.intp) + (ends - number)[start]
            yield parent, next_point[parent] + position - first_child

    def _covered(self, sets: ActiveSets) -> Mask:
        """Sets so nearly dependent that their subsets stand in for them."""
        radius, largest = self.points.radius, self.points.largest
        sigma = np.sqrt(largest / sets.spread) + ROUNDING * EPS * radius
        lost = radius * largest**1.5 * self.ceiling * sigma
        return lost <= MARGIN_TOLERANCE / 2

    def _independent(self, sets: ActiveSets) -> ActiveSets:
        """Leave out what rational arithmetic shows to be dependent; so is every superset."""
        doubtful = ~(_relative_error(self.points, sets) < DOUBTFUL)
        for k in np.flatnonzero(doubtful):
            doubtful[k] = self._rational(sets.members[k]) is None
        return sets.take(~doubtful)

    def _visit(self, sets: ActiveSets) -> None:
        """Bound the value of each set from below, and try out the most promising points."""
        sets = sets.take(self._may_be_optimal(sets))
        if not len(sets.members):
            return
        norm2 = _sure_norm2(self.points, sets)
        error = _relative_error(self.points, sets)
        tolerance = MARGIN_TOLERANCE + error * (1 + self.points.radius * np.sqrt(sets.norm2))
        violated = set_margins(self.points, sets) < 1 - tolerance[:, None]
        count = violated @ self.points.weight
        lows = np.empty((len(norm2), len(self.best)))
        for column, best in enumerate(self.best):
            low = (norm2 + best.penalty * count) * (1 - self.rounded)
            for k in np.argsort(low)[:LOOKS]:
                if low[k] < best.threshold and np.isfinite(sets.v[k]).all():
                    w, b = self.points.hyperplane(sets.v[k], sets.members[k, 0])
                    best.offer(self.data, w, b, float(tolerance[k]))
            lows[:, column] = low
        settled = (lows >= [best.threshold for best in self.best]).all(axis=1)
        self._record(lows[settled])
        if not settled.all():
            self.unresolved.append((sets.members[~settled], lows[~settled]))

    def _record(self, lows: Array) -> None:
        for best, low in zip(self.best, lows.min(axis=0, initial=np.inf), strict=True):
            best.lower = min(best.lower, float(low))

    def _may_be_optimal(self, sets: ActiveSets) -> Mask:
        """Leave out sets with a negative multiplier, and one class alone when b is free."""
        alpha = multipliers(self.points, sets)
        condition2 = self.points.radius**2 * sets.spread
        slack = ROUNDING * EPS * condition2 * np.abs(alpha).max(axis=1)
        optimal = ~(alpha < -slack[:, None]).any(axis=1)
        if self.points.intercept == "free":
            optimal &= sets.members[:, -1] >= self.points.n_pos
        return optimal

    def _rational(self, members: Index) -> RationalPoint | None:
        if self.exact is None:
            self.exact = RationalPoints(self.data, self.points.intercept)
        return self.exact.solve(self.points.original[members])

    def resolve(self) -> None:
        """Solve the sets that may still beat the best point again, without rounding."""
        for members, lows in self.unresolved:
            for some, low in zip(members, lows, strict=True):
                if all(x >= best.threshold for x, best in zip(low, self.best, strict=True)):
                    self._record(low[None, :])
                else:
                    self._resolve_one(some)

    def _resolve_one(self, members: Index) -> None:
        point = self._rational(members)
        if point is None or min(point.alpha) <= 0 or point.norm2 >= 2 * self.ceiling:
            return
        w, b = point.rounded()
        certain = 1 - MARGIN_TOLERANCE - _margin_rounding(self.data, w, b)
        count = self.data.mass(margins(self.data, w, b) < certain)
        for best in self.best:
            low = (float(point.norm2) + best.penalty * count) * (1 - self.rounded)
            if low < best.threshold:
                best.offer(self.data, w, b, MARGIN_TOLERANCE)
            best.lower = min(best.lower, low)


def _margin_rounding(data: TrainingData, w: Array, b: float) -> Array:
    """Bound on the rounding error of each margin of (w, b), and of b itself."""
    return 4 * (data.d + 2) * EPS * (np.abs(data.X) @ np.abs(w) + abs(b))


def _relative_error(points: Points, sets: ActiveSets) -> Array:
    """Bound on ||error of v|| / ||v||: condition number times precision times ROUNDING."""
    return ROUNDING * EPS * points.radius * np.sqrt(sets.spread)


@np.errstate(invalid="ignore")
def _sure_norm2(points: Points, sets: ActiveSets) -> Array:
    """Lower bound on ||v||^2; 0 where v is not to be trusted."""
    error = _relative_error(points, sets)
    return np.where(error < 1, sets.norm2 * (1 - error) ** 2, 0.0)
