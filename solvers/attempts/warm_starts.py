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
    TypeError
        Neither a mapping nor a result.
    ValueError
        A result none of whose variables the model has.
    """
    if start is None or isinstance(start, Mapping):
        return start or {}
    if not isinstance(start, SolveResult):
        raise TypeError(
            "warm_start must be a result of solve() or arrays by variable name, "
            f"got {type(start).__name__}"
        )
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


def told_of_start(result: SolveResult, form: StandardForm, method: str = "") -> SolveResult:
    """The result, with a sentence where nobody has looked at the warm start.

    Parameters
    ----------
    method : str
        Of ours, where one has found the result: they start by themselves.
    """
    whole, name = bool(form.integer.any()), result.solver
    if not method and (name not in SOLVERS or (whole and name in TAKE_STARTS)):
        return result
    if method:
        why = f"method {method} takes none"
    else:
        why = f"{name} takes none" if whole else "solvers take one of integer variables only"
    said = f"the warm start had no effect: {why}"
    return replace(result, message=f"{result.message}; {said}" if result.message else said)
