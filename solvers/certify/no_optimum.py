"""What becomes of a claim without a point: no feasible point, no least value, or nothing proven."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.reliances import unproven_quantities, why_infeasible
from tightmargin.solvers.certify.case import Case, Certified
from tightmargin.solvers.certify.exponential import empty_relaxations, falling_ray
from tightmargin.solvers.certify.multipliers import Bound, model_bound, repaired
from tightmargin.solvers.certify.rays import unboundedness_proof
from tightmargin.solvers.engines import clarabel, highs, scip
from tightmargin.solvers.engines.registry import SOLVERS, needs_gigabytes
from tightmargin.solvers.engines.running import Limits, is_over
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.kernel.bound import proven_empty
from tightmargin.solvers.kernel.exact_bounds import elastic_form, proven_infeasible
from tightmargin.solvers.kernel.exponential import Minorised, empty_too
from tightmargin.solvers.kernel.statement import Infeasible, Unbounded
from tightmargin.solvers.kernel.verdict import Verdict, judged_without_optimum
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.conic import Multipliers, conic_multipliers, multipliers
from tightmargin.solvers.model.convexity import Classification, classify
from tightmargin.solvers.model.dual import HIGHS_OPTIONS, dual_form, worthwhile
from tightmargin.solvers.model.polynomial import Quadratic
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.model.residuals import primal_residual
from tightmargin.solvers.result import Certificate

# --- A point of our own for a model that a solver calls infeasible: one is enough to refute it ---


# Tighter than what a certificate asks: a model whose rows barely cross is left to the solver.
TOLERANCE = 1e-9
NODES = 5_000  # of SCIP, where nothing quicker applies


def feasible_point(
    form: StandardForm, classification: Classification, limits: Limits
) -> tuple[Array, float] | None:
    """A point that meets all rows, bounds and integrality, and its largest relative violation.

    Convex models are solved without their objective. Integer variables of a relaxed point are
    rounded up, to the nearest and down, and the others follow: with all binaries at one a big-M
    model has a point. For other models SCIP is asked, for some nodes.
    """
    for x in _candidates(form, classification, limits):
        if not np.isfinite(x).all():
            continue
        x = np.where(form.integer, np.round(x), np.clip(x, form.lower, form.upper))
        residual, _ = primal_residual(form, x)
        if residual <= TOLERANCE:
            return x, residual
    return None


def _candidates(
    form: StandardForm, classification: Classification, limits: Limits
) -> Iterator[Array]:
    yield form.point()
    nothing = Quadratic(sp.csr_matrix((form.n, form.n)), np.zeros(form.n), 0.0)
    aimless = replace(form, objective=nothing, sense=1)
    asked = Limits(limits.time_limit, limits.threads, limits.seed)
    if needs_gigabytes(form):
        return
    if classification.relaxes_to_convex:
        relaxed = clarabel.run(aimless, classification, replace(asked, seed=None)).x
        if relaxed is None:
            return
        yield relaxed
        if form.integer.any():
            for whole in (np.ceil, np.round, np.floor):
                found = _held(aimless, classification, whole(relaxed - 1e-9), asked).x
                if found is not None:
                    yield found
    elif SOLVERS["scip"].installed and not form.nonlinear:
        found = scip.run(aimless, replace(asked, nodes=NODES)).x
        if found is not None:
            yield found


def _held(
    form: StandardForm, classification: Classification, whole: Array, limits: Limits
) -> Claim:
    """Clarabel's claim with the integer variables held where they are put."""
    held = replace(
        form,
        lower=np.where(form.integer, whole, form.lower),
        upper=np.where(form.integer, whole, form.upper),
    )
    return clarabel.run(held, classification, replace(limits, seed=None))


# --- The search for a proof that a model has no feasible point; the kernel checks what is found --


def infeasibility_proof(form: StandardForm, limits: Limits) -> str:
    """What proves that a model has no point; an empty string when nothing does."""
    found = find_infeasibility(form, limits)
    return "" if found is None else found.words


def find_infeasibility(form: StandardForm, limits: Limits) -> Infeasible | None:
    """Look for a proof that a model has no point; None when there is none or none is found."""
    zero = np.zeros(len(form.rows))
    crossed = proven_infeasible(form, zero)
    if crossed is not None or not len(form.rows) or not SOLVERS["highs"].installed or is_over():
        return crossed
    elastic = elastic_form(form)
    asked = Limits(time_limit=limits.time_limit, threads=limits.threads, seed=limits.seed)
    dual = dual_form(elastic) if worthwhile(elastic) else None
    try:
        if dual is None:
            claim = highs.run(elastic, classify(elastic), asked)
        else:
            asked = replace(asked, options=HIGHS_OPTIONS)
            claim = dual.recovered(highs.run(dual.form, classify(elastic), asked))
    except NumberError:
        return None  # numbers HiGHS would lose: no proof, and the certificate says so
    if claim.duals is None:
        return None
    # A little less of a Farkas vector is one too, and leaves every multiplier room to be repaired.
    return proven_infeasible(form, 0.999 * claim.duals.rows)


# A solver that gave up, or does not know which of the two it is, may have had either reason.
_MAY_BE_INFEASIBLE = (
    Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED, Status.UNBOUNDED, Status.ERROR,
)  # fmt: skip
_WITHOUT_POINT = (Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED)
_MAY_BE_UNBOUNDED = (Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED, Status.INFEASIBLE)


def without_point(case: Case, claim: Claim) -> Certified:
    """Prove that there is no point or no least value; otherwise it stays the solver's word."""
    proven = no_optimum(
        case,
        infeasible_too=claim.status in _MAY_BE_INFEASIBLE,
        unbounded_too=claim.status in _MAY_BE_UNBOUNDED,
    )
    if proven is None and claim.status in _WITHOUT_POINT:
        proven = empty_by_cones(case, claim)
    if proven is None and case.form.nonlinear:
        proven = no_optimum_of_exponentials(case, claim)
    if proven is not None:
        return proven
    reason = f"the solver's word: {claim.message or claim.status}"
    status = claim.status
    refutation = "" if is_over() else _refuted(case, claim)
    if refutation:
        said = claim.status.replace("_", " ")
        reason = f"the solver says {said} ({claim.message or claim.status}), and {refutation}"
        status = Status.ERROR
    # A stopped dual simplex has no point, but multipliers, and they prove a bound.
    bound = Bound() if claim.duals is None else model_bound(case, claim)
    unproven = why_infeasible(case.origin) if status in _WITHOUT_POINT else ""
    certificate = Certificate(
        Verdict.NOT_CERTIFIED,
        reason,
        level="model" if unproven else case.level,
        bound=bound.value(case.constant),
        bound_method=bound.method,
        solver_bound=claim.bound,
        unproven=unproven or _unjudged(case, bound),
    )
    return Certified(status, None, None, certificate)


def _unjudged(case: Case, bound: Bound) -> str:
    """Why a bound without a point need not be one on the paper's problem, or an empty string."""
    if bound.proof is None or case.origin is None:
        return ""
    words = " and ".join(unproven_quantities(case.model.origin, case.origin))
    return f"nothing proves the {words} of the model without a point" if words else ""


def no_optimum(
    case: Case, *, infeasible_too: bool = True, unbounded_too: bool = True
) -> Certified | None:
    """The proof that a model has no point, or no least value; None when neither is found."""
    if infeasible_too:
        proof = find_infeasibility(case.form, case.limits)
        if proof is not None:
            return without_optimum(case, proof)
    if unbounded_too and SOLVERS["highs"].installed and not is_over():
        way = unboundedness_proof(case.form, case.limits)
        if way is not None:
            return without_optimum(case, way)
    return None


def empty_by_cones(case: Case, claim: Claim) -> Certified | None:
    """The proof that cones and rows leave no point; None when there is none or none is found.

    The multipliers are an interior-point method's: those of the claim, else those that Clarabel
    finds for the model without its objective.
    """
    proof = _cone_proof(case, claim)
    return None if proof is None else without_optimum(case, proof)


def _cone_proof(case: Case, claim: Claim) -> Infeasible | None:
    curved = case.form.quadratic or case.form.psd
    if not (curved and case.classification.relaxes_to_convex):
        return None
    for farkas in farkas_vectors(case, claim):
        z = conic_multipliers(case.conic, farkas)
        size = float(np.abs(z).max(initial=0.0))
        if not (np.isfinite(z).all() and size > 0):
            continue
        nothing = replace(case.conic, P=0 * case.conic.P, q=np.zeros(case.form.n))
        better = repaired(nothing, np.zeros(case.form.n), z / size)
        for candidate in (better.z, z / size):
            proof = proven_empty(case.subject, candidate)
            if proof is not None:
                return proof
    return None


def no_optimum_of_exponentials(case: Case, claim: Claim) -> Certified | None:
    """The proof that a model with exp and log has no point, or no least value.

    A Farkas vector's part in the dual exponential cone is one affine function for each term, and
    what is left are the multipliers of an ordinary model.
    """
    found = empty_of_exponentials(case) if claim.status in _MAY_BE_INFEASIBLE else None
    if found is not None:
        proof, _, empty = found
        return without_optimum(case, empty_too(proof, empty))
    ray = falling_ray(case) if claim.status in _MAY_BE_UNBOUNDED else None
    return None if ray is None else without_optimum(case, ray)


def empty_of_exponentials(case: Case) -> tuple[Minorised, Case, Infeasible] | None:
    """The model with affine functions in the place of exp and log that has no point; or None."""
    for proof, inner in empty_relaxations(case):
        empty = find_infeasibility(inner.form, case.limits)
        if empty is None:
            empty = _cone_proof(inner, Claim(Status.INFEASIBLE))
        if empty is not None:
            return proof, inner, empty
    return None


def farkas_vectors(case: Case, claim: Claim) -> Iterator[Multipliers]:
    """What the solver said, then what Clarabel says of the model without its objective.

    Both are claims.
    """
    if claim.farkas is not None:
        yield claim.farkas
    if not SOLVERS["clarabel"].installed or needs_gigabytes(case.form) or is_over():
        return
    n = case.form.n
    free = replace(case.form, objective=Quadratic(sp.csr_matrix((n, n)), np.zeros(n), 0.0))
    limits = Limits(time_limit=case.limits.time_limit, threads=case.limits.threads)
    found = clarabel.run_scaled(free, case.classification, limits, case.factors).farkas
    if found is not None:
        yield found


def _refuted(case: Case, claim: Claim) -> str:
    """What of our own contradicts the claim that there is no optimum; empty when nothing does."""
    against = []
    if claim.status in (Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED):
        found = feasible_point(case.form, case.classification, case.limits)
        if found is None:
            return ""
        against.append(f"there is a point that is feasible to {found[1]:.1e}")
    if claim.status in (Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED):
        bound = model_bound(case, replace(claim, x=None, duals=None))
        value = bound.value(case.constant)
        if value is None:
            return ""
        side = "below" if case.form.sense == 1 else "above"
        against.append(f"nothing is {side} {case.form.sense * value:.9g} by {bound.method}")
    return " and ".join(against)


def without_optimum(case: Case, proof: Infeasible | Unbounded) -> Certified:
    """A model that is proven to have no point, or no least value, with what proves it."""
    judgement = judged_without_optimum(proof)
    empty = isinstance(proof, Infeasible)
    unproven = why_infeasible(case.origin) if empty else ""
    certificate = Certificate(
        judgement.verdict,
        judgement.reason,
        level="model" if unproven else case.level,
        bound_method=proof.words,
        unproven=unproven,
    )
    if isinstance(proof, Unbounded):
        return Certified(Status.UNBOUNDED, proof.x, None, certificate, ray=proof.ray, absence=proof)
    farkas = farkas_of(case, proof)
    return Certified(Status.INFEASIBLE, None, None, certificate, proof=farkas, absence=proof)


def farkas_of(case: Case, proof: Infeasible) -> Multipliers:
    """The multipliers that prove a model infeasible; zeros where other things do."""
    if proof.z is not None:
        return multipliers(case.conic, proof.z, len(case.form.rows))
    rows = np.zeros(len(case.form.rows)) if proof.multipliers is None else proof.multipliers
    return Multipliers(rows, np.zeros(case.form.n), {})
