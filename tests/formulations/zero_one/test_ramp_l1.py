"""Ramp loss with the l1 norm: the optimum by every set of points, its M, and its relaxation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.formulations import ramp_l1_big_m_everywhere, ramp_l1_objective
from tests.references.ramp_l1 import ramp_l1_optimum, ramp_l1_relaxation
from tests.references.reference_solutions import INTERCEPTS, points
from tests.support.certified import certified
from tests.support.covering import FULL
from tightmargin.formulations import ramp_l1_big_m, ramp_l1_relaxed

SEEDS = range(12) if FULL else (0, 4, 8)  # each mode of the intercept with another price


def mixed(seed: int) -> tm.TrainingData:
    """Points on a small grid: copies of both labels and points at the origin among them."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 8))
    y = rng.permutation(np.where(np.arange(n) < 2, 1, -1))
    return tm.TrainingData(rng.integers(-2, 3, size=(n, 2)).astype(float), y)


@pytest.mark.parametrize("seed", SEEDS)
def test_derived_m_keeps_the_optimum_and_relaxations_stay_below_it(seed: int) -> None:
    data, mode, C = mixed(seed), INTERCEPTS[seed % 3], (0.05, 0.4, 3.0)[seed // 3 % 3]
    words: dict[str, Any] = {"C": C, "intercept": mode}
    expected = ramp_l1_optimum(data, mode, C)
    exact = certified(ramp_l1_big_m(data, big_m="derived", **words))
    assert exact.certificate.unproven == ""
    assert exact.objective == pytest.approx(expected, rel=1e-6, abs=1e-8)
    known = np.asarray(exact.values["w"]), float(exact.values.get("b", 0.0))
    room = 1e-6 * max(1.0, expected)
    wide = certified(ramp_l1_relaxed(data, big_m=1000.0, **words))
    derived = certified(ramp_l1_relaxed(data, big_m="derived", **words))
    near = certified(ramp_l1_relaxed(data, big_m="derived", incumbent=known, **words))
    assert wide.bound <= derived.objective + room
    assert derived.bound <= near.objective + room
    assert near.bound <= expected + room


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_the_relaxation_is_the_linear_program_of_its_formula(mode: str) -> None:
    data = points("overlapping", 3, n=9)
    result = certified(ramp_l1_relaxed(data, C=0.8, big_m=5.0, intercept=mode))
    assert result.objective == pytest.approx(ramp_l1_relaxation(data, mode, 0.8, 5.0), rel=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_hyperplane_violates_a_paid_point_by_more_than_m_at_its_own_objective(seed: int) -> None:
    """The statement behind M: it holds for every hyperplane, with V its objective."""
    rng = np.random.default_rng(seed)
    data, mode, C = mixed(seed), INTERCEPTS[seed % 3], 0.7
    tight = 0.0
    for _ in range(100):
        j, size = int(rng.integers(data.d)), rng.exponential(4.0)
        w, b = size * rng.laplace(size=data.d) * 0.1, float(rng.laplace())
        w[j] += rng.choice([-size, size])
        b = 0.0 if mode == "none" else b
        value = ramp_l1_objective(data, w, b, C, mode)
        big_m = ramp_l1_big_m_everywhere(data, C, mode, value)
        violation = 1 - data.y * (data.X @ w + b)
        paid = violation > 2
        assert (violation[paid] <= big_m[paid]).all()
        tight = max(tight, float((violation[paid] / big_m[paid]).max(initial=0.0)))
    if mode == "none":
        assert tight > 0.3, "values that nothing comes near would pass whatever they are"
