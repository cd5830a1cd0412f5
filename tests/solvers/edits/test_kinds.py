"""Every kind of edit of a model with something derived, and models without a point."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunction

from tests.inside.experiments import load, outlier_data
from tests.inside.formulations import closed_slack_bounds
from tests.references import reference_solutions
from tests.references.reference_solutions import points
from tests.support.command_line import run
from tests.support.covering import in_turn
from tests.support.edited_models import (
    CLUSTERED,
    DATA,
    build,
    is_relaxation,
    of_the_problem,
    says_nothing,
    stands_for_itself,
    steep,
)
from tightmargin.solvers import Verdict, rederive, solve

# --- every other kind of edit --------------------------------------------------------------------


def relax_integers(m: pyo.ConcreteModel) -> None:
    for z in m.z.values():
        z.domain = pyo.UnitInterval


def widen(m: pyo.ConcreteModel) -> None:
    m.z[2].domain = pyo.Integers
    m.z[2].setub(2)


def replace_objective(m: pyo.ConcreteModel) -> None:
    m.objective.deactivate()
    m.goal = pyo.Objective(expr=m.w[0] ** 2 + m.w[1] ** 2 + m.b**2 + sum(m.z.values()))


def flip(m: pyo.ConcreteModel) -> None:
    m.objective.deactivate()
    m.goal = pyo.Objective(expr=-m.objective.expr, sense=pyo.maximize)


def swap_variable(m: pyo.ConcreteModel) -> None:
    other = pyo.ConcreteModel()
    other.w = pyo.Var([0])
    m.objective.set_value(m.objective.expr + other.w[0] ** 2 - 3 * m.w[0])


ROWS_AND_INDICATORS: list[Callable[[Any], None]] = [
    lambda m: m.margin[3].set_value(m.w[0] + m.z[3] >= 0),
    lambda m: m.margin[3].set_value((0.5, m.margin[3].body, None)),
    relax_integers,
    widen,
    swap_variable,
]
ANY_OTHER: list[Callable[[Any], None]] = [
    lambda m: m.margin[3].deactivate(),
    lambda m: m.del_component(m.margin),
    lambda m: m.objective.set_value(m.objective.expr + 0.1 * m.w[0]),
    replace_objective,
    flip,
]


@pytest.mark.parametrize("edit", ROWS_AND_INDICATORS)
def test_an_edit_of_rows_or_indicators_or_by_another_model_leaves_no_bound(
    edit: Callable[[Any], None],
) -> None:
    for big_m, nothing in (("derived", True), (500.0, False)):
        model = build("zero_one_big_m", penalty=0.6, big_m=big_m)
        edit(model)
        result = solve(model)
        assert result.certificate.unproven.startswith("rows margin")
        assert says_nothing(result) is nothing


@pytest.mark.parametrize(("edit", "intercept"), in_turn(ANY_OTHER, ["penalised", "none", "free"]))
def test_m_of_any_other_edit_is_derived_again_from_the_edited_model(
    edit: Callable[[Any], None], intercept: str
) -> None:
    if edit is replace_objective and intercept == "none":
        return  # it names b
    paid = build("zero_one_big_m", penalty=0.6, big_m=500.0, intercept=intercept)
    edit(paid)
    best = solve(paid, "scip", options={"numerics/feastol": 1e-9}).objective
    for name in ("zero_one_big_m", "zero_one_relaxed"):
        model = build(name, penalty=0.6, big_m="derived", intercept=intercept)
        edit(model)
        result = of_the_problem(model)
        if intercept != "free" or edit is replace_objective:  # which has a price on b
            assert result.certificate.unproven == "", name
        if result.certificate.unproven:
            assert says_nothing(result) or is_relaxation(model)
        elif edit is flip:
            assert result.bound >= best - 1e-6 * max(1.0, abs(best))
        else:
            assert result.bound <= best + 1e-6 * max(1.0, abs(best))
        if name == "zero_one_big_m" and not result.certificate.unproven:
            assert result.objective == pytest.approx(best, rel=1e-5, abs=1e-6)


def test_an_unfixed_variable_and_its_rows() -> None:
    """Two points far on the right side are kept for sure; letting go of one is an edit."""
    data = points("overlapping", 4, n=8)
    bounds = closed_slack_bounds(data, penalty=0.05, intercept="penalised")
    model = build("conic_sdp_strengthened", data, penalty=0.05, slack_bounds=bounds)
    model.z[0].fix(0.5)
    assert stands_for_itself(solve(model))


def test_an_edit_inside_a_block_or_a_disjunction_of_the_users_counts() -> None:
    """Of seed 4 with w_0 >= 3, whose optimum is 13.995 by SCIP with M = 500."""
    data = outlier_data("clustered", **CLUSTERED, seed=4)
    model = build("zero_one_relaxed", data, penalty=1.0, big_m="derived")
    model.inner = pyo.Block()
    model.inner.row = pyo.Constraint(expr=model.w[0] >= 3.0)
    assert stands_for_itself(solve(model))
    assert rederive(model).upper_bound >= 13.994
    result = solve(model)
    assert result.certificate.unproven == ""
    assert 0.5 * 13.995 < result.bound <= 13.995
    either = build("zero_one_big_m", data, penalty=1.0, big_m="derived")
    for x in either.w.values():
        x.setlb(-100)
        x.setub(100)
    either.choice = Disjunction(expr=[either.w[0] >= 3.0, either.w[0] <= -3.0])
    found = solve(either)
    assert found.certificate.unproven == ""
    assert "big_m derived again" in repr(found).splitlines()[2]
    assert found.bound <= 13.995


@pytest.mark.parametrize("transformation", ["bigm", "hull", "indicator"])
def test_a_disjunctive_model_is_edited_before_it_is_transformed(transformation: str) -> None:
    data = outlier_data("clustered", n=8, d=2, sigma=0.3, seed=4)
    settings = {"penalty": 1.0, "transformation": transformation}
    model = build("zero_one_disjunctive", data, **settings)
    model.edit = pyo.Constraint(expr=model.w[0] <= 0.3)
    exact = build("zero_one_big_m", data, penalty=1.0, big_m=500.0)
    exact.edit = pyo.Constraint(expr=exact.w[0] <= 0.3)
    result, best = solve(model, "scip"), solve(exact, "scip").objective
    assert result.certificate.unproven == ""
    assert result.objective == pytest.approx(best, rel=1e-4)
    far = steep(build("zero_one_disjunctive", data, **settings))
    found = solve(far, "scip")
    assert found.bound is None
    assert "bounds of w and b" in found.certificate.unproven


def test_a_model_inside_another_one_says_what_it_rests_on() -> None:
    outer = pyo.ConcreteModel()
    outer.inner = build("zero_one_relaxed", penalty=0.6, big_m="derived")
    result = solve(outer)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert "block inner is zero_one_relaxed with its big_m" in result.certificate.unproven


# --- prices --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("factor", "intercept"), in_turn([0.1, 0.5, 4.0, 20.0], ["penalised", "none", "free"])
)
def test_m_of_another_price_is_derived_again(factor: float, intercept: str) -> None:
    data = points("overlapping", 4, n=7)
    expected = reference_solutions.zero_one_optimum(data, intercept, 0.6 * factor)
    for name in ("zero_one_big_m", "zero_one_relaxed"):
        model = build(name, data, penalty=0.6, big_m="derived", intercept=intercept)
        model.penalty = 0.6 * factor
        result = of_the_problem(model)
        assert result.certificate.unproven == ""
        assert result.certificate.level == "paper"
        assert result.bound <= expected * (1 + 1e-6)
        if name == "zero_one_big_m":
            assert result.certificate.verdict is Verdict.CERTIFIED
            assert result.objective == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    "optimum", [{"penalty": 0.05}, {"penalty": 0.6, "most": 2}], ids=["price", "row"]
)
def test_an_exact_model_with_slack_bounds_is_solved_without_them_after_an_edit(
    optimum: dict[str, Any],
) -> None:
    bounds = closed_slack_bounds(DATA, penalty=0.6, intercept="penalised")
    model = build("zero_one_big_m", penalty=0.6, big_m="derived", slack_bounds=bounds)
    assert solve(model).certificate.unproven == ""
    model.penalty = optimum["penalty"]
    if "most" in optimum:
        model.budget = pyo.Constraint(expr=sum(model.z.values()) <= optimum["most"])
    result = solve(model)
    truth = reference_solutions.zero_one_optimum(DATA, "penalised", **optimum)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.certificate.unproven == ""
    assert result.objective == pytest.approx(truth, rel=1e-5)
    assert result.certificate.facts["solved_copy"].endswith("slack_bounds left out")


# --- no point ------------------------------------------------------------------------------------


def test_a_saved_one_is_proven_again_and_an_edited_one_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "four.csv"
    table.write_text("y,a\n1,0.1\n-1,0.2\n1,-0.1\n-1,-0.2\n")
    saved = tmp_path / "saved.json"
    words = ["zero_one_big_m", "--data", str(table), "--set", "penalty=1", "big_m=0.001"]
    assert run("solve", *words, "--out", str(saved)).code == 3
    again = run("certify", str(saved))
    assert again.code == 3
    assert "infeasible proven again" in again.stdout
    model = build("zero_one_relaxed", load(str(table)), penalty=1.0, big_m="derived")
    model.w[0].fix(1000.0)
    solve(model).save(saved)
    refused = run("certify", str(saved))
    assert refused.code not in (0, 3)
    assert "model that was edited" in refused.stdout + refused.stderr
