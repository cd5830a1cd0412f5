"""PIQP: optima of witnesses, signs of multipliers, tiny numbers, limits and refusals."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import ORDER, QP, SOLVERS
from tests.references import reference_solutions
from tests.references.reference_solutions import INTERCEPTS, points
from tightmargin.solvers import ProblemClassError, Status, Verdict

pytest.importorskip("piqp", reason="piqp is an extra")

DATA = points("overlapping", 1, n=10)
SEPARABLE = points("separable", 1, n=10)
C, RIDGE, NU, PENALTY = 0.7, 0.05, 0.6, 1.3
GRAM = DATA.X @ DATA.X.T
UNIFORM = np.full(DATA.n, 1 / DATA.n)
BIG_M = np.linspace(12.0, 25.0, DATA.n)
PROBLEMS = {
    "hard_margin_svc": (
        lambda mode: tm.hard_margin_svc(SEPARABLE, intercept=mode),
        lambda mode: reference_solutions.hard_margin(SEPARABLE, mode).value,
    ),
    "c_svc": (
        lambda mode: tm.c_svc(DATA, C=C, intercept=mode),
        lambda mode: reference_solutions.hinge(DATA, mode, 0.5, C).value,
    ),
    "c_svc_dual": (
        lambda mode: tm.c_svc_dual(DATA, C=C, intercept=mode),
        lambda mode: -reference_solutions.c_dual(GRAM, DATA.y, np.full(DATA.n, C), mode),
    ),
    "nu_svc": (
        lambda mode: tm.nu_svc(DATA, nu=NU, intercept=mode),
        lambda mode: reference_solutions.nu_machine(DATA, mode, NU, UNIFORM).value,
    ),
    "kernel_soft_margin_svc": (
        lambda mode: tm.kernel_soft_margin_svc(DATA, ridge=RIDGE, intercept=mode),
        lambda mode: reference_solutions.kernel_hinge(GRAM, DATA.y, RIDGE, 1 / DATA.n, mode),
    ),
    "zero_one_relaxed": (
        lambda mode: tm.zero_one_relaxed(DATA, penalty=PENALTY, big_m=BIG_M, intercept=mode),
        lambda mode: reference_solutions.relaxation(DATA, mode, PENALTY, BIG_M).value,
    ),
}


@pytest.mark.parametrize("mode", INTERCEPTS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_optimum_is_that_of_the_witness(name: str, mode: str) -> None:
    build, optimum = PROBLEMS[name]
    expected = optimum(mode)
    result = tm.solve(build(mode), "piqp")
    assert result.objective == pytest.approx(expected, abs=1e-6 * max(1.0, abs(expected)))
    assert result.status is Status.OPTIMAL
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate
    assert result.certificate.dual_residual < 1e-6
    assert result.certificate.solver_bound == pytest.approx(expected, abs=1e-5)


def test_multipliers_are_derivatives_by_the_right_hand_side() -> None:
    """min (x - 3)^2 + (y - 1)^2 + (v + 4)^2, x <= 1, 2 <= y <= 8, z = x + 5, v >= 0."""
    m = pyo.ConcreteModel()
    m.x, m.y, m.z = pyo.Var(), pyo.Var(), pyo.Var()
    m.v = pyo.Var(within=pyo.NonNegativeReals)
    m.top = pyo.Constraint(expr=10 * m.x <= 10)
    m.between = pyo.Constraint(expr=(0.02, 0.01 * m.y, 0.08))
    m.none = pyo.Param(initialize=np.inf, mutable=True)
    m.free = pyo.Constraint(expr=m.x + m.y <= m.none)
    m.tie = pyo.Constraint(expr=m.z - m.x == 5)
    m.objective = pyo.Objective(expr=(m.x - 3) ** 2 + (m.y - 1) ** 2 + (m.v + 4) ** 2 + 0.5 * m.z)
    result = tm.solve(m, "piqp")
    assert result.objective == pytest.approx(4 + 1 + 16 + 3, abs=1e-6)
    # d/dx = -4 + 1/2 through z, over 10; d/dy = 2 over 0.01; z moves with the side of the tie.
    expected = {"top": -0.35, "between": 200.0, "free": 0.0, "tie": 0.5}
    for name, number in expected.items():
        assert float(result.duals[name]) == pytest.approx(number, abs=1e-4), name
    m.objective.sense = pyo.maximize
    m.objective.expr = -m.objective.expr
    result = tm.solve(m, "piqp")
    assert result.objective == pytest.approx(-24, abs=1e-6)
    assert float(result.duals["between"]) == pytest.approx(-200.0, abs=1e-4)


def scaled_qp(row: float, goal: float) -> pyo.ConcreteModel:
    """(x - 1)^2 + (y - 2)^2 with x + y <= 3/2 is 9/8, at (1/4, 5/4); row and goal are scaled."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2))
    m.c = pyo.Constraint(expr=row * m.x[0] + row * m.x[1] <= 1.5 * row)
    m.o = pyo.Objective(expr=goal * ((m.x[0] - 1) ** 2 + (m.x[1] - 2) ** 2))
    return m


@pytest.mark.parametrize("goal", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("row", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_rows_and_objectives_of_any_size_are_kept(row: float, goal: float) -> None:
    result = tm.solve(scaled_qp(row, goal), "piqp")
    assert result.objective == pytest.approx(9 / 8 * goal, rel=1e-6)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert float(result.duals["c"]) == pytest.approx(-1.5 * goal / row, rel=1e-5)


def test_a_model_without_rows_is_solved() -> None:
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var(bounds=(None, 0.25))
    m.o = pyo.Objective(expr=(m.x - 1) ** 2 + (m.x - 2 * m.y) ** 2 + 3)
    result = tm.solve(m, "piqp")
    assert result.objective == pytest.approx(3 + 1 / 8, abs=1e-7)  # x = 3/4
    assert result.certificate.solver_bound == pytest.approx(3 + 1 / 8, abs=1e-6)


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_an_infeasible_model_gets_no_objective(mode: str) -> None:
    """PIQP does not always see it, and stops at its iteration limit; what it sees we prove."""
    assert not reference_solutions.is_separable(DATA, mode)
    result = tm.solve(tm.hard_margin_svc(DATA, intercept=mode), "piqp")
    assert result.status in (Status.INFEASIBLE, Status.INACCURATE, Status.LIMIT_NO_SOLUTION)
    assert result.objective is None
    proven = result.certificate.verdict is Verdict.CERTIFIED
    assert proven == (result.status is Status.INFEASIBLE)


def test_a_run_cut_short_is_not_called_optimal() -> None:
    result = tm.solve(tm.c_svc(DATA, C=C), "piqp", options={"max_iter": 2})
    assert result.status in (Status.INACCURATE, Status.LIMIT_NO_SOLUTION)
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED


def test_what_piqp_cannot_do_is_refused_in_one_sentence() -> None:
    model = tm.c_svc(DATA, C=C)
    with pytest.raises(ValueError, match="cannot be stopped by the clock"):
        tm.solve(model, "piqp", time_limit=5)
    with pytest.raises(ValueError, match="piqp has no option 'max_itr'; did you mean max_iter"):
        tm.solve(model, "piqp", options={"max_itr": 5})
    with pytest.raises(ProblemClassError, match=r"piqp cannot take SOCP models.*clarabel"):
        tm.solve(tm.max_margin_svc(SEPARABLE), "piqp")
    model.objective.expr = sum(model.xi.values())
    with pytest.raises(ProblemClassError, match=r"piqp cannot take LP models.*highs"):
        tm.solve(model, "piqp")


def test_log_is_shown_only_when_asked_for(capfd: pytest.CaptureFixture[str]) -> None:
    tm.solve(scaled_qp(1.0, 1.0), "piqp")
    assert capfd.readouterr().out == ""
    tm.solve(scaled_qp(1.0, 1.0), "piqp", log=True)
    assert "PIQP" in capfd.readouterr().out


def test_auto_prefers_clarabel() -> None:
    assert SOLVERS["piqp"].classes == {QP}
    assert ORDER[QP][0] == "clarabel"
    assert tm.solve(tm.c_svc(DATA, C=C)).solver == "clarabel"
