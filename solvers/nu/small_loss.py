"""A hyperplane of small mean hinge loss within milliseconds: nu_min is not above its loss.

max(0, u) = (u + |u|) / 2 is below (u + delta)^2 / (4 delta) with equality at |u| = delta, so that
weighted least squares, again and again, lower the loss (Hunter & Lange, A tutorial on MM
algorithms, The American Statistician 58, 2004).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.linalg import LinAlgError
from scipy.sparse.linalg import LinearOperator, lsqr

from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.sparse_points import (
    Points,
    is_sparse,
    largest_in_columns,
    scaled_columns,
    scaled_rows,
    squared_lengths,
)
from tightmargin.formulations.data.training_data import GramData, TrainingData

ROUNDS = 20
WIDEST = 300  # columns: the equations of more take longer than they save
NEAREST = 1e-3  # least delta
STEPS = 50  # of conjugate directions, where the points are sparse
RIDGE = 1e-9  # of the trace


def small_loss(
    data: TrainingData | GramData, weights: Array, intercept: str, enough: float
) -> float:
    """Weighted mean hinge loss of some hyperplane; the first that is below `enough`."""
    points = scaled_rows(data.y, augmented(data, intercept))
    found, delta = float(weights.sum()), np.ones(data.n)
    sparse = is_sparse(points)
    if not sparse and points.shape[1] > WIDEST:
        return found
    units = np.maximum(largest_in_columns(points), 1e-300)  # any unit will do
    points = scaled_columns(points, 1 / units)
    least_squares = _by_steps if sparse else _by_equations
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(ROUNDS):
            try:
                w = least_squares(points, weights / delta, 1 + delta)
            except LinAlgError:
                return found
            short = 1 - points @ w
            loss = float(weights @ np.maximum(short, 0.0))
            if not loss < found:
                return found
            found = loss
            if found < enough:
                return found
            delta = np.maximum(np.abs(short), NEAREST)
    return found


def _by_equations(points: Array, weights: Array, sides: Array) -> Array:
    """The w of least sum of c_i (<w, x_i> - s_i)^2."""
    scaled = points.T * weights
    matrix = scaled @ points
    matrix += RIDGE * np.trace(matrix) / len(matrix) * np.eye(len(matrix))
    return np.asarray(np.linalg.solve(matrix, scaled @ sides), dtype=np.float64)


def _by_steps(points: Points, weights: Array, sides: Array) -> Array:
    """The same from products alone; wherever the steps end, w is some hyperplane."""
    roots = np.sqrt(weights)
    damping = RIDGE * float(weights @ squared_lengths(points)) / points.shape[1]
    rows = LinearOperator(
        points.shape,
        matvec=lambda w: roots * (points @ w),
        rmatvec=lambda u: points.T @ (roots * u),
        dtype=np.float64,
    )
    found: Array = lsqr(rows, roots * sides, damp=math.sqrt(damping), iter_lim=STEPS)[0]
    return found
