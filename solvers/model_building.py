"""Build a catalogue entry by name, with the solves some hyperparameters need beforehand."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import CATALOGUE, Entry
from tightmargin.formulations.data.multiclass_data import BuilderData, MulticlassData
from tightmargin.formulations.parameters import did_you_mean
from tightmargin.formulations.svc.c_svc import c_svc
from tightmargin.formulations.zero_one.ramp import ramp_objective
from tightmargin.solvers.dispatch import solve
from tightmargin.solvers.matrix.alternating import matrix_incumbent
from tightmargin.solvers.multiclass.incumbent import start_classes, truncated_incumbent
from tightmargin.solvers.zero_one.enumeration.incumbent import zero_one_incumbent

INCUMBENT_FOR = ("big_m", "slack_bounds")


def entry_named(name: str) -> Entry:
    """Catalogue entry, or a ValueError with the nearest names."""
    if name in CATALOGUE:
        return CATALOGUE[name]
    hint = did_you_mean(name, CATALOGUE, 3) or "; see tightmargin list"
    raise ValueError(f"no formulation is called {name!r}{hint}")


def build(name: str, data: BuilderData, **parameters: Any) -> pyo.ConcreteModel:
    """Build an entry; what is "derived" from an incumbent gets one by our own heuristic first.

    Raises
    ------
    ValueError
        Unknown entry or hyperparameter (with the nearest name), or a required one is missing.
    """
    entry = entry_named(name)
    allowed = entry.parameters
    for given in parameters:
        if given not in allowed:
            raise ValueError(
                f"{name} has no hyperparameter {given!r} (it has {', '.join(allowed)})"
                f"{did_you_mean(given, allowed)}"
            )
    missing = [
        word
        for word, declared in allowed.items()
        if declared.default is inspect.Parameter.empty and word not in parameters
    ]
    if missing:
        raise ValueError(f"{name} needs {', '.join(missing)}: nothing is chosen for you")
    derives = isinstance(data, entry.takes) and _derives(allowed, parameters)
    if derives and parameters.get("incumbent") is None:
        parameters = parameters | {"incumbent": _incumbent(entry, data, parameters)}
    model = entry.build(data, **parameters)
    if parameters.get("incumbent") is not None and _indicators(model):
        _start_from(model, data, parameters["incumbent"])
    return model


def _derives(allowed: Mapping[str, inspect.Parameter], parameters: Mapping[str, Any]) -> bool:
    """Whether the model goes by an incumbent: "derived" says so, or there is no other choice."""
    if "incumbent" in allowed and not any(word in allowed for word in INCUMBENT_FOR):
        return True
    given = (
        parameters.get(word, allowed[word].default) for word in INCUMBENT_FOR if word in allowed
    )
    return any(isinstance(value, str) and value == "derived" for value in given)


def _start_from(model: pyo.ConcreteModel, data: BuilderData, incumbent: tuple[Any, Any]) -> None:
    """Give the variables the incumbent's values, a start for solvers that take one."""
    if isinstance(data, MulticlassData):
        start_classes(model, data, incumbent)
        return
    w, b = np.asarray(incumbent[0], dtype=float), float(incumbent[1])
    for variable, number in zip(model.w.values(), w.tolist(), strict=True):
        variable.set_value(number)
    if model.find_component("b") is not None:
        model.b.set_value(b)
    u = data.y * (data.factor @ w + b)
    ramp = model.find_component("xi") is not None
    outliers = u < (-1 if ramp else 1)
    for variable, out in zip(_indicators(model), outliers.tolist(), strict=True):
        variable.set_value(float(out))
    if model.find_component("keep") is not None:
        for kept, out in zip(model.keep.values(), outliers.tolist(), strict=True):
            kept.binary_indicator_var.set_value(float(not out))


def _indicators(model: pyo.ConcreteModel) -> list[Any]:
    """Variables that are 1 for the points a model gives up."""
    if model.find_component("z") is not None:
        return list(model.z.values())
    if model.find_component("drop") is not None:
        return [part.binary_indicator_var for part in model.drop.values()]
    return []


def _incumbent(
    entry: Entry, data: BuilderData, parameters: dict[str, Any]
) -> tuple[Any, Any] | None:
    """A good hyperplane (w, b) for the entry's loss; the builder recomputes its objective.

    Of several classes (B, b).
    """
    if isinstance(data, MulticlassData):
        return truncated_incumbent(entry.name, data, parameters)
    if not data.d:
        return None
    if "rank" in entry.parameters:
        return matrix_incumbent(data.points, parameters)
    points = data.points
    intercept = parameters.get("intercept", entry.parameters["intercept"].default)
    if "penalty" in entry.parameters:
        found = zero_one_incumbent(points, penalty=parameters["penalty"], intercept=intercept)
        return found.w, found.b
    C = parameters["C"]
    by_count = zero_one_incumbent(points, penalty=4 * C, intercept=intercept)
    hinge = solve(c_svc(points, C=C, intercept=intercept)).values
    candidates = [
        (by_count.w, by_count.b),
        (hinge["w"], float(hinge["b"]) if "b" in hinge else 0.0),
    ]
    return min(
        candidates, key=lambda point: ramp_objective(points, point[0], point[1], C, intercept)
    )
