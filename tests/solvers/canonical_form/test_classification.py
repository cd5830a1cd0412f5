"""The class of a model from its rows, and quadratic rows as the cones they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.inside.solvers import Shape, classify, standard_form
from tightmargin.formulations import ProblemClass, psd

LP, QP, SOCP, SDP = ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP
MILP, MIQP, MISOCP = ProblemClass.MILP, ProblemClass.MIQP, ProblemClass.MISOCP
LRCP, NONCONVEX = ProblemClass.LRCP, ProblemClass.NONCONVEX


def base(kind: Any = pyo.Reals) -> pyo.ConcreteModel:
    """Three variables in [0, 4], two free ones, one integer or not, and a linear objective."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(3), bounds=(0, 4))
    m.f = pyo.Var(range(2))
    m.n = pyo.Var(within=kind, bounds=(0, 3))
    m.goal = pyo.Objective(expr=m.x[0] + m.x[1] + m.f[0] + m.n)
    m.line = pyo.Constraint(expr=m.x[0] + m.f[0] + m.n >= 1)
    return m


def problem_class(model: pyo.ConcreteModel) -> ProblemClass:
    return classify(standard_form(model)).problem_class


def with_row(rule: Callable[[pyo.ConcreteModel], Any], kind: Any = pyo.Reals) -> pyo.ConcreteModel:
    m = base(kind)
    m.row = pyo.Constraint(expr=rule(m))
    return m


ROWS: dict[str, tuple[Callable[[pyo.ConcreteModel], Any], ProblemClass]] = {
    "linear": (lambda m: m.x[0] + 2 * m.x[1] <= 3, LP),
    "ball": (lambda m: m.f[0] ** 2 + m.f[1] ** 2 <= 1, SOCP),
    "parabola": (lambda m: m.f[0] ** 2 <= m.f[1], SOCP),
    "ellipsoid": (lambda m: 2 * m.f[0] ** 2 + m.f[0] * m.f[1] + m.f[1] ** 2 <= 1, SOCP),
    "scaled norm cone": (lambda m: m.f[0] ** 2 <= 9 * m.x[0] ** 2, SOCP),
    "rotated cone, two squares": (lambda m: m.f[0] ** 2 + m.f[1] ** 2 <= m.x[0] * m.x[1], SOCP),
    "hyperbola": (lambda m: m.x[0] * m.x[1] >= 1, SOCP),
    "complement": (lambda m: m.f[0] ** 2 <= m.x[0] * (4 - m.x[1]), SOCP),
    "both factors negative": (lambda m: m.f[0] ** 2 <= (m.x[0] - 4) * (m.x[1] - 4), SOCP),
    "a negative multiple": (lambda m: m.f[0] ** 2 + 1 <= -2 * m.x[0] * (m.x[1] - 4), SOCP),
    "one factor negative": (lambda m: m.f[0] ** 2 <= m.x[0] * (m.x[1] - 4), NONCONVEX),
    "product of free variables": (lambda m: m.f[0] * m.f[1] >= 1, NONCONVEX),
    "product from above": (lambda m: m.x[0] * m.x[1] <= 1, NONCONVEX),
    "factor that may be negative": (lambda m: m.f[0] ** 2 <= m.x[0] * (3 - m.x[1]), NONCONVEX),
    "shell": (lambda m: (1, m.f[0] ** 2 + m.f[1] ** 2, 2), NONCONVEX),
    "sphere": (lambda m: m.f[0] ** 2 + m.f[1] ** 2 == 1, NONCONVEX),
    "two products": (lambda m: m.x[0] * m.x[1] + m.x[1] * m.x[2] >= 1, NONCONVEX),
    "outside of a ball": (lambda m: m.f[0] ** 2 + m.f[1] ** 2 >= 1, LRCP),
    "cubic": (lambda m: m.x[0] ** 3 <= 1, NONCONVEX),
    "exponential": (lambda m: pyo.exp(m.x[0]) <= 2, ProblemClass.EXP),
}
GOALS: dict[str, tuple[Callable[[pyo.ConcreteModel], Any], dict[str, Any], ProblemClass]] = {
    "constant": (lambda m: 0.0 * m.x[0], {}, LP),
    "semidefinite": (lambda m: (m.f[0] - m.f[1]) ** 2, {}, QP),
    "concave, maximised": (lambda m: -(m.f[0] ** 2) + m.x[0], {"sense": pyo.maximize}, QP),
    "convex, maximised": (lambda m: m.x[0] ** 2, {"sense": pyo.maximize}, NONCONVEX),
    "product": (lambda m: m.x[0] * m.x[1], {}, NONCONVEX),
    "exponential": (lambda m: pyo.exp(m.x[0]), {}, ProblemClass.EXP),
    "exponential, maximised": (lambda m: pyo.exp(m.x[0]), {"sense": pyo.maximize}, NONCONVEX),
}


KINDS = (pyo.Integers, pyo.Binary, pyo.NonNegativeIntegers)
INTEGER = {LP: MILP, QP: MIQP, SOCP: MISOCP}


@pytest.mark.parametrize("name", ROWS)
def test_class_of_a_row(name: str) -> None:
    rule, expected = ROWS[name]
    assert problem_class(with_row(rule)) is expected
    kind = KINDS[list(ROWS).index(name) % 3]
    found = classify(standard_form(with_row(rule, kind)))
    assert found.problem_class is INTEGER.get(expected, NONCONVEX)
    assert ("row" in found.reason) or found.problem_class is not NONCONVEX


@pytest.mark.parametrize("name", GOALS)
def test_class_of_an_objective(name: str) -> None:
    rule, how, expected = GOALS[name]
    for kind, found in ((pyo.Reals, expected), (pyo.Binary, INTEGER.get(expected, NONCONVEX))):
        m = base(kind)
        m.goal.deactivate()
        m.other = pyo.Objective(expr=rule(m), **how)
        assert problem_class(m) is found


def test_a_matrix_is_stronger_than_a_ball_and_needs_no_integers() -> None:
    m = with_row(ROWS["ball"][0])
    psd(m, "matrix", [[m.x[0]], [m.f[0], m.x[1]]])
    assert problem_class(m) is SDP
    m.n.domain = pyo.Integers
    found = classify(standard_form(m))
    assert found.problem_class is NONCONVEX
    assert "integer variables beside a semidefinite row" in found.reason


def test_a_reverse_row_needs_company_of_lines_only() -> None:
    m = with_row(ROWS["outside of a ball"][0])
    assert problem_class(m) is LRCP
    m.ball = pyo.Constraint(expr=m.f[0] ** 2 + m.f[1] ** 2 <= 4)
    assert problem_class(m) is NONCONVEX
    m.ball.deactivate()
    m.second = pyo.Constraint(expr=m.x[0] ** 2 >= 1)
    assert problem_class(m) is NONCONVEX
    m.second.deactivate()
    m.goal.expr += m.f[0] ** 2
    assert problem_class(m) is NONCONVEX


@pytest.mark.parametrize("name", [name for name, (_, kind) in ROWS.items() if kind is SOCP])
def test_a_cone_holds_exactly_the_points_of_its_row(name: str) -> None:
    m = with_row(ROWS[name][0])
    form = standard_form(m)
    (row,) = form.quadratic
    (reading,) = classify(form).readings
    assert reading.shape is Shape.CONVEX
    rng = np.random.default_rng(0)
    low, high = np.maximum(form.lower, -4.0), np.minimum(form.upper, 4.0)
    seen = {True: 0, False: 0}
    for _ in range(400):
        x = low + (high - low) * rng.uniform(size=form.n) * rng.choice([0.3, 1.0])
        value = row.body.at(x)
        slack = min(value - row.lower, row.upper - value)
        if abs(slack) > 1e-9:
            point = reading.cone.A @ x[reading.cone.index] + reading.cone.b
            assert (point[0] > np.linalg.norm(point[1:])) == (slack > 0)
            seen[slack > 0] += 1
    assert seen[True] > 5
    if name != "both factors negative":
        assert seen[False] > 5
