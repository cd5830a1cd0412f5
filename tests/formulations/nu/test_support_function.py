"""The optimum for a fixed w by sorting, against linear programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from tests.references.reduced_hulls import level_by_lp
from tests.references.reference_solutions import INTERCEPTS, points
from tests.support.covering import FULL
from tightmargin.formulations import TrainingData


@given(
    seed=st.integers(0, 10**6), mode=st.sampled_from(INTERCEPTS), whole=st.booleans(),
    kind=st.sampled_from(["uniform", "balanced", "given"]),
    share=st.sampled_from([1.0, 1e-6]) | st.floats(0.01, 1.0),
)  # fmt: skip
@settings(max_examples=150 if FULL else 50)
def test_value_is_that_of_the_linear_program(
    seed: int, mode: str, whole: bool, kind: str, share: float
) -> None:
    """Data with many ties and duplicates or none, weights of every kind, nu up to both ends."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 10)), int(rng.integers(1, 4))
    k = d + (mode == "penalised")
    X = rng.integers(-2, 3, (n, d)) if whole else rng.standard_normal((n, d))
    w = rng.integers(-2, 3, k).astype(float) if whole else rng.standard_normal(k)
    data = TrainingData(X, np.where(rng.permutation(n) < rng.integers(1, n), 1.0, -1.0))
    given_out = rng.uniform(0.05, 1.0, n)
    weights: Any = given_out / given_out.sum() if kind == "given" else kind
    nu = share * nu_max(data, weights, mode)
    hulls = reduced_hulls(data, nu=nu, class_balance=weights, intercept=mode)
    expected = level_by_lp(data, mode, nu, loss_weights(data, weights), w)
    assert support_value(hulls, w) == pytest.approx(expected, abs=1e-9)


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


@pytest.mark.parametrize(("mode", "nu"), [("none", 0.3), ("free", 0.39)])
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
