"""Coefficients that a solver would lose, found before it gets the model."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.standard_form.sparse_assembly import Matrix
from tightmargin.solvers.standard_form.standard_form import StandardForm

# Below both of these, the second times the largest entry of its row, a coefficient is rounding
# that preprocessing left behind.
TINY, ROUNDING = 1e-9, 1e-13
LARGEST = 1e150  # the square of what is larger is none, with a few more to add to it


def coefficient_outside(form: StandardForm, low: float, high: float) -> str:
    """Name of a coefficient the solver would lose; those negligible in their row do not count."""
    a = form.objective.a
    costs = np.flatnonzero((a >= high) | (a <= -high))
    if costs.size:
        j = int(costs[0])
        return f"the cost {a[j]:.3g} of {form.columns.name(j)} in the objective"
    A = form.matrix
    bad = _small(A.data, low) | (A.data >= high) | (A.data <= -high)
    if bad.any():
        bad &= ~negligible(A)
    if not bad.any():
        return ""
    k = int(np.argmax(bad))
    line, other = int(np.searchsorted(A.indptr, k, side="right") - 1), int(A.indices[k])
    row, column = (line, other) if A.format == "csr" else (other, line)
    owner = f"{form.columns.name(column)} in row {form.rows.name(row)}"
    return f"the coefficient {A.data[k]:.3g} of {owner}"


def negligible(A: Matrix) -> NDArray[np.bool_]:
    """Which stored entries are rounding left by preprocessing."""
    small = _small(A.data, TINY)
    if not small.any():
        return small
    rows = A.indices if A.format == "csc" else np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    largest = np.zeros(A.shape[0])
    np.maximum.at(largest, rows, np.abs(A.data))
    return small & (np.abs(A.data) < ROUNDING * largest[rows])


def without_rounding(A: Matrix) -> Matrix:
    """The matrix without negligible entries: itself when there are none."""
    lost = negligible(A)
    if not lost.any():
        return A
    kept = A.copy()
    kept.data[lost] = 0.0
    kept.eliminate_zeros()
    return kept


def _small(numbers: NDArray[np.float64], limit: float) -> NDArray[np.bool_]:
    return (numbers <= limit) & (numbers >= -limit)


def refuse_overflow(form: StandardForm) -> None:
    """Raise for a coefficient or a side whose square is beyond doubles, as of points near 1e300.

    Raises
    ------
    NumberError
        Naming the row or the variable.
    """
    rows = form.matrix.tocsr() if form.matrix.nnz and _huge(form.matrix.data).any() else None
    if rows is not None:
        k = int(np.argmax(_huge(rows.data)))
        line = int(np.searchsorted(rows.indptr, k, side="right") - 1)
        where = f"{form.columns.name(int(rows.indices[k]))} in row {form.rows.name(line)}"
        raise _overflow(f"the coefficient {rows.data[k]:.3g} of {where}")
    for costs in (form.objective.a, form.objective.Q.data):
        if _huge(costs).any():
            raise _overflow(f"the cost {costs[int(np.argmax(_huge(costs)))]:.3g} in the objective")
    for row in form.quadratic:
        if _huge(row.body.v).any() or _huge(row.body.a).any():
            raise _overflow(f"a coefficient of row {row.data.name}")


def _huge(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.isfinite(numbers) & (np.abs(numbers) > LARGEST)


def _overflow(what: str) -> NumberError:
    return NumberError(
        f"products of numbers as large as {what} overflow: scale the data (normalise=zscore), or "
        "take other units"
    )
