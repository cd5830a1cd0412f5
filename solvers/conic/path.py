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
from functools import cached_property

import numpy as np
from scipy.optimize import nnls

from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.common.rounded_sums import excess, most_squares
from tightmargin.formulations.conic.budget import budget_share
from tightmargin.formulations.conic.closed_form_bound import StrengtheningBound, budget_value
from tightmargin.formulations.conic.sdp import conic_sdp_budget
from tightmargin.formulations.conic.sdp_dual import conic_sdp_dual
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.dense_points import reads_dense_points
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.modeling.semidefinite import symmetric
from tightmargin.formulations.parameters import one_of, positive
from tightmargin.printing import Drawn
from tightmargin.solvers.conic.low_rank import (
    LARGE,
    LowRank,
    from_lifted,
    low_rank_minimum,
    refined,
)
from tightmargin.solvers.engines.live_line import telling
from tightmargin.solvers.engines.registry import SOLVERS
from tightmargin.solvers.errors import RefusedError
from tightmargin.solvers.exact import rounded_down
from tightmargin.solvers.kernel.lemma import by_lemma, point_by_formula
from tightmargin.solvers.kernel.statement import CLOSED, FeasiblePoint, LowerBound, closes
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.path_result import PathResult, Proven
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.solve import solve

# --- The penalty at which the conic SDP spends a given sum of z, by the secant in logarithms -----
# The sum of z falls with the penalty: the value of the SDP is concave in it, with this slope.


TRIALS = 60
LEAP = 20.0  # largest factor between two penalties
USUAL_SLOPE = -0.6  # of log sum z over log penalty, before there are two points
SHARE = 0.05  # of the tolerance that a spend off its target may cost


@dataclass(frozen=True, eq=False)
class Spent:
    """A point of the penalty path.

    Attributes
    ----------
    penalty : float
    F : array (1 + r, k)
        Of least value at this penalty.
    spent : float
        Sum of z.
    """

    penalty: float
    F: Array
    spent: float


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


def idle_penalty(problem: LowRank) -> float:
    """Largest penalty at which w = 0, W = 0 is optimal: 1 over the norm of sum_i x~_i x~_i'."""
    largest = float(np.linalg.eigvalsh(problem.signed.T @ problem.signed)[-1])
    return 1 / max(largest, 1e-300)


def point_of_spend(
    problem: LowRank,
    spend: float,
    *,
    known: Sequence[Spent] = (),
    tolerance: float = 1e-6,
    deadline: float | None = None,
) -> Spent:
    """Point of the penalty path whose sum of z is `spend`.

    Parameters
    ----------
    spend : float
        In (0, n].
    known : sequence of Spent
        Points of the path that are known; the last is the start.
    tolerance : float
        What is off may cost this share of ||F||^2, times SHARE.
    deadline : float, optional
        Of time.perf_counter(); the nearest point is returned then, proven or not.
    """
    idle = idle_penalty(problem)
    if spend >= problem.n:
        return Spent(idle / 2, np.zeros((1, problem.k)), float(problem.n))
    seen = list(known)
    low, high = _bracket(seen, spend)
    penalty = max(_next_penalty(seen, spend), idle * (1 + 1e-9))
    nearest: Spent | None = None
    for _ in range(TRIALS):
        start = min(seen, key=lambda s: abs(np.log(s.penalty / penalty))).F if seen else None
        F = low_rank_minimum(problem, penalty, start, deadline)
        here = Spent(penalty, F, problem.spent(F))
        seen.append(here)
        if nearest is None or abs(here.spent - spend) < abs(nearest.spent - spend):
            nearest = here
        off = abs(here.spent - spend) * penalty
        late = deadline is not None and time.perf_counter() > deadline
        if off <= SHARE * tolerance * float((F * F).sum()) or late:
            break
        if here.spent > spend:
            low = max(low, penalty)
        else:
            high = min(high, penalty)
        if high <= low * (1 + 1e-15):
            break
        penalty = _inside(low, high, _next_penalty(seen, spend))
    assert nearest is not None
    return nearest


def _inside(low: float, high: float, wanted: float) -> float:
    """The wanted penalty, or a middle of the interval where it lies outside."""
    if low < wanted < high:
        return wanted
    if low > 0 and np.isfinite(high):
        return float(np.sqrt(low * high))
    return low * LEAP if low > 0 else high / LEAP


def _bracket(seen: Sequence[Spent], spend: float) -> tuple[float, float]:
    low = max((s.penalty for s in seen if s.spent > spend), default=0.0)
    high = min((s.penalty for s in seen if s.spent <= spend), default=np.inf)
    return low, high


def _next_penalty(seen: Sequence[Spent], spend: float) -> float:
    """Where the line through the two nearest points meets the spend, in logarithms."""
    if not seen:
        return 0.0
    near = sorted(seen, key=lambda s: abs(np.log(max(s.spent, 1e-300) / spend)))[:2]
    slope = USUAL_SLOPE
    if len(near) == 2:
        run = np.log(near[1].penalty / near[0].penalty)
        rise = np.log(max(near[1].spent, 1e-300) / max(near[0].spent, 1e-300))
        slope = rise / run if run * rise < 0 else USUAL_SLOPE
    # In logarithms as well: a slope near 0 leads further than a float reaches.
    step = np.log(spend / max(near[0].spent, 1e-300)) / slope
    return near[0].penalty * float(np.exp(np.clip(step, -np.log(LEAP), np.log(LEAP))))


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
    high = 1.0
    while problem.most_spent(build(high)) > spend:
        high *= 2
    low = 0.0
    for _ in range(60):
        middle = np.sqrt(low * high) if low > 0 else high * 1e-3
        low, high = (low, middle) if problem.most_spent(build(middle)) <= spend else (middle, high)
        if high <= 1e-15 or high - low <= 1e-3 * high:
            break
    return build(high)


# --- What a conic path is made of: one row for each penalty or budget ----------------------------


PROOF = "closed form of the strengthening that the low-rank point implies"
LOW_RANK, HARD_MARGIN, INTERIOR = "low-rank", "hard margin", "interior point"


@dataclass(frozen=True, eq=False, repr=False)
class ConicRow(Proven):
    """The SDP at one penalty, or with one budget.

    Attributes
    ----------
    penalty : float
        Given; for a budget the penalty that spends it and proves the bound.
    budget : float
        Given, or sum z / n.
    spent : float
        sum z / n of the point.
    objective : float
        trace W + penalty sum z at the point; trace W alone with a budget.
    attained, below
        Proofs of the objective and of the bound; None where a bound contradicts the point.
    tolerance : float
        Share of the objective that a gap may be of, at most what kernel/statement.py allows.
    method : str
        "low-rank", "interior point", or "hard margin" where a large penalty keeps every point.
    stop : str
        What the interior-point solver said, if one was asked, and a contradiction if there is one.
    w : array (d,)
    b : float
        0 without an intercept.
    factor : array (1 + r, k)
        Rows w~ = (w, b) and R': W = factor' factor.
    z, strengthening : array (n,)
        Of the point, and gamma of the bound (NaN where it is not known).
    rank : int
        Of W - w~ w~': eigenvalues above 1e-6 of the trace of W.
    errors : int
        Training points on the wrong side or on the hyperplane.
    seconds : float
    lemma : Lemma or None
        What proves the bound.
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

    Attributes
    ----------
    rows : tuple of ConicRow
    parameter : str
        "penalty" or "budget": what was given.
    data, intercept, tolerance
        Of the problem.
    not_reached : tuple of float
        Penalties or budgets that Ctrl-C came before; empty else.
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


# --- Where a large penalty keeps every point: the hard-margin machine is the SDP's own optimum ---
# Let w~ = sum_i alpha_i s_i (s_i = y_i x~_i, alpha >= 0) have <w~, s_i> >= 1 everywhere, with
# equality where alpha_i > 0. With gamma_i = alpha_i^2 / penalty the dual function of the SDP is
#     ||w~||^2 + 2 sum alpha_i (1 - u_i) - sum gamma_i (1 - u_i)^2,     alpha_i (1 - u_i) = 0,
# stationary at w~, so that the bound is ||w~||^2 itself as soon as I - sum gamma_i s_i s_i' is
# positive definite. v_i / T_i is 0 / 0 for every point there, and implies no multiplier.


SEPARATED = 1e-12  # of the squared size of the points: a margin that is none


@dataclass(frozen=True, eq=False)
class HardMargin:
    """The hard-margin machine and its multipliers.

    Attributes
    ----------
    F : array (1, k)
        w~ with <w~, s_i> >= 1 for every i.
    alpha : array (n,)
    """

    F: Array
    alpha: Array


def hard_margin_limit(problem: LowRank) -> HardMargin | None:
    """The machine of least norm that keeps every point; None where there is none.

    The least ||S'beta||^2 + r^2 (sum beta - 1)^2 over beta >= 0 has, with p = S'beta,
    <p, s_i> >= r^2 (1 - sum beta), with equality where beta_i > 0.
    """
    signed = problem.signed
    size = float(np.sqrt((signed**2).sum(axis=1).max()))
    if size == 0:
        return None
    rows = np.vstack([signed.T, np.full(problem.n, size)])
    try:
        beta, _ = nnls(rows, np.append(np.zeros(problem.k), size), maxiter=10 * problem.n)
    except RuntimeError:  # no end in sight: then there is no proof from here
        return None
    margin = size**2 * (1 - float(beta.sum()))
    if margin <= SEPARATED * size**2:
        return None
    weight = signed.T @ (beta / margin)
    least = float((signed @ weight).min())
    return None if least <= 0 else HardMargin(weight[None] / min(least, 1.0), beta / margin)


# --- A conic SDP by an interior-point solver, handed back as a factor and as multipliers ---------


@dataclass(frozen=True, eq=False)
class ConicSolution:
    """What a solver found.

    Attributes
    ----------
    F : array (1 + r, k) or None
    said : str
        Solver and status.
    proof : StrengtheningBound or None
        At a penalty: the bound of the multipliers that were found.
    bound, penalty : float or None
        With a budget: the proven bound and the penalty that proves it.
    """

    F: Array | None
    said: str
    proof: StrengtheningBound | None = None
    bound: float | None = None
    penalty: float | None = None


def by_penalty(
    data: TrainingData | GramData,
    problem: LowRank,
    penalty: float,
    intercept: str,
    solver: str,
    time_limit: float | None,
) -> ConicSolution:
    """The SDP at a penalty through its dual, with the bound of the multipliers in closed form."""
    result = _solved(conic_sdp_dual(data, penalty=penalty, intercept=intercept), solver, time_limit)
    said = f"{result.solver}: {result.status}"
    F, proof = None, None
    if result.values:
        alpha = np.maximum(result.values["alpha"], 0.0)
        proof = problem.bound(
            np.maximum(result.values["gamma"], alpha**2 / penalty), alpha, penalty
        )
    outer = result.duals.get("outer")
    if outer is not None and outer[-1, -1] > 0:
        lifted = outer / outer[-1, -1]
        F = from_lifted(lifted[:-1, -1], lifted[:-1, :-1])
    return ConicSolution(F, said, proof)


def by_budget(
    data: TrainingData | GramData,
    budget: float,
    intercept: str,
    solver: str,
    time_limit: float | None,
) -> ConicSolution:
    """The SDP with a budget itself, with the bound of its certificate."""
    result = _solved(conic_sdp_budget(data, budget=budget, intercept=intercept), solver, time_limit)
    said = f"{result.solver}: {result.status}"
    F = None
    if result.values:
        w, W = result.values["w"], result.values["W"]
        weight = np.append(w, result.values["b"]) if "b" in result.values else w
        F = from_lifted(weight, symmetric(W) if W.ndim == 1 else W)
    bound = result.bound  # proven, whatever the verdict is
    penalty = result.certificate.facts.get("penalty")
    return ConicSolution(F, said, bound=bound, penalty=penalty)


def _solved(model: object, solver: str, time_limit: float | None) -> SolveResult:
    result = solve(model, solver, time_limit=time_limit)
    if result.status is Status.INTERRUPTED:  # a solver that keeps Ctrl-C to itself
        raise KeyboardInterrupt
    return result


# --- The rows of a conic path, one after the other: point, proof, and a solver where they differ


LEFT = 1e-3  # of the tolerance: what rounding may leave of it
LONGER = (1e-14, 1e-13, 1e-12, 1e-11)  # of w: what keeps points beyond their margin
FEASIBLE = "W = F'F, and z from its formula"
RANK = 1e-6  # of the trace of W: a part of W - w~ w~' that counts


@dataclass(eq=False)
class ConicRows:
    """Rows so far, the last point and the best multipliers.

    Penalties are visited in rising order, budgets in falling order.
    """

    data: TrainingData | GramData
    problem: LowRank
    intercept: str
    tolerance: float
    time_limit: float | None
    solver: str
    by_budget: bool
    rows: list[ConicRow] = field(default_factory=list)
    known: list[Spent] = field(default_factory=list)
    multipliers: StrengtheningBound | None = None  # the best so far; they travel, no bound does
    bound: float = -math.inf  # of the SDP at the penalty or budget of the row
    strengthening: Array | None = None
    hypotheses: Mapping[str, bool] = field(default_factory=dict)

    @property
    def parameter(self) -> str:
        """What is followed."""
        return "budget" if self.by_budget else "penalty"

    @cached_property
    def limit(self) -> HardMargin | None:
        """The machine that large penalties end at, if the classes can be separated."""
        return hard_margin_limit(self.problem)

    def visit(self, number: float) -> None:
        """Add the row of one penalty or budget."""
        started = time.perf_counter()
        deadline = None if self.time_limit is None else started + self.time_limit
        row = (self._budget if self.by_budget else self._penalty)(number, started, deadline)
        self.rows.append(row)

    # --- one penalty -----------------------------------------------------------------------------

    def _penalty(self, penalty: float, started: float, deadline: float | None) -> ConicRow:
        self._again_at(penalty)
        F = low_rank_minimum(self.problem, penalty, self._start(), deadline)
        self._keep_bound(F, penalty)
        if F.size > LARGE and not self._closed(self._value(F, penalty), self.bound):
            F = refined(self.problem, penalty, F, deadline)
            self._keep_bound(F, penalty)
        method, said = LOW_RANK, ""
        if not self._closed(self._value(F, penalty), self.bound) and self.limit is not None:
            F, method = self._at_hard_margin(self.limit, F, penalty)
        if not self._closed(self._value(F, penalty), self.bound):
            found = self._asked(
                lambda left: by_penalty(
                    self.data, self.problem, penalty, self.intercept, self.solver, left
                ),
                deadline,
            )
            said = found.said
            if self._keep(found.proof, penalty):
                method = INTERIOR
            if found.F is not None and self._value(found.F, penalty) < self._value(F, penalty):
                F, method = found.F, INTERIOR
        self.known = [Spent(penalty, F, self.problem.spent(F))]
        F = self._longer(F, penalty)
        value, most = self._value(F, penalty), self.problem.most_value(F, penalty)
        return self._row(penalty, None, value, most, self.bound, F, method, said, started)

    def _longer(self, F: Array, penalty: float) -> Array:
        """F; where points lie on their margin to rounding, with a w that keeps them beyond it.

        There z is 0 / 0, and may be anything up to 1: a w a rounding longer, or a little of the
        identity in W, proves it to be 0, or as good as 0.
        """
        value = self._value(F, penalty)
        if self.problem.most_value(F, penalty) - value <= LEFT * self.tolerance * value:
            return F
        little = math.sqrt(LEFT * self.tolerance / self.problem.k) * float(np.linalg.norm(F))
        candidates = [np.vstack([(1 + t) * F[:1], F[1:]]) for t in (0.0, *LONGER)]
        candidates.append(np.vstack([F, little * np.eye(self.problem.k)]))
        return min(candidates, key=lambda other: self.problem.most_value(other, penalty))

    def _at_hard_margin(self, limit: HardMargin, F: Array, penalty: float) -> tuple[Array, str]:
        bound = self.bound
        self._keep(self.problem.bound(limit.alpha**2 / penalty, limit.alpha, penalty), penalty)
        if self._value(limit.F, penalty) < self._value(F, penalty):
            return limit.F, HARD_MARGIN
        return F, HARD_MARGIN if self.bound > bound else LOW_RANK

    def _keep_bound(self, F: Array, penalty: float) -> None:
        self._keep(self.problem.proof(F, penalty), penalty)

    def _keep(self, proof: StrengtheningBound | None, penalty: float) -> bool:
        """Take the better bound; whether it was this one."""
        if proof is None or not proof.value > self.bound:
            return False
        self.multipliers, self.bound, self.strengthening = proof, proof.value, proof.gamma
        self.hypotheses = proof.hypotheses(penalty)
        return True

    def _again_at(self, penalty: float) -> None:
        """The bound of the last multipliers at this penalty, computed anew."""
        last, self.bound, self.strengthening = self.multipliers, -math.inf, None
        if last is not None:
            self.multipliers = None
            self._keep(self.problem.bound(last.gamma, last.alpha, penalty), penalty)

    def _value(self, F: Array, penalty: float) -> float:
        return self.problem.value_and_gradient(F, penalty)[0]

    # --- one budget ------------------------------------------------------------------------------

    def _budget(self, budget: float, started: float, deadline: float | None) -> ConicRow:
        spend = rounded_down(Fraction(budget) * self.data.n)
        found = point_of_spend(
            self.problem, spend, known=self.known, tolerance=self.tolerance, deadline=deadline
        )
        self.known = [*self.known[-1:], found]
        F, lower = self._within(found, spend)
        if found.F.size > LARGE and not self._closed(float((F * F).sum()), lower):
            sharper = refined(self.problem, found.penalty, found.F, deadline)
            F, lower = self._within(
                Spent(found.penalty, sharper, self.problem.spent(sharper)), spend
            )
        penalty = found.penalty
        method, said = LOW_RANK, ""
        if not self._closed(float((F * F).sum()), lower):
            other = self._asked(
                lambda left: by_budget(self.data, budget, self.intercept, self.solver, left),
                deadline,
            )
            said = other.said
            if other.bound is not None and other.bound > lower:
                lower, self.strengthening, method = other.bound, None, INTERIOR
                self.hypotheses = {"the bound of the SDP is proven by its certificate": True}
                penalty = penalty if other.penalty is None else other.penalty
            if other.F is not None:
                feasible = within_budget(self.problem, other.F, spend)
                if (feasible * feasible).sum() < (F * F).sum():
                    F, method = feasible, INTERIOR
        value = float((F * F).sum())
        kept = self.problem.most_spent(F) <= spend
        most = most_squares(F) if kept else math.inf
        return self._row(penalty, budget, value, most, lower, F, method, said, started)

    def _within(self, found: Spent, spend: float) -> tuple[Array, float]:
        """A point that keeps the budget, and the bound of its penalty, whose gamma is kept."""
        lower, self.strengthening = 0.0, np.zeros(self.data.n)
        self.hypotheses = {"W is semidefinite: its trace is not negative": True}
        proof = self.problem.proof(found.F, found.penalty)
        if proof is not None:
            value = budget_value(proof.value, found.penalty, spend)
            if value > lower:
                lower, self.strengthening = value, proof.gamma
                self.hypotheses = proof.hypotheses(found.penalty)
        return within_budget(self.problem, found.F, spend), lower

    # --- both ------------------------------------------------------------------------------------

    def _start(self) -> Array | None:
        return self.known[-1].F if self.known else None

    def _asked(
        self, ask: Callable[[float | None], ConicSolution], deadline: float | None
    ) -> ConicSolution:
        left = None if deadline is None else deadline - time.perf_counter()
        if left is not None and left <= 0:
            return ConicSolution(None, said="time limit")
        try:
            return ask(left)
        except RefusedError as refusal:  # the row says so; the others may need no solver
            return ConicSolution(None, said=str(refusal))

    def _closed(self, value: float, lower: float) -> bool:
        """Whether the row needs no more work."""
        return closes(value, lower) and value - lower <= self.tolerance * abs(value)

    def _compared(self, most: float, lower: float, said: str) -> tuple[float, str]:
        """Bound and words; a bound above what the point attains is none, and the words say so."""
        if lower <= most:
            return lower, said
        self.multipliers, self.strengthening = None, None
        words = f"the bound {lower:.9g} exceeds the value {most:.9g}: neither is proven"
        return -math.inf, f"{said}; {words}" if said else words

    def _row(
        self, penalty: float, budget: float | None, value: float, most: float, lower: float,
        F: Array, method: str, said: str, started: float,
    ) -> ConicRow:  # fmt: skip
        lower, said = self._compared(most, lower, said)
        entry = ("conic_sdp", penalty) if budget is None else ("conic_sdp_budget", budget)
        subject = (*entry, self.data.sha256, self.intercept)
        lemma = Lemma(lower, PROOF, self.hypotheses) if math.isfinite(lower) else None
        z, weight, n = self.problem.z(F), F[0], self.data.n
        parts = np.linalg.svd(F[1:], compute_uv=False) ** 2
        gamma = np.full(n, np.nan) if self.strengthening is None else self.strengthening
        has_intercept = self.intercept != "none"
        return ConicRow(
            penalty=penalty,
            budget=float(z.sum()) / n if budget is None else budget,
            spent=float(z.sum()) / n,
            objective=value,
            attained=point_by_formula(subject, value, excess(most, value), FEASIBLE),
            below=by_lemma(subject, lemma),
            tolerance=self.tolerance,
            method=method,
            stop=said,
            w=weight[:-1] if has_intercept else weight,
            b=float(weight[-1]) if has_intercept else 0.0,
            factor=F,
            z=z,
            strengthening=gamma,
            rank=int((parts > RANK * float((F * F).sum())).sum()),
            errors=int((self.problem.signed @ weight <= 0).sum()),
            seconds=time.perf_counter() - started,
            lemma=lemma,
        )


MODES = ("penalised", "none")


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
    refuse_free_intercept(intercept)
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
    problem = low_rank_problem(data, intercept)
    if penalties is None and budgets is None:
        penalties = penalty_grid(data, intercept=intercept).tolist()
    wanted = _wanted(problem, penalties, None if budgets is None else list(budgets))
    path = ConicRows(data, problem, intercept, tolerance, time_limit, solver, budgets is not None)
    waiting = list(wanted)
    with telling("conic path", progress) as say:
        while waiting:
            say(f"{path.parameter} {waiting[0]:.4g}, {len(waiting)} of {len(wanted)} to go")
            try:
                path.visit(waiting[0])
            except KeyboardInterrupt:
                if not path.rows:
                    raise
                break
            waiting.pop(0)
    return ConicPath(tuple(path.rows), path.parameter, data, intercept, tolerance, tuple(waiting))


def _wanted(
    problem: LowRank, penalties: Iterable[float] | None, budgets: Iterable[float] | None
) -> list[float]:
    """Rising penalties, or falling budgets, checked."""
    if penalties is not None:
        found = sorted({positive("penalty", penalty) for penalty in penalties})
    else:
        found = sorted({budget_share(budget) for budget in budgets or ()}, reverse=True)
        for budget in found:
            refuse_unreachable(problem, budget * problem.n)
    if not found:
        raise ValueError(f"{'penalties' if budgets is None else 'budgets'} is empty: name one")
    return found


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
    refuse_free_intercept(intercept)
    first, last = (budget_share(budget) for budget in budgets)
    if not first > last:
        raise ValueError(f"budgets must fall, got {budgets!r}")
    problem = low_rank_problem(data, intercept)
    for budget in (first, last):
        refuse_unreachable(problem, budget * data.n)
    start = point_of_spend(problem, first * data.n, tolerance=1e-3)
    end = point_of_spend(problem, last * data.n, known=[start], tolerance=1e-3)
    return np.geomspace(start.penalty, end.penalty, count)


def refuse_free_intercept(intercept: str) -> None:
    """Raise ValueError for a free intercept, with what would work."""
    if intercept == "free":
        raise ValueError(
            "a conic path needs intercept=penalised or none: with a free intercept W_bb has no "
            "price, only its bound; solve conic_sdp_dual with intercept_bound value by value"
        )
    one_of("intercept", intercept, MODES)


def low_rank_problem(data: TrainingData | GramData, intercept: str) -> LowRank:
    """The low-rank form on the points with their constant entry."""
    return LowRank(data.y[:, None] * augmented(data, intercept))
