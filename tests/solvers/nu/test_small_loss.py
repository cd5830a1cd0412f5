"""A quickly found hyperplane: its loss is one, near the least, and the remark does without more."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.inside.solvers import nu_bar_bounds, remark, small_loss
from tests.inside.solvers import nu_range as ranges
from tests.support.covering import covering
from tightmargin.formulations import TrainingData, nu_svc


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
