"""Points of our own against a false "infeasible": found where there is one, and never else."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import (
    Limits,
    _occurs,
    classify,
    feasible_point,
    primal_residual,
    standard_form,
)
from tests.support.lying_solver import DATA, SUBJECTS


def point_of(model: pyo.ConcreteModel) -> np.ndarray | None:
    form = standard_form(model)
    found = feasible_point(form, classify(form), Limits(threads=1))
    if found is None:
        return None
    x, residual = found
    assert residual == primal_residual(form, x)[0] <= 1e-9
    return x


@pytest.mark.parametrize("subject", list(SUBJECTS))
def test_every_feasible_model_has_a_point(subject: str) -> None:
    """Whole numbers where they are asked for: the residual counts integrality."""
    assert point_of(SUBJECTS[subject].build()) is not None


def test_the_point_that_the_user_gave_is_looked_at_first() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(initialize=7.0, within=pyo.Integers)
    m.odd = pyo.Constraint(expr=pyo.sin(m.x) ** 2 <= 0.9)
    m.objective = pyo.Objective(expr=m.x)
    assert point_of(m) == [7.0]


def disc_and_line() -> pyo.ConcreteModel:
    """The unit disc and a line at distance 1.5."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2))
    m.disc = pyo.Constraint(expr=m.x[0] ** 2 + m.x[1] ** 2 <= 1)
    m.line = pyo.Constraint(expr=m.x[0] >= 1.5)
    m.objective = pyo.Objective(expr=m.x[1])
    return m


def half_a_whole() -> pyo.ConcreteModel:
    """2 x = 1 in whole numbers: every relaxation has a point."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(within=pyo.Integers, bounds=(0, 1))
    m.row = pyo.Constraint(expr=2 * m.x == 1)
    m.objective = pyo.Objective(expr=m.x)
    return m


def sphere_in_a_box() -> pyo.ConcreteModel:
    """The sphere of radius 3 and the unit box."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(-1, 1))
    m.sphere = pyo.Constraint(expr=m.x[0] ** 2 + m.x[1] ** 2 == 9)
    m.objective = pyo.Objective(expr=m.x[0])
    return m


@pytest.mark.parametrize(
    "build",
    [lambda: tm.hard_margin_svc(DATA), disc_and_line, half_a_whole, sphere_in_a_box],
    ids=["rows", "cone", "integers", "sphere"],
)
def test_an_infeasible_model_has_none(build: Callable[[], pyo.ConcreteModel]) -> None:
    assert point_of(build()) is None


def test_only_columns_that_nothing_mentions_may_be_missing_from_an_answer() -> None:
    m = pyo.ConcreteModel()
    m.objective_linear, m.objective_square = pyo.Var(), pyo.Var()
    m.in_row, m.in_cone, m.in_sine, m.nowhere = pyo.Var(), pyo.Var(), pyo.Var(), pyo.Var()
    m.row = pyo.Constraint(expr=m.in_row >= 1)
    m.cone = pyo.Constraint(expr=m.in_cone**2 <= 1)
    m.sine = pyo.Constraint(expr=pyo.sin(m.in_sine) <= 0.5)
    m.objective = pyo.Objective(expr=m.objective_linear + m.objective_square**2)
    form = standard_form(m)
    seen = {v.name for v, there in zip(form.columns, _occurs(form), strict=True) if not there}
    assert seen <= {"nowhere"}
    assert int(_occurs(form).sum()) == 5
