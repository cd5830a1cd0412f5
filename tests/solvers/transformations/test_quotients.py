"""Quadratic over linear terms of an objective: read as cones where they are convex."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.formulations import dot
from tests.inside.solvers import clarabel, classify, standard_form, without_quotients
from tightmargin.formulations import ProblemClass
from tightmargin.solvers import SolveResult, Status, Verdict


def plane(low: float | None = 0.0) -> pyo.ConcreteModel:
    """Variables x >= 3, v >= 4 and y, whose lower bound is given."""
    m = pyo.ConcreteModel()
    m.x, m.v, m.y = pyo.Var(bounds=(3, None)), pyo.Var(bounds=(4, None)), pyo.Var(bounds=(low, 50))
    m.cost = pyo.Param(initialize=2.0, mutable=True)
    return m


def certified(model: pyo.ConcreteModel, **how: Any) -> SolveResult:
    result = tm.solve(model, absolute_gap=1e-8, **how)  # one optimum is 0
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate
    return result


def class_of(model: pyo.ConcreteModel) -> ProblemClass:
    return classify(standard_form(without_quotients(model))).problem_class


# Objective of x = 3, v = 4 and a y to be chosen, with its least value by hand: a / y + b y has the
# least value 2 sqrt(a b).
CONVEX: dict[str, tuple[Any, float]] = {
    "a square over a variable": (lambda m: m.x**2 / m.y + m.y, 6.0),
    "with a cost": (lambda m: m.cost * m.x**2 / m.y + 8 * m.y, 24.0),
    "a difference twice": (lambda m: m.y - (-(m.x**2) / m.y), 6.0),
    "affine parts": (lambda m: (m.x + 2 * m.v - 1) ** 2 / (m.y + 2) + m.y + 2, 20.0),
    "a divisor that falls": (lambda m: m.x**2 / (50 - m.y) - m.y + 50, 6.0),
    "two quotients": (lambda m: m.x**2 / m.y + m.v**2 / (2 * m.y) + m.y / 2, 2 * np.sqrt(8.5)),
}


@pytest.mark.parametrize("name", CONVEX)
def test_a_convex_quotient_has_its_optimum_by_hand(name: str) -> None:
    expression, expected = CONVEX[name]
    m = plane()
    m.goal = pyo.Objective(expr=expression(m))
    written = str(m.goal.expr)
    assert class_of(m) is ProblemClass.SOCP
    result = certified(m)
    assert result.objective == pytest.approx(expected, rel=1e-6)
    assert result.solver == "clarabel"
    # The model is left as it was, and holds the point.
    assert str(m.goal.expr) == written
    assert not list(m.component_objects(pyo.Constraint))
    assert pyo.value(m.goal) == pytest.approx(expected, rel=1e-5)


def test_single_quotients() -> None:
    m = plane()
    m.goal = pyo.Objective(expr=-(m.x**2) / m.y - m.y, sense=pyo.maximize)
    result = certified(m)
    assert result.objective == pytest.approx(-6.0, rel=1e-6)
    assert result.bound == pytest.approx(-6.0, rel=1e-5)
    m = plane()
    m.u = pyo.Var(range(3), bounds=(1, None))  # a sum that is kept as an array may be the base
    m.quotients = pyo.Var(bounds=(1, 2))  # called as the cones are
    goal = dot(np.array([1.0, 2.0, 3.0]), m.u) ** 2 / m.y + m.y + m.quotients
    m.goal = pyo.Objective(expr=goal)
    result = certified(m)
    assert result.objective == pytest.approx(13.0, rel=1e-6)
    assert result.values["quotients"] == pytest.approx(1.0, abs=1e-6)
    (value,) = (array for name, array in result.values.items() if name.endswith(".value"))
    assert value == pytest.approx([6.0], rel=1e-4)
    m = plane()  # x^2 / y + y + x is at least 3 y / 4, and y may be 0 where x is: the limit
    m.x.setlb(None)
    m.goal = pyo.Objective(expr=m.x**2 / m.y + m.y + m.x)
    result = certified(m)
    assert result.objective == pytest.approx(0.0, abs=1e-7)
    assert result.values["y"] == pytest.approx(0.0, abs=1e-6)


def test_changed_params_and_fixed_parts_change_the_next_optimum() -> None:
    m = plane()
    m.goal = pyo.Objective(expr=m.cost * m.x**2 / m.y + 8 * m.y)
    assert certified(m).objective == pytest.approx(24.0, rel=1e-6)
    m.cost.set_value(0.5)
    assert certified(m).objective == pytest.approx(12.0, rel=1e-6)
    m.cost.set_value(0.0)
    assert certified(m).objective == pytest.approx(0.0, abs=1e-6)
    m.cost.set_value(1.0)
    m.y.fix(2.0)
    assert certified(m).objective == pytest.approx(9 / 2 + 16, rel=1e-6)
    m.y.unfix()
    m.x.fix(6.0)
    assert certified(m).objective == pytest.approx(2 * np.sqrt(36 * 8), rel=1e-6)


LEFT_ALONE: dict[str, Any] = {
    "a divisor that may be negative": lambda m: m.x**2 / (m.y - 1) + m.y,
    "a reward": lambda m: m.y - m.x**2 / m.y,
    "a quotient without a square": lambda m: m.x / m.y + m.y,
    "a product of two": lambda m: m.x * m.v / m.y + m.y,
    "a square that is no quotient's": lambda m: m.x**4 / m.y + m.y,
    "a square divisor": lambda m: m.x**2 / m.y**2 + m.y,
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_is_not_known_to_be_convex_is_left_alone(name: str) -> None:
    m = plane()
    m.goal = pyo.Objective(expr=LEFT_ALONE[name](m))
    assert without_quotients(m) is m
    assert class_of(m) is ProblemClass.NONCONVEX


def test_models_without_quotients_are_not_copied() -> None:
    unbounded = plane(low=None)  # a cone would bound y: the least would be 6, and there is none
    unbounded.goal = pyo.Objective(expr=unbounded.x**2 / unbounded.y + unbounded.y)
    assert without_quotients(unbounded) is unbounded
    m = plane()
    assert without_quotients(m) is m
    m.goal = pyo.Objective(expr=m.x**2 / 4 + m.cost * m.y / m.cost)
    assert without_quotients(m) is m
    m.other = pyo.Objective(expr=m.x**2 / m.y)
    assert without_quotients(m) is m


DATA = tm.TrainingData(np.random.default_rng(0).standard_normal((10, 2)), np.tile([1, -1], 5))


def test_a_point_that_is_forged_is_not_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of the quotients are found anew from w, b and W, whatever the solver says."""
    honest = clarabel.run

    def lying(form: Any, *rest: Any) -> Any:
        claim = honest(form, *rest)
        at = [k for k, name in enumerate(form.columns.names()) if name.startswith("quotients")]
        claim.x[at] = 0.0
        return claim

    monkeypatch.setattr(clarabel, "run", lying)
    result = tm.solve(tm.conic_sdp_eliminated(DATA, penalty=1.0), "clarabel")
    monkeypatch.undo()
    expected = tm.solve(tm.conic_sdp(DATA, penalty=1.0)).objective
    assert result.objective == pytest.approx(expected, rel=1e-6)
    assert result.status is Status.OPTIMAL
