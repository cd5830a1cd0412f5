"""What our own computation confirms of a solver's claim."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.canonical_form.named_values import named_values, point_with
from tightmargin.solvers.certificates.case import (
    CLAIM_TOLERANCE,
    FEASIBILITY_TOLERANCE,
    Case,
    Certified,
    onto_bounds,
)
from tightmargin.solvers.certificates.fixed_integers import fixed_case, solve_fixed
from tightmargin.solvers.certificates.kkt import curvature_facts, gained, matrix_facts
from tightmargin.solvers.certificates.model_bound import NEARLY_ZERO, Bound, model_bound
from tightmargin.solvers.certificates.no_optimum import no_optimum, without_point
from tightmargin.solvers.certificates.zero_optimum import zero_point
from tightmargin.solvers.execution.claim import Claim
from tightmargin.solvers.methods import closing_bound, ends_at_a_point, relaxation_bound
from tightmargin.solvers.proofs import gap
from tightmargin.solvers.proofs.verdict import Verdict
from tightmargin.solvers.result import Certificate, Status
from tightmargin.solvers.standard_form.residuals import own_residual, primal_residual

_CONVEX = (ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP)


def certify(case: Case, claim: Claim) -> Certified:
    """Check a claim against the model, and an unedited catalogue model against its paper."""
    if claim.x is None:
        return without_point(case, claim)
    if not np.isfinite(claim.x).all():
        k = int(np.flatnonzero(~np.isfinite(claim.x))[0])
        reason = f"the solver returned {claim.x[k]} for {case.form.columns.name(k)}"
        certificate = Certificate(Verdict.NOT_CERTIFIED, reason, level=case.level)
        return Certified(Status.ERROR, None, None, certificate)
    found = _at_zero(case, claim, certify_point(case, claim))
    if _is_halfway(case, found, claim):
        # Active-set and first-order codes call some models optimal that have no optimum.
        boundless = found.certificate.bound is None
        return no_optimum(case, unbounded_too=boundless) or found
    if _is_open(case, found, claim):
        found = _with_integers_fixed(case, claim, found)
    return found


def _at_zero(case: Case, claim: Claim, found: Certified) -> Certified:
    """The certificate of a simple point near by whose objective is 0, where that closes the gap."""
    certificate, constant = found.certificate, case.constant
    if certificate.verdict is Verdict.CERTIFIED or found.objective is None or found.x is None:
        return found
    varying = found.objective - constant
    if abs(varying) > NEARLY_ZERO * case.scale(varying) or certificate.bound != constant:
        return found
    point = zero_point(case.form, found.x)
    if point is None:
        return found
    again = certify_point(case, replace(claim, x=point), closing=False)
    return again if again.certificate.verdict is Verdict.CERTIFIED else found


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
    # What a search has closed needs no multipliers that a solver would be asked for.
    closed = claim.duals is None and case.closes(objective, claim.proven)
    bound = Bound() if closed else model_bound(case, claim)
    if check is not None:
        bound = bound.better(check.bound, check.bound_method)
        if closing and not check.unproven:
            bound = _closing(case, claim, objective, bound)
    if claim.proven is not None:
        bound = bound.better(claim.proven, claim.proof)
    certificate = Certificate(
        verdict=Verdict.NOT_CERTIFIED,
        level="model" if check is None else "paper",
        primal_residual=residual,
        dual_residual=_dual_residual(bound),
        complementarity=bound.residuals.get("complementarity"),
        gap=relative_gap(case, objective, bound.value),
        bound=bound.value,
        bound_method=bound.method,
        solver_bound=claim.bound,
        unproven="" if check is None else check.unproven,
        facts=_facts(case, x, objective, bound) | ({} if check is None else dict(check.facts)),
    )
    return _judge(case, claim, Certified(claim.status, x, objective, certificate), worst, bound)


def _residual(case: Case, x: Array) -> tuple[float, str]:
    """Largest relative violation and where, also in numbers near 1 where the data are not.

    A bound of 1e-16 is far from met at 1e-10, and only its scaled form says so.
    """
    found = primal_residual(case.form, x)
    if case.scaling is None:
        return found
    return max(found, primal_residual(case.scaling.form, x / case.scaling.columns))


def _own_residual(case: Case, found: Certified) -> tuple[float, str]:
    """Largest violation in the rows' own numbers, see residuals.py."""
    assert found.x is not None
    own = own_residual(case.form, found.x)
    if own[0] <= FEASIBILITY_TOLERANCE:
        return own
    # Multipliers of points in units of 1e-8 are of size 1e16, and their sum is 0 as far as anybody
    # can tell: linear rows may be met in the numbers of the model scaled towards 1.
    return own_residual(case.form, found.x, case.factors)


def stands(case: Case, found: Certified) -> bool:
    """Whether a point is feasible in its rows' own numbers, and a bound may make it an optimum."""
    return _own_residual(case, found)[0] <= FEASIBILITY_TOLERANCE


def _closing(case: Case, claim: Claim, objective: float, bound: Bound) -> Bound:
    """Bounds of the formulation's own, cheapest first, until the gap is closed."""
    if not case.closes(objective, bound.value):
        values = None if claim.x is None else named_values(case.model, case.form, claim.x)
        bound = bound.better(*closing_bound(case.origin, values))
    if case.closes(objective, bound.value) or claim.status is Status.INTERRUPTED:
        return bound
    return bound.better(*relaxation_bound(case.origin, case.limits))


def _facts(case: Case, x: Array, objective: float, bound: Bound) -> dict[str, object]:
    named = {k: v for k, v in bound.residuals.items() if k != "complementarity"}
    curvature = curvature_facts(case.form, case.classification)
    matrices = matrix_facts(case.form, x)
    allowed = case.limits.absolute_gap
    asked = {"absolute_gap": allowed} if allowed else {}
    unit = {"unit": case.unit(objective, bound.value)}
    return unit | asked | named | curvature | matrices | dict(bound.facts)


def _dual_residual(bound: Bound) -> float | None:
    parts = [bound.residuals.get(word) for word in ("stationarity", "dual_cone_violation")]
    return max((part for part in parts if part is not None), default=None)


def relative_gap(case: Case, objective: float, bound: float | None) -> float | None:
    """Gap over the unit of gap.py; None where the bound is above the objective, which is a flag."""
    if bound is None or case.exceeds(objective, bound):
        return None
    open_gap = max(objective - bound, 0.0)
    return open_gap / case.unit(objective, bound) if open_gap else 0.0


def _judge(case: Case, claim: Claim, found: Certified, worst: str, bound: Bound) -> Certified:
    """Verdict and final status."""
    certificate, objective = found.certificate, found.objective
    assert objective is not None
    assert certificate.primal_residual is not None

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
    if case.exceeds(objective, certificate.bound):
        reason = f"the proven bound {certificate.bound:.9g} exceeds the objective {objective:.9g}"
        return verdict(Verdict.NOT_CERTIFIED, reason, Status.INACCURATE)
    if case.closes(objective, certificate.bound):
        words = _why_off(case, claim, found)
        kind = Verdict.NOT_CERTIFIED if words else Verdict.CERTIFIED
        return verdict(kind, words, Status.INACCURATE if words else Status.OPTIMAL)
    if claim.searched or case.classification.convex:
        unclosed = Status.FEASIBLE if claim.searched else Status.INACCURATE
        return verdict(
            Verdict.NOT_CERTIFIED,
            bound.reason or open_gap_words(case, objective, certificate.bound),
            unclosed if claim.status is Status.OPTIMAL else claim.status,
        )
    doubt = _doubt(case, claim, certificate, objective)
    if doubt is not None:
        return verdict(Verdict.NOT_CERTIFIED, *doubt)
    if claim.bound is None:
        words = "a feasible point without a bound: the solver claims none"
        return verdict(Verdict.NOT_CERTIFIED, words)
    return verdict(Verdict.SOLVER_BOUND)


def _why_off(case: Case, claim: Claim, found: Certified) -> str:
    """Why a closed gap proves nothing: a point off its rows may be below every feasible one."""
    certificate, objective = found.certificate, found.objective
    assert found.x is not None
    if certificate.level == "paper" or objective is None or objective == case.constant:
        return ""  # a formula repaired it, or the bound of 0 is that of every point
    if claim.duals is None or not case.classification.relaxes_to_convex:
        return ""
    hidden = gained(case.conic, claim.duals, found.x)
    if case.closes(objective + hidden, certificate.bound):
        return ""
    return f"the point gains {hidden:.2e} by what it is off its rows, more than a gap may be"


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
    own, where = _own_residual(case, found)
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


def open_gap_words(case: Case, objective: float, bound: float | None) -> str:
    """Why a point is not proven to be an optimum."""
    if bound is None:
        return "no bound is proven"
    gap, unit = objective - bound, case.unit(objective, bound)
    words = f"the proven gap is {gap:.2e}, {gap / unit:.2e} of the larger of objective and bound"
    if unit <= NEARLY_ZERO * case.scale(objective - case.constant):
        words += "; the optimum may be 0, and absolute_gap says what is small enough beside that"
    return words


def _is_halfway(case: Case, found: Certified, claim: Claim) -> bool:
    """Whether a finished solve of a convex model has no feasible point, or no proven bound."""
    finished = claim.status in (Status.OPTIMAL, Status.INACCURATE)
    refused = found.certificate.verdict is Verdict.NOT_CERTIFIED
    half = found.objective is None or found.certificate.bound is None
    return case.classification.convex and finished and refused and half


def _is_open(case: Case, found: Certified, claim: Claim) -> bool:
    """Whether a mixed-integer point may still gain from a solve with its integers fixed."""
    return (
        bool(case.form.integer.any())
        and case.classification.relaxes_to_convex
        and found.certificate.verdict is not Verdict.CERTIFIED
        and claim.status is not Status.INTERRUPTED
    )


def _with_integers_fixed(case: Case, claim: Claim, found: Certified) -> Certified:
    """The better of a point and the optimum with its integers fixed, which is certified here."""
    assert claim.x is not None
    fixed = fixed_case(case, claim.x)
    rest = solve_fixed(fixed)
    if rest is None:
        return found
    best = certify(fixed, rest)
    if best.certificate.verdict is not Verdict.CERTIFIED:
        closer = solve_fixed(fixed, near_one=True)
        if closer is not None:
            best = max(best, certify(fixed, closer), key=lambda found: (
                found.certificate.verdict is Verdict.CERTIFIED, found.objective is not None
            ))  # fmt: skip
    facts: dict[str, object] = {"fixed_verdict": str(best.certificate.verdict)}
    if best.status is Status.INFEASIBLE:
        return _refused(found, facts, "with its integers fixed the model has no point")
    if best.objective is None or best.x is None:
        return _with_facts(found, facts)
    facts["fixed_objective"] = case.form.sense * best.objective
    again = certify_point(case, replace(claim, x=best.x), closing=False)
    if again.objective is None or best.certificate.verdict is not Verdict.CERTIFIED:
        return _with_facts(found, facts)
    if found.objective is not None:
        if gap.closes(found.objective, again.objective, case.constant):
            return _with_facts(found, facts)
        facts["solver_objective"] = case.form.sense * found.objective
        if found.objective < again.objective and found.certificate.level == "paper":
            return _with_facts(found, facts)  # scaled onto its margins it beats its own binaries
    kept = certify_point(case, replace(claim, x=best.x))
    return _with_facts(kept, facts)


def _with_facts(found: Certified, facts: dict[str, object]) -> Certified:
    certificate = found.certificate
    return replace(found, certificate=replace(certificate, facts={**certificate.facts, **facts}))


def _refused(found: Certified, facts: dict[str, object], reason: str) -> Certified:
    refused = _with_facts(found, facts)
    certificate = replace(refused.certificate, verdict=Verdict.NOT_CERTIFIED, reason=reason)
    return replace(refused, status=Status.INACCURATE, certificate=certificate)
