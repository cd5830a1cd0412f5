"""Rows 25 and 26: neither a local optimum nor one below the optimum is believed on its own word.

The instance is kept in instances/local_optima.json: a concave objective over a polygon, so that
the optimum is at a vertex and the list of vertices is the proof.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy.optimize import minimize

import tightmargin as tm
from tests.faults.instances import instance
from tests.inside.solvers import SOLVERS, Limits, StandardForm, attempts
from tests.references.brute_force import zero_one_optima
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


# --- row 26: an incumbent below the optimum -------------------------------------------------------

BELOW = instance("superoptimal")
DATA = tm.TrainingData(BELOW["X"], BELOW["y"])
OPTIMUM = BELOW["optimum"]
NEGATIVE_GAP = 1e-7  # of the raw numbers, more than rounding can do


def below_model() -> object:
    return tm.zero_one_big_m(DATA, penalty=BELOW["penalty"], big_m="derived")


def test_row_26_the_optimum_is_what_brute_force_says() -> None:
    best = zero_one_optima(DATA, [BELOW["penalty"]], BELOW["intercept"])[0]
    assert best == pytest.approx(OPTIMUM, rel=1e-8)
    exact = [[Fraction(a) for a in row] for row in DATA.X.tolist()]
    kept = BELOW["hyperplane"]
    w, b = [Fraction(a) for a in kept["w"]], Fraction(kept["b"])
    margins = [
        int(y) * (sum(a * v for a, v in zip(row, w, strict=True)) + b)
        for row, y in zip(exact, DATA.y.tolist(), strict=True)
    ]
    assert min(margins) == 1
    assert sum(v * v for v in w) + b * b == OPTIMUM


@pytest.mark.parametrize(("solver", "big_m"), [("scip", 1000.0), ("gurobi", "derived")])
def test_row_26_the_objective_is_that_of_a_point_that_is_feasible(
    solver: str, big_m: object
) -> None:
    """The hyperplane is stretched until kept points are kept, and the violations are counted."""
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    result = tm.solve(tm.zero_one_big_m(DATA, penalty=BELOW["penalty"], big_m=big_m), solver)
    w, b = result.values["w"], float(result.values["b"])
    assert (DATA.y * (DATA.X @ w + b)).min() >= 1.0
    assert result.objective == pytest.approx(float(w @ w) + b * b, rel=1e-15)
    assert result.objective >= OPTIMUM * (1 - 1e-15)
    assert result.objective == pytest.approx(OPTIMUM, rel=1e-6)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.bound <= OPTIMUM * (1 + 1e-12)
    assert result.absolute_gap >= -1e-12


def test_row_26_a_negative_gap_is_a_flag_and_no_number() -> None:
    """Put the raw number, and a worse one, in the place of the best point known."""
    whole = tm.solve(below_model())
    for upper, flagged in ((OPTIMUM - NEGATIVE_GAP, False), (OPTIMUM - 1e-2, True)):
        exact = replace(whole, objective=upper)
        tight = [("zero_one_big_m", {"big_m": "derived"})]
        table = tm.compare(
            DATA, tight, exact=exact, parameters={"penalty": BELOW["penalty"], "big_m": "derived"},
            solver="scip",  # whose bound the enumeration closes to the last digits
        )  # fmt: skip
        (row,) = table.rows
        gap = table.absolute_gap(row)
        assert (gap is None) == flagged
        assert gap is None or gap == 0.0, "within the tolerance it is no gap, and not negative"
        assert bool(table.violations()) == flagged
        column = table.to_frame()["absolute gap"]
        assert not (column.astype(float) < -1e-9).any()
        assert np.isnan(column.astype(float).iloc[0]) == flagged
