"""Local solutions of the extended nu-SVC below nu_bar: Algorithm 7 and the damped update.

Both solve the linear program (9) of Takeda & Sugiyama 2008 at a reference w_ref of norm 1 and go on
from its solution w^:

    "algorithm_7"   w_ref <- w^ / ||w^||                     (Takeda & Sugiyama 2008, Algorithm 7)
    "damped"        w_ref <- gamma w_ref + (1 - gamma) w^    (Perez-Cruz et al. 2003, Table 2)

In the geometry of support_function.py the dual shoots a ray from 0 along w_ref, and w^ is the
normal of the facet of U that is hit: so Algorithm 7 goes from facet to facet, each nearer, and ends
after finitely many, while the damped update only approaches where it goes. One live program in dual
form serves all starts: d + 2 rows, n bounded columns, and only the column of w_ref changes.

Above nu_bar neither is of use (0 is outside U: Algorithm 7 cycles between two corners or has an
unbounded program), and the problem is convex; there they are refused.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import unweighted
from tightmargin.formulations.data.training_data import (
    GramData,
    TrainingData,
    reads_dense_points,
    with_points,
)
from tightmargin.formulations.nu.extended import extended_nu_svc_linearised_dual
from tightmargin.formulations.nu.extended_robust import (
    Share,
    extended_robust_step,
    given_up,
    offset_limit,
    robust_risk,
)
from tightmargin.formulations.nu.feature_rank import refuse_dependent_features
from tightmargin.formulations.nu.reduced_hull import (
    ReducedHulls,
    best_levels,
    reduced_hulls,
    support_value,
)
from tightmargin.formulations.parameters import INTERCEPTS, one_of
from tightmargin.number_words import count_text
from tightmargin.printing import Page, Printed
from tightmargin.solvers.engines.running import checked_limits, live_line
from tightmargin.solvers.live_lp import LiveLP
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.nu.nu_range import LINEAR, nu_range
from tightmargin.solvers.result import search_page
from tightmargin.solvers.solve import solve
from tightmargin.solvers.tables import Framed

UPDATES = ("algorithm_7", "damped")
DAMPING = 0.9  # the gamma of Perez-Cruz et al.
OPTIONS = {
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
    "presolve": "off",
    "simplex_scale_strategy": 4,
}
CONVERGED = 1e-12  # relative decrease of h below which Algorithm 7 has ended
DAMPED_CONVERGED = 1e-6  # ||w_ref - w^|| at which the damped update has: it never gets there
STEPS = {"algorithm_7": 200, "damped": 5000}
ROUNDING = 1e-14
SAME = 1e-9  # ||w^|| - 1 at a fixed point, where w^ is w_ref
NEGLIGIBLE = 1e-8  # relative: HiGHS would drop a smaller coefficient
AGREES = 1e-6  # relative: the value of a facet by its program and by sorting


@dataclass(frozen=True, eq=False, repr=False)
class LocalSolution(Printed):
    """Where one search ended.

    weight (k,): w of norm 1, or (w, b) with a penalised intercept.
    objective: h(weight), by sorting.
    iterations: linear programs solved.
    converged: false where the limit of iterations ended it.
    """

    weight: Array
    objective: float
    iterations: int
    converged: bool


@dataclass(frozen=True, eq=False, repr=False)
class LocalSearch(Framed):
    """The best of several searches: an upper bound, with no proof that it is the optimum.

    w, b, rho, xi: the hyperplane and the levels that are best for it, as extended_nu_svc has them.
    solutions: one for each start, in their order.
    remark: where nu lies.
    """

    w: Array
    b: float
    rho: float
    xi: Array
    objective: float
    solutions: tuple[LocalSolution, ...]
    update: str
    seed: int
    remark: str
    _table = "solutions"

    def _page(self) -> Page:
        done = sum(solution.converged for solution in self.solutions)
        return search_page(
            "LocalSearch: extended nu-SVC",
            self.objective,
            None,
            ended=f"{done} of {count_text(len(self.solutions), 'start')} converged; {self.remark}",
            effort=f"{sum(s.iterations for s in self.solutions)} LPs, update {self.update}",
            parts=".w, .b, .rho, .solutions, .to_frame()",
        )

    @property
    def iterations(self) -> int:
        """Linear programs solved in all."""
        return sum(found.iterations for found in self.solutions)


@reads_dense_points
def extended_nu_local(
    data: TrainingData | GramData,
    *,
    nu: float,
    class_balance: ArrayLike | str = "uniform",
    intercept: str = "free",
    update: str = "algorithm_7",
    starts: int | Sequence[ArrayLike] = 20,
    seed: int = 0,
) -> LocalSearch:
    """Best local solution of the extended nu-SVC from several starts.

    Parameters
    ----------
    data : TrainingData or GramData
        Points and labels; of a kernel matrix its factor has the points.
    nu : float
        Below nu_bar, where the problem is not convex; `tm.theory.nu_range` has it.
    class_balance : "uniform", "balanced" or array (n,)
        Weights c_i of the losses, as for extended_nu_svc.
    intercept : "free", "penalised" or "none"
        As for extended_nu_svc.
    update : "algorithm_7" or "damped"
        How far w_ref moves: to the new optimum, or a share of the way.
    starts : int or sequence of array (k,)
        How many: the difference of the class means, then random directions by `seed`; or the
        directions themselves.
    seed : int
        Of the random directions.

    Raises
    ------
    ValueError
        nu at or above nu_bar, or above nu_max; dependent features; bad starts.
    RuntimeError
        A program that ends without an optimum, or whose optimum disagrees with h by sorting.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.search.extended_nu_local(data, nu=0.1, starts=3)
    >>> found.objective >= tm.search.branch_and_cut(data, nu=0.1).bound
    True
    """
    one_of("update", update, UPDATES)
    refuse_dependent_features(data, intercept)
    data = data.points
    points = augmented(data, intercept) if intercept == "penalised" else data.X
    if intercept == "free":
        points = points - points.mean(axis=0)
        # Where only rounding is left there is nothing, and no solver would keep it.
        points[np.abs(points) <= ROUNDING * np.abs(data.X).max(axis=0)] = 0.0
    directions = _directions(points, data.y, starts, seed)
    found = nu_range(data, class_balance=class_balance, intercept=intercept)
    hulls = reduced_hulls(data, nu=nu, class_balance=class_balance, intercept=intercept)
    remark = found.place_extended(LINEAR[0], hulls.nu)
    if found.side(hulls.nu) == 0:
        raise ValueError(f"{remark}, and a local search has nothing to find")
    mode = "free" if intercept == "free" else "none"
    same = with_points(data, points)
    centred = reduced_hulls(same, nu=nu, class_balance=class_balance, intercept=mode)
    unit = min(_level(centred, direction) for direction in directions)
    inner = with_points(data, points / unit)
    shooting = _RayShot(inner, nu, class_balance, mode)
    search = _algorithm_7 if update == "algorithm_7" else _damped
    solutions = []
    with live_line("local search") as line:
        for direction in directions:
            weight, steps, converged = search(shooting, direction)
            solutions.append(LocalSolution(weight, _level(centred, weight), steps, converged))
            if line.is_due:
                least = min(solution.objective for solution in solutions)
                line.show(None, least, f"{len(solutions)} of {len(directions)} starts")
    best = min(solutions, key=lambda solution: solution.objective)
    b, rho, xi = best_levels(hulls, best.weight)
    w = best.weight
    if intercept == "penalised":
        w, b = w[:-1], float(w[-1])
    return LocalSearch(w, b, rho, xi, best.objective, tuple(solutions), update, seed, remark)


def _level(hulls: ReducedHulls, direction: Array) -> float:
    return support_value(hulls, direction / float(np.linalg.norm(direction)))


def _directions(
    points: Array, y: Array, starts: int | Sequence[ArrayLike], seed: int
) -> list[Array]:
    width = points.shape[1]
    if not isinstance(starts, int):
        given = [np.asarray(start, dtype=np.float64) for start in starts]
        for start in given:
            if start.shape != (width,) or not np.isfinite(start).all() or not start.any():
                raise ValueError(f"starts: each must be {width} finite numbers, not all 0")
        if not given:
            raise ValueError("starts is empty: give a weight to start from, or how many to draw")
        return given
    if starts < 1:
        raise ValueError(f"starts must be at least 1, got {starts}")
    random = list(np.random.default_rng(seed).standard_normal((starts, width)))
    mean = points[y > 0].mean(axis=0) - points[y < 0].mean(axis=0)
    return [mean, *random[1:]] if mean.any() else random


class _RayShot:
    """The dual of (9) as a live program: how far a direction reaches into U, and the facet there.

    Points are divided so that h is of the order of 1 on the unit sphere.
    """

    def __init__(
        self, inner: TrainingData, nu: float, class_balance: ArrayLike | str, mode: str
    ) -> None:
        self.hulls = reduced_hulls(inner, nu=nu, class_balance=class_balance, intercept=mode)
        model = extended_nu_svc_linearised_dual(
            inner, nu=nu, w_ref=np.ones(inner.d), class_balance=class_balance, intercept=mode
        )
        self._lines, self._t = [model.line[k] for k in model.line], model.t
        self.live = LiveLP(model, form="primal", options=OPTIONS)

    def normal(self, direction: Array) -> Array:
        """The solution w^ of (9) at w_ref = direction, of any length: <direction, w^> = 1."""
        small = np.abs(direction) <= NEGLIGIBLE * float(np.abs(direction).max())
        direction = np.where(small, 0.0, direction)
        for line, entry in zip(self._lines, direction.tolist(), strict=True):
            self.live.change_coefficient(line, self._t, entry)
        answer = self.live.resolve()
        if answer.status is not Status.OPTIMAL or answer.row_duals is None:
            raise RuntimeError(
                f"a program of the local search ended with {answer.status}: {answer.message}"
            )
        normal = answer.row_duals[: len(direction)]
        along = float(normal @ direction)
        if along == 0:
            raise RuntimeError("a program of the local search gave no multipliers")
        # The sign that solvers give a multiplier is not worth relying on; h is.
        normal = normal / along
        reached = float(answer["t"])
        if abs(support_value(self.hulls, normal) - reached) > AGREES * abs(reached):
            raise RuntimeError("the multipliers of the local search disagree with h by sorting")
        return normal


def _algorithm_7(shooting: _RayShot, direction: Array) -> tuple[Array, int, bool]:
    """From facet to facet until h, by sorting, decreases no more."""
    w = direction / float(np.linalg.norm(direction))
    level = np.inf
    for step in range(1, STEPS["algorithm_7"] + 1):
        normal = shooting.normal(w)
        length = float(np.linalg.norm(normal))
        new = normal / length
        value = support_value(shooting.hulls, new)
        if length - 1 <= SAME or value >= level * (1 - CONVERGED):
            return (new if value <= level else w), step, True
        w, level = new, value
    return w, STEPS["algorithm_7"], False


def _damped(shooting: _RayShot, direction: Array) -> tuple[Array, int, bool]:
    """A tenth of the way to the facet each time, until that is next to nothing."""
    w = direction / float(np.linalg.norm(direction))
    for step in range(1, STEPS["damped"] + 1):
        normal = shooting.normal(w)
        if float(np.linalg.norm(w - normal)) <= DAMPED_CONVERGED:
            return normal / float(np.linalg.norm(normal)), step, True
        w = DAMPING * w + (1 - DAMPING) * normal
    return w / float(np.linalg.norm(w)), STEPS["damped"], False


# --- The d.c. algorithm of the extended robust SVM, from many starts ------------------------------


DCA_STEPS = 100
LESS = 1e-9  # of the size of the risk: a step that gains no more is the last one


@dataclass(frozen=True, eq=False, repr=False)
class RobustLocalOptimum(Printed):
    """The best end of the d.c. algorithm.

    w, b (d,): in the unit ball.
    risk: nu CVaR - mu CVaR there, an upper bound on the optimum.
    outliers: points that are given up.
    ends: risks at the ends of the starts that were begun, in order.
    interrupted: whether Ctrl-C ended it.
    """

    w: Array
    b: float
    risk: float
    outliers: NDArray[np.intp]
    ends: Array
    interrupted: bool = False


@unweighted
@reads_dense_points
def robust_dca(
    data: TrainingData | GramData,
    *,
    nu: float,
    mu: Share,
    intercept: str = "penalised",
    starts: int = 20,
    seed: int = 0,
    time_limit: float | None = None,
) -> RobustLocalOptimum:
    """Run the d.c. algorithm from the machine that keeps all points, and from random outliers.

    A step gives up the mu n points with the worst errors and solves the convex problem that is
    left; the risk falls until the points stay the same. Where it ends is a local optimum, w = 0
    with a risk of 0 among them, and how far from the best is what extended_robust_svc proves.

    Parameters
    ----------
    data : TrainingData or GramData
        Without weights; of a kernel matrix its factor has the points.
    nu, mu, intercept
        As for extended_robust_svc.
    starts : int
        At least 1: the first keeps all points, the others give up random ones.
    seed : int
        Of these.
    time_limit : float, optional
        Seconds, after which no step is begun; what was found is returned, as after Ctrl-C.

    Raises
    ------
    ValueError
        Bad shares, no start, weighted points; a risk without end along a free intercept.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.TrainingData([[2.0], [1.0], [-1.0], [-3.0]], [1, 1, -1, 1])
    >>> found = tm.search.robust_dca(data, nu=0.5, mu=0.25, intercept="none", starts=3)
    >>> round(found.risk, 6), found.outliers.tolist()
    (-0.25, [3])
    """
    one_of("intercept", intercept, INTERCEPTS)
    count = given_up(data, nu, mu)
    if intercept == "free":
        offset_limit(data, nu, mu)  # which raises where the risk has no end
    if isinstance(starts, bool) or not isinstance(starts, int | np.integer) or starts < 1:
        raise ValueError(f"starts must be a whole number of at least 1, got {starts!r}")
    limits = checked_limits(time_limit=time_limit, seed=seed)
    end = math.inf if limits.time_limit is None else time.perf_counter() + limits.time_limit
    descent = _Descent(data, nu, mu, intercept, end)
    rng, interrupted = np.random.default_rng(limits.seed), False
    try:
        for start in range(starts):
            q = np.zeros(data.n)
            if start:
                q[rng.choice(data.n, size=count, replace=False)] = 1 / data.n
            descent.run(q)
            if time.perf_counter() >= end:
                break
    except KeyboardInterrupt:
        interrupted = True
    risk, w, b = descent.best
    outliers = np.flatnonzero(robust_risk(data, w, b, nu=nu, mu=mu)[1])
    return RobustLocalOptimum(w, b, risk, outliers, np.array(descent.ends), interrupted)


class _Descent:
    """Steps from given outliers, and the best machine of all, w = 0 to begin with.

    The steps are solved for points divided by a power of 2, so that the largest of their numbers is
    near 1 in whatever unit the data are; a penalised intercept is a column of them.
    """

    def __init__(
        self, data: TrainingData | GramData, nu: float, mu: Share, intercept: str, end: float
    ) -> None:
        points = np.asarray(augmented(data, "none" if intercept == "free" else intercept))
        self.exponent = int(math.frexp(float(np.abs(points).max(initial=0.0)))[1])
        self.scaled = with_points(data, np.ldexp(points, -self.exponent))
        self.data, self.nu, self.mu, self.intercept, self.end = data, nu, mu, intercept, end
        self.best: tuple[float, Array, float] = (0.0, np.zeros(data.d), 0.0)
        self.ends: list[float] = []

    def run(self, q: Array) -> None:
        """Steps until the risk falls no more."""
        self.ends.append(0.0)
        least = math.ldexp(LESS, self.exponent)
        for _ in range(DCA_STEPS):
            machine = self._step(q)
            if machine is None:
                return
            risk, q = robust_risk(self.data, *machine, nu=self.nu, mu=self.mu)
            if risk >= self.ends[-1] - LESS * max(abs(risk), least):
                return
            self.ends[-1] = risk
            if risk < self.best[0]:
                self.best = risk, *machine
            if time.perf_counter() >= self.end:
                return

    def _step(self, q: Array) -> tuple[Array, float] | None:
        """w and b of the convex problem; None where it has no optimum that is known."""
        mode = "free" if self.intercept == "free" else "none"
        result = solve(extended_robust_step(self.scaled, q, nu=self.nu, intercept=mode), live=False)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if result.objective is None:
            return None
        w = np.asarray(result.values["w"])
        if self.intercept == "free":
            return w, math.ldexp(float(result.values["b"]), self.exponent)
        return (w[:-1], float(w[-1])) if self.intercept == "penalised" else (w, 0.0)
