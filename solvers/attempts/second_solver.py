"""A second solver asked about the same model: what it claims, held against the first.

Two claims are no proof: agreement is recorded and changes no verdict. What can change one is a
better point, a better bound of our own from the second solver's multipliers, or a contradiction,
which is named and leaves neither claim standing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tightmargin.solvers.attempts.attempts import Outcome, run_attempts
from tightmargin.solvers.backends.choice import ChosenSolver, choose
from tightmargin.solvers.backends.registry import SolverInfo
from tightmargin.solvers.canonical_form.classification import Classification
from tightmargin.solvers.certificates.case import GAP_TOLERANCE, Case, Certified
from tightmargin.solvers.certificates.multiplier_search import larger
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.proofs import gap
from tightmargin.solvers.proofs.verdict import Verdict
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.standard_form.standard_form import StandardForm

_NO_OPTIMUM = (Status.INFEASIBLE, Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)


def second_choice(
    name: str,
    first: ChosenSolver | None,
    classification: Classification,
    form: StandardForm,
    *,
    timed: bool,
) -> ChosenSolver:
    """Look the second solver up and check that it can take the model, before anything is solved.

    Parameters
    ----------
    first : ChosenSolver, optional
        Where one was named.

    Raises
    ------
    ValueError
        "auto", an unknown name, or the first solver again.
    ProblemClassError, SizeLimitError, NumberError, SolverNotInstalledError
        As for the first solver.
    """
    if name == "auto":
        raise ValueError("second_solver: name a solver; auto is for the first one")
    found = choose(name, classification.problem_class, form, timed=timed)
    if first is not None and found.info.name == first.info.name:
        raise ValueError(
            f"second_solver: {name} is the first solver already; name another one for a second "
            "opinion"
        )
    return found


def with_second_opinion(
    first: ChosenSolver, second: ChosenSolver, case: Case, outcome: Outcome
) -> Outcome:
    """The outcome of the first solver after the second one was heard.

    The facts of the certificate say what the second one claims (fact_names.py). A better
    point is kept, the better of two proven bounds too.
    """
    # Option names are the first solver's own.
    case = replace(case, limits=replace(case.limits, options={}))
    other = run_attempts(second, case, automatic=False)
    found = other.found
    said = _contradiction(first.info, second.info, case, outcome, other)
    facts = _facts(second, case, other) | {"second_agrees": not said}
    kept = other if _replaces(case, found, outcome.found) else outcome
    final = _joined(case, kept.found, outcome.found, found)
    if said and final.certificate.verdict is not Verdict.CERTIFIED:
        refused = replace(final.certificate, verdict=Verdict.NOT_CERTIFIED, reason=said)
        status = Status.INACCURATE if final.status is Status.OPTIMAL else final.status
        final = replace(final, status=status, certificate=refused)
    words = said or f"{second.info.name} agrees"
    if kept is other:
        words += f"; the point is that of {second.info.name}"
    certificate = replace(
        final.certificate,
        facts={**final.certificate.facts, **facts},
        solver_bound=outcome.claim.bound,
    )
    claim = replace(
        kept.claim,
        bound=outcome.claim.bound,
        message=f"{outcome.claim.message}; {words}",
        version=outcome.claim.version,
        log=outcome.claim.log,
    )
    return Outcome(claim, replace(final, certificate=certificate), outcome.how, outcome.seconds)


def beside_ours(second: ChosenSolver, case: Case, result: SolveResult) -> SolveResult:
    """What a method of ours found, with what a solver claims of the same model."""
    limits = replace(case.limits.without(result.seconds), options={})
    other = run_attempts(second, replace(case, limits=limits), automatic=False)
    said, facts = _against_ours(second.info, case, result, other), _facts(second, case, other)
    certificate = result.certificate
    status = result.status
    if said and not certificate.verdict.closed:
        certificate = replace(certificate, verdict=Verdict.NOT_CERTIFIED, reason=said)
        status = Status.INACCURATE if status is Status.OPTIMAL else status
    facts = {**certificate.facts, **facts, "second_agrees": not said}
    return replace(
        result,
        status=status,
        certificate=replace(certificate, facts=facts),
        message=f"{result.message}; {said or f'{second.info.name} agrees'}",
    )


def _against_ours(info: SolverInfo, case: Case, result: SolveResult, other: Outcome) -> str:
    """What of a solver's claim cannot be true beside a point and a bound of ours."""
    sign, name, found = case.form.sense, info.name, other.found
    if result.objective is not None and other.claim.status in _NO_OPTIMUM:
        return f"{name} says {other.claim.status}, and there is a feasible point"
    if found.objective is not None and result.status is Status.INFEASIBLE:
        return f"{name} has a point of {sign * found.objective:.9g}, and the model has none"
    kind, bound = case.classification.problem_class, other.claim.bound
    if result.objective is not None and bound is not None:
        value = sign * result.objective
        if bound > value + info.tolerance_for(kind) * case.scale(value):
            return (
                f"{name} claims the bound {sign * bound:.9g}, and a feasible point has "
                f"{result.objective:.9g}"
            )
    if found.objective is not None and result.bound is not None:
        below = sign * result.bound - info.tolerance_for(kind) * case.scale(found.objective)
        if found.objective < below:
            return (
                f"{name} ends at {sign * found.objective:.9g}, and {result.bound:.9g} is a proven "
                "bound"
            )
    return ""


def _facts(second: ChosenSolver, case: Case, other: Outcome) -> dict[str, Any]:
    """What the second solver claims, under the names of fact_names.py."""
    found, sign = other.found, case.form.sense
    return {
        "second_solver": second.info.name,
        "second_version": other.claim.version or second.info.version,
        "second_status": str(found.status),
        "second_objective": None if found.objective is None else sign * found.objective,
        "second_bound": None if other.claim.bound is None else sign * other.claim.bound,
    }


def _replaces(case: Case, new: Certified, old: Certified) -> bool:
    """Whether the second point is kept: certified, or better by more than noise."""
    if old.certificate.verdict is Verdict.CERTIFIED or new.objective is None:
        return False
    if old.objective is None or new.certificate.verdict is Verdict.CERTIFIED:
        return True
    noise = GAP_TOLERANCE * gap.unit(new.objective, old.objective, case.constants[1])
    return new.objective < old.objective - noise


def _joined(case: Case, kept: Certified, one: Certified, other: Certified) -> Certified:
    """The point that is kept with the better of both proven bounds."""
    if kept.objective is None or kept.certificate.verdict is Verdict.CERTIFIED:
        return kept
    lower = larger(one.lower, other.lower)
    if lower is None or lower is kept.lower:
        return kept
    better = one if lower is one.lower else other
    judgement = case.judged(kept.point, lower)
    certificate = replace(
        kept.certificate, bound=better.certificate.bound,
        bound_method=better.certificate.bound_method, gap=judgement.gap,
    )  # fmt: skip
    if judgement.verdict is Verdict.NOT_CERTIFIED:
        return replace(kept, lower=lower, certificate=certificate)
    certificate = replace(certificate, verdict=judgement.verdict, reason=judgement.reason)
    return replace(kept, status=Status.OPTIMAL, lower=lower, certificate=certificate)


def _contradiction(
    first: SolverInfo, second: SolverInfo, case: Case, one: Outcome, other: Outcome
) -> str:
    """What of the two claims cannot both be true; an empty string when nothing is."""
    f, g = one.found.objective, other.found.objective
    pairs = ((first, one, other, g), (second, other, one, f))
    for solver, claims, opposite, value in pairs:
        if claims.claim.status in _NO_OPTIMUM and opposite.found.objective is not None:
            return f"{solver.name} says {claims.claim.status}, and there is a feasible point"
        if value is None:
            continue
        allowed = solver.tolerance_for(case.classification.problem_class) * case.scale(value)
        bound = claims.claim.bound
        if bound is not None and bound > value + allowed:
            shown = (case.form.sense * bound, case.form.sense * value)
            return (
                f"{solver.name} claims the bound {shown[0]:.9g}, and a feasible point has "
                f"{shown[1]:.9g}"
            )
    if f is None or g is None or not _both_optimal(one, other):
        return ""
    kind = case.classification.problem_class
    allowed = (first.tolerance_for(kind) + second.tolerance_for(kind)) * case.scale(min(f, g))
    if abs(f - g) <= allowed:
        return ""
    shown = (case.form.sense * f, case.form.sense * g)
    return f"{first.name} ends at {shown[0]:.9g} and {second.name} at {shown[1]:.9g}"


def _both_optimal(one: Outcome, other: Outcome) -> bool:
    return all(outcome.claim.status is Status.OPTIMAL for outcome in (one, other))
