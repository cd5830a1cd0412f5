"""Sparse coefficients of products of variables, over ordered pairs of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array

Index = NDArray[np.intp]
Terms = list[tuple[Any, Any]]


def picked(columns: Index, width: int, factor: Any) -> sp.csr_matrix:
    """Row r holds factor_r in one column, (N, width)."""
    values = np.broadcast_to(np.asarray(factor, dtype=float), columns.shape)
    return sp.csr_matrix((values, columns, np.arange(len(columns) + 1)), (len(columns), width))


def pair_number(i: Index, j: Index, count: int) -> Index:
    """Position of {i, j} among the unordered pairs of `count` elements, row by row."""
    low, high = np.minimum(i, j), np.maximum(i, j)
    return low * count - low * (low + 1) // 2 + high - low - 1


@dataclass(frozen=True, eq=False)
class PointPairs:
    """Ordered pairs (i, j) of points, i undecided, as matrices that pick their variables.

    Attributes
    ----------
    first, second : array (N,) of int
        The points i and j.
    own : array (N,) of int
        Position of i among the undecided points.
    """

    m: pyo.ConcreteModel
    signed: Array  # rows y_j x~_j
    first: Index
    second: Index
    own: Index

    def z(self, of_first: Any, of_second: Any = None) -> tuple[Any, Any]:
        """of_first z_i + of_second z_j."""
        n = len(self.signed)
        found = picked(self.first, n, of_first)
        return (found if of_second is None else found + picked(self.second, n, of_second)), self.m.z

    def product(self, factor: float) -> tuple[Any, Any]:
        """factor (z_i v_j - z_i)."""
        width = self.signed.shape[1]
        columns = self.own[:, None] * width + np.arange(width)
        entries = sp.csr_matrix(
            (
                (-factor * self.signed[self.second]).ravel(),
                columns.ravel(),
                np.arange(0, columns.size + 1, width),
            ),
            shape=(len(self.own), len(self.m.Y)),
        )
        return entries, self.m.Y

    def slope(self, factor: float) -> Terms:
        """factor (v_j - 1)."""
        rows = -factor * self.signed[self.second]
        d = len(self.m.w)
        terms: Terms = [(rows[:, :d], self.m.w)]
        return [*terms, (rows[:, d], self.m.b)] if rows.shape[1] > d else terms
