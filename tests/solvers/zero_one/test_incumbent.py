"""The heuristic never beats the optimum, reaches it where that is known, and tells the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inside.formulations import trivial_points, zero_one_objective
from tests.inside.solvers import zero_one_enumeration, zero_one_incumbent
from tests.solvers.zero_one.clouds import INTERCEPTS
from tightmargin.formulations import TrainingData


def noisy(seed: int, n: int, d: int) -> TrainingData:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return TrainingData(X, np.where(X[:, 0] + 0.7 * rng.standard_normal(n) > 0, 1, -1))


# --- against the optimum -------------------------------------------------------------------------


@st.composite
def small_data(draw: st.DrawFn) -> TrainingData:
    n, d = draw(st.integers(2, 14)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.integers(-2, 3, (n, d)) * draw(st.sampled_from([1.0, 1 / 3, 1e3]))
    X = X + draw(st.sampled_from([0.0, 1e-9, 0.5])) * rng.standard_normal((n, d))
    return TrainingData(X, [1, -1, *rng.choice([-1, 1], n - 2)])


@pytest.mark.parametrize("intercept", INTERCEPTS)
@settings(max_examples=15)
@given(data=small_data(), penalty=st.sampled_from([0.05, 1.0, 30.0, 1e5]))
def test_between_the_bound_and_trivial_points(
    intercept: str, data: TrainingData, penalty: float
) -> None:
    found = zero_one_incumbent(data, penalty=penalty, intercept=intercept)
    exact = zero_one_enumeration(data, penalty=penalty, intercept=intercept)
    assert found.objective >= exact.bound
    trivial = trivial_points(data, penalty=penalty, intercept=intercept)[0]
    assert found.objective <= trivial.objective
    value = zero_one_objective(data, found.w, found.b, penalty=penalty, intercept=intercept)
    assert found.objective == value


@pytest.mark.parametrize(
    ("intercept", "seed", "n", "d"),
    [("free", 1, 40, 2), ("penalised", 0, 30, 1), ("none", 3, 25, 3)],
)
def test_reaches_the_enumerated_optimum(intercept: str, seed: int, n: int, d: int) -> None:
    data = noisy(seed, n, d)
    penalties = [0.3, 1.0, 20.0]
    exact = zero_one_enumeration(data, penalty=penalties, intercept=intercept)
    for penalty, optimum in zip(penalties, exact, strict=True):
        found = zero_one_incumbent(data, penalty=penalty, intercept=intercept)
        assert found.objective == pytest.approx(optimum.objective, rel=1e-8)
        again = zero_one_incumbent(data, penalty=penalty, intercept=intercept)
        assert (found.w == again.w).all()
        assert (found.b, found.objective, found.source) == (again.b, again.objective, again.source)
