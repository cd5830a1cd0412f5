"""Row 10: an M so large that an indicator within the solver's tolerance of 0 buys margin.

Warned about when M times the tolerance is 1e-3 of the margin; the objective is that of (w, b).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.faults.instances import instance
from tests.inside.solvers import SOLVERS
from tests.references.brute_force import zero_one_optima
from tightmargin.solvers import SolveResult, Verdict

KEPT = instance("small_big_m")
DATA = tm.TrainingData(KEPT["X"], KEPT["y"])
TOLERANCES = {"scip": 1e-6, "gurobi": 1e-5}
HERE = [name for name in TOLERANCES if SOLVERS[name].installed]
HUGE = 1e6


def solved(big_m: Any, solver: str, **rest: Any) -> SolveResult:
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
    below, at = solved(0.99 * limit, solver), solved(limit, solver)
    tight = solved(limit, solver, options={option: 1e-8})
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
    result = solved(size, solver)
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
