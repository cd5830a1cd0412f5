"""Equilibration of a conic form that keeps its cones, for data whose columns differ in scale.

Rows and columns are scaled towards entries of size 1, as in Ruiz's method: x = D x', z = E z' / s.
A second-order cone takes one factor for all its rows. A semidefinite block takes a congruence:
entry (i, j) is scaled by sigma_i sigma_j, which one factor a block could not do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from solvers.conic_form import ConicForm

Array = NDArray[np.float64]

ROUNDS = 25


@dataclass(frozen=True, eq=False)
class Scaled:
    """An equilibrated conic form and the way back."""

    conic: ConicForm
    columns: Array
    rows: Array
    objective: float

    def point(self, x: Array) -> Array:
        """Point of the original form."""
        return self.columns * x

    def multipliers(self, z: Array) -> Array:
        """Multipliers of the original form."""
        return self.rows * z / self.objective


def equilibrated(conic: ConicForm) -> Scaled:
    """Scale a conic form."""
    A, P = conic.A.tocsr(), conic.P
    columns, rows = np.ones(A.shape[1]), np.ones(A.shape[0])
    for _ in range(ROUNDS):
        row = _row_factors(conic, _largest(A, 1))
        column = np.maximum(_largest(A, 0), _largest(P, 0)) if P.nnz else _largest(A, 0)
        column = _inverse_root(column)
        A = sp.diags(row) @ A @ sp.diags(column)
        P = sp.diags(column) @ P @ sp.diags(column)
        columns, rows = columns * column, rows * row
    q = columns * conic.q
    objective = 1 / max(float(np.abs(q).max(initial=0.0)), 1e-300)
    scaled = replace(
        conic, P=(objective * P).tocsc(), q=objective * q, A=A.tocsc(), b=rows * conic.b, offset=0.0
    )
    return Scaled(scaled, columns, rows, objective)


def _largest(matrix: sp.spmatrix, axis: int) -> Array:
    return np.asarray(abs(matrix).max(axis=axis).todense()).ravel()


def _inverse_root(sizes: Array) -> Array:
    return np.where(sizes > 0, 1 / np.sqrt(np.maximum(sizes, 1e-300)), 1.0)


def _row_factors(conic: ConicForm, sizes: Array) -> Array:
    factors = _inverse_root(sizes)
    for block in conic.blocks:
        if block.kind == "soc":
            factors[block.rows] = _inverse_root(sizes[block.rows].max(keepdims=True))
        if block.kind == "psd":
            k = int((np.sqrt(8 * block.size + 1) - 1) / 2)
            i, j = np.tril_indices(k)
            root = np.sqrt(_inverse_root(sizes[block.rows][i == j]))
            factors[block.rows] = root[i] * root[j]
    return factors
