"""Linear programs with one reverse convex row, against all vertices and edges."""

from __future__ import annotations

import math

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.references.concave_truth import least_lrcp, vertices
from tests.support.concave_models import lrcp_model, random_polytope, semidefinite
from tightmargin.solvers import Status, Verdict


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_random_programs_against_all_edges(n: int, seed: int) -> None:
    rng = np.random.default_rng([n, seed])
    polytope = random_polytope(rng, n, 8)
    Q = np.eye(n) if seed % 2 else semidefinite(rng, n, max(1, n - 1))
    line = np.zeros(n) if seed % 2 else rng.normal(size=n)
    c = rng.normal(size=n)
    most = max(float(x @ Q @ x + line @ x) for x in vertices(*polytope.rows))
    side = 0.7 * most
    truth = least_lrcp(*polytope.rows, c, Q, line, side)
    result = tm.cuts.solve_lrcp(lrcp_model(polytope, c, Q, line, side))
    certificate = result.certificate
    assert certificate.verdict is Verdict.CERTIFIED, certificate.reason
    assert certificate.bound <= truth + 1e-9 * abs(truth)
    assert certificate.upper >= truth - 1e-9 * abs(truth)
    x = result.values["x"]
    assert x @ Q @ x + line @ x >= side * (1 - 1e-12)


def test_an_optimum_at_a_root_has_an_interval_around_it() -> None:
    """min x with x^2 >= 2 and x >= 0: the root of 2 is no rational number."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 5))
    model.far = pyo.Constraint(expr=model.x**2 >= 2)
    model.goal = pyo.Objective(expr=model.x)
    certificate = tm.cuts.solve_lrcp(model).certificate
    assert certificate.verdict is Verdict.CERTIFIED
    assert certificate.bound < math.sqrt(2) < certificate.upper
    assert certificate.upper - certificate.bound < 2e-6


def test_nothing_is_as_far_out_as_that() -> None:
    rng = np.random.default_rng(1)
    polytope = random_polytope(rng, 3, 8)
    most = max(float(x @ x) for x in vertices(*polytope.rows))
    model = lrcp_model(polytope, np.ones(3), np.eye(3), np.zeros(3), 1.001 * most)
    result = tm.cuts.solve_lrcp(model)
    assert (result.status, result.certificate.verdict) == (Status.INFEASIBLE, Verdict.CERTIFIED)
    model = lrcp_model(polytope, np.ones(3), np.eye(3), np.zeros(3), 0.999 * most)
    assert tm.cuts.solve_lrcp(model).certificate.verdict is Verdict.CERTIFIED


def test_a_row_with_its_side_above_is_the_same() -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), bounds=(-1, 2))
    model.far = pyo.Constraint(expr=3 - model.x[0] ** 2 - model.x[1] ** 2 <= 2)
    model.goal = pyo.Objective(expr=model.x[0] + 2 * model.x[1])
    result = tm.cuts.solve_lrcp(model)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.objective == pytest.approx(-3, rel=1e-6)


def test_other_programs_are_refused() -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), bounds=(0, 1))
    model.goal = pyo.Objective(expr=-(model.x[0] ** 2))
    with pytest.raises(ValueError, match="0 reverse convex rows"):
        tm.cuts.solve_lrcp(model)
    model.far = pyo.Constraint(expr=model.x[0] ** 2 + model.x[1] ** 2 >= 1)
    with pytest.raises(ValueError, match="a quadratic objective"):
        tm.cuts.solve_lrcp(model)


@pytest.mark.parametrize("method", ["branch-and-cut", "cutting-plane"])
def test_an_unbounded_polytope_is_not_said_to_have_no_optimum(method: str) -> None:
    """min x + y outside of the unit circle, x and y at least 0: the least is 1."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), bounds=(0, None))
    model.far = pyo.Constraint(expr=model.x[0] ** 2 + model.x[1] ** 2 >= 1)
    model.goal = pyo.Objective(expr=model.x[0] + model.x[1])
    result = tm.cuts.solve_lrcp(model, method=method)
    assert result.status not in (
        Status.INFEASIBLE, Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED
    )  # fmt: skip
    assert result.certificate.bound is None or result.certificate.bound <= 1
