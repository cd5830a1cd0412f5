"""Optima of hinge machines by cvxpy: the problems as their papers write them."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def hinge_optimum(
    X: np.ndarray,
    y: np.ndarray,
    prices: np.ndarray,
    *,
    squared: bool = False,
    intercept: str = "free",
    column: float = 1.0,
    ridge: float = 1.0,
) -> float:
    """Least of ridge/2 norm + sum of prices times hinge losses, or their squares."""
    v, b = cp.Variable(X.shape[1]), cp.Variable()
    size = np.maximum(np.abs(X).max(axis=0), 1e-300)  # v = size w: the solver sees numbers near 1
    losses = cp.pos(1 - cp.multiply(y, (X / size) @ v + b))
    norm = cp.sum_squares(cp.multiply(1 / size, v))
    if intercept == "penalised":
        norm += cp.square(b / column)
    paid = cp.square(losses) if squared else losses
    fixed = [b == 0] if intercept == "none" else []
    problem = cp.Problem(cp.Minimize(ridge / 2 * norm + prices @ paid), fixed)
    return float(problem.solve(cp.CLARABEL, **TIGHT))


def nu_optimum(factor: np.ndarray, y: np.ndarray, weights: np.ndarray, nu: float) -> float:
    """Least of 1/2 ||w||^2 - nu rho + sum of weights times (rho - y f)_+, rho >= 0."""
    w, b, rho = cp.Variable(factor.shape[1]), cp.Variable(), cp.Variable(nonneg=True)
    losses = cp.pos(rho - cp.multiply(y, factor @ w + b))
    objective = cp.sum_squares(w) / 2 - nu * rho + weights @ losses
    return float(cp.Problem(cp.Minimize(objective)).solve(cp.CLARABEL, **TIGHT))


def factor_of(gram: np.ndarray) -> np.ndarray:
    """F with F F' a semidefinite matrix, to rounding."""
    values, vectors = np.linalg.eigh(gram)
    return vectors * np.sqrt(np.maximum(values, 0.0))


TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
