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
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.engines.running import StopReason
from tightmargin.solvers.hinge.problem import HINGE, SQUARED, PointRows, PricedProblem

# --- One Newton step of a smooth hinge problem, by whichever of its three matrices is smallest ---
# With J the points that bend, H = ridge I + X_J' D X_J in w, and one more row for the intercept,
# which is eliminated first: a free one has no ridge of its own. H is factorised where there are
# few features, ridge D^-1 + X_J X_J' where there are few such points (Woodbury), and conjugate
# gradients do where both are many.


Effort = tuple[int, float]

LARGEST = 1500  # rows of a matrix that is factorised
ROUGH = 30, 1e-1  # of conjugate gradients
FAINT = 1e-10  # of the points' curvature: what a direction without any is given


def newton_step(
    X: Any,
    y: Array,
    bend: Array,
    curvature: tuple[float, float],
    column: float,
    slope_w: Array,
    slope_b: float,
    effort: Effort = ROUGH,
) -> tuple[Array, float]:
    """-H^-1 slope.

    X (n, d).
    y, bend (n,): labels, whose squares are 1, and the second derivatives D of the losses.
    curvature (float, float): of the norm, in w and in the weight of the constant column.
    column: its entry; 0 without an intercept.
    slope_w, slope_b (d,).
    effort (int, float): of conjugate gradients: how many at most, and how small their residual.
    """
    chosen = np.flatnonzero(bend)
    rows, D = X[chosen], bend[chosen]
    if not column:
        (dw,) = _solved(rows, D, curvature[0], [-slope_w], effort)
        return dw, 0.0
    shared = column * np.asarray(rows.T @ D)
    own = curvature[1] + column**2 * float(D.sum())
    if own <= 0:  # no point bends, and b is free: any step downhill
        own = FAINT * (1.0 + abs(slope_b))
    if min(rows.shape) > LARGEST:
        return _by_conjugate_gradients(rows, D, curvature[0], shared, own, slope_w, slope_b, effort)
    first, second = _solved(rows, D, curvature[0], [slope_w, shared], effort)
    left = max(own - float(shared @ second), FAINT * own)
    db = -(slope_b - float(shared @ first)) / left
    return -first - db * second, db


def _solved(rows: Any, D: Array, ridge: float, sides: list[Array], effort: Effort) -> list[Array]:
    """(ridge I + rows' D rows)^-1 times each side."""
    count, d = rows.shape
    if not count:
        return [side / ridge for side in sides]
    if d <= min(count, LARGEST) or d <= 64:
        weighted = rows.multiply(D[:, None]).tocsr() if sp.issparse(rows) else rows * D[:, None]
        matrix = _dense(rows.T @ weighted)
        matrix[np.diag_indices(d)] += ridge
        return _factorised(matrix, sides)
    if count <= LARGEST:
        matrix = _dense(rows @ rows.T)
        matrix[np.diag_indices(count)] += ridge / D
        inner = _factorised(matrix, [np.asarray(rows @ side) for side in sides])
        return [
            (side - np.asarray(rows.T @ part)) / ridge
            for side, part in zip(sides, inner, strict=True)
        ]
    nothing = np.zeros(d)
    return [
        _by_conjugate_gradients(rows, D, ridge, nothing, 1.0, -side, 0.0, effort)[0]
        for side in sides
    ]


def _by_conjugate_gradients(
    rows: Any,
    D: Array,
    ridge: float,
    shared: Array,
    own: float,
    slope_w: Array,
    slope_b: float,
    effort: Effort,
) -> tuple[Array, float]:
    """About -H^-1 slope, the intercept among the unknowns: an inexact step goes downhill too."""

    def product(v: Array) -> Array:
        w = v[:-1]
        first = ridge * w + np.asarray(rows.T @ (D * np.asarray(rows @ w))) + shared * v[-1]
        return np.append(first, float(shared @ w) + own * v[-1])

    size = len(slope_w) + 1
    operator = LinearOperator((size, size), matvec=product, dtype=np.float64)
    step, _ = cg(operator, -np.append(slope_w, slope_b), rtol=effort[1], maxiter=effort[0])
    return step[:-1], float(step[-1])


def _factorised(matrix: Array, sides: list[Array]) -> list[Array]:
    """Solutions by Cholesky, the diagonal scaled to 1: features come in all units."""
    scale = 1 / np.sqrt(np.diag(matrix))
    scaled = matrix * scale[:, None] * scale
    faint = 0.0
    for _ in range(8):
        try:
            factor = cho_factor(scaled + faint * np.eye(len(scale)), check_finite=False)
        except LinAlgError:
            faint = max(1e-14, 100 * faint)
            continue
        return [scale * cho_solve(factor, scale * side, check_finite=False) for side in sides]
    return [scale * scale * side for side in sides]


def _dense(matrix: Any) -> Array:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


# --- Multipliers for a hyperplane that came without any, in some thirty passes over the points ---
# The proximal point method on the dual, each of its steps a smooth convex problem in (w, b) for a
# Newton method whose matrix is made of the points in their smooth zone alone (Rockafellar,
# Augmented Lagrangians and applications of the proximal point algorithm in convex programming,
# Mathematics of Operations Research 1, 1976; Li, Sun & Toh, A highly efficient semismooth Newton
# augmented Lagrangian method for solving lasso problems, SIAM Journal on Optimization 28, 2018).
# With r_i = 1 - y_i f(x_i) and the multipliers a^k before,
#     a_i(r) = min(s_i, max(0, a^k_i + s_i r_i / width)),
# and for the squared hinge a_i(r) = 2 s_i max(0, r_i). It starts at the fitted hyperplane and
# stops as soon as what is left to the dual's account is a small part of the gap. Nothing here is a
# proof, and none needs it: any multipliers are good enough for one.


REBUILDING_STEPS = 80
NARROWER_WIDTH = 0.2  # a width beside the one before
SETTLED = 1e-3  # of the largest slope: where a smooth problem is solved well enough to go on
FLAT = 0.2  # of the first slope along a line: where a step along it ends
LONGEST, HALVINGS = 64.0, 40
OWN_SHARE = 0.03  # of the gap that the multipliers themselves may be short of
NEAR = 0.9  # of the least objective seen: what the multipliers are worth at least
REBUILT = 1e-8  # of the objective: nothing is left to gain


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

    problem: on PointRows, and not of nu.
    w, b (d,): the fitted hyperplane.
    objective: its objective without the scale of the problem.
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
    for _ in range(REBUILDING_STEPS):
        alpha, bend = smooth_multipliers(state.r, s, before, width, squared)
        slope_w, slope_b = look(state, alpha, column)
        left = objective - state.bound
        short = state.least - state.bound
        near = short <= OWN_SHARE * left and state.bound >= NEAR * state.least
        if not np.isfinite(slope_w).all() or near or min(left, short) <= REBUILT * state.least:
            return
        size = float(np.sqrt(slope_w @ slope_w + slope_b * slope_b))
        first = max(first, size)
        if size <= SETTLED * first and not squared:
            before, width = alpha, width * NARROWER_WIDTH
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


OUTER_STEPS, INNER_STEPS = 100, 60
INNER = 0.1
NARROWER, NARROWEST = 0.3, 0.05
CLOSED = 1e-9  # of the objective: a gap that is closed
EFFORT = 200, 1e-2  # of conjugate gradients


@dataclass(frozen=True, eq=False)
class HingePoint:
    """Where the method ended.

    w, b (d,).
    alpha (n,): multipliers in [0, s], balanced where the intercept is free.
    gap: between the best objective and the best dual value, of the objective, in floating point.
    steps: of Newton's method.
    stop: CONVERGED where the gap is closed.
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
        for _ in range(OUTER_STEPS):
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

    X (n, d).
    y, prices (n,): labels, and s.
    intercept: penalised by b^2 / 2.
    time_limit: seconds; what is the best by then is returned, as at Ctrl-C.
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
