"""A good point of the truncated hinge loss of several classes, and models started from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.catalogue import CATALOGUE
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.multiclass.big_m import cap_of
from tightmargin.formulations.multiclass.hinge import (
    classes_and_intercepts,
    multiclass_hinge,
    smallest_leads,
)
from tightmargin.formulations.multiclass.truncated_hinge import Machine
from tightmargin.solvers.dispatch import solve
from tightmargin.solvers.execution.deadline import deriving_time
from tightmargin.solvers.hinge_batch.multiclass import LARGEST
from tightmargin.solvers.multiclass.dca import truncated_dca

WORDS = ("ridge", "truncation", "class_weight", "intercept")
STARTS, MANY_POINTS = 10, 200  # from there on the hinge machine is the only start


def truncated_incumbent(
    entry: str, data: MulticlassData, parameters: Mapping[str, Any]
) -> tuple[Array, Array]:
    """Scores (B, b) with a small truncated loss, by the d.c. algorithm from a few starts.

    With more unknowns than that algorithm takes, those of multiclass_hinge.

    Raises
    ------
    ValueError
        A hyperparameter that the builder refuses.
    """
    declared = CATALOGUE[entry].parameters
    words = {word: parameters.get(word, declared[word].default) for word in WORDS}
    cap_of(words["truncation"])
    if (data.n_classes - 1) * (data.d + 1) <= LARGEST:
        starts = STARTS if data.n < MANY_POINTS else 1
        found = truncated_dca(data, **words, starts=starts, time_limit=deriving_time())
        return found.B, found.b
    words.pop("truncation")
    model = multiclass_hinge(data, **words)
    return classes_and_intercepts(model.origin, solve(model).values, {})


def start_classes(model: pyo.ConcreteModel, data: MulticlassData, incumbent: Machine) -> None:
    """Give the variables of a truncated model the incumbent's values."""
    B, b = (np.asarray(part, dtype=float) for part in incumbent)
    loss = np.maximum(0.0, 1 - smallest_leads(data, B, b))
    z = loss > cap_of(model.origin.parameters["truncation"])
    numbers = {"B": B.ravel(), "b": b, "v": loss, "z": z.astype(float)}
    for name, values in (numbers | {"xi": np.where(z, 0.0, loss)}).items():
        component = model.find_component(name)
        if component is not None:
            for variable, number in zip(component.values(), values.tolist(), strict=True):
                variable.set_value(number, skip_validation=True)
