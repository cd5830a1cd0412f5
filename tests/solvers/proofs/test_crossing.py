"""Points between two others: proven where one equation changes sides and all else is held."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import Coordinates, StandardForm, crossing_point, standard_form
from tightmargin.solvers import Verdict


def model(**parts: Any) -> pyo.ConcreteModel:
    """x^2 + y^2 = 2 in the plane, and what is added."""
    made = pyo.ConcreteModel()
    made.x, made.y = pyo.Var(), pyo.Var()
    made.norm = pyo.Constraint(expr=made.x**2 + made.y**2 == 2)
    made.goal = pyo.Objective(expr=made.x + 2 * made.y)
    for name, expression in parts.items():
        made.add_component(name, pyo.Constraint(expr=expression(made)))
    return made


def at(*numbers: float) -> Coordinates:
    return np.array(numbers, dtype=float), {}


def form_of(**parts: Any) -> StandardForm:
    return standard_form(model(**parts))


SHORT, LONG = at(0.1, 1.4), at(0.1, 1.5)  # 1.97 and 2.26


def test_a_point_between_the_sides_of_an_equation_is_feasible() -> None:
    inside = form_of(more=lambda m: (m.y - 1.4375) ** 2 + m.x**2 <= 0.02)  # holds between its ends
    assert crossing_point(inside, SHORT, LONG) is not None
    found = crossing_point(form_of(), SHORT, LONG)
    assert found.exact
    assert found.between
    # No more than the dearer end, and so no less than the point, of y = sqrt(1.99).
    assert 0.1 + 2 * 1.99**0.5 <= found.varying == pytest.approx(3.1)
    assert "norm changes sides" in found.words


def test_ends_on_one_side_prove_nothing() -> None:
    assert crossing_point(form_of(), SHORT, SHORT) is None
    assert crossing_point(form_of(), LONG, at(3.0, 3.0)) is None
    assert crossing_point(form_of(), SHORT, at(np.nan, 1.0)) is None
    exact = (np.array([1.0, 1.0]), {0: Fraction(1), 1: Fraction(1)})
    assert crossing_point(form_of(), exact, exact) is not None  # on it


@pytest.mark.parametrize(
    "row",
    [
        lambda m: m.y <= 1.4375,  # one end misses it
        lambda m: m.x - 0.1 * m.y == -0.04,
        lambda m: m.x**2 + m.y**2 == 2.1,  # a second equation
        lambda m: (m.y - 1.4375) ** 2 >= 0.001,  # holds at both ends and not between them
    ],
)
def test_rows_that_do_not_hold_all_the_way_prove_nothing(row: Any) -> None:
    assert crossing_point(form_of(more=row), SHORT, LONG) is None


def test_whole_numbers_stay() -> None:
    made = model()
    made.k = pyo.Var(within=pyo.Integers)
    made.tie = pyo.Constraint(expr=made.k + made.x >= -5)
    form = standard_form(made)
    order = {c.name: j for j, c in enumerate(form.columns)}
    one, other = np.zeros(3), np.zeros(3)
    for end, y in ((one, 1.4), (other, 1.5)):
        end[order["x"]], end[order["y"]] = 0.1, y
    assert crossing_point(form, (one, {}), (other, {})) is not None
    other[order["k"]] = 1.0
    assert crossing_point(form, (one, {}), (other, {})) is None


def test_a_concave_objective_is_larger_between_its_ends() -> None:
    made = model()
    made.goal.deactivate()
    made.other = pyo.Objective(expr=-100 * (made.y - 1.4375) ** 2)
    found = crossing_point(standard_form(made), SHORT, LONG)
    assert found.varying >= -100 * ((1.99**0.5 - 1.4375) ** 2 - 1.4375**2)


def test_an_equation_without_rational_solutions_is_certified() -> None:
    made = model(line=lambda m: 3 * m.x == m.y)  # y = 3 / sqrt(5)
    result = tm.solve(made)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.objective == pytest.approx(-7 / 5**0.5, rel=1e-6)
    assert result.certificate.upper >= -7 / 5**0.5
