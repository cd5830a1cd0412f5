"""Values and multipliers by name, between Pyomo components, flat columns and arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import ArrayLike
from pyomo.gdp import Disjunct

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.cones import lower_pairs, order, symmetric
from tightmargin.formulations.parameters import did_you_mean
from tightmargin.solvers.model.conic import Multipliers
from tightmargin.solvers.model.convexity import Classification
from tightmargin.solvers.model.reader import StandardForm, standard_form
from tightmargin.solvers.model.restated import complete


def variables(model: pyo.ConcreteModel) -> Iterator[Any]:
    """Variable components a user wrote: not those of disjuncts or of their transformation."""
    for component in model.component_objects(pyo.Var, descend_into=True):
        if component.parent_block().ctype is not Disjunct and "_pyomo_gdp" not in component.name:
            yield component


def is_triangle(component: Any) -> bool:
    """Whether a component is indexed by the pairs of a lower triangle."""
    if not isinstance(next(iter(component.keys()), None), tuple):
        return False
    keys = list(component.keys())
    return keys == lower_pairs(order(len(keys)))


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
    found = {}
    for component in variables(model):
        if len(component) > 0:
            at, held = form.columns.of(component)
            numbers = np.where(at >= 0, x[at] if form.n else np.nan, held)
            found[component.name] = shaped(component, numbers)
    return found


def named_ray(model: pyo.ConcreteModel, form: StandardForm, d: Array) -> dict[str, Array]:
    """Arrays by variable name for a direction; fixed variables do not move."""
    found = {}
    for component in variables(model):
        if len(component) > 0:
            at, _ = form.columns.of(component)
            found[component.name] = shaped(component, np.where(at >= 0, d[at], 0.0))
    return found


def point_with(
    model: pyo.ConcreteModel,
    form: StandardForm,
    x: Array,
    replaced: Mapping[str, Array],
    *,
    ray: bool = False,
) -> Array:
    """Point of the standard form with some variables replaced by name, and what follows of them."""
    x = x.copy()
    for name, array in replaced.items():
        component = model.find_component(name)
        if component is None or component.ctype is not pyo.Var:
            continue
        at, _ = form.columns.of(component)
        x[at[at >= 0]] = flat(component, array)[at >= 0]
    complete(model, form.columns, x, ray=ray)
    return x


def load_component(component: Any, numbers: Array) -> None:
    """Set the values of all elements of a variable."""
    if isinstance(component, ArrayVar):
        component.load(numbers)
        return
    for v, number in zip(component.values(), numbers.tolist(), strict=True):
        v.set_value(number, skip_validation=True)


def load_values(form: StandardForm, x: Array) -> None:
    """Set the Pyomo variables to a point; integer ones are rounded."""
    numbers = np.where(form.integer, np.round(x), x)
    for part in form.columns.parts:
        free = part.columns >= 0
        if isinstance(part.component, ArrayVar):
            held = part.held.values.copy()
            held[free] = numbers[part.columns[free]]
            part.component.load(held)
        else:
            for v, column in zip(part.component.values(), part.columns.tolist(), strict=True):
                if column >= 0:
                    v.set_value(_plain(numbers[column], form.integer[column]), skip_validation=True)
    first = form.n - len(form.columns.foreign)
    for column, v in enumerate(form.columns.foreign, start=first):
        v.set_value(_plain(numbers[column], form.integer[column]), skip_validation=True)


def _plain(number: float, integer: bool) -> float | int:
    return int(number) if integer else float(number)


def named_duals(form: StandardForm, duals: Multipliers | None) -> dict[str, Array]:
    """Multipliers by constraint name: arrays over linear rows, vectors or matrices of cones."""
    if duals is None:
        return {}
    found: dict[int, tuple[Any, dict[Any, Any]]] = {}
    multipliers = form.sense * duals.rows
    for k, scale in form.exact.scales.items():
        multipliers[k] *= float(scale)
    numbers = multipliers.tolist()
    whole: dict[str, Array] = {}
    start = 0
    for component, rows in form.rows.arrays:
        end = start + len(rows)
        if component.is_indexed() and len(rows) == len(component):
            whole[component.name] = multipliers[start:end]
        elif len(rows):
            entries = zip(component.row_keys(rows), numbers[start:end], strict=True)
            found.setdefault(id(component), (component, {}))[1].update(entries)
        start = end
    single = zip(form.rows.single, numbers[start:], strict=True)
    cones = [row.data for row in form.quadratic] + [row.data for row in form.psd]
    held = ((data, duals.cones[id(data)]) for data in cones if id(data) in duals.cones)
    for data, entry in (*single, *held):
        component = data.parent_component()
        found.setdefault(id(component), (component, {}))[1][data.index()] = entry
    return whole | {
        component.name: _in_index_order(component, entries) for component, entries in found.values()
    }


def load_suffixes(model: pyo.ConcreteModel, duals: Mapping[str, Any]) -> str:
    """Fill the Suffixes `dual` and `rc` of a model, as Pyomo's solvers do; why `rc` stays empty.

    With the change of the objective for one unit on the right side of each linear row, and for one
    unit of each variable. Cones have vectors for multipliers, which stay in the result.
    """
    dual, costs = (_taking(model, name) for name in ("dual", "rc"))
    if dual is None and costs is None:
        return ""
    by_row: dict[Any, float] = {}
    for name, array in duals.items():
        component, numbers = model.find_component(name), np.asarray(array, dtype=float)
        if component is None or numbers.ndim != int(component.is_indexed()):
            continue
        if len(component) == numbers.size:
            rows = zip(component.values(), np.atleast_1d(numbers).tolist(), strict=True)
            by_row.update((row, number) for row, number in rows if math.isfinite(number))
    if dual is not None:
        dual.update(by_row)
    if costs is None:
        return ""
    if not duals:
        return "Suffix rc is empty: there are no multipliers"
    form = standard_form(model)
    if form.integer.any() or form.quadratic or form.psd or form.nonlinear:
        return "Suffix rc is empty: reduced costs are those of continuous models with linear rows"
    multipliers = np.array([by_row.get(row, 0.0) for row in form.rows])
    rates = form.sense * (form.P @ form.point() + form.objective.a) - form.A.T @ multipliers
    costs.update(zip(form.columns, rates.tolist(), strict=True))
    return ""


def _taking(model: pyo.ConcreteModel, name: str) -> Any:
    """A Suffix of a model that takes values, emptied; None where there is none."""
    suffix = model.component(name)
    if not isinstance(suffix, pyo.Suffix) or not suffix.import_enabled():
        return None
    suffix.clear()
    return suffix


def multipliers_by_name(
    duals: Mapping[str, Any], form: StandardForm, classification: Classification
) -> Multipliers:
    """Inverse of `named_duals`: in the order of the model, zeros where none are named.

    Those of the variables' bounds have no name: the repair in dual_bound finds them again.

    Raises ValueError: arrays that do not fit the rows of the model.
    """
    arrays = {name: np.asarray(array, dtype=float) for name, array in duals.items()}
    rest = {name: iter(np.atleast_1d(array)) for name, array in arrays.items()}

    def of(component: Any, absent: Array) -> Array:
        name = component.name
        if name not in arrays:
            return absent
        found = next(rest[name], None) if component.is_indexed() else arrays[name]
        if found is None or np.shape(found) != np.shape(absent):
            raise ValueError(f"the saved multipliers of {name} do not fit the model")
        return np.asarray(found)

    zero = np.zeros(())
    rows = np.array([float(of(component, zero)) for component, _ in form.rows.locations()])
    for k, scale in form.exact.scales.items():
        rows[k] /= float(scale)
    cones = {
        id(row.data): of(row.data.parent_component(), np.zeros(len(reading.cone.b)))
        for row, reading in zip(form.quadratic, classification.readings, strict=True)
        if reading.cone is not None
    }
    for row in form.psd:
        cones[id(row.data)] = of(row.data.parent_component(), np.zeros((row.order, row.order)))
    return Multipliers(form.sense * rows, np.zeros(form.n), cones)


def _in_index_order(component: Any, entries: dict[Any, Any]) -> Array:
    """Multipliers over the index of a constraint, NaN for rows that are not active."""
    if not component.is_indexed():
        return np.asarray(next(iter(entries.values())), dtype=float)
    shapes = {np.shape(entry) for entry in entries.values()}
    if len(shapes) > 1:  # cones of different sizes: one long vector, in index order
        return np.concatenate([np.ravel(entries[key]) for key in component if key in entries])
    missing = np.full(shapes.pop(), np.nan)
    return np.array([entries.get(key, missing) for key in component], dtype=float)


def load_start(model: pyo.ConcreteModel, start: Mapping[str, ArrayLike]) -> None:
    """Write the arrays of warm_start= into a model.

    Raises ValueError: an array that does not fit, which is named; the model is left as it is.
    """
    found = []
    for name, array in start.items():
        component = model.find_component(name) if isinstance(name, str) else None
        if component is None or component.ctype is not pyo.Var:
            names = [variable.name for variable in model.component_objects(pyo.Var)]
            hint = did_you_mean(name, names)
            raise ValueError(f"warm_start: the model has no variable {name!r}{hint}")
        try:
            numbers = flat(component, array)
        except (TypeError, ValueError):
            what = type(array).__name__
            raise ValueError(
                f"warm_start: {name} must be an array of numbers, got {what}"
            ) from None
        if len(numbers) != len(component):
            raise ValueError(
                f"warm_start: {name} has {len(component)} elements, got {len(numbers)}"
            )
        if not np.isfinite(numbers).all():
            element = list(component.values())[int(np.argmin(np.isfinite(numbers)))]
            raise ValueError(f"warm_start: {element.name} must be a finite number")
        found.append((component, numbers))
    for component, numbers in found:
        load_component(component, numbers)
