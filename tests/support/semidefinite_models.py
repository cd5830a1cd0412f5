"""Semidefinite models whose optima are known from elsewhere."""

from __future__ import annotations

import pyomo.environ as pyo

import tightmargin as tm
from benchmarks.time_limits import max_cut as max_cut
from tests.inside.formulations import Array


def least_eigenvalue(C: Array) -> pyo.ConcreteModel:
    """min <C, X> with trace 1 and X semidefinite, whose value is the least eigenvalue of C."""
    n = len(C)
    m = pyo.ConcreteModel()
    m.X = pyo.Var([(i, j) for i in range(n) for j in range(i + 1)])
    m.trace = pyo.Constraint(expr=sum(m.X[i, i] for i in range(n)) == 1)
    m.cost = pyo.Objective(
        expr=sum((1 if i == j else 2) * float(C[i, j]) * m.X[i, j] for i, j in m.X)
    )
    tm.psd(m, "S", [[m.X[i, j] for j in range(i + 1)] for i in range(n)])
    return m
