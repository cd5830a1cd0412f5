"""Hyperplane and multipliers of a hinge problem together, by products with the points alone.

    min over (w, b)   ridge / 2 norm + sum_i s_i max(0, 1 - y_i f(x_i))

The proximal point method on the dual, each of its steps a smooth problem in (w, b) for Newton's
method with conjugate gradients: `rebuilding` says more, which starts at a known hyperplane and
stops at rough multipliers. Here both ends are wanted to the last digits. So every step is as exact
as it is worth, with the multipliers a^k before it and the width of its smooth zone

    ||slope||  <=  INNER ||(a - a^k) sqrt(width / s)||

(criterion B of Rockafellar 1976), and the width stays above NARROWEST: below it the equations of
Newton's method lose what the steps outside gain.

No matrix of many rows is factorised. Where the pattern of sparse points fills in, that makes
seconds of hours. Nothing here is a proof, and none needs it.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.hinge_duality.newton_step import newton_step
from tightmargin.solvers.hinge_duality.point_rows import PointRows
from tightmargin.solvers.hinge_duality.problem import HINGE, PricedProblem
from tightmargin.solvers.hinge_duality.rebuilding import (
    State,
    look,
    smooth_multipliers,
    step_length,
)

STEPS, INNER_STEPS = 100, 60
INNER = 0.1
NARROWER, NARROWEST = 0.3, 0.05
CLOSED = 1e-9  # of the objective: a gap that is closed
EFFORT = 200, 1e-2  # of conjugate gradients


@dataclass(frozen=True, eq=False)
class HingePoint:
    """Where the method ended.

    Attributes
    ----------
    w, b : array (d,), float
    alpha : array (n,)
        Multipliers in [0, s], balanced where the intercept is free.
    gap : float
        Between the best objective and the best dual value, of the objective, in floating point.
    steps : int
        Of Newton's method.
    stop : StopReason
        CONVERGED where the gap is closed.
    """

    w: Array
    b: float
    alpha: Array
    gap: float
    steps: int
    stop: StopReason


@dataclass(eq=False)
class _Walk:
    """The state of the smooth problems, with the best hyperplane so far."""

    state: State
    column: float
    ends: float
    steps: int = 0

    def __post_init__(self) -> None:
        self.best = self.state.w, self.state.b

    @property
    def gap(self) -> float:
        """Of the best objective."""
        if not math.isfinite(self.state.least):
            return math.inf
        return (self.state.least - self.state.bound) / max(self.state.least, 1e-300)

    def run(self) -> StopReason:
        """Take steps of the proximal point method until one of them is the last."""
        state, s = self.state, self.state.problem.prices
        before, width = s / 2, max(1.0, float(np.median(np.abs(state.r))))
        for _ in range(STEPS):
            before = self._inner(before, width)
            width = max(NARROWEST, width * NARROWER)
            if self.gap <= CLOSED:
                return StopReason.CONVERGED
            if time.perf_counter() > self.ends:
                return StopReason.TIME_LIMIT
        return StopReason.STEP_LIMIT

    def _inner(self, before: Array, width: float) -> Array:
        """Multipliers of the smooth problem about `before`."""
        state, y, s = self.state, self.state.problem.y, self.state.problem.prices
        weights = np.sqrt(width / np.where(s > 0, s, 1.0))
        for _ in range(INNER_STEPS):
            alpha, bend = smooth_multipliers(state.r, s, before, width)
            least = state.least
            slope_w, slope_b = look(state, alpha, self.column)
            if state.least < least:
                self.best = state.w, state.b
            size = math.sqrt(float(slope_w @ slope_w) + slope_b * slope_b)
            moved = float(np.linalg.norm((alpha - before) * weights))
            if size <= INNER * moved or self.gap <= CLOSED or time.perf_counter() > self.ends:
                break
            dw, db = newton_step(
                state.X, y, bend, (state.ridge, state.ridge * state.priced), self.column,
                slope_w, slope_b, EFFORT,
            )  # fmt: skip
            along = y * (state.X @ dw + self.column * db)
            t = step_length(state, dw, db, along, before, width)
            state.w, state.b, state.r = state.w + t * dw, state.b + t * db, state.r - t * along
            self.steps += 1
        return alpha


def proximal_newton(
    X: Array, y: Array, prices: Array, intercept: str, time_limit: float | None = None
) -> HingePoint:
    """Solve min 1/2 norm + sum_i s_i max(0, 1 - y_i (<w, x_i> + b)) to a gap of CLOSED.

    Parameters
    ----------
    X : array or csr_array (n, d)
    y, prices : array (n,)
        Labels, and s.
    intercept : "free", "penalised" or "none"
        Penalised by b^2 / 2.
    time_limit : float or None
        Seconds; what is the best by then is returned, as at Ctrl-C.
    """
    problem = PricedProblem(PointRows(X), y, prices, HINGE, intercept, Fraction(1))
    state = State(problem, X, np.zeros(X.shape[1]), 0.0)
    state.r = np.ones(len(y))
    ends = math.inf if time_limit is None else time.perf_counter() + time_limit
    walk = _Walk(state, 0.0 if intercept == "none" else 1.0, ends)
    try:
        with np.errstate(all="ignore"):
            stop = walk.run()
    except KeyboardInterrupt:
        stop = StopReason.INTERRUPTED
    return HingePoint(*walk.best, state.alpha, walk.gap, walk.steps, stop)
