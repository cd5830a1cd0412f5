"""The optimum below nu_bar found otherwise, and a search's point checked against its objective."""

from __future__ import annotations

import itertools
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from scipy.spatial import ConvexHull

from tests.references import reference_solutions
from tests.references.reduced_hulls import all_vertices, level_by_lp
from tightmargin.formulations import TrainingData


def nearest_facet(data: TrainingData, mode: str, nu: float, caps: np.ndarray) -> float:
    """Distance of 0 to the boundary of U from all its vertices, two numbers in one dimension."""
    vertices = all_vertices(data, mode, nu, caps)
    if vertices.shape[1] == 1:
        return float(min(vertices.max(), -vertices.min()))
    return float(-ConvexHull(vertices).equations[:, -1].max())


def by_all_outliers(data: TrainingData, nu: float, count: int, mode: str) -> float:
    """The extended robust SVM: the least of the convex problems of all points but `count`."""
    least = 0.0  # of w = 0
    for out in itertools.combinations(range(data.n), count):
        kept = np.setdiff1d(np.arange(data.n), out)
        w, b, rho = cp.Variable(data.d), cp.Variable(), cp.Variable()
        u = cp.multiply(data.y[kept], data.X[kept] @ w + (0 if mode == "none" else b))
        goal = -(nu - count / data.n) * rho + cp.sum(cp.pos(rho - u)) / data.n
        ball = cp.norm(cp.hstack([w, b]) if mode == "penalised" else w) <= 1
        least = min(least, reference_solutions._minimum(goal, [ball]))
    return least


def assert_values_are_the_objective(
    found: Any, data: TrainingData, mode: str, nu: float, caps: np.ndarray
) -> None:
    """The best point has norm 1, and for its weight no other levels are better."""
    values = found.best.values
    w = np.append(values["w"], values["b"]) if mode == "penalised" else values["w"]
    assert np.linalg.norm(w) == pytest.approx(1.0, abs=1e-14)
    assert level_by_lp(data, mode, nu, caps, w) == pytest.approx(found.objective, abs=1e-9)
