"""Questions to the product, and its answers as the judge reads them."""

from __future__ import annotations

from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo

import tightmargin as tm
from tests.inside.solvers import SOLVERS
from tests.soundness.exact import constant_of, objective_at
from tests.soundness.judge import Answer, Case, Said, Truth

SECONDS = 10.0


def said_by(result: Any, model: pyo.ConcreteModel | None = None) -> Said:
    """A SolveResult; its objective is evaluated again where it has the model's variables."""
    certificate = result.certificate
    verdict = certificate.verdict.value
    evaluated = None
    if model is not None and result.objective is not None:
        evaluated = objective_at(model, result.values)
    duals = {name: _of_active_rows(model, name, array) for name, array in result.duals.items()}
    numbers = asdict(certificate) | {"values": dict(result.values), "duals": duals}
    numbers["facts"] = {k: v for k, v in certificate.facts.items() if k != "trace"}
    return Said(
        objective=result.objective,
        bound=result.bound if result.bound is not None else certificate.bound,
        upper=certificate.upper,
        proven=verdict == "CERTIFIED",
        point=verdict in ("CERTIFIED", "SOLVER_BOUND"),
        status=result.status.value,
        unproven=certificate.unproven,
        evaluated=None if evaluated is None else evaluated[0],
        terms=Fraction(0) if evaluated is None else evaluated[1],
        numbers=numbers,
    )


def _of_active_rows(model: pyo.ConcreteModel | None, name: str, array: Any) -> Any:
    """Multipliers without those of deleted rows, which are NaN by their documentation."""
    rows = None if model is None else model.find_component(name)
    if rows is None or not rows.is_indexed() or len(rows) != len(array):
        return array
    return np.asarray(array)[[row.active for row in rows.values()]]


def solving(
    name: str, model: pyo.ConcreteModel, truth: Truth, solver: str = "auto", **settings: Any
) -> Case:
    """The case of tm.solve on one model."""
    known = replace(truth, constant=constant_of(model))

    def ask() -> list[Answer]:
        limit = None if solver == "piqp" else SECONDS  # it cannot be stopped by the clock
        result = tm.solve(model, solver, time_limit=limit, **settings)
        return [Answer(f"{name} by {solver}", said_by(result, model), known)]

    return Case(f"{name} by {solver}", ask)


def some_solver(rng: np.random.Generator, problem_class: str) -> str:
    """ "auto" in two of three cases, else an installed solver that takes the class."""
    named = [
        name
        for name, info in SOLVERS.items()
        if info.installed and problem_class in info.classes and name != "mosek"
    ]
    return "auto" if rng.random() < 0.67 or not named else str(rng.choice(named))


def pair(objective: Any, bound: Any, verdict: Any = "", numbers: Any = None) -> Said:
    """What a search or a row of a path says."""
    objective, bound = (None if end is None else float(end) for end in (objective, bound))
    proven = str(getattr(verdict, "value", verdict)) == "CERTIFIED"
    status, point = "optimal" if proven else "", objective is not None
    return Said(objective, bound, proven=proven, point=point, status=status, numbers=numbers or {})
