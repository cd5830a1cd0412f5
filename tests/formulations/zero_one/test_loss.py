"""The 0-1 objective as the floats stand, the points without a solve, and the least stretch."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.inside.formulations import margins, scale_onto_margin, trivial_points, zero_one_objective
from tightmargin.formulations import TrainingData

LINE = TrainingData([[-2.0], [-1.0], [1.0], [3.0], [4.0]], [-1, -1, -1, 1, 1])


def test_objective_counts_by_hand() -> None:
    # w = 1, b = -2: margins 4, 3, 1, 1, 2. A margin of exactly 1 is kept.
    for intercept, norm2 in (("free", 1.0), ("penalised", 5.0)):
        assert zero_one_objective(LINE, [1.0], -2.0, penalty=7.0, intercept=intercept) == norm2
    # w = 1, b = 0: margins 2, 1, -1, 3, 4.
    assert zero_one_objective(LINE, [1.0], 0.0, penalty=7.0, intercept="none") == 8.0


def test_a_margin_just_below_one_is_a_violation() -> None:
    below = np.nextafter(1.0, 0.0)
    pair = TrainingData([[1.0], [-1.0]], [1, -1])
    assert zero_one_objective(pair, [1.0], 0.0, penalty=1.0, intercept="none") == 1.0
    assert zero_one_objective(pair, [below], 0.0, penalty=1.0, intercept="none") > 2.9


@pytest.mark.parametrize(
    ("intercept", "penalty", "expected"),
    [
        ("free", 0.1, [0.2, 0.3, 0.5]),
        ("penalised", 0.1, [0.5, 1.2, 1.3]),
        ("penalised", 2.0, [5.0, 7.0, 10.0]),
        ("none", 2.0, [10.0]),
    ],
)
def test_trivial_points_are_what_they_claim(
    intercept: str, penalty: float, expected: list[float]
) -> None:
    points = trivial_points(LINE, penalty=penalty, intercept=intercept)
    assert [p.objective for p in points] == pytest.approx(expected, rel=1e-15)
    for p in points:
        assert not p.w.any()
        value = zero_one_objective(LINE, p.w, p.b, penalty=penalty, intercept=intercept)
        assert value == p.objective


@given(st.integers(0, 10**6), st.sampled_from([0.0, 3.0, 1e4]))
def test_stretched_points_are_kept_in_exact_arithmetic(seed: int, offset: float) -> None:
    rng = np.random.default_rng(seed)
    data = TrainingData(rng.standard_normal((12, 3)) + offset, rng.permutation([-1, 1] * 6))
    w = rng.standard_normal(3)
    b = float(rng.standard_normal() - w @ data.X.mean(axis=0))
    u = margins(data, w, b)
    kept = u >= np.quantile(u[u > 1e-3], 0.3) if (u > 1e-3).any() else u > 1e-3
    stretched = scale_onto_margin(data, w, b, kept)
    if stretched is None:
        assert not kept.any()
        return
    v, c = stretched
    for i in np.flatnonzero(kept):
        pairs = zip(data.X[i].tolist(), v.tolist(), strict=True)
        score = sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(c))
        assert int(data.y[i]) * score >= 1
        backwards = 0.0
        for x, y in zip(data.X[i, ::-1], v[::-1], strict=True):
            backwards += x * y
        assert data.y[i] * (backwards + c) >= 1
    # The least such stretch, up to the rounding error of a margin.
    error = 1e-14 * (1 + np.abs(data.X).max() * np.abs(v).sum())
    assert margins(data, v, c)[kept].min() <= 1 + 100 * error


def test_nothing_to_stretch() -> None:
    nobody, everybody = np.zeros(5, dtype=bool), np.ones(5, dtype=bool)
    assert scale_onto_margin(LINE, [1.0], -2.0, nobody) is None
    assert scale_onto_margin(LINE, [1.0], 0.0, everybody) is None  # the third is misclassified
    assert scale_onto_margin(LINE, [0.0], 0.0, everybody) is None
