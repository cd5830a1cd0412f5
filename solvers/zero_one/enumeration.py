"""Exact optimum of the 0-1 loss problem in few dimensions, by enumeration of active sets.

    min   norm2 + penalty * #{i : y_i (<w, x_i> + b) < 1}

where # counts a point as often as it weighs.

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

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations, islice, pairwise
from math import comb
from operator import mul
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.data.dense_points import reads_dense_points
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.parameters import INTERCEPTS, one_of, positive
from tightmargin.formulations.zero_one.big_m import derive_ramp_big_m
from tightmargin.formulations.zero_one.loss import (
    EPS,
    margins,
    scale_onto_margin,
    trivial_points,
    zero_one_objective,
)
from tightmargin.formulations.zero_one.ramp import ramp_objective
from tightmargin.solvers.engines.live_line import LiveLine, live_line
from tightmargin.solvers.hinge.batch import hinge_machines
from tightmargin.solvers.zero_one.directions import (
    ActiveSets,
    Points,
    distinct_points,
    extend,
    set_margins,
    without_equations,
)


def multipliers(points: Points, sets: ActiveSets) -> Array:
    """alpha of the members, (P, s): w = sum alpha_i y_i x_i, and sum alpha_i y_i = 0 if b is free.

    Non-negative exactly if v is the point of least norm2 with margins >= 1 on the set.
    """
    beta = sets.coefficients
    if points.intercept == "free":
        beta = np.column_stack([-beta.sum(axis=1), beta])
    return beta * points.y[sets.members]


@dataclass(frozen=True)
class RationalPoint:
    """The point of one active set without rounding."""

    alpha: list[Fraction]
    norm2: Fraction
    w: list[Fraction]
    b: Fraction

    def rounded(self) -> tuple[Array, float]:
        """(w, b) as floats; OverflowError if they have none."""
        return np.array([float(x) for x in self.w]), float(self.b)


class RationalPoints:
    """Solves active sets exactly; floats are integers times a power of two, so integers suffice.

    Parameters
    ----------
    data : TrainingData
        Members of a set are rows of its X.
    intercept : str
        free, penalised or none.
    """

    def __init__(self, data: TrainingData, intercept: str) -> None:
        ratios = [[float(x).as_integer_ratio() for x in row] for row in data.X]
        self.scale = max(denominator for row in ratios for _, denominator in row)
        self.rows = [[p * (self.scale // q) for p, q in row] for row in ratios]
        if intercept == "penalised":
            self.rows = [[*row, self.scale] for row in self.rows]
        self.labels = [int(label) for label in data.y]
        self.intercept = intercept

    def solve(self, members: Index) -> RationalPoint | None:
        """Point of one set; None if its equations are dependent."""
        rows = [self.rows[i] for i in members]
        labels = [self.labels[i] for i in members]
        free = self.intercept == "free"
        equations, target = rows, labels
        if free:
            equations = [[a - c for a, c in zip(row, rows[0], strict=True)] for row in rows[1:]]
            target = [label - labels[0] for label in labels[1:]]
        beta = _solve_gram(equations, target)
        if beta is None:
            return None
        columns = zip(*equations, strict=True)
        v = [self.scale * _dot(beta, column) for column in columns]
        norm2 = self.scale**2 * _dot(beta, target)
        b = Fraction(0)
        if free:
            b = labels[0] - _dot(v, rows[0]) / self.scale
            beta = [-sum(beta, Fraction(0)), *beta]
        elif self.intercept == "penalised":
            b = v.pop()
        alpha = [self.scale**2 * c * label for c, label in zip(beta, labels, strict=True)]
        return RationalPoint(alpha, norm2, v, b)


def _dot(fractions: list[Fraction], integers: Iterable[int]) -> Fraction:
    return sum((f * k for f, k in zip(fractions, integers, strict=True)), Fraction(0))


def _solve_gram(rows: list[list[int]], target: list[int]) -> list[Fraction] | None:
    """Solution of rows rows' beta = target; None if the rows are dependent.

    Elimination in integers (Bareiss), without pivoting: the leading minors of a Gram matrix are
    positive as long as the rows are independent.
    """
    size, previous = len(rows), 1
    table = [[sum(map(mul, p, q)) for q in rows] + [t] for p, t in zip(rows, target, strict=True)]
    for k in range(size):
        pivot = table[k][k]
        if pivot == 0:
            return None
        for i in range(k + 1, size):
            factor = table[i][k]
            table[i] = [
                (pivot * a - factor * c) // previous
                for a, c in zip(table[i], table[k], strict=True)
            ]
        previous = pivot
    beta = [Fraction(0)] * size
    for k in reversed(range(size)):
        known = _dot(beta[k + 1 :], table[k][k + 1 : size])
        beta[k] = (table[k][size] - known) / table[k][k]
    return beta


# --- Depth-first search over the active sets of the 0-1 loss, in batches, with rounding
#     accounted for
# The proof that these sets are enough, and that nearly dependent ones may be skipped, stands in
# enumeration.py.


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


@dataclass(frozen=True, eq=False)
class EnumerationResult:
    """The optimum of a 0-1 loss problem, enclosed.

    Attributes
    ----------
    objective : float
        Objective of (w, b), violations counted strictly.
    bound : float
        No point has a smaller objective.
    w, b : array (d,), float
        The best point.
    kept : array (n,) of bool
        Points whose margin is at least 1.
    n_sets : int
        Number of active sets the enumeration covers.
    """

    objective: float
    bound: float
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


@reads_dense_points
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
    search = SetSearch(data, points, [trivial_start(data, cost, intercept) for cost in costs])
    if points.radius > 0:
        with live_line("enumeration") as search.line:
            search.descend(without_equations(points, np.arange(points.n_pos, dtype=np.intp)))
            search.resolve()
    rounded = search.rounded + data.d * EPS  # of the objective of a point too, with w @ w in it
    results = [_result(best, data, total, rounded) for best in search.best]
    return results if several else results[0]


def _result(best: BestPoint, data: TrainingData, n_sets: int, rounded: float) -> EnumerationResult:
    kept = margins(data, best.w, best.b) >= 1
    # The best point may be one of no set, such as w = 0, and its objective was rounded.
    lower = min(best.lower, best.objective * (1 - rounded))
    return EnumerationResult(best.objective, lower, best.w, best.b, kept, n_sets)


# --- Sets of points that a hyperplane can leave beyond a level: those the ramp loss may cap ------
#     S(w, b) = {i : u_i < -1},      u_i = y_i (<w, x_i> + b)
# Every S(w, b) is among the sets returned here, except those above a stated weight. Let v = (w, b)
# and take the polyhedron {u_i <= -1 on S, u_i >= -1 elsewhere} it lies in. The rows (x_i, 1) span
# all k dimensions (a feature that the others determine changes no S and is left out), so the
# polyhedron contains no line and has a vertex, at which k rows A with independent (x_i, 1) have
# u_i = -1. There every i with u_i < -1 is in S and every i with u_i > -1 is not: S is {i : u_i <
# -1 at the vertex of A} together with some of the points that have u_i = -1 at it. So all A, each
# with all subsets of the points on its hyperplane, give every S: about n^k sets.
# One vertex is special. Where there is an intercept, k points of one class determine w = 0, b =
# -y, and all points of that class have u_i = -1 there. Around it u_i + 1 is linear in the
# direction, so the same argument goes one dimension lower: the cone of directions in which S goes
# down and the rest of the class up has an extreme ray, on which k - 1 independent points keep u_i
# = -1.
# Rounding. A vertex is computed with an error bound from its singular values; points within it of
# u_i = -1 are tried on both sides, which only adds sets. Where the equations are nearly dependent
# the vertex is computed again in rational numbers, or found to be none.


RATIONAL_LIMIT = 2_000  # vertices that are computed in rational numbers
MOST_ON_A_VERTEX = 12  # points on one hyperplane; 2^12 sets
SAFE_CONDITION = 1e9
AT_ONCE = 4_000  # vertices of a batch


def capped_sets(data: TrainingData, points: Points, rows: Array, most: float) -> Mask | None:
    """Every set {i : u_i < -1} of weight below `most`, and more; (B, m) over distinct points.

    Parameters
    ----------
    points : Points
        The distinct points of the data.
    rows : array (m, k)
        Their coordinates in which u_i = y_i <row_i, v>, the constant last where there is one.
    most : float
        Sets at or above this weight are not needed.

    Returns
    -------
    array of bool or None
        None when too many points lie on common hyperplanes, or all of them in one place.
    """
    search = _Sets(data, points, rows, most)
    search.drop_dependent_columns()
    if search.rows.shape[1] < (1 if points.intercept == "none" else 2):
        return None
    families: list[NDArray[np.uint8]] = [np.zeros((0, (len(rows) + 7) // 8), dtype=np.uint8)]
    for members, find in search.batches():
        found = find(members)
        if found is None:
            return None
        families.append(np.unique(np.packbits(found, axis=1), axis=0))
    if not search.spans:
        return None
    unique = np.unique(np.concatenate(families), axis=0)
    return np.unpackbits(unique, axis=1, count=len(rows)).astype(bool)


@dataclass(eq=False)
class _Sets:
    data: TrainingData
    points: Points
    rows: Array
    most: float
    rationals: int = 0
    spans: bool = False

    def drop_dependent_columns(self) -> None:
        """Keep columns that span the others' values at the points, in exact arithmetic."""
        columns = [list(column) for column in zip(*self.exact, strict=True)]
        order = [len(columns) - 1, *range(len(columns) - 1)]  # a constant stays
        kept: list[int] = []
        basis: list[tuple[int, list[Fraction]]] = []
        for j in order:
            rest = columns[j]
            for pivot, other in basis:
                factor = rest[pivot] / other[pivot]
                rest = [a - factor * c for a, c in zip(rest, other, strict=True)]
            first = next((i for i, value in enumerate(rest) if value), None)
            if first is not None:
                basis.append((first, rest))
                kept.append(j)
        chosen = sorted(kept)
        self.rows = self.rows[:, chosen]
        self.exact = [[row[j] for j in chosen] for row in self.exact]

    @cached_property
    def G(self) -> Array:  # noqa: N802  (the letter of the module's neighbours)
        """Rows times labels: u = G v."""
        return self.points.y[:, None] * self.rows

    def batches(self) -> Iterator[tuple[Index, Callable[[Index], Mask | None]]]:
        """Subsets of points, with what makes sets of them: vertices, and rays of one class."""
        m, k, n_pos = *self.rows.shape, self.points.n_pos
        intercept = self.points.intercept != "none"
        for members in _subsets(range(m), k):
            if intercept:  # sorted, positive points first: both classes, or the special vertex
                members = members[(members[:, 0] < n_pos) & (members[:, -1] >= n_pos)]
            if len(members):
                yield members, self._at_vertices
        if intercept:
            for one in (range(n_pos), range(n_pos, m)):
                for members in _subsets(one, k - 1):
                    yield members, self._on_rays

    def _on_rays(self, members: Index) -> Mask | None:
        """Sets around the vertex w = 0 of a class, along the rays of k - 1 of its points."""
        own = self.points.y == self.points.y[members[0, 0]]
        k = self.rows.shape[1]
        _, sigma, V = np.linalg.svd(self.rows[members])
        good = sigma[:, -1] * SAFE_CONDITION > sigma[:, 0]
        ray = V[good, -1]
        size = float(np.linalg.norm(self.rows, axis=1).max())
        error = 64 * k * EPS * size * (1 + sigma[good, 0] / sigma[good, -1])
        found: list[Mask | None] = []
        for sign in (1.0, -1.0):
            u = sign * ray @ self.G.T
            on = (np.abs(u) <= error[:, None]) & own
            on[np.arange(len(ray))[:, None], members[good]] = True
            below = (u < 0) & own & ~on
            found += self._with_subsets(below, on, members[good])
        for some in members[~good]:
            exact = self._rational_ray(some, own)
            if exact is None:
                return None
            found += [_subsets_of(below, on) for below, on in exact]
        return self._affordable(found)

    def _affordable(self, found: Sequence[Mask | None]) -> Mask | None:
        """All sets of a weight below `most`; None when one is missing."""
        parts = [part for part in found if part is not None]
        if len(parts) < len(found):
            return None
        sets = np.concatenate(parts)
        return sets[sets @ self.points.weight < self.most]

    def _at_vertices(self, members: Index) -> Mask | None:
        """Candidates for S* at the vertices of some subsets; None when they are too many."""
        y, k = self.points.y, self.rows.shape[1]
        M = self.rows[members]
        U, sigma, V = np.linalg.svd(M)
        good = sigma[:, -1] * SAFE_CONDITION > sigma[:, 0]
        self.spans |= bool(good.any())
        doubtful = members[~good]
        members, M, U, sigma, V = members[good], M[good], U[good], sigma[good], V[good]
        right = -y[members]
        inner = np.einsum("pji,pj->pi", U, right) / sigma
        v = np.einsum("pij,pi->pj", V, inner)
        length = np.linalg.norm(v, axis=1)
        residual = np.linalg.norm(np.einsum("pij,pj->pi", M, v) - right, axis=1)
        rounding = 32 * k * EPS * (sigma[:, 0] * length + 1)
        moved = 2 * (residual + rounding) / sigma[:, -1]
        size = float(np.linalg.norm(self.rows, axis=1).max())
        error = size * moved + 32 * k * EPS * (size * length + 1)
        u = v @ self.G.T
        on = np.abs(u + 1) <= error[:, None]
        on[np.arange(len(members))[:, None], members] = True
        below = (u < -1) & ~on
        found: list[Mask | None] = [*self._with_subsets(below, on, members)]
        for some in doubtful:
            self.rationals += 1
            if self.rationals > RATIONAL_LIMIT:
                return None
            exact = self._rational(some)
            if exact is None:
                continue
            self.spans = True
            found.append(_subsets_of(*exact))
        return self._affordable(found)

    def _with_subsets(self, below: Mask, on: Mask, members: Index) -> Iterator[Mask | None]:
        """Every vertex with every subset of the points on its hyperplane."""
        cheap = below @ self.points.weight < self.most
        below, on, members = below[cheap], on[cheap], members[cheap]
        plain = on.sum(axis=1) == members.shape[1]
        each = np.arange(int(plain.sum()))[:, None]
        yield np.zeros((0, below.shape[1]), dtype=bool)
        for size in range(members.shape[1] + 1):
            for chosen in combinations(range(members.shape[1]), size):
                part = below[plain].copy()
                part[each, members[plain][:, list(chosen)]] = True
                yield part
        for k in np.flatnonzero(~plain):
            yield _subsets_of(below[k], np.flatnonzero(on[k]))

    @cached_property
    def exact(self) -> list[list[Fraction]]:
        """Rows of the points as they are in the data, without rounding."""
        last = [Fraction(1)] if self.points.intercept != "none" else []
        rows = self.data.X[self.points.original].tolist()
        return [[*map(Fraction, row), *last] for row in rows]

    def _margins(self, v: list[Fraction]) -> list[Fraction]:
        return [
            int(label) * sum((x * t for x, t in zip(row, v, strict=True)), Fraction(0))
            for label, row in zip(self.points.y, self.exact, strict=True)
        ]

    def _rational(self, members: Index) -> tuple[Mask, Index] | None:
        """Points below -1 and on it at the exact vertex of some points; None when there is none."""
        v = _solve([self.exact[i] for i in members], [-int(self.points.y[i]) for i in members])
        if v is None:
            return None
        u = self._margins(v)
        return np.array([t < -1 for t in u]), np.flatnonzero([t == -1 for t in u])

    def _rational_ray(self, members: Index, own: Mask) -> list[tuple[Mask, Index]] | None:
        """The same on both rays of some points: none when they are dependent; None: too many."""
        self.rationals += 1
        if self.rationals > RATIONAL_LIMIT:
            return None
        for j in range(self.rows.shape[1]):  # the entry that is not 0 is set to 1
            system = [[x for i, x in enumerate(self.exact[p]) if i != j] for p in members]
            rest = _solve(system, [-self.exact[p][j] for p in members])
            if rest is not None:
                u = self._margins([*rest[:j], Fraction(1), *rest[j:]])
                on = np.flatnonzero([t == 0 and mine for t, mine in zip(u, own, strict=True)])
                down, up = np.array([t < 0 for t in u]), np.array([t > 0 for t in u])
                return [(down & own, on), (up & own, on)]
        return []


def _subsets(points: range, size: int) -> Iterator[Index]:
    """Subsets of points, ascending, many at a time."""
    subsets = combinations(points, size)
    while batch := list(islice(subsets, AT_ONCE)):
        yield np.array(batch, dtype=np.intp).reshape(len(batch), size)


def _subsets_of(below: Mask, on: Index) -> Mask | None:
    """`below` with every subset of the points `on`; None when there are too many."""
    if len(on) > MOST_ON_A_VERTEX:
        return None
    sets = np.repeat(below[None, :], 2 ** len(on), axis=0)
    bits = (np.arange(2 ** len(on))[:, None] >> np.arange(len(on))) & 1
    sets[:, on] = bits.astype(bool)
    return sets


def _solve(rows: list[list[Fraction]], right: list[Any]) -> list[Fraction] | None:
    """Gauss's elimination in rational numbers; None for dependent rows."""
    table = [[*row, Fraction(side)] for row, side in zip(rows, right, strict=True)]
    size = len(table)
    for k in range(size):
        pivot = next((i for i in range(k, size) if table[i][k] != 0), None)
        if pivot is None:
            return None
        table[k], table[pivot] = table[pivot], table[k]
        head = table[k][k]
        table[k] = [x / head for x in table[k]]
        for i in range(size):
            factor = table[i][k]
            if i != k and factor:
                table[i] = [a - factor * c for a, c in zip(table[i], table[k], strict=True)]
    return [row[-1] for row in table]


# --- Exact optimum of the ramp loss in few dimensions, by enumeration of the capped points -------
#     min  1/2 norm2 + C sum_i min(2, max(0, 1 - u_i)),      u_i = y_i (<w, x_i> + b)
# Which sets are enough. Given the set S of points that pay 2 C whatever happens, the rest is
# convex,
#     F(S) = 2 C |S| + min  1/2 norm2 + C sum over i not in S of max(0, 1 - u_i),
# and F(S) is at least the optimum for every S (a capped loss is no larger), with equality for S* =
# {i : u_i < -1} at an optimum. So the optimum is the least F(S) over any family that holds S*,
# such as the one searched here. Sets with 2 C |S| above a known objective are left out, and F(S)
# is bounded from below by weak duality (hinge/batch.py).


VERTEX_LIMIT = 100_000
STARTS, DESCENTS = 60, 12


@dataclass(frozen=True, eq=False)
class RampEnumeration:
    """The optimum of a ramp loss problem, enclosed.

    Attributes
    ----------
    objective : float
        Objective of (w, b).
    bound : float
        No hyperplane has a smaller objective.
    n_sets : int
        Number of sets of capped points whose machine was solved.
    """

    objective: float
    bound: float
    w: Array
    b: float
    n_sets: int


def count_vertices(n: int, d: int, intercept: str) -> int:
    """Number of subsets of n points that the enumeration in d dimensions looks at."""
    return math.comb(n, d if intercept == "none" else d + 1)


def ramp_bound(origin: Origin) -> Lemma | None:
    """Lower bound on a model of ramp_big_m; None where there is none."""
    data, parameters = origin.data, origin.parameters
    intercept = parameters["intercept"]
    if count_vertices(data.n, data.d, intercept) > VERTEX_LIMIT:
        return None
    found = _remembered(data, parameters["C"], intercept)
    if found is None:
        return None
    words = f"enumeration of {found.n_sets:,} sets of capped points"
    return Lemma(found.bound, words, {"every set that a hyperplane caps was solved": True})


@lru_cache(maxsize=4)
def _remembered(data: TrainingData, C: float, intercept: str) -> RampEnumeration | None:
    """One certificate asks more than once."""
    return ramp_enumeration(data, C=C, intercept=intercept)


@unweighted_unlike("ramp_big_m")
@reads_dense_points
def ramp_enumeration(
    data: TrainingData, *, C: float, intercept: str, limit: int = VERTEX_LIMIT
) -> RampEnumeration | None:
    """Exact optimum over all sets of capped points; the module's docstring has the proof.

    Returns
    -------
    RampEnumeration or None
        None when the features are dependent, or too many points lie on common hyperplanes.

    Raises
    ------
    ValueError
        More vertices than `limit`, a bad C, an unknown intercept.
    """
    cost = positive("C", C)
    one_of("intercept", intercept, INTERCEPTS)
    points = distinct_points(data, intercept)
    free = intercept == "free"
    rows = np.column_stack([points.rows, np.ones(len(points.y))]) if free else points.rows
    count = math.comb(*rows.shape)
    if count > limit:
        raise ValueError(
            f"limit = {limit:,} is below the {count:,} sets of {rows.shape[1]} of {len(rows)} "
            "distinct points; raise limit, or use a mixed-integer solver"
        )
    return _RampSearch(data, points, rows, cost).run()


@dataclass(eq=False)
class _RampSearch:
    data: TrainingData
    points: Points
    rows: Array
    C: float
    w: Array | None = None
    b: float = 0.0
    known: float = np.inf
    lower: float = np.inf

    def __post_init__(self) -> None:
        free = self.points.intercept == "free"
        self.G = self.points.y[:, None] * self.rows
        self.price = np.ones(self.rows.shape[1])
        self.price[-1] = 0.0 if free else 1.0
        self.weight = self.points.weight
        # The closed-form point that derive_ramp_big_m starts from.
        start = derive_ramp_big_m(self.data, C=self.C, intercept=self.points.intercept)
        self.ceiling = start.upper_bound

    def run(self) -> RampEnumeration | None:
        """All sets, cheapest first."""
        nobody = np.zeros((1, len(self.G)), dtype=bool)
        self._descend(nobody)
        most = min(self.known, self.ceiling) / (2 * self.C)
        sets = capped_sets(self.data, self.points, self.rows, most)
        if sets is None:
            return None
        sets = np.concatenate([nobody, sets])
        rng = np.random.default_rng(0)
        self._descend(sets[rng.choice(len(sets), min(STARTS, len(sets)), replace=False)])
        solved = self._bound(sets)
        assert self.w is not None
        lower = min(self.lower, self.known, self.ceiling)
        return RampEnumeration(self.known, lower, self.w, self.b, solved)

    # --- machines ----------------------------------------------------------------------------

    def _machines(self, sets: Mask) -> tuple[Array, Array]:
        """v (B, k) and lower bounds of F (B,) for sets (B, m); the best v is remembered."""
        costs = np.where(sets, 0.0, self.C * self.weight)
        # At an optimum of F some point has u_i = 1, so |b| <= 1 + ||w|| max ||row||.
        size = float(np.linalg.norm(self.rows, axis=1).max())
        top = min(self.known, self.ceiling)
        reach = 2 + math.sqrt(2 * top) * size
        found = hinge_machines(self.G, self.price, costs, reach)
        u = found.v @ self.G.T
        loss = np.minimum(2.0, np.maximum(0.0, 1 - u)) @ self.weight
        value = 0.5 * (found.v**2) @ self.price + self.C * loss
        k = int(np.argmin(np.where(np.isfinite(value), value, np.inf)))
        if value[k] < self.known:
            w, b = self._hyperplane(found.v[k])
            exact = ramp_objective(self.data, w, b, self.C, self.points.intercept)
            if exact < self.known:
                self.known, self.w, self.b = exact, w, b
        return found.v, found.lower + 2 * self.C * (sets @ self.weight)

    def _hyperplane(self, v: Array) -> tuple[Array, float]:
        if self.points.intercept == "none":
            return v, 0.0
        w, b = v[:-1], float(v[-1])
        return w, b - float(w @ self.points.centre)

    def _descend(self, sets: Mask) -> None:
        """Cap what is beyond the cap, solve again: the objective never rises."""
        for _ in range(DESCENTS):
            before = self.known
            v, _ = self._machines(sets)
            sets = v @ self.G.T < -1
            if self.known >= before:
                break

    def _bound(self, sets: Mask) -> int:
        """Least lower bound of F over sets; those above the incumbent by their caps count as it."""
        paid = 2 * self.C * (sets @ self.weight)
        order = np.argsort(paid, kind="stable")
        solved = 0
        for start in range(0, len(order), AT_ONCE):
            some = order[start : start + AT_ONCE]
            some = some[paid[some] < self.known]
            if some.size:
                _, lower = self._machines(sets[some])
                self.lower = min(self.lower, float(lower.min()))
                solved += len(some)
        return solved
