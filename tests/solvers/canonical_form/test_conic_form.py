"""Linear rows of the conic form: which row of the model stands where, and with which sign."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo

from tests.inside.solvers import classify, conic_form, standard_form


def test_rows_come_by_kind_in_the_order_of_the_model() -> None:
    """Of rows k * x0 + x1: k tells them apart."""
    kinds = "=<>=<>"
    m = pyo.ConcreteModel()
    m.x = pyo.Var([0, 1])
    m.rows = pyo.ConstraintList()
    for k, kind in enumerate(kinds, start=2):
        body = k * m.x[0] + m.x[1]
        m.rows.add({"=": body == k, "<": body <= k, ">": body >= k}[kind])
    m.objective = pyo.Objective(expr=m.x[0])
    form = standard_form(m)
    before = form.A.toarray()
    conic = conic_form(form, classify(form))
    expected = [
        [sign * k, sign, sign * k]
        for kind, sign in (("=", 1), (">", -1), ("<", 1))
        for k, found in enumerate(kinds, start=2)
        if found == kind
    ]
    assert np.column_stack([conic.A.toarray(), conic.b]).tolist() == expected
    conic.A.data[:] = 0.0  # nobody's memory but its own
    assert form.A.toarray().tolist() == before.tolist()
