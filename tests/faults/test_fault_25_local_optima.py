"""Rows 25 and 26: neither a local optimum nor one below the optimum is believed on its own word.

The instance is kept in instances/local_optima.json: a concave objective over a polygon, so that
the optimum is at a vertex and the list of vertices is the proof.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import SOLVERS, Limits, StandardForm, attempts
from tests.references.brute_force import zero_one_optima
from tightmargin.solvers import Claim, Status, Verdict

INSTANCES = Path(__file__).parent / "instances"
KEPT = json.loads((INSTANCES / "local_optima.json").read_text())
Q, C = np.array(KEPT["Q"]), np.array(KEPT["c"])
ROWS = np.vstack([KEPT["A"], np.eye(2), -np.eye(2)])
SIDES = np.r_[KEPT["r"], np.full(4, KEPT["box"])]


def model() -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(-KEPT["box"], KEPT["box"]))
    m.rows = pyo.ConstraintList()
    for row, side in zip(KEPT["A"], KEPT["r"], strict=True):
        m.rows.add(row[0] * m.x[0] + row[1] * m.x[1] <= side)
    m.objective = pyo.Objective(
        expr=sum(Q[i, j].item() * m.x[i] * m.x[j] for i in range(2) for j in range(2))
        + sum(C[j].item() * m.x[j] for j in range(2))
    )
    return m


def vertices() -> list[tuple[float, list[float]]]:
    """By value: the optimum of a concave function, and two worse local optima."""
    assert np.linalg.eigvalsh(Q)[-1] < 0
    found = []
    for pair in itertools.combinations(range(len(SIDES)), 2):
        if abs(np.linalg.det(ROWS[list(pair)])) > 1e-9:
            x = np.linalg.solve(ROWS[list(pair)], SIDES[list(pair)])
            if (ROWS @ x <= SIDES + 1e-9).all():
                found.append((float(x @ Q @ x + C @ x), x.tolist()))
    return sorted(found)


@pytest.mark.parametrize("told", [None, -40.0, "its own value"])
def test_row_25_a_local_optimum_that_is_called_optimal_is_not_believed(
    told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SCIP's run is replaced by one that stops there: without a bound, with a true one far below,
    which COPT and Xpress leave the caller to notice, and with its value as the bound, a consistent
    lie that stays a claim under the solver's name.
    """
    (optimum, _), (value, at) = vertices()[:2]
    assert value > optimum + 1
    bound = value if told == "its own value" else told

    def run(form: StandardForm, limits: Limits) -> Claim:
        return Claim(Status.OPTIMAL, x=np.array(at), bound=bound, message="optimal")

    monkeypatch.setattr(attempts.scip, "run", run)
    result = tm.solve(model(), "scip")
    assert result.certificate.verdict is not Verdict.CERTIFIED
    assert result.objective == pytest.approx(value)
    assert result.bound is None or result.bound <= optimum
    if told == "its own value":
        assert result.certificate.solver_bound == pytest.approx(value)
        return
    assert result.status is Status.FEASIBLE
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert told is not None or "says optimal" in result.certificate.reason


# --- row 26: an incumbent below the optimum -------------------------------------------------------

BELOW = json.loads((INSTANCES / "superoptimal.json").read_text())
DATA = tm.TrainingData(BELOW["X"], BELOW["y"])
OPTIMUM = 6.0  # of w = (1, 1), b = -2, which separates the points with margin 1
PENALTY = BELOW["penalty"]


@pytest.mark.parametrize(("solver", "big_m"), [("scip", 1000.0), ("gurobi", "derived")])
def test_row_26_the_objective_is_that_of_a_point_that_is_feasible(
    solver: str, big_m: object
) -> None:
    """The hyperplane is stretched until kept points are kept, and the violations are counted."""
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    assert (DATA.y * (DATA.X @ [1.0, 1.0] - 2.0)).min() == 1.0
    assert zero_one_optima(DATA, [PENALTY], BELOW["intercept"])[0] == pytest.approx(6.0, rel=1e-8)
    result = tm.solve(tm.zero_one_big_m(DATA, penalty=PENALTY, big_m=big_m), solver)
    w, b = result.values["w"], float(result.values["b"])
    assert (DATA.y * (DATA.X @ w + b)).min() >= 1.0
    assert result.objective == pytest.approx(float(w @ w) + b * b, rel=1e-15)
    assert result.objective >= OPTIMUM * (1 - 1e-15)
    assert result.objective == pytest.approx(OPTIMUM, rel=1e-6)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.bound <= OPTIMUM * (1 + 1e-12)
    assert result.absolute_gap >= -1e-12
