"""The rigorous SVM at one norm bound H, or at many: whatever is fastest, every value proven.

Bi & Vapnik 2003, (3)-(5) and (12). E falls and is convex in H, with the slope -sqrt(S) = -gamma H;
C = 1 / gamma rises with H, and so the partition of the multipliers at one H is a good guess at the
next. From the largest H that matters on (rigorous_svm/norm_limit.py) gamma is 0 and E
does not change.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.common.margin_levels import hinge_intercept_interval
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.data.training_data import GramData, TrainingData, reads_dense_points
from tightmargin.formulations.parameters import one_of, positive
from tightmargin.formulations.rigorous_svm.rsvm import rsvm_dual
from tightmargin.number_words import number_text
from tightmargin.printing import Drawn
from tightmargin.solvers.engines.running import telling
from tightmargin.solvers.errors import RefusedError
from tightmargin.solvers.kernel.statement import FeasiblePoint, LowerBound
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.rigorous_svm.decomposition import decomposition
from tightmargin.solvers.rigorous_svm.norm_limit import NormLimit, norm_limit, rsvm_at_limit
from tightmargin.solvers.rigorous_svm.point import GAP, NOTHING, RsvmPoint, rsvm_point
from tightmargin.solvers.rigorous_svm.segments import (
    CAPPED,
    FITS,
    FLAT,
    FREE,
    ZERO,
    Labels,
    Scaled,
    by_fits,
    even_multipliers,
    follow,
    labels_of,
    scaled,
)
from tightmargin.solvers.searches import CatalogueModel, PathResult, Proven
from tightmargin.solvers.solve import solve

# --- What a path of the rigorous SVM is made of: one row for each norm bound H -------------------


METHODS = ("auto", "interior", "segments", "socp", "decomposition")
TRIVIAL, LIMIT = "trivial", "limit"  # methods that rows may name besides
AT_BOUND = 1e-9  # of the box [0, 1]: a multiplier this near its end counts as there


@dataclass(frozen=True, eq=False, repr=False)
class RsvmRow(Proven):
    """The rigorous SVM at one norm bound.

    point: hyperplane, multipliers, value and proven bound.
    method: what found it: "interior", "segments", "socp" or "decomposition"; "trivial" where equal
        multipliers in each class are optimal, "limit" where H is at or above the largest that
        matters.
    steps: fits, partitions or pairs the method went through.
    stop: what there is to say about the end: why gamma is 0, or the gap open; else an empty string.
    b_interval (float, float): all intercepts of least loss for this w.
    errors: training points on the wrong side or on the hyperplane.
    about: the model of the row.
    """

    point: RsvmPoint
    method: str
    steps: int
    seconds: float
    stop: str
    b_interval: tuple[float, float]
    errors: int
    about: CatalogueModel | None = field(default=None, repr=False)

    def _title(self) -> str:
        return f"RsvmRow: norm_bound {number_text(self.norm_bound)}"

    @property
    def norm_bound(self) -> float:
        """H."""
        return self.point.norm_bound

    @property
    def objective(self) -> float:  # type: ignore[override]
        """E at the point."""
        return self.point.objective

    @property
    def attained(self) -> FeasiblePoint:  # type: ignore[override]
        """Proof of the objective."""
        return self.point.attained

    @property
    def below(self) -> LowerBound | None:  # type: ignore[override]
        """Proof of the bound, by the multipliers of the point."""
        return self.point.below

    @property
    def allowed(self) -> float:
        """That of the point."""
        return self.point.allowed

    @property
    def zero(self) -> int:
        """How many multipliers are at most AT_BOUND."""
        return int((self.point.alpha <= AT_BOUND).sum())

    @property
    def at_cap(self) -> int:
        """How many multipliers are at least 1 - AT_BOUND."""
        return int((self.point.alpha >= 1 - AT_BOUND).sum())

    @property
    def free(self) -> int:
        """How many multipliers lie between."""
        return len(self.point.alpha) - self.zero - self.at_cap

    @property
    def support_vectors(self) -> int:
        """How many multipliers are above AT_BOUND."""
        return len(self.point.alpha) - self.zero


def rsvm_row(
    data: TrainingData | GramData,
    point: RsvmPoint,
    *,
    method: str,
    steps: int,
    seconds: float,
    stop: str = "",
) -> RsvmRow:
    """Row of a point, with what is counted from the data."""
    scores = data.factor @ point.w
    return RsvmRow(
        point=point,
        method=method,
        steps=steps,
        seconds=seconds,
        stop=stop,
        b_interval=hinge_intercept_interval(scores, data.y, np.ones(data.n)),
        errors=int((data.y * (scores + point.b) <= 0).sum()),
        about=CatalogueModel("rsvm", data, {"norm_bound": point.norm_bound}),
    )


@dataclass(frozen=True, eq=False, repr=False)
class RsvmPath(PathResult[RsvmRow], Drawn):
    """Rows by rising H.

    rows, tuple of RsvmRow.
    method: what was asked for, one of METHODS.
    limit: of the data, where it was given or had to be computed.
    not_reached: norm bounds that Ctrl-C came before; empty else.
    """

    rows: tuple[RsvmRow, ...]
    method: str
    data: TrainingData | GramData
    limit: NormLimit | None
    not_reached: tuple[float, ...]

    parameter = "norm_bound"


# --- An interior-point method for the rigorous SVM whose linear systems have one row per feature
# For many points in few dimensions: an iteration costs n d^2. The optimality conditions of (3)-(5)
# on points H z_i, where ||v|| <= 1, are followed with products equal to mu -> 0:
#     g v = sum_i a_i y_i H z_i     y'a = 0     a + s = 1
#     xi - r = 1 - y_i (<v, H z_i> + b)         t = (1 - ||v||^2) / 2
#     a r = mu     s xi = mu     g t = mu                        (all of them but v and b positive)
# Newton steps by Mehrotra's predictor and corrector (SIAM J. Optimization 2, 1992). The point is
# an approximation; its partition into zero, free and at-cap multipliers is what it is for.


STEPS = 80
TO_BOUNDARY = 0.995
CLOSED = 1e-12  # of sum alpha: complementarity at which the point is as good as it gets


@dataclass(frozen=True, eq=False)
class InteriorPoint:
    """An iterate; alpha and loss multipliers on the scale [0, 1], w on that of the points.

    v (d,): w / H.
    alpha, excess (n,): a, and r: how far a margin is above 1.
    spare, xi (n,): s = 1 - a, and the loss.
    multiplier, slack: g, which is gamma H^2, and t.
    """

    v: Array
    b: float
    alpha: Array
    excess: Array
    spare: Array
    xi: Array
    multiplier: float
    slack: float
    steps: int = 0

    @property
    def complementarity(self) -> float:
        """Sum of the products that are 0 at the optimum."""
        products = self.alpha @ self.excess + self.spare @ self.xi
        return float(products) + self.multiplier * self.slack

    @property
    def labels(self) -> NDArray[np.int8]:
        """Guess (n,) at the partition: 0 where a multiplier is 0, 1 free, 2 at its cap."""
        capped = np.where(self.spare < self.xi, 2, 1)
        return np.where(self.alpha < self.excess, 0, capped).astype(np.int8)


def interior_point(
    problem: Scaled, norm_bound: float, deadline: float | None = None
) -> InteriorPoint:
    """Solve a scaled problem approximately.

    norm_bound: H on the scale of the problem.
    deadline: of time.perf_counter(); the last iterate is returned.
    """
    points = norm_bound * problem.factor
    at = _start(points, problem.y)
    best, least = at, np.inf
    for step in range(STEPS):
        error = _residual(points, problem.y, at)
        mass = max(1.0, float(at.alpha.sum()))
        merit = at.complementarity / mass + error
        if merit < least:
            best, least = at, merit
        if merit <= CLOSED or step - best.steps > 5:
            break
        if deadline is not None and time.perf_counter() > deadline:
            break
        try:
            at = replace(_next(points, problem.y, at), steps=step + 1)
        except (np.linalg.LinAlgError, ValueError):  # the system has lost its last digit
            break
    return best


def _start(points: Array, y: Array) -> InteriorPoint:
    alpha = 0.5 * even_multipliers(y)
    direction = points.T @ (y * alpha)
    length = max(float(np.linalg.norm(direction)), 1e-8 * float(alpha.sum()))
    v = 0.5 * direction / length
    u = y * (points @ v)
    xi = np.maximum(1 - u, 0.0) + 1
    return InteriorPoint(v, 0.0, alpha, xi - 1 + u, 1 - alpha, xi, 2 * length, 0.375)


def _residual(points: Array, y: Array, at: InteriorPoint) -> float:
    """Largest violation of the equations, relative to the size of what they sum."""
    direction = points.T @ (y * at.alpha)
    reach = max(1.0, float(np.abs(points).max()))
    mass = max(1.0, float(at.alpha.sum()))
    dual = np.abs(at.multiplier * at.v - direction).max(initial=0.0) / (mass * reach)
    balance = abs(float(y @ at.alpha)) / mass
    primal = 1 - y * (points @ at.v + at.b) - at.xi + at.excess
    norm = abs((1 - float(at.v @ at.v)) / 2 - at.slack)
    return max(float(dual), balance, float(np.abs(primal).max()) / reach, norm)


def _next(points: Array, y: Array, at: InteriorPoint) -> InteriorPoint:
    n, d = points.shape
    weight = 1 / (at.xi / at.spare + at.excess / at.alpha)
    g, t, v = at.multiplier, at.slack, at.v
    columns = np.hstack([points, np.ones((n, 1))])
    columns *= np.sqrt(weight)[:, None]
    system = columns.T @ columns
    system[:d, :d] += (g / t) * np.outer(v, v)
    system[np.arange(d), np.arange(d)] += g
    factor = scipy.linalg.cho_factor(system, lower=True, check_finite=True)
    dual = g * v - points.T @ (y * at.alpha)
    balance = float(y @ at.alpha)
    primal = 1 - y * (points @ v + at.b) - at.xi + at.excess
    norm = (1 - float(v @ v)) / 2 - t

    def direction(first: Array, second: Array, third: float, bend: float) -> tuple[Array, ...]:
        """Newton direction for products that are to change by first, second and third."""
        left = norm - bend
        q = primal - second / at.spare + first / at.alpha
        pulled = y * weight * q
        right = np.append(
            points.T @ pulled - dual - v * ((third - g * left) / t), pulled.sum() + balance
        )
        solved = scipy.linalg.cho_solve(factor, right)
        dv, db = solved[:d], float(solved[d])
        da = weight * (q - y * (points @ dv + db))
        dr = (first - at.excess * da) / at.alpha
        dxi = (second + at.xi * da) / at.spare
        dt = left - float(v @ dv)
        dg = (third - g * dt) / t
        return dv, np.array(db), da, dr, dxi, np.array(dg), np.array(dt)

    products = 2 * n + 1
    mu = at.complementarity / products
    predicted = direction(-at.alpha * at.excess, -at.spare * at.xi, -g * t, 0.0)
    dv, _, da, dr, dxi, dg, dt = predicted
    ahead = _moved(at, predicted, _room(at, predicted))
    mu_to = mu * (ahead.complementarity / at.complementarity) ** 3
    corrected = direction(
        mu_to - at.alpha * at.excess - da * dr,
        mu_to - at.spare * at.xi + da * dxi,
        float(mu_to - g * t - dg * dt),
        float(dv @ dv) / 2,
    )
    return _moved(at, corrected, min(1.0, TO_BOUNDARY * _room(at, corrected)))


def _room(at: InteriorPoint, step: tuple[Array, ...]) -> float:
    """Largest multiple, up to 1 / TO_BOUNDARY, of a step that keeps what is positive so."""
    _, _, da, dr, dxi, dg, dt = step
    now = np.concatenate(
        [at.alpha, at.excess, at.spare, at.xi, np.array([at.multiplier, at.slack])]
    )
    change = np.concatenate([da, dr, -da, dxi, dg[None], dt[None]])
    falling = change < 0
    return float((now[falling] / -change[falling]).min(initial=1 / TO_BOUNDARY))


def _moved(at: InteriorPoint, step: tuple[Array, ...], length: float) -> InteriorPoint:
    dv, db, da, dr, dxi, dg, dt = step
    return InteriorPoint(
        v=at.v + length * dv,
        b=at.b + length * float(db),
        alpha=at.alpha + length * da,
        excess=at.excess + length * dr,
        spare=at.spare - length * da,
        xi=at.xi + length * dxi,
        multiplier=at.multiplier + length * float(dg),
        slack=at.slack + length * float(dt),
    )


# --- The methods for one norm bound of the rigorous SVM, each ending in a point with its proof ---


NEAR = 1e-7  # of the box: multipliers of a start this near its ends are there


@dataclass(frozen=True, eq=False)
class Task:
    """One norm bound of one problem.

    problem: of the data.
    norm_bound: H, in the units of the data.
    deadline: of time.perf_counter().
    fits: fits of libsvm at most.
    """

    data: TrainingData | GramData
    problem: Scaled
    norm_bound: float
    deadline: float | None = None
    fits: int = FITS

    @property
    def H(self) -> float:  # noqa: N802
        """H on the scale of the problem."""
        return self.problem.bound(self.norm_bound)

    @property
    def seconds_left(self) -> float | None:
        """Until the deadline; at least a millisecond, which solvers take for a limit."""
        if self.deadline is None:
            return None
        return max(self.deadline - time.perf_counter(), 1e-3)

    def is_over(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.perf_counter() > self.deadline

    def point(self, alpha: Array, w: Array, b: float) -> RsvmPoint:
        """Point of multipliers and a hyperplane on the scale of the problem."""
        hyperplane = self.problem.hyperplane(w, b)
        return rsvm_point(self.data, self.norm_bound, alpha, hyperplane)


@dataclass(frozen=True, eq=False)
class PointFound:
    """What a method found.

    steps: fits, linear systems, iterations or pairs.
    settled: H seems to be at or above the limit.
    said: what a solver said when it failed.
    """

    point: RsvmPoint | None
    steps: int
    settled: bool = False
    said: str = ""


def certified(point: RsvmPoint | None) -> bool:
    """Whether there is a point, and nothing is left to look for."""
    return point is not None and point.settled


def better(first: RsvmPoint, second: RsvmPoint) -> RsvmPoint:
    """The point with the smaller gap."""
    return first if first.gap <= second.gap else second


def by_segments(task: Task, start: Array | None, patient: bool = False) -> PointFound:
    """Follow the partition of a start; failing that, partitions of fits by libsvm."""
    problem, steps, gamma = task.problem, 0, None
    if start is not None:
        gamma = _length(problem, start) / task.H or None
    if start is not None and gamma is not None:
        found = follow(problem, task.H, labels_of(start, NEAR), gamma, task.deadline)
        if found is not None:
            return PointFound(task.point(found.alpha, found.w, found.b), found.rounds)
        steps = 1
    fits = by_fits(problem, task.H, gamma, task.deadline, patient, task.fits)
    if fits.found is not None:
        found = fits.found
        return PointFound(task.point(found.alpha, found.w, found.b), steps + fits.count)
    last = rsvm_point(task.data, task.norm_bound, fits.alpha)
    return PointFound(last, steps + fits.count, fits.settled)


def _length(problem: Scaled, alpha: Array) -> float:
    return float(np.linalg.norm(problem.factor.T @ (problem.y * alpha)))


def by_interior(task: Task) -> PointFound:
    """Interior-point iterate, made exact by its partition where that is the right one."""
    at = interior_point(task.problem, task.H, task.deadline)
    point = task.point(at.alpha, at.v * task.H, at.b)
    gamma = at.multiplier / task.H**2
    return PointFound(_polished(task, point, at.labels, gamma), at.steps)


def by_socp(task: Task) -> PointFound:
    """Dual second-order cone program (12) by Clarabel, made exact by its partition."""
    model = rsvm_dual(task.data, norm_bound=task.norm_bound)
    try:
        result = solve(model, "clarabel", time_limit=task.seconds_left)
    except RefusedError as refusal:
        return PointFound(None, 0, said=str(refusal))
    said = "interrupted" if result.status is Status.INTERRUPTED else result.message
    if not {"weight", "balance"} <= set(result.duals):
        return PointFound(None, 1, said=said)
    alpha = np.asarray(result.values["alpha"])
    w, b = -np.asarray(result.duals["weight"]), -float(result.duals["balance"])
    point = rsvm_point(task.data, task.norm_bound, alpha, (w, b))
    gamma = _length(task.problem, point.alpha) / task.H
    if gamma > 0:
        margins = task.data.y * (task.data.factor @ w + b)
        inner = np.where(1 - alpha < 1 - margins, CAPPED, FREE)
        labels = np.where(alpha < margins - 1, ZERO, inner).astype(np.int8)
        point = _polished(task, point, labels, gamma)
    return PointFound(point, 1, said=said)


def _polished(task: Task, point: RsvmPoint, labels: Labels, gamma: float) -> RsvmPoint:
    """The exact point of a partition, where it closes the gap further."""
    exact = follow(task.problem, task.H, labels, gamma, task.deadline)
    if exact is None:
        return point
    return better(task.point(exact.alpha, exact.w, exact.b), point)


def by_decomposition(task: Task, start: Array | None) -> PointFound:
    """Pairs of variables by (19)-(21), see decomposition.py."""
    found = decomposition(
        task.data,
        norm_bound=task.norm_bound,
        start=start,
        time_limit=task.seconds_left,
    )
    return PointFound(found.point, found.steps, said=found.message or str(found.stop))


# --- The rows of a path of the rigorous SVM: a method by size, others where it leaves a gap open


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

    method: one of METHODS.
    time_limit: seconds for each row.
    limit: of the data; found when a row needs it.
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


@unweighted_unlike("rsvm")
@reads_dense_points
def solve_rsvm(
    data: TrainingData | GramData,
    *,
    norm_bound: float,
    method: str = "auto",
    start: ArrayLike | None = None,
    time_limit: float | None = None,
) -> RsvmRow:
    """Solve the rigorous SVM with a free intercept.

        min  sum_i [1 - y_i (<w, x_i> + b)]_+   s.t.  ||w|| <= H                      (3)-(5)

    Parameters
    ----------
    data : TrainingData or GramData
    norm_bound : float
        H > 0.
    method : str
        "interior" (few features), "segments" (kernels and many features), "socp" (12 as a model,
        by Clarabel) or "decomposition" ((19)-(21)); "auto" takes one of the first two by size.
        Where a method leaves the gap open another one helps out, and the row names it.
    start : array (n,), optional
        Multipliers in [0, 1] of a similar problem, for segments and decomposition.
    time_limit : float, optional
        Seconds; the best point so far is returned, as after Ctrl-C, and its gap says how good it
        is.

    Returns
    -------
    RsvmRow
        CERTIFIED where our own bound is within 1e-8 of the value.

    Raises
    ------
    ValueError
        An argument out of range, by its name.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> row = tm.search.solve_rsvm(data, norm_bound=0.5)
    >>> row.verdict.value, abs(row.point.norm_bound - 0.5) < 1e-9
    ('CERTIFIED', True)
    """
    rows = RsvmRows(data, one_of("method", method, METHODS), _seconds(time_limit))
    begin = None if start is None else _multipliers(start, data.n)
    return rows.row(positive("norm_bound", norm_bound), begin, keep=True)


@unweighted_unlike("rsvm")
@reads_dense_points
def rsvm_path(
    data: TrainingData | GramData,
    norm_bounds: Iterable[float],
    *,
    method: str = "auto",
    limit: NormLimit | None = None,
    time_limit: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> RsvmPath:
    """Solve the rigorous SVM for many norm bounds, each from the one before.

    Parameters
    ----------
    data : TrainingData or GramData
    norm_bounds : iterable of float
        H > 0; sorted here, one row for each number.
    method : str
        As in solve_rsvm.
    limit : NormLimit, optional
        Of the data, if it is known; found here only where some H may be at or above it.
    time_limit : float, optional
        Seconds for each row.
    progress : callable(str), optional
        Told what is being done; by default a terminal shows it.

    Returns
    -------
    RsvmPath
        After Ctrl-C the rows found so far; before the first one KeyboardInterrupt goes on.

    Raises
    ------
    ValueError
        An empty list, a norm bound that is not positive, another argument out of range.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> path = tm.paths.rsvm_path(data, [0.25, 0.5])
    >>> path.rows[1].point.objective <= path.rows[0].point.objective
    True
    """
    rows = RsvmRows(data, one_of("method", method, METHODS), _seconds(time_limit), limit)
    waiting = sorted({positive("norm_bound", number) for number in norm_bounds})
    if not waiting:
        raise ValueError("norm_bounds is empty: name one")
    found: list[RsvmRow] = []
    total = len(waiting)
    start: NDArray[np.float64] | None = None
    with telling("path of the rigorous SVM", progress) as say:
        while waiting:
            say(f"norm_bound {waiting[0]:.4g}, {len(waiting)} of {total} to go")
            try:
                found.append(rows.row(waiting[0], start))
            except KeyboardInterrupt:
                if not found:
                    raise
                break
            waiting.pop(0)
            start = found[-1].point.alpha
    return RsvmPath(tuple(found), method, data, rows.limit, tuple(waiting))


def _seconds(time_limit: float | None) -> float | None:
    return None if time_limit is None else positive("time_limit", time_limit)


def _multipliers(start: ArrayLike, n: int) -> NDArray[np.float64]:
    """Checked multipliers of a similar problem."""
    try:
        alpha = np.asarray(start, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"start must be {n} numbers in [0, 1]") from None
    if alpha.shape != (n,):
        raise ValueError(f"start must have shape ({n},), got {alpha.shape}")
    bad = np.flatnonzero(~((alpha >= 0) & (alpha <= 1)))
    if bad.size:
        raise ValueError(f"start must lie in [0, 1], got {alpha[bad[0]]} at position {bad[0]}")
    return alpha
