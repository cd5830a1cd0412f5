"""Models whose variables are all fixed: a constant with a proof, or no point with one."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tightmargin.solvers import Status, Verdict

DATA = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
SOLVERS = ("auto", "highs", "clarabel", "scip")


def empty(m: Any) -> float:
    m.cost = pyo.Objective(expr=3.0)
    return 3.0


def no_rows(m: Any) -> float:
    m.x = pyo.Var(bounds=(-1, 2))
    m.cost = pyo.Objective(expr=m.x + 2)
    return 1.0


def one_fixed(m: Any) -> float:
    m.x = pyo.Var(bounds=(0, 1))
    m.x.fix(0.5)
    m.row = pyo.Constraint(expr=m.x >= 0.25)
    m.gain = pyo.Objective(expr=m.x**2 - 7, sense=pyo.maximize)
    return -6.75


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_constant_is_proven(solver: str) -> None:
    for write in (empty, no_rows, one_fixed):
        model = pyo.ConcreteModel()
        value = write(model)
        found = tm.solve(model, solver)
        assert found.objective == pytest.approx(value, rel=1e-6)
        assert found.certificate.verdict is Verdict.CERTIFIED
        assert found.interval == pytest.approx((value, value), rel=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_fixed_row_that_does_not_hold_leaves_no_point(solver: str) -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var()
    model.x.fix(0.5)
    model.row = pyo.Constraint(expr=model.x >= 1)
    model.cost = pyo.Objective(expr=model.x)
    found = tm.solve(model, solver)
    assert (found.status, found.certificate.verdict) == (Status.INFEASIBLE, Verdict.CERTIFIED)
    assert "row row does not hold" in found.message


@pytest.mark.parametrize(("shift", "holds"), [(0.1, True), (-0.1, False)])
def test_a_fixed_matrix_is_semidefinite_or_not(shift: float, holds: bool) -> None:
    model = tm.conic_sdp(DATA, penalty=1.0)
    tm.solve(model)
    for variable in model.component_data_objects(pyo.Var):
        variable.fix(variable.value)
    for row in model.component_data_objects(pyo.Constraint, active=True):
        if row.name != "outer":
            row.deactivate()
    point = [model.w[0].value, model.w[1].value, model.b.value]
    for i, j in model.W:
        model.W[i, j].fix(point[i] * point[j] + (shift if i == j else 0))
    found = tm.solve(model)
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert (found.objective is not None) == holds
    assert (found.status is Status.INFEASIBLE) != holds
