"""The rows of a path of the rigorous SVM: a method by size, others where it leaves a gap open."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.solvers.rigorous_svm.norm_limit.at_limit import rsvm_at_limit
from tightmargin.solvers.rigorous_svm.norm_limit.norm_limit import NormLimit, norm_limit
from tightmargin.solvers.rigorous_svm.path.libsvm_fits import FLAT
from tightmargin.solvers.rigorous_svm.path.path_result import (
    AT_BOUND,
    LIMIT,
    TRIVIAL,
    RsvmRow,
    rsvm_row,
)
from tightmargin.solvers.rigorous_svm.path.scaled_problem import Scaled, even_multipliers, scaled
from tightmargin.solvers.rigorous_svm.path.single_bound import (
    PointFound,
    Task,
    better,
    by_decomposition,
    by_interior,
    by_segments,
    by_socp,
    certified,
)
from tightmargin.solvers.rigorous_svm.point import GAP, NOTHING, RsvmPoint, rsvm_point

INTERIOR, SEGMENTS, SOCP, DECOMPOSITION = "interior", "segments", "socp", "decomposition"
PATIENT = "patient segments"

FEATURES, SHARE = 100, 0.05  # up to this, or this share of n, the interior point is the fastest
WORK = {INTERIOR: 1e9, SOCP: 3e8}  # n d^2 up to which they help out where another method failed
FEW = 8  # fits that segments are given where the interior point is quick
ROUNDING = 2e-15  # of each term of a sum
SMALL = 1e-3  # H, for points in the unit ball: margins differ from 1 by far more than rounding
INTERRUPTED, TIME_LIMIT, OPEN = "interrupted", "time limit", "the gap is not closed"


@dataclass(eq=False)
class _Best:
    """The point of least gap so far, and what led to it."""

    point: RsvmPoint
    method: str = TRIVIAL
    steps: int = 0
    said: str = ""

    @property
    def closed(self) -> bool:
        """Whether the point is proven."""
        return self.point.settled

    @property
    def flat(self) -> bool:
        """Whether gamma is as good as 0, or the loss: then H may be above the limit."""
        price = self.point.norm_bound * self.point.length
        return self.point.relative_gap is None or price <= FLAT * float(self.point.alpha.sum())

    def take(self, attempt: PointFound, method: str) -> None:
        """Keep the attempt's point if it is better, or the first that is closed."""
        self.steps += attempt.steps
        self.said = attempt.said or self.said
        if attempt.point is None:
            return
        first = self.method == TRIVIAL and certified(attempt.point)
        if first or attempt.point.gap <= self.point.gap:
            self.point, self.method = attempt.point, method


@dataclass(eq=False)
class RsvmRows:
    """What the rows of one problem share.

    Attributes
    ----------
    data : TrainingData or GramData
    method : str
        One of METHODS.
    time_limit : float or None
        Seconds for each row.
    limit : NormLimit or None
        Of the data; found when a row needs it.
    """

    data: TrainingData | GramData
    method: str
    time_limit: float | None
    limit: NormLimit | None = None
    problem: Scaled = field(init=False)

    def __post_init__(self) -> None:
        self.problem = scaled(self.data)

    def row(self, norm_bound: float, start: Array | None, keep: bool = False) -> RsvmRow:
        """Solve for one H; `keep` says that Ctrl-C ends in the best point so far."""
        began = time.perf_counter()
        deadline = None if self.time_limit is None else began + self.time_limit
        task = Task(self.data, self.problem, norm_bound, deadline)
        even, nothing = even_multipliers(self.data.y), np.zeros(self.data.d)
        best = _Best(rsvm_point(self.data, norm_bound, even, (nothing, 0.0)))
        try:
            stop = self._solve(task, start, best)
        except KeyboardInterrupt:
            if not keep:
                raise
            stop = INTERRUPTED
        return rsvm_row(
            self.data,
            best.point,
            method=best.method,
            steps=best.steps,
            seconds=time.perf_counter() - began,
            stop=stop,
        )

    def _solve(self, task: Task, start: Array | None, best: _Best) -> str:
        """Improve the best point until it is closed; returns what there is to say."""
        said = self._at_once(task, best)
        if said is not None:
            return said
        for name in self._order():
            if task.is_over():
                return f"{TIME_LIMIT}: {OPEN}"
            if name == LIMIT:
                reached = self._is_reached(task, best)
            else:
                attempt = self._attempt(name, task, start, best)
                best.take(attempt, SEGMENTS if name == PATIENT else name)
                if attempt.said.startswith(INTERRUPTED):
                    raise KeyboardInterrupt
                reached = (attempt.settled or best.flat) and self._is_reached(task, best)
            if reached:
                return self._said(task)
            if best.closed:
                return ""
            if best.point.gap <= self._rounding(best.point):
                wide = best.point.gap > FLAT * best.point.objective
                if wide and self._is_reached(task, best):  # in E0 rounding has no H
                    return self._said(task)
                return f"{OPEN}: it is that of rounding at so large an H"
        return f"{OPEN}: {best.said}" if best.said else OPEN

    def _at_once(self, task: Task, best: _Best) -> str | None:
        """What there is to say where even multipliers or the known limit close the gap."""
        point = best.point
        nothing = NOTHING * self.problem.reach * self.data.n
        if best.closed and point.relative_gap is not None and point.length <= nothing:
            best.point = replace(point, length=0.0)
            return "gamma = 0: the class means coincide, and w = 0"
        if self.limit is not None and self._is_reached(task, best):
            return self._said(task)
        if task.H < SMALL and point.gap > GAP * point.norm_bound * point.length:
            self._direct(task, best)
        if best.closed and best.flat and self._is_reached(task, best):
            return self._said(task)
        return "" if best.closed else None

    def _direct(self, task: Task, best: _Best) -> None:
        """Multipliers of a larger H where H is so small that the loss hides the direction.

        They are the same at all H up to the one at which a multiplier of the smaller class first
        leaves its cap (see rsvm_maps); gamma and C, which are those of the direction, need them.
        """
        larger = replace(task, norm_bound=SMALL / self.problem.reach)
        attempt = self._attempt(self._order()[0], larger, None, best)
        if attempt.point is None or not certified(attempt.point):
            return
        alpha = attempt.point.alpha
        if float(alpha.sum()) >= 2 * self.problem.smaller * (1 - AT_BOUND):
            point = rsvm_point(self.data, task.norm_bound, alpha)
            best.take(replace(attempt, point=point), self._order()[0])

    def _order(self) -> list[str]:
        """Methods in turn: the one asked for, then those that help out, H_lim between them."""
        few = self.data.d <= max(FEATURES, SHARE * self.data.n)
        first = self.method if self.method != "auto" else (INTERIOR if few else SEGMENTS)
        second = [name for name in (INTERIOR, SEGMENTS) if name != first]
        order = [first, *second, LIMIT, PATIENT, DECOMPOSITION, SOCP]
        if first == DECOMPOSITION:  # above the limit it needs very long to notice
            order = [LIMIT, *order]
        size = self.data.n * self.data.d**2
        return [
            name
            for k, name in enumerate(order)
            if name not in order[:k] and (name == first or size <= WORK.get(name, np.inf))
        ]

    def _attempt(self, name: str, task: Task, start: Array | None, best: _Best) -> PointFound:
        if name == INTERIOR:
            return by_interior(task)
        if name == SOCP:
            return by_socp(task)
        if name == DECOMPOSITION:
            known = best.method != TRIVIAL and best.point.alpha.any()
            return by_decomposition(task, best.point.alpha if known else start)
        if name == SEGMENTS and self.method == "auto":
            task = self._while_it_pays(task)
        return by_segments(task, start, patient=name == PATIENT)

    def _while_it_pays(self, task: Task) -> Task:
        """The task with few fits where the interior point is quick.

        Near the limit fits of libsvm in few features may take a hundred times as long.
        """
        few = self.data.n * self.data.d**2 <= WORK[INTERIOR]
        return replace(task, fits=FEW) if few else task

    def _rounding(self, point: RsvmPoint) -> float:
        """About what rounding takes off a bound, and that of b adds to the loss.

        No method can close a gap of that size.
        """
        H, mass = point.norm_bound, float(point.alpha.sum())
        far = float(np.finfo(float).eps) * self.data.n * float(np.linalg.norm(self.problem.centre))
        return ROUNDING * math.sqrt(self.data.n) * mass * (1 + H * self.problem.reach) + H * far

    def _is_reached(self, task: Task, best: _Best) -> bool:
        """Whether H is at or above the limit; the point is then that of the limit, if proven."""
        if self.limit is None and not self._find_limit(task, best):
            return False
        assert self.limit is not None
        if self.limit.place(task.norm_bound) not in ("at", "above"):
            return False
        point = rsvm_at_limit(self.data, task.norm_bound, self.limit)
        if point.settled or not best.closed:
            best.point, best.method = better(point, best.point), LIMIT
        return best.closed

    def _find_limit(self, task: Task, best: _Best) -> bool:
        """Find H_lim; False where the time is up first, or the linear program fails."""
        try:
            found = norm_limit(self.data, time_limit=task.seconds_left)
        except RuntimeError as error:  # the row says so where it stays open
            best.said = str(error)
            return False
        if found.place(task.norm_bound) == "unknown":
            return False
        self.limit = found
        return True

    def _said(self, task: Task) -> str:
        assert self.limit is not None
        place = self.limit.place(task.norm_bound)
        word = "" if math.isfinite(self.limit.upper) else ", which is computed and not proven"
        return f"norm_bound is {place} the limit {self.limit.value:.10g}{word}: gamma = 0"
