"""How far a point is from feasible: relative to the size of each row, and in its own numbers.

A row is met when it is violated by little beside its terms, and by little when it is scaled so that
its largest coefficient is 1 (or its side, where that is larger). The second is what tells a point
that is feasible from one whose violation merely drowns in terms that cancel: in z^2 + y^2 <= x^2
near x = z = 1e6 any y of size 1 is lost beside 1e12. The rounding of the terms counts as violation.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyomo.environ as pyo
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.common.rounding import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.modeling.cones import symmetric
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.exact import dot_integers, dyadic, scaled
from tightmargin.solvers.model.columns import Columns, Rows, holding, value_of
from tightmargin.solvers.model.polynomial import QuadraticRow
from tightmargin.solvers.model.reader import Matrix, StandardForm

if TYPE_CHECKING:
    from tightmargin.solvers.model.scaling import Scaling

# --- Coefficients that a solver would lose, found before it gets the model -----------------------


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


# Largest number over smallest one from which on a model is scaled before it is solved. A mean over
# 1e5 points has costs of 1e-5, and its least-squares problem takes a while.
SPREAD, SPREAD_OF_LARGE, LARGE = 1e4, 1e9, 300_000


def badly_scaled(form: StandardForm) -> bool:
    """Whether the numbers of a model differ so much in size that it is scaled at the first try."""
    A, large = form.matrix, form.matrix.nnz > LARGE
    sizes = np.array([A.data.max(), A.data.min()]) if large else np.zeros(0)
    if A.nnz and not large:
        sizes = abs(without_rounding(A)).max(axis=0).toarray().ravel()
    numbers = [sizes, form.objective.a, form.objective.Q.data]
    numbers += [form.row_lower, form.row_upper, form.lower, form.upper]
    numbers += [part for row in form.quadratic for part in (row.body.v, row.body.a)]
    for row in form.psd:
        numbers += [abs(row.F).max(axis=0).toarray().ravel(), row.g]
    low, high = np.inf, 0.0
    for part in numbers:
        sizes = np.abs(part[np.isfinite(part) & (part != 0)])
        low, high = min(low, sizes.min(initial=np.inf)), max(high, sizes.max(initial=0.0))
    return bool(high > (SPREAD_OF_LARGE if large else SPREAD) * low)


def refuse_overflow(form: StandardForm) -> None:
    """Raise for a coefficient or a side whose square is beyond doubles, as of points near 1e300.

    Raises NumberError: naming the row or the variable.
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


def own_residual(form: StandardForm, x: Array, scaled: Scaling | None = None) -> tuple[float, str]:
    """Largest violation in a row's own numbers, rounding included, and where it is.

    Rows over integer columns alone are evaluated exactly.

    scaled: factors that bring the numbers of the model near 1. Linear rows are measured there then.
    """
    worst, where = 0.0, ""
    linear = _own_linear(form, x)
    if scaled is not None:
        linear = min(linear, _own_linear(scaled.form, x / scaled.columns))
    for residual, name in (
        linear,
        _own_bounds(form, x),
        _integrality(form, x),
        *(_own_quadratic(row, x) for row in form.quadratic),
        *_semidefinite(form, x),
        _exact_integers(form, x),
    ):
        if residual > worst:
            worst, where = residual, name
    return worst, where


def _own_linear(form: StandardForm, x: Array) -> tuple[float, str]:
    value, terms = form.A @ x, form.sizes @ np.abs(x)
    count = np.diff(form.A.indptr)
    sides = _sizes(form.row_lower, form.row_upper)
    rounding = (count + 2) * UNIT * terms
    violation = np.maximum(form.row_lower - value, value - form.row_upper)
    # A row without a violation is met, unless it is met only as far as rounding can tell.
    violation = np.where(violation > 0, violation + rounding, 0.0)
    size = np.maximum(form.largest, sides)
    return _largest(violation / np.where(size > 0, size, 1.0), "row", form.rows)


def _own_bounds(form: StandardForm, x: Array) -> tuple[float, str]:
    size = np.maximum(1.0, _sizes(form.lower, form.upper))
    violation = np.maximum(form.lower - x, x - form.upper)
    return _largest(np.maximum(violation, 0.0) / size, "bound of", form.columns)


def _sizes(lower: Array, upper: Array) -> Array:
    """The larger of the absolute values of finite sides."""
    return np.maximum(*(np.where(np.isfinite(side), np.abs(side), 0.0) for side in (lower, upper)))


def _own_quadratic(row: QuadraticRow, x: Array) -> tuple[float, str]:
    body = row.body
    value, terms = body.at(x), body.magnitude(x) + abs(body.constant)
    rounding = (len(body.v) + len(body.a) + 4) * UNIT * terms
    violation = max(row.lower - value, value - row.upper, 0.0)
    sides = [abs(s - body.constant) for s in (row.lower, row.upper) if np.isfinite(s)]
    size = max(*sides, float(np.abs(body.v).max(initial=0.0)), float(np.abs(body.a).max(initial=0)))
    # Where the row could move by more through each of its variables, it is that much larger.
    size = max(size, _least_variation(row, x))
    return (violation + rounding) / size if size > 0 else violation, f"row {row.data.name}"


def _least_variation(row: QuadraticRow, x: Array) -> float:
    """Least of what each column's terms amount to at a point: that of y in z^2 + y^2 <= x^2."""
    body = row.body
    y = np.abs(x[body.index])
    terms = np.abs(body.v) * y[body.i] * y[body.j]
    own = np.bincount(body.i, terms, len(y)) + np.abs(body.a) * y
    return float(own.min(initial=np.inf)) if len(y) else 0.0


def _exact_integers(form: StandardForm, x: Array) -> tuple[float, str]:
    """Worst row over integer columns alone, in exact arithmetic.

    A row of whole numbers is missed by 1 or more, or not at all. In a row of decimals, which
    doubles round, what that rounding explains is no violation, and the rest counts beside the
    smallest coefficient.
    """
    worst, where = 0.0, ""
    if not form.integer.any():
        return worst, where
    continuous = form.sizes @ (~form.integer).astype(float)
    for i in np.flatnonzero((continuous == 0) & (np.diff(form.A.indptr) > 0)).tolist():
        span = slice(form.A.indptr[i], form.A.indptr[i + 1])
        a, at = dyadic(form.A.data[span]), np.round(x[form.A.indices[span]])
        whole = [int(number) for number in at.tolist()]
        value = scaled(dot_integers(a.integers, whole), a.exponent)
        low, high = float(form.row_lower[i]), float(form.row_upper[i])
        missed, end = max(
            (Fraction(low) - value if np.isfinite(low) else Fraction(0), low),
            (value - Fraction(high) if np.isfinite(high) else Fraction(0), high),
        )
        if missed <= 0:
            continue
        numbers = np.append(form.A.data[span], end)
        rounding = np.where(numbers == np.floor(numbers), 0.0, np.spacing(np.abs(numbers)) / 2)
        share = 1.0
        if rounding.any():
            excess = missed - Fraction(float(rounding @ np.append(np.abs(at), 1.0)))
            share = min(
                share, float(max(excess, Fraction(0))) / float(_smallest_entries(form.A[[i]])[0])
            )
        if share > worst:
            worst, where = share, f"row {form.rows.name(i)}, over integers alone,"
    return worst, where


def _largest(violation: Array, name: str, names: Columns | Rows) -> tuple[float, str]:
    if not violation.size:
        return 0.0, ""
    k = int(np.argmax(violation))
    return float(violation[k]), f"{name} {names.name(k)}"


def _linear(form: StandardForm, x: Array) -> tuple[float, str]:
    value = form.A @ x
    violation = np.maximum(form.row_lower - value, value - form.row_upper)
    missed = np.flatnonzero(~(violation <= 0))
    if not len(missed):
        return 0.0, ""
    entries = abs(form.A[missed])
    terms = entries @ np.abs(x)
    low, high, short = form.row_lower[missed], form.row_upper[missed], violation[missed]
    side = np.where(short == low - value[missed], low, high)
    size = np.maximum(terms, np.abs(np.where(np.isfinite(side), side, 0.0)))
    size = np.maximum(size, _smallest_entries(entries))
    relative = np.zeros(len(violation))
    relative[missed] = short / np.where(size > 0, size, 1.0)
    return _largest(relative, "row", form.rows)


def _smallest_entries(entries: sp.csr_matrix) -> Array:
    """Smallest coefficient of each row, rounding left by preprocessing not counted."""
    kept = np.append(np.where(negligible(entries), np.inf, entries.data), np.inf)
    smallest = np.minimum.reduceat(kept, entries.indptr[:-1])
    smallest[np.diff(entries.indptr) == 0] = np.inf
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
    with holding(form.columns, x):
        return [
            (_violation(c), f"row {c.name}") for c in form.nonlinear if c.ctype is pyo.Constraint
        ]


def _violation(constraint: pyo.Constraint) -> float:
    low, body, high = constraint.to_bounded_expression(evaluate_bounds=True)
    value = value_of(body)
    if math.isnan(value):
        return math.inf
    short = 0.0 if low is None else float(low) - value
    over = 0.0 if high is None else value - float(high)
    return max(short, over, 0.0) / max(1.0, abs(value))
