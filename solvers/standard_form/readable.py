"""What can be read as a model at all."""

from __future__ import annotations

import math
from typing import Any

import pyomo.environ as pyo
from pyomo.core.base.block import BlockData
from pyomo.core.base.matrix_constraint import MatrixConstraint
from pyomo.gdp import Disjunct, Disjunction

from tightmargin.solvers.errors import NumberError

# What to write in the place of what is not read; named by its class, since packages differ.
_INSTEAD = {
    "SOSConstraint": (
        "write a set of which one (two neighbours) may be other than 0 with binaries u: "
        "-M u_j <= x_j <= M u_j, and sum_j u_j <= 1 (2, and u_i + u_j <= 1 for i, j apart)"
    ),
    "Complementarity": (
        "write 0 <= f complements g >= 0 with a binary u: f <= M u and g <= M (1 - u)"
    ),
    "LogicalConstraint": "write it between binaries, say u + v >= 1 for an or",
    "Arc": (
        "apply pyo.TransformationFactory('network.expand_arcs'), which writes the rows of all arcs"
    ),
}
_HARMLESS = "Port"  # names variables of the model, and says nothing of them by itself

# Everything else that is active (SOS sets, logic, disjunctions) must be transformed away first.
_READ = {
    pyo.Block, pyo.BuildAction, pyo.BuildCheck, pyo.Constraint, pyo.Expression,
    pyo.ExternalFunction, pyo.Objective, pyo.Param, pyo.RangeSet, pyo.Set, pyo.Suffix, pyo.Var,
    pyo.BooleanVar, Disjunct,
}  # fmt: skip
_INSIDE = (pyo.Block, Disjunct)


def refuse_other_objects(verb: str, model: Any, argument: str = "model") -> None:
    """Raise TypeError for anything but a constructed Pyomo model.

    Parameters
    ----------
    verb : str
        The function of the front door that was called.
    """
    if isinstance(model, pyo.Block) and model.is_constructed() and not model.is_indexed():
        for rows in model.component_objects(pyo.Constraint, active=True, descend_into=True):
            if isinstance(rows, MatrixConstraint):
                raise ValueError(
                    f"{rows.name} is a MatrixConstraint, of which Pyomo makes no copy: write its "
                    "rows as a pyo.Constraint, each as (lower, sum(a * x[j] for ...), upper)"
                )
        return
    what = type(model).__name__
    if isinstance(model, BlockData):
        what = "an abstract model"
        if not isinstance(model, pyo.Block):
            others = f"the other blocks of {model.parent_component().name}"
            what = f"{model.name} alone: deactivate {others}, and solve the model that holds them"
    elif isinstance(model, pyo.Block):
        what = f"all blocks of {model.name}: solve the model that holds them"
    raise TypeError(f"{verb}() takes a Pyomo ConcreteModel for `{argument}`, got {what}")


def refuse_bad_params(model: pyo.ConcreteModel) -> None:
    """Raise for a mutable Param that is not finite, before a transformation trips over it."""
    for param in model.component_data_objects(pyo.Param, descend_into=True):
        number = pyo.value(param, exception=False)
        if isinstance(number, float) and not math.isfinite(number):
            raise NumberError(f"Param {param.name} is {number}: set it to a finite number")


def refuse_unread_components(model: pyo.ConcreteModel) -> None:
    """Raise for active parts of a model that this reader would pass over in silence."""
    found = {part.ctype for part in model.component_objects(active=True, descend_into=True)}
    names = sorted({ctype.__name__ for ctype in found - _READ} - {_HARMLESS})
    if names:
        instead = "".join(f"; {_INSTEAD[name]}" for name in names if name in _INSTEAD)
        kinds = ", ".join(names)
        raise ValueError(
            f"{model.name}: active components of type {kinds} cannot be read here{instead}"
        )
    loose = _loose_disjunct(model) if Disjunct in found else None
    if loose is not None:
        raise ValueError(
            f"{loose.name} stands in no Disjunction, so that none of its rows holds: name it in "
            "one, or write its rows into the model"
        )


def _loose_disjunct(model: pyo.ConcreteModel) -> Any:
    """An active disjunct that no disjunction has; None where there is none."""
    chosen = {
        id(disjunct)
        for disjunction in model.component_data_objects(
            Disjunction, descend_into=(pyo.Block, Disjunct)
        )
        for disjunct in disjunction.disjuncts
    }
    return next(
        (
            disjunct
            for disjunct in model.component_data_objects(Disjunct, active=True, descend_into=True)
            if id(disjunct) not in chosen
        ),
        None,
    )
