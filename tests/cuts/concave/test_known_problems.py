"""Test problems of the literature, each of whose optima is computed here by other means too.

2.1, 2.2, 2.3 and 2.6 of Floudas & Pardalos, A collection of test problems for constrained global
optimization algorithms (Lecture Notes in Computer Science 455, 1990).
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pyomo.environ as pyo
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.spatial import HalfspaceIntersection

import tightmargin as tm
from tightmargin.solvers.proofs.verdict import Verdict
from tightmargin.solvers.result import SolveResult

Array = NDArray[np.float64]


def check(result: SolveResult, optimum: float) -> None:
    certificate = result.certificate
    assert certificate.verdict is Verdict.CERTIFIED, certificate.reason
    assert certificate.bound <= optimum + 1e-9 * abs(optimum)
    assert certificate.upper >= optimum - 1e-9 * abs(optimum)
    assert result.objective == pytest.approx(optimum, rel=2e-6)


def corners(A: Array, b: Array, inside: Array) -> Array:
    """Vertices of {A x <= b}, around a point inside of it."""
    return np.asarray(HalfspaceIntersection(np.column_stack([A, -b]), inside).intersections)


def boxed(A: Array, b: Array, upper: Array) -> tuple[Array, Array]:
    """The rows with those of 0 <= x <= upper."""
    n = len(upper)
    return np.vstack([A, np.eye(n), -np.eye(n)]), np.concatenate([b, upper, np.zeros(n)])


def centre(A: Array, b: Array) -> Array:
    """A point of {A x <= b} that is far from all rows."""
    norms = np.linalg.norm(A, axis=1)
    n = A.shape[1]
    found = linprog(
        np.r_[np.zeros(n), -1.0], A_ub=np.column_stack([A, norms]), b_ub=b,
        bounds=[(None, None)] * n + [(0, None)],
    )  # fmt: skip
    return np.asarray(found.x[:n])


@pytest.mark.parametrize("method", ["branch-and-cut", "cutting-plane", "inner-hull"])
def test_problem_2_1(method: str) -> None:
    c, weights = [42.0, 44.0, 45.0, 47.0, 47.5], [20.0, 12.0, 11.0, 7.0, 4.0]
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(5), bounds=(0, 1))
    model.row = pyo.Constraint(expr=sum(a * model.x[j] for j, a in enumerate(weights)) <= 40)
    model.goal = pyo.Objective(expr=sum(c[j] * model.x[j] - 50 * model.x[j] ** 2 for j in range(5)))
    A, b = boxed(np.array([weights]), np.array([40.0]), np.ones(5))
    vertices = corners(A, b, np.full(5, 0.1))
    assert min(vertices @ c - 50 * (vertices**2).sum(axis=1)) == pytest.approx(-17.0)
    result = tm.cuts.minimise_concave(model, method=method)
    check(result, -17.0)
    assert result.values["x"] == pytest.approx([1, 1, 0, 1, 0])


def test_problem_2_2() -> None:
    c = np.array([-10.5, -7.5, -3.5, -2.5, -1.5])
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(range(5), bounds=(0, 1)), pyo.Var(bounds=(0, None))
    x = model.x
    model.one = pyo.Constraint(expr=6 * x[0] + 3 * x[1] + 3 * x[2] + 2 * x[3] + x[4] <= 6.5)
    model.two = pyo.Constraint(expr=10 * x[0] + 10 * x[2] + model.y <= 20)
    model.goal = pyo.Objective(
        expr=sum(c[j] * x[j] - 0.5 * x[j] ** 2 for j in range(5)) - 10 * model.y
    )
    lines = np.array([[6.0, 3, 3, 2, 1, 0], [10.0, 0, 10, 0, 0, 1]])
    A, b = boxed(lines, np.array([6.5, 20.0]), np.array([1.0] * 5 + [30.0]))
    vertices = corners(A, b, np.full(6, 0.1))
    values = vertices[:, :5] @ c - 0.5 * (vertices[:, :5] ** 2).sum(axis=1) - 10 * vertices[:, 5]
    assert values.min() == pytest.approx(-213.0)
    check(tm.cuts.minimise_concave(model), -213.0)


def test_problem_2_3() -> None:
    """5 x - 5 x^2 >= 0 for x in [0, 1], so that the linear part bounds the objective from below."""
    model = pyo.ConcreteModel()
    upper = dict.fromkeys(range(13), 1.0) | {9: 100.0, 10: 100.0, 11: 100.0}
    model.x = pyo.Var(range(13), bounds=lambda m, j: (0, upper[j]))
    x = model.x
    rows = [
        ({0: 2, 1: 2, 9: 1, 10: 1}, 10), ({0: 2, 2: 2, 9: 1, 11: 1}, 10),
        ({1: 2, 2: 2, 10: 1, 11: 1}, 10), ({0: -8, 9: 1}, 0), ({1: -8, 10: 1}, 0),
        ({2: -8, 11: 1}, 0), ({3: -2, 4: -1, 9: 1}, 0), ({5: -2, 6: -1, 10: 1}, 0),
        ({7: -2, 8: -1, 11: 1}, 0),
    ]  # fmt: skip
    model.row = pyo.ConstraintList()
    A = np.zeros((9, 13))
    for i, (line, side) in enumerate(rows):
        model.row.add(sum(a * x[j] for j, a in line.items()) <= side)
        A[i, list(line)] = list(line.values())
    model.goal = pyo.Objective(
        expr=5 * sum(x[j] - x[j] ** 2 for j in range(4)) - sum(x[j] for j in range(4, 13))
    )
    costs = np.r_[np.zeros(4), -np.ones(9)]
    lower = linprog(costs, A_ub=A, b_ub=[side for _, side in rows],
                    bounds=[(0, upper[j]) for j in range(13)])  # fmt: skip
    point = np.array([1.0] * 9 + [3.0] * 3 + [1.0])
    assert (A @ point <= [side for _, side in rows]).all()
    assert lower.fun == pytest.approx(costs @ point) == pytest.approx(-15.0)
    check(tm.cuts.minimise_concave(model), -15.0)


def test_problem_2_6() -> None:
    c = np.array([48.0, 42, 48, 45, 44, 41, 47, 42, 45, 46])
    A = np.array([
        [-2.0, -6, -1, 0, -3, -3, -2, -6, -2, -2], [6, -5, 8, -3, 0, 1, 3, 8, 9, -3],
        [-5, 6, 5, 3, 8, -8, 9, 2, 0, -9], [9, 5, 0, -9, 1, -8, 3, -9, -9, -3],
        [-8, 7, -4, -5, -9, 1, -7, -1, 3, -2],
    ])  # fmt: skip
    b = np.array([-4.0, 22, -6, -23, -12])
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(10), bounds=(0, 1))
    model.row = pyo.Constraint(
        range(5), rule=lambda m, i: sum(float(A[i, j]) * m.x[j] for j in range(10)) <= b[i]
    )
    model.goal = pyo.Objective(
        expr=sum(float(c[j]) * model.x[j] - 50 * model.x[j] ** 2 for j in range(10))
    )
    rows, sides = boxed(A, b, np.ones(10))
    vertices = corners(rows, sides, centre(rows, sides))
    assert (vertices @ c - 50 * (vertices**2).sum(axis=1)).min() == pytest.approx(-39.0)
    check(tm.cuts.minimise_concave(model), -39.0)


def test_the_vertices_of_a_cube_as_an_integer_program() -> None:
    """max-cut of a cycle of five, whose best cut has four edges, by a convex maximisation."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(5), bounds=(-1, 1))
    edges = [(j, (j + 1) % 5) for j in range(5)]
    model.goal = pyo.Objective(
        expr=sum((model.x[i] - model.x[j]) ** 2 for i, j in edges) / 4, sense=pyo.maximize
    )
    best = max(sum(x[i] != x[j] for i, j in edges) for x in product((0, 1), repeat=5))
    result = tm.cuts.minimise_concave(model)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert best == 4
    assert result.objective == pytest.approx(best, rel=2e-6)
