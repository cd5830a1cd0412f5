"""The optimum for a fixed w by sorting, against linear programs; edges against all vertices."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from tests.inside.formulations import (
    SORT_BELOW,
    Group,
    edges,
    is_corner,
    loss_weights,
    lowest,
    nu_max,
    proven_slope,
    reduced_hulls,
    support_value,
    ties_at,
)
from tests.references import reference_solutions
from tests.references.reduced_hulls import all_vertices, level_by_lp
from tests.references.reference_solutions import INTERCEPTS, points
from tests.support.covering import FULL
from tightmargin.formulations import TrainingData

PRIMAL_TOLERANCE = 1e-9


@st.composite
def cases(draw: st.DrawFn) -> tuple[TrainingData, str, float, Any, np.ndarray]:
    """Data with many ties and duplicates or none, weights of every kind, nu up to both ends."""
    n, d = draw(st.integers(2, 9)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.integers(-2, 3, (n, d)) if draw(st.booleans()) else rng.standard_normal((n, d))
    y = np.where(rng.permutation(n) < draw(st.integers(1, n - 1)), 1.0, -1.0)
    data = TrainingData(X, y)
    mode = draw(st.sampled_from(INTERCEPTS))
    weights: Any = draw(st.sampled_from(["uniform", "balanced", "given"]))
    if weights == "given":
        weights = rng.uniform(0.05, 1.0, n)
        weights = weights / weights.sum()
    highest = nu_max(data, weights, mode)
    smallest = float(loss_weights(data, weights).min())
    nu = draw(
        st.sampled_from([highest, 1e-6, smallest, min(highest, 2 * smallest)])
        | st.floats(0.01, 1.0).map(lambda share: share * highest)
    )
    k = d + (mode == "penalised")
    w = rng.integers(-2, 3, k).astype(float) if draw(st.booleans()) else rng.standard_normal(k)
    return data, mode, nu, weights, w


@given(case=cases())
@settings(max_examples=150 if FULL else 50)
def test_value_is_that_of_the_linear_program(case: Any) -> None:
    data, mode, nu, weights, w = case
    hulls = reduced_hulls(data, nu=nu, class_balance=weights, intercept=mode)
    costs = loss_weights(data, weights)
    expected = level_by_lp(data, mode, nu, costs, w)
    assert support_value(hulls, w) == pytest.approx(expected, abs=PRIMAL_TOLERANCE)


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("mass", [1e-9, 0.1, 0.5, 1.0])
def test_partial_sort_takes_what_a_full_sort_takes(mass: float, equal: bool) -> None:
    rng = np.random.default_rng(4)
    n = 9 * SORT_BELOW + 5
    scores = rng.standard_normal(n)
    caps = np.full(n, 1 / n) if equal else rng.uniform(0.1, 1.0, n)
    caps = caps / caps.sum()
    taken, weights = lowest(scores, Group(np.arange(n), caps, mass, equal))
    order = np.argsort(scores)
    expected = np.clip(mass - np.r_[0.0, np.cumsum(caps[order])[:-1]], 0.0, caps[order])
    given_out = np.zeros(n)
    given_out[taken] = weights
    assert given_out[order] == pytest.approx(expected, abs=1e-13)
    assert scores[taken].max() == scores[taken[-1]]


# --- corners and edges ---------------------------------------------------------------------------


@pytest.mark.parametrize("given_weights", [False, True])
@pytest.mark.parametrize(
    ("mode", "n", "d", "nu"),
    [
        ("free", 10, 2, 0.23), ("free", 10, 2, 0.4), ("free", 9, 3, 0.31), ("none", 7, 2, 0.2),
        ("none", 8, 3, 0.23), ("penalised", 7, 2, 0.23), ("free", 8, 1, 0.33),
    ],
)  # fmt: skip
def test_edges_are_those_between_all_vertices(
    mode: str, n: int, d: int, nu: float, given_weights: bool
) -> None:
    """P by brute force: its vertices are the facets of the hull of all vertices of U."""
    y = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    for seed in itertools.count():
        rng = np.random.default_rng([n, d, seed])
        data = TrainingData(rng.standard_normal((n, d)), y)
        weights = rng.uniform(0.5, 1.5, n) if given_weights else np.ones(n)
        weights = weights / weights.sum()
        spanning = all_vertices(data, mode, nu, weights)
        compass = rng.standard_normal((spanning.shape[1], 500))
        compass /= np.linalg.norm(compass, axis=0)
        if (spanning @ compass).max(axis=0).min() > 0.01:
            break  # 0 is well inside U, so that P is bounded
    hulls = reduced_hulls(data, nu=nu, class_balance=weights, intercept=mode)
    if hulls.k == 1:
        for corner in ([1 / spanning.max()], [1 / spanning.min()]):
            found = edges(hulls, corner, ties_at(hulls, corner))
            assert found == pytest.approx(-np.sign(corner).reshape(1, 1))
        return
    hull = ConvexHull(spanning)
    assert (hull.equations[:, -1] < -1e-6).all()
    corners = np.unique((hull.equations[:, :-1] / -hull.equations[:, -1:]).round(9), axis=0)
    tight = np.abs(corners @ spanning.T - 1) < 1e-7
    compared = 0
    for a, corner in enumerate(corners):
        ties = ties_at(hulls, corner, tolerance=1e-7)
        assert support_value(hulls, corner) == pytest.approx(1.0, abs=1e-7)
        found = edges(hulls, corner, ties)
        if mode == "penalised" and sum(len(group.tied) for group in ties) > hulls.k:
            # A whole class ties where only the entry of b is not 0: no general position.
            assert found is None
            continue
        assert is_corner(hulls, ties)
        expected = []
        for b, other in enumerate(corners):
            common = tight[a] & tight[b]
            rank = np.linalg.matrix_rank(spanning[common], tol=1e-8) if common.any() else 0
            if a != b and rank == hulls.k - 1:
                expected.append((other - corner) / np.linalg.norm(other - corner))
        cosines = found @ np.array(expected).T
        assert cosines.shape == (len(expected), len(expected))
        assert (cosines.max(axis=0) > 1 - 1e-6).all()
        assert (cosines.max(axis=1) > 1 - 1e-6).all()
        compared += 1
    assert compared > hulls.k


def test_equal_points_are_no_general_position() -> None:
    data = TrainingData(
        [[0, 0], [1, 0], [1, 0], [2, 1], [4, 0], [3, 2], [0.5, 5], [-2, 1]],
        [1, 1, 1, 1, -1, -1, -1, -1],
    )
    hulls = reduced_hulls(data, nu=3 / 8)
    w = np.array([1.0, 0.3])
    ties = ties_at(hulls, w)
    assert is_corner(hulls, ties)
    assert edges(hulls, w, ties) is None


# --- a proven slope ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "nu"), [("free", 0.1), ("none", 0.3), ("free", 0.39), ("none", 0.8)]
)
def test_slope_is_below_the_optimum_of_every_direction(nu: float, mode: str) -> None:
    data = points("overlapping", 1, n=10)
    costs = np.full(data.n, 1 / data.n)
    truth = reference_solutions.nu_risk_on_circle(data, mode, nu, costs)
    hulls = reduced_hulls(data, nu=nu, intercept=mode)
    found = proven_slope(hulls, truth.w)
    assert found <= truth.value
    if truth.value < 0:
        assert found == pytest.approx(truth.value, abs=1e-8)
    else:
        assert found > 0


def test_no_slope_is_claimed_on_the_boundary() -> None:
    """Two equal points with both labels: U holds 0 on its boundary for every nu."""
    data = TrainingData([[0.0], [0.0]], [1, -1])
    assert proven_slope(reduced_hulls(data, nu=1.0), np.ones(1)) is None
    flat = TrainingData([[1, 0], [-1, 0], [1, 0], [-1, 0]], [1, 1, -1, -1])
    assert proven_slope(reduced_hulls(flat, nu=0.5), np.ones(2)) is None
