"""What can be read as a model at all."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo


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
