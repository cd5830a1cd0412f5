"""Limits of time, nodes and iterations: the incumbent and a bound are kept, nothing is optimal."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import (
    SHORTEST,
    SOLVERS,
    Limits,
    attempts,
    choose,
    clarabel,
    classify,
    deadline,
    ends_within,
    highs,
    is_over,
    limit_left,
    primal_residual,
    scip,
    seconds_left,
    standard_form,
    supervised,
    uninterrupted,
    within_deadline,
    within_limit,
)  # fmt: skip
from tests.references import reference_solutions
from tests.references.reference_solutions import points
from tests.solvers.backends.test_translations import installed
from tests.support.long_runs import claim_of, data, lp, milp
from tests.support.semidefinite_models import max_cut
from tightmargin.formulations import ProblemClass
from tightmargin.solvers import Claim, SolverInfo, Status


def after(solver: str, model: pyo.ConcreteModel, limits: Limits) -> tuple[Claim, float, Any]:
    """Claim, objective at its point (NaN without one), and the standard form."""
    installed(solver)
    claim, form = claim_of(solver, model, limits)
    if claim.x is None:
        return claim, np.nan, form
    return claim, form.objective.at(claim.x), form


@pytest.mark.parametrize("solver", ["highs", "scip", "gurobi"])
def test_without_the_time_for_a_point_there_is_none(solver: str) -> None:
    """A subset sum of forty large numbers: no heuristic has a point in a millisecond."""
    m = pyo.ConcreteModel()
    m.z = pyo.Var(range(40), within=pyo.Binary)
    weights = np.random.default_rng(0).integers(10**6, 10**7, 40) * 2.0
    m.row = pyo.Constraint(expr=pyo.quicksum(weights[k] * m.z[k] for k in m.z) == weights.sum() / 2)
    m.objective = pyo.Objective(expr=m.z[0])
    claim, _, _ = after(solver, m, Limits(1e-3))
    assert claim.status is Status.LIMIT_NO_SOLUTION
    assert claim.x is None
    assert claim.bound is None or claim.bound <= 1


@pytest.mark.parametrize(
    ("solver", "build"),
    [
        ("highs", milp),
        ("highs", lambda: lp(400, 10)),
        ("scip", lambda: tm.zero_one_big_m(data(60, 5), penalty=1.0, big_m=60.0)),
        ("clarabel", lambda: tm.conic_sdp(data(30, 10), penalty=1.0)),
    ],
)
def test_a_millisecond_ends_in_no_error(
    solver: str, build: Callable[[], pyo.ConcreteModel]
) -> None:
    claim, objective, form = after(solver, build(), Limits(1e-3))
    assert claim.status in (Status.FEASIBLE, Status.LIMIT_NO_SOLUTION, Status.INACCURATE)
    if claim.status is Status.FEASIBLE:
        assert claim.x is not None
        assert primal_residual(form, claim.x)[0] <= 1e-6
        assert claim.bound is None or claim.bound <= objective


# --- SCS in parts ---------------------------------------------------------------------------------


def test_the_iterations_of_all_parts_of_scs_stay_within_the_limit() -> None:
    limits = Limits(options={"max_iters": 1200, "eps_abs": 0.0, "eps_rel": 0.0})
    claim, _, _ = after("scs", tm.c_svc(data(20, 3), C=1.0), limits)
    assert claim.message.startswith("solved (inaccurate - reached max_iters) after 1200 iterations")


def test_the_clock_of_scs_runs_through_all_parts() -> None:
    limits = Limits(0.1, options={"eps_abs": 0.0, "eps_rel": 0.0, "max_iters": 10**8})
    claim, _, _ = after("scs", tm.c_svc(data(20, 3), C=1.0), limits)
    assert claim.status is Status.INACCURATE
    assert claim.message.startswith("solved (inaccurate - reached time_limit_secs)")


# --- bounds that solvers read as infinite, and HiGHS' quadratic code ------------------------------


def test_a_qp_that_highs_leaves_without_a_status_is_solved() -> None:
    rng = np.random.default_rng(51)
    given = tm.TrainingData(rng.standard_normal((9, 2)), rng.choice([-1, 1], 9))
    model = tm.zero_one_relaxed(given, penalty=1.3, big_m=25.0, intercept="penalised")
    expected = reference_solutions.relaxation(given, "penalised", 1.3, np.full(9, 25.0)).value
    assert tm.solve(model, "highs").objective == pytest.approx(expected, abs=1e-5)


def test_a_qp_called_unbounded_against_its_bounds_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        highs, "_run", lambda *_, **__: Claim(Status.UNBOUNDED, message="Unbounded")
    )
    form = standard_form(tm.c_svc(points("overlapping", 1, n=8), C=0.7))
    claim = highs.run(form, classify(form), Limits())
    assert claim.status is Status.ERROR
    assert "try clarabel" in claim.message


def test_an_unbounded_qp_stays_unbounded() -> None:
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    m.objective = pyo.Objective(expr=m.x**2 - m.y)
    form = standard_form(m)
    assert highs.run(form, classify(form), Limits()).status is Status.UNBOUNDED
    assert scip.run(form, Limits()).status in (Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)


# --- on a clock that the tests move --------------------------------------------------------------


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Seconds that pass when the test says so."""
    found = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(deadline.time, "perf_counter", lambda: found.now)
    return found


@pytest.mark.parametrize(("limit", "grace"), [(1.0, 1.0), (10.0, 1.0), (40.0, 4.0)])
def test_a_proof_gets_a_second_or_a_tenth_more(limit: float, grace: float, clock: Any) -> None:
    with ends_within(limit) as ends:
        assert (limit_left(), seconds_left()) == (limit, limit + grace)
        clock.now += limit + grace - 0.25
        assert (limit_left(), seconds_left()) == (0.0, 0.25)
        assert not is_over()
        assert within_deadline(Limits(limit)).time_limit == 0.25
        assert within_deadline(Limits()).time_limit == 0.25
        assert within_limit(Limits(limit)).time_limit == SHORTEST
        assert ends.words == ""
        clock.now += 0.25
        assert is_over()
    assert limit_left() is None
    assert within_limit(Limits(limit)) == Limits(limit)


def test_of_two_deadlines_the_earlier_counts_and_names_travel_outwards(clock: Any) -> None:
    with ends_within(10.0) as outer:
        clock.now += 4.0
        with ends_within(20.0) as inner:
            assert (limit_left(), seconds_left()) == (6.0, 7.0)
            with uninterrupted("one"):
                clock.now += 2.0
            for name in ("two", "three"):  # the first of them passes the end
                with uninterrupted(name):
                    clock.now += 8.0
        assert inner.passed == ["two"]
        assert outer.words == "the time limit was passed by 12.0 s: two cannot be stopped"


def test_a_solver_that_cannot_be_interrupted_is_named_and_none_is_asked_after_it(
    clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ignores its limit: half a minute passes in one call."""

    def run(form: Any, classification: Any, limits: Limits) -> Claim:
        def work() -> None:
            clock.now += 30.0

        supervised(work, name="sleepy")
        return Claim(Status.OPTIMAL, x=np.zeros(form.n), bound=0.0)

    def refuse(*args: Any, **words: Any) -> Any:
        raise AssertionError("a solver was asked after the end")

    kinds, sleepy = frozenset({ProblemClass.SDP}), "sleepy"
    info = SolverInfo("sleepy", "numpy", "numpy", kinds, (0.0, np.inf), "BSD", 1e-6, "a test's")
    monkeypatch.setitem(SOLVERS, sleepy, info)
    monkeypatch.setitem(attempts._REGISTERED, sleepy, run)
    late = tm.solve(max_cut(3, 0), sleepy, time_limit=5.0)
    said = "the time limit was passed by 25.0 s: sleepy cannot be stopped"
    assert said in late.message
    assert late.time_limit == 5.0
    assert "passed" not in tm.solve(max_cut(3, 0), sleepy, time_limit=40.0).message
    monkeypatch.setattr(clarabel, "run_conic", refuse)
    result = tm.solve(max_cut(4, 1), sleepy, time_limit=5.0)
    assert result.objective is None  # y = 0 is no point, and no other was looked for


def test_the_kind_of_a_dense_matrix_decides_who_takes_it() -> None:
    """Of order 130 Clarabel would fill gigabytes, but where a pattern lets it split the matrix."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 130))
    dense = tm.conic_sdp(tm.TrainingData(X, np.array([1.0, 1.0, -1.0, -1.0])), penalty=1.0)
    for model, taken in ((dense, "scs"), (max_cut(130, 0), "clarabel")):
        form = standard_form(model)
        assert choose("auto", classify(form).problem_class, form).info.name == taken
