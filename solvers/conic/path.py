"""The conic estimator for many penalties or budgets, every value with its proof.

Cepeda, Gomez & Han 2024, Theorem 2 and appendix C. A value is found in low-rank form from its
neighbour (conic/low_rank.py), bounded from below by the closed form of the strengthening that its
point implies (conic/closed_form_bound.py), and found again by an interior-point solver where the
two are further apart than the tolerance. Large penalties on separable points end at the hard-margin
machine. With V(penalty) the value of the SDP,

    V is nondecreasing      multipliers for a penalty are multipliers for every larger one
    V is concave            with the slope sum z: a larger penalty spends less
    budget kappa            its value is the largest V(penalty) - penalty kappa n

so that a budget is a penalty too: the one at which sum z = kappa n.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.common.rounding import excess, most_squares
from tightmargin.formulations.conic.closed_form_bound import (
    StrengtheningBound,
    budget_share,
    budget_value,
)
from tightmargin.formulations.conic.sdp import conic_sdp_budget, conic_sdp_dual
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.data.training_data import GramData, TrainingData, reads_dense_points
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.modeling.cones import symmetric
from tightmargin.formulations.parameters import one_of, positive
from tightmargin.printing import Drawn
from tightmargin.solvers.conic.low_rank import (
    LARGE,
    LOW_RANK,
    LowRank,
    Trial,
    at_amount,
    closed,
    from_lifted,
    is_late,
    low_rank_minimum,
    off_the_margin,
    proven_minimum,
    refined,
)
from tightmargin.solvers.engines.registry import SOLVERS
from tightmargin.solvers.engines.running import telling
from tightmargin.solvers.errors import RefusedError
from tightmargin.solvers.exact import rounded_down
from tightmargin.solvers.kernel.statement import (
    CLOSED,
    FeasiblePoint,
    LowerBound,
    by_lemma,
    point_by_formula,
)
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.searches import CatalogueModel, PathResult, Proven
from tightmargin.solvers.solve import solve

# --- The penalty at which the conic SDP spends a given sum of z ----------------------------------
# The sum of z falls with the penalty: the value of the SDP is concave in it, with this slope.


SHARE = 0.05  # of the tolerance that a spend off its target may cost


def refuse_unreachable(problem: LowRank, spend: float) -> None:
    """Raise ValueError where points that are 0 cost more than the budget by themselves.

    Such a point (a point at 0 without an intercept) has u = 0 and T = 1 whatever w and W are.
    """
    zeros = int((~problem.signed.any(axis=1)).sum())
    if zeros and spend <= zeros:
        raise ValueError(
            f"budget {spend / problem.n:g} is out of reach: {zeros} of {problem.n} points are 0 "
            f"and have no intercept, so that each has z = 1; take more than {zeros / problem.n:g}"
        )


def point_of_spend(
    problem: LowRank,
    spend: float,
    known: Sequence[Trial] = (),
    tolerance: float = 1e-6,
    deadline: float | None = None,
) -> Trial:
    """Optimum at the penalty whose sum of z is `spend`, in (0, n]: the nearest at the deadline."""
    # Up to 1 over the norm of sum_i x~_i x~_i', w = 0 and W = 0 are optimal.
    largest = float(np.linalg.eigvalsh(problem.signed.T @ problem.signed)[-1])
    idle = 1 / max(largest, 1e-300)
    if spend >= problem.n:
        return Trial(idle / 2, np.zeros((1, problem.k)), float(problem.n))

    def trial(penalty: float, start: Array | None) -> Trial:
        F = low_rank_minimum(problem, penalty, start, deadline)
        return Trial(penalty, F, problem.spent(F))

    def is_near(found: Trial) -> bool:
        off = abs(found.amount - spend) * found.price
        return off <= SHARE * tolerance * float((found.F**2).sum()) or is_late(deadline)

    return at_amount(trial, spend, None if known else idle * (1 + 1e-9), is_near, known)


def within_budget(problem: LowRank, F: Array, spend: float) -> Array:
    """F with as much added to W as brings the sum of z down to `spend`, every rounding counted.

    Longer rows of R first; if twice their length is not enough, a multiple of the identity.
    """
    if problem.most_spent(F) <= spend:
        return F

    def longer(t: float) -> Array:
        return np.vstack([F[:1], (1 + t) * F[1:]])

    def wider(t: float) -> Array:
        return np.vstack([F, t * np.eye(problem.k)])

    build = longer if problem.most_spent(longer(1.0)) <= spend else wider
    low, high = 0.0, 1.0
    while problem.most_spent(build(high)) > spend:
        high *= 2
    for _ in range(60):
        middle = np.sqrt(low * high) if low > 0 else high * 1e-3
        low, high = (low, middle) if problem.most_spent(build(middle)) <= spend else (middle, high)
        if high <= 1e-15 or high - low <= 1e-3 * high:
            break
    return build(high)


# --- What a conic path is made of: one row for each penalty or budget ----------------------------


PROOF = "closed form of the strengthening that the low-rank point implies"
INTERIOR = "interior point"


@dataclass(frozen=True, eq=False, repr=False)
class ConicRow(Proven):
    """The SDP at one penalty, or with one budget.

    penalty: given; for a budget the penalty that spends it and proves the bound.
    budget: given, or sum z / n.
    spent: sum z / n of the point.
    objective: trace W + penalty sum z at the point; trace W alone with a budget.
    attained, below: proofs of the objective and of the bound; None where a bound contradicts the
        point.
    tolerance: share of the objective that a gap may be of, at most what kernel/statement.py allows.
    method: "low-rank", "interior point", or "hard margin" where a large penalty keeps every point.
    stop: what the interior-point solver said, if one was asked, and a contradiction if there is
        one.
    w (d,).
    b: 0 without an intercept.
    factor (1 + r, k): rows w~ = (w, b) and R': W = factor' factor.
    z, strengthening (n,): of the point, and gamma of the bound (NaN where it is not known).
    rank: of W - w~ w~': eigenvalues above 1e-6 of the trace of W.
    errors: training points on the wrong side or on the hyperplane.
    lemma: what proves the bound.
    about: the model of the row.
    """

    penalty: float
    budget: float
    spent: float
    objective: float
    attained: FeasiblePoint
    below: LowerBound | None
    tolerance: float
    method: str
    stop: str
    w: Array
    b: float
    factor: Array
    z: Array
    strengthening: Array
    rank: int
    errors: int
    seconds: float
    lemma: Lemma | None
    about: CatalogueModel | None = field(default=None, repr=False)

    @property
    def allowed(self) -> float:
        """The tolerance of the path."""
        return self.tolerance

    @property
    def W(self) -> Array:  # noqa: N802
        """The lifted matrix (k, k)."""
        return self.factor.T @ self.factor


@dataclass(frozen=True, eq=False, repr=False)
class ConicPath(PathResult[ConicRow], Drawn):
    """Rows by rising penalty, which is falling budget.

    rows, tuple of ConicRow.
    parameter: "penalty" or "budget": what was given.
    data, intercept, tolerance: of the problem.
    not_reached: penalties or budgets that Ctrl-C came before; empty else.
    """

    rows: tuple[ConicRow, ...]
    parameter: str
    data: TrainingData | GramData
    intercept: str
    tolerance: float
    not_reached: tuple[float, ...]

    @property
    def fallbacks(self) -> int:
        """How many rows took an interior-point solver."""
        return sum(row.method == INTERIOR or bool(row.stop) for row in self.rows)


# --- A conic SDP by an interior-point solver, handed back as a factor and as multipliers ---------


class ConicSolution(NamedTuple):
    """What a solver found."""

    message: str  # solver and status
    F: Array | None = None  # (1 + r, k)
    gamma: Array | None = None  # (n,), multipliers at a penalty
    alpha: Array | None = None
    bound: float | None = None  # with a budget: proven, by the penalty
    penalty: float | None = None


def by_interior_point(model: Any, solver: str, time_limit: float | None) -> ConicSolution:
    """The SDP at a penalty through a model of its dual, or with a budget itself."""
    try:
        result = solve(model, solver, time_limit=time_limit)
    except RefusedError as refusal:  # the row says so; the others may need no solver
        return ConicSolution(str(refusal))
    if result.status is Status.INTERRUPTED:  # a solver that keeps Ctrl-C to itself
        raise KeyboardInterrupt
    message, values = f"{result.solver}: {result.status}", result.values
    if "W" in values:
        w, W = values["w"], values["W"]
        weight = np.append(w, values["b"]) if "b" in values else w
        F = from_lifted(weight, symmetric(W) if W.ndim == 1 else W)
        penalty = result.certificate.facts.get("penalty")
        return ConicSolution(message, F, bound=result.bound, penalty=penalty)
    outer, point = result.duals.get("outer"), None
    if outer is not None and outer[-1, -1] > 0:
        lifted = outer / outer[-1, -1]
        point = from_lifted(lifted[:-1, -1], lifted[:-1, :-1])
    return ConicSolution(message, point, values.get("gamma"), values.get("alpha"), result.bound)


# --- The rows of a conic path, one after the other: point, proof, and a solver where they differ


FEASIBLE = "W = F'F, and z from its formula"
RANK = 1e-6  # of the trace of W: a part of W - w~ w~' that counts
Visited = tuple[float, Array, float, float, str, str]  # penalty, F, value, its upper end, words


@dataclass(eq=False)
class ConicRows:
    """Rows so far, the last point and the best multipliers: rising penalties, falling budgets."""

    data: TrainingData | GramData
    problem: LowRank
    intercept: str
    tolerance: float
    time_limit: float | None
    solver: str
    by_budget: bool
    rows: list[ConicRow] = field(default_factory=list)
    known: list[Trial] = field(default_factory=list)
    multipliers: StrengtheningBound | None = None  # the best so far; they travel, no bound does
    bound: float = -math.inf  # of the row, its gamma and what it rests on
    strengthening: Array | None = None
    hypotheses: Mapping[str, bool] = field(default_factory=dict)

    def visit(self, number: float) -> None:
        """Add the row of one penalty or budget."""
        started = time.perf_counter()
        deadline = None if self.time_limit is None else started + self.time_limit
        visited = self._budget if self.by_budget else self._penalty
        penalty, F, value, most, method, message = visited(number, deadline)
        if self.bound > most:  # a bound above what the point attains is none
            words = f"the bound {self.bound:.9g} exceeds the value {most:.9g}: neither is proven"
            message = f"{message}; {words}" if message else words
            self.bound, self.multipliers, self.strengthening = -math.inf, None, None
        entry = "conic_sdp_budget" if self.by_budget else "conic_sdp"
        subject = (entry, number, self.data.sha256, self.intercept)
        given = {"budget" if self.by_budget else "penalty": number, "intercept": self.intercept}
        lemma = Lemma(self.bound, PROOF, self.hypotheses) if math.isfinite(self.bound) else None
        z, weight, n = self.problem.z(F), F[0], self.data.n
        parts = np.linalg.svd(F[1:], compute_uv=False) ** 2
        gamma = np.full(n, np.nan) if self.strengthening is None else self.strengthening
        has_intercept = self.intercept != "none"
        row = ConicRow(
            penalty=penalty,
            budget=number if self.by_budget else float(z.sum()) / n,
            spent=float(z.sum()) / n,
            objective=value,
            attained=point_by_formula(subject, value, excess(most, value), FEASIBLE),
            below=by_lemma(subject, lemma),
            tolerance=self.tolerance,
            method=method,
            stop=message,
            w=weight[:-1] if has_intercept else weight,
            b=float(weight[-1]) if has_intercept else 0.0,
            factor=F,
            z=z,
            strengthening=gamma,
            rank=int((parts > RANK * float((F * F).sum())).sum()),
            errors=int((self.problem.signed @ weight <= 0).sum()),
            seconds=time.perf_counter() - started,
            lemma=lemma,
            about=CatalogueModel(entry, self.data, given),
        )
        self.rows.append(row)

    def _penalty(self, penalty: float, deadline: float | None) -> Visited:
        problem = self.problem
        last, self.multipliers = self.multipliers, None
        self.bound, self.strengthening = -math.inf, None
        if last is not None:
            self._keep(problem.bound(last.gamma, last.alpha, penalty), penalty)
        start = self.known[-1].F if self.known else None
        F, proof, method = proven_minimum(problem, penalty, start, deadline, self.tolerance)
        self._keep(proof, penalty)
        value, message = problem.value(F, penalty), ""
        if not closed(value, self.bound, self.tolerance):
            model = conic_sdp_dual(self.data, penalty=penalty, intercept=self.intercept)
            found = self._asked(model, deadline)
            message = found.message
            if found.gamma is not None and found.alpha is not None:
                alpha = np.maximum(found.alpha, 0.0)
                gamma = np.maximum(found.gamma, alpha**2 / penalty)
                if self._keep(problem.bound(gamma, alpha, penalty), penalty):
                    method = INTERIOR
            if found.F is not None and problem.value(found.F, penalty) < value:
                F, method = found.F, INTERIOR
        self.known = [Trial(penalty, F, problem.spent(F))]
        F = off_the_margin(problem, penalty, F, self.tolerance)
        most = problem.most_value(F, penalty)
        return penalty, F, problem.value(F, penalty), most, method, message

    def _keep(self, proof: StrengtheningBound | None, penalty: float) -> bool:
        """Take the better bound; whether it was this one."""
        if proof is None or not proof.value > self.bound:
            return False
        self.multipliers, self.bound, self.strengthening = proof, proof.value, proof.gamma
        self.hypotheses = proof.hypotheses(penalty)
        return True

    def _budget(self, budget: float, deadline: float | None) -> Visited:
        problem, spend = self.problem, rounded_down(Fraction(budget) * self.data.n)
        found = point_of_spend(problem, spend, self.known, self.tolerance, deadline)
        self.known = [*self.known[-1:], found]
        penalty, method, message = found.price, LOW_RANK, ""
        F = self._within(found.F, penalty, spend)
        if found.F.size > LARGE and self._is_open(F):
            F = self._within(refined(problem, penalty, found.F, deadline), penalty, spend)
        if self._is_open(F):
            model = conic_sdp_budget(self.data, budget=budget, intercept=self.intercept)
            other = self._asked(model, deadline)
            message = other.message
            if other.bound is not None and other.bound > self.bound:
                self.bound, self.strengthening, method = other.bound, None, INTERIOR
                self.hypotheses = {"the bound of the SDP is proven by its certificate": True}
                penalty = penalty if other.penalty is None else other.penalty
            if other.F is not None:
                feasible = within_budget(problem, other.F, spend)
                if (feasible * feasible).sum() < (F * F).sum():
                    F, method = feasible, INTERIOR
        most = most_squares(F) if problem.most_spent(F) <= spend else math.inf
        return penalty, F, float((F * F).sum()), most, method, message

    def _within(self, F: Array, penalty: float, spend: float) -> Array:
        """A point that keeps the budget; the bound of its penalty is kept with its gamma."""
        self.bound, self.strengthening = 0.0, np.zeros(self.data.n)
        self.hypotheses = {"W is semidefinite: its trace is not negative": True}
        proof = self.problem.proof(F, penalty)
        if proof is not None:
            value = budget_value(proof.value, penalty, spend)
            if value > self.bound:
                self.bound, self.strengthening = value, proof.gamma
                self.hypotheses = proof.hypotheses(penalty)
        return within_budget(self.problem, F, spend)

    def _is_open(self, F: Array) -> bool:
        return not closed(float((F * F).sum()), self.bound, self.tolerance)

    def _asked(self, model: Any, deadline: float | None) -> ConicSolution:
        if is_late(deadline):
            return ConicSolution("time limit")
        left = None if deadline is None else deadline - time.perf_counter()
        return by_interior_point(model, self.solver, left)


@unweighted_unlike("conic_sdp")
@reads_dense_points
def conic_path(
    data: TrainingData | GramData,
    *,
    penalties: Iterable[float] | None = None,
    budgets: Iterable[float] | None = None,
    intercept: str = "penalised",
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    solver: str = "auto",
    progress: Callable[[str], None] | None = None,
) -> ConicPath:
    """Solve conic_sdp for many penalties, or conic_sdp_budget for many budgets.

    Parameters
    ----------
    data : TrainingData or GramData
        Points or a kernel matrix, and labels.
    penalties, budgets : iterable of float
        One of the two; by default penalty_grid(data). Sorted here, one row for each number.
    intercept : "penalised" or "none"
    tolerance : float
        Relative gap up to which a value counts as proven, at most 1e-6.
    time_limit : float, optional
        Seconds for each row.
    solver : str
        For the rows that need an interior-point solver.
    progress : callable(str), optional
        Told what is being done; by default a terminal shows it.

    Raises
    ------
    ValueError
        Both or an empty list; a penalty that is not positive, a budget outside (0, 1] or out of
        reach; a free intercept, which is solved value by value; bad arguments.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> path = tm.paths.conic_path(data, penalties=[0.5, 1.0])
    >>> [row.verdict.value for row in path.rows]
    ['CERTIFIED', 'CERTIFIED']
    """
    problem = low_rank_problem(data, intercept)
    if not 0 < tolerance <= CLOSED:
        raise ValueError(
            f"tolerance must lie above 0 and be at most {CLOSED:g}, what CERTIFIED means; "
            f"got {tolerance!r}"
        )
    if time_limit is not None:
        positive("time_limit", time_limit)
    one_of("solver", solver, ("auto", *SOLVERS))
    if penalties is not None and budgets is not None:
        raise ValueError("give penalties or budgets, not both: a budget is a penalty of its own")
    if budgets is None:
        given = penalty_grid(data, intercept=intercept) if penalties is None else penalties
        parameter, wanted = "penalty", sorted({positive("penalty", number) for number in given})
    else:
        shares = {budget_share(budget) for budget in budgets}
        parameter, wanted = "budget", sorted(shares, reverse=True)
        for share in wanted:
            refuse_unreachable(problem, share * problem.n)
    if not wanted:
        raise ValueError(f"{'penalties' if budgets is None else 'budgets'} is empty: name one")
    path = ConicRows(data, problem, intercept, tolerance, time_limit, solver, budgets is not None)
    waiting = list(wanted)
    with telling("conic path", progress) as say:
        while waiting:
            say(f"{parameter} {waiting[0]:.4g}, {len(waiting)} of {len(wanted)} to go")
            try:
                path.visit(waiting[0])
            except KeyboardInterrupt:
                if not path.rows:
                    raise
                break
            waiting.pop(0)
    return ConicPath(tuple(path.rows), parameter, data, intercept, tolerance, tuple(waiting))


@unweighted_unlike("conic_sdp")
@reads_dense_points
def penalty_grid(
    data: TrainingData | GramData,
    count: int = 100,
    *,
    intercept: str = "penalised",
    budgets: tuple[float, float] = (0.5, 0.01),
) -> Array:
    """Geometric grid (count,) of penalties from the one that spends 0.5 n to the one for 0.01 n.

    Parameters
    ----------
    data : TrainingData or GramData
        Points or a kernel matrix, and labels.
    count : int
        How many penalties, at least 2.
    intercept : "penalised" or "none"
        As for conic_sdp.
    budgets : (float, float)
        Shares of the points that the first and the last penalty spend.

    Raises
    ------
    ValueError
        count below 2, budgets outside (0, 1), rising or out of reach, or a free intercept.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> grid = tm.paths.penalty_grid(data, 5)
    >>> grid.shape, bool((grid[1:] > grid[:-1]).all())
    ((5,), True)
    """
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 2:
        raise ValueError(f"count must be a whole number of at least 2, got {count!r}")
    problem = low_rank_problem(data, intercept)
    first, last = (budget_share(budget) for budget in budgets)
    if not first > last:
        raise ValueError(f"budgets must fall, got {budgets!r}")
    for budget in (first, last):
        refuse_unreachable(problem, budget * data.n)
    start = point_of_spend(problem, first * data.n, (), 1e-3)
    end = point_of_spend(problem, last * data.n, [start], 1e-3)
    return np.geomspace(start.price, end.price, count)


def low_rank_problem(data: TrainingData | GramData, intercept: str) -> LowRank:
    """The low-rank form on the points with their constant entry; no intercept may be free."""
    if intercept == "free":
        raise ValueError(
            "a conic path needs intercept=penalised or none: with a free intercept W_bb has no "
            "price, only its bound; solve conic_sdp_dual with intercept_bound value by value"
        )
    one_of("intercept", intercept, ("penalised", "none"))
    return LowRank(data.y[:, None] * augmented(data, intercept))
