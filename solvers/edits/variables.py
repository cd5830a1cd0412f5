"""Variables of an edited catalogue model beside those of a new one of its builder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.gdp import Disjunct

from tightmargin.formulations.modeling.array_variables import ArrayVar, VarArrays
from tightmargin.solvers.standard_form.columns import row_name

NOWHERE = frozenset[str]()


@dataclass(frozen=True)
class Added:
    """One row, bound or fixing that the builder does not write.

    Attributes
    ----------
    name : str
        Of the row or variable.
    statement : tuple or None
        What it says, by names of variables and with its numbers, so that two models can be held
        against each other; None where that cannot be told (a row beyond degree two).
    touched : frozenset of str
        Components of the variables that occur.
    holds_up : frozenset of str
        Those of them whose elements cannot always be made smaller without leaving it.
    """

    name: str
    statement: tuple[Any, ...] | None
    touched: frozenset[str] = NOWHERE
    holds_up: frozenset[str] = NOWHERE


def _state(component: Any) -> VarArrays:
    if isinstance(component, ArrayVar):
        return component.arrays()
    elements = list(component.values())
    ends = [variable.bounds for variable in elements]
    return VarArrays(
        np.array([-np.inf if low is None else low for low, _ in ends], dtype=float),
        np.array([np.inf if high is None else high for _, high in ends], dtype=float),
        np.array([np.nan if v.value is None else v.value for v in elements], dtype=float),
        np.array([v.fixed for v in elements], dtype=bool),
        np.array([v.is_integer() or v.is_binary() for v in elements], dtype=bool),
    )


def mirrored(model: pyo.ConcreteModel, fresh: pyo.ConcreteModel) -> tuple[str, list[Added]]:
    """Bounds and fixings of the edited model put on the new one; what was loosened, and added."""
    loosened, added = "", []
    for component in fresh.component_objects(pyo.Var, descend_into=(pyo.Block, Disjunct)):
        twin = model.find_component(component.name)
        if twin is None or twin.ctype is not pyo.Var or list(twin) != list(component):
            loosened = loosened or f"variable {component.name} was replaced"
            continue
        keys, now, then = list(component.keys()), _state(twin), _state(component)
        same = (
            (now.fixed == then.fixed) & (now.integer == then.integer)
            & (~now.fixed | (now.values == then.values))
            & (now.fixed | ((now.lower == then.lower) & (now.upper == then.upper)))
        )  # fmt: skip
        for k in np.flatnonzero(~same).tolist():
            key = keys[k] if component.is_indexed() else None
            name = row_name(component, key)
            why = _looser(name, now, then, k)
            loosened = loosened or why
            element = component if key is None else component[key]
            added += added_to(name, now, then, k)
            _put(element, now, k)
    return loosened, added


def _looser(name: str, now: VarArrays, then: VarArrays, k: int) -> str:
    """What an element may do that the builder forbids, or an empty string."""
    if then.fixed[k]:
        kept = now.fixed[k] and now.values[k] == then.values[k]
        return "" if kept else f"{name} is not fixed as its builder fixes it"
    if now.fixed[k]:
        value = now.values[k]
        inside = then.lower[k] <= value <= then.upper[k]
        if not inside or (then.integer[k] and value != np.round(value)):
            return f"{name} is fixed at {value:.6g}, which its builder does not admit"
        return ""
    if now.lower[k] < then.lower[k] or now.upper[k] > then.upper[k]:
        return f"the bounds of {name} are wider"
    return f"{name} need not be an integer" if then.integer[k] and not now.integer[k] else ""


def added_to(name: str, now: VarArrays, then: VarArrays | None, k: int) -> list[Added]:
    """Bounds, fixing and integrality of an element that the builder's one does not have."""
    component = frozenset({component_of(name)})
    low, high = now.lower[k], now.upper[k]
    if now.fixed[k]:
        low = high = now.values[k]
    found = []
    if now.fixed[k] or low > (-np.inf if then is None else then.lower[k]):
        # An element that is at least 0 anyway can still go down to 0.
        free = then is not None and low <= then.lower[k]
        found.append(
            Added(name, ("lower", name, float(low)), component, NOWHERE if free else component)
        )
    if now.fixed[k] or high < (np.inf if then is None else then.upper[k]):
        found.append(Added(name, ("upper", name, float(high)), component))
    if now.integer[k] and not now.fixed[k] and not (then is not None and then.integer[k]):
        found.append(Added(name, ("integer", name), component))
    return found


def _put(element: Any, now: VarArrays, k: int) -> None:
    low, high = float(now.lower[k]), float(now.upper[k])
    element.setlb(None if low == -np.inf else low)
    element.setub(None if high == np.inf else high)
    if now.fixed[k]:
        value = float(now.values[k])
        if not value.is_integer():
            element.domain = pyo.Reals  # an edit of the domain came with it, else nobody reads it
        element.fix(value, skip_validation=True)
    else:
        element.unfix()


def component_of(name: str) -> str:
    """Component of an element: w of w[0]."""
    return name.partition("[")[0]
