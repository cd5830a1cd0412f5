"""Row 12: coefficients a solver would lose are refused by name.

Scaled data keep their answer: tests/metamorphic/test_row_12_scaling.py.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tightmargin.solvers import NumberError


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
