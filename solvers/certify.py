"""What our own computation confirms of a solver's claim."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from formulations.catalogue import CATALOGUE, Origin, PaperCheck, ProblemClass
from solvers import clarabel
from solvers.algorithms.proofs import closed_bound
from solvers.backend import Claim, Limits
from solvers.classify import Classification
from solvers.conic_form import ConicForm, Multipliers, conic_form, conic_multipliers
from solvers.dual_bound import METHOD, dual_bound
from solvers.exact_lp import METHOD as EXACT_METHOD
from solvers.exact_lp import exact_lp_bound
from solvers.infeasibility import infeasibility_proof
from solvers.residuals import primal_residual
from solvers.result import Certificate, Status, Verdict
from solvers.standard_form import StandardForm
from solvers.values import named_values, point_with

Array = NDArray[np.float64]

FEASIBILITY_TOLERANCE = 1e-6
GAP_TOLERANCE = 1e-6
CLAIM_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class Certified:
    """A claim after the check: the point and objective that stand, and the certificate.

    Attributes
    ----------
    status : Status
    x : array or None
        The point, repaired where the formulation knows how.
    objective : float or None
        Of the minimisation, recomputed.
    certificate : Certificate
        Bounds are those of the minimisation too.
    """

    status: Status
    x: Array | None
    objective: float | None
    certificate: Certificate


@dataclass(frozen=True)
class _Bound:
    """Best proven bound so far."""

    value: float | None = None
    method: str = ""
    dual_residual: float | None = None
    complementarity: float | None = None
    reason: str = ""

    def better(self, value: float | None, method: str) -> _Bound:
        if value is None or (self.value is not None and self.value >= value):
            return self
        return replace(self, value=value, method=method, reason="")


@dataclass(frozen=True, eq=False)
class Case:
    """Everything a certificate is computed from."""

    model: pyo.ConcreteModel
    form: StandardForm
    classification: Classification
    origin: Origin | None = None  # None for foreign and for edited models
    limits: Limits = field(default_factory=Limits)


def certify(case: Case, claim: Claim) -> Certified:
    """Check a claim against the model, and an unedited catalogue model against its paper."""
    if claim.x is None:
        return _without_point(case, claim)
    if not np.isfinite(claim.x).all():
        k = int(np.flatnonzero(~np.isfinite(claim.x))[0])
        reason = f"the solver returned {claim.x[k]} for {case.form.columns.name(k)}"
        return Certified(Status.ERROR, None, None, Certificate(Verdict.NOT_CERTIFIED, reason))
    claim = replace(claim, x=_onto_bounds(case.form, claim.x))
    check = _paper_check(case, claim)
    x = claim.x
    assert x is not None
    if check is not None:
        x = point_with(case.model, case.form, x, check.repaired)
    objective = check.objective if check is not None else case.form.objective.at(x)
    residual, worst = primal_residual(case.form, x)
    residual = max(residual, check.violation if check is not None else 0.0)
    bound = _model_bound(case, claim)
    if check is not None:
        bound = bound.better(check.bound, check.bound_method)
    if check is not None and not _closed(objective, bound.value) and not check.unproven:
        bound = bound.better(*closed_bound(case.origin))
    certificate = Certificate(
        verdict=Verdict.NOT_CERTIFIED,
        level="model" if check is None else "paper",
        primal_residual=residual,
        dual_residual=bound.dual_residual,
        complementarity=bound.complementarity,
        gap=None if bound.value is None else (objective - bound.value) / max(1.0, abs(objective)),
        bound=bound.value,
        bound_method=bound.method,
        solver_bound=claim.bound,
        unproven="" if check is None else check.unproven,
        facts={} if check is None else dict(check.facts),
    )
    return _judge(case, claim, Certified(claim.status, x, objective, certificate), worst, bound)


def _onto_bounds(form: StandardForm, x: Array) -> Array:
    """The point with bounds and integrality met exactly where they are met to the tolerance.

    A bound missed by 1e-14 and a coefficient of 1e14 make a violation of 1 vanish in a row.
    """
    inside = np.where(form.integer, np.round(x), np.clip(x, form.lower, form.upper))
    close = np.abs(inside - x) <= FEASIBILITY_TOLERANCE * np.maximum(1.0, np.abs(x))
    return np.where(close, inside, x)


def _judge(case: Case, claim: Claim, found: Certified, worst: str, bound: _Bound) -> Certified:
    """Verdict and final status."""
    certificate, objective = found.certificate, found.objective
    assert objective is not None
    assert certificate.primal_residual is not None

    def verdict(kind: Verdict, reason: str = "", status: Status = claim.status) -> Certified:
        final = replace(certificate, verdict=kind, reason=reason)
        if case.classification.problem_class not in _CONVEX and certificate.unproven:
            final = replace(
                final,
                verdict=Verdict.NOT_CERTIFIED,
                reason=f"upper bound only: {certificate.unproven}",
                bound=None,
                gap=None,
            )
            status = Status.FEASIBLE
        return replace(found, status=status, certificate=final)

    if certificate.primal_residual > FEASIBILITY_TOLERANCE:
        reason = f"infeasible by {certificate.primal_residual:.2e} of the row's size ({worst})"
        stopped = claim.status is Status.INTERRUPTED
        status = Status.INTERRUPTED if stopped else Status.INACCURATE
        refused = verdict(Verdict.NOT_CERTIFIED, reason, status)
        return replace(refused, objective=None, certificate=replace(refused.certificate, gap=None))
    slack = GAP_TOLERANCE * max(1.0, abs(objective))
    if certificate.bound is not None and certificate.bound > objective + slack:
        reason = f"the proven bound {certificate.bound:.9g} exceeds the objective {objective:.9g}"
        return verdict(Verdict.NOT_CERTIFIED, reason, Status.INACCURATE)
    if _closed(objective, certificate.bound):
        return verdict(Verdict.CERTIFIED, status=Status.OPTIMAL)
    if case.classification.convex:
        return verdict(
            Verdict.NOT_CERTIFIED,
            bound.reason or f"the proven gap is {certificate.gap:.2e}",
            Status.INACCURATE if claim.status is Status.OPTIMAL else claim.status,
        )
    wide = CLAIM_TOLERANCE * max(1.0, abs(objective))
    if claim.bound is not None and claim.bound > objective + wide:
        reason = f"the solver's bound {claim.bound:.9g} exceeds a feasible value {objective:.9g}"
        return verdict(Verdict.NOT_CERTIFIED, reason, Status.INACCURATE)
    if claim.status is Status.OPTIMAL and (claim.bound is None or objective - claim.bound > wide):
        reason = f"the solver says optimal with bound {claim.bound} below {objective:.9g}"
        return verdict(Verdict.NOT_CERTIFIED, reason, Status.FEASIBLE)
    return verdict(Verdict.SOLVER_BOUND)


_CONVEX = (ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP)


def _closed(objective: float, bound: float | None) -> bool:
    return bound is not None and objective - bound <= GAP_TOLERANCE * max(1.0, abs(objective))


def _without_point(case: Case, claim: Claim) -> Certified:
    # A solver that gave up may have had reason to.
    if claim.status in (Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED, Status.ERROR):
        proof = infeasibility_proof(case.form, case.limits)
        if proof:
            certificate = Certificate(Verdict.CERTIFIED, bound_method=proof)
            return Certified(Status.INFEASIBLE, None, None, certificate)
    reason = f"the solver's word: {claim.message or claim.status}"
    # A stopped dual simplex has no point, but multipliers, and they prove a bound.
    bound = _Bound() if claim.duals is None else _model_bound(case, claim)
    certificate = Certificate(
        Verdict.NOT_CERTIFIED,
        reason,
        bound=bound.value,
        bound_method=bound.method,
        solver_bound=claim.bound,
    )
    return Certified(claim.status, None, None, certificate)


def _paper_check(case: Case, claim: Claim) -> PaperCheck | None:
    if case.origin is None or claim.x is None:
        return None
    check = CATALOGUE[case.origin.entry].check
    if check is None:
        return None
    return check(case.origin, named_values(case.model, case.form, claim.x))


def _model_bound(case: Case, claim: Claim) -> _Bound:
    """Bound of the model itself, of its convex relaxation when some variables are integer."""
    form, classification = case.form, case.classification
    if not classification.relaxes_to_convex:
        return _Bound(reason=f"no convex relaxation: {classification.reason}")
    conic = conic_form(form, classification)
    duals, origin = claim.duals, ""
    x = np.zeros(form.n) if claim.x is None else claim.x
    if duals is None:
        # The solver has none; anybody's multipliers will do, because they are checked here.
        other = clarabel.run_conic(conic, len(form.rows), Limits(threads=case.limits.threads))
        if other.duals is None or other.x is None:
            return _Bound(reason=f"no multipliers: {other.message}")
        duals, x, origin = other.duals, other.x, " from clarabel"
    relaxed = " of the continuous relaxation" if form.integer.any() else ""
    linear = not form.is_quadratic and not form.psd
    exact = exact_lp_bound(form, duals.rows) if linear else None
    double = _double_bound(form, conic, duals, x)
    if exact is not None:
        return replace(double, value=exact, method=EXACT_METHOD + relaxed, reason="")
    return replace(double, method=double.method and double.method + origin + relaxed)


def _double_bound(form: StandardForm, conic: ConicForm, duals: Multipliers, x: Array) -> _Bound:
    z = conic_multipliers(conic, duals)
    if not np.isfinite(z).all():
        return _Bound(reason="the multipliers hold nan or infinity")
    found = dual_bound(conic, x, z, tuple(form.columns.names()))
    slack = conic.b - conic.A @ x
    size = max(1.0, abs(form.objective.at(x)))
    return _Bound(
        found.value,
        METHOD if found.value is not None else "",
        found.residual,
        abs(float(slack @ z)) / size,
        found.reason,
    )
