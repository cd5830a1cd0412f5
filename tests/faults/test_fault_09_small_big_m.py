"""Row 9: an M that is too small gives wrong optima, and none of them is called a bound.

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
