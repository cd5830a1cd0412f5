"""A saved result proven again from its data, by our own computation and no solver.

Objective, violation and bound are computed anew from the saved point and multipliers. What cannot
be computed (a solver's bound, or one whose multipliers are not in the file) is listed as a claim.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.preparation import Prepared, origin_of
from formulations.catalogue import CATALOGUE, Origin, PaperCheck
from formulations.data import TrainingData
from solvers.algorithms.proofs import closed_bound
from solvers.backend import Claim
from solvers.certify import FEASIBILITY_TOLERANCE, GAP_TOLERANCE, Case, certify
from solvers.classify import CONVEX_CLASSES, Classification, classify
from solvers.conic_form import Multipliers
from solvers.result import SolveResult, Status, Verdict
from solvers.standard_form import StandardForm, standard_form
from solvers.values import point_with, variables

Array = NDArray[np.float64]

# Arithmetic repeated in double precision, perhaps on another machine.
OBJECTIVE_TOLERANCE = 1e-9
# A bound proven again is a proof by itself; it may lie this far below the saved one.
BOUND_TOLERANCE = 1e-7


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
    verdict : Verdict
        What our own computation makes of the file.
    bound_method : str
        How the bound was proven again; empty when it was not.
    claims : tuple of str
        What stays the word of the solver, or of whoever saved the file.
    reason : str
        Why the file is not confirmed; empty when it is.
    """

    numbers: tuple[Repeated, ...]
    verdict: Verdict
    bound_method: str
    claims: tuple[str, ...]
    reason: str

    @property
    def confirmed(self) -> bool:
        """Whether everything the file states was proven again or is marked as a claim."""
        return not self.reason


def refuse_other_data(result: SolveResult, raw: TrainingData) -> None:
    """Raise ValueError unless the training data is that of the result, to the last bit."""
    found, stated = raw.sha256, str(result.data.get("sha256"))
    if found != stated:
        raise ValueError(
            f"the result was saved for other data: its sha256 begins {stated[:12]}, that of "
            f"{raw.spec or 'this data'} {found[:12]}"
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
        Other data, no formulation of the catalogue, an edited model, or a result without a point.
    """
    refuse_other_data(result, prepared.raw)
    origin = origin_of(result, prepared)
    entry = CATALOGUE[origin.entry]
    if result.objective is None:
        raise ValueError(f"the result holds no point to prove: its status is {result.status}")
    if result.certificate.level != "paper" or entry.check is None:
        raise ValueError(
            f"the result belongs to a {origin.entry} model that was edited: its hyperparameters do "
            "not say how, so it cannot be built again"
        )
    checked = entry.check(origin, result.values)
    bound, method = checked.bound, checked.bound_method
    others = [closed_bound(origin)]
    if entry.problem_class in CONVEX_CLASSES:
        others = [_bound_from_multipliers(result, origin)]
    for value, how in others:
        if value is not None and (bound is None or value > bound):
            bound, method = value, how
    return _compared(result, checked, bound, method)


def _bound_from_multipliers(result: SolveResult, origin: Origin) -> tuple[float | None, str]:
    """Weak duality at the saved multipliers on the model built again."""
    model = CATALOGUE[origin.entry].build(origin.data, **origin.parameters)
    missing = [c.name for c in variables(model) if len(c) and c.name not in result.values]
    if missing:
        raise ValueError(f"the result holds no values of {', '.join(missing)}")
    form = standard_form(model)
    classification = classify(form)
    x = point_with(model, form, np.zeros(form.n), result.values)
    claim = Claim(Status.OPTIMAL, x, saved_multipliers(result, form, classification))
    found = certify(Case(model, form, classification, origin), claim).certificate
    return found.bound, found.bound_method


def saved_multipliers(
    result: SolveResult, form: StandardForm, classification: Classification
) -> Multipliers:
    """Multipliers of a saved result in the order of the model; zeros where none were saved.

    Those of the variables' bounds are not saved: the repair in dual_bound finds them again.
    """
    rest = {name: iter(np.atleast_1d(array)) for name, array in result.duals.items()}

    def of(row: object, absent: Array) -> Array:
        component = row.parent_component()  # type: ignore[attr-defined]
        if component.name not in rest:
            return absent
        if component.is_indexed():
            return np.asarray(next(rest[component.name]))
        return np.asarray(result.duals[component.name])

    rows = np.array([float(of(row, np.zeros(()))) for row in form.rows])
    cones = {
        id(row.data): of(row.data, np.zeros(len(reading.cone.b)))
        for row, reading in zip(form.quadratic, classification.readings, strict=True)
        if reading.cone is not None
    }
    cones |= {id(row.data): of(row.data, np.zeros((row.order, row.order))) for row in form.psd}
    return Multipliers(form.sense * rows, np.zeros(form.n), cones)


def _compared(
    result: SolveResult, checked: PaperCheck, bound: float | None, method: str
) -> Recheck:
    saved, stated = result.certificate, result.objective
    assert stated is not None
    scale = max(1.0, abs(stated))
    same = abs(checked.objective - stated) <= OBJECTIVE_TOLERANCE * scale
    feasible = checked.violation <= FEASIBILITY_TOLERANCE
    held = result.bound is None or (
        bound is not None and bound >= result.bound - BOUND_TOLERANCE * scale
    )
    closed = bound is not None and checked.objective - bound <= GAP_TOLERANCE * scale
    claims = []
    if saved.solver_bound is not None:
        claims.append(f"bound {saved.solver_bound:.17g}: the word of {result.solver}")
    if not held:
        claims.append(
            f"bound {result.bound:.17g}: proven when it was saved ({saved.bound_method}), with "
            "multipliers that are not in the file"
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
        reason = "the saved bound could not be proven again: " + claims[-1]
    elif saved.verdict is Verdict.NOT_CERTIFIED:
        reason = f"it was saved as NOT_CERTIFIED: {saved.reason}"
    numbers = (
        Repeated("objective", stated, checked.objective, same),
        Repeated("violation", saved.primal_residual, checked.violation, feasible),
        Repeated("bound", result.bound, bound, held),
    )
    verdict = Verdict.NOT_CERTIFIED if reason else saved.verdict
    return Recheck(numbers, verdict, method, tuple(claims), reason)
