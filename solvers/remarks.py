"""What a reader of a result must know besides the numbers: facts, with a sentence for most.

least_errors    points of both labels in one place; no classifier makes fewer errors
active_bounds   bounds on the hyperplane that hold the optimum back
binding_big_m   rows that a big-M holds at z_i = 1: it may have cut the optimum off
big_m_slack     margin that an indicator within the solver's tolerance of 0 buys for nothing
no_duals        why a result with a point has no multipliers
kernel_shift    number added to the diagonal of a kernel matrix that was not semidefinite
components      of a kernel matrix, where w has one entry for each of them
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from tightmargin.formulations.big_m_rules import RAMP, TRUNCATED, ZERO_ONE
from tightmargin.formulations.catalogue import Origin, origin_now
from tightmargin.formulations.data.equal_points import least_errors
from tightmargin.formulations.data.training_data import GramData
from tightmargin.solvers.canonical_form.classification import Classification
from tightmargin.solvers.standard_form.standard_form import StandardForm

Values = Mapping[str, NDArray[np.float64]]
Note = tuple[str, Any, str]  # name of the fact, the fact, its sentence

SWITCHED = (*ZERO_ONE, *RAMP, *TRUNCATED)  # whose "big_m" is known to be an M; others' is not

AT_BOUND = 1e-6
LARGEST_SLACK = 1e-3  # of the margin, which is 1
# Option that says how far from 0 and 1 an integer may be, with its default.
INTEGRALITY = {
    "highs": ("mip_feasibility_tolerance", 1e-6),
    "scip": ("numerics/feastol", 1e-6),
    "gurobi": ("IntFeasTol", 1e-5),
    "mosek": ("MSK_DPAR_MIO_TOL_ABS_RELAX_INT", 1e-5),
}


@dataclass(frozen=True)
class Remarks:
    """Facts by the names above, and what they mean.

    Attributes
    ----------
    facts : mapping
        For the certificate; only what there is something to say about.
    sentences : tuple of str
        For the message.
    """

    facts: Mapping[str, Any] = field(default_factory=dict)
    sentences: tuple[str, ...] = ()


def remarks_on(
    model: pyo.ConcreteModel,
    values: Values,
    *,
    integer: bool,
    solver: str,
    options: Mapping[str, Any],
) -> Remarks:
    """Notes on a solved model of the catalogue, edited or not; none on a foreign one.

    Parameters
    ----------
    values : mapping
        Arrays by variable name, as in a result; empty when there is no point.
    integer : bool
        Whether the model has integer variables.
    solver, options
        Who solved it, and the options given: they say what passes for an integer.
    """
    if not isinstance(getattr(model, "origin", None), Origin):
        return Remarks()
    origin = origin_now(model)
    found: list[Note] = [_contradictions(origin), _kernel_shift(origin)]
    if values:
        found.append(_components(origin, values))
        found += [_active_bounds(model, origin, values), _binding(origin, values)]
    if integer:
        found.append(_slack(origin, solver, options))
    kept = [(name, fact, text) for name, fact, text in found if fact]
    return Remarks({name: fact for name, fact, _ in kept}, tuple(text for *_, text in kept))


def why_no_duals(form: StandardForm, classification: Classification, solver: str) -> dict[str, str]:
    """The fact `no_duals`, for a result with a point and without multipliers."""
    if not (len(form.rows) or form.quadratic or form.psd):
        return {}
    if form.integer.any():
        reason = "no multipliers: a model with integers has none"
    elif not classification.convex:
        reason = "no multipliers: those of a model that is not convex prove nothing"
    else:
        reason = (
            f"no multipliers: {solver} returns none for {classification.problem_class} models; "
            "clarabel does"
        )
    return {"no_duals": reason}


def _contradictions(origin: Origin) -> Note:
    count = least_errors(origin.data)
    text = (
        f"points of both labels lie in one place: every classifier makes at least {count} "
        f"error{'s' if count > 1 else ''}"
    )
    return "least_errors", count, text


def _components(origin: Origin, values: Mapping[str, Any]) -> Note:
    """How many eigenvalues of a kernel matrix are no rounding: all of them are kept."""
    data = origin.data
    count = data.d if isinstance(data, GramData) and "w" in values else 0
    return "components", count, f"the kernel matrix has {count} components, all of which w has"


def _kernel_shift(origin: Origin) -> Note:
    data = origin.data
    if not isinstance(data, GramData):
        return "kernel_shift", 0.0, ""
    text = (
        f"{data.shift:.6g} was added to the diagonal of the kernel matrix, whose smallest "
        f"eigenvalue was {data.smallest_eigenvalue:.6g}"
    )
    return "kernel_shift", float(data.shift), text


def _active_bounds(model: pyo.ConcreteModel, origin: Origin, values: Values) -> Note:
    names = _at_bounds_of_hyperplane(model)
    if _intercept_bound_is_active(origin, model, values):
        names.append("intercept_bound")
    text = f"{', '.join(names)}: a bound is active and the optimum depends on it"
    return "active_bounds", names, text


def _at_bounds_of_hyperplane(model: pyo.ConcreteModel) -> list[str]:
    """Elements of w and b at a bound that was put on them; those of a builder are proven."""
    found = []
    for component in (model.find_component("w"), model.find_component("b")):
        if component is None or component.ctype is not pyo.Var:
            continue
        for x in component.values():
            if x.fixed or x.value is None or _is_a_builders(x):
                continue
            size = AT_BOUND * max(1.0, abs(x.value))
            if any(end is not None and abs(x.value - end) <= size for end in x.bounds):
                found.append(x.name)
    return found


def _is_a_builders(x: Any) -> bool:
    """Whether the bounds of a variable are expressions of a Param, as those derived here are."""
    return all(
        end is None or not isinstance(end, int | float | np.number) for end in (x.lower, x.upper)
    )


def _intercept_bound_is_active(origin: Origin, model: pyo.ConcreteModel, values: Values) -> bool:
    if model.find_component("intercept_bound") is None:
        return False
    limit = pyo.value(model.intercept_bound) ** 2
    if "W" in values and not (values["w"].any() or np.any(values.get("b", 0.0))):
        return False  # of no hyperplane the optimum is 0, whatever the bound
    if "W" in values:
        return bool(values["W"][-1, -1] >= limit * (1 - AT_BOUND))
    return bool("beta" in values and limit * values["beta"] > AT_BOUND)


def _binding(origin: Origin, values: Values) -> Note:
    if origin.entry not in (*ZERO_ONE, *RAMP) or "z" not in values or "w" not in values:
        return "binding_big_m", 0, ""
    big_m = np.broadcast_to(origin.parameters["big_m"], origin.data.n)
    b = float(values["b"]) if "b" in values else 0.0
    score = origin.data.y * (origin.data.factor @ values["w"] + b) + values.get("xi", 0.0)
    held = (values["z"] >= 1 - AT_BOUND) & (score <= 1 - big_m + AT_BOUND * np.maximum(1.0, big_m))
    count = int(held.sum())
    text = f"M holds {count} row{'s' if count > 1 else ''} at z = 1: a larger M may be better"
    return "binding_big_m", count, text


def _slack(origin: Origin, solver: str, options: Mapping[str, Any]) -> Note:
    if origin.entry not in SWITCHED or solver not in INTEGRALITY:
        return "big_m_slack", 0.0, ""
    option, default = INTEGRALITY[solver]
    tolerance = float(options.get(option, default))
    largest = float(np.max(origin.parameters["big_m"]))
    slack = largest * tolerance
    text = (
        f"M = {largest:.6g} is large for {solver}, to which z = {tolerance:g} is 0: that buys "
        f"{slack:.3g} of the margin 1; derive M, or lower {option}"
    )
    return "big_m_slack", slack if slack >= LARGEST_SLACK * (1 - 1e-9) else 0.0, text
