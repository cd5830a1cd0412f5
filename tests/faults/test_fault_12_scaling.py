"""Row 12: coefficients a solver would lose are refused by name; scaled data keep their answer.

tests/metamorphic has the relation of every family for scales from 1e-8 to 1e8.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.references.reference_solutions import points
from tests.support.covering import FULL, covering
from tightmargin.solvers import NumberError, Status, Verdict

DATA = points("overlapping", 5, n=10)


@pytest.mark.parametrize(
    ("scale", "solver"), covering([1e-4, 1e2], ["auto", "highs", "scip"]) if FULL else
    [(1e-4, "auto"), (1e2, "highs"), (1e-4, "scip")],
)  # fmt: skip
def test_row_12_scaled_points_keep_their_labels_and_scale_the_optimum(
    scale: float, solver: str
) -> None:
    """X -> c X, C -> C / c^2: w -> w / c, the objective by 1 / c^2, every score as before."""
    plain = tm.solve(tm.c_svc(DATA, C=1.0), "clarabel")
    scaled = tm.TrainingData(scale * DATA.X, DATA.y)
    result = tm.solve(tm.c_svc(scaled, C=scale**-2), solver)
    if result.certificate.verdict is not Verdict.CERTIFIED:
        # Tolerances of a named solver are absolute: it may fail, and then it is said.
        assert solver != "auto"
        assert result.status is Status.INACCURATE
        assert "proven gap" in result.certificate.reason
        return
    assert result.objective * scale**2 == pytest.approx(plain.objective, rel=1e-6)
    scores = scaled.X @ result.values["w"] + result.values["b"]
    known = DATA.X @ plain.values["w"] + plain.values["b"]
    np.testing.assert_allclose(scores, known, rtol=1e-2, atol=1e-3)


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


@pytest.mark.parametrize("size", [1e-12, 1e-9, 1e6])
def test_row_12_auto_finds_somebody_who_keeps_them(size: float) -> None:
    result = tm.solve(program(size))
    assert result.objective == pytest.approx(-1.5, rel=1e-6)
    assert result.certificate.verdict is Verdict.CERTIFIED
