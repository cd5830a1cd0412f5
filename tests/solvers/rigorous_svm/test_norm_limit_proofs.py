"""What norm_limit calls proven: wrong numbers on purpose, and data that need exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.inside.solvers import (
    ExactHyperplane,
    Proofs,
    Rows,
    centred_rows,
    exact_hyperplane,
    least_on_face,
    sides,
)
from tests.references.reference_solutions import points
from tightmargin.formulations import TrainingData
from tightmargin.solvers import norm_limit

Array = NDArray[np.float64]


def line(x: list[float], y: list[int]) -> TrainingData:
    return TrainingData(np.array(x, dtype=float)[:, None], y)


def plane_of(w: float, b: float) -> ExactHyperplane:
    return exact_hyperplane(np.array([w]), b, np.zeros(1))


def test_exact_multipliers_outside_the_box_prove_no_loss() -> None:
    """E0 = 2; with alpha_3 = 1 the other two would be 1 and 2, of sum 4."""
    data = line([0, 1, 2], [1, -1, 1])
    proofs = Proofs(data)
    assert proofs.least_loss(np.array([0.5, 0.5, 1.0])) is None
    assert proofs.least_loss(np.array([0.5, 1.0, 0.5])) == 2
    repaired = proofs.least_loss(np.array([0.5 - 1e-9, 1.0, 0.5 + 1e-9]))
    assert repaired == 2
    assert norm_limit(data).least_loss == 2


def test_a_hyperplane_that_leaves_a_row_short_is_no_solution() -> None:
    data = line([0, 1], [-1, 1])  # H_lim = 2, at w = 2, b = -1
    proofs = Proofs(data)
    one = proofs.on_active_rows(plane_of(1.0, -0.5), np.array([True, False]))
    assert proofs.loss(one) > 0, "the other row is short"
    both = proofs.on_active_rows(plane_of(2.0 - 1e-12, -1.0), np.array([True, True]))
    assert (both.w, both.b, proofs.loss(both)) == ((2,), -1, 0)
    assert 2 <= both.norm_above <= 2 + 1e-14


def test_multipliers_out_of_balance_prove_no_norm() -> None:
    """The mean is nearly a point: its multiplier alone has next to no length."""
    data = line([0.001, 2, -1, -1], [1, 1, -1, -1])
    alone = np.array([1.0, 0, 0, 0])
    assert Proofs(data).norm_below(alone, Fraction(0)) == 0
    assert norm_limit(data).value == pytest.approx(2 / 1.001)
    square = TrainingData([[1, 1], [-1, -1], [1, -1], [-1, 1], [0, 0]], [1, 1, -1, -1, 1])
    assert norm_limit(square).value == 0
    assert Proofs(square).norm_below(np.ones(5), Fraction(4)) == 0


def test_weak_duality_holds_for_any_multipliers_and_any_hyperplane() -> None:
    rng = np.random.default_rng(3)
    data = points("overlapping", 2, n=10)
    proofs = Proofs(data)
    for _ in range(20):
        alpha = np.where(rng.random(10) < 0.3, 0.0, rng.random(10))
        mass, length = proofs.weak_duality(alpha)
        w, b = rng.standard_normal(2) * 10.0 ** rng.integers(-2, 3), rng.standard_normal()
        norm = Fraction(float(np.linalg.norm(w)) * (1 + 1e-15))
        assert proofs.loss(exact_hyperplane(w, b, np.zeros(2))) >= mass - norm * length


def test_a_row_that_rounding_cannot_tell_is_told_exactly() -> None:
    proofs = Proofs(line([1, -1], [1, -1]))
    assert proofs.loss(plane_of(1 - 2.0**-53, 0.0)) == Fraction(2) / 2**53
    assert proofs.loss(plane_of(1.0, 0.0)) == 0


def test_an_exact_point_off_the_face_is_no_solution() -> None:
    """u = 1 at 0 and 1 is w = 2; the third point is on its side of it or not."""
    active = np.array([True, True, False])
    for third, loss in ((0.5, 1), (1.5, 0)):
        proofs = Proofs(line([0, 1, third], [-1, 1, 1]))
        found = proofs.on_active_rows(plane_of(1.9, -1.0), active)
        assert found.w == (2,)
        assert proofs.loss(found) == loss


@pytest.mark.parametrize("power", [-300, 40])
def test_a_unit_of_the_points_that_is_a_power_of_2_changes_the_ends_by_it_alone(power: int) -> None:
    for kind in ("separable", "overlapping"):
        data = points(kind, 4, n=14)
        limit = norm_limit(data)
        other = norm_limit(TrainingData(np.ldexp(data.X, power), data.y))
        assert other.proven
        for name in ("value", "lower", "upper"):
            expected = math.ldexp(getattr(limit, name), -power)
            assert getattr(other, name) == pytest.approx(expected, rel=1e-10, abs=0)
        assert other.least_loss == limit.least_loss


# --- the search for the least point


def test_the_active_rows_name_the_least_point_and_others_never_a_wrong_one() -> None:
    data = points("separable", 3, n=30, d=4)
    limit = norm_limit(data)
    rows, side = centred_rows(data), sides(np.zeros(data.n))
    true = np.abs(data.y * (data.X @ limit.w + limit.b) - 1) < 1e-9
    guesses = [true, *(true ^ (np.arange(data.n) == k) for k in range(data.n))]
    found = [least_on_face(rows, side, guess, 0.0) for guess in guesses]
    assert found[0] is not None
    for point in found:
        if point is not None:
            assert np.linalg.norm(point.v) / rows.scale == pytest.approx(limit.value, rel=1e-9)
            assert (point.mu >= 0).all()
            assert rows.points.T @ (data.y * point.mu) == pytest.approx(point.v, abs=1e-8)


def rows_of(X: Array, y: Array) -> Rows:
    return Rows(X, y, np.zeros(X.shape[1]), 1.0)


def test_rows_that_contradict_one_another_have_no_least_point() -> None:
    rows = rows_of(np.array([[0.5], [0.5], [-0.5]]), np.array([1.0, -1.0, -1.0]))
    for guess in (np.ones(3, dtype=bool), np.array([True, False, True])):
        assert least_on_face(rows, sides(np.zeros(3)), guess, 0.0) is None
