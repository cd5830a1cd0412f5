"""The conic path on data in any units: no bound above a value, and every claim true exactly.

The truth of a row lies between two numbers in rational arithmetic: the objective of its own point,
stretched until it is feasible, from above, and from below the dual value of its strengthening.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.formulations import StrengtheningBound, augmented
from tests.inside.solvers import ConicRow, LowRank
from tightmargin.formulations import TrainingData
from tightmargin.solvers import Verdict


def value_from_above(data: TrainingData, row: ConicRow, mode: str) -> Fraction:
    """||F||^2 + penalty sum v^2 / T of the row's F, a rounding longer, exactly."""
    longer = Fraction(1) + Fraction(1, 10**12)
    F = [[Fraction(x) * longer for x in line] for line in row.factor.tolist()]
    total = sum(x * x for line in F for x in line)
    for y, point in zip(data.y.tolist(), augmented(data, mode).tolist(), strict=True):
        s = [int(y) * Fraction(x) for x in point]
        products = [sum(f * x for f, x in zip(line, s, strict=True)) for line in F]
        v = 1 - products[0]
        if v > 0:
            T = v * v + sum(p * p for p in products[1:])
            total += Fraction(row.penalty) * v * v / T
    return total


def assert_true(data: TrainingData, row: ConicRow, mode: str) -> None:
    """A bound below the value, and both within what CERTIFIED says of the exact value."""
    assert row.bound <= row.objective * (1 + 1e-9)
    above = float(value_from_above(data, row, mode))
    assert above == pytest.approx(row.objective, rel=1e-8)
    assert row.bound <= above * (1 + 1e-9)
    if row.verdict is Verdict.CERTIFIED:
        assert row.objective - row.bound <= 1e-6 * row.objective


@pytest.mark.parametrize("seed", [3577, 3754, 1585])
def test_seeds_at_which_a_negative_factor_made_a_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 12)), int(rng.integers(1, 4))
    X, w = rng.normal(size=(n, d)), rng.normal(size=d)
    y = np.where(X @ w + 0.3 * rng.normal() * (rng.random() < 0.5) > 0, 1, -1)
    scale, mode = float(10.0 ** rng.integers(-5, 2)), str(rng.choice(["penalised", "none"]))
    prices = [float(10.0 ** rng.integers(-2, 5)) for _ in range(2)]
    data = TrainingData(X * scale, y)
    path = tm.paths.conic_path(data, penalties=prices, intercept=mode)
    assert path.certified
    for row in path.rows:
        assert_true(data, row, mode)


def test_a_bound_above_the_value_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof that lies: the row says so, is not certified, and hands nothing on."""
    honest = LowRank.bound
    lied = []

    def lying(problem: LowRank, gamma: np.ndarray, alpha: np.ndarray, penalty: float) -> object:
        found = honest(problem, gamma, alpha, penalty)
        if penalty == 1.0 and found is not None:
            lied.append(penalty)
            return StrengtheningBound(27019.0, found.gamma, found.alpha, found.beta)
        return found

    monkeypatch.setattr(LowRank, "bound", lying)
    rng = np.random.default_rng(2)
    data = TrainingData(rng.normal(size=(8, 2)), [1, -1] * 4)
    path = tm.paths.conic_path(data, penalties=[0.1, 1.0, 10.0])
    first, second, third = path.rows
    assert lied
    assert second.verdict is Verdict.NOT_CERTIFIED
    assert second.bound == -np.inf
    assert "exceeds the value" in second.stop
    assert np.isnan(second.strengthening).all()
    for row in (first, third):
        assert row.verdict is Verdict.CERTIFIED
        assert_true(data, row, "penalised")
