"""Rows 12 and 22: coefficients and cuts that a solver would lose are refused by name.

Scaled data keep their answer: tests/metamorphic/test_row_12_scaling.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.support.covering import FULL
from tightmargin.solvers import LiveLP, NumberError, Status


def program(size: float) -> Any:
    """max x_0 + x_1 with one small or large row: a whole column of them could be scaled away."""
    m: Any = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(0, 10))
    m.row = pyo.Constraint(expr=size * m.x[0] + size * m.x[1] <= 1.5 * size)
    m.other = pyo.Constraint(expr=m.x[0] + 2 * m.x[1] <= 8)
    m.objective = pyo.Objective(expr=-m.x[0] - m.x[1])
    return m


@pytest.mark.parametrize(("solver", "size"), [("highs", 1e-9), ("scip", 1e15)])
def test_row_12_what_a_solver_would_lose_is_refused_by_name(size: float, solver: str) -> None:
    with pytest.raises(NumberError) as refusal:
        tm.solve(program(size), solver)
    for words in (
        f"{solver} would silently drop or reject the coefficient {size:.3g} of x[0] in row",
        "magnitudes between 1e-09 and 1e+15",
        "normalise=zscore",
    ):
        assert words in str(refusal.value)


# --- row 22: a cut is read back from the solver ---------------------------------------------------

# Of the raw interface: 1e-8 has no effect, 1e-10 is dropped, 2e15 never added, 1e14 an error.
SCALES = (1e-14, 1e-12, 1e-10, 1e-9, 1e-8, 1e-6, 1e-3, 1.0, 1e3, 1e6, 1e9, 1e12, 1e14, 2e15, 1e18)
FORMS = ("primal", "dual")


def box() -> pyo.ConcreteModel:
    """min -x_0 - x_1 over [0, 10]^2 and x_0 + 2 x_1 <= 24: -17 at (10, 7)."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(0, 10))
    m.row = pyo.Constraint(expr=m.x[0] + 2 * m.x[1] <= 24)
    m.objective = pyo.Objective(expr=-m.x[0] - m.x[1])
    return m


@pytest.mark.parametrize(
    ("scale", "form"),
    [(s, f) for k, s in enumerate(SCALES) for f in FORMS if FULL or FORMS[k % 2] == f],
)
def test_row_22_the_same_cut_has_the_same_effect_at_every_scale(scale: float, form: str) -> None:
    """Whatever the size of its numbers: they are divided by the largest."""
    live = LiveLP(box(), form=form)
    assert live.resolve().objective == pytest.approx(-17.0)
    number = live.add_cut({"x": np.full(2, scale)}, upper=1.5 * scale)
    found = live.resolve()
    assert found.objective == pytest.approx(-1.5, rel=1e-9)
    assert found.status is Status.OPTIMAL
    assert live.proven_bound() == pytest.approx(-1.5, rel=1e-9)
    live.remove_cut(number)
    assert live.resolve().objective == pytest.approx(-17.0)


@pytest.mark.parametrize(("form", "ratio"), [("primal", 1e-9), ("dual", 1e-16)])
def test_row_22_a_coefficient_that_vanishes_beside_another_is_refused(
    form: str, ratio: float
) -> None:
    """x_0 <= 1e-3 / ratio would hold nothing back once the coefficient is dropped."""
    live = LiveLP(box(), form=form)
    before = live.resolve()
    with pytest.raises(NumberError, match=r"x\[1\]"):
        live.add_cut({"x": np.array([1.0, ratio])}, upper=5.0)
    after = live.resolve()
    assert after.objective == before.objective
    assert after.iterations == 0, "the program was left alone"
