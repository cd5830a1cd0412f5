"""What a missing bound is said to need: limits or a price of the variable that has neither."""

from __future__ import annotations

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import Case, Limits, Subject, _without_limits, standard_form

DATA = tm.TrainingData([[0.0], [1.0], [3.0]], [-1, 1, 1])


def said(model: pyo.ConcreteModel) -> str:
    return _without_limits(Case(model, Subject(standard_form(model)), None, Limits()))


def test_a_free_intercept_is_named_with_the_row_to_write() -> None:
    words = said(tm.c_svc(DATA, C=1.0))
    assert words.endswith(": b needs a row -B <= b <= B that keeps an optimum, or a price")


@pytest.mark.parametrize("intercept", ["penalised", "none"])
def test_an_intercept_with_a_price_is_not(intercept: str) -> None:
    assert said(tm.c_svc(DATA, C=1.0, intercept=intercept)).endswith("a variable without a limit")


def test_nor_is_one_with_limits() -> None:
    model = tm.c_svc(DATA, C=1.0)
    model.b.setlb(-9)
    model.b.setub(9)
    assert said(model).endswith("a variable without a limit")
