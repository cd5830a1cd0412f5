"""pyo.SolverFactory("clarabel") on models that know nothing of this project."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.common.errors import ApplicationError
from pyomo.contrib.solver.common.factory import SolverFactory
from pyomo.contrib.solver.common.results import SolutionStatus, TerminationCondition
from pyomo.contrib.solver.common.util import NoFeasibleSolutionError, NoOptimalSolutionError

import tightmargin.solvers  # noqa: F401  (registers the solver)
from tightmargin.formulations import psd
from tightmargin.solvers import NumberError, ProblemClassError

Model = pyo.ConcreteModel


def lp() -> Model:
    """The diet of textbooks: min 2 x + 3 y, x + y >= 4, x + 3 y >= 6; 9 at (3, 1)."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(0, None))
    m.first = pyo.Constraint(expr=m.x + m.y >= 4)
    m.second = pyo.Constraint(expr=m.x + 3 * m.y >= 6)
    m.goal = pyo.Objective(expr=2 * m.x + 3 * m.y)
    return m


def lp_max() -> Model:
    """Max 3 x + 5 y, x <= 4, 2 y <= 12, 3 x + 2 y <= 18; 36 at (2, 6)."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(0, None))
    m.one = pyo.Constraint(expr=m.x <= 4)
    m.two = pyo.Constraint(expr=2 * m.y <= 12)
    m.three = pyo.Constraint(expr=3 * m.x + 2 * m.y <= 18)
    m.goal = pyo.Objective(expr=3 * m.x + 5 * m.y, sense=pyo.maximize)
    return m


def qp() -> Model:
    """Nearest point of the line x + 2 y = 5 to the origin: (1, 2), squared distance 5."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    m.line = pyo.Constraint(expr=m.x + 2 * m.y == 5)
    m.goal = pyo.Objective(expr=m.x**2 + m.y**2 + 7)
    return m


def qp_max() -> Model:
    """Max 6 x - x^2 with x <= 2: 8."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var()
    m.cap = pyo.Constraint(expr=m.x <= 2)
    m.goal = pyo.Objective(expr=6 * m.x - m.x**2, sense=pyo.maximize)
    return m


def ball() -> Model:
    """Max x + y in the disc of radius 2: 2 sqrt 2."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    m.disc = pyo.Constraint(expr=m.x**2 + m.y**2 <= 4)
    m.goal = pyo.Objective(expr=m.x + m.y, sense=pyo.maximize)
    return m


def norm_cone() -> Model:
    """Distance of (3, 4) from the origin, as the least t above a norm."""
    m = pyo.ConcreteModel()
    m.t = pyo.Var(bounds=(0, None))
    m.x, m.y = pyo.Var(), pyo.Var()
    m.at = pyo.Constraint(expr=m.x == 3)
    m.here = pyo.Constraint(expr=m.y == 4)
    m.cone = pyo.Constraint(expr=m.x**2 + m.y**2 <= m.t**2)
    m.goal = pyo.Objective(expr=m.t)
    return m


def rotated_cone() -> Model:
    """Min u + v with x^2 <= u v at x = 3: u = v = 3."""
    m = pyo.ConcreteModel()
    m.u, m.v = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(0, None))
    m.x = pyo.Var()
    m.at = pyo.Constraint(expr=m.x == 3)
    m.cone = pyo.Constraint(expr=m.x**2 <= m.u * m.v)
    m.goal = pyo.Objective(expr=m.u + m.v)
    return m


def largest_eigenvalue() -> Model:
    """Min t with t I - A semidefinite: the largest eigenvalue of [[2, 1], [1, 2]] is 3."""
    m = pyo.ConcreteModel()
    m.t = pyo.Var()
    psd(m, "above", [[m.t - 2], [-1.0, m.t - 2]])
    m.goal = pyo.Objective(expr=m.t)
    return m


def theta() -> Model:
    """Max sum of a matrix of trace 1, zero on the edges of the 5-cycle: Lovasz' sqrt 5."""
    m = pyo.ConcreteModel()
    pairs = [(i, j) for i in range(5) for j in range(i + 1)]
    m.X = pyo.Var(pairs)
    psd(m, "matrix", [[m.X[i, j] for j in range(i + 1)] for i in range(5)])
    m.trace = pyo.Constraint(expr=sum(m.X[i, i] for i in range(5)) == 1)
    edges = [(1, 0), (2, 1), (3, 2), (4, 3), (4, 0)]
    m.edge = pyo.Constraint(range(5), rule=lambda m, e: m.X[edges[e]] == 0)
    m.goal = pyo.Objective(
        expr=sum((1 if i == j else 2) * m.X[i, j] for i, j in pairs), sense=pyo.maximize
    )
    return m


OPTIMA: dict[str, tuple[Callable[[], Model], float]] = {
    "LP": (lp, 9.0),
    "LP, maximised": (lp_max, 36.0),
    "QP": (qp, 12.0),
    "QP, maximised": (qp_max, 8.0),
    "ball": (ball, 2 * np.sqrt(2)),
    "norm cone": (norm_cone, 5.0),
    "rotated cone": (rotated_cone, 6.0),
    "largest eigenvalue": (largest_eigenvalue, 3.0),
    "theta of the pentagon": (theta, np.sqrt(5)),
}


@pytest.mark.parametrize("name", OPTIMA)
def test_both_interfaces_report_optimum_value_and_bound(name: str) -> None:
    build, expected = OPTIMA[name]
    m = build()
    old = pyo.SolverFactory("clarabel").solve(m)
    assert old.solver.status == pyo.SolverStatus.ok
    assert old.solver.termination_condition == pyo.TerminationCondition.optimal
    assert pyo.value(m.goal) == pytest.approx(expected, abs=1e-6)
    m = build()
    new = SolverFactory("clarabel").solve(m)
    assert new.termination_condition == TerminationCondition.convergenceCriteriaSatisfied
    assert new.solution_status == SolutionStatus.optimal
    for value in (
        old.problem.lower_bound, old.problem.upper_bound, new.incumbent_objective,
        new.objective_bound, pyo.value(m.goal),
    ):  # fmt: skip
        assert value == pytest.approx(expected, abs=1e-6)
    assert new.solver_name == "clarabel"
    assert new.solver_version == SolverFactory("clarabel").version()
    assert new.solution_loader.get_number_of_solutions() == 1
    (first, *_) = m.component_data_objects(pyo.Var)
    assert new.solution_loader.get_vars([first])[first] == first.value
    if build is theta:
        assert m.X[3, 3].value == pytest.approx(0.2, abs=1e-5)
        assert pyo.value(m.matrix.body) >= -1e-7


def test_a_point_is_left_alone_when_asked() -> None:
    m = lp()
    m.x.value = 77.0
    results = SolverFactory("clarabel").solve(m, load_solutions=False)
    assert m.x.value == 77.0
    assert results.incumbent_objective == pytest.approx(9.0, abs=1e-6)
    results.solution_loader.load_vars()
    assert m.x.value == pytest.approx(3.0, abs=1e-6)


# --- multipliers ---------------------------------------------------------------------------------


def moved(build: Callable[[], Model], row: str, step: float) -> float:
    """Optimum after moving both sides of a row, by Pyomo's HiGHS."""
    m = build()
    found = m.find_component(row)
    low, body, high = found.to_bounded_expression(evaluate_bounds=True)
    found.set_value((
        None if low is None else low + step, body, None if high is None else high + step,
    ))  # fmt: skip
    pyo.SolverFactory("highs").solve(m)
    return float(pyo.value(m.goal))


@pytest.mark.parametrize(
    ("build", "rows"),
    [
        (lp, ["first", "second"]), (lp_max, ["one", "two", "three"]), (qp, ["line"]),
        (qp_max, ["cap"]),
    ],
)  # fmt: skip
def test_dual_suffix_is_the_slope_of_the_optimum(
    build: Callable[[], Model], rows: list[str]
) -> None:
    m = build()
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    pyo.SolverFactory("clarabel").solve(m)
    for row in rows:
        slope = (moved(build, row, 1e-3) - moved(build, row, -1e-3)) / 2e-3
        assert m.dual[m.find_component(row)] == pytest.approx(slope, abs=1e-4), row


@pytest.mark.parametrize("build", [lp, lp_max])
def test_dual_signs_are_those_of_pyomos_highs(build: Callable[[], Model]) -> None:
    duals = []
    for solver in ("clarabel", "highs"):
        m = build()
        m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
        m.rc = pyo.Suffix(direction=pyo.Suffix.IMPORT)
        m.extra = pyo.Var(bounds=(0, 1))
        sign = 1 if m.goal.sense == pyo.minimize else -1
        m.goal.expr += sign * 0.5 * m.extra
        pyo.SolverFactory(solver).solve(m)
        rows = {row.name: m.dual[row] for row in m.component_data_objects(pyo.Constraint)}
        duals.append(rows | {"rc": m.rc[m.extra]})
    assert duals[0] == {name: pytest.approx(value, abs=1e-6) for name, value in duals[1].items()}
    assert abs(duals[0]["rc"]) == pytest.approx(0.5, abs=1e-6)


def test_semidefinite_models_give_duals_of_their_linear_rows() -> None:
    """d theta / d trace = theta: the problem is homogeneous."""
    m = theta()
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    pyo.SolverFactory("clarabel").solve(m)
    assert m.dual[m.trace] == pytest.approx(np.sqrt(5), abs=1e-5)


# --- no optimum ----------------------------------------------------------------------------------


def infeasible() -> Model:
    m = lp()
    m.third = pyo.Constraint(expr=m.x + m.y <= 3)
    return m


def unbounded() -> Model:
    m = lp()
    m.goal.sense = pyo.maximize
    return m


def far_cone() -> Model:
    m = ball()
    m.far = pyo.Constraint(expr=m.x >= 2.5)
    return m


def low_eigenvalue() -> Model:
    m = largest_eigenvalue()
    m.low = pyo.Constraint(expr=m.t <= 2.9)
    return m


@pytest.mark.parametrize(
    ("build", "condition", "legacy"),
    [
        (infeasible, "provenInfeasible", "infeasible"),
        (far_cone, "provenInfeasible", "infeasible"),
        (low_eigenvalue, "provenInfeasible", "infeasible"),
        # A ray of the dual: Clarabel does not say whether there is a point.
        (unbounded, "infeasibleOrUnbounded", "infeasibleOrUnbounded"),
    ],
)
def test_models_without_optimum_are_named_and_load_nothing(
    build: Callable[[], Model], condition: str, legacy: str
) -> None:
    solver = SolverFactory("clarabel")
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


def test_a_limit_is_no_optimum() -> None:
    results = SolverFactory("clarabel").solve(
        theta(),
        load_solutions=False,
        raise_exception_on_nonoptimal_result=False,
        solver_options={"max_iter": 2},
    )
    assert results.termination_condition != TerminationCondition.convergenceCriteriaSatisfied
    assert results.solution_status != SolutionStatus.optimal


# --- refusals ------------------------------------------------------------------------------------


def integer(m: Model) -> None:
    m.n = pyo.Var(within=pyo.Binary)
    m.goal.expr += m.n


def concave(m: Model) -> None:
    m.goal.expr -= m.x**2


def reverse(m: Model) -> None:
    m.hole = pyo.Constraint(expr=m.x**2 + m.y**2 >= 1)


def reverse_exponential(m: Model) -> None:
    m.curve = pyo.Constraint(expr=pyo.exp(m.x) >= 2)


@pytest.mark.parametrize("edit", [integer, concave, reverse, reverse_exponential])
def test_models_of_other_classes_are_refused(edit: Callable[[Model], None]) -> None:
    m, kind = lp(), "MILP" if edit is integer else "NONCONVEX"
    edit(m)
    for factory in (pyo.SolverFactory, SolverFactory):
        with pytest.raises(ProblemClassError, match=f"clarabel cannot take (this )?{kind} model"):
            factory("clarabel").solve(m)


def test_bad_numbers_and_options_are_refused() -> None:
    m = lp()
    m.bad = pyo.Constraint(expr=float("nan") * m.x <= 1)
    with pytest.raises(NumberError, match="row bad: coefficient of x is nan"):
        pyo.SolverFactory("clarabel").solve(m)
    with pytest.raises(ValueError, match=r"clarabel has no option 'max_itr'.*max_iter"):
        SolverFactory("clarabel").solve(lp(), solver_options={"max_itr": 5})


def test_it_is_available_and_says_so() -> None:
    assert pyo.SolverFactory("clarabel").available()
    import clarabel

    assert ".".join(map(str, SolverFactory("clarabel").version())) == clarabel.__version__


def test_other_interfaces_refuse_semidefinite_rows() -> None:
    """The row is an ordinary constraint that only we can read: nobody may drop it in silence."""
    for name in ("highs", "appsi_highs", "scip_direct", "gurobi_direct", "gurobi_direct_minlp"):
        try:
            solver = pyo.SolverFactory(name)
            available = bool(solver.available(exception_flag=False))
        except ApplicationError:
            available = False
        if not available:
            continue
        with pytest.raises(Exception, match=r".+"):  # each interface has its own refusal
            solver.solve(largest_eigenvalue())
