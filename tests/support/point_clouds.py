"""Random points for the searches below nu_bar."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.inside.formulations import dependent_features
from tightmargin.formulations import TrainingData
from tightmargin.solvers import nu_range


def cloud(
    seed: int, n: int, d: int, *, distance: float = 1.0, share: float = 0.5, rounded: bool = False
) -> Any:
    """Two normal clouds of unlike shape whose means are `distance` apart; None where dependent."""
    rng = np.random.default_rng([seed, n, d])
    first = max(1, min(n - 1, round(n * share)))
    spread = 1 + 0.5 * np.arange(d) / max(1, d - 1)
    X = np.vstack([
        rng.standard_normal((first, d)) * spread + distance / np.sqrt(d),
        rng.standard_normal((n - first, d)),
    ])  # fmt: skip
    data = TrainingData(np.round(X) if rounded else X, np.where(np.arange(n) < first, 1.0, -1.0))
    return None if dependent_features(data, "free")[1] else data


def below_nu_bar(data: TrainingData, share: float, **options: Any) -> float:
    """A share of nu_bar."""
    return share * nu_range(data, **options).nu_bar
