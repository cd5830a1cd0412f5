"""What our own computation confirms of a solver's claim."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np

from tightmargin.formulations.catalogue import PaperCheck, ProblemClass
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.certify.case import (
    CLAIM_TOLERANCE,
    FEASIBILITY_TOLERANCE,
    Case,
    Certified,
    onto_bounds,
)
from tightmargin.solvers.certify.exponential import exponential_bound, exponential_point
from tightmargin.solvers.certify.multipliers import (
    NEARLY_ZERO,
    Bound,
    EarlyBound,
    curvature_facts,
    matrix_facts,
    model_bound,
    zero_point,
)
from tightmargin.solvers.certify.no_optimum import empty_by_cones, no_optimum, without_point
from tightmargin.solvers.certify.points import exact_point
from tightmargin.solvers.engines import clarabel, highs
from tightmargin.solvers.engines.registry import SOLVERS
from tightmargin.solvers.engines.running import Limits, is_over
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.exact import rounded_down
from tightmargin.solvers.kernel import statement as gap
from tightmargin.solvers.kernel.exact_bounds import exact_qp_bound
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.points import near_point, proven_point
from tightmargin.solvers.kernel.statement import (
    FeasiblePoint,
    LowerBound,
    by_lemma,
    point_by_formula,
)
from tightmargin.solvers.kernel.verdict import Judgement, Verdict
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.names import named_values, point_with
from tightmargin.solvers.model.reader import StandardForm
from tightmargin.solvers.model.residuals import own_residual, primal_residual
from tightmargin.solvers.registry import bounds_of, closing_bound, ends_at_a_point, relaxation_bound
from tightmargin.solvers.result import EXACT_BOUND, EXACT_UPPER, Certificate

# --- The upper end of a proven interval: the best feasible point near the one that a solver left


FORMULA = "the formulation's formula, which meets its rows by construction"

QUICK = 100_000  # entries of rows
REPAIR = 1e-4  # of the objective: what costs more is another point, such as 0, and no repair


def upper_end(
    case: Case,
    x: Array,
    lower: LowerBound | None,
    check: PaperCheck | None = None,
    other: Array | None = None,
) -> FeasiblePoint | None:
    """An exactly feasible point near x or a better one, or x with what it misses its rows by.

    Parameters
    ----------
    lower : LowerBound or None
        Which of the two is worth more is decided by the verdict with it.
    check : PaperCheck or None
        Of x: where its point has no doubles for coordinates, the formula says what it costs.
    other : array (n,) or None
        Another solver's point, tried where x leaves a gap.
    """
    if case.form.nonlinear:
        return exponential_point(case, x)
    if _is_too_late(case):
        return None
    exact: FeasiblePoint | None = None
    for found in _exact_points(case, x, check, other):
        exact = found if exact is None or found.end < exact.end else exact
        if _verdict(case, exact, lower) is Verdict.CERTIFIED:
            return exact
    if lower is not None and lower.varying == 0 and _is_nearly_zero(case, x):
        zero = zero_point(case.form, x)
        if zero is not None:
            return zero
    if exact is None and check is not None and check.error is not None and not check.violation:
        varying = check.objective - case.constant
        return point_by_formula(case.form, varying, check.error, FORMULA, x)
    near = None if _is_too_late(case) else near_point(case.form, x)
    if near is not None and _verdict(case, near, lower) is Verdict.WITHIN_TOLERANCE:
        return near
    if exact is None or near is None:
        return exact or near
    size = max(abs(exact.varying), abs(near.varying))
    return exact if exact.varying - near.varying <= REPAIR * size else near


def _is_too_late(case: Case) -> bool:
    """Whether the time is over for a look at a point that takes longer than a moment."""
    return is_over() and (bool(case.form.psd) or case.form.columnwise.nnz > QUICK)


def _exact_points(
    case: Case, x: Array, check: PaperCheck | None, other: Array | None
) -> Iterator[FeasiblePoint]:
    """Exactly feasible points: the formulation's, one near x, one near another, the family's."""
    known = None if check is None else _known_point(case, x, check)
    if known is not None:
        yield known
    if _is_too_late(case):
        return
    near = exact_point(case.form, case.classification, x, case.limits)
    if near is not None:
        yield near
    if other is not None:
        near = exact_point(case.form, case.classification, other, case.limits)
        if near is not None and _is_a_repair(case, x, near):
            yield near
    closer = None if is_over() else _closer_point(case, x)
    if closer is not None and _is_a_repair(case, x, closer):
        yield closer


def _known_point(case: Case, x: Array, check: PaperCheck) -> FeasiblePoint | None:
    """The first point that the formulation knows and the kernel finds feasible."""
    for values in check.known:
        exact: dict[int, Fraction] = {}
        for name, numbers in values.items():
            component = case.model.find_component(name)
            if component is None:
                continue
            columns, _ = case.form.columns.of(component)
            pairs = zip(columns.tolist(), numbers, strict=True)
            exact |= {column: number for column, number in pairs if column >= 0}
        found = proven_point(case.form, x, exact)
        if found is not None:
            return found
    return None


def _is_a_repair(case: Case, x: Array, closer: FeasiblePoint) -> bool:
    """Whether a point may stand for what the solver found.

    Where the solver was ours to choose, any better one; where it was named, nothing but its last
    digits: what a solver of a user's does wrong is not hidden.
    """
    if case.automatic:
        return True
    found = case.form.objective.varying(x)
    size = max(abs(found), abs(closer.varying))
    return abs(found - closer.varying) <= REPAIR * size


def _closer_point(case: Case, x: Array) -> FeasiblePoint | None:
    """A point that the family finds where the solver ends too far from the optimum."""
    bounds = bounds_of(case.origin)
    if bounds is None or bounds.point is None or case.origin is None:
        return None
    values = bounds.point(case.origin)
    if values is None:
        return None
    start = point_with(case.model, case.form, x, values)
    check = case.paper_check(start)
    if check is not None:
        start = point_with(case.model, case.form, start, check.repaired)
    return exact_point(case.form, case.classification, start, case.limits)


def _verdict(case: Case, point: FeasiblePoint, lower: LowerBound | None) -> Verdict:
    return case.judged(point, lower).verdict


def _is_nearly_zero(case: Case, x: Array) -> bool:
    varying = case.form.objective.varying(x)
    return abs(varying) <= NEARLY_ZERO * case.scale(varying)


# --- A claim with a point: its objective, its bound, and what the kernel makes of the two --------


NEARLY_ONE = 1e-2
FamilyBound = Callable[[], LowerBound | None]
_CONVEX = (ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP)


def certify_point(case: Case, claim: Claim, *, closing: bool = True) -> Certified:
    """Check a claim with a point; starts no solver when the claim has multipliers.

    Parameters
    ----------
    closing : bool
        Whether bounds of the formulation's own (a search, the SDP relaxation) are asked for
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
        point = _better(upper_end(case, x, bound.proof, check, bound.x), known)
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
    found = Certified(
        claim.status, x, objective, certificate, point=point, lower=bound.proof,
        written=bound.written,
    )  # fmt: skip
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
    # What a search has closed needs no multipliers that a solver would be asked for, and no better
    # ones than it has itself.
    closes = case.closes(objective, searched)
    closed = claim.duals is None and closes
    if claim.proof is not None and claim.duals is None:
        bound = Bound()
    else:
        early = None if of_family is None else _early(case, objective, of_family)
        early = (lambda: (searched, True)) if closes else early
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


# --- A mixed-integer point solved again with its integers fixed: what is left is convex, and
#     proven
# A solver counts z = 1e-6 as 0, and with a large M buys margin for it; or it stops before the
# continuous variables are at their best. With the integers fixed at the rounded incumbent the
# optimum of the rest is certified here, and the better of the two points is kept.


# As many columns as are solved within a second or two; beyond that the point stands as it is.
SIZE_LIMIT = 20_000


def fixed_case(case: Case, x: Array) -> Case:
    """The continuous model that is left when the integers of a point are fixed."""
    form = case.form
    whole = np.round(x)
    held = replace(
        form,
        lower=np.where(form.integer, whole, form.lower),
        upper=np.where(form.integer, whole, form.upper),
        integer=np.zeros(form.n, dtype=bool),
    )
    return Case(case.model, Subject(held), None, case.limits)


def solve_fixed(fixed: Case, *, near_one: bool = False) -> Claim | None:
    """Claim of a free convex solver; None when none is there, or it would lose coefficients.

    Parameters
    ----------
    near_one : bool
        Whether to solve it in numbers near 1.
    """
    form, kind = fixed.form, fixed.classification
    if not kind.convex or form.n > SIZE_LIMIT or is_over():
        return None
    asked = Limits(time_limit=fixed.limits.time_limit, threads=fixed.limits.threads)
    linear = not form.is_quadratic and not form.psd
    try:
        if near_one:
            return clarabel.run_scaled(form, kind, asked) if SOLVERS["clarabel"].installed else None
        if linear and SOLVERS["highs"].installed:
            return highs.run(form, kind, asked)
        if SOLVERS["clarabel"].installed:
            return clarabel.run(form, kind, asked)
    except NumberError:
        return None
    return None


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


# --- What a solver's answer says against itself, before anything of it is proven -----------------
# The point is evaluated, and the objective and the bound that came with it are held against that
# value. Whatever disagrees is named in the result. A certificate of our own stands all the same,
# because it rests on none of these words; a result that rests on the solver's bound does not.


# Solvers evaluate the objective in their own order, and SCIP through a row, which holds to 1e-8 of
# its size: allowed is so much of the sum of its absolute terms and of a hundredth of its size.
OBJECTIVE = 1e-5
# Of the same sum and of the whole size, because a point within its tolerances may be too good.
BOUND = 1e-4

_SUCCESS = (Status.OPTIMAL, Status.FEASIBLE, Status.INACCURATE)


def with_contradictions(form: StandardForm, claim: Claim, size: float = 1.0) -> Claim:
    """The claim without what no number can be made of, and with its contradictions named.

    Parameters
    ----------
    form : StandardForm
        The model the claim is about.
    size : float
        Natural size of its objective, where that is known, see scaling.py.
    """
    said: list[str] = []
    status, x, duals, bound = claim.status, claim.x, claim.duals, claim.bound
    if x is not None and x.shape != (form.n,):
        said.append(f"a point of {x.size} numbers for a model of {form.n} variables")
        x = None
    if duals is not None and duals.rows.shape != (len(form.rows),):
        said.append(f"{duals.rows.size} multipliers for a model of {len(form.rows)} linear rows")
        duals = None
    if x is None and status in _SUCCESS:
        said.append(f"status {status} without a point")
        status = Status.ERROR
    if bound == -math.inf:
        bound = None
    if bound is not None and x is not None and not math.isfinite(bound):
        said.append(f"the bound {bound}")
        bound = None
    if x is not None and np.isfinite(x).all():
        said += _against_the_point(form, replace(claim, x=x, bound=bound), size)
    if not said:
        return replace(claim, bound=bound)
    return replace(
        claim,
        status=status,
        x=x,
        duals=duals,
        bound=bound,
        contradictions=tuple(said),
        message=f"{claim.message}; the solver returned {' and '.join(said)}",
    )


def _against_the_point(form: StandardForm, claim: Claim, size: float) -> list[str]:
    """Objective and bound of a claim that do not go with its point."""
    assert claim.x is not None
    value, goal, x = form.value(claim.x), form.objective, np.abs(claim.x)
    terms = (
        abs(value)
        if form.goal is not None
        else float(x @ (abs(goal.Q) @ x)) + float(np.abs(goal.a) @ x) + abs(goal.constant)
    )
    found = []
    reported = claim.objective
    allowed = OBJECTIVE * (terms + size / 100)
    if reported is not None and not abs(reported - value) <= allowed:
        shown = [form.sense * number for number in (reported, value)]
        found.append(f"objective {shown[0]:.9g} for a point where it is {shown[1]:.9g}")
    if claim.bound is not None and claim.bound > value + BOUND * (terms + size):
        shown = [form.sense * number for number in (claim.bound, value)]
        found.append(f"the bound {shown[0]:.9g} for a point whose objective is {shown[1]:.9g}")
    return found
