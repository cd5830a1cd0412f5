"""A saved result proven again from its data, by our own computation.

Objective, violation and bound are computed anew from the saved point and multipliers; that a model
has no point, or no least value, from the saved Farkas multipliers or ray, in exact arithmetic; the
bound of a search by a search. No solver is called, but that a search beyond four dimensions, and a
bound at nu_bar, need the linear programs of highspy. What cannot be computed (a solver's bound, or
one whose multipliers are not in the file) is listed as a claim.

Nothing that a file says of itself is believed: not its checksum, which anybody can compute, not its
verdict, no fact, no allowance and no preparation of its data. Numbers that contradict each other
are refused, whichever of them is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tightmargin.cuts.methods import SEARCHED
from tightmargin.cuts.saved_bounds import search_again
from tightmargin.experiments.data.loading import about
from tightmargin.experiments.data.preparation import words_of
from tightmargin.experiments.data.prepared import Prepared, origin_of
from tightmargin.experiments.saved_results.verification_facts import same_fact, unchecked_parts
from tightmargin.experiments.saved_results.verification_verdict import (
    NO_OPTIMUM,
    Verification,
    compared,
    reaches,
    refuse_missing,
    refuse_shapes,
)
from tightmargin.formulations.catalogue import CATALOGUE, Origin, PaperCheck, ProblemClass
from tightmargin.formulations.data.class_labels import SIGNS
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.point_weights import is_weighted
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.reliances import why_infeasible
from tightmargin.number_words import short
from tightmargin.printing import value_text
from tightmargin.solvers.certify.case import Case
from tightmargin.solvers.certify.certify import certify_point
from tightmargin.solvers.certify.multipliers import BOUND_DUALS, BOUND_POINT, larger
from tightmargin.solvers.certify.rays import ray_proof
from tightmargin.solvers.edits.edit import built
from tightmargin.solvers.engines.running import Limits
from tightmargin.solvers.kernel.exact_bounds import proven_infeasible
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.statement import Infeasible, LowerBound, Unbounded, by_lemma
from tightmargin.solvers.kernel.verdict import Verdict, judged_without_optimum
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.names import multipliers_by_name, point_with
from tightmargin.solvers.registry import closing_bound, saved_bounds
from tightmargin.solvers.result import SolveResult

MISSING = "with multipliers that are not in the file"
# What a file raises whose arrays do not belong to its model.
_ILL_FITTING = (KeyError, IndexError, TypeError, AttributeError, np.linalg.LinAlgError)


def refuse_other_data(result: SolveResult, raw: TrainingData | MulticlassData) -> None:
    """Raise ValueError unless the data is that of the result, to the last bit and class name."""
    found, stated = raw.sha256, str(result.data.get("sha256"))
    weighted = "total_weight" in result.data and not is_weighted(raw)
    if found != stated:
        raise ValueError(
            f"the result was saved for other data: its sha256 begins {stated[:12]}, that of "
            f"{raw.spec or 'this data'} {found[:12]}"
            + ("; its points were weighted: give the data itself" if weighted else "")
        )
    again, whose = about(raw), raw.spec or "this data"
    for word in ("n", "d", "total_weight"):
        said, counted = result.data.get(word), again.get(word)
        if word in result.data and not same_fact(said, counted):
            raise ValueError(f"the result says {word} = {said} of its data; {whose}: {counted}")
    names, own = result.data.get("classes"), again.get("classes", list(SIGNS))
    # Of data as -1 and +1 the file alone may know the names.
    if names is not None and names != own and own != list(SIGNS):
        named = ", ".join(map(str, names)) if isinstance(names, list) else str(names)
        raise ValueError(
            f"the result names the classes {named}; those of {whose} are {', '.join(map(str, own))}"
        )


def verification(
    result: SolveResult, prepared: Prepared, absolute_gap: float = 0.0
) -> Verification:
    """Prove a saved result again.

    prepared: the training data, preprocessed as recorded in the result.
    absolute_gap: what the caller allows the two ends to be apart, whatever the file says.
    Raises ValueError: other data, no formulation of the catalogue, an edited model, a result with
        neither a point nor a proof, or arrays that do not fit the model.
    """
    case = rebuilt_case(result, prepared, absolute_gap)
    proven_empty = _proven_empty(result)
    try:
        found = _no_optimum(result, case) if proven_empty else _with_point(result, case)
        return replace(found, problem=_problem(result, prepared))
    except _ILL_FITTING as error:
        raise ValueError(f"the saved arrays do not fit the model: {error!r}") from error


def _problem(result: SolveResult, prepared: Prepared) -> str:
    """The problem in a line: what a file may choose, and nothing checks."""
    asked = {**words_of(prepared.record), **result.parameters}
    given = {name: short(value_text(value), 24) for name, value in asked.items()}
    told = " ".join(f"{name}={words}" for name, words in given.items() if words)
    raw = prepared.raw
    return f"{result.formulation} {told}, {raw.n} points, {raw.d} features, {raw.sha256[:12]}"


def _proven_empty(result: SolveResult) -> bool:
    return result.status in NO_OPTIMUM and result.certificate.verdict is Verdict.CERTIFIED


def rebuilt_case(result: SolveResult, prepared: Prepared, absolute_gap: float = 0.0) -> Case:
    """The model of a saved result built again; a ValueError as `verification` raises it."""
    refuse_other_data(result, prepared.raw)
    origin = origin_of(result, prepared)
    entry = CATALOGUE[origin.entry]
    proven_empty = _proven_empty(result)
    if result.objective is None and not proven_empty:
        raise ValueError(f"the result holds no point to prove: its status is {result.status}")
    as_written = proven_empty and result.certificate.unproven == why_infeasible(origin) != ""
    if entry.check is None or not (as_written or result.certificate.level == "paper"):
        raise ValueError(
            f"the result belongs to a {origin.entry} model that was edited: its hyperparameters do "
            "not say how, so it cannot be built again"
        )
    case = _rebuilt(origin, absolute_gap)
    built, stated = str(case.classification.problem_class), result.problem_class
    if stated not in ("", built):
        raise ValueError(f"the result calls a model {stated} that is of class {built}")
    return case


def _with_point(result: SolveResult, case: Case) -> Verification:
    """Everything that can be computed of a result with a point, compared with the file."""
    origin = case.origin
    assert origin is not None
    check = CATALOGUE[origin.entry].check
    assert check is not None
    refuse_shapes(result.values, case)
    checked = check(origin, result.values)
    best: LowerBound | None = None
    for proof in _own_bounds(result, case, checked):
        best = larger(best, proof)
    why = MISSING
    if _was_searched(result, None if best is None else best.value(case.constant), case):
        lemma, reason = search_again(origin, result.values)
        best = larger(best, by_lemma(case.form, lemma, case.constant))
        why = f"but not again here: {reason}" if reason else MISSING
    return compared(result, case, checked, best, why)


def _was_searched(result: SolveResult, bound: float | None, case: Case) -> bool:
    """Whether the saved bound is that of a search of ours, and better than what is known here."""
    if "engine" not in result.certificate.facts or result.formulation not in SEARCHED:
        return False
    if result.bound is None:
        return False
    return not reaches(bound, result.bound, case)


def _rebuilt(origin: Origin, absolute_gap: float) -> Case:
    """The model built again from its hyperparameters."""
    again = built(origin)
    return Case(again.model, Subject(again.form), origin, Limits(absolute_gap=absolute_gap))


def _no_optimum(result: SolveResult, case: Case) -> Verification:
    """Check the saved Farkas multipliers, or the saved point and ray, in exact arithmetic."""
    numbers = ("gap", "upper", "bound", "solver_bound")
    stated = [name for name in numbers if getattr(result.certificate, name) is not None]
    if result.objective is not None or result.bound is not None or stated:
        said = f"it is {result.status} and has an objective or a bound"
        return Verification((), Verdict.NOT_CERTIFIED, "", (), said, result.status)
    if result.status is Status.INFEASIBLE:
        form = replace(case.form, sense=1)
        multipliers = multipliers_by_name(result.duals, form, case.classification)
        proof: Infeasible | Unbounded | None = proven_infeasible(form, multipliers.rows)
        what = "no point"
    else:
        form, zero = case.form, np.zeros(case.form.n)
        refuse_missing(result.values, case)
        refuse_missing(result.ray, case, "the ray")
        point = point_with(case.model, form, zero, result.values)
        proof = ray_proof(form, point_with(case.model, form, zero, result.ray, ray=True), point)
        what = "no least value"
    if proof is None:
        reason = f"that the model has {what} could not be proven again"
        return Verification((), Verdict.NOT_CERTIFIED, "", (), reason, result.status)
    judgement = judged_without_optimum(proof)
    unchecked = unchecked_parts(
        result, {}, judgement, proof.words, why_infeasible(case.origin) if case.origin else ""
    )
    return Verification(
        (), judgement.verdict, proof.words, (), judgement.reason, result.status, unchecked
    )


def _own_bounds(result: SolveResult, case: Case, checked: PaperCheck) -> list[LowerBound | None]:
    """Every bound of ours that the file and the data allow.

    Where nothing proves that the model keeps an optimum of the paper's problem, as with an M that
    is too small, a bound of the model is none of the problem.
    """
    lemmas = (
        checked.bound,
        closing_bound(case.origin, result.values),
        saved_bounds(case.origin, result.certificate.facts),
    )
    found = [by_lemma(case.form, lemma, case.constant) for lemma in lemmas]
    duals = result.duals or result.certificate.facts.get(BOUND_DUALS, {})
    if case.classification.problem_class is ProblemClass.EXP:  # its bound is found at a point
        refuse_missing(result.values, case)
        x = point_with(case.model, case.form, np.zeros(case.form.n), result.values)
        found.append(certify_point(case, Claim(Status.OPTIMAL, x), closing=False).lower)
        return found
    restricts = bool(checked.unproven) and not case.classification.convex
    if duals and case.classification.relaxes_to_convex and not restricts:
        found.append(_bound_from_multipliers(result, case, duals))
    return found


def _bound_from_multipliers(
    result: SolveResult, case: Case, duals: Mapping[str, Any]
) -> LowerBound | None:
    """Weak duality at the saved multipliers on the model built again."""
    refuse_missing(result.values, case)
    at = result.certificate.facts.get(BOUND_POINT, {})
    values = dict(result.values) | {name: np.asarray(at[name], dtype=float) for name in at}
    x = point_with(case.model, case.form, np.zeros(case.form.n), values)
    claim = Claim(Status.OPTIMAL, x, multipliers_by_name(duals, case.form, case.classification))
    return certify_point(case, claim, closing=False).lower
