"""Ways to solve one model: the dual form first where it is smaller, the model itself behind it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.formulations import AffineRows
from tests.inside.solvers import (
    Limits,
    attempts,
    clarabel,
    classify,
    deadline,
    highs,
    standard_form,
)
from tests.references.reference_solutions import points
from tightmargin.solvers import Claim, LiveLP, Status, Verdict

LARGE = points("overlapping", 2, n=1500)


def linear_model() -> pyo.ConcreteModel:
    return tm.extended_nu_svc_linearised(LARGE, nu=0.02, w_ref="mean_difference")


def quadratic_model() -> pyo.ConcreteModel:
    return tm.c_svc(LARGE, C=1.0)


@pytest.mark.parametrize("build", [linear_model, quadratic_model])
def test_auto_goes_through_the_dual_form_and_says_so(build: Any) -> None:
    model = build()
    result = tm.solve(model)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert "in dual form, which has" in result.message
    assert f"where the model has {len(LARGE.y) + (build is linear_model)}" in result.message
    named = tm.solve(build(), "highs" if build is linear_model else "clarabel")
    assert "dual form" not in named.message, "a solver that is named gets the model as it is"
    assert result.objective == pytest.approx(named.objective, rel=1e-6)
    np.testing.assert_allclose(result.values["w"], named.values["w"], atol=1e-4)
    np.testing.assert_allclose(result.duals["margin"].sum(), named.duals["margin"].sum(), rtol=1e-4)
    loaded = np.array([model.w[j].value for j in model.J])
    np.testing.assert_array_equal(loaded, result.values["w"])


def test_a_wrong_answer_about_the_dual_form_is_followed_by_the_model_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = highs.run

    def lying(form: Any, classification: Any, limits: Any) -> Claim:
        claim = honest(form, classification, limits)
        if form.n == expected.n and len(form.rows) == len(expected.rows):
            return claim
        assert claim.x is not None
        return replace(
            claim, x=claim.x * 0.5, duals=replace(claim.duals, rows=claim.duals.rows * 3)
        )

    expected = standard_form(linear_model())
    plain = tm.solve(linear_model(), "highs")
    monkeypatch.setattr(highs, "run", lying)
    result = tm.solve(linear_model())
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.objective == pytest.approx(plain.objective, rel=1e-9)
    assert "dual form" not in result.message


@pytest.mark.parametrize("status", [Status.INFEASIBLE, Status.UNBOUNDED, Status.ERROR])
def test_no_optimum_of_the_dual_form_is_no_last_word(
    monkeypatch: pytest.MonkeyPatch, status: Status
) -> None:
    honest, calls = highs.run, []

    def refusing(form: Any, classification: Any, limits: Any) -> Claim:
        calls.append(form.n)
        return Claim(status) if len(calls) == 1 else honest(form, classification, limits)

    monkeypatch.setattr(highs, "run", refusing)
    result = tm.solve(linear_model())
    assert calls[-1] == standard_form(linear_model()).n != calls[0]
    assert result.status is Status.OPTIMAL


def long_model(kind: str) -> pyo.ConcreteModel:
    """A nu machine, or one whose rows cannot hold, or one that has no least value."""
    m = linear_model()
    if kind == "infeasible":
        m.impossible = pyo.Constraint(expr=m.rho - m.xi[0] >= 1.0)
        m.rho.setub(0.5)
        m.xi[0].setlb(0.0)
    if kind == "unbounded":
        m.objective.set_value(m.b)
        m.margin.deactivate()
        for i in list(m.I)[:400]:
            m.margin[i].activate()
            m.margin[i].set_value(m.xi[i] + m.w[0] >= -1.0)
    return m


@pytest.mark.parametrize(
    ("kind", "status"), [("infeasible", Status.INFEASIBLE), ("unbounded", Status.UNBOUNDED)]
)
def test_models_without_an_optimum_are_called_what_they_are(kind: str, status: Status) -> None:
    result = tm.solve(long_model(kind))
    assert result.status is status
    assert result.objective is None


def test_the_second_attempt_gets_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def slow(form: Any, classification: Any, limits: Any) -> Claim:
        given.append(limits.time_limit)
        return Claim(Status.INACCURATE, x=np.full(form.n, 9.0), message="stalled")

    clock = iter([0.0, 0.0, 3.0, 4.0, 4.0, 6.0])
    watch = SimpleNamespace(perf_counter=lambda: next(clock))
    monkeypatch.setattr(attempts, "time", watch)
    monkeypatch.setattr(deadline, "clock", lambda: 0.0)  # reading the model takes no time
    monkeypatch.setattr(clarabel, "run", slow)
    monkeypatch.setattr(clarabel, "run_scaled", slow)
    model = tm.conic_sdp(points("overlapping", 0), penalty=1.0)
    result = tm.solve(model, "clarabel", time_limit=10.0)
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert given == [10.0, 6.0]
    assert result.seconds == 5.0, "what lies between the runs is not the solver's time"


def test_there_is_no_second_attempt_after_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(form: Any, classification: Any, limits: Any) -> Claim:
        return Claim(Status.INTERRUPTED, x=np.full(form.n, 9.0), message="interrupted")

    def never(*arguments: Any) -> Claim:
        raise AssertionError("started again")

    monkeypatch.setattr(clarabel, "run", stopped)
    monkeypatch.setattr(clarabel, "run_scaled", never)
    result = tm.solve(tm.conic_sdp(points("overlapping", 0), penalty=1.0), "clarabel")
    assert result.status is Status.INTERRUPTED


def called_infeasible_by_presolve() -> pyo.ConcreteModel:
    """Feasible at (0, 0, 1, 1, 0), and unbounded from there along (0, 0, 1, 0, 1).

    HiGHS 1.15.1 calls it infeasible unless its presolve is off. Found by random edits.
    """
    rows = np.array(
        [[1, 1, 0, 0, 0], [1, 0, 1, 0, -1], [3, 0, 0, 1, 1], [0, -1, 0.5, 0, -1]], dtype=float
    )
    m = pyo.ConcreteModel()
    m.J = pyo.RangeSet(0, 4)
    m.x = pyo.Var(m.J, bounds=(0, None))
    m.row = AffineRows(
        range(4), [(rows, m.x)], lower=[-1, 1, 1, -np.inf], upper=[2, np.inf, np.inf, 1]
    )
    cost = [2.0, 2.0, -2.0, 2.0, 0.0]
    m.objective = pyo.Objective(expr=sum(cost[j] * m.x[j] for j in m.J))
    return m


def test_an_unbounded_model_that_presolve_calls_infeasible() -> None:
    form = standard_form(called_infeasible_by_presolve())
    start, ray = np.array([0, 0, 1.0, 1, 0]), np.array([0, 0, 1.0, 0, 1])
    for t in (0.0, 1.0, 1e6):
        activity = form.A @ (start + t * ray)
        assert (activity >= form.row_lower).all()
        assert (activity <= form.row_upper).all()
    assert form.objective.a @ ray < 0, "a ray of points along which the cost falls"
    raw = highs.run(form, classify(form), Limits())
    assert raw.status is Status.INFEASIBLE, "HiGHS was mended: the second run may go"
    result = tm.solve(called_infeasible_by_presolve(), "highs")
    assert result.status is Status.UNBOUNDED
    for kind in ("primal", "dual"):
        live = LiveLP(called_infeasible_by_presolve(), form=kind)
        assert live.resolve().status is Status.UNBOUNDED
