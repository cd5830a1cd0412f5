"""solve(): the dual form where it is smaller, limits, messages, starts, disjunctive models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.experiments import outlier_data
from tests.inside.solvers import highs, standard_form
from tests.references.active_sets import zero_one_by_sets
from tests.references.reference_solutions import points
from tests.support.certified import checked
from tightmargin.formulations import ProblemClass
from tightmargin.solvers import Claim, Status, Verdict

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


def test_a_node_limit_keeps_incumbent_claim_and_our_own_bound():
    """Labels without relation to the points: no solver proves this in seconds."""
    rng = np.random.default_rng(0)
    data = tm.TrainingData(rng.standard_normal((60, 5)), rng.choice([-1, 1], 60))
    model = tm.zero_one_big_m(data, penalty=1.0, big_m="derived")
    result = tm.solve(model, "scip", prove=False, options={"limits/nodes": 1})
    assert result.status is Status.FEASIBLE
    assert result.certificate.verdict is Verdict.SOLVER_BOUND
    u = data.y * (data.X @ result.values["w"] + result.values["b"])
    norm = float(result.values["w"] @ result.values["w"] + result.values["b"] ** 2)
    assert result.objective == pytest.approx(norm + np.sum(u < 1), abs=1e-9)
    assert 0 < result.certificate.solver_bound <= result.objective
    # Ours is that of the SDP relaxation, which SCIP does not reach at its root.
    assert result.certificate.solver_bound < result.bound <= result.objective


def test_the_lower_end_of_the_range_of_nu_is_reported():
    data = tm.TrainingData([[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1])
    found = tm.theory.nu_range(data)
    low = tm.solve(tm.nu_svc(data, nu=found.nu_min / 2))
    assert f"nu_min = {found.nu_min:.6g}" in low.message
    assert "extended nu-SVC" in low.message
    assert low.objective == pytest.approx(0, abs=1e-7)
    exactly = checked(tm.nu_svc(data, nu=found.nu_min / 2), w=[0.0], b=0.0, rho=0.0, xi=np.zeros(4))
    assert "nu_min" in exactly.facts["degenerate"]


@pytest.mark.parametrize("transformation", ["bigm", "hull", "mbigm"])
def test_a_disjunctive_model_has_the_enumerated_optimum(transformation):
    data = outlier_data("clustered", n=12, d=2, sigma=0.3, seed=2)
    truth = zero_one_by_sets(data, penalty=0.7, intercept="penalised").objective
    model = tm.zero_one_disjunctive(data, penalty=0.7, transformation=transformation)
    result = tm.solve(model)
    assert result.objective == pytest.approx(truth, rel=1e-6)
    assert result.problem_class == ProblemClass.MIQP
    assert model.w[0].value == pytest.approx(float(result.values["w"][0]))


@pytest.mark.parametrize(
    ("solver", "word"),
    [("highs", "MIP start solution is feasible"), ("scip", "found by completesol heuristic")],
)
def test_a_mixed_integer_solver_starts_from_a_result(solver, word, capfd):
    """By the solver's own log."""
    dice = np.random.default_rng(2)
    value, weight = dice.integers(5, 60, size=60), dice.integers(5, 60, size=60)

    def knapsack():
        m = pyo.ConcreteModel()
        m.take = pyo.Var(range(60), within=pyo.Binary)
        rows = [(weight, 400), (weight[::-1], 390), (np.roll(weight, 7), 410)]
        m.row = pyo.ConstraintList()
        for w, most in rows:
            m.row.add(sum(int(w[j]) * m.take[j] for j in range(60)) <= most)
        m.goal = pyo.Objective(
            expr=sum(int(value[j]) * m.take[j] for j in range(60)), sense=pyo.maximize
        )
        return m

    best = tm.solve(knapsack(), solver, prove=False, log=True)
    assert word not in capfd.readouterr().out
    again = tm.solve(knapsack(), solver, warm_start=best, prove=False, log=True)
    assert word in capfd.readouterr().out
    assert "no effect" not in again.message
    assert again.objective == pytest.approx(best.objective)


def test_a_start_that_nobody_looks_at_is_said_to_have_no_effect():
    data = outlier_data("clustered", n=12, d=2, sigma=0.4, seed=1)
    best = tm.solve(tm.c_svc(data, C=1.0))
    again = tm.solve(tm.c_svc(data, C=2.0), warm_start=best)
    assert "the warm start had no effect: solvers take one of integer variables" in again.message
    assert "warm start" not in best.message
    method = tm.zero_one_big_m(data, penalty=1.0, big_m="derived")
    told = "the warm start had no effect: method conflict-search takes none"
    assert "warm start" not in tm.solve(method, method="conflict-search").message
    assert told in tm.solve(method, method="conflict-search", warm_start=best).message
    # w and b are variables of the other model too, xi is not.
    other = tm.solve(tm.zero_one_big_m(data, penalty=1.0, big_m=20.0), "scip", warm_start=best)
    assert "no effect" not in other.message
    with pytest.raises(ValueError, match="has no variable of the result's"):
        tm.solve(tm.c_svc_dual(data, C=1.0), warm_start=best)
