"""The rounds of bound tightening: which minimisations are done, and what is made of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from tightmargin.cuts.bound_tightening.conflicts import separated, with_conflicts
from tightmargin.cuts.bound_tightening.convex_sets import TighteningSet, tightening_set
from tightmargin.cuts.bound_tightening.deductions import (
    TINY,
    below_count,
    forced_by_conflicts,
    open_conflicts,
    within_ball,
)
from tightmargin.cuts.bound_tightening.result import Tightened, TighteningRound
from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData, with_points
from tightmargin.formulations.zero_one.conflicts import Conflicts, pair_conflicts
from tightmargin.formulations.zero_one.loss import EPS, margins, zero_one_objective
from tightmargin.formulations.zero_one.slack_bounds import SlackBounds, with_rows
from tightmargin.solvers.engines.running import StopReason, WorkCount

QUICK_ROUNDS = 40
INTERCEPT_PROGRESS = 0.05  # of the width of its interval
QUICK_PROGRESS = 0.02  # of the mean upper bound: a quick round that gains less is the last
BLOCKS, BLOCK = 5, 10  # sets a round, each from the bounds of the moment, and points of a block
OUTWARD = 1e-9  # relative to 1 + |bound|
WHOLE = 1e-6  # by which a sum of z may miss the whole number it is rounded up to
CONFLICTS_PER_POINT = 8
SEPARATIONS = 8  # times a round in which conflicts are looked for


class _OutOfTimeError(Exception):
    """Ends the rounds from within; what is proven stays."""


class _OutOfWorkError(Exception):
    """The same, where the work was counted."""


@dataclass(eq=False)
class Work:
    """Bounds of the moment, of the points moved by `shift`."""

    data: TrainingData
    penalty: float
    intercept: str
    incumbent: tuple[Array, float]
    start: SlackBounds
    find_conflicts: bool
    began: float
    time_limit: float | None
    progress: Callable[[str], None]
    trace: list[TighteningRound] = field(default_factory=list)
    bound: float = 0.0
    count: float = 0
    work_limit: int | None = None
    done: WorkCount = field(default_factory=WorkCount)

    def __post_init__(self) -> None:
        w, b = self.incumbent
        self.known = zero_one_objective(
            self.data, w, b, penalty=self.penalty, intercept=self.intercept
        )
        self.open = margins(self.data, w, b) < 1
        bounds = self.start
        radius = math.sqrt(bounds.norm2)
        self.original = low, high = bounds.intercept
        moved = shifted(self.data, self.intercept, w, b, radius, max(abs(low), abs(high)))
        self.shift, self.moved, self.rows, self.blur = (
            moved.shift, moved.data, moved.rows, moved.blur
        )  # fmt: skip
        reach = radius * float(np.linalg.norm(self.shift))
        self.bounds = replace(
            bounds,
            lower=bounds.lower.copy(),
            upper=bounds.upper.copy(),
            intercept=(low - reach, high + reach),
        )

    def run(self, relaxation: str, rounds: int) -> Tightened:
        """All rounds, up to a limit or Ctrl-C."""
        status = StopReason.FINISHED
        try:
            if self.find_conflicts:
                self.bounds = with_conflicts(
                    self.bounds, self.data, penalty=self.penalty, intercept=self.intercept
                )
            if relaxation != "sdp":
                self._quick_rounds()
            if relaxation != "qp":
                for _ in range(rounds):
                    if not (self.trace and self._settled()):
                        self._round("sdp")
            self._whole("qp" if relaxation == "qp" else "sdp")
        except _OutOfTimeError:
            status = StopReason.TIME_LIMIT
        except _OutOfWorkError:
            status = StopReason.STEP_LIMIT
        except KeyboardInterrupt:
            status = StopReason.INTERRUPTED
        return Tightened(
            self._result(), self.bound, self.count, self.incumbent, self.known,
            tuple(self.trace), status, self._seconds(),
        )  # fmt: skip

    def _result(self) -> SlackBounds:
        failed = sum(entry.failed for entry in self.trace)
        solves = sum(entry.solves for entry in self.trace)
        proof = (
            f"{self.start.proof}; tightened by {solves} minimisations over relaxations below "
            f"{self.start.cutoff:.9g} ({failed} of them without a result), each the weak-duality "
            "value of its multipliers, rounded outwards"
        )
        return replace(self.bounds, intercept=self.original, proof=proof)

    def _seconds(self) -> float:
        return time.perf_counter() - self.began

    def _left(self) -> float | None:
        if self.work_limit is not None and self.done.done >= self.work_limit:
            raise _OutOfWorkError
        if self.time_limit is None:
            return None
        left = self.time_limit - self._seconds()
        if left <= 0:
            raise _OutOfTimeError
        return left

    def _quick_rounds(self) -> None:
        """Upper bounds until they gain little, then both sides once."""
        if self.intercept == "free":
            self._bound_intercept()
        for _ in range(QUICK_ROUNDS):
            before = float(self.bounds.upper.mean())
            self._round("qp", thorough=False)
            gain = before - float(self.bounds.upper.mean())
            if gain < QUICK_PROGRESS * abs(before) or self._settled():
                break
        self._round("qp")

    def _bound_intercept(self) -> None:
        """The ends of b alone, with what they say of all points, while that gains much."""
        width, solves, failed = math.inf, 0, 0
        for _ in range(QUICK_ROUNDS):
            self._deduce()
            region = self._region("qp")
            self._ends(region)
            solves += region.minimum.solves
            failed += region.minimum.failed
            before, width = width, self.bounds.intercept[1] - self.bounds.intercept[0]
            if width > before * (1 - INTERCEPT_PROGRESS):
                break
        self._note("qp", solves, failed, finished=True)

    def _settled(self) -> bool:
        """Whether there is nothing left to find out."""
        undecided = ~(self.bounds.kept | self.bounds.violated)
        return not undecided.any() or self.bound >= self.known * (1 - OUTWARD)

    def _round(self, relaxation: str, *, thorough: bool = True) -> None:
        """One bound a side and point; lower ones only where they may decide, if not thorough."""
        solves = failed = 0
        finished = False
        try:
            blocks = min(BLOCKS, max(1, self.data.n // BLOCK))
            for number, points in enumerate(np.array_split(np.arange(self.data.n), blocks)):
                self._deduce()
                if number == 0:
                    self._whole(relaxation)
                region = self._region(relaxation)
                try:
                    self._ends(region)
                    for i in points.tolist():
                        self._left()
                        self._point(region, i, thorough or bool(self.open[i]))
                finally:
                    solves += region.minimum.solves
                    failed += region.minimum.failed
            finished = True
        finally:
            self._note(relaxation, solves, failed, finished)

    def _note(self, relaxation: str, solves: int, failed: int, finished: bool) -> None:
        bounds = self.bounds
        entry = TighteningRound(
            relaxation, solves, failed,
            float(bounds.upper.mean()), float((bounds.upper - bounds.lower).mean()),
            int(bounds.kept.sum()), int(bounds.violated.sum()),
            self.count, self.bound, self._seconds(),
        )  # fmt: skip
        self.trace.append(entry)
        if finished:
            self.progress(str(entry))

    def _region(self, relaxation: str) -> TighteningSet:
        useful = open_conflicts(self.bounds)[: CONFLICTS_PER_POINT * self.data.n]
        return tightening_set(
            relaxation,
            self.moved,
            replace(self.bounds, conflicts=useful),
            penalty=self.penalty,
            intercept=self.intercept,
            count=self.count,
            seconds=self._left(),
            work=self.done,
        )

    def _deduce(self) -> None:
        """What follows from the bounds of the moment without a minimisation."""
        bounds = self.bounds
        if self.find_conflicts:
            found = pair_conflicts(self.data, cutoff=bounds.norm2, intercept=self.intercept)
            bounds = replace(bounds, conflicts=tuple(dict.fromkeys((*bounds.conflicts, *found))))
        bounds = forced_by_conflicts(bounds)
        self.count = max(self.count, self._rounded(self.data.mass(bounds.violated)))
        bounds = below_count(bounds, self.count, self.penalty)
        self.bounds = within_ball(bounds, self.rows, self.intercept, self.blur)

    def _whole(self, relaxation: str) -> None:
        """Least objective and number of violations, with conflicts that cut off its z."""
        for _ in range(SEPARATIONS):
            region = self._region(relaxation)
            bound = region.least(region.objective) + region.offset
            self.bound = max(self.bound, bound - OUTWARD * abs(bound))
            z = region.violations(self.bounds)
            cost = np.zeros(len(region.objective))
            at = region.z >= 0
            cost[region.z[at]] = self.data.multiplicity[at]
            least = region.least(cost) + self.data.mass(self.bounds.violated)
            if math.isfinite(least):
                self.count = max(self.count, self._rounded(least))
            found = self._cutting_off(z) if self.find_conflicts and z is not None else ()
            self.bounds = with_rows(self.bounds, found, self.data.prices(self.penalty))
            self._deduce()
            if not found:
                break

    def _rounded(self, least: float) -> float:
        """What violated points weigh at least: up to a whole number if all weights are such."""
        if (self.data.multiplicity % 1 == 0).all():
            return math.ceil(least - WHOLE)
        return least - _out(least)

    def _cutting_off(self, z: Array) -> Conflicts:
        """Conflicts whose sum of z is below 1."""
        # norm2 already counts what is known to be violated: no row and no point may count again.
        plain = replace(
            self.bounds,
            cutoff=self.bounds.norm2,
            lower=np.minimum(self.bounds.lower, 0.0),
            conflicts=(),
        )
        found = separated(plain, self.data, z, penalty=self.penalty, intercept=self.intercept)
        return tuple(conflict.points for conflict in found)

    def _ends(self, region: TighteningSet) -> None:
        """The ends of b, of the moved points and of the points as given."""
        if self.intercept == "none":
            return
        here = self._interval(region, 0.0 * self.shift, self.bounds.intercept)
        self.bounds = replace(self.bounds, intercept=here)
        if self.intercept == "free":
            self.original = self._interval(region, -self.shift, self.original)
        else:
            self.original = here

    def _interval(
        self, region: TighteningSet, slope: Array, known: tuple[float, float]
    ) -> tuple[float, float]:
        """Ends of b + <slope, w>."""
        cost = np.zeros(len(region.objective))
        cost[region.weight] = np.append(slope, 1.0)
        low, high = region.least(cost), -region.least(-cost)
        return max(known[0], low - _out(low)), min(known[1], high + _out(high))

    def _point(self, region: TighteningSet, i: int, both: bool) -> None:
        """Upper and lower bound of one v_i, and what they decide."""
        bounds = self.bounds
        lower, upper = float(bounds.lower[i]), float(bounds.upper[i])
        column = int(region.z[i])
        cost = np.zeros(len(region.objective))
        cost[region.weight] = self.rows[i]
        most = 1 - region.least(cost, column, 1.0)
        most += _out(most) + self.blur[i]
        if column >= 0 and most <= 0:
            upper = 0.0
        else:
            upper = min(upper, most)
            if both:
                least = 1 + region.least(-cost, column, 0.0)
                least -= _out(least) + self.blur[i]
                lower = max(lower, TINY if column >= 0 and least > 0 else least)
        bounds.lower[i], bounds.upper[i] = lower, upper


def _out(value: float) -> float:
    return OUTWARD * (1 + abs(value)) if math.isfinite(value) else 0.0


@dataclass(frozen=True, eq=False)
class Shifted:
    """Points x_i - c; the hyperplane (w, b) of the points as given is (w, b + <w, c>) here.

    shift (d,): c, 0 unless the intercept is free.
    rows (n, k): y_i (x_i - c, 1), or y_i x_i without an intercept.
    blur (n,): what the rounding of x_i - c may do to a violation.
    """

    shift: Array
    data: TrainingData
    rows: Array
    blur: Array


def shifted(
    data: TrainingData, intercept: str, w: Array, b: float, radius: float, largest_b: float
) -> Shifted:
    """The points moved by the point of a hyperplane that is nearest to their mean.

    radius, largest_b: bounds of ||w|| and |b| at the hyperplanes that matter, for the rounding.
    """
    shift = _foot(data, w, b) if intercept == "free" else np.zeros(data.d)
    moved = with_points(data, data.X - shift)
    size = np.abs(data.X).max(axis=1) + np.abs(shift).max(initial=0.0)
    blur = 16 * EPS * data.d * radius * size + 4 * EPS * largest_b
    return Shifted(shift, moved, data.y[:, None] * augmented(moved, intercept), blur)


def _foot(data: TrainingData, w: Array, b: float) -> Array:
    mean = data.X.mean(axis=0)
    length2 = float(w @ w)
    return mean - (float(w @ mean) + b) / length2 * w if length2 > 0 else mean
