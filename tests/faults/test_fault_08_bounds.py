"""Rows 8 to 10: bounds that hold the optimum back are flagged, an M too small gives no bound, and
one too large buys margin.

The instance of rows 9 and 10 is kept in instances/small_big_m.json. Other data, incumbents that lie
and an M lowered after the build: tests/solvers/comparison/test_bound_order.py.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.solvers import SOLVERS, rsvm_at_limit
from tests.references.brute_force import big_m_optimum, ramp_optimum, zero_one_optima
from tests.references.reference_solutions import points
from tightmargin.solvers import SolveResult, Status, Verdict, norm_limit

OVERLAPPING = points("overlapping", 0, n=8)


@pytest.mark.parametrize(
    ("build", "price"), [(tm.conic_sdp, {"penalty": 1.0}), (tm.conic_sdp_budget, {"budget": 0.05})]
)
def test_row_08_an_active_intercept_bound_is_flagged(build: Any, price: dict[str, float]) -> None:
    """W_bb costs nothing, so it goes as far as it may, and the value is that of the bound."""
    model = build(OVERLAPPING, **price, intercept="free", intercept_bound=2.0)
    result = tm.solve(model)
    assert result.certificate.facts["active_bounds"] == ["intercept_bound"]
    assert "intercept_bound: a bound is active" in result.message
    model.intercept_bound.set_value(3.0)
    assert abs(tm.solve(model).objective) < abs(result.objective) - 1e-3, "it depends on it"
    unfelt = tm.solve(build(OVERLAPPING, **price, intercept="penalised"))
    assert "active_bounds" not in unfelt.certificate.facts
    assert "a bound is active" not in unfelt.message


def test_row_08_bounds_that_the_builder_proves_are_not_flagged() -> None:
    """Keeping both points costs w = 1, which is the bound sqrt(2 penalty) of giving up on both."""
    model = tm.zero_one_bilinear(
        tm.TrainingData([[1.0], [-1.0]], [1, -1]), penalty=0.5, intercept="none"
    )
    for z in model.z.values():
        z.fix(0)
    result = tm.solve(model)
    assert result.values["w"][0] == pytest.approx(1.0, abs=1e-6)
    assert model.w[0].ub == pytest.approx(1.0)
    assert "active_bounds" not in result.certificate.facts
    model.w[0].setub(1.0)
    assert tm.solve(model).certificate.facts["active_bounds"] == ["w[0]"], "one of the user's is"


def test_row_08_a_norm_bound_below_the_limit_is_active_and_has_a_price() -> None:
    limit = norm_limit(OVERLAPPING)
    H = 0.9 * limit.value
    primal = tm.solve(tm.rsvm(OVERLAPPING, norm_bound=H))
    dual = tm.solve(tm.rsvm_dual(OVERLAPPING, norm_bound=H))
    assert primal.certificate.facts["norm_active"] is True
    assert "degenerate" not in dual.certificate.facts
    price = dual.certificate.facts["capacity_price"]
    assert price >= limit.gamma_range * limit.value * (1 - 1e-5), "E is convex in H"
    more = tm.solve(tm.rsvm(OVERLAPPING, norm_bound=1.0001 * H)).objective
    assert primal.objective - more == pytest.approx(1e-4 * H * price, rel=0.05)
    with pytest.raises(ValueError, match="below the limit"):
        rsvm_at_limit(OVERLAPPING, H, limit)


# --- row 9: an M that is too small ----------------------------------------------------------------

KEPT = json.loads((Path(__file__).parent / "instances" / "small_big_m.json").read_text())
DATA = tm.TrainingData(KEPT["X"], KEPT["y"])
C, PENALTY, MODE = KEPT["C"], KEPT["penalty"], KEPT["intercept"]
TOLERANCES = {"scip": 1e-6, "gurobi": 1e-5}
HERE = [name for name in TOLERANCES if SOLVERS[name].installed]
Z = {"penalty": PENALTY, "intercept": MODE}
RAMP = {"C": C, "intercept": MODE}


@functools.cache
def truth(model: str, size: float | None = None) -> float:
    """By every choice of the binaries, with M or without."""
    each = None if size is None else np.full(DATA.n, size)
    if model == "ramp":
        return ramp_optimum(DATA, C, MODE, each)
    if each is None:
        return zero_one_optima(DATA, [PENALTY], MODE)[0]
    return big_m_optimum(DATA, PENALTY, MODE, each)


@pytest.mark.parametrize(
    ("model", "size", "solver"), [("zero_one", 1.0, HERE[-1]), ("ramp", 1.5, HERE[0])]
)
def test_row_09_the_result_is_an_upper_bound_only(model: str, size: float, solver: str) -> None:
    """And a row that M itself holds back is counted."""
    build, words = (tm.ramp_big_m, RAMP) if model == "ramp" else (tm.zero_one_big_m, Z)
    result = tm.solve(build(DATA, **words, big_m=size), solver)
    wrong = truth(model, size)
    assert wrong > truth(model) + 1
    assert result.certificate.solver_bound == pytest.approx(wrong, rel=1e-4), "the solver says so"
    assert result.status is Status.FEASIBLE
    assert result.bound is None
    assert result.absolute_gap is None
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert result.certificate.reason.startswith("upper bound only: M[")
    assert "below the proven value" in result.certificate.unproven
    assert result.objective >= truth(model) - 1e-7, "recomputed from (w, b), so never below"
    assert result.certificate.facts["binding_big_m"] >= 1
    assert "a larger M may be better" in result.message
    enough = tm.solve(build(DATA, **words, big_m="derived"))
    assert "binding_big_m" not in enough.certificate.facts


# --- row 10: an M so large that a z within the tolerance of 0 buys margin -------------------------


def solved_by(big_m: Any, solver: str, **rest: Any) -> SolveResult:
    return tm.solve(tm.zero_one_big_m(DATA, **Z, big_m=big_m), solver, **rest)


def test_row_10_the_warning_begins_where_m_buys_a_thousandth() -> None:
    """A tighter tolerance, which the warning names, is taken into account."""
    limit = 1e-3 / TOLERANCES["scip"]
    option = "numerics/feastol"
    assert "big_m_slack" not in solved_by(0.99 * limit, "scip").certificate.facts
    tight = solved_by(limit, "scip", options={option: 1e-8})
    assert "big_m_slack" not in tight.certificate.facts
    assert option in solved_by(limit, "scip").message


@pytest.mark.parametrize(("size", "solver"), [(1e6, HERE[0]), (1e3, HERE[-1])])
def test_row_10_the_objective_is_that_of_the_hyperplane(size: float, solver: str) -> None:
    """Violations counted anew: the value is attained, and never below the true optimum."""
    result = solved_by(size, solver)
    w, b = result.values["w"], float(result.values["b"])
    wrong = int((DATA.y * (DATA.X @ w + b) < 1).sum())
    assert result.objective == pytest.approx(w @ w + b * b + PENALTY * wrong, rel=1e-12)
    assert result.objective >= truth("zero_one") * (1 - 1e-9)
    np.testing.assert_array_equal(result.values["z"].sum(), wrong)
    if result.certificate.verdict is Verdict.CERTIFIED:
        assert result.objective == pytest.approx(truth("zero_one"), rel=1e-6)
    assert result.certificate.facts["big_m_slack"] == pytest.approx(size * TOLERANCES[solver])


@pytest.mark.usefixtures("no_search_of_ours")
@pytest.mark.parametrize(("size", "solver"), [(10.0, HERE[0]), (1e4, HERE[-1])])
def test_row_10_with_the_binaries_fixed_the_rest_is_solved_again(size: float, solver: str) -> None:
    """A convex program, certified: its optimum is what the result reports."""
    result = tm.solve(tm.ramp_big_m(DATA, **RAMP, big_m=size), solver)
    facts = result.certificate.facts
    assert facts["fixed_verdict"] == "CERTIFIED"
    assert facts["fixed_objective"] == pytest.approx(result.objective, rel=1e-6)
    again = tm.ramp_big_m(DATA, **RAMP, big_m=size)
    for z, number in zip(again.z.values(), result.values["z"].tolist(), strict=True):
        z.fix(round(number))
    assert tm.solve(again, "clarabel").objective == pytest.approx(result.objective, rel=1e-6)
