"""A numeric core that lies: whatever multipliers come out, no bound of the search is too high."""

from __future__ import annotations

import numpy as np
import pytest

from tests.inside.formulations import Array, zero_one_objective
from tests.inside.solvers import SignedPoints, WorkingSets, dual_active_set, kept_gram, probing
from tests.references.brute_force import zero_one_optima
from tightmargin.formulations import TrainingData
from tightmargin.solvers import conflict_search


class Liar:
    """kept_gram with noise, so that every step and every multiplier is wrong."""

    def __init__(self, noise: float) -> None:
        self.noise, self.calls = noise, 0
        self.rng = np.random.default_rng(0)

    def __call__(self, points: SignedPoints, sets: WorkingSets) -> Array:
        self.calls += 1
        true = kept_gram(points, sets)
        return true * np.exp(self.noise * self.rng.normal(size=true.shape))


@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
@pytest.mark.parametrize("noise", [1e-6, 0.01, 1.0])
def test_wrong_multipliers_never_prove_too_much(
    noise: float, intercept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(7)
    y = np.where(np.arange(9) % 2 == 0, 1.0, -1.0)
    data = TrainingData(rng.normal(size=(9, 2)) + 0.4 * y[:, None], y)
    penalties = (0.3, 5.0)
    for penalty, optimum in zip(
        penalties, zero_one_optima(data, penalties, intercept), strict=True
    ):
        liar = Liar(noise)
        monkeypatch.setattr(dual_active_set, "kept_gram", liar)
        monkeypatch.setattr(probing, "kept_gram", liar)
        found = conflict_search(
            data, penalty=penalty, intercept=intercept, incumbent=(np.zeros(2), 0.0),
            step_limit=20_000, compiled=False,
        )  # fmt: skip
        assert liar.calls > 0
        assert found.bound <= optimum * (1 + 1e-9)
        value = zero_one_objective(data, found.w, found.b, penalty=penalty, intercept=intercept)
        assert found.objective == value
        assert value >= optimum * (1 - 1e-9)
