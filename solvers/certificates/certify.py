"""What our own computation confirms of a solver's claim."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tightmargin.solvers.certificates.case import Case, Certified
from tightmargin.solvers.certificates.certify_point import certify_point
from tightmargin.solvers.certificates.fixed_integers import fixed_case, solve_fixed
from tightmargin.solvers.certificates.no_optimum import (
    empty_by_cones,
    no_optimum,
    without_point,
)
from tightmargin.solvers.execution.claim import Claim, Status
from tightmargin.solvers.proofs import gap
from tightmargin.solvers.proofs.verdict import Verdict
from tightmargin.solvers.result import Certificate


def certify(case: Case, claim: Claim) -> Certified:
    """Check a claim against the model, and an unedited catalogue model against its paper."""
    if claim.x is None:
        return without_point(case, claim)
    if not np.isfinite(claim.x).all():
        k = int(np.flatnonzero(~np.isfinite(claim.x))[0])
        reason = f"the solver returned {claim.x[k]} for {case.form.columns.name(k)}"
        certificate = Certificate(Verdict.NOT_CERTIFIED, reason, level=case.level)
        return Certified(Status.ERROR, None, None, certificate)
    found = certify_point(case, claim)
    if _is_halfway(case, found, claim):
        # Active-set and first-order codes call some models optimal that have no optimum.
        boundless = found.certificate.bound is None
        return no_optimum(case, unbounded_too=boundless) or empty_by_cones(case, claim) or found
    if _is_open(case, found, claim):
        found = _with_integers_fixed(case, claim, found)
    return found


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
        if gap.closes(found.objective, again.objective, case.constants[1]):
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
