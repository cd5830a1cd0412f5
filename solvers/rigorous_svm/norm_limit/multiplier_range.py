"""Multipliers at the largest norm bound that matters: gamma may be anything in [0, g] there."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lstsq
from scipy.optimize import linprog

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.rigorous_svm.norm_limit.centred_rows import Rows
from tightmargin.solvers.rigorous_svm.norm_limit.optimal_face import FacePoint

INSIDE = 1e-7  # of a multiplier in [0, 1] that may be moved
NUMBERS = 1_000_000  # of the linear program's matrix
CLOSE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def refined(points: Array, y: Array, alpha: Array, target: Array | None = None) -> Array:
    """Multipliers with sum alpha_i y_i (g_i, 1) = (target, 0), by the least move of inner ones.

    What rounding of a solver left open is taken up by the multipliers inside (0, 1); the result
    is the input where they would leave the box.
    """
    inside = (alpha > INSIDE) & (alpha < 1 - INSIDE)
    if not inside.any():
        return alpha
    signed = y[:, None] * np.column_stack([points, np.ones(len(y))])
    goal = np.zeros(signed.shape[1])
    goal[:-1] += 0.0 if target is None else target
    rest = goal - alpha @ signed
    step, *_ = lstsq(signed[inside].T, rest, cond=1e-13, lapack_driver="gelsy")
    new = alpha.copy()
    new[inside] += step
    better = float(np.linalg.norm(goal - new @ signed)) < float(np.linalg.norm(rest))
    kept = bool((new >= 0).all() and (new <= 1).all())
    return new if kept and better else alpha


def steepest(rows: Rows, alpha: Array, point: FacePoint) -> tuple[float, Array]:
    """Largest gamma at H = H_lim, and its multipliers.

        max  gamma
        s.t. sum_i alpha_i y_i f_i = gamma w,   y'alpha = 0,   0 <= alpha <= 1,
             alpha_i = 0 where u_i > 1,   alpha_i = 1 where u_i < 1

    Where the rows with u_i = 1 are independent, alpha + gamma mu is the only choice.

    Returns
    -------
    float, array (n,)
        NaN and alpha where w = 0, and gamma does not matter.
    """
    if not point.v.any() or not point.mu.any():
        return np.nan, alpha
    gamma = _room(alpha, point.mu)
    best = np.clip(alpha + gamma * point.mu, 0.0, 1.0)
    if not point.independent and point.touched.sum() * rows.points.shape[1] <= NUMBERS:
        gamma, best = _by_program(rows, alpha, point, gamma, best)
    target = gamma * point.v
    return gamma * (rows.scale or 1.0) ** 2, refined(rows.points, rows.y, best, target)


def _room(alpha: Array, mu: Array) -> float:
    """Largest gamma with 0 <= alpha + gamma mu <= 1."""
    up, down = mu > 0, mu < 0
    return float(min(
        ((1 - alpha[up]) / mu[up]).min(initial=np.inf),
        (alpha[down] / -mu[down]).min(initial=np.inf),
    ))  # fmt: skip


def _by_program(
    rows: Rows, alpha: Array, point: FacePoint, gamma: float, best: Array
) -> tuple[float, Array]:
    free = point.touched
    u = rows.y * (rows.points @ point.v + point.c)
    fixed = ~free & (u < 1)
    signed = rows.y[:, None] * np.column_stack([rows.points, np.ones(len(u))])
    equations = np.column_stack([signed[free].T, -np.append(point.v, 0.0)])
    k = int(free.sum())
    answer = linprog(
        -np.eye(k + 1)[k],
        A_eq=equations,
        b_eq=-signed[fixed].sum(axis=0),
        bounds=[(0.0, 1.0)] * k + [(0.0, None)],
        method="highs",
        options=CLOSE,
    )
    if answer.status != 0 or answer.x[k] <= gamma:
        return gamma, best
    found = np.where(fixed, 1.0, 0.0)
    found[free] = np.clip(answer.x[:k], 0.0, 1.0)
    return float(answer.x[k]), found
