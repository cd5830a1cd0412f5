"""From points that miss their rows by a solver's tolerances to exactly feasible ones nearby."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import (
    FeasiblePoint,
    Limits,
    Search,
    StandardForm,
    _along,
    classify,
    equations_of,
    exact_point,
    near_point,
    standard_form,
)
from tightmargin.solvers import Verdict


def repaired(form: StandardForm, x: Any) -> FeasiblePoint | None:
    return exact_point(form, classify(form), np.array(x, dtype=float), Limits(threads=1))


def model(**bounds: Any) -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    for name, pair in bounds.items():
        m.add_component(name, pyo.Var(bounds=pair))
    return m


FREE, POSITIVE = (None, None), (0, None)


def test_rows_that_together_imply_an_equation_are_solved_as_one() -> None:
    """No point is inside both rows, and 0.7 / 0.3 is no double."""
    m = model(x=FREE, y=FREE, t=POSITIVE)
    m.above = pyo.Constraint(expr=0.1 * m.x + 0.3 * m.y >= 0.7)
    m.below = pyo.Constraint(expr=0.1 * m.x + 0.3 * m.y <= 0.7)
    m.cone = pyo.Constraint(expr=m.x**2 + m.y**2 <= m.t)
    m.goal = pyo.Objective(expr=m.t)
    result = tm.solve(m, "clarabel")
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate
    assert result.objective == pytest.approx(4.9, rel=1e-6)  # 0.7^2 / (0.1^2 + 0.3^2)


def test_equations_are_solved_in_rational_numbers() -> None:
    """3 x + 3 y = 2 and x = y has the solution 1/3, and z = 1 - x: a contradiction has none."""
    m = model(x=(0, 1), y=(0, 1), z=(0, 1))
    m.rows = pyo.ConstraintList()
    m.rows.add(3 * m.x + 3 * m.y == 2)
    m.rows.add(m.x - m.y == 0)
    m.rows.add(m.x + m.z == 1)
    m.goal = pyo.Objective(expr=m.x)
    found = repaired(standard_form(m), [1 / 3 + 1e-9, 1 / 3 - 1e-9, 2 / 3])
    assert found.x == pytest.approx([1 / 3, 1 / 3, 2 / 3], rel=1e-15)
    assert found.varying >= 1 / 3
    assert found.varying == pytest.approx(1 / 3, rel=1e-11)
    assert repaired(standard_form(m), [np.nan, 0.0, 0.0]) is None
    m.rows.add(m.x == 1 / 3)
    assert repaired(standard_form(m), [1 / 3, 1 / 3, 2 / 3]) is None


def test_integers_are_rounded_and_the_rest_is_repaired() -> None:
    """w x >= 1 - 5 z and sum z = 1: the equation has no column to be solved for, and needs none."""
    m = pyo.ConcreteModel()
    m.w, m.z = pyo.Var(bounds=(None, 1)), pyo.Var(range(3), domain=pyo.Binary)
    points = (1.0, 2.0, -1.0)
    m.row = pyo.Constraint(range(3), rule=lambda m, i: points[i] * m.w + 5 * m.z[i] >= 1)
    m.total = pyo.Constraint(expr=sum(m.z.values()) == 1)
    m.goal = pyo.Objective(expr=m.w**2 + sum(m.z.values()))
    form = standard_form(m)
    for w in (1 - 1e-8, 1 + 1e-9):
        found = repaired(form, [w, 1e-9, 1e-9, 1 - 1e-9])
        assert found.exact
        assert found.x.tolist() == pytest.approx([1.0, 0.0, 0.0, 1.0], abs=1e-7)
        assert found.x[1:].tolist() == [0.0, 0.0, 1.0]
        assert 2.0 <= found.varying <= 2.0 + 1e-7
    assert repaired(form, [1.0, 0.0, 0.0, 0.0]) is None


def test_no_point_is_made_up_where_there_is_none() -> None:
    """Seven coordinates of at most 1/7 rounded down never sum to 1: near, and nothing more."""
    assert 7 * Fraction(1 / 7) < 1
    m = pyo.ConcreteModel()
    m.a = pyo.Var(range(7), bounds=(0, 1 / 7))
    m.total = pyo.Constraint(expr=sum(m.a.values()) == 1)
    m.goal = pyo.Objective(expr=m.a[0])
    form = standard_form(m)
    x = np.full(7, 1 / 7)
    assert repaired(form, x) is None
    near = near_point(form, x)
    assert 0 < near.eps <= 1e-15
    assert near.worst == "row total"
