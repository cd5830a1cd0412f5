"""The point every method for the rigorous SVM ends in: its bound holds, its value is a loss."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inside.formulations import hinge_sum
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


@pytest.mark.parametrize(
    ("kind", "norm_bound"),
    [("separable", 0.05), ("overlapping", 0.4), ("unbalanced", 1.0), ("separable", 20.0)],
)
def test_the_bound_and_the_value_enclose_the_optimum(kind: str, norm_bound: float) -> None:
    data = points(kind, 3, n=16)
    value, alpha, w, b = optimum(data, norm_bound)
    found = rsvm_point(data, norm_bound, alpha, (w, b))
    assert found.bound <= value + 1e-7
    assert found.objective >= value - 1e-7
    assert found.gap <= 1e-6
    assert np.linalg.norm(found.w) <= norm_bound * (1 + 1e-14)
    assert found.objective == hinge_sum(data, found.w, found.b)


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


def test_without_any_multiplier_the_given_hyperplane_is_kept() -> None:
    data = points("separable", 1, n=12)
    value, _, w, b = optimum(data, 100.0)
    assert value == pytest.approx(0, abs=1e-7)
    found = rsvm_point(data, 100.0, np.zeros(data.n), (w * (1 + 1e-6), b * (1 + 1e-6)))
    assert (found.objective, found.bound, found.gamma) == (0.0, 0.0, 0.0)
    assert found.verdict is Verdict.CERTIFIED
    assert found.relative_gap is None


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


@pytest.mark.parametrize("n", [20, 1000])
def test_the_bound_is_below_the_exact_one_by_a_small_part_of_the_gap(n: int) -> None:
    """Numbers of few bits, so that integers give sum alpha - H sqrt(S) to any digit."""
    rng = np.random.default_rng(n)
    wholes = rng.integers(-(2**20), 2**20, size=(n, 3))
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    eighths = np.repeat(rng.integers(0, 9, n // 2), 2)  # y'alpha = 0 exactly
    direction = (y * eighths) @ wholes
    norm_bound = 0.25
    found = rsvm_point(TrainingData(wholes / 2**20, y), norm_bound, eighths / 8)
    with localcontext(prec=40):
        length = Decimal(sum(int(entry) ** 2 for entry in direction)).sqrt() / 2**23
        exact = Decimal(int(eighths.sum())) / 8 - Decimal(norm_bound) * length
        lost = exact - Decimal(found.bound)
    assert found.alpha == pytest.approx(eighths / 8, abs=0)
    assert found.gap > 0.01
    assert 0 <= lost <= 2e-3 * found.gap


def test_a_wrong_multiplier_is_not_certified() -> None:
    data = points("overlapping", 5, n=14)
    _, alpha, w, b = optimum(data, 0.7)
    wrong = np.where(np.arange(data.n) == int(np.argmax(alpha)), alpha - 1e-3, alpha)
    found = rsvm_point(data, 0.7, wrong, (w, b))
    assert found.verdict is Verdict.NOT_CERTIFIED
