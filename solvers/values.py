"""Values and multipliers by name, between Pyomo components, flat columns and arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.gdp import Disjunct

from formulations.cones import lower_pairs, order, symmetric
from solvers.conic_form import Multipliers
from solvers.standard_form import StandardForm

Array = NDArray[np.float64]


def variables(model: pyo.ConcreteModel) -> Iterator[Any]:
    """Variable components a user wrote: not those of disjuncts or of their transformation."""
    for component in model.component_objects(pyo.Var, descend_into=True):
        if component.parent_block().ctype is not Disjunct and "_pyomo_gdp" not in component.name:
            yield component


def is_triangle(component: Any) -> bool:
    """Whether a component is indexed by the pairs of a lower triangle."""
    keys = list(component.keys())
    return bool(keys) and isinstance(keys[0], tuple) and keys == lower_pairs(order(len(keys)))


def shaped(component: Any, numbers: Array) -> Array:
    """Numbers of a component's elements: 0-d for a scalar, square for a lower triangle."""
    if not component.is_indexed():
        return np.asarray(numbers[0])
    return symmetric(numbers) if is_triangle(component) else numbers


def flat(component: Any, array: Any) -> Array:
    """Inverse of `shaped`."""
    numbers = np.asarray(array, dtype=float)
    if component.is_indexed() and numbers.ndim == 2 and is_triangle(component):
        return numbers[np.tril_indices(len(numbers))]
    return np.atleast_1d(numbers).ravel()


def named_values(model: pyo.ConcreteModel, form: StandardForm, x: Array) -> dict[str, Array]:
    """Arrays by variable name for a point of the standard form; fixed variables keep theirs."""
    at = {id(v): k for k, v in enumerate(form.columns)}

    def number(v: Any) -> float:
        k = at.get(id(v))
        if k is not None:
            return float(x[k])
        return np.nan if v.value is None else float(v.value)

    return {
        c.name: shaped(c, np.array([number(v) for v in c.values()]))
        for c in variables(model)
        if len(c) > 0
    }


def point_with(
    model: pyo.ConcreteModel, form: StandardForm, x: Array, replaced: Mapping[str, Array]
) -> Array:
    """Point of the standard form with some variables replaced by name."""
    at = {id(v): k for k, v in enumerate(form.columns)}
    x = x.copy()
    for name, array in replaced.items():
        component = model.find_component(name)
        if component is None or component.ctype is not pyo.Var:
            continue
        for v, number in zip(component.values(), flat(component, array), strict=True):
            if id(v) in at:
                x[at[id(v)]] = number
    return x


def load_values(form: StandardForm, x: Array) -> None:
    """Set the Pyomo variables to a point; integer ones are rounded."""
    for v, number, integer in zip(form.columns, x.tolist(), form.integer, strict=True):
        v.set_value(round(number) if integer else number, skip_validation=True)


def named_duals(form: StandardForm, duals: Multipliers | None) -> dict[str, Array]:
    """Multipliers by constraint name: arrays over linear rows, vectors or matrices of cones."""
    if duals is None:
        return {}
    found: dict[int, tuple[Any, dict[Any, Any]]] = {}
    numbers = (form.sense * duals.rows).tolist()
    for (component, key), number in zip(form.rows.locations(), numbers, strict=True):
        found.setdefault(id(component), (component, {}))[1][key] = number
    for data in [row.data for row in form.quadratic] + [row.data for row in form.psd]:
        if id(data) in duals.cones:
            component = data.parent_component()
            found.setdefault(id(component), (component, {}))[1][data.index()] = duals.cones[
                id(data)
            ]
    return {
        component.name: _in_index_order(component, entries) for component, entries in found.values()
    }


def _in_index_order(component: Any, entries: dict[Any, Any]) -> Array:
    """Multipliers over the index of a constraint, NaN for rows that are not active."""
    if not component.is_indexed():
        return np.asarray(next(iter(entries.values())), dtype=float)
    shapes = {np.shape(entry) for entry in entries.values()}
    if len(shapes) > 1:  # cones of different sizes: one long vector, in index order
        return np.concatenate([np.ravel(entries[key]) for key in component if key in entries])
    missing = np.full(shapes.pop(), np.nan)
    return np.array([entries.get(key, missing) for key in component], dtype=float)
