"""exp, log and entropy in edits: Clarabel's cone where they are convex, else a refusal by name."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tightmargin.solvers import Verdict

Edit = Callable[[pyo.ConcreteModel], None]


def two(edit: Edit) -> pyo.ConcreteModel:
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(), pyo.Var()
    edit(model)
    return model


def fixed_inside(m: Any) -> None:
    m.y.fix(2.0)
    m.cost = pyo.Objective(expr=pyo.exp(m.x * m.y) - m.x)


def named_term(m: Any) -> None:
    m.term = pyo.Expression(expr=pyo.exp(m.x))
    m.cost = pyo.Objective(expr=3 * m.term - m.x + (m.y - 1) ** 2)


def entropy_of_a_sum(m: Any) -> None:
    m.cost = pyo.Objective(expr=(3 * m.x + 3) * pyo.log(m.x + 1) + m.x + m.y**2)


# More of them, with the files of their proofs: tests/conformance/exponential_problems.py.
CLOSED_FORMS: list[tuple[Edit, float]] = [
    (fixed_inside, (1 + math.log(2.0)) / 2),
    (named_term, 1 + math.log(3.0)),
    (entropy_of_a_sum, -3 * math.exp(-4 / 3) - 1),
]


@pytest.mark.parametrize(("edit", "optimum"), CLOSED_FORMS)
def test_a_convex_term_is_solved_and_proven(edit: Edit, optimum: float) -> None:
    found = tm.solve(two(edit))
    assert found.solver == "clarabel"
    assert found.objective == pytest.approx(optimum, rel=1e-6, abs=1e-6)
    assert found.certificate.verdict is Verdict.CERTIFIED
    rounding = 1e-15 * abs(optimum)
    assert found.bound <= optimum + rounding
    assert found.certificate.upper >= optimum - rounding
    assert "exponential cone" in found.message
    assert found.problem_class == "EXP"


def test_integers_beside_exp_go_to_scip() -> None:
    model = two(lambda m: None)
    model.cost = pyo.Objective(expr=pyo.exp(model.x) + pyo.exp(-model.x))
    model.k = pyo.Var(within=pyo.Integers, bounds=(1, 5))
    model.row = pyo.Constraint(expr=model.x >= 0.5 * model.k)
    assert tm.solve(model).objective == pytest.approx(2 * math.cosh(0.5), rel=1e-5)


def test_where_a_logarithm_has_no_value_only_the_result_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    monkeypatch.setattr(logging.getLogger("pyomo.common.numeric_types"), "error", told.append)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 0.5))
    model.cost = pyo.Objective(expr=-model.x * pyo.log(model.x))
    found = tm.solve(model, time_limit=10)
    assert found.objective is None
    assert "the objective is nan at the point" in found.certificate.reason
    assert not told


def test_the_plugin_of_pyomo_takes_it_too_and_leaves_the_model_as_it_was() -> None:
    model = two(lambda m: None)
    model.row = pyo.Constraint(expr=model.x + model.y >= 1)
    model.cost = pyo.Objective(expr=pyo.log(pyo.exp(model.x) + pyo.exp(model.y)))
    before = str(model.cost.expr), [part.name for part in model.component_objects()]
    results = pyo.SolverFactory("clarabel").solve(model)
    assert pyo.value(model.cost) == pytest.approx(0.5 + math.log(2.0), rel=1e-6)
    assert results.problem.upper_bound == pytest.approx(0.5 + math.log(2.0), rel=1e-6)
    assert (str(model.cost.expr), [part.name for part in model.component_objects()]) == before
