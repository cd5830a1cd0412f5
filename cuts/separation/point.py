"""A point as a separator sees it: values by variable, or by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.parameters import did_you_mean
from tightmargin.printing import Page, Readable
from tightmargin.solvers.model.names import flat, named_values
from tightmargin.solvers.model.reader import StandardForm


class Point(Mapping[Any, Any], Readable):
    """Values of the variables at one point, read only.

    `point["z"]` and `point[model.z]` are the array of a variable in the order of its index, of
    shape () for a variable without one; `point[model.z[3]]` and `point["z[3]"]` are numbers. The
    keys are the names of the variables.
    """

    def __init__(self, model: pyo.ConcreteModel, form: StandardForm, x: Array) -> None:
        self._model = model
        self._values = named_values(model, form, x)
        for array in self._values.values():
            array.setflags(write=False)

    def _page(self) -> Page:
        names = ", ".join(f"{name} {np.shape(part)}" for name, part in self._values.items())
        return Page(f"Point of {self._model.name}", [("variables", names)])

    def __getitem__(self, key: Any) -> Any:
        name = key if isinstance(key, str) else str(getattr(key, "name", key))
        if not isinstance(key, str) and _model_of(key) is not self._model:
            raise KeyError(f"{name} is no variable of the model that is solved")
        found = self._values.get(name)
        if found is not None:
            return found
        element = self._model.find_component(name)
        component = None if element is None else element.parent_component()
        if component is None or component.name not in self._values:
            raise KeyError(f"the point has no variable {name!r}{did_you_mean(name, self._values)}")
        place = list(component.keys()).index(element.index())
        return float(flat(component, self._values[component.name])[place])

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def _model_of(thing: Any) -> Any:
    """The model that a Pyomo object stands on; None for anything else."""
    return thing.model() if hasattr(thing, "model") else None
