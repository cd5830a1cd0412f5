"""Exact optimum of the 0-1 loss problem in few dimensions, by enumeration of active sets.

    min   norm2 + penalty * #{i : y_i (<w, x_i> + b) < 1}

Which sets are enough. Let S be the points that an optimum keeps. Then (w, b) has least norm2
under u_i = y_i (<w, x_i> + b) >= 1 on S, a convex problem: there are multipliers alpha >= 0 that
vanish where u_i > 1.

none, penalised: with rows r_i = y_i x_i (or y_i (x_i, 1)) and v = w (or (w, b)) stationarity says
    v = sum alpha_i r_i. By Caratheodory v is a positive combination of linearly independent ones
    among the rows with u_i = 1: a set A of at most d (or d + 1) rows, and v is the only point in
    their span with <r_i, v> = 1 on A.

free: stationarity in w and in b says w = sum alpha_i y_i x_i and 0 = sum alpha_i y_i, that is,
    (w, 0) = sum alpha_i y_i (x_i, 1) in d + 1 dimensions. Caratheodory leaves a set A of at most
    d + 1 points with alpha > 0 and linearly independent (x_i, 1), that is, affinely independent
    points; d are not enough (d = 1: two points that face each other). sum alpha_i y_i = 0 puts
    both classes into A. On A, <w, x_i> + b = y_i where w = sum beta_i x_i, sum beta_i = 0,
    beta = y alpha: the bordered system [G 1; 1' 0] (beta, b) = (y, 0) with G_ij = <x_i, x_j>. It
    has one solution, for G beta + b 1 = 0 and 1'beta = 0 give ||sum beta_i x_i||^2 = 0, so beta = 0
    by affine independence, and b = 0. If S lacks a class, w = 0 with b = +-1 is optimal.

So an optimum is the point v_A of an independent set A with positive multipliers, or has w = 0.
||v_A|| grows with A, so a set that costs more than the best known objective is dropped with all
its supersets.

Nearly dependent sets. Let sigma be the least singular value of the equations of A, alpha >= 0 the
multipliers of v_A; sum alpha = ||v_A||^2 =: rho (with a free intercept, read w for v). Moving
alpha along the singular direction until an entry vanishes gives alpha' on a smaller set A' and a
point v' with ||v' - v_A|| <= sqrt(|A|) rho sigma =: delta. By weak duality the least norm2 under
u_i >= 1 on A' is at least 2 <v', v_A> - ||v'||^2 >= rho - delta^2; it is at most rho since A' is
part of A; by strong convexity its minimiser is within delta of v_A. That minimiser is again the
point of a subset of A' with positive multipliers, costs no more than v_A, and its margins differ by
at most delta times the largest row norm (the diameter of the data with a free intercept, where b
moves with an active point of each class). So A can be skipped, with its supersets, if this loss,
added up over at most |A| rounds, is below half the tolerance on margins: its subsets are enumerated
too. Exactly dependent sets are never needed. What is neither safely skipped nor accurate in
floating point, and might still matter, is solved again in rational arithmetic.

Bounds. For the lower bound a point counts as violated if u_i < 1 - tolerance; the tolerance covers
skipped sets and the rounding of v_A (ROUNDING times machine precision times condition number). For
the objective, points within the tolerance are kept by stretching (w, b), and violations are then
counted strictly. The two differ by the stretching: relatively 1e-8, more only when the margins of
the data themselves cannot be computed to 1e-9 (features offset by a million spreads).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import comb
from typing import overload

import numpy as np
from numpy.typing import NDArray

from formulations.data import TrainingData
from formulations.parameters import INTERCEPTS, one_of, positive
from formulations.zero_one_loss import (
    EPS,
    margins,
    scale_onto_margin,
    trivial_points,
    zero_one_objective,
)
from solvers.algorithms.active_sets import (
    ActiveSets,
    Points,
    RationalPoint,
    RationalPoints,
    distinct_points,
    extend,
    multipliers,
    set_margins,
    without_equations,
)

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

MARGIN_TOLERANCE = 5e-10
RESOLVED_GAP = 4e-9  # more than any stretching by twice the tolerance can cost
ROUNDING = 16.0
DOUBTFUL = 1e-6  # relative error of a point above which its set is tested for dependence
LOOKS = 8  # points of a batch that are tried out for each penalty
NUMBERS_AT_ONCE = 2_000_000


@dataclass(frozen=True, eq=False)
class EnumerationResult:
    """The optimum of a 0-1 loss problem, enclosed.

    Attributes
    ----------
    objective : float
        Objective of (w, b), violations counted strictly.
    lower_bound : float
        No point has a smaller objective.
    w, b : array (d,), float
        The best point.
    kept : array (n,) of bool
        Points whose margin is at least 1.
    n_sets : int
        Number of active sets the enumeration covers.
    """

    objective: float
    lower_bound: float
    w: Array
    b: float
    kept: Mask
    n_sets: int


def count_sets(n: int, d: int, intercept: str, n_pos: int | None = None) -> int:
    """Number of active sets of n points in d dimensions.

    Parameters
    ----------
    n_pos : int, optional
        Size of one class. Sets of one class are not needed with a free intercept; without n_pos
        the count is that of the worst class sizes.
    """
    one_of("intercept", intercept, INTERCEPTS)
    largest = d if intercept == "none" else d + 1
    if intercept != "free":
        return sum(comb(n, size) for size in range(1, largest + 1))
    first = n // 2 if n_pos is None else n_pos
    return sum(
        comb(n, size) - comb(first, size) - comb(n - first, size) for size in range(2, largest + 1)
    )


@overload
def zero_one_enumeration(
    data: TrainingData, *, penalty: float, intercept: str, limit: int = ...
) -> EnumerationResult: ...


@overload
def zero_one_enumeration(
    data: TrainingData, *, penalty: Sequence[float], intercept: str, limit: int = ...
) -> list[EnumerationResult]: ...


def zero_one_enumeration(
    data: TrainingData,
    *,
    penalty: float | Sequence[float],
    intercept: str,
    limit: int = 5_000_000,
) -> EnumerationResult | list[EnumerationResult]:
    """Exact optimum over all active sets; the module's docstring has the proof.

    Parameters
    ----------
    penalty : number or sequence of numbers
        Several penalties share one enumeration and give a list of results.
    limit : int
        Most sets to enumerate. Repeated points count once.

    Raises
    ------
    ValueError
        More sets than `limit` (saying how many), a bad penalty, an unknown intercept.
    """
    several = not np.isscalar(penalty)
    costs = [positive("penalty", cost) for cost in np.atleast_1d(np.asarray(penalty)).tolist()]
    if not costs:
        raise ValueError("penalty must hold at least one number")
    points = distinct_points(data, intercept)
    total = count_sets(len(points.y), data.d, intercept, points.n_pos)
    if total > limit:
        raise ValueError(
            f"limit = {limit:,} is below the {total:,} active sets of up to {points.largest} of "
            f"{len(points.y)} distinct points; raise limit, or use a mixed-integer solver"
        )
    search = _Search(data, points, [_start(data, cost, intercept) for cost in costs])
    if points.radius > 0:
        search.descend(without_equations(points, np.arange(points.n_pos, dtype=np.intp)))
        search.resolve()
    results = [best.result(data, total) for best in search.best]
    return results if several else results[0]


@dataclass
class _Best:
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

    def result(self, data: TrainingData, n_sets: int) -> EnumerationResult:
        kept = margins(data, self.w, self.b) >= 1
        lower = min(self.lower, self.objective)
        return EnumerationResult(self.objective, lower, self.w, self.b, kept, n_sets)


def _start(data: TrainingData, penalty: float, intercept: str) -> _Best:
    point = trivial_points(data, penalty=penalty, intercept=intercept)[0]
    return _Best(penalty, intercept, point.objective, point.w, point.b)


@dataclass
class _Search:
    """Depth-first enumeration in batches, so that memory holds one batch per size of set."""

    data: TrainingData
    points: Points
    best: list[_Best]
    unresolved: list[tuple[Index, Array]] = field(default_factory=list)
    exact: RationalPoints | None = None

    @property
    def ceiling(self) -> float:
        """Sets that cost more matter to no penalty."""
        return max(best.objective for best in self.best)

    def descend(self, parents: ActiveSets) -> None:
        """Visit every set that consists of a parent and later points."""
        for parent, point in self._children(parents.members):
            sets = extend(self.points, parents, parent, point)
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
            low = (norm2 + best.penalty * count) * (1 - 4 * EPS)
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
        count = int((margins(self.data, w, b) < certain).sum())
        for best in self.best:
            low = (float(point.norm2) + best.penalty * count) * (1 - 4 * EPS)
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
