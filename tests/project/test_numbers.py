"""NaN, infinity, tiny and huge numbers: refused by name, or never certified wrongly."""

from __future__ import annotations

import math

import pyomo.environ as pyo
import pytest

from tests.inside.solvers import SOLVERS
from tightmargin.formulations import psd
from tightmargin.solvers import NumberError, RefusedError, Verdict, solve

NAN, INF = math.nan, math.inf
TRUTH = -1.5  # of small_lp: x_0 + x_1 <= 1.5 alone matters


def small_lp(a: float = 1.0, b: float = 1.0, side: float = 1.5) -> pyo.ConcreteModel:
    """min -x_0 - x_1 over three rows and the box [0, 10]^2; `a`, `b`, `side` make up the first."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(0, 10))
    m.first = pyo.Constraint(expr=a * m.x[0] + b * m.x[1] <= side)
    m.second = pyo.Constraint(expr=m.x[0] + 2 * m.x[1] <= 8)
    m.third = pyo.Constraint(expr=3 * m.x[0] + m.x[1] <= 9)
    m.objective = pyo.Objective(expr=-m.x[0] - m.x[1])
    return m


def is_honest(model: pyo.ConcreteModel, solver: str, truth: float) -> bool:
    """Refused with a reason, not certified, or right."""
    try:
        result = solve(model, solver)
    except RefusedError:
        return True
    if result.certificate.verdict is Verdict.NOT_CERTIFIED:
        return True
    return result.objective == pytest.approx(truth, abs=1e-5 * max(1.0, abs(truth)))


@pytest.mark.parametrize("solver", SOLVERS)
def test_huge_and_tiny_numbers_are_never_certified_wrongly(solver: str) -> None:
    """size * x_0 + x_1 <= 1.5 leaves x_0 <= 1.5 / size, and x_1 <= 1.5; -1e22 x_0 leaves x_0 = 1.5.

    A solver that gives up must not raise as it likes.
    """
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    for size in (1e3, 1e7, 1e10, 1e14, 2e15):
        assert is_honest(small_lp(a=size), solver, TRUTH), size
    for size in (1e-6, 1e-9, 1e-10, 1e-12):
        assert is_honest(small_lp(size, size, 1.5 * size), solver, TRUTH), size
    assert is_honest(spoilt("cost", -1e22), solver, -1.5e22)


@pytest.mark.parametrize(("solver", "size"), [("highs", 1e-9), ("scip", 1e-12), ("scip", 2e15)])
def test_row_12_coefficients_a_solver_loses_are_refused_by_name(solver: str, size: float) -> None:
    with pytest.raises(NumberError) as refusal:
        solve(small_lp(size, size, 1.5 * size), solver)
    sentence = str(refusal.value)
    lost = f"{solver} would silently drop or reject the coefficient {size:g} of x[0] in row first"
    for words in (lost, "magnitudes between 1e-09 and 1e+15", "normalise=zscore", "clarabel"):
        assert words in sentence


def test_auto_moves_on_to_a_solver_that_keeps_the_coefficients() -> None:
    result = solve(small_lp(1e-10, 1e-10, 1.5e-10))
    assert result.solver != "highs"
    assert result.objective == pytest.approx(TRUTH, abs=1e-5)


def test_rounding_left_by_preprocessing_is_no_reason_to_refuse() -> None:
    """1e-17 beside 1 in a row is a zero that centring did not quite reach."""
    for solver in ("highs", "clarabel", "scip"):
        assert solve(small_lp(a=1e-17, side=3.0), solver).objective == pytest.approx(-5.0, abs=1e-6)


# --- every other place a number can be -----------------------------------------------------------


def spoilt(place: str, bad: float) -> pyo.ConcreteModel:
    model = small_lp()
    model.p = pyo.Param(initialize=1.0, mutable=True, within=pyo.Any)
    x = model.x
    match place:
        case "side":
            model.fourth = pyo.Constraint(expr=x[0] <= model.p)
        case "bound":
            x[0].setub(model.p)
        case "cost":
            model.objective.expr = bad * x[0] - x[1]
        case "constant":
            model.objective.expr = bad - x[1]
        case "square":
            model.fourth = pyo.Constraint(expr=bad * x[0] ** 2 + x[1] <= 1)
        case "Param":
            model.fourth = pyo.Constraint(expr=model.p * x[0] <= 1)
        case "fixed variable":
            x[0].fix(bad, skip_validation=True)
        case "semidefinite entry":
            psd(model, "matrix", [[x[0]], [bad * x[1], 1.0]])
    model.p.set_value(bad)
    return model


PLACES = {
    "cost": r"objective objective: coefficient of x\[0\]",
    "constant": "objective objective: constant term",
    "square": r"row fourth: coefficient of x\[0\] \* x\[0\]",
    "Param": r"row fourth: coefficient of x\[0\]",
    "fixed variable": "row first: constant term",
    "semidefinite entry": r"row matrix: coefficient of x\[1\]",
}


def test_numbers_that_are_none_are_refused_wherever_they_stand() -> None:
    """An upper side of +inf is no side; nan and -inf are refused, by Pyomo or by us."""
    for place, sentence in PLACES.items():
        for bad in (NAN, INF):
            with pytest.raises(NumberError, match=f"{sentence} is {bad}"):
                solve(spoilt(place, bad))
    for place in ("side", "bound"):
        for bad in (NAN, -INF):
            with pytest.raises(ValueError, match=r"x|fourth"):
                solve(spoilt(place, bad))
        assert solve(spoilt(place, INF)).objective == pytest.approx(TRUTH, abs=1e-6)
