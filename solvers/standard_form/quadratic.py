"""Quadratic functions of the columns of a model, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.printing import Printed

Index = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Quadratic(Printed):
    """x'Qx + a'x + constant, with Q symmetric and both over all columns."""

    Q: sp.csr_matrix
    a: Array
    constant: float

    def at(self, x: Array) -> float:
        """Value at a point."""
        return self.varying(x) + self.constant

    def varying(self, x: Array) -> float:
        """Value at a point without the constant, beside which small numbers are lost."""
        return float(x @ (self.Q @ x)) + float(self.a @ x)


@dataclass(frozen=True, eq=False, repr=False)
class LocalQuadratic(Printed):
    """x'Qx + a'x + constant over few columns: rows are many and short.

    Attributes
    ----------
    index : array (k,)
        Columns that occur, ascending.
    i, j, v : arrays
        Entries of Q in local positions, both halves, no duplicates.
    a : array (k,)
    """

    index: Index
    i: Index
    j: Index
    v: Array
    a: Array
    constant: float

    def at(self, x: Array) -> float:
        """Value at a point of all columns."""
        y = x[self.index]
        return float(self.v @ (y[self.i] * y[self.j])) + float(self.a @ y) + self.constant

    def magnitude(self, x: Array) -> float:
        """Sum of the absolute terms at a point, the constant left out."""
        y = np.abs(x[self.index])
        return float(np.abs(self.v) @ (y[self.i] * y[self.j])) + float(np.abs(self.a) @ y)

    def shifted(self, sign: float, side: float) -> LocalQuadratic:
        """sign * (body - side)."""
        return LocalQuadratic(
            self.index, self.i, self.j, sign * self.v, sign * self.a, sign * (self.constant - side)
        )


@dataclass(frozen=True, eq=False, repr=False)
class QuadraticRow(Printed):
    """lower <= body <= upper with a quadratic body."""

    body: LocalQuadratic
    lower: float
    upper: float
    data: Any
