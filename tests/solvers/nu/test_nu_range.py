"""nu_bar and its proven bounds, the loss of a quick hyperplane, and a deviation as printed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.inside.experiments import deviation
from tests.inside.solvers import nu_bar_bounds, remark, small_loss
from tests.inside.solvers import nu_range as ranges
from tests.support.covering import covering
from tightmargin.formulations import TrainingData, nu_svc
from tightmargin.solvers import nu_range


def two_clouds() -> TrainingData:
    rng = np.random.default_rng(3)
    X = rng.normal(0, 0.5, (28, 2))
    X[:, 0] += np.repeat([0.5, -0.5], 14)
    return TrainingData(X, np.repeat([1.0, -1.0], 14))


def test_a_dropped_coefficient_counts_in_both_bounds() -> None:
    """With entries of 1e-12 the sign of x separates, and nu_bar is 0; with 0 for them it is 0.7."""
    y, costs = np.repeat([1.0, -1.0], [4, 3]), np.array([0.2, 0.17, 0.1, 0.08, 0.2, 0.15, 0.1])
    ends = {}
    for tiny in (0.0, 1e-12):
        X = np.array([tiny, tiny, tiny, 1.0, -tiny, -tiny, -1.0])[:, None]
        ends[tiny] = nu_bar_bounds(TrainingData(X, y), class_balance=costs)
    assert ends[0.0] == pytest.approx((0.7, 0.7), abs=1e-12)
    low, high = ends[1e-12]
    assert low == 0
    assert 0 <= high < 0.7


@pytest.mark.parametrize("powers", [(-40, -40), (40, -20)])
def test_nu_bar_is_the_same_in_every_unit(powers: tuple[int, int]) -> None:
    """2^k is an exact factor: the hyperplanes are the same."""
    data = two_clouds()
    known = nu_range(data).nu_bar
    assert 0.05 < known < 0.95 * nu_range(data).nu_max
    other = TrainingData(data.X * 2.0 ** np.array(powers), data.y)
    assert nu_range(other).nu_bar == pytest.approx(known, abs=1e-9)
    low, high = nu_bar_bounds(other)
    assert known - 1e-9 <= low <= high + 1e-15
    assert high <= known + 1e-9


def overlapping(seed: int, n: int = 80, d: int = 3, unit: float = 1.0) -> TrainingData:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    return TrainingData(unit * X, y)


@pytest.mark.parametrize(
    ("seed", "unit", "intercept"),
    covering(range(2), [1e-6, 1.0, 1e6], ["free", "penalised", "none"]),
)
def test_the_loss_is_the_least_or_little_more(seed: int, unit: float, intercept: str) -> None:
    data = overlapping(seed, unit=unit)
    weights = np.full(data.n, 1 / data.n)
    lower, upper = nu_bar_bounds(data, intercept=intercept)
    found = small_loss(data, weights, intercept, 0.0)
    assert lower <= found * (1 + 1e-9)
    assert found <= 1.05 * upper


def test_inside_the_range_no_program_is_solved_and_below_it_says_so(monkeypatch: Any) -> None:
    data = overlapping(0)
    lower, upper = nu_bar_bounds(data)
    assert "at or below the range" in remark(nu_svc(data, nu=0.999 * lower).origin)
    monkeypatch.setattr(ranges, "_nu_bar", lambda *_: pytest.fail("nu_bar was asked for"))
    assert remark(nu_svc(data, nu=1.1 * upper).origin) == ""


def lemma_12(level: float, radius: float, m: int, c: float, delta: float) -> float:
    """The deviation as it is printed."""
    inner = 4 * c**2 * radius**2 / level**2 * math.log2(2 * m) - 1 + math.log(2 / delta)
    return math.sqrt(2 / m * inner)


@pytest.mark.parametrize("share", [-1.0, 0.0, 0.6])
def test_lemma_12_gives_the_deviation_of_theorem_3(share: float) -> None:
    """(w, b) / sqrt(1 + b^2) on (x, 1): never more than G, and as much where |b| = R."""
    m, R, level, c, delta = 50, 1.7, 0.2, 0.4, 0.05
    b = share * R
    homogeneous = lemma_12(level / math.sqrt(1 + b**2), math.sqrt(R**2 + 1), m, c, delta)
    through = deviation(-level, m=m, radius=R, c=c, delta=delta)
    assert homogeneous <= through * (1 + 1e-12)
    assert (homogeneous == pytest.approx(through, rel=1e-12)) == (abs(share) == 1.0)
