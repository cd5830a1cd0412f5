"""The matrix SVM in cvxpy and by brute force: nothing here shares code with the models."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
from scipy.optimize import minimize, minimize_scalar

from tests.references.reference_solutions import _minimum, _solved
from tightmargin.formulations import TrainingData


def matrix_points(
    seed: int, n: int = 14, shape: tuple[int, int] = (3, 3), noise: float = 0.5
) -> TrainingData:
    """Normal predictors with the signs of a matrix of rank 1, plus noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, shape[0] * shape[1]))
    B = np.outer(rng.standard_normal(shape[0]), rng.standard_normal(shape[1]))
    return TrainingData(X, np.sign(X @ B.ravel() + noise * rng.standard_normal(n)))


class _Machine:
    """B, b and the sum of hinge losses; the norm of b where it is priced."""

    def __init__(self, data: TrainingData, shape: tuple[int, int], mode: str) -> None:
        self.B = cp.Variable(shape)
        self.b = cp.Variable() if mode != "none" else 0.0
        scores = [cp.sum(cp.multiply(x.reshape(shape), self.B)) for x in data.X]
        self.loss = cp.sum(cp.pos(1 - cp.multiply(data.y, cp.hstack(scores) + self.b)))
        self.price = cp.square(self.b) if mode == "penalised" else 0.0


def nuclear(data: TrainingData, shape: tuple[int, int], mode: str, ridge: float, tau: float) -> Any:
    """A price on cvxpy's own nuclear norm."""
    m = _Machine(data, shape, mode)
    return _minimum(
        m.loss + ridge / 2 * (cp.sum_squares(m.B) + m.price) + tau * cp.normNuc(m.B)
    )  # fmt: skip


def projection(
    data: TrainingData, shape: tuple[int, int], mode: str, ridge: float, rank: int
) -> float:
    """One symmetric variable for the whole block, its parts cut out by indices."""
    m = _Machine(data, shape, mode)
    k = sum(shape)
    block = cp.Variable((k, k), PSD=True)
    columns = shape[1]
    T, P = block[:columns, :columns], block[columns:, columns:]
    rows = [block[columns:, :columns] == m.B, np.eye(shape[0]) - P >> 0, cp.trace(P) <= rank]
    return _minimum(m.loss + ridge / 2 * (cp.trace(T) + m.price), rows)


class InSpan:
    """The least objective of B with columns in a given span, as one program with parameters."""

    def __init__(
        self, data: TrainingData, shape: tuple[int, int], mode: str, ridge: float, rank: int = 1
    ) -> None:
        self.predictors = data.X.reshape(data.n, *shape)
        self.points = cp.Parameter((data.n, rank * shape[1]))
        v, b = cp.Variable(rank * shape[1]), (cp.Variable() if mode != "none" else 0.0)
        loss = cp.sum(cp.pos(1 - cp.multiply(data.y, self.points @ v + b)))
        price = cp.square(b) if mode == "penalised" else 0.0
        self.problem = cp.Problem(cp.Minimize(loss + ridge / 2 * (cp.sum_squares(v) + price)))

    def __call__(self, basis: np.ndarray) -> float:
        """For orthonormal columns (m, rank)."""
        kept = np.einsum("pk,ipq->ikq", basis, self.predictors)
        self.points.value = kept.reshape(len(kept), -1)
        return _solved(self.problem)


def rank_one_on_circle(
    data: TrainingData, columns: int, mode: str, ridge: float, angles: int = 60
) -> float:
    """Exact optimum of rank 1 for two rows: every direction of a half circle, then refined."""
    in_span = InSpan(data, (2, columns), mode, ridge)

    def of_angle(angle: float) -> float:
        return in_span(np.array([[np.cos(angle)], [np.sin(angle)]]))

    grid = np.linspace(0, np.pi, angles, endpoint=False)
    values = [of_angle(angle) for angle in grid]
    best = min(values)
    for k in np.argsort(values)[:3]:
        around = (grid[k] - np.pi / angles, grid[k] + np.pi / angles)
        found = minimize_scalar(of_angle, bounds=around, method="bounded", options={"xatol": 1e-9})
        best = min(best, float(found.fun))
    return best


def rank_two_on_sphere(data: TrainingData, columns: int, mode: str, ridge: float) -> float:
    """Good value of rank 2 for three rows: directions orthogonal to all columns, then refined."""
    in_span = InSpan(data, (3, columns), mode, ridge, 2)

    def of_angles(angles: np.ndarray) -> float:
        a, b = angles
        q = np.array([[np.cos(a) * np.sin(b)], [np.sin(a) * np.sin(b)], [np.cos(b)]])
        return in_span(np.linalg.svd(q)[0][:, 1:])

    grid = [np.array([a, b]) for a in np.arange(0, 6.2, 0.6) for b in np.arange(0.1, 1.6, 0.4)]
    start = min(grid, key=of_angles)
    words = {"xatol": 1e-7, "fatol": 1e-10, "maxfev": 120}
    return float(minimize(of_angles, start, method="Nelder-Mead", options=words).fun)
