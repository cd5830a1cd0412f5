"""The review's bounds by hand, their constants by exact expectations, and against known errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.inside.experiments import SAMPLE_COMPLEXITY_FORMS as FORMS
from tests.inside.experiments import (
    chosen_ridge,
    hard_margin_bound,
    hard_margin_points,
    norm_ball_bound,
    norm_ball_points,
    soft_margin_bound,
)
from tightmargin.formulations import TrainingData, hard_margin_svc
from tightmargin.solvers import solve

DELTA = 2 * math.exp(-2)  # ln(2/delta) = 2
# --- by hand -------------------------------------------------------------------------------------


def test_the_hard_margin_bound_by_hand() -> None:
    """m = 100 and rho = 2 gamma: sqrt(4 * 4 / 100) + sqrt(2 * 2 / 100)."""
    found = hard_margin_bound(100, margin=0.5, radius=1.0, delta=DELTA)
    assert found.capacity == pytest.approx(0.4)
    assert found.confidence == pytest.approx(0.2)
    assert found.bound == pytest.approx(0.6)
    assert not found.vacuous
    free = hard_margin_bound(100, margin=0.5, radius=1.0, delta=DELTA, intercept="free")
    assert (free.capacity, free.confidence) == pytest.approx((0.8, 0.2))
    assert free.vacuous
    # (0.4 + 0.2) at 100 points, so 0.3 at 400; 8 / 0.2^2 = 200 and half of it.
    assert hard_margin_points(0.3, margin=0.5, radius=1.0, delta=DELTA) == 400
    assert norm_ball_points(0.2, norm_bound=1.0, radius=1.0) == 200
    assert norm_ball_points(0.2, norm_bound=1.0, radius=1.0, form="derived") == 100


def test_the_soft_margin_bound_by_hand() -> None:
    """m = 200, rho = B = 1: lambda = sqrt(2/200) = 0.1 and sqrt(8/200) = 0.2."""
    found = soft_margin_bound(200, ridge=0.1, radius=1.0, norm=1.0, comparison=0.3)
    assert (found.norm_cost, found.stability) == pytest.approx((0.1, 2 / 20))
    assert found.bound == pytest.approx(0.5)
    assert not found.vacuous
    assert chosen_ridge(200, norm_bound=1.0, radius=1.0) == pytest.approx(0.1)
    ball = norm_ball_bound(200, norm_bound=1.0, radius=1.0, comparison=0.8)
    assert ball.excess == pytest.approx(0.2)
    assert ball.vacuous == (ball.bound >= 1)
    assert norm_ball_bound(200, norm_bound=1.0, radius=1.0, comparison=0.81).vacuous
    derived = soft_margin_bound(
        200, ridge=0.1, radius=3.0, norm=2.0, comparison=0.3, form="derived"
    )
    assert (derived.norm_cost, derived.stability) == pytest.approx((0.4, 9 / 20))
    zero = soft_margin_bound(50, ridge=0.1, radius=1.0, norm=0, comparison=1)
    assert zero.bound == pytest.approx(1.4)


@given(st.floats(1e-3, 0.9), st.floats(0.01, 1.0), st.floats(1e-6, 0.99),
       st.sampled_from(["none", "free"]))  # fmt: skip
def test_the_sample_sizes_are_the_least(
    target: float, margin: float, delta: float, intercept: str
) -> None:
    hard = {"margin": margin, "radius": 1.0, "delta": delta, "intercept": intercept}
    m = hard_margin_points(target, **hard)
    assert hard_margin_bound(m, **hard).bound <= target * (1 + 1e-9)
    assert m == 1 or hard_margin_bound(m - 1, **hard).bound > target * (1 - 1e-9)
    for form in FORMS:
        m = norm_ball_points(target, norm_bound=1 / margin, radius=1.0, form=form)
        ball = {"norm_bound": 1 / margin, "radius": 1.0, "comparison": 0.0, "form": form}
        assert norm_ball_bound(m, **ball).excess <= target * (1 + 1e-9)
        assert m == 1 or norm_ball_bound(m - 1, **ball).excess > target * (1 - 1e-9)


# --- against an error that is known ---------------------------------------------------------------


def test_the_error_of_the_hard_margin_keeps_its_bound() -> None:
    """Atoms e_j with a label each, equally likely: what was never drawn is never learnt.

    With w* = sum s_j e_j / sqrt(K) the margin is 1 / sqrt(K) at rho = 1, and the hard margin is
    w = sum of s_j e_j over the atoms that were drawn: its error rate is the share of the others.
    """
    K, m = 100, 500
    said = hard_margin_bound(m, margin=K**-0.5, radius=1.0, delta=0.5)
    assert not said.vacuous
    errors, atoms = [], np.eye(K)
    for seed in range(2):
        rng = np.random.default_rng(seed)
        labels, drawn = rng.choice([-1.0, 1.0], K), rng.integers(K, size=m)
        data = TrainingData(atoms[drawn], labels[drawn])
        w = solve(hard_margin_svc(data, intercept="none")).values["w"]
        assert np.linalg.norm(w) <= (1 + 1e-6) * K**0.5  # what the proof rests on: 1 / gamma
        errors.append(float((labels * w <= 1e-6).mean()))
        assert errors[-1] == pytest.approx(1 - len(set(drawn.tolist())) / K)
    assert 0 < max(errors) <= said.bound
