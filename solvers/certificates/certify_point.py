"""A claim with a point: its objective, its bound, and what the kernel makes of the two."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np

from tightmargin.formulations.catalogue import PaperCheck, ProblemClass
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.named_values import named_values, point_with
from tightmargin.solvers.certificates.case import (
    CLAIM_TOLERANCE,
    FEASIBILITY_TOLERANCE,
    Case,
    Certified,
    onto_bounds,
)
from tightmargin.solvers.certificates.exponential.bound import exponential_bound
from tightmargin.solvers.certificates.kkt import curvature_facts, matrix_facts
from tightmargin.solvers.certificates.model_bound import Bound, model_bound
from tightmargin.solvers.certificates.multiplier_search import EarlyBound
from tightmargin.solvers.certificates.upper_end import upper_end
from tightmargin.solvers.certificates.zero_optimum import NEARLY_ZERO
from tightmargin.solvers.exact_arithmetic import rounded_down
from tightmargin.solvers.execution.claim import Claim, Status
from tightmargin.solvers.execution.deadline import is_over
from tightmargin.solvers.methods import (
    bounds_of,
    closing_bound,
    ends_at_a_point,
    relaxation_bound,
)
from tightmargin.solvers.proofs.exact_qp import exact_qp_bound
from tightmargin.solvers.proofs.lemma import by_lemma
from tightmargin.solvers.proofs.statement import FeasiblePoint, LowerBound
from tightmargin.solvers.proofs.verdict import Judgement, Verdict
from tightmargin.solvers.result import EXACT_BOUND, EXACT_UPPER, Certificate
from tightmargin.solvers.standard_form.residuals import own_residual, primal_residual

NEARLY_ONE = 1e-2
FamilyBound = Callable[[], LowerBound | None]
_CONVEX = (ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP)


def certify_point(case: Case, claim: Claim, *, closing: bool = True) -> Certified:
    """Check a claim with a point; starts no solver when the claim has multipliers.

    Parameters
    ----------
    closing : bool
        Whether bounds of the formulation's own (enumeration, the SDP relaxation) are asked for
        where the model's bound leaves a gap.
    """
    assert claim.x is not None
    x = onto_bounds(case.form, claim.x)
    claim = replace(claim, x=x)
    check = case.paper_check(x)
    if check is not None:
        x = point_with(case.model, case.form, x, check.repaired)
    objective = check.objective if check is not None else case.form.value(x)
    residual, worst = _residual(case, x)
    residual = max(residual, check.violation if check is not None else 0.0)
    of_family = _family_bound(case, claim, check, closing=closing)
    bound = _proven_bound(case, claim, check, objective, of_family)
    point = None
    known = claim.point if claim.point is not None and claim.point.exact else None
    if known is not None and known.x is not None and np.array_equal(known.x, x):
        point = known
    elif residual <= FEASIBILITY_TOLERANCE and math.isfinite(objective):
        point = _better(upper_end(case, x, bound.proof, check), known)
    if point is not None and point.exact:
        assert point.x is not None
        x, residual = point.x, 0.0
        objective = point.value(case.constant)  # a sum of doubles that cancel leaves no digit
        if of_family is not None and not case.closes(objective, bound.proof):
            # What closed the gap to a point that misses its rows need not close that to this one.
            bound = bound.better(of_family())
        if case.has_constant and not case.closes(objective, bound.proof):
            bound = bound.better(_at_the_point(case, point))
    certificate = Certificate(
        verdict=Verdict.NOT_CERTIFIED,
        level="model" if check is None else "paper",
        primal_residual=residual,
        dual_residual=_dual_residual(bound),
        complementarity=bound.residuals.get("complementarity"),
        upper=point.value(case.constant) if point is not None and point.exact else None,
        bound=bound.value(case.constant),
        bound_method=bound.method,
        solver_bound=claim.bound,
        unproven="" if check is None else check.unproven,
        facts=_facts(case, x, bound)
        | _exact_ends(case, point, bound)
        | ({} if check is None else dict(check.facts)),
    )
    found = Certified(claim.status, x, objective, certificate, point=point, lower=bound.proof)
    return _judge(case, claim, found, worst, bound)


def _at_the_point(case: Case, point: FeasiblePoint) -> LowerBound | None:
    """The bound of a point at which the objective has its least value anywhere, as of fits of 0.

    Beside the constant that squares leave, roundings would hide it.
    """
    assert point.x is not None
    x = dict(enumerate(map(Fraction, point.x.tolist()))) | dict(point.rational)
    found = exact_qp_bound(case.subject, x, {})
    return found if case.judged(point, found).verdict is Verdict.CERTIFIED else None


def _family_bound(
    case: Case, claim: Claim, check: PaperCheck | None, *, closing: bool
) -> FamilyBound | None:
    """The bound of the formulation's own cheaper search, made when it is first asked for."""
    if check is None or not closing:
        return None
    family = bounds_of(case.origin)
    if family is None or (check.unproven and not family.early):
        return None  # a bound on the paper's problem is none on a model whose M may cut it off

    @cache
    def found() -> LowerBound | None:
        if is_over():
            return None
        values = None if claim.x is None else named_values(case.model, case.form, claim.x)
        return by_lemma(case.form, closing_bound(case.origin, values), case.constant)

    return found


def _proven_bound(
    case: Case,
    claim: Claim,
    check: PaperCheck | None,
    objective: float,
    of_family: FamilyBound | None,
) -> Bound:
    """The best bound: of model, formula or search; dearer ones where a gap is left."""
    searched = by_lemma(case.form, claim.lemma, case.constant)
    # What a search has closed needs no multipliers that a solver would be asked for.
    closed = claim.duals is None and case.closes(objective, searched)
    if claim.proof is not None and claim.duals is None:
        bound = Bound()
    else:
        early = None if of_family is None else _early(case, objective, of_family)
        bound = Bound() if closed else _of_model(case, claim, early)
    bound = bound.better(claim.proof)
    if check is not None:
        bound = bound.better(by_lemma(case.form, check.bound, case.constant))
    if of_family is not None:
        bound = _closing(case, claim, objective, bound, of_family)
    return bound.better(searched)


def _of_model(case: Case, claim: Claim, early: EarlyBound | None) -> Bound:
    assert claim.x is not None
    if case.form.nonlinear:
        return exponential_bound(case, claim.x)
    return model_bound(case, claim, early)


def _early(case: Case, objective: float, of_family: FamilyBound) -> EarlyBound | None:
    """The family's bound, and whether it closes the gap; None where multipliers are cheaper."""
    family = bounds_of(case.origin)
    if family is None or not family.early:
        return None

    def found() -> tuple[LowerBound | None, bool]:
        bound = of_family()
        return bound, case.closes(objective, bound)

    return found


def _better(found: FeasiblePoint | None, known: FeasiblePoint | None) -> FeasiblePoint | None:
    """The exact one of a point and one that is known to be exact; the cheaper one of two."""
    if found is None or known is None:
        return found or known
    return found if found.exact and found.end <= known.end else known


def _closing(
    case: Case,
    claim: Claim,
    objective: float,
    bound: Bound,
    of_family: FamilyBound,
) -> Bound:
    """Bounds of the formulation's own, cheapest first, until the gap is closed."""
    if not case.closes(objective, bound.proof):
        bound = bound.better(of_family())
    if case.closes(objective, bound.proof) or claim.status is Status.INTERRUPTED:
        return bound
    lemma, facts = relaxation_bound(case.origin, case.limits)
    return bound.better(by_lemma(case.form, lemma, case.constant), facts)


def _residual(case: Case, x: Array) -> tuple[float, str]:
    """Largest relative violation and where, also in numbers near 1 where the data are not.

    A bound of 1e-16 is far from met at 1e-10, and only its scaled form says so.
    """
    found = primal_residual(case.form, x)
    if case.scaling is None:
        return found
    return max(found, primal_residual(case.scaling.form, x / case.scaling.columns))


def _facts(case: Case, x: Array, bound: Bound) -> dict[str, object]:
    named = {k: v for k, v in bound.residuals.items() if k != "complementarity"}
    curvature = curvature_facts(case.form, case.classification)
    matrices = matrix_facts(case.form, x)
    allowed = case.limits.absolute_gap
    asked = {"absolute_gap": allowed} if allowed else {}
    return asked | named | curvature | matrices | dict(bound.facts)


def _exact_ends(case: Case, point: FeasiblePoint | None, bound: Bound) -> dict[str, object]:
    """The proven ends as rational numbers, where the doubles beside them had to be rounded."""
    ends: dict[str, Fraction] = {}
    if point is not None and point.exact:
        ends[EXACT_UPPER] = Fraction(point.end)
    if bound.proof is not None:
        ends[EXACT_BOUND] = bound.proof.end
    left_out = case.constants[0]
    whole = {name: end + left_out for name, end in ends.items()}
    return {name: str(end) for name, end in whole.items() if end != rounded_down(end)}


def _dual_residual(bound: Bound) -> float | None:
    parts = [bound.residuals.get(word) for word in ("stationarity", "dual_cone_violation")]
    return max((part for part in parts if part is not None), default=None)


def _judge(case: Case, claim: Claim, found: Certified, worst: str, bound: Bound) -> Certified:
    """Verdict and final status."""
    certificate, objective = found.certificate, found.objective
    assert objective is not None
    judgement = case.judged(found.point, bound.proof)
    unit = {} if judgement.unit is None else {"unit": judgement.unit}
    certificate = replace(certificate, gap=judgement.gap, facts={**unit, **certificate.facts})

    def verdict(kind: Verdict, reason: str = "", status: Status = claim.status) -> Certified:
        final = replace(certificate, verdict=kind, reason=reason)
        doubtful = certificate.unproven and not claim.searched  # a search needs no M of the model
        if case.classification.problem_class not in _CONVEX and doubtful:
            final = replace(
                final,
                verdict=Verdict.NOT_CERTIFIED,
                reason=f"upper bound only: {certificate.unproven}",
                bound=None,
                gap=None,
            )
            status = Status.FEASIBLE
        return replace(found, status=status, certificate=final)

    refusal = _refusal_of_point(case, claim, found, worst)
    if refusal is not None:
        feasible, reason, status = refusal
        refused = verdict(Verdict.NOT_CERTIFIED, reason, status)
        if feasible:
            return refused
        return replace(refused, objective=None, certificate=replace(refused.certificate, gap=None))
    if judgement.verdict in (Verdict.CERTIFIED, Verdict.WITHIN_TOLERANCE):
        return verdict(judgement.verdict, judgement.reason, Status.OPTIMAL)
    if judgement.contradiction:
        return verdict(Verdict.NOT_CERTIFIED, judgement.reason, Status.INACCURATE)
    closed = case.closes(objective, bound.proof)
    if claim.searched or case.classification.convex or closed:
        unclosed = Status.FEASIBLE if claim.searched else Status.INACCURATE
        return verdict(
            Verdict.NOT_CERTIFIED,
            (bound.reason if bound.proof is None else "") or _words(case, judgement),
            unclosed if claim.status is Status.OPTIMAL else claim.status,
        )
    doubt = _doubt(case, claim, certificate, objective)
    if doubt is not None:
        return verdict(Verdict.NOT_CERTIFIED, *doubt)
    if claim.bound is None:
        words = "a feasible point without a bound: the solver claims none"
        return verdict(Verdict.NOT_CERTIFIED, judgement.reason if claim.proof else words)
    return verdict(Verdict.SOLVER_BOUND, _missed(found))


def _missed(found: Certified) -> str:
    """That a claim's point is not proven to be feasible; empty where it is."""
    if found.point is not None and found.point.exact:
        return ""
    missed = found.certificate.primal_residual
    size = f"by {missed:.1e} of a row's size at most" if missed else "by a rounding at most"
    return f"the point may miss rows {size}: points that miss none may all cost more"


def _words(case: Case, judgement: Judgement) -> str:
    """Why a point is not proven to be an optimum."""
    words, unit, share = judgement.reason, judgement.unit, judgement.gap
    # Beside an optimum of 0 the share of a gap is large; the size of the objective takes a while.
    wide = unit is not None and unit > 0 and (share is None or share > NEARLY_ONE)
    if wide and unit is not None and unit <= NEARLY_ZERO * case.scale(unit):
        words += "; the optimum may be 0, and absolute_gap says what is small enough beside that"
    return words


def _refusal_of_point(
    case: Case, claim: Claim, found: Certified, worst: str
) -> tuple[bool, str, Status] | None:
    """Whether a point keeps its objective, what is wrong with it, and the status; None if right."""
    residual, objective = found.certificate.primal_residual, found.objective
    assert objective is not None
    assert residual is not None
    if residual > FEASIBILITY_TOLERANCE:
        reason = f"infeasible by {residual:.2e} of the row's size ({worst})"
        stopped = claim.status is Status.INTERRUPTED
        return False, reason, Status.INTERRUPTED if stopped else Status.INACCURATE
    if not math.isfinite(objective):
        return False, f"the objective is {objective} at the point", Status.INACCURATE
    if found.point is not None and found.point.exact:
        return None
    assert found.x is not None
    own, where = own_residual(case.form, found.x)
    if own > FEASIBILITY_TOLERANCE:
        # Multipliers of points in units of 1e-8 are of size 1e16, and their sum is 0 as far as
        # anybody can tell: linear rows may be met in the numbers of the model scaled towards 1.
        own, where = own_residual(case.form, found.x, case.factors)
    if own > FEASIBILITY_TOLERANCE:
        reason = f"feasible only beside terms that cancel: {where} is missed by {own:.2e}"
        return True, reason, Status.INACCURATE
    return None


def _doubt(
    case: Case, claim: Claim, certificate: Certificate, objective: float
) -> tuple[str, Status] | None:
    """What speaks against the bound that a solver claims, and the status that is left."""
    if claim.contradictions:
        said = " and ".join(claim.contradictions)
        return f"the solver contradicts itself: {said}", Status.INACCURATE
    wide, sense = CLAIM_TOLERANCE * case.scale(objective), case.form.sense
    beyond, short = ("exceeds", "below") if sense == 1 else ("is below", "above")
    value, said = f"{sense * objective:.9g}", "None"
    if claim.bound is not None:
        said = f"{sense * claim.bound:.9g}"
        if claim.bound > objective + wide:
            words = f"the solver's bound {said} {beyond} a feasible value {value}"
            return words, Status.INACCURATE
    if claim.status is Status.OPTIMAL and (claim.bound is None or objective - claim.bound > wide):
        return f"the solver says optimal with bound {said} {short} {value}", Status.FEASIBLE
    own, method = certificate.bound, certificate.bound_method
    if own is None or claim.bound is None or not ends_at_a_point(method):
        return None  # what ends at a point is the optimum, and no true bound is above that
    words = f"the solver's bound {said} {beyond} the optimum {own:.9g} by {method}"
    return (words, Status.FEASIBLE) if claim.bound > own + wide else None
