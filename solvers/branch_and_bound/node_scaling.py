"""Powers of two that bring the numbers of a relaxation near 1, where they differ much in size.

Data in units of 1e6 leave multipliers of rows and of cones that are as far apart, and one grid
below the largest of them keeps nothing of the small ones. So they are rounded in these units. The
relaxation itself is solved as it is: rows with large coefficients, such as cuts, are met less
closely in numbers near 1. Integers count things and keep their unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.standard_form.coefficients import without_rounding

ROUNDS = 12
FAR = 2.0**13  # largest number over smallest one from which on anything is moved


@dataclass(frozen=True, eq=False)
class NodeScaling:
    """x = columns * x', and rows multiplied; all powers of two.

    Attributes
    ----------
    columns : array (n,)
    rows : array (m,)
        Equal within a cone.
    """

    columns: Array
    rows: Array

    @property
    def is_one(self) -> bool:
        """Whether nothing is moved."""
        return bool((self.columns == 1).all() and (self.rows == 1).all())


def node_scaling(
    A: sp.csr_matrix, parts: NDArray[np.intp], integer: NDArray[np.bool_]
) -> NodeScaling:
    """Factors by geometric means of rows and columns in turn.

    Parameters
    ----------
    A : csr_matrix (m, n)
    parts : array (m,)
        Number of the row or cone that each row is one of.
    integer : array (n,) of bool
        Columns that stay as they are.
    """
    entries = without_rounding(A).tocoo()
    sizes = np.abs(entries.data)
    kept = sizes > 0
    sizes, own, j = sizes[kept], parts[entries.row[kept]], entries.col[kept]
    count = int(parts.max(initial=-1)) + 1
    columns, rows = np.zeros(A.shape[1]), np.zeros(count)
    if len(sizes) and sizes.max() > FAR * sizes.min():
        logs = np.log2(sizes)
        of_rows = np.maximum(np.bincount(own, minlength=count), 1)
        of_columns = np.maximum(np.bincount(j, minlength=A.shape[1]), 1)
        for _ in range(ROUNDS):
            rows = -np.bincount(own, logs + columns[j], count) / of_rows
            columns = -np.bincount(j, logs + rows[own], A.shape[1]) / of_columns
            columns[integer] = 0.0
    return NodeScaling(np.exp2(np.round(columns)), np.exp2(np.round(rows))[parts])
