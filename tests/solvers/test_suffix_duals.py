"""A Suffix `dual` of the user's is filled as Pyomo's own solvers fill it."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.experiments import outlier_data

DATA = outlier_data("clustered", n=12, d=2, sigma=0.4, seed=1)


def small(sense: Any) -> pyo.ConcreteModel:
    """max 3 x + 2 y in a triangle, or the least of minus that: multipliers 1 and 1 by hand."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(0, None))
    m.first = pyo.Constraint(expr=2 * m.x + m.y <= 8)
    m.second = pyo.Constraint(expr=-m.x - m.y >= -5)
    m.third = pyo.Constraint(expr=m.x - m.y == 1)
    m.third.deactivate()
    sign = 1 if sense == pyo.maximize else -1
    m.goal = pyo.Objective(expr=sign * (3 * m.x + 2 * m.y), sense=sense)
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    return m


@pytest.mark.parametrize("sense", [pyo.maximize, pyo.minimize])
def test_multipliers_and_reduced_costs_have_the_sign_of_pyomo(sense: Any) -> None:
    ours, theirs = small(sense), small(sense)
    assert tm.solve(ours).objective == pytest.approx(13.0 if sense == pyo.maximize else -13.0)
    pyo.SolverFactory("highs").solve(theirs)
    for name, hand in (("first", 1.0), ("second", -1.0)):
        value = ours.dual[ours.find_component(name)]
        assert value == pytest.approx(theirs.dual[theirs.find_component(name)], abs=1e-7)
        assert value == pytest.approx(hand if sense == pyo.maximize else -hand, abs=1e-7)
    assert ours.third not in ours.dual
    for m in (ours, theirs):
        m.second.deactivate()
        m.y.setub(2.0)  # at x = 3 and y = 2 with 1.5 on the first row: 2 - 1.5 for y by hand
        m.rc = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    assert "rc" not in tm.solve(ours).message
    pyo.SolverFactory("highs").solve(theirs)
    for name, hand in (("x", 0.0), ("y", 0.5)):
        value = ours.rc[ours.component(name)]
        assert value == pytest.approx(theirs.rc[theirs.component(name)], abs=1e-7)
        assert value == pytest.approx(hand if sense == pyo.maximize else -hand, abs=1e-7)


def test_reduced_costs_that_there_are_none_of_are_a_sentence() -> None:
    m = small(pyo.maximize)
    m.rc = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    m.x.domain = pyo.Integers
    assert "Suffix rc is empty" in tm.solve(m).message
    m.x.domain = pyo.Reals
    m.disc = pyo.Constraint(expr=m.x**2 + m.y**2 <= 100)
    assert "Suffix rc is empty" in tm.solve(m).message
    assert not m.rc


def test_a_suffix_holds_the_last_solve_or_what_it_was_given() -> None:
    model = tm.hard_margin_svc(DATA)
    model.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    model.dual[model.margin[0]] = 7.0
    assert tm.solve(model).status == "infeasible"
    assert len(model.dual) == 0, "without multipliers nothing of an earlier solve is left"
    model = tm.c_svc(DATA, C=1.0)
    model.dual = pyo.Suffix(direction=pyo.Suffix.EXPORT)
    model.dual[model.margin[0]] = 7.0
    tm.solve(model)
    assert dict(model.dual.items()) == {model.margin[0]: 7.0}, "it takes nothing"
