"""How far a point is from feasible, relative to the size of each row."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import NDArray

from formulations.cones import symmetric
from solvers.coefficients import negligible
from solvers.reading.columns import Columns, Rows
from solvers.standard_form import QuadraticRow, StandardForm

Array = NDArray[np.float64]


def primal_residual(form: StandardForm, x: Array) -> tuple[float, str]:
    """Largest relative violation and where it is.

    A linear row counts relative to its side or its terms at the point, whichever is larger, and at
    least to its smallest coefficient: an absolute 1e-6 would not see a row of coefficients 1e-9
    being ignored, and relative to the largest coefficient 1e14 x + y <= 1 would not see y = 4.
    Quadratic rows count relative to their terms at
    the point, semidefinite rows to the largest entry, bounds and integrality to their own size.
    """
    worst, where = 0.0, ""
    for residual, name in (
        _linear(form, x),
        _bounds(form, x),
        _integrality(form, x),
        *(_quadratic(row, x) for row in form.quadratic),
        *_semidefinite(form, x),
        *_nonlinear(form, x),
    ):
        if residual > worst:
            worst, where = residual, name
    return worst, where


def _largest(violation: Array, name: str, names: Columns | Rows) -> tuple[float, str]:
    if not violation.size:
        return 0.0, ""
    k = int(np.argmax(violation))
    return float(violation[k]), f"{name} {names.name(k)}"


def _linear(form: StandardForm, x: Array) -> tuple[float, str]:
    value = form.A @ x
    violation = np.maximum(form.row_lower - value, value - form.row_upper)
    entries = abs(form.A)
    terms = entries @ np.abs(x)
    side = np.where(violation == form.row_lower - value, form.row_lower, form.row_upper)
    size = np.maximum(terms, np.abs(np.where(np.isfinite(side), side, 0.0)))
    size = np.maximum(size, _smallest_entries(entries))
    return _largest(violation / np.where(size > 0, size, 1.0), "row", form.rows)


def _smallest_entries(entries: sp.csr_matrix) -> Array:
    """Smallest coefficient of each row, rounding left by preprocessing not counted."""
    smallest = np.full(entries.shape[0], np.inf)
    rows = np.repeat(np.arange(entries.shape[0]), np.diff(entries.indptr))
    kept = ~negligible(entries)
    np.minimum.at(smallest, rows[kept], entries.data[kept])
    return np.where(np.isfinite(smallest), smallest, 0.0)


def _bounds(form: StandardForm, x: Array) -> tuple[float, str]:
    low, high = form.lower - x, x - form.upper
    size = np.maximum(1.0, np.where(low > high, np.abs(form.lower), np.abs(form.upper)))
    size = np.where(np.isfinite(size), size, 1.0)
    return _largest(np.maximum(low, high) / size, "bound of", form.columns)


def _integrality(form: StandardForm, x: Array) -> tuple[float, str]:
    distance = np.where(form.integer, np.abs(x - np.round(x)), 0.0)
    return _largest(distance, "integrality of", form.columns)


def _quadratic(row: QuadraticRow, x: Array) -> tuple[float, str]:
    value = row.body.at(x)
    violation = max(row.lower - value, value - row.upper, 0.0)
    sides = [abs(s) for s in (row.lower, row.upper) if np.isfinite(s)]
    # A cone at its apex has terms of 1e-9: measure against its coefficients then.
    size = max(row.body.magnitude(x), float(np.linalg.norm(row.body.v)), *sides)
    return violation / size if size > 0 else violation, f"row {row.data.name}"


def _semidefinite(form: StandardForm, x: Array) -> list[tuple[float, str]]:
    found = []
    for row in form.psd:
        matrix = symmetric(row.F @ x + row.g)
        size = max(1.0, float(np.abs(matrix).max()))
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        found.append((max(0.0, -smallest) / size, f"row {row.data.name}"))
    return found


def _nonlinear(form: StandardForm, x: Array) -> list[tuple[float, str]]:
    """Rows beyond degree two, evaluated by Pyomo at the point."""
    if not form.nonlinear:
        return []
    before = [v.value for v in form.columns]
    try:
        for v, number in zip(form.columns, x.tolist(), strict=True):
            v.set_value(number, skip_validation=True)
        return [
            (_violation(c), f"row {c.name}") for c in form.nonlinear if c.ctype is pyo.Constraint
        ]
    finally:
        for v, old in zip(form.columns, before, strict=True):
            v.set_value(old, skip_validation=True)


def _violation(constraint: pyo.Constraint) -> float:
    low, body, high = constraint.to_bounded_expression(evaluate_bounds=True)
    value = float(pyo.value(body))
    short = 0.0 if low is None else float(low) - value
    over = 0.0 if high is None else value - float(high)
    return max(short, over, 0.0) / max(1.0, abs(value))
