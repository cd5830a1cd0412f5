"""Warm starts: what of a result a model takes, and which solver looks at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyomo.environ as pyo
from numpy.typing import ArrayLike

from tightmargin.solvers.backends.registry import SOLVERS, TAKE_STARTS
from tightmargin.solvers.canonical_form.named_values import flat
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.standard_form.standard_form import StandardForm


def start_values(
    model: pyo.ConcreteModel, start: Mapping[str, ArrayLike] | SolveResult | None
) -> Mapping[str, ArrayLike]:
    """Arrays by variable name; of a result those that fit variables of the model.

    Raises
    ------
    ValueError
        A result none of whose variables the model has.
    """
    if not isinstance(start, SolveResult):
        return start or {}
    found = {}
    for name, array in start.values.items():
        component = model.find_component(name)
        is_variable = component is not None and component.ctype is pyo.Var
        if is_variable and len(flat(component, array)) == len(component):
            found[name] = array
    if not found:
        held = ", ".join(start.values) or "none"
        raise ValueError(f"warm_start: the model has no variable of the result's ({held})")
    return found


def told_of_start(result: SolveResult, form: StandardForm) -> SolveResult:
    """The result, with a sentence where its solver has not looked at the warm start."""
    whole, name = bool(form.integer.any()), result.solver
    if name not in SOLVERS or (whole and name in TAKE_STARTS):
        return result
    why = f"{name} takes none" if whole else "solvers take one of integer variables only"
    said = f"the warm start had no effect: {why}"
    return replace(result, message=f"{result.message}; {said}" if result.message else said)
