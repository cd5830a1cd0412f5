"""Small data for the searches of the 0-1 loss, and least norms by SciPy's own solver."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

import tightmargin as tm
from tightmargin.formulations import TrainingData

INTERCEPTS = ("free", "penalised", "none")


def overlapping(n: int, d: int, seed: int) -> TrainingData:
    """Two normal clouds, .8 apart in every coordinate."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return TrainingData(rng.normal(size=(n, d)) + 0.4 * y[:, None], y)


def clustered(n: int, d: int, seed: int, *, ties: bool = False) -> TrainingData:
    """Clustered outliers; with ties on a grid, the last points being copies of the first."""
    data = tm.data.outlier_data("clustered", n=n, d=d, sigma=0.5, seed=seed)
    if not ties:
        return data
    X = np.round(2 * data.X) / 2
    X[-n // 6 :] = X[: n // 6]
    return TrainingData(X, data.y)


def least_norm2(
    data: TrainingData, kept: Sequence[int], short: Sequence[int], intercept: str
) -> float:
    """Least norm2 with margins of at least 1 on some points and at most 1 on others, by SLSQP."""
    d = data.d + (intercept == "penalised")
    X = data.X if intercept == "none" else np.hstack([data.X, np.ones((data.n, 1))])
    rows = data.y[:, None] * X
    A = np.vstack([rows[list(kept)], -rows[list(short)]])
    right = np.r_[np.ones(len(kept)), -np.ones(len(short))]
    found = minimize(
        lambda v: v[:d] @ v[:d],
        np.zeros(X.shape[1]),
        jac=lambda v: np.r_[2 * v[:d], np.zeros(X.shape[1] - d)],
        constraints={"type": "ineq", "fun": lambda v: A @ v - right, "jac": lambda v: A},
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return float(found.fun) if found.success else np.inf
