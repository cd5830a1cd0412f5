"""The largest norm bound that matters, against exact arithmetic, other solvers and lies."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inside.formulations import gram_data, hinge_sum
from tests.inside.solvers import (
    ExactHyperplane,
    NormLimit,
    Proofs,
    Rows,
    centred_rows,
    exact_hyperplane,
    least_on_face,
    rsvm_at_limit,
    sides,
)
from tests.inside.solvers import norm_limit_search as search
from tests.references.reference_solutions import least_loss, points
from tightmargin.formulations import GramData, TrainingData
from tightmargin.solvers import Claim, Status, Verdict, norm_limit


def consistent(data: TrainingData | GramData, limit: NormLimit) -> None:
    """What every limit with a value has to satisfy, recomputed."""
    assert limit.lower <= limit.value <= limit.upper
    assert limit.lower >= limit.value * (1 - 1e-7)
    assert limit.value == pytest.approx(float(np.linalg.norm(limit.w)), rel=1e-14)
    assert hinge_sum(data, limit.w, limit.b) == pytest.approx(limit.least_loss, rel=1e-9, abs=1e-9)
    assert limit.alpha.sum() == pytest.approx(limit.least_loss, rel=1e-9, abs=1e-9)
    reach = float(np.abs(data.factor).max(initial=0.0)) * data.n
    assert np.abs(data.factor.T @ (data.y * limit.alpha)).max(initial=0.0) <= 1e-11 * reach
    assert abs(data.y @ limit.alpha) <= 1e-11 * data.n
    assert float(limit.alpha.min()) >= 0
    assert float(limit.alpha.max()) <= 1
    if limit.separable:
        assert not limit.alpha.any()
        assert limit.least_loss == 0
        assert (data.y * (data.factor @ limit.w + limit.b)).min() >= 1 - 1e-9
    for norm_bound in (limit.value, 2 * limit.value) if limit.value > 0 else ():
        point = rsvm_at_limit(data, norm_bound, limit)
        assert point.verdict is Verdict.CERTIFIED
        assert point.gamma == 0
        assert point.objective == pytest.approx(limit.least_loss, rel=1e-9, abs=1e-9)
        assert np.linalg.norm(point.w) <= norm_bound * (1 + 1e-14)


@given(st.integers(0, 10**6), st.integers(4, 14), st.integers(1, 3))
@settings(max_examples=8)
def test_less_norm_costs_loss_and_more_gains_none(seed: int, n: int, d: int) -> None:
    """Coarse points with copies of both labels: most faces are degenerate."""
    rng = np.random.default_rng(seed)
    X = np.round(2 * rng.standard_normal((n, d))) / 2
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    data = TrainingData(np.vstack([X, X[:2]]), np.append(y, -y[:2]))
    limit = norm_limit(data)
    consistent(data, limit)
    assert limit.proven
    assert limit.least_loss == pytest.approx(least_loss(data, "free").value, rel=1e-7)
    if limit.value:
        H, g = limit.value, limit.gamma_range
        assert least_loss(data, "free", H).value == pytest.approx(limit.least_loss, rel=1e-6)
        dearer = least_loss(data, "free", 0.98 * H).value - limit.least_loss
        assert dearer >= 0.02 * g * H**2 * (1 - 1e-4), "E is convex in H, with slope -g H at H_lim"


@pytest.mark.parametrize("seed", [3, 20])
def test_a_kernel_too_smooth_for_double_precision_has_no_contradicting_limit(seed: int) -> None:
    """Points on a line: positive definite, and of rank 15 or so to rounding."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(8, 40)), 1))
    y = np.where(X[:, 0] + 0.8 * rng.normal(size=len(X)) > 0, 1.0, -1.0)
    y[:2] = [1, -1]
    limit = norm_limit(GramData(np.exp(-((X - X.T) ** 2) / 2), y))
    assert limit.lower <= limit.value <= limit.upper * (1 + 1e-8)
    mass = float(limit.alpha.sum())
    if not (limit.separable or limit.least_loss_bound):
        assert "NOT proven: no hyperplane with ||w|| <= " in limit.proof
        off = abs(mass - limit.least_loss) > 1e-8 * limit.least_loss
        assert (f"add up to {mass:.10g}, not to that loss" in limit.proof) == off


def test_a_dense_kernel_matrix_on_which_the_dual_simplex_gives_up() -> None:
    """Five points with both labels among 200: E0 = 10, whatever the solver meets on the way."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(200) < 0.4, 1.0, -1.0)
    X = rng.standard_normal((200, 20)) + 0.6 * y[:, None] * (np.arange(20) < 2)
    data = TrainingData(np.vstack([X, X[:5]]), np.append(y, -y[:5]))
    gram = gram_data(data, kernel="rbf", width=0.05, normalise="centred")
    limit = norm_limit(gram)
    consistent(gram, limit)
    assert limit.least_loss == pytest.approx(10, rel=1e-9)
    assert not limit.separable


def test_without_time_there_is_no_value_and_no_wrong_one() -> None:
    limit = norm_limit(points("overlapping", 0, n=3000, d=30), time_limit=1e-9)
    assert math.isnan(limit.value)
    assert (limit.lower, limit.upper, limit.proven) == (0, math.inf, False)
    assert "time limit" in limit.proof
    assert limit.place(1.0) == "unknown"


def test_a_least_loss_found_before_the_time_was_up_is_kept(monkeypatch: Any) -> None:
    data = points("overlapping", 1)
    known = norm_limit(data)
    monkeypatch.setattr(search, "face_start", lambda *_: None)
    limit = norm_limit(data, time_limit=100.0)
    assert math.isnan(limit.value)
    assert limit.least_loss == pytest.approx(known.least_loss, rel=1e-9)
    assert limit.least_loss_bound == pytest.approx(known.least_loss, rel=1e-9)


def test_other_ends_of_the_linear_program_are_no_answers(monkeypatch: Any) -> None:
    data = points("overlapping", 1)
    for status, error in ((Status.INTERRUPTED, KeyboardInterrupt), (Status.ERROR, RuntimeError)):
        claim = Claim(status, message="told to")
        monkeypatch.setattr(search.highs, "run", lambda *_, c=claim: c)
        with pytest.raises(error, match="told to" if error is RuntimeError else None):
            norm_limit(data)


def test_a_qp_solver_that_is_off_is_not_believed(monkeypatch: Any) -> None:
    """A hyperplane that does not settle is no more than what its recomputed numbers prove."""
    data = points("overlapping", 1)
    known = norm_limit(data)
    honest = search.face_start

    def off(*given: Any) -> Any:
        start = honest(*given)
        return replace(start, v=1.01 * start.v, alpha=1.3 * start.alpha)

    monkeypatch.setattr(search, "face_start", off)
    monkeypatch.setattr(search, "least_on_face", lambda *_: None)
    limit = norm_limit(data)
    assert limit.lower <= known.value
    assert not limit.proven


def test_libsvm_that_does_not_get_there_is_asked_first_and_quietly() -> None:
    """Above LP_FEATURES dimensions; two points with both labels cannot be separated."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((110, 120))
    data = TrainingData(np.vstack([X, X[:2]]), np.r_[np.resize([1.0, -1], 110), -1.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        limit = norm_limit(data)
    consistent(data, limit)
    assert not limit.separable
    assert limit.least_loss == pytest.approx(4, rel=1e-9)


def line(x: list[float], y: list[int]) -> TrainingData:
    return TrainingData(np.array(x, dtype=float)[:, None], y)


def plane_of(w: float, b: float) -> ExactHyperplane:
    return exact_hyperplane(np.array([w]), b, np.zeros(1))


def test_exact_multipliers_outside_the_box_prove_no_larger_loss() -> None:
    """E0 = 2; with alpha_3 = 1 the other two would be 1 and 2, of sum 4."""
    data = line([0, 1, 2], [1, -1, 1])
    proofs = Proofs(data)
    assert proofs.least_loss(np.array([0.5, 0.5, 1.0])) == 1, "moved away from 1, to (0, .5, .5)"
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


def test_rows_that_contradict_one_another_have_no_least_point() -> None:
    X, y = np.array([[0.5], [0.5], [-0.5]]), np.array([1.0, -1.0, -1.0])
    rows = Rows(X, y, np.zeros(1), 1.0)
    for guess in (np.ones(3, dtype=bool), np.array([True, False, True])):
        assert least_on_face(rows, sides(np.zeros(3)), guess, 0.0) is None
