"""Disjunctions, products with binaries and numbers of functions are read as they are meant."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunct, Disjunction

import tightmargin as tm

DATA = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)


def edited(edit: Callable[[Any], None]) -> pyo.ConcreteModel:
    model = tm.c_svc(DATA, C=1.0)
    edit(model)
    return model


def test_a_disjunct_of_a_disjunction_is_read() -> None:
    def either(m: Any) -> None:
        m.w.setlb(-9)
        m.w.setub(9)
        m.low, m.high = Disjunct(), Disjunct()
        m.low.row = pyo.Constraint(expr=m.w[0] <= -1)
        m.high.row = pyo.Constraint(expr=m.w[0] >= 1)
        m.one = Disjunction(expr=[m.low, m.high])

    halves = []
    for low in (True, False):
        model = tm.c_svc(DATA, C=1.0)
        w = model.w[0]
        model.row = pyo.Constraint(expr=w <= -1 if low else w >= 1)
        halves.append(tm.solve(model).objective or np.inf)
    assert tm.solve(edited(either)).objective == pytest.approx(min(halves), rel=1e-6)


def test_a_number_that_does_exist_is_read() -> None:
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var(bounds=(-5, 5))
    m.x.fix(4.0)
    m.p = pyo.Param(initialize=4.0, mutable=True)
    m.goal = pyo.Objective(expr=pyo.log(m.x) + pyo.sqrt(m.p) * abs(m.y) + m.y**2)
    assert tm.solve(m).objective == pytest.approx(math.log(4.0), rel=1e-7)
