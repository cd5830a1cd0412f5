"""Risk bounds: levels by their definitions, G by hand, every condition, risks that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inside.experiments import (
    conditional_value_at_risk,
    deviation,
    margin_errors,
    risk_bound,
    theorem_5,
    value_at_risk,
)
from tests.references.reference_solutions import points
from tightmargin.formulations import TrainingData
from tightmargin.solvers import nu_range

DATA = points("overlapping", 1, n=10)
BAR = nu_range(DATA).nu_bar  # 0.408
W, B = np.array([1.2, -0.7]), 0.3
WIDE = {"nu_bar": BAR, "radius": 5.0, "c": 1.0, "delta": 0.05}

# Small whole numbers, so that errors tie and shares of points end exactly at a jump.
errors = st.lists(st.integers(-6, 6), min_size=1, max_size=12).map(
    lambda found: np.array(found, dtype=float) / 4
)
shares = st.integers(1, 24).map(lambda k: k / 24) | st.floats(1e-3, 1.0)


# --- levels --------------------------------------------------------------------------------------


@given(f=errors, nu=shares)
def test_value_at_risk_is_its_definition(f: np.ndarray, nu: float) -> None:
    """And the errors beyond it are at most nu, with it at least: what the proofs use."""
    beta = 1 - nu
    level = value_at_risk(f, nu)
    assert level == min(a for a in f if (f <= a).mean() >= beta - 1e-12)
    assert (f > level).mean() <= nu + 1e-12
    assert (f >= level).mean() >= nu - 1e-12


@given(f=errors, nu=shares)
def test_cvar_is_the_least_value_of_rockafellar_and_uryasev(f: np.ndarray, nu: float) -> None:
    least = min(a + np.maximum(f - a, 0).sum() / (nu * len(f)) for a in f)
    found = conditional_value_at_risk(f, nu)
    assert found == pytest.approx(least, abs=1e-12)
    assert found >= value_at_risk(f, nu) - 1e-12
    assert found <= f.max() + 1e-12


def test_errors_are_distances_to_the_wrong_side() -> None:
    data = TrainingData([[3.0, 4.0], [0.0, 0.0], [3.0, 4.0]], [1, -1, -1])
    assert margin_errors(data, [0.6, 0.8], -1.0) == pytest.approx([-4.0, -1.0, 4.0])
    assert margin_errors(data, [6.0, 8.0], -10.0) == pytest.approx([-4.0, -1.0, 4.0])


# --- G -------------------------------------------------------------------------------------------


def test_g_by_hand() -> None:
    """m = 100, R = c = 1, delta = 1/20, gamma = 1/2: 2/100 (64 log2 200 - 1 + ln 40)."""
    found = deviation(-0.5, m=100, radius=1.0, c=1.0, delta=0.05)
    assert found == pytest.approx(3.1365448365986937, rel=1e-14)
    # 4 c^2 (R^2 + 1)^2 / gamma^2 log2(2 m) with R = 2, c = 1/2, gamma = 5, m = 8: 1 * 1 * 4.
    small = deviation(5.0, m=8, radius=2.0, c=0.5, delta=2 / math.e)
    assert small == pytest.approx(1.0, rel=1e-14)


# --- theorems ------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 10**6),
    nu=st.floats(0.01, 1.0),
    b=st.floats(-3, 3),
    delta=st.floats(0.01, 0.7),
)
@settings(max_examples=60)
def test_the_theorem_that_applies_is_taken(seed: int, nu: float, b: float, delta: float) -> None:
    w = np.random.default_rng(seed).standard_normal(2)
    w /= np.linalg.norm(w)
    f = margin_errors(DATA, w, b)
    alpha, phi = value_at_risk(f, nu), conditional_value_at_risk(f, nu)
    options = WIDE | {"delta": delta}
    if nu > BAR and phi >= 0:
        with pytest.raises(ValueError, match="Theorem 3 needs a negative CVaR"):
            risk_bound(DATA, w, b, nu=nu, **options)
        return
    found = risk_bound(DATA, w, b, nu=nu, **options)
    assert found.theorem == (3 if nu > BAR else 4 if alpha < 0 else 5)
    if found.theorem == 5:
        assert found.bound <= nu
    else:
        assert found.bound >= nu
    if found.through_cvar is not None:
        assert found.bound <= found.through_cvar + 1e-12


def test_nu_the_ball_and_the_level_must_be_those_of_the_data() -> None:
    data = points("unbalanced", 2)
    bar = nu_range(data).nu_bar
    with pytest.raises(ValueError, match=r"nu must lie in \(0, 0\.571429\]"):
        risk_bound(data, W, B, nu=0.6, **(WIDE | {"nu_bar": bar}))
    farthest, largest = np.linalg.norm(DATA.X, axis=1).max(), np.abs(DATA.X).max()
    assert farthest > largest * 1.01
    with pytest.raises(ValueError, match=f"one has norm {farthest:.6g}"):
        risk_bound(DATA, W, B, nu=0.1, **(WIDE | {"radius": largest}))
    risk_bound(DATA, W, B, nu=0.1, **(WIDE | {"radius": farthest}))
    data = TrainingData([[0.0], [0.0], [1.0], [-1.0]], [1, -1, 1, -1])
    options = {"nu_bar": nu_range(data).nu_bar, "radius": 1.0, "c": 1.0, "delta": 0.05}
    with pytest.raises(ValueError, match="Theorem 4 needs a negative value at risk, got 0"):
        risk_bound(data, [1.0], 0.0, nu=0.4, **options)


def test_a_negative_radicand_of_the_second_number_leaves_the_first() -> None:
    data = TrainingData([[1.0], [-1.0], [1e3], [-1e3], [2.0], [-2.0]], [-1, 1, -1, 1, 1, -1])
    options = {"nu_bar": nu_range(data).nu_bar, "radius": 1e3, "c": 2e-6, "delta": 0.9}
    found = theorem_5(data, [1.0], 0.0, nu=0.6, **options)
    assert found.value_at_risk == pytest.approx(1.0)
    assert found.through_cvar is None
    assert math.isfinite(found.bound)
    with pytest.raises(ValueError, match="radicand"):
        deviation(found.cvar, m=6, radius=1e3, c=2e-6, delta=0.9)


def test_known_risks_lie_inside_bounds_that_say_something() -> None:
    """Labels of x = -1, 1 flipped with probability 0.2: sign(x) is wrong 0.2, -sign(x) 0.8."""
    rng, m = np.random.default_rng(5), 40_000
    x = rng.choice([-1.0, 1.0], m)
    data = TrainingData(x[:, None], np.where(rng.random(m) < 0.2, -x, x))
    bar = 2 * min((data.y != x).mean(), 0.5)  # the least mean hinge loss, at w = 1
    options = {"nu_bar": bar, "radius": 1.0, "c": 1.0, "delta": 0.05}
    right = risk_bound(data, [1.0], 0.0, nu=0.3, **options)
    assert (right.theorem, right.value_at_risk, right.vacuous) == (4, -1.0, False)
    assert 0.2 <= right.bound < 0.6
    wrong = risk_bound(data, [-1.0], 0.0, nu=0.39, **options)
    assert (wrong.theorem, wrong.value_at_risk, wrong.vacuous) == (5, 1.0, False)
    assert 0.1 < wrong.bound <= 0.8
    above = risk_bound(data, [1.0], 0.0, nu=0.7, **options)
    assert (above.theorem, above.vacuous) == (3, False)
    assert above.cvar == pytest.approx(-1 + 2 * (data.y != x).mean() / 0.7, abs=1e-12)
    assert 0.2 <= above.bound <= above.through_cvar
    few = TrainingData(data.X[:200], data.y[:200])
    upper, lower = (risk_bound(few, [w], 0.0, nu=0.3, **options) for w in (1.0, -1.0))
    assert (upper.theorem, upper.vacuous, lower.theorem, lower.vacuous) == (4, True, 5, True)
    assert 1 < upper.bound < 2
    assert -1 < lower.bound < 0
