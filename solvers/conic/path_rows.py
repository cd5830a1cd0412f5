"""The rows of a conic path, one after the other: point, proof, and a solver where they differ."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from tightmargin.formulations.common.rounded_sums import excess, most_squares
from tightmargin.formulations.conic.closed_form_bound import StrengtheningBound, budget_value
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.solvers.conic.budget_search import Spent, point_of_spend, within_budget
from tightmargin.solvers.conic.hard_margin_limit import HardMargin, hard_margin_limit
from tightmargin.solvers.conic.interior_point import ConicSolution, by_budget, by_penalty
from tightmargin.solvers.conic.low_rank import LowRank
from tightmargin.solvers.conic.low_rank_minimum import LARGE, low_rank_minimum, refined
from tightmargin.solvers.conic.path_result import (
    HARD_MARGIN,
    INTERIOR,
    LOW_RANK,
    PROOF,
    ConicRow,
)
from tightmargin.solvers.errors import RefusedError
from tightmargin.solvers.exact_arithmetic import rounded_down
from tightmargin.solvers.proofs.gap import closes
from tightmargin.solvers.proofs.lemma import by_lemma, point_by_formula

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
