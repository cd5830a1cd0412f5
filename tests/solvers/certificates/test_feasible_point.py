"""Points of our own against a false "infeasible": found where there is one, and never else."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import Limits, classify, feasible_point, primal_residual, standard_form
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


def without_a_point(kind: str) -> pyo.ConcreteModel:
    """Rows that contradict, a disc beside a line, 2 x = 1 in whole numbers, a sphere in a box."""
    if kind == "rows":
        return tm.hard_margin_svc(DATA)
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(-2, 2))
    square = m.x[0] ** 2 + m.x[1] ** 2
    m.objective = pyo.Objective(expr=m.x[1])
    if kind == "cone":
        m.disc, m.line = pyo.Constraint(expr=square <= 1), pyo.Constraint(expr=m.x[0] >= 1.5)
    elif kind == "sphere":
        m.sphere = pyo.Constraint(expr=square == 9)
    else:
        m.x.domain = pyo.Integers
        m.row = pyo.Constraint(expr=2 * m.x[0] == 1)
    return m


@pytest.mark.parametrize("kind", ["rows", "cone", "integers", "sphere"])
def test_an_infeasible_model_has_none(kind: str) -> None:
    assert point_of(without_a_point(kind)) is None
