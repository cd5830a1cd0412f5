"""Build a catalogue entry by name, with the solves some hyperparameters need beforehand."""

from __future__ import annotations

import difflib
import inspect
from typing import Any

import pyomo.environ as pyo

from formulations.c_svc import c_svc
from formulations.catalogue import CATALOGUE, Entry
from formulations.data import GramData, TrainingData
from formulations.ramp import ramp_objective
from solvers.algorithms.incumbent import zero_one_incumbent
from solvers.solve import solve


def entry_named(name: str) -> Entry:
    """Catalogue entry, or a ValueError with the nearest names."""
    if name in CATALOGUE:
        return CATALOGUE[name]
    near = difflib.get_close_matches(name, CATALOGUE, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "see tightmargin list"
    raise ValueError(f"no formulation is called {name!r}; {hint}")


def build(name: str, data: TrainingData | GramData, **parameters: Any) -> pyo.ConcreteModel:
    """Build an entry; big_m="derived" gets an incumbent found by our own heuristic first.

    Raises
    ------
    ValueError
        Unknown entry or hyperparameter (with the nearest name), or a required one is missing.
    """
    entry = entry_named(name)
    allowed = entry.parameters
    for given in parameters:
        if given not in allowed:
            near = difflib.get_close_matches(given, allowed, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise ValueError(
                f"{name} has no hyperparameter {given!r} (it has {', '.join(allowed)}){hint}"
            )
    missing = [
        word
        for word, declared in allowed.items()
        if declared.default is inspect.Parameter.empty and word not in parameters
    ]
    if missing:
        raise ValueError(f"{name} needs {', '.join(missing)}: nothing is chosen for you")
    if parameters.get("big_m") == "derived" and parameters.get("incumbent") is None:
        parameters = parameters | {"incumbent": _incumbent(entry, data, parameters)}
    return entry.build(data, **parameters)


def _incumbent(
    entry: Entry, data: TrainingData | GramData, parameters: dict[str, Any]
) -> tuple[Any, float] | None:
    """A good hyperplane (w, b) for the entry's loss; the builder recomputes its objective."""
    if not isinstance(data, TrainingData):
        return None
    intercept = parameters.get("intercept", entry.parameters["intercept"].default)
    if "penalty" in entry.parameters:
        found = zero_one_incumbent(data, penalty=parameters["penalty"], intercept=intercept)
        return found.w, found.b
    C = parameters["C"]
    by_count = zero_one_incumbent(data, penalty=4 * C, intercept=intercept)
    hinge = solve(c_svc(data, C=C, intercept=intercept)).values
    candidates = [
        (by_count.w, by_count.b),
        (hinge["w"], float(hinge["b"]) if "b" in hinge else 0.0),
    ]
    return min(candidates, key=lambda point: ramp_objective(data, point[0], point[1], C, intercept))
