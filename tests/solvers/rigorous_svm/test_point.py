"""The point every method for the rigorous SVM ends in: its bound holds, its value is a loss."""

from __future__ import annotations

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inside.solvers import rsvm_point
from tests.references.reference_solutions import points
from tightmargin.formulations import TrainingData
from tightmargin.solvers import Verdict


def optimum(data: TrainingData, norm_bound: float) -> tuple[float, np.ndarray, np.ndarray, float]:
    """(3)-(5) in another modelling layer: value, multipliers of the margin rows, w and b."""
    w, b, xi = cp.Variable(data.d), cp.Variable(), cp.Variable(data.n, nonneg=True)
    margin = cp.multiply(data.y, data.X @ w + b) >= 1 - xi
    problem = cp.Problem(cp.Minimize(cp.sum(xi)), [margin, cp.norm(w) <= norm_bound])
    exact = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    problem.solve(solver="CLARABEL", **exact)
    assert problem.status == "optimal"
    return float(problem.value), margin.dual_value, w.value, float(b.value)


@given(st.integers(0, 10**6), st.floats(0.01, 30.0))
@settings(max_examples=30)
def test_any_multipliers_prove_a_bound_and_any_hyperplane_a_value(seed: int, bound: float) -> None:
    data = points("overlapping", seed % 7, n=12)
    rng = np.random.default_rng(seed)
    found = rsvm_point(
        data, bound, rng.uniform(-0.2, 1.2, data.n), (5 * rng.standard_normal(2), rng.normal())
    )
    value, *_ = optimum(data, bound)
    assert found.bound <= value + 1e-7 * max(1.0, value)
    assert found.objective >= value - 1e-7 * max(1.0, value)
    assert float(found.alpha.min()) >= 0
    assert float(found.alpha.max()) <= 1
    assert abs(data.y @ found.alpha) <= 1e-12


@pytest.mark.parametrize("far", [0.0, 2.0**27])
def test_the_value_is_the_loss_in_fractions_however_far_from_0(far: float) -> None:
    """w.x and b cancel there; a loss from rounded sums was 0 with a certificate, and is not."""
    data = points("separable", 4, n=16)
    placed = TrainingData(data.X + far, data.y)
    alpha = np.full(data.n, 0.1)
    for norm_bound in (0.3, 20.0, 1e3):
        found = rsvm_point(placed, norm_bound, alpha)
        w, b = [Fraction(float(v)) for v in found.w], Fraction(found.b)
        exact = Fraction(0)
        for x, y in zip(placed.X, placed.y, strict=True):
            score = sum((v * Fraction(float(c)) for v, c in zip(w, x, strict=True)), b)
            exact += max(Fraction(0), 1 - int(y) * score)
        assert found.objective == pytest.approx(float(exact), rel=1e-12, abs=1e-11)


def test_a_wrong_multiplier_is_not_certified() -> None:
    data = points("overlapping", 5, n=14)
    _, alpha, w, b = optimum(data, 0.7)
    wrong = np.where(np.arange(data.n) == int(np.argmax(alpha)), alpha - 1e-3, alpha)
    found = rsvm_point(data, 0.7, wrong, (w, b))
    assert found.verdict is Verdict.NOT_CERTIFIED
