"""Cones as ordinary Pyomo constraints.

Second-order cones are quadratic rows (p**2 <= s * z with s, z >= 0), so every quadratic solver
reads the same model. Membership in the positive semidefinite cone is a constraint on an external
function, smallest_eigenvalue(lower triangle) >= 0: solvers that cannot take it refuse it loudly,
it clones and pickles, and the value of its body is the residual. A component type of our own
would instead be dropped in silence by several Pyomo interfaces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from pyomo.core.expr.numeric_expr import ExternalFunctionExpression


def smallest_eigenvalue(*triangle: float) -> float:
    """Smallest eigenvalue of the symmetric matrix with this row-wise lower triangle."""
    return float(np.linalg.eigvalsh(symmetric(np.array(triangle, dtype=float)))[0])


def symmetric(triangle: NDArray[np.float64]) -> NDArray[np.float64]:
    """Symmetric matrix (k, k) from its row-wise lower triangle, k (k + 1) / 2 numbers."""
    k = order(len(triangle))
    matrix = np.zeros((k, k))
    matrix[np.tril_indices(k)] = triangle
    return matrix + np.tril(matrix, -1).T


def order(entries: int) -> int:
    """Order of the matrix whose triangle has this many entries."""
    return int((np.sqrt(8 * entries + 1) - 1) / 2)


def lower_pairs(k: int) -> list[tuple[int, int]]:
    """Index pairs (i, j), j <= i, of a lower triangle of order k, row by row."""
    return [(i, j) for i in range(k) for j in range(i + 1)]


def outer_products(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients of <x x', W> on the lower triangle of W, for every row x of `points` (n, k).

    Returns
    -------
    array (n, k (k + 1) / 2)
        Off-diagonal entries stand for both halves of W, hence counted twice.
    """
    i, j = np.tril_indices(points.shape[1])
    products = points[:, i]
    products *= points[
        :, j
    ]  # in place: fresh memory for large arrays takes longer than the product
    products *= np.where(i == j, 1.0, 2.0)
    return products


def psd(block: pyo.Block, name: str, rows: Sequence[Sequence[Any]]) -> None:
    """Add constraint `name`: the matrix with lower-triangular rows `rows` is semidefinite.

    Parameters
    ----------
    block : Block
        A model or a block of one.
    name : str
        Of the constraint.
    rows : sequence of sequences
        Row i holds entries (i, 0), ..., (i, i): numbers or affine expressions.

    Raises
    ------
    ValueError
        When the rows are no lower triangle.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import tightmargin as tm
    >>> m = pyo.ConcreteModel()
    >>> m.x = pyo.Var()
    >>> tm.psd(m, "cone", [[m.x], [1.0, m.x]])  # [[x, 1], [1, x]]: x >= 1
    >>> m.objective = pyo.Objective(expr=m.x)
    >>> round(tm.solve(m).objective, 6)
    1.0
    """
    if [len(row) for row in rows] != list(range(1, len(rows) + 1)):
        raise ValueError(f"{name}: row i of a lower triangle needs i + 1 entries")
    function = pyo.ExternalFunction(smallest_eigenvalue)
    block.add_component(f"{name}_smallest_eigenvalue", function)
    entries = [entry for row in rows for entry in row]
    block.add_component(name, pyo.Constraint(expr=function(*entries) >= 0))


def psd_entries(body: Any) -> list[Any] | None:
    """Entries of the row-wise lower triangle when `body` is a semidefinite row, else None."""
    if not isinstance(body, ExternalFunctionExpression):
        return None
    if getattr(body._fcn, "_fcn", None) is not smallest_eigenvalue:
        return None
    return list(body.args[:-1])
