"""A hyperplane of small mean hinge loss within milliseconds: nu_min is not above its loss.

max(0, u) = (u + |u|) / 2 is below (u + delta)^2 / (4 delta) with equality at |u| = delta, so that
weighted least squares, again and again, lower the loss (Hunter & Lange, A tutorial on MM
algorithms, The American Statistician 58, 2004).
"""

from __future__ import annotations

import numpy as np
from numpy.linalg import LinAlgError

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData

ROUNDS = 20
WIDEST = 300  # columns: the equations of more take longer than they save
NEAREST = 1e-3  # least delta
RIDGE = 1e-9  # of the trace


def small_loss(
    data: TrainingData | GramData, weights: Array, intercept: str, enough: float
) -> float:
    """Weighted mean hinge loss of some hyperplane; the first that is below `enough`."""
    points = data.y[:, None] * data.factor
    if intercept != "none":
        points = np.hstack([points, data.y[:, None]])
    found, delta = float(weights.sum()), np.ones(data.n)
    if points.shape[1] > WIDEST:
        return found
    points /= np.maximum(np.abs(points).max(axis=0, initial=0.0), 1e-300)  # any unit will do
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(ROUNDS):
            scaled = points.T * (weights / delta)
            matrix = scaled @ points
            matrix += RIDGE * np.trace(matrix) / len(matrix) * np.eye(len(matrix))
            try:
                w = np.linalg.solve(matrix, scaled @ (1 + delta))
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
