"""Test problems of the literature, each of whose optima is computed here by other means too."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyomo.environ as pyo
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.spatial import HalfspaceIntersection

import tightmargin as tm
from benchmarks.classical_concave import PROBLEMS, Classical
from tightmargin.solvers import SolveResult, Verdict

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


PROBLEM = {problem.number: problem for problem in PROBLEMS}


def least_of_vertices(problem: Classical, upper: Array, inside: Array | None = None) -> float:
    """The least objective over all corners."""
    A, b = boxed(problem.rows, problem.sides, upper)
    vertices = corners(A, b, centre(A, b) if inside is None else inside)
    return float(min(vertices @ problem.linear - vertices**2 @ problem.squares))


@pytest.mark.parametrize("method", ["branch-and-cut", "cutting-plane", "inner-hull"])
def test_problem_2_1(method: str) -> None:
    problem = PROBLEM["2.1"]
    least = least_of_vertices(problem, problem.upper, np.full(5, 0.1))
    assert least == pytest.approx(problem.optimum)
    result = tm.cuts.minimise_concave(problem.model(), method=method)
    check(result, problem.optimum)
    assert result.values["x"] == pytest.approx([1, 1, 0, 1, 0])


def test_problem_2_2() -> None:
    problem = PROBLEM["2.2"]
    upper = np.where(
        np.isfinite(problem.upper), problem.upper, 30.0
    )  # the second row ends it at 20
    least = least_of_vertices(problem, upper, np.full(6, 0.1))
    assert least == pytest.approx(problem.optimum)
    check(tm.cuts.minimise_concave(problem.model()), problem.optimum)


def test_problem_2_3() -> None:
    """5 x - 5 x^2 >= 0 for x in [0, 1], so that the linear part bounds the objective from below."""
    problem = PROBLEM["2.3"]
    costs = np.where(problem.squares > 0, 0.0, problem.linear)
    bounds = [(0, end) for end in problem.upper.tolist()]
    lower = linprog(costs, A_ub=problem.rows, b_ub=problem.sides, bounds=bounds)
    point = np.array([1.0] * 9 + [3.0] * 3 + [1.0])
    assert (problem.rows @ point <= problem.sides).all()
    assert lower.fun == pytest.approx(costs @ point) == pytest.approx(problem.optimum)
    check(tm.cuts.minimise_concave(problem.model()), problem.optimum)


def test_problem_2_6() -> None:
    problem = PROBLEM["2.6"]
    assert least_of_vertices(problem, problem.upper) == pytest.approx(problem.optimum)
    check(tm.cuts.minimise_concave(problem.model()), problem.optimum)


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
