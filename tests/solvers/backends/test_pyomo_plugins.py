"""pyo.SolverFactory("clarabel") on models that know nothing of this project."""

from __future__ import annotations

import clarabel
import pyomo.environ as pyo
import pytest
from pyomo.contrib.solver.common.factory import SolverFactory
from pyomo.contrib.solver.common.results import SolutionStatus, TerminationCondition
from pyomo.contrib.solver.common.util import NoFeasibleSolutionError, NoOptimalSolutionError

import tightmargin.solvers  # noqa: F401  (registers the solver)
from tests.cases import CONVEX
from tests.conformance.problems import PROBLEMS
from tightmargin.solvers import ProblemClassError

BY_NAME = {problem.name: problem for problem in PROBLEMS}
SOLVABLE = [
    p.name
    for p in PROBLEMS
    if p.solvable and p.problem_class in CONVEX and p.name != "lp_without_objective"
]


@pytest.mark.parametrize("name", SOLVABLE)
def test_both_interfaces_report_optimum_bound_and_multipliers(name: str) -> None:
    problem = BY_NAME[name]
    m = problem.build()
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    assert pyo.SolverFactory("clarabel").available()
    old = pyo.SolverFactory("clarabel").solve(m)
    assert old.solver.status == pyo.SolverStatus.ok
    assert old.solver.termination_condition == pyo.TerminationCondition.optimal
    for row, multiplier in problem.duals.items():
        assert m.dual[m.find_component(row)] == pytest.approx(multiplier, abs=1e-4), row
    m = problem.build()
    new = SolverFactory("clarabel").solve(m)
    assert new.termination_condition == TerminationCondition.convergenceCriteriaSatisfied
    assert new.solution_status == SolutionStatus.optimal
    values = [old.problem.lower_bound, old.problem.upper_bound, new.incumbent_objective]
    for goal in m.component_data_objects(pyo.Objective, active=True):
        values.append(pyo.value(goal))
    for value in (*values, new.objective_bound):
        assert value == pytest.approx(problem.answer, abs=1e-6)
    assert new.solver_name == "clarabel"
    assert ".".join(map(str, new.solver_version)) == clarabel.__version__
    assert new.solution_loader.get_number_of_solutions() == 1
    free = [v for v in m.component_data_objects(pyo.Var) if not v.fixed]
    for first in free[:1]:
        assert new.solution_loader.get_vars([first])[first] == first.value


# --- multipliers ---------------------------------------------------------------------------------


def test_dual_signs_are_those_of_pyomos_highs() -> None:
    """Reduced costs too; the diet of textbooks as a maximum, beside something worth a half."""
    duals = []
    for solver in ("clarabel", "highs"):
        m = pyo.ConcreteModel()
        m.x, m.y = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(0, None))
        m.extra = pyo.Var(bounds=(0, 1))
        m.first = pyo.Constraint(expr=m.x + m.y >= 4)
        m.second = pyo.Constraint(expr=m.x + 3 * m.y >= 6)
        cost = 2 * m.x + 3 * m.y + 0.5 * m.extra
        m.goal = pyo.Objective(expr=-cost, sense=pyo.maximize)
        m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
        m.rc = pyo.Suffix(direction=pyo.Suffix.IMPORT)
        pyo.SolverFactory(solver).solve(m)
        rows = {row.name: m.dual[row] for row in m.component_data_objects(pyo.Constraint)}
        duals.append(rows | {"rc": m.rc[m.extra]})
    assert duals[0] == {name: pytest.approx(value, abs=1e-6) for name, value in duals[1].items()}
    assert abs(duals[0]["rc"]) == pytest.approx(0.5, abs=1e-6)


# --- no optimum ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "condition", "legacy"),
    [
        ("socp_disc_and_line_apart", "provenInfeasible", "infeasible"),
        ("sdp_below_its_trace", "provenInfeasible", "infeasible"),
        # A ray of the dual: Clarabel does not say whether there is a point.
        ("lp_called_infeasible", "infeasibleOrUnbounded", "infeasibleOrUnbounded"),
    ],
)
def test_models_without_optimum_are_named_and_load_nothing(
    name: str, condition: str, legacy: str
) -> None:
    solver, build = SolverFactory("clarabel"), BY_NAME[name].build
    m = build()
    results = solver.solve(m, load_solutions=False, raise_exception_on_nonoptimal_result=False)
    assert results.termination_condition.name == condition
    assert results.solution_status == SolutionStatus.noSolution
    assert results.incumbent_objective is None
    assert results.solution_loader.get_number_of_solutions() == 0
    assert all(v.value is None for v in m.component_data_objects(pyo.Var))
    with pytest.raises(NoFeasibleSolutionError):
        results.solution_loader.get_vars()
    with pytest.raises(NoOptimalSolutionError, match="clarabel: "):
        solver.solve(build())
    with pytest.raises(NoFeasibleSolutionError):
        solver.solve(build(), raise_exception_on_nonoptimal_result=False)
    old = pyo.SolverFactory("clarabel").solve(build(), load_solutions=False)
    assert old.solver.termination_condition == legacy


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["milp_equation", "miqp_nearest", "lrcp_corners", "nonconvex_circle"]
)
def test_models_of_other_classes_are_refused(name: str) -> None:
    kind = BY_NAME[name].problem_class
    for factory in (pyo.SolverFactory, SolverFactory):
        with pytest.raises(ProblemClassError, match=f"clarabel cannot take (this )?{kind} model"):
            factory("clarabel").solve(BY_NAME[name].build())
