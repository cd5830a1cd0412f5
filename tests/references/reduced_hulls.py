"""The reduced hulls of the extended nu machine by linear programs and by listing vertices."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import linprog

from tightmargin.formulations import TrainingData


def level_and_slope(
    data: TrainingData, mode: str, nu: float, costs: np.ndarray, w: np.ndarray
) -> tuple[float, np.ndarray]:
    """min -nu rho + sum costs_i xi_i over (b, rho, xi) for a fixed w, (w, b) if b is penalised.

    And its gradient in the weights of the features.
    """
    fixed = data.X @ w[: data.d] + (w[-1] if mode == "penalised" else 0.0)
    free = [np.ones(data.n), *([-data.y] if mode == "free" else [])]
    found = linprog(
        np.r_[-nu, np.zeros(len(free) - 1), costs],
        A_ub=np.column_stack([*free, -np.eye(data.n)]),
        b_ub=data.y * fixed,
        bounds=[(None, None)] * len(free) + [(0, None)] * data.n,
        method="highs",
    )
    assert found.status == 0
    return float(found.fun), found.ineqlin.marginals @ (data.y[:, None] * data.X)


def level_by_lp(
    data: TrainingData, mode: str, nu: float, costs: np.ndarray, w: np.ndarray
) -> float:
    return level_and_slope(data, mode, nu, costs, w)[0]


def all_vertices(data: TrainingData, mode: str, nu: float, caps: np.ndarray) -> np.ndarray:
    """Points -sum lambda_i z_i for every vertex lambda: at most one entry a group is fractional."""
    columns = data.X if mode != "penalised" else np.hstack([data.X, np.ones((data.n, 1))])
    z = data.y[:, None] * columns
    groups = [np.flatnonzero(data.y == side) for side in (1.0, -1.0)]
    if mode != "free":
        groups = [np.arange(data.n)]
    shares = []
    for group in groups:
        mass, sums = nu / len(groups), []
        for size in range(len(group)):
            for full in itertools.combinations(group, size):
                left = mass - caps[list(full)].sum()
                if left < -1e-12:
                    continue
                sums += [
                    -(caps[list(full)] @ z[list(full)]) - left * z[last]
                    for last in set(group) - set(full)
                    if left <= caps[last] + 1e-12
                ]
        shares.append(np.array(sums))
    return np.array([sum(parts) for parts in itertools.product(*shares)])
