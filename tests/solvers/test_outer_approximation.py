"""HiGHS on mixed-integer quadratic programs, through tangents; traces of searches that stop."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import Finished, Progress, outer_approximation, trace
from tests.references import reference_solutions
from tests.support.long_runs import with_a_point
from tightmargin.solvers import Status, Verdict

DATA = reference_solutions.points("overlapping", 1, n=10)
WIDE = reference_solutions.points("overlapping", 0, n=40, d=6)
PENALTY = 0.7


@pytest.fixture
def without_our_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """No enumeration: what is left is what HiGHS itself says."""
    monkeypatch.setattr("tightmargin.solvers.certify.certify.closing_bound", lambda *words: None)


@pytest.mark.parametrize("intercept", reference_solutions.INTERCEPTS)
def test_the_0_1_optimum_comes_from_linear_programs(
    intercept: str, without_our_bounds: None
) -> None:
    truth = reference_solutions.zero_one_optimum(DATA, intercept, PENALTY)
    model = tm.zero_one_big_m(DATA, penalty=PENALTY, big_m="derived", intercept=intercept)
    result = tm.solve(model, "highs")
    assert result.objective == pytest.approx(truth, rel=1e-6)
    assert result.solver == "highs"
    assert result.certificate.verdict is Verdict.SOLVER_BOUND
    assert result.certificate.solver_bound == pytest.approx(truth, rel=2e-6)
    assert result.certificate.solver_bound <= truth * (1 + 1e-8)
    assert "linear programs with tangents" in result.message


def foreign() -> pyo.ConcreteModel:
    """(x - 2.3)^2 + 2 (y + 0.4)^2 - x with integer x, y in [-5, 5] and x + y >= 2.5: at (3, 0)."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(within=pyo.Integers, bounds=(-5, 5)), pyo.Var(bounds=(-5, 5))
    m.row = pyo.Constraint(expr=m.x + m.y >= 2.5)
    m.goal = pyo.Objective(expr=(m.x - 2.3) ** 2 + 2 * (m.y + 0.4) ** 2 - m.x)
    return m


def test_without_a_point_it_says_so() -> None:
    m = foreign()
    m.none = pyo.Constraint(expr=m.x + m.y <= 2)
    assert tm.solve(m, "highs").status is Status.INFEASIBLE
    n = pyo.ConcreteModel()
    n.x = pyo.Var(within=pyo.Integers, bounds=(0, 3))
    n.y = pyo.Var(bounds=(-1, 1))
    n.row = pyo.Constraint(expr=4 * n.x == 6 + 1e-3 * n.y)
    n.goal = pyo.Objective(expr=n.y**2 + n.x)
    assert tm.solve(n, "highs").status is Status.INFEASIBLE


@pytest.mark.parametrize("solver", ["scip", "highs"])
def test_a_time_limit_leaves_incumbent_bound_and_trace(
    solver: str, without_our_bounds: None
) -> None:
    model = tm.zero_one_big_m(WIDE, penalty=2.0, big_m="derived")
    result = with_a_point(
        lambda seconds: tm.solve(model, solver, time_limit=seconds, threads=1),
        lambda found: found.objective is not None,
    )
    assert result.status is Status.FEASIBLE
    assert result.certificate.verdict is Verdict.SOLVER_BOUND
    trace = result.certificate.facts["trace"]
    seconds, bounds, values = (list(column) for column in zip(*trace, strict=True))
    assert 2 <= len(trace) <= 200
    known = [value for value in bounds if value is not None]
    assert (seconds, known) == (sorted(seconds), sorted(known))
    assert known[-1] == pytest.approx(result.certificate.solver_bound, rel=1e-9)
    assert values[-1] >= result.objective * (1 - 1e-6), "ours is repaired, and may be better"
    assert all(b is None or v is None or b <= v * (1 + 1e-9) for _, b, v in trace)


def test_ctrl_c_keeps_incumbent_and_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = outer_approximation.supervised

    def pressed(*words: Any, **more: Any) -> Finished[Any]:
        return Finished(honest(*words, **more).value, interrupted=True)

    monkeypatch.setattr(outer_approximation, "supervised", pressed)
    monkeypatch.setattr(outer_approximation, "GAP", 0.0)
    result = tm.solve(foreign(), "highs")
    assert result.status in (Status.INTERRUPTED, Status.OPTIMAL)
    assert "interrupted" in result.message
    assert result.objective == pytest.approx(0.49 - 3, abs=1e-6)
    assert result.certificate.solver_bound is not None


def test_a_trace_stays_short_and_ends_in_the_last_state() -> None:
    found = Progress()
    assert found.last() == (None, None)
    for k in range(1000):
        found.add(float(k), 2000.0)
    assert len(found.rows) <= trace.MOST_ROWS
    assert found.rows[-1][1:] == (999.0, 2000.0)
    found.add(float("-inf"), 1e20)
    assert found.rows[-1][1:] == (None, None)
