"""A saved result proven again from its data, by our own computation.

Objective, violation and bound are computed anew from the saved point and multipliers; that a model
has no point, or no least value, from the saved Farkas multipliers or ray, in exact arithmetic; the
bound of a search by a search. No solver is called, but that a search beyond four dimensions, and a
bound at nu_bar, need the linear programs of highspy. What cannot be computed (a solver's bound, or
one whose multipliers are not in the file) is listed as a claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuts.bound_again import bound_again
from cuts.searched import ENGINE, SEARCHED
from experiments.prepared import Prepared, origin_of
from formulations.catalogue import CATALOGUE, Origin, PaperCheck
from formulations.data import TrainingData
from formulations.multiclass_data import MulticlassData
from solvers.algorithms.proofs import (
    RELAXATION_METHOD,
    STRENGTHENING,
    bound_of_strengthening,
    closed_bound,
)
from solvers.backend import Claim
from solvers.certificates.bounds import BOUND_DUALS, BOUND_POINT
from solvers.certify import FEASIBILITY_TOLERANCE, GAP_TOLERANCE, Case, certify_point
from solvers.classify import classify
from solvers.infeasibility import checked_infeasibility
from solvers.quotients import without_quotients
from solvers.result import SolveResult, Status, Verdict
from solvers.standard_form import standard_form
from solvers.transform import is_disjunctive, transformed
from solvers.unboundedness import ray_proof
from solvers.values import multipliers_by_name, point_with, variables

Array = NDArray[np.float64]

# Arithmetic repeated in double precision, perhaps on another machine.
OBJECTIVE_TOLERANCE = 1e-9
# A bound proven again is a proof by itself; it may lie this far below the saved one.
BOUND_TOLERANCE = 1e-7

MISSING = "with multipliers that are not in the file"
NO_OPTIMUM = (Status.INFEASIBLE, Status.UNBOUNDED)


@dataclass(frozen=True)
class Repeated:
    """One number of a result, as saved and as computed again."""

    name: str
    saved: float | None
    recomputed: float | None
    confirmed: bool


@dataclass(frozen=True, eq=False)
class Recheck:
    """A saved result beside its recomputation.

    Attributes
    ----------
    numbers : tuple of Repeated
        Empty for a result without a point.
    verdict : Verdict
        What our own computation makes of the file.
    bound_method : str
        How the bound, or that there is no optimum, was proven again; empty when it was not.
    claims : tuple of str
        What stays the word of the solver, or of whoever saved the file.
    reason : str
        Why the file is not confirmed; empty when it is.
    status : Status
        That of the file.
    """

    numbers: tuple[Repeated, ...]
    verdict: Verdict
    bound_method: str
    claims: tuple[str, ...]
    reason: str
    status: Status = Status.OPTIMAL

    @property
    def confirmed(self) -> bool:
        """Whether everything the file states was proven again or is marked as a claim."""
        return not self.reason

    @property
    def without_optimum(self) -> bool:
        """Whether what was proven again is that there is no point or no least value."""
        return self.confirmed and self.status in NO_OPTIMUM


def refuse_other_data(result: SolveResult, raw: TrainingData | MulticlassData) -> None:
    """Raise ValueError unless the data is that of the result, to the last bit and class name."""
    found, stated = raw.sha256, str(result.data.get("sha256"))
    if found != stated:
        raise ValueError(
            f"the result was saved for other data: its sha256 begins {stated[:12]}, that of "
            f"{raw.spec or 'this data'} {found[:12]}"
        )
    names = result.data.get("classes")
    if isinstance(raw, MulticlassData) and names is not None and tuple(names) != raw.classes:
        raise ValueError(
            f"the result names the classes {', '.join(map(str, names))}; those of "
            f"{raw.spec or 'this data'} are {', '.join(raw.classes)}"
        )


def recheck(result: SolveResult, prepared: Prepared) -> Recheck:
    """Prove a saved result again.

    Parameters
    ----------
    prepared : Prepared
        The training data, preprocessed as recorded in the result.

    Raises
    ------
    ValueError
        Other data, no formulation of the catalogue, an edited model, a result with neither a point
        nor a proof, or arrays that do not fit the model.
    """
    refuse_other_data(result, prepared.raw)
    origin = origin_of(result, prepared)
    entry = CATALOGUE[origin.entry]
    proven_empty = result.status in NO_OPTIMUM and result.certificate.verdict is Verdict.CERTIFIED
    if result.objective is None and not proven_empty:
        raise ValueError(f"the result holds no point to prove: its status is {result.status}")
    if result.certificate.level != "paper" or entry.check is None:
        raise ValueError(
            f"the result belongs to a {origin.entry} model that was edited: its hyperparameters do "
            "not say how, so it cannot be built again"
        )
    case = _rebuilt(origin)
    if proven_empty:
        return _no_optimum(result, case)
    checked = entry.check(origin, result.values)
    bound, method = checked.bound, checked.bound_method
    for value, how in _own_bounds(result, case):
        if value is not None and (bound is None or value > bound):
            bound, method = value, how
    why = MISSING
    if _was_searched(result, bound, case.scale(checked.objective)):
        value, how, reason = bound_again(origin, result.values, result.seconds)
        if value is not None and (bound is None or value > bound):
            bound, method = value, how
        why = f"but not again here: {reason}" if reason else MISSING
    return _compared(result, case, checked, bound, method, why)


def _was_searched(result: SolveResult, bound: float | None, scale: float) -> bool:
    """Whether the saved bound is that of a search of ours, and better than what is known here."""
    if ENGINE not in result.certificate.facts or result.formulation not in SEARCHED:
        return False
    if result.bound is None:
        return False
    return bound is None or bound < result.bound - BOUND_TOLERANCE * scale


def _rebuilt(origin: Origin) -> Case:
    """The model built again from its hyperparameters."""
    model = CATALOGUE[origin.entry].build(origin.data, **origin.parameters)
    if is_disjunctive(model):
        model = transformed(model, origin.parameters["transformation"])
    model = without_quotients(model)
    form = standard_form(model)
    return Case(model, form, classify(form), origin)


def _no_optimum(result: SolveResult, case: Case) -> Recheck:
    """Check the saved Farkas multipliers, or the saved point and ray, in exact arithmetic."""
    words = ""
    if result.status is Status.INFEASIBLE:
        form = replace(case.form, sense=1)
        multipliers = multipliers_by_name(result.duals, form, case.classification)
        proof = checked_infeasibility(form, multipliers.rows)
        what, words = "no point", "" if proof is None else proof.words
    else:
        form, zero = case.form, np.zeros(case.form.n)
        _refuse_missing(result.values, case)
        _refuse_missing(result.ray, case, "the ray")
        point = point_with(case.model, form, zero, result.values)
        way = ray_proof(form, point_with(case.model, form, zero, result.ray), point)
        what, words = "no least value", "" if way is None else way.words
    reason = "" if words else f"that the model has {what} could not be proven again"
    verdict = Verdict.CERTIFIED if words else Verdict.NOT_CERTIFIED
    return Recheck((), verdict, words, (), reason, result.status)


def _own_bounds(result: SolveResult, case: Case) -> list[tuple[float | None, str]]:
    """Every bound of ours that the file and the data allow."""
    found = [closed_bound(case.origin, result.values)]
    gamma = result.certificate.facts.get(STRENGTHENING)
    if gamma is not None and case.origin is not None and _is_numbers(gamma):
        found.append((bound_of_strengthening(case.origin, gamma), RELAXATION_METHOD))
    duals = result.duals or result.certificate.facts.get(BOUND_DUALS, {})
    if duals and case.classification.relaxes_to_convex:
        found.append(_bound_from_multipliers(result, case, duals))
    return found


def _is_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(x, int | float) for x in value)


def _bound_from_multipliers(
    result: SolveResult, case: Case, duals: Mapping[str, Any]
) -> tuple[float | None, str]:
    """Weak duality at the saved multipliers on the model built again."""
    _refuse_missing(result.values, case)
    at = result.certificate.facts.get(BOUND_POINT, {})
    values = dict(result.values) | {name: np.asarray(at[name], dtype=float) for name in at}
    x = point_with(case.model, case.form, np.zeros(case.form.n), values)
    claim = Claim(Status.OPTIMAL, x, multipliers_by_name(duals, case.form, case.classification))
    found = certify_point(case, claim, closing=False).certificate
    return found.bound, found.bound_method


def _refuse_missing(values: Mapping[str, Array], case: Case, what: str = "the result") -> None:
    missing = [c.name for c in variables(case.model) if len(c) and c.name not in values]
    if missing:
        raise ValueError(f"{what} holds no values of {', '.join(missing)}")


def _compared(
    result: SolveResult,
    case: Case,
    checked: PaperCheck,
    bound: float | None,
    method: str,
    why: str,
) -> Recheck:
    saved, stated = result.certificate, result.objective
    assert stated is not None
    scale = case.scale(stated)
    same = abs(checked.objective - stated) <= OBJECTIVE_TOLERANCE * scale
    feasible = checked.violation <= FEASIBILITY_TOLERANCE
    held = result.bound is None or (
        bound is not None and bound >= result.bound - BOUND_TOLERANCE * scale
    )
    closed = bound is not None and checked.objective - bound <= GAP_TOLERANCE * scale
    claims = []
    if saved.solver_bound is not None:
        claims.append(f"bound {saved.solver_bound:.17g}: the word of {result.solver}")
    if saved.facts.get("second_solver"):
        claims.append(_second_claim(saved.facts))
    if not held:
        claims.append(
            f"bound {result.bound:.17g}: proven when it was saved ({saved.bound_method}), {why}"
        )
    reason = ""
    if not same:
        reason = (
            f"the saved objective {stated:.17g} is {checked.objective:.17g} when computed again"
        )
    elif not feasible:
        reason = f"the point is infeasible by {checked.violation:.2e}"
    elif result.bound is not None and result.bound > stated + GAP_TOLERANCE * scale:
        reason = f"the saved bound {result.bound:.17g} exceeds the objective {stated:.17g}"
    elif saved.verdict is Verdict.CERTIFIED and not closed:
        reason = "the saved bound could not be proven again" + "".join(
            f": {c}" for c in claims[-1:]
        )
    elif saved.verdict is Verdict.NOT_CERTIFIED:
        reason = f"it was saved as NOT_CERTIFIED: {saved.reason}"
    numbers = (
        Repeated("objective", stated, checked.objective, same),
        Repeated("violation", saved.primal_residual, checked.violation, feasible),
        Repeated("bound", result.bound, bound, held),
    )
    verdict = Verdict.NOT_CERTIFIED if reason else saved.verdict
    return Recheck(numbers, verdict, method, tuple(claims), reason, result.status)


def _second_claim(facts: Mapping[str, Any]) -> str:
    name, value, bound = (facts.get(f"second_{w}") for w in ("solver", "objective", "bound"))
    return f"{name} was asked as well: objective {value}, bound {bound}"
