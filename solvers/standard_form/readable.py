"""What can be read as a model at all."""

from __future__ import annotations

import math
from typing import Any

import pyomo.environ as pyo

from tightmargin.solvers.errors import NumberError


def refuse_other_objects(verb: str, model: Any, argument: str = "model") -> None:
    """Raise TypeError for anything but a constructed Pyomo model.

    Parameters
    ----------
    verb : str
        The function of the front door that was called.
    """
    if isinstance(model, pyo.Block) and model.is_constructed():
        return
    what = "an abstract model" if isinstance(model, pyo.Block) else type(model).__name__
    raise TypeError(f"{verb}() takes a Pyomo ConcreteModel for `{argument}`, got {what}")


def refuse_bad_params(model: pyo.ConcreteModel) -> None:
    """Raise for a mutable Param that is not finite, before a transformation trips over it."""
    for param in model.component_data_objects(pyo.Param, descend_into=True):
        number = pyo.value(param, exception=False)
        if isinstance(number, float) and not math.isfinite(number):
            raise NumberError(f"Param {param.name} is {number}: set it to a finite number")
