"""Rotated cones kept as arrays, read without making their rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.modeling.rotated_cones import RotatedCones
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.standard_form.columns import Columns, row_name
from tightmargin.solvers.standard_form.constants import number
from tightmargin.solvers.standard_form.polynomial import products
from tightmargin.solvers.standard_form.quadratic import LocalQuadratic, QuadraticRow


@dataclass(frozen=True, eq=False)
class RowHandle:
    """Stands for a row that nobody has touched: says what it is called and where it is."""

    component: Any
    key: Any

    @property
    def name(self) -> str:
        """Name of the row."""
        return row_name(self.component, self.key)

    def parent_component(self) -> Any:
        """Component of the row."""
        return self.component

    def index(self) -> Any:
        """Element of the component's index."""
        return self.key


def read_cones(component: RotatedCones, columns: Columns) -> tuple[list[QuadraticRow], list[Any]]:
    """Untouched cones of a component, and the rows to be read one by one.

    The latter are edited rows and rows with a fixed variable.
    """
    which = component.untouched()
    at = []
    for variable in (component.x, component.s, *([] if component.scaled else [component.t])):
        found, _ = columns.of(variable)
        at.append(found[component.element_numbers(variable, which)])
    owners = np.column_stack(at)
    free = (owners >= 0).all(axis=1) & (owners[:, -2] != owners[:, -1])
    if component.scaled:
        slopes, exact = _slopes(component, which)
        free &= exact
        rows = _scaled_rows(component, which[free], owners[free], slopes[free], columns)
    else:
        rows = _rows(component, which[free], owners[free])
    others = [component[component.row_key(k)] for k in which[~free].tolist()]
    return rows, [*component.touched(), *others]


def _slopes(component: RotatedCones, which: Index) -> tuple[Array, NDArray[np.bool_]]:
    """Coefficients of s in rows with a number t, and whether they are these doubles exactly."""
    t = number(component.t)
    slopes, ones = np.full(len(which), -float(t)), np.ones(len(which), dtype=bool)
    if t.__class__ is Fraction:
        return slopes, ~ones
    if component.times is None or not np.isfinite(slopes).all():
        return slopes, ones
    found, errors = products(component.times[which], slopes)
    return found, ~ones if errors is None else errors == 0


def _rows(component: RotatedCones, which: Index, triples: Index) -> list[QuadraticRow]:
    """x^2 - s (c + a t) <= 0; local positions are the same for every row of the component."""
    if not len(which):
        return []
    order = np.argsort(triples[0])
    x, s, t = np.argsort(order).tolist()
    i, j = np.array([x, s, t]), np.array([x, t, s])
    v = np.array([1.0, -component.slope / 2, -component.slope / 2])
    a = np.zeros(3)
    a[s] = -component.constant
    keys = component.row_keys(which)
    return [
        QuadraticRow(
            LocalQuadratic(index, i, j, v, a, 0.0), -np.inf, 0.0, RowHandle(component, key)
        )
        for index, key in zip(triples[:, order], keys, strict=True)
    ]


def _scaled_rows(
    component: RotatedCones, which: Index, pairs: Index, numbers: Array, columns: Columns
) -> list[QuadraticRow]:
    """x^2 - times t s <= 0 with a number t.

    Raises
    ------
    NumberError
        The Param t has no value, or one that is not finite.
    """
    if not len(which):
        return []
    order = np.argsort(pairs[0])
    x, s = np.argsort(order).tolist()
    i, v = np.array([x]), np.ones(1)
    keys = component.row_keys(which)
    slopes = np.zeros((len(which), 2))
    slopes[:, s] = numbers
    bad = np.flatnonzero(~np.isfinite(slopes[:, s]))
    if bad.size:
        row, name = row_name(component, keys[bad[0]]), columns.name(int(pairs[bad[0], 1]))
        raise NumberError(f"row {row}: coefficient of {name} is {slopes[bad[0], s]}")
    return [
        QuadraticRow(
            LocalQuadratic(index, i, i, v, a, 0.0), -np.inf, 0.0, RowHandle(component, key)
        )
        for index, a, key in zip(pairs[:, order], slopes, keys, strict=True)
    ]
