"""What h_limit calls proven: wrong numbers on purpose, and data that need exact arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.references.reference_solutions import points
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.rigorous_svm.norm_limit import proofs as h_limit_proofs
from tightmargin.solvers.rigorous_svm.norm_limit.centred_rows import centred_rows
from tightmargin.solvers.rigorous_svm.norm_limit.exact import exact_loss, exact_norm, on_their_sides
from tightmargin.solvers.rigorous_svm.norm_limit.norm_limit import h_limit
from tightmargin.solvers.rigorous_svm.norm_limit.optimal_face import least_on_face, sides
from tightmargin.solvers.rigorous_svm.norm_limit.proofs import Proofs


def line(x: list[float], y: list[int]) -> TrainingData:
    return TrainingData(np.array(x, dtype=float)[:, None], y)


def proofs_of(data: TrainingData) -> Proofs:
    return Proofs(data, centred_rows(data))


def test_multipliers_that_would_have_to_leave_the_box_prove_no_loss() -> None:
    """Separable, E0 = 0; t (1, 2, -1) solves (10) with a positive sum, but for the sign."""
    data = line([0, 1, 2], [1, -1, -1])
    for near in (1e-6, 1e-3, 0.05):
        assert proofs_of(data).loss_below(np.array([0.3, 0.6, near])) is None


def test_exact_multipliers_outside_the_box_prove_no_loss() -> None:
    """E0 = 2; with alpha_3 = 1 the other two would be 1 and 2, of sum 4."""
    data = line([0, 1, 2], [1, -1, 1])
    assert exact_loss(data, np.array([0.5, 0.5, 1.0])) is None
    assert exact_loss(data, np.array([0.5, 1.0, 0.5])) == 2.0
    assert exact_loss(data, np.array([0.5 - 1e-9, 1.0, 0.5 + 1e-9])) == 2.0, "repaired"
    assert h_limit(data).least_loss == pytest.approx(2, rel=1e-14)


def test_a_hyperplane_that_leaves_a_row_short_proves_no_norm() -> None:
    data = line([0, 1], [-1, 1])  # H_lim = 2
    proofs = proofs_of(data)
    nothing, touched = np.zeros(2), np.array([True, False])
    assert proofs.norm_above(nothing, np.array([1.0]), -0.5, touched) is None
    both = np.array([True, True])
    above = proofs.norm_above(nothing, np.array([2.0 - 1e-12]), 0.0, both)
    assert above is not None
    assert 2 <= above <= 2 + 1e-11, "the exact one is near"


def test_multipliers_out_of_balance_prove_no_norm() -> None:
    """The mean is nearly a point: its multiplier alone has next to no length."""
    data = line([0.001, 2, -1, -1], [1, 1, -1, -1])
    alone = np.array([1.0, 0, 0, 0])
    assert proofs_of(data).norm_below(alone, 0.0) <= h_limit(data).value == pytest.approx(2 / 1.001)
    square = TrainingData([[1, 1], [-1, -1], [1, -1], [-1, 1], [0, 0]], [1, 1, -1, -1, 1])
    assert h_limit(square).value == 0
    assert proofs_of(square).norm_below(np.ones(5), 4.0) == 0


def test_a_row_that_rounding_cannot_tell_is_told_exactly() -> None:
    data = line([1, -1], [1, -1])
    below, w = np.array([0, 1]), np.array([1 - 2.0**-53])
    for side, right in ((1, False), (-1, True), (0, False)):
        given = np.full(2, side, dtype=np.int8)
        assert on_their_sides(data, given, w, 0.0, below) is right
        assert on_their_sides(data, given, np.array([1.0]), 0.0, below) is True


def test_an_exact_point_off_the_face_proves_no_norm() -> None:
    touched = np.array([True, True, False])
    for third, norm in ((0.5, None), (1.5, 2.0)):
        data = line([0, 1, third], [-1, 1, 1])
        side = sides(np.zeros(3))
        found = exact_norm(data, centred_rows(data), side, touched)
        assert found == (None if norm is None else pytest.approx(norm, rel=1e-14))


@pytest.mark.parametrize("d", [2, 3])
def test_coarse_points_are_proven_by_fractions(d: int) -> None:
    """On whole coordinates most optimal faces are degenerate: no rows are independent."""
    needed = 0
    for seed in range(12):
        rng = np.random.default_rng([d, seed])
        X = np.round(rng.standard_normal((30, d)))
        data = TrainingData(X, np.where(X[:, 0] + rng.standard_normal(30) > 0, 1.0, -1.0))
        limit = h_limit(data)
        assert limit.proven
        inside = ((limit.alpha > 0) & (limit.alpha < 1)).sum()
        needed += inside < d + 1
    assert needed >= 5


def test_copies_need_no_fractions(monkeypatch: Any) -> None:
    monkeypatch.setattr(h_limit_proofs, "exact_norm", lambda *_: None)
    one = points("overlapping", 1)
    assert h_limit(TrainingData(np.vstack([one.X] * 2), np.tile(one.y, 2))).proven


# --- the search for the least point


@pytest.mark.parametrize("change", ["one too many", "one too few", "one for another"])
def test_a_guess_of_the_touched_rows_that_is_a_little_off_is_mended(change: str) -> None:
    data = points("separable", 3, n=30, d=4)
    limit = h_limit(data)
    rows, side = centred_rows(data), sides(np.zeros(data.n))
    true = np.abs(data.y * (data.X @ limit.w + limit.b) - 1) < 1e-9
    for k in range(data.n):
        guess = true.copy()
        if true[k]:
            guess[k] = change == "one too many"
        else:
            guess[k] = change != "one too few"
            if change == "one for another":
                guess[int(np.flatnonzero(true)[k % true.sum()])] = False
        found = least_on_face(rows.points, data.y, side, guess, 0.0)
        assert found is not None
        assert np.linalg.norm(found.v) / rows.scale == pytest.approx(limit.value, rel=1e-9)
        assert (found.mu >= 0).all()
        assert rows.points.T @ (data.y * found.mu) == pytest.approx(found.v, rel=1e-8, abs=1e-8)


@given(st.integers(0, 10**6))
@settings(max_examples=12)
def test_from_any_guess_the_dual_steps_reach_the_least_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kind = "separable" if seed % 2 else "overlapping"
    data = points(kind, seed % 9, n=int(rng.integers(8, 30)), d=int(rng.integers(1, 5)))
    limit = h_limit(data)
    rows, side = centred_rows(data), sides(limit.alpha)
    found = least_on_face(rows.points, data.y, side, rng.random(data.n) < 0.3, 0.0)
    assert found is not None
    assert np.linalg.norm(found.v) / rows.scale == pytest.approx(limit.value, rel=1e-8)
    assert (side * found.mu >= 0).all()


def test_rows_that_contradict_one_another_have_no_least_point() -> None:
    X, y = np.array([[0.5], [0.5], [-0.5]]), np.array([1.0, -1.0, -1.0])
    for guess in (np.ones(3, dtype=bool), np.array([True, False, True])):
        assert least_on_face(X, y, sides(np.zeros(3)), guess, 0.0) is None


def test_rows_of_one_class_have_no_direction() -> None:
    """u = 1 at two points of one class is reached by w = 0, whatever rounding says."""
    X = np.array([[1 / 3, 0.7], [0.1, 0.2], [-0.3, 0.4]])
    y, touched = np.array([1.0, 1.0, -1.0]), np.array([True, True, False])
    found = least_on_face(X, y, sides(np.ones(3)), touched, 0.0)
    assert found is not None
    assert not found.v.any()
    assert found.c == 1.0
