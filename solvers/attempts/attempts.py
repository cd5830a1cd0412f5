"""Ways to solve one model with one solver, tried in turn until a result is certified."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import ProblemClass
from tightmargin.solvers.attempts import outer_approximation
from tightmargin.solvers.attempts.refined import refined
from tightmargin.solvers.backends import (
    clarabel,
    exponential_cones,
    highs,
    mosek,
    piqp,
    pyomo_interface,
    scip,
    scs,
)
from tightmargin.solvers.backends.base import refuse_huge_bounds
from tightmargin.solvers.backends.choice import ChosenSolver
from tightmargin.solvers.backends.registry import SOLVERS, SolverInfo
from tightmargin.solvers.canonical_form.classification import Classification
from tightmargin.solvers.certificates.case import Case, Certified
from tightmargin.solvers.certificates.certify import certify
from tightmargin.solvers.certificates.claim_consistency import with_contradictions
from tightmargin.solvers.dualization.dual_form import DualForm, dual_form
from tightmargin.solvers.dualization.when import HIGHS_OPTIONS, worthwhile
from tightmargin.solvers.execution.claim import Claim, Status
from tightmargin.solvers.execution.limits import SHORTEST, Limits
from tightmargin.solvers.proofs.verdict import Verdict
from tightmargin.solvers.standard_form.coefficients import coefficient_outside
from tightmargin.solvers.standard_form.standard_form import StandardForm

DUALISED = {"highs": (ProblemClass.LP,), "clarabel": (ProblemClass.LP, ProblemClass.QP),
            "piqp": (ProblemClass.QP,)}  # fmt: skip
SCALED = ("highs", "clarabel", "scip", "piqp")


@dataclass(frozen=True, eq=False)
class Attempt:
    """One way to run the solver.

    Attributes
    ----------
    run : callable(limits) -> Claim
    how : str
        To be added to the solver's name, such as "in dual form".
    certain : bool
        Whether a claim that there is no optimum ends the search.
    """

    run: Callable[[Limits], Claim]
    how: str = ""
    certain: bool = True


@dataclass(frozen=True, eq=False)
class Outcome:
    """The best of the attempts: the solver's claim, what of it is certified, and how it was got.

    The seconds are those of all runs of the solver, without our own computation between them.
    """

    claim: Claim
    found: Certified
    how: str
    seconds: float


_REGISTERED: dict[str, Callable[[StandardForm, Classification, Limits], Claim]] = {}


def register_solver(
    info: SolverInfo, run: Callable[[StandardForm, Classification, Limits], Claim]
) -> None:
    """Offer a solver of your own under a name for solver=; "auto" never takes it.

    Parameters
    ----------
    info : SolverInfo
        What it is called, where its package is, which classes it takes and within which numbers.
    run : callable(form, classification, limits) -> Claim
        Hands the arrays over and reports what the solver said: no judgement. See solvers/backends.

    Raises
    ------
    ValueError
        A solver of this name is known.
    """
    if info.name in SOLVERS:
        raise ValueError(f"solver {info.name!r} cannot be registered: the name is taken")
    SOLVERS[info.name] = info
    _REGISTERED[info.name] = run


def run_attempts(choice: ChosenSolver, case: Case, *, automatic: bool) -> Outcome:
    """Run the attempts until one is certified; the best one counts.

    Parameters
    ----------
    automatic : bool
        Whether the way is ours to choose: a solver named by the user gets the model as it is.
    """
    started = time.perf_counter()
    running = 0.0
    best: Outcome | None = None
    for attempt in _attempts(choice, case, automatic=automatic):
        limits = case.limits
        if best is not None:
            left = _remaining(limits, time.perf_counter() - started)
            if left is None:
                break
            limits = left
        begun = time.perf_counter()
        size = 1.0 if case.scaling is None else case.scaling.objective
        claim = with_contradictions(case.form, attempt.run(limits), size)
        running += time.perf_counter() - begun
        found = certify(case, claim)
        if best is None or _is_better(found, best.found):
            best = Outcome(claim, found, attempt.how, 0.0)
        if _is_settled(found, claim, attempt):
            break
    assert best is not None
    return replace(_refined(case, best), seconds=running)


def _refined(case: Case, best: Outcome) -> Outcome:
    """The outcome, or a certified one from the same active rows in exact arithmetic.

    Only beside a constant are a solver's tolerances more than the optimum; elsewhere what it does
    wrong is not hidden.
    """
    unproven = best.found.certificate.verdict is not Verdict.CERTIFIED
    if not (unproven and case.has_constant) or best.claim.status is Status.INTERRUPTED:
        return best
    claim = refined(case, best.claim)
    if claim is None:
        return best
    found = certify(case, claim)
    closed = found.certificate.verdict.closed and _is_better(found, best.found)
    return replace(best, claim=claim, found=found) if closed else best


def _attempts(choice: ChosenSolver, case: Case, *, automatic: bool) -> list[Attempt]:
    name, form, classification = choice.info.name, case.form, case.classification
    unsure = name == "highs" and not form.integer.any() and "presolve" not in case.limits.options
    # Clarabel calls some bounded models unbounded whose rows alone differ much in size.
    plain = Attempt(
        lambda limits: _run(name, case.model, form, classification, limits),
        certain=not unsure and name != "clarabel",
    )
    found = [plain]
    if automatic and classification.problem_class in DUALISED.get(name, ()):
        how = worthwhile(form)
        dual = dual_form(form) if how else None
        if dual is not None:
            found.insert(0, Attempt(_through(dual, name, classification), how, certain=False))
    if unsure:
        found.append(Attempt(_without_presolve(form, classification), "without presolve"))
    if name == "clarabel" and form.nonlinear:
        closer = clarabel.CLOSER
        found.append(
            Attempt(lambda limits: exponential_cones.run(form, limits, closer), "more closely")
        )
    if name in SCALED and not form.nonlinear:
        scaled = Attempt(_near_one(case, name), "in scaled numbers", certain=False)
        if case.scaling is not None:
            found.insert(found.index(plain), scaled)
        elif name == "clarabel":
            found.append(scaled)
    if name == "scs":
        found.append(
            Attempt(lambda limits: scs.run_closer(form, classification, limits), "more closely")
        )
    return found


def _near_one(case: Case, name: str) -> Callable[[Limits], Claim]:
    """The model in numbers near 1, see scaling.py."""

    def run(limits: Limits) -> Claim:
        refuse_huge_bounds(name, case.form)  # as without scaling, under which they look harmless
        if name == "clarabel":
            known = () if case.scaling is None else (case.scaling,)
            return clarabel.run_scaled(case.form, case.classification, limits, *known)
        factors = case.factors
        lost = coefficient_outside(factors.form, *SOLVERS[name].coefficients)
        if lost:
            return Claim(Status.ERROR, message=f"scaling would lose {lost}")
        return factors.claim(_run(name, case.model, factors.form, case.classification, limits))

    return run


def _through(
    dual: DualForm, name: str, classification: Classification
) -> Callable[[Limits], Claim]:
    options: Mapping[str, Any] = HIGHS_OPTIONS if name == "highs" else {}

    def run(limits: Limits) -> Claim:
        ours = replace(limits, options={**options, **limits.options})
        back_end = {"highs": highs.run, "clarabel": clarabel.run, "piqp": piqp.run}[name]
        return dual.recovered(back_end(dual.form, classification, ours))

    return run


def _without_presolve(
    form: StandardForm, classification: Classification
) -> Callable[[Limits], Claim]:
    # The presolve of HiGHS 1.15.1 calls some unbounded programs infeasible.
    def run(limits: Limits) -> Claim:
        ours = replace(limits, options={"presolve": "off", **limits.options})
        return highs.run(form, classification, ours)

    return run


def _run(
    name: str,
    model: pyo.ConcreteModel,
    form: StandardForm,
    classification: Classification,
    limits: Limits,
) -> Claim:
    match name:
        case "highs" if form.integer.any() and form.objective.Q.nnz:
            return outer_approximation.run(form, classification, limits)
        case "highs":
            return highs.run(form, classification, limits)
        case "clarabel" if form.nonlinear:
            return exponential_cones.run(form, limits)
        case "clarabel":
            return clarabel.run(form, classification, limits)
        case "scs":
            return scs.run(form, classification, limits)
        case "piqp":
            return piqp.run(form, classification, limits)
        case "mosek":
            return mosek.run(form, classification, limits)
        case "scip" if not form.nonlinear:
            return scip.run(form, limits)
    if name in _REGISTERED:
        return _REGISTERED[name](form, classification, limits)
    return pyomo_interface.run(name, model, form, limits)


def _remaining(limits: Limits, spent: float) -> Limits | None:
    """Limits with the time that is left; None when there is none."""
    if limits.time_limit is None:
        return limits
    left = limits.time_limit - spent
    return replace(limits, time_limit=left) if left > SHORTEST else None


def _is_settled(found: Certified, claim: Claim, attempt: Attempt) -> bool:
    stopped = claim.status is Status.INTERRUPTED or "interrupted" in claim.message
    if stopped or found.certificate.verdict is not Verdict.NOT_CERTIFIED:
        return True
    # A claim that was refuted (status error) settles nothing.
    return found.x is None and attempt.certain and found.status is not Status.ERROR


def _is_better(found: Certified, best: Certified) -> bool:
    """Whether a later result replaces an earlier one; one without a point is replaced at a tie."""
    own, other = standing(found), standing(best)
    return own > other or (own == other and best.x is None)


def standing(found: Certified) -> tuple[int, bool, float]:
    """Order of results: by verdict, feasible, then by the proven gap."""
    certificate = found.certificate
    gap = np.inf if certificate.gap is None else certificate.gap
    rank = -list(Verdict).index(certificate.verdict)
    return rank, found.objective is not None, -gap
