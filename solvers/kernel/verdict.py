"""The verdict: a pure function of proofs, and the only place that says CERTIFIED.

CERTIFIED          an exactly feasible point of objective at most alpha, a lower bound beta, and
                   alpha - beta <= 1e-6 * unit (statement.py); or no point, or no least value,
                   proven
WITHIN_TOLERANCE   the same bound and gap, and a point that misses rows by at most 1e-9 once the
                   largest coefficient of each is 1: it is no feasible point and no cutoff
SOLVER_BOUND       a point that is feasible as far as solvers promise, and a solver's bound
NOT_CERTIFIED      everything else, with what is proven
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from tightmargin.printing import Printed
from tightmargin.solvers.exact import rounded_up
from tightmargin.solvers.kernel import statement as gaps
from tightmargin.solvers.kernel.points import constant_of
from tightmargin.solvers.kernel.statement import (
    FeasiblePoint,
    Infeasible,
    LowerBound,
    Proof,
    Unbounded,
)

NOTHING = Fraction(0)
NEAR = 1e-9  # what WITHIN_TOLERANCE allows a row to be missed by


class Verdict(StrEnum):
    """How far our own computation confirms a result, best first."""

    CERTIFIED = "CERTIFIED"
    WITHIN_TOLERANCE = "WITHIN_TOLERANCE"
    SOLVER_BOUND = "SOLVER_BOUND"
    NOT_CERTIFIED = "NOT_CERTIFIED"

    @property
    def closed(self) -> bool:
        """Whether a proven bound meets the objective: CERTIFIED, or WITHIN_TOLERANCE."""
        return self in (Verdict.CERTIFIED, Verdict.WITHIN_TOLERANCE)


@dataclass(frozen=True, repr=False)
class Judgement(Printed):
    """What proofs amount to.

    reason: why it is not CERTIFIED; empty where it is.
    gap: (alpha - beta) / unit, at least 0; None without a point or a bound.
    unit: what the gap is measured against, see kernel/statement.py.
    contradiction: whether the point lies below the bound by more than it may: one of the two is
        wrong, or the point is none.
    """

    verdict: Verdict
    reason: str = ""
    gap: float | None = None
    unit: float | None = None
    contradiction: bool = False


def judged(
    point: FeasiblePoint | None,
    bound: LowerBound | None,
    *,
    tolerance: float = gaps.CLOSED,
    absolute_gap: float = 0.0,
    expanded: Fraction = NOTHING,
) -> Judgement:
    """The verdict on an optimum.

    point, bound, proofs of one subject, or None.
    tolerance: of the unit: smaller than the project's 1e-6 where a caller promised more.
    absolute_gap: in the units of the objective: a gap of so much is closed too.
    expanded: what squares that are columns of the model would add to the constant if they were
        expanded: the unit is the one with it where that is smaller, so that no caller can make it
        larger.
    Raises ValueError: the two speak of different subjects: what is true of one says nothing of the
        other. Or the tolerance is no share, or larger than what CERTIFIED means.
    """
    if not 0 <= tolerance <= gaps.CLOSED:
        raise ValueError(f"tolerance: a verdict allows 0 to {gaps.CLOSED:g}, got {tolerance!r}")
    if point is None:
        return Judgement(Verdict.NOT_CERTIFIED, "no feasible point is proven")
    if bound is None:
        return Judgement(Verdict.NOT_CERTIFIED, "no bound is proven")
    if point.subject != bound.subject:
        raise ValueError(
            "point and bound are proven of different models: together they say nothing"
        )
    if not math.isfinite(point.varying):
        return Judgement(Verdict.NOT_CERTIFIED, f"the objective is {point.varying} at the point")
    left_out, constant = constant_of(point.subject)
    alpha, beta = Fraction(point.end) + left_out, bound.end + left_out
    constants = {constant, constant + expanded}
    exact_unit = min(gaps.exact_unit(alpha, beta, k) for k in constants)
    allowed, unit = Fraction(tolerance) * exact_unit, float(exact_unit)
    if alpha < beta:
        # No exact point lies below a bound; one that is off its rows may.
        words = f"off its rows the point lies {float(beta - alpha):.2e} below every feasible one"
        if point.exact:
            ends = f"{float(alpha)!r} contradicts the bound {float(beta)!r}"
            words = f"the exact point at {ends}: a proof is wrong"
        if point.exact or beta - alpha > allowed:
            return Judgement(Verdict.NOT_CERTIFIED, words, None, unit, contradiction=True)
    open_gap = max(Fraction(0), alpha - beta)
    share = rounded_up(open_gap / exact_unit) if open_gap else 0.0  # a unit of 0 leaves no gap
    if open_gap > allowed and open_gap > absolute_gap:
        words = f"the proven gap is {float(open_gap):.2e}, {share:.2e} of its unit {unit:.2e}"
        return Judgement(Verdict.NOT_CERTIFIED, words, share, unit)
    return _closed(point, share, unit)


def _closed(point: FeasiblePoint, share: float, unit: float) -> Judgement:
    """The verdict where the gap is closed: it is that of the point."""
    if point.exact:
        return Judgement(Verdict.CERTIFIED, "", share, unit)
    words = f"{point.worst or 'a row'} is missed by {point.eps:.2e} of its largest coefficient"
    near = point.eps <= NEAR
    return Judgement(
        Verdict.WITHIN_TOLERANCE if near else Verdict.NOT_CERTIFIED,
        words if near else f"the point is not feasible: {words}",
        share,
        unit,
    )


def judged_without_optimum(proof: Infeasible | Unbounded) -> Judgement:
    """The verdict on a model that has no point, or no least value."""
    if isinstance(proof, Unbounded) and proof.eps > 0:
        near = proof.eps <= NEAR
        words = f"the ray is exact, and its first point misses a row by {proof.eps:.2e}"
        return Judgement(Verdict.WITHIN_TOLERANCE if near else Verdict.NOT_CERTIFIED, words)
    assert isinstance(proof, Proof)
    return Judgement(Verdict.CERTIFIED)


def weakest(verdicts: Iterable[Verdict | str]) -> Verdict:
    """The verdict on several results together: that of the weakest; NOT_CERTIFIED of none."""
    order = list(Verdict)
    found = [Verdict(str(verdict)) for verdict in verdicts]
    return max(found, key=order.index, default=Verdict.NOT_CERTIFIED)
