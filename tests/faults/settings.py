"""What the fault tests spoil: arrays of hyperparameters, and points as an entry takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases import OF_CLASSES
from tightmargin.formulations import MulticlassData, TrainingData


def arrays(data: TrainingData, intercept: str) -> dict[str, Any]:
    """A valid array for every hyperparameter that takes one; of `incumbent`, both parts."""
    width = data.d + (intercept == "penalised")
    return {
        "big_m": np.full(data.n, 50.0),
        "strengthening": np.full(data.n, 1e-3),
        "class_balance": np.full(data.n, 1 / data.n),
        "class_weight": np.array([1.0, 2.0]),
        "w_ref": np.arange(1.0, width + 1),
        "groups": np.arange(data.d, dtype=float),
        "incumbent": np.append(np.ones(data.d), 0.0 if intercept == "none" else 0.3),
    }


def as_taken(name: str, data: TrainingData) -> TrainingData | MulticlassData:
    """The points as an entry takes them: for several classes, the two there are."""
    return MulticlassData(data.X, (data.y > 0).astype(int)) if name in OF_CLASSES else data
