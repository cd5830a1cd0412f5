"""A cut's place in a Pyomo model: the variables it is about, and the level its side is held at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.cuts.cut.polar_problem import fingerprint
from tightmargin.formulations.catalogue import Origin, origin_now
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.extended_checks import objective_factor
from tightmargin.formulations.nu.nu_svc import loss_weights

LEVEL_HELD = ("extended_nu_svc_polar",)
NORM_HELD = (
    "extended_nu_svc", "extended_nu_svc_ball", "extended_nu_svc_reverse",
    "extended_nu_svc_linearised",
)  # fmt: skip


def elements_of(model: pyo.ConcreteModel, name: str, part: Array) -> list[Any]:
    """Elements of a variable, one for each coefficient.

    Raises ValueError: no such variable, or one of another length.
    """
    component = model.find_component(name)
    if component is None or component.ctype is not pyo.Var:
        raise ValueError(f"the model has no variable {name}, which the cut is about")
    count = len(component) if component.is_indexed() else 1
    if count != part.size:
        raise ValueError(f"the cut has {part.size} coefficients for {name}, the model {count}")
    return list(component.values())


def level_of(model: pyo.ConcreteModel, problem: str) -> float | dict[str, Array]:
    """What the model's -nu rho + sum c_i xi_i is held below: a number, or itself by variable name.

    problem: fingerprint of the cut's own problem.
    Raises ValueError: a model of an entry that does not say its level, or of other data or
        parameters.
    """
    if getattr(model, "origin", None) is None:
        return 1.0
    origin: Origin = origin_now(model)
    known = origin.parameters
    if origin.entry not in (*LEVEL_HELD, *NORM_HELD):
        raise ValueError(
            f"{origin.entry} is none of the entries whose level is known: pass level, what "
            "-nu rho + sum c_i xi_i is held below"
        )
    own = fingerprint(origin.data, known["nu"], known["class_balance"], known["intercept"])
    if own != problem:
        raise ValueError("the cut was made for other data, nu, weights or intercept")
    if origin.entry in LEVEL_HELD:
        return 1.0 / objective_factor(origin.data.total_weight, known["scale"])
    weights = loss_weights(origin.data, known["class_balance"])
    return {"rho": np.array([-known["nu"]]), "xi": weights}
