"""Multipliers for a hyperplane that came without any, in some thirty passes over the points.

The proximal point method on the dual, each of its steps a smooth convex problem in (w, b) for a
Newton method whose matrix is made of the points in their smooth zone alone (Rockafellar, Augmented
Lagrangians and applications of the proximal point algorithm in convex programming, Mathematics of
Operations Research 1, 1976; Li, Sun & Toh, A highly efficient semismooth Newton augmented
Lagrangian method for solving lasso problems, SIAM Journal on Optimization 28, 2018). With r_i = 1 -
y_i f(x_i) and the multipliers a^k before,

    a_i(r) = min(s_i, max(0, a^k_i + s_i r_i / width)),

and for the squared hinge a_i(r) = 2 s_i max(0, r_i). It starts at the fitted hyperplane and stops
as soon as what is left to the dual's account is a small part of the gap. Nothing here is a proof,
and none needs it: any multipliers are good enough for one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.hinge_duality.newton_step import newton_step
from tightmargin.solvers.hinge_duality.point_rows import PointRows
from tightmargin.solvers.hinge_duality.problem import SQUARED, PricedProblem

STEPS = 80
NARROWER = 0.2  # a width beside the one before
SETTLED = 1e-3  # of the largest slope: where a smooth problem is solved well enough to go on
FLAT = 0.2  # of the first slope along a line: where a step along it ends
LONGEST, HALVINGS = 64.0, 40
OWN_SHARE = 0.03  # of the gap that the multipliers themselves may be short of
NEAR = 0.9  # of the least objective seen: what the multipliers are worth at least
CLOSED = 1e-8  # of the objective: nothing is left to gain


@dataclass(eq=False)
class State:
    """The hyperplane, its residuals r, and the best multipliers so far."""

    problem: PricedProblem
    X: Any
    w: Array
    b: float  # the weight of the constant column
    least: float = np.inf  # objective of the best hyperplane
    bound: float = 0.0
    alpha: Array = field(init=False)
    r: Array = field(init=False)

    def __post_init__(self) -> None:
        self.alpha = np.zeros(len(self.problem.y))

    @property
    def ridge(self) -> float:
        """What half the squared norm costs."""
        return float(self.problem.ridge)

    @property
    def priced(self) -> float:
        """What b^2 costs beside ||w||^2."""
        return 1.0 if self.problem.intercept == "penalised" else 0.0


def rebuilt_multipliers(problem: PricedProblem, w: Array, b: float, objective: float) -> Array:
    """Multipliers (n,) whose dual value is near the optimum, or near enough to tell the gap.

    Parameters
    ----------
    problem : PricedProblem
        On PointRows, and not of nu.
    w, b : array (d,), float
        The fitted hyperplane.
    objective : float
        Its objective without the scale of the problem.
    """
    assert isinstance(problem.points, PointRows)
    column = problem.column if problem.intercept == "penalised" else 1.0
    start = 0.0 if problem.intercept == "none" else b / column
    # Far from its optimum a machine is worth less as a start than none at all.
    known = 1.0 if objective < float(problem.prices.sum()) else 0.0
    state = State(problem, problem.points.X, known * w, known * start)
    with np.errstate(all="ignore"):
        _walk(state, objective, 0.0 if problem.intercept == "none" else column)
    return state.alpha


def _walk(state: State, objective: float, column: float) -> None:
    problem = state.problem
    y, s, squared = problem.y, problem.prices, problem.loss == SQUARED
    state.r = 1 - y * (state.X @ state.w + column * state.b)
    before, width, first = s / 2, max(1.0, float(np.median(np.abs(state.r)))), 0.0
    for _ in range(STEPS):
        alpha, bend = smooth_multipliers(state.r, s, before, width, squared)
        slope_w, slope_b = look(state, alpha, column)
        left = objective - state.bound
        short = state.least - state.bound
        near = short <= OWN_SHARE * left and state.bound >= NEAR * state.least
        if not np.isfinite(slope_w).all() or near or min(left, short) <= CLOSED * state.least:
            return
        size = float(np.sqrt(slope_w @ slope_w + slope_b * slope_b))
        first = max(first, size)
        if size <= SETTLED * first and not squared:
            before, width = alpha, width * NARROWER
            alpha, bend = smooth_multipliers(state.r, s, before, width, squared)
            slope_w, slope_b = look(state, alpha, column)
        curvature = state.ridge, state.ridge * state.priced
        dw, db = newton_step(state.X, y, bend, curvature, column, slope_w, slope_b)
        along = y * (state.X @ dw + column * db)
        t = step_length(state, dw, db, along, before, width)
        state.w, state.b, state.r = state.w + t * dw, state.b + t * db, state.r - t * along


def smooth_multipliers(
    r: Array, s: Array, before: Array, width: float, squared: bool = False
) -> tuple[Array, Array]:
    """a_i(r) and its derivative."""
    if squared:
        return 2 * s * np.maximum(r, 0.0), 2 * s * (r > 0)
    raw = before + s / width * r
    inside = (raw > 0) & (raw < s)
    return np.clip(raw, 0.0, s), np.where(inside, s / width, 0.0)


def look(state: State, alpha: Array, column: float) -> tuple[Array, float]:
    """Slopes of the smooth problem; what hyperplane and multipliers are worth is remembered."""
    problem, ridge = state.problem, state.ridge
    y, s = problem.y, problem.prices
    sides = np.column_stack([alpha * (y > 0), alpha * (y < 0)])
    v, sums = np.asarray(state.X.T @ sides), sides.sum(axis=0)
    slope_w = ridge * state.w - (v[:, 0] - v[:, 1])
    slope_b = ridge * state.priced * state.b - column * float(sums[0] - sums[1])
    losses = np.maximum(state.r, 0.0)
    norm = float(state.w @ state.w) + state.priced * state.b**2
    paid = losses * losses if problem.loss == SQUARED else losses
    state.least = min(state.least, ridge / 2 * norm + float(s @ paid))
    shares = np.ones(2)
    if problem.intercept == "free":
        shares = np.where(sums > 0, sums.min() / np.where(sums > 0, sums, 1.0), 1.0)
    along = v @ (shares * [1.0, -1.0])
    skew = state.priced * column * float(shares[0] * sums[0] - shares[1] * sums[1])
    total = float(shares @ sums)
    balanced = alpha * np.where(y > 0, shares[0], shares[1])
    bent = float(along @ along + skew * skew) / ridge
    if problem.loss == SQUARED:
        used = s > 0
        bent += float((balanced[used] ** 2 / s[used]).sum()) / 2
    # The best multiple of them: total t - bent t^2 / 2.
    multiple = total / bent if bent > 0 else 1.0
    if problem.loss != SQUARED:
        fullest = float((balanced[s > 0] / s[s > 0]).max(initial=0.0))
        multiple = min(multiple, 1 / fullest if fullest > 0 else 1.0)
    value = total * multiple - bent * multiple**2 / 2
    if value > state.bound:
        state.bound, state.alpha = value, multiple * balanced
    return slope_w, slope_b


def step_length(
    state: State, dw: Array, db: float, along: Array, before: Array, width: float
) -> float:
    """A step along which the smooth problem is nearly least, by bisection of its slope."""
    s, squared = state.problem.prices, state.problem.loss == SQUARED
    ridge, priced = state.ridge, state.priced
    fixed = ridge * (float(state.w @ dw) + priced * state.b * db)
    rising = ridge * (float(dw @ dw) + priced * db * db)

    def slope(t: float) -> float:
        alpha, _ = smooth_multipliers(state.r - t * along, s, before, width, squared)
        return fixed + t * rising - float(alpha @ along)

    steepest = abs(slope(0.0))
    low, high = 0.0, 1.0
    while slope(high) < -FLAT * steepest and high < LONGEST:
        low, high = high, 2 * high
    t = high
    for _ in range(HALVINGS):
        found = slope(t)
        if abs(found) <= FLAT * steepest:
            break
        low, high = (t, high) if found < 0 else (low, t)
        t = (low + high) / 2
    return t
