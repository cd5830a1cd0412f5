"""HiGHS on mixed-integer quadratic programs, through tangents; traces of searches that stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import FACTS, Finished, Progress, in_sense, outer_approximation
from tests.inside.solvers import trace as progress_module
from tests.references import reference_solutions
from tests.support.long_runs import with_a_point
from tightmargin.solvers import SolveResult, Status, Verdict

DATA = reference_solutions.points("overlapping", 1, n=10)
WIDE = reference_solutions.points("overlapping", 0, n=40, d=6)
PENALTY, C = 0.7, 0.4


@pytest.fixture
def without_our_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """No enumeration: what is left is what HiGHS itself says."""
    monkeypatch.setattr(
        "tightmargin.solvers.certificates.certify_point.closing_bound", lambda *words: None
    )


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


def test_the_ramp_optimum_too(without_our_bounds: None) -> None:
    data = reference_solutions.points("overlapping", 2, n=7)
    truth = reference_solutions.ramp_optimum(data, "free", C)
    result = tm.solve(tm.ramp_big_m(data, C=C, big_m="derived"), "highs")
    assert result.objective == pytest.approx(truth, rel=1e-6)
    assert result.certificate.solver_bound == pytest.approx(truth, rel=2e-6)


def foreign(sense: int = pyo.minimize) -> pyo.ConcreteModel:
    """(x - 2.3)^2 + 2 (y + 0.4)^2 - x with integer x, y in [-5, 5] and x + y >= 2.5: at (3, 0)."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(within=pyo.Integers, bounds=(-5, 5)), pyo.Var(bounds=(-5, 5))
    m.row = pyo.Constraint(expr=m.x + m.y >= 2.5)
    sign = 1 if sense == pyo.minimize else -1
    cost = (m.x - 2.3) ** 2 + 2 * (m.y + 0.4) ** 2 - m.x
    m.goal = pyo.Objective(expr=sign * cost, sense=sense)
    return m


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_a_foreign_model_with_integers_of_its_own(sense: int) -> None:
    """By hand: for x = 3, y = -0.4 gives 0.49 - 3; x = 2 or 4 and their best y cost more."""
    result = tm.solve(foreign(sense), "highs")
    sign = 1 if sense == pyo.minimize else -1
    assert result.objective == pytest.approx(sign * (0.49 - 3), abs=1e-6)
    assert result.certificate.solver_bound == pytest.approx(sign * (0.49 - 3), abs=1e-5)
    assert float(result.values["x"]) == 3.0
    if sense == pyo.minimize:  # a search that has finished keeps its trace
        seconds, bound, incumbent = tm.solve(foreign(), "scip").certificate.facts["trace"][-1]
        assert seconds > 0
        assert (bound, incumbent) == pytest.approx((0.49 - 3, 0.49 - 3), abs=1e-5)


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


def test_no_tangent_is_above_its_square(monkeypatch: pytest.MonkeyPatch) -> None:
    """What HiGHS gets holds at every (x, x^2), and touches it somewhere."""
    import highspy

    honest, rows = highspy.Highs.addRow, []

    def spied(self: Any, low: float, high: float, count: int, index: Any, numbers: Any) -> Any:
        rows.append((low, high, count, *numbers))
        return honest(self, low, high, count, index, numbers)

    monkeypatch.setattr(highspy.Highs, "addRow", spied)
    tm.solve(foreign(), "highs")
    assert len(rows) >= 2 * (outer_approximation.FIRST_TANGENTS - 1)
    x = np.linspace(-6, 6, 2401)
    for low, high, count, slope, one in rows:
        assert (count, one, high) == (2, 1.0, np.inf)
        slack = slope * x + x**2 - low
        assert slack.min() >= -1e-9
        touch = -slope / 2
        assert slope * touch + touch**2 == pytest.approx(low, abs=1e-9)


# --- searches that stop ---------------------------------------------------------------------------


def stopped(solver: str, limit: float) -> SolveResult:
    model = tm.zero_one_big_m(WIDE, penalty=2.0, big_m="derived")
    return tm.solve(model, solver, time_limit=limit, threads=1)


@pytest.mark.parametrize("solver", ["scip", "highs"])
def test_a_time_limit_leaves_incumbent_bound_and_trace(
    solver: str, tmp_path: Path, without_our_bounds: None
) -> None:
    result = with_a_point(
        lambda seconds: stopped(solver, seconds), lambda found: found.objective is not None
    )
    assert result.status is Status.FEASIBLE
    assert result.certificate.verdict is Verdict.SOLVER_BOUND
    trace = result.certificate.facts["trace"]
    assert "trace" in FACTS
    seconds, bounds, values = (list(column) for column in zip(*trace, strict=True))
    assert 2 <= len(trace) <= 200
    assert seconds == sorted(seconds)
    assert seconds[-1] <= 60, "a busy machine is late, and the search would take hours"
    known = [value for value in bounds if value is not None]
    assert known == sorted(known)
    assert known[-1] == pytest.approx(result.certificate.solver_bound, rel=1e-9)
    assert result.objective is not None
    assert values[-1] >= result.objective * (1 - 1e-6), "ours is repaired, and may be better"
    assert all(b is None or v is None or b <= v * (1 + 1e-9) for _, b, v in trace)
    file = tmp_path / "stopped.json"
    result.save(file)
    assert SolveResult.load(file).certificate.facts["trace"] == trace


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
    found.add(None, None)
    for k in range(1000):
        found.add(float(k), 2000.0)
        found.add(float(k), 2000.0)
    assert len(found.rows) <= progress_module.MOST_ROWS
    assert found.rows[-1][1:] == (999.0, 2000.0)
    steps = np.diff([row[1] for row in found.rows])
    assert (steps > 0).all()
    assert in_sense(found.rows[-1:], -1)[0][1:] == [-999.0, -2000.0]
    found.add(float("-inf"), 1e20)
    assert found.rows[-1][1:] == (None, None)
