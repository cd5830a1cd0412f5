"""Rows 9 and 10: an M too small gives wrong optima and no bound, one too large buys margin.

The instance is kept in instances/small_big_m.json; tests/solvers/comparison/test_bound_order.py
covers other data, incumbents that lie and an M lowered after the build.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.faults.instances import instance
from tests.inside.solvers import SOLVERS
from tests.references.brute_force import big_m_optimum, ramp_optimum, zero_one_optima
from tests.support.covering import covering
from tightmargin.solvers import SolveResult, Status, Verdict

KEPT = instance("small_big_m")
DATA = tm.TrainingData(KEPT["X"], KEPT["y"])
SIZES = (1.0, 1.5)
SOLVERS_HERE = [name for name in ("scip", "gurobi") if SOLVERS[name].installed]


def price(model: str) -> dict[str, Any]:
    return {"penalty": KEPT["penalty"]} if model == "zero_one" else {"C": KEPT["C"]}


def solved(model: str, big_m: Any, solver: str = "auto") -> SolveResult:
    build = tm.zero_one_big_m if model == "zero_one" else tm.ramp_big_m
    mode = KEPT["intercept"]
    return tm.solve(build(DATA, **price(model), big_m=big_m, intercept=mode), solver)


def test_row_09_the_instance_is_what_enumeration_says() -> None:
    """Every choice of the binaries: the true optima, and those of the models with a small M."""
    mode, kept = KEPT["intercept"], KEPT["zero_one"]
    truth = zero_one_optima(DATA, [KEPT["penalty"]], mode)[0]
    assert truth == pytest.approx(kept["optimum"], rel=1e-8)
    assert ramp_optimum(DATA, KEPT["C"], mode, None) == pytest.approx(
        KEPT["ramp"]["optimum"], rel=1e-8
    )
    for size in SIZES:
        each = np.full(DATA.n, size)
        wrong = big_m_optimum(DATA, KEPT["penalty"], mode, each)
        assert wrong == pytest.approx(kept[f"M={size:g}"], rel=1e-8)
        assert wrong > truth + 1
        ramp = ramp_optimum(DATA, KEPT["C"], mode, each)
        assert ramp == pytest.approx(KEPT["ramp"][f"M={size:g}"], rel=1e-8)
        assert ramp > KEPT["ramp"]["optimum"] + 1


@pytest.mark.parametrize(
    ("model", "size", "solver"), covering(["zero_one", "ramp"], SIZES, SOLVERS_HERE)
)
def test_row_09_the_result_is_an_upper_bound_only(model: str, size: float, solver: str) -> None:
    truth = KEPT[model]["optimum"]
    result = solved(model, size, solver)
    claim = result.certificate.solver_bound
    assert claim > truth + 1, "the solver says optimal, far above the optimum"
    assert result.status is Status.FEASIBLE
    assert result.bound is None
    assert result.absolute_gap is None
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert result.certificate.reason.startswith("upper bound only: M[")
    assert "below the proven value" in result.certificate.unproven
    assert result.objective >= truth - 1e-7, "recomputed from (w, b): attained, so never below"


@pytest.mark.parametrize(("model", "size"), [("zero_one", 1.0), ("ramp", 1.5)])
def test_row_09_a_row_held_at_z_1_is_counted(model: str, size: float) -> None:
    """With M = 1 nothing can go below margin 0: M itself holds rows.

    In the ramp machine an outlier has its cap of xi before that, and at M = 1 the optimum of the
    model as written has no z at 1: there the last point, at margin -1, costs 2 C either way.
    """
    result = solved(model, size)
    assert result.certificate.facts["binding_big_m"] >= 1
    assert "a larger M may be better" in result.message
    enough = solved(model, "derived")
    assert "binding_big_m" not in enough.certificate.facts


# --- row 10: an M so large that a z within the tolerance of 0 buys margin -------------------------

TOLERANCES = {"scip": 1e-6, "gurobi": 1e-5}
HERE = [name for name in TOLERANCES if SOLVERS[name].installed]
HUGE = 1e6


def solved_by(big_m: Any, solver: str, **rest: Any) -> SolveResult:
    model = tm.zero_one_big_m(
        DATA, penalty=KEPT["penalty"], big_m=big_m, intercept=KEPT["intercept"]
    )
    return tm.solve(model, solver, **rest)


@pytest.mark.parametrize(
    ("solver", "option"),
    [(s, o) for s, o in (("scip", "numerics/feastol"), ("gurobi", "IntFeasTol")) if s in HERE],
)
def test_row_10_the_warning_begins_where_m_buys_a_thousandth(solver: str, option: str) -> None:
    """A tighter tolerance, which the warning names, is taken into account."""
    limit = 1e-3 / TOLERANCES[solver]
    below, at = solved_by(0.99 * limit, solver), solved_by(limit, solver)
    tight = solved_by(limit, solver, options={option: 1e-8})
    assert "big_m_slack" not in below.certificate.facts
    assert "big_m_slack" not in tight.certificate.facts
    assert at.certificate.facts["big_m_slack"] == pytest.approx(1e-3)
    assert f"M = {limit:.6g} is large for {solver}" in at.message
    assert "derive M, or lower" in at.message
    assert option in at.message


@pytest.mark.parametrize(("size", "solver"), [(HUGE, HERE[0]), (1e3, HERE[-1]), (1e8, HERE[0])])
def test_row_10_the_objective_is_that_of_the_hyperplane(size: float, solver: str) -> None:
    """Violations counted anew: the value is attained, and never below the true optimum."""
    truth = zero_one_optima(DATA, [KEPT["penalty"]], KEPT["intercept"])[0]
    result = solved_by(size, solver)
    w, b = result.values["w"], float(result.values["b"])
    wrong = int((DATA.y * (DATA.X @ w + b) < 1).sum())
    assert result.objective == pytest.approx(w @ w + b * b + KEPT["penalty"] * wrong, rel=1e-12)
    assert result.objective >= truth * (1 - 1e-9)
    np.testing.assert_array_equal(result.values["z"].sum(), wrong)
    if result.certificate.verdict is Verdict.CERTIFIED:
        assert result.objective == pytest.approx(truth, rel=1e-6)
    assert result.certificate.facts["big_m_slack"] == pytest.approx(size * TOLERANCES[solver])


@pytest.mark.usefixtures("no_search_of_ours")
@pytest.mark.parametrize(("size", "solver"), [(10.0, HERE[0]), (1e4, HERE[-1])])
def test_row_10_with_the_binaries_fixed_the_rest_is_solved_again(size: float, solver: str) -> None:
    """A convex program, certified: its optimum is what the result reports."""
    model = tm.ramp_big_m(DATA, C=KEPT["C"], big_m=size, intercept=KEPT["intercept"])
    result = tm.solve(model, solver)
    facts = result.certificate.facts
    assert facts["fixed_verdict"] == "CERTIFIED"
    assert facts["fixed_objective"] == pytest.approx(result.objective, rel=1e-6)
    again = tm.ramp_big_m(DATA, C=KEPT["C"], big_m=size, intercept=KEPT["intercept"])
    for z, number in zip(again.z.values(), result.values["z"].tolist(), strict=True):
        z.fix(round(number))
    assert tm.solve(again, "clarabel").objective == pytest.approx(result.objective, rel=1e-6)
