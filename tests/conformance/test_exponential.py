"""Models with exp and log by every solver that takes them: closed forms, and rewritten models."""

from __future__ import annotations

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.conformance.exclusions import ASKED
from tests.conformance.exponential_problems import INFEASIBLE, OPTIMA, UNBOUNDED
from tests.inside.solvers import SOLVERS
from tests.support.covering import covering
from tightmargin.formulations import ProblemClass
from tightmargin.solvers import SolveResult, Status, Verdict

TAKE_IT = [
    name for name in ASKED
    if ProblemClass.EXP in SOLVERS[name].classes and SOLVERS[name].installed
]  # fmt: skip


def goal_of(model: pyo.ConcreteModel) -> pyo.Objective:
    (goal,) = model.component_data_objects(pyo.Objective, active=True)
    return goal


def solved(model: pyo.ConcreteModel, solver: str) -> SolveResult:
    return tm.solve(model, solver, time_limit=20)


@pytest.mark.parametrize(("solver", "name", "factor"), covering(TAKE_IT, OPTIMA, [1.0, 3.0]))
def test_an_optimum_is_found_and_lies_in_the_proven_interval(
    solver: str, name: str, factor: float
) -> None:
    build, minimum = OPTIMA[name]
    model = build()
    goal = goal_of(model)
    sense = 1 if goal.sense == pyo.minimize else -1
    goal.expr = factor * goal.expr + (factor - 1)
    optimum = factor * sense * minimum + (factor - 1)
    found = solved(model, solver)
    assert found.problem_class == "EXP"
    assert found.objective == pytest.approx(optimum, rel=1e-4, abs=1e-4)
    rounding = 1e-14
    if found.bound is not None:
        assert sense * found.bound <= sense * optimum + rounding
    if found.certificate.upper is not None:
        assert sense * found.certificate.upper >= sense * optimum - rounding
    if solver == "clarabel":
        assert found.certificate.verdict is Verdict.CERTIFIED
        assert found.objective == pytest.approx(optimum, rel=2e-6, abs=2e-6)


@pytest.mark.parametrize("name", INFEASIBLE)
@pytest.mark.parametrize("solver", TAKE_IT)
def test_no_point_is_found_where_there_is_none(solver: str, name: str) -> None:
    found = solved(INFEASIBLE[name](), solver)
    assert found.objective is None
    assert found.status is Status.INFEASIBLE
    assert found.certificate.verdict is Verdict.CERTIFIED


# SCIP 10.0 does not come back from it, whatever its time limit.
ENDLESS = {("scip", "log")}


@pytest.mark.parametrize(
    ("solver", "name"), [(s, n) for s in TAKE_IT for n in UNBOUNDED if (s, n) not in ENDLESS]
)
def test_no_least_value_is_claimed_where_there_is_none(solver: str, name: str) -> None:
    found = solved(UNBOUNDED[name](), solver)
    assert found.bound is None
    if solver == "clarabel":
        assert found.status is Status.UNBOUNDED
        assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.certificate.verdict is not Verdict.CERTIFIED or found.status is Status.UNBOUNDED
