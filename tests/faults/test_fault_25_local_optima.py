"""Row 25: a local optimum of a non-convex model is never called optimal on its own word.

The instance is kept in instances/local_optima.json: a concave objective over a polygon, so that
the optimum is at a vertex and the list of vertices is the proof.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy.optimize import minimize

import tightmargin as tm
from tests.faults.instances import instance
from tests.inside.solvers import Limits, StandardForm, attempts
from tightmargin.solvers import Claim, Status, Verdict

KEPT = instance("local_optima")
Q, C = np.array(KEPT["Q"]), np.array(KEPT["c"])
ROWS = np.vstack([KEPT["A"], np.eye(2), -np.eye(2)])
SIDES = np.r_[KEPT["r"], np.full(4, KEPT["box"])]
LOCAL = KEPT["local"]


def value(x: Any) -> float:
    return float(np.asarray(x) @ Q @ x + C @ x)


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
    found = []
    for pair in itertools.combinations(range(len(SIDES)), 2):
        if abs(np.linalg.det(ROWS[list(pair)])) < 1e-9:
            continue
        x = np.linalg.solve(ROWS[list(pair)], SIDES[list(pair)])
        if (ROWS @ x <= SIDES + 1e-9).all():
            found.append((value(x), x.tolist()))
    return sorted(found)


def test_row_25_the_instance_is_what_its_vertices_say() -> None:
    assert np.linalg.eigvalsh(Q)[-1] < 0, "concave: the optimum is at a vertex"
    best, second, third = vertices()[:3]
    assert best[0] == pytest.approx(KEPT["optimum"], abs=1e-12)
    np.testing.assert_allclose(best[1], KEPT["at"])
    for (number, point), kept in zip((second, third), LOCAL, strict=True):
        assert number == pytest.approx(kept["value"], abs=1e-9)
        np.testing.assert_allclose(point, kept["at"], atol=1e-9)
    for kept in LOCAL:
        near = np.array(kept["at"]) * 0.98
        found = minimize(
            value, near, jac=lambda x: 2 * Q @ x + C, method="SLSQP",
            constraints={"type": "ineq", "fun": lambda x: SIDES - ROWS @ x},
        )  # fmt: skip
        assert found.fun == pytest.approx(kept["value"], abs=1e-6), "a local method stays there"


@pytest.mark.parametrize("told", [None, -40.0, "its own value"])
@pytest.mark.parametrize("kept", LOCAL, ids=["-10.208", "-8"])
def test_row_25_a_local_optimum_that_is_called_optimal_is_not_believed(
    kept: dict[str, Any], told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SCIP's run is replaced by one that stops there: without a bound, with a true one far below,
    which COPT and Xpress leave the caller to notice, and with its value as the bound, a consistent
    lie that stays a claim under the solver's name.
    """
    bound = kept["value"] if told == "its own value" else told

    def run(form: StandardForm, limits: Limits) -> Claim:
        claim = Claim(Status.OPTIMAL, x=np.array(kept["at"]), bound=bound, message="optimal")
        assert form.objective.at(claim.x) > KEPT["optimum"] + 1
        return claim

    monkeypatch.setattr(attempts.scip, "run", run)
    result = tm.solve(model(), "scip")
    assert result.certificate.verdict is not Verdict.CERTIFIED
    assert result.objective == pytest.approx(kept["value"])
    assert result.bound is None or result.bound <= KEPT["optimum"]
    if bound == kept["value"]:
        assert result.certificate.solver_bound == pytest.approx(kept["value"])
        return
    assert result.status is Status.FEASIBLE
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert told is not None or "says optimal" in result.certificate.reason
