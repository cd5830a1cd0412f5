"""Disjunctive models become mixed-integer ones on a copy; values travel back by name."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
from pyomo.contrib.fbbt.fbbt import compute_bounds_on_expr
from pyomo.core.expr.visitor import identify_variables
from pyomo.gdp import Disjunct, Disjunction, GDP_Error

from tightmargin.formulations.catalogue import Origin
from tightmargin.solvers.backends.registry import SOLVERS
from tightmargin.solvers.disjunctive.hull_cuts import cut_towards_hull
from tightmargin.solvers.errors import SolverNotInstalledError
from tightmargin.solvers.transformations.indicator_constraints import to_indicators


def is_disjunctive(model: pyo.ConcreteModel) -> bool:
    """Whether the model holds an active disjunction."""
    return any(True for _ in model.component_data_objects(Disjunction, active=True))


def transformation_of(model: pyo.ConcreteModel) -> str:
    """How the disjunctions of a model are to be replaced: as its builder was told, or by big-M."""
    origin = getattr(model, "origin", None)
    if not isinstance(origin, Origin):
        return "bigm"
    # A disjunction that a user added to an entry without any has no word of its own.
    return str(origin.parameters.get("transformation", "bigm"))


def transformed(model: pyo.ConcreteModel, method: str) -> pyo.ConcreteModel:
    """Copy of a disjunctive model with the disjunctions replaced.

    Parameters
    ----------
    method : "bigm", "hull", "mbigm", "cuttingplane" or "indicator"
        Names of Pyomo's gdp transformations. The constants of "bigm" come from the bounds of the
        variables; "mbigm" solves small problems for them, with HiGHS; "cuttingplane" needs ipopt
        or Clarabel. "indicator" is our own and keeps every row as an implication.

    Raises
    ------
    SolverNotInstalledError
        The solver that the transformation itself needs is missing.
    ValueError
        A variable of a Disjunction has no bound, or Pyomo cannot replace it for another reason.
    """
    copy = model.clone()
    if method == "indicator":
        to_indicators(copy)
        return copy
    if method == "cuttingplane":
        cut_towards_hull(copy)
        return copy
    options: dict[str, Any] = {}
    if method == "mbigm":
        if not SOLVERS["highs"].installed:
            raise SolverNotInstalledError(
                "transformation=mbigm needs highs for its small problems; bigm, hull and indicator "
                "need no solver"
            )
        options = {"solver": pyo.SolverFactory("highs"), "threads": 1}
    try:
        pyo.TransformationFactory(f"gdp.{method}").apply_to(copy, **options)
    except GDP_Error as why:
        told = str(why).partition("\n")[0].rstrip(".")
        raise ValueError(
            _unlimited_row(model) or f"gdp.{method} refuses the model: {told}"
        ) from why
    return copy


def _unlimited_row(model: pyo.ConcreteModel) -> str:
    """The row of a Disjunction that has no M, and which bounds are missing; nothing for none."""
    parts = (
        (row, disjunction)
        for disjunction in model.component_data_objects(Disjunction, active=True)
        for part in disjunction.disjuncts
        for row in part.component_data_objects(
            pyo.Constraint, active=True, descend_into=(pyo.Block, Disjunct)
        )
    )
    for row, disjunction in parts:
        low, high = compute_bounds_on_expr(row.body)
        if (low is None and row.has_lb()) or (high is None and row.has_ub()):
            missing = [
                f"{v.name} has no {side} bound"
                for v in identify_variables(row.body, include_fixed=False)
                for side, end in (("lower", v.lb), ("upper", v.ub))
                if end is None
            ]
            said = " and ".join(missing[:2]) or "the bounds of its variables do not limit it"
            return (
                f"row {row.name} of Disjunction {disjunction.name} cannot be switched off, since "
                f"{said}: give its variables bounds that some optimum meets"
            )
    return ""


def copy_values(source: pyo.ConcreteModel, target: pyo.ConcreteModel) -> None:
    """Set the variables of a model from the variables of the same names in another."""
    for variable in target.component_data_objects(pyo.Var, descend_into=(pyo.Block, Disjunct)):
        found = source.find_component(variable.name)
        if found is not None and found.value is not None:
            variable.set_value(found.value, skip_validation=True)
