"""A run of the decomposition scheme: steps, looks at the gap between them, and when to end.

The loss and the bound are followed on the way and recomputed before a run counts as converged. The
best of each is kept: the loss does not fall all the way, and the bound goes back where a floor is
put in or taken away.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.common.intercept_recovery import hinge_intercept
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.printing import Printed
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.rigorous_svm.decomposition.iterate import Iterate
from tightmargin.solvers.rigorous_svm.point import ROUNDING, RsvmPoint, rsvm_point

CHUNK = 50  # steps between two looks at the clock
PATIENCE = 50  # steps of two variables for each point, to make some progress in
LEAST_PATIENCE = 20_000
SHRINKS = 0.9  # times the gap counts as less
RISES = 0.05  # of the gap counts as a better bound


@dataclass(frozen=True, repr=False)
class TracePoint(Printed):
    """State after some steps.

    Attributes
    ----------
    steps : int
    objective : float
        W of (12); it never rises, except where the message says that a corner was met.
    gap : float
        Least loss so far less the greatest bound so far.
    """

    steps: int
    objective: float
    gap: float


class Run:
    """The best that the steps of an iterate have shown so far.

    Attributes
    ----------
    steps : int
    trace : list of TracePoint
    """

    def __init__(self, data: TrainingData | GramData, iterate: Iterate, tolerance: float) -> None:
        self.data, self.iterate, self.tolerance = data, iterate, tolerance
        self.norm_bound = iterate.pairs.norm_bound
        self.steps = 0
        self.trace: list[TracePoint] = []
        self.loss, self.bound = math.inf, -math.inf
        self._best_loss = (iterate.pairs.alpha.copy(), 0.0)
        self._best_bound = iterate.pairs.alpha.copy()
        self._mark, self._marked = (0.0, math.inf, 0.0), 0

    def go(self, most: int, out_of_time: Callable[[], bool]) -> StopReason:
        """Run until the gap is closed or something else ends it."""
        patience = max(LEAST_PATIENCE, PATIENCE * self.data.n) * 2 // self.iterate.q
        stuck = False
        while True:
            loss = self._look()
            if self._closed():
                return StopReason.CONVERGED
            settled = self.iterate.settle(loss, stuck)
            if self.iterate.vanished or (stuck and not settled):
                return StopReason.STALLED
            if self._waited(loss) >= patience and not self.iterate.lift():
                return StopReason.STALLED
            if self.steps >= most:
                return StopReason.STEP_LIMIT
            pause = self.steps + max(self.data.n // 4, CHUNK, self.steps // 20)
            stuck = False
            while self.steps < min(pause, most) and not stuck:
                if out_of_time():
                    self._look()
                    return StopReason.CONVERGED if self._closed() else StopReason.TIME_LIMIT
                stuck = self._some_steps(min(CHUNK, most - self.steps))

    def _some_steps(self, count: int) -> bool:
        """Whether no step is left, f and S being exact."""
        step = self.iterate.step
        for _ in range(count):
            if not step():
                self.iterate.refresh()
                if not step():
                    return True
            self.steps += 1
        return False

    def _waited(self, loss: float) -> int:
        """Steps since the gap last shrank, its bound last rose, or the floor changed."""
        floor, gap, bound = self.iterate.pairs.floor, self.loss - self.bound, self.bound
        if floor:
            gap = self.iterate.open_gap(loss)
            bound = self.iterate.smooth_bound()
        at = self._mark
        if floor != at[0] or gap <= SHRINKS * at[1] or bound >= at[2] + RISES * at[1]:
            self._mark, self._marked = (floor, gap, bound), self.steps
        return self.steps - self._marked

    def look_again(self) -> None:
        """Take in an iterate that may have been left in the middle of a step."""
        self.iterate.refresh()
        self._look()

    def _look(self) -> float:
        """Loss and bound of the iterate, kept if they are the best; the loss."""
        iterate = self.iterate
        loss, bound = iterate.loss(), iterate.bound()
        if loss < self.loss:
            self.loss = loss
            self._best_loss = (iterate.pairs.alpha.copy(), iterate.scale())
        if bound > self.bound:
            self.bound = bound
            self._best_bound = iterate.pairs.alpha.copy()
        self.trace.append(TracePoint(self.steps, -bound, max(0.0, self.loss - self.bound)))
        return loss

    def _closed(self) -> bool:
        """Whether the gap is closed, first by what was followed and then by what is recomputed."""
        rounding = ROUNDING * max(1.0, float(self._best_bound.sum()))
        if self.loss - self.bound > self.tolerance * self.loss + rounding:
            return False
        self.iterate.refresh()
        found = self.point()
        return found.gap <= self.tolerance * found.objective + rounding

    def point(self) -> RsvmPoint:
        """The best hyperplane and the best bound, recomputed."""
        data = self.data
        alpha, scale = self._best_loss
        w = scale * (data.factor.T @ (data.y * alpha))
        b = hinge_intercept(data.factor @ w, data.y, np.ones(data.n))
        return rsvm_point(data, self.norm_bound, self._best_bound, (w, b))

    def why_stalled(self) -> str:
        """The words behind STALLED."""
        if self.iterate.floored:
            return (
                "stalled: S = alpha'Q alpha vanishes, as it does where norm_bound is at or above "
                "the largest one that matters, or just below it; norm_limit gives that one, and "
                "the solution above it"
            )
        return f"stalled: after {self.steps} steps the gap shrinks no further"
