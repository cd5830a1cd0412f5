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
from tightmargin.solvers import NumberError, Status, Verdict

DATA = points("overlapping", 5, n=10)


@pytest.mark.parametrize("scale", [1e-4, 1e-2, 1.0, 1e2, 1e4])
@pytest.mark.parametrize("solver", ["auto", "highs", "scip"])
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
    np.testing.assert_allclose(
        scores, DATA.X @ plain.values["w"] + plain.values["b"], rtol=1e-2, atol=1e-3
    )
    decided = np.abs(scores) > 1e-2
    same = np.sign(DATA.X @ plain.values["w"] + plain.values["b"])
    np.testing.assert_array_equal(np.sign(scores)[decided], same[decided])


@pytest.mark.parametrize("solver", ["highs", "scip"])
@pytest.mark.parametrize("size", [1e-9, 1e-12, 1e15, 1e18])
def test_row_12_what_a_solver_would_lose_is_refused_by_name(size: float, solver: str) -> None:
    """One coefficient alone: a whole column of them could be scaled away."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(0, 10))
    m.row = pyo.Constraint(expr=size * m.x[0] + size * m.x[1] <= 1.5 * size)
    m.other = pyo.Constraint(expr=m.x[0] + 2 * m.x[1] <= 8)
    m.objective = pyo.Objective(expr=-m.x[0] - m.x[1])
    with pytest.raises(NumberError) as refusal:
        tm.solve(m, solver)
    sentence = str(refusal.value)
    assert f"{solver} would silently drop or reject the coefficient {size:.3g} of x[0] in row" in (
        sentence
    )
    assert "magnitudes between 1e-09 and 1e+15" in sentence
    assert "normalise=zscore" in sentence


@pytest.mark.parametrize("size", [1e-12, 1e-9, 1e-6, 1e6])
def test_row_12_auto_finds_somebody_who_keeps_them(size: float) -> None:
    m: Any = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(0, 10))
    m.row = pyo.Constraint(expr=size * m.x[0] + size * m.x[1] <= 1.5 * size)
    m.objective = pyo.Objective(expr=-m.x[0] - m.x[1])
    result = tm.solve(m)
    assert result.objective == pytest.approx(-1.5, rel=1e-6)
    assert result.certificate.verdict is Verdict.CERTIFIED
