"""Residuals of the optimality conditions are numbers, whatever a solver returned."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo

from tests.inside.solvers import Multipliers, classify, conditions, conic_form, standard_form


def residuals(x: float, price: float) -> dict[str, float]:
    """Of min 2 v, v >= 1 as a row, v in [0, 5], at a point and a multiplier of the row."""
    m = pyo.ConcreteModel()
    m.v = pyo.Var(bounds=(0, 5))
    m.objective = pyo.Objective(expr=2 * m.v)
    m.row = pyo.Constraint(expr=m.v >= 1)
    form = standard_form(m)
    duals = Multipliers(np.array([price]), np.zeros(1), {})
    return conditions(form, conic_form(form, classify(form)), duals, np.array([x]), 2.0)


def test_they_vanish_at_the_optimum_and_only_there() -> None:
    assert not any(residuals(1.0, 2.0).values())
    assert residuals(1.5, 2.0)["complementarity"] == 0.5
    assert residuals(1.0, 1.0)["stationarity"] > 0


def test_what_overflows_is_left_out() -> None:
    found = residuals(-1e169, 1e214)
    assert "complementarity" not in found
    assert found
    assert all(np.isfinite(value) for value in found.values())
