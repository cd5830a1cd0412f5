"""Rotated second-order cones x_i^2 <= s_i t_i, one for each element of an index, kept as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.base.component_namer import index_repr
from pyomo.core.expr.relational_expr import InequalityExpression

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.modeling.array_variables import ArrayVar
from tightmargin.formulations.modeling.lazy_constraints import LazyRows
from tightmargin.formulations.modeling.mathematics import sum_text
from tightmargin.number_words import number_text


@dataclass(frozen=True, eq=False)
class Factor:
    """constant + slope x_i of a variable x."""

    variable: ArrayVar
    slope: float = 1.0
    constant: float = 0.0


def complement(variable: ArrayVar) -> Factor:
    """1 - x_i."""
    return Factor(variable, -1.0, 1.0)


class RotatedCones(LazyRows):
    """x_i^2 <= s_i t_i, or x_i^2 <= t s_i with a Param t, for every i of an index.

    The factors are nonnegative by the bounds of their variables, not by the row.

    t: t may be an affine function of a variable such as `complement(z)`. Each variable is indexed
        at least by the elements of `index`.
    times: positive numbers by row, x_i^2 <= times_i s_i t with a Param t; 1 by default.
    """

    def __init__(
        self,
        index: pyo.Set,
        x: ArrayVar,
        s: ArrayVar,
        t: ArrayVar | Factor | pyo.Param,
        times: Array | None = None,
    ) -> None:
        self.x, self.s = x, s
        self.times = times
        # Not a dataclass: clone() must replace the variable by that of the copied model.
        factor = t if isinstance(t, Factor) else Factor(t)
        self.t, self.slope, self.constant = factor.variable, factor.slope, factor.constant
        super().__init__(index)

    @property
    def scaled(self) -> bool:
        """Whether t is a Param: a second-order cone of x and s alone."""
        return self.t.ctype is pyo.Param

    def _written(self, k: int) -> Any:
        index = self.row_key(k)
        t = self.t if self.scaled else self.t[index]
        if (self.slope, self.constant) != (1.0, 0.0):
            t = self.constant + self.slope * t
        if self.times is not None:
            t = float(self.times[k]) * t
        return InequalityExpression((self.x[index] ** 2, self.s[index] * t), False)

    def row_text(self, k: int) -> str:
        """Row number k as a line of mathematics."""
        index = self.row_key(k)
        key = index_repr(index)
        t = f"{self.t.name}{key}"
        if self.scaled:
            size = pyo.value(self.t[index] if self.t.is_indexed() else self.t)
            t = number_text(size if self.times is None else float(self.times[k]) * size)
        elif (self.slope, self.constant) != (1.0, 0.0):
            t = f"({sum_text([(self.constant, ''), (self.slope, t)])})"
        return f"{self.x.name}{key}^2 <= {self.s.name}{key} {t}"

    def element_numbers(self, variable: ArrayVar, rows: Index) -> Index:
        """Positions in a variable of its elements in some rows."""
        if variable.index_set() is self.index_set():
            return rows
        return np.array([variable.number_of(key) for key in self.row_keys(rows)], dtype=np.int64)
