"""Valid settings of every entry of the catalogue, for tests that spoil or vary one of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tightmargin.formulations import CATALOGUE, MulticlassData, TrainingData

NUMBERS: dict[str, float] = {
    "C": 0.7, "ridge": 0.1, "pi": 0.3, "nu": 0.5, "penalty": 1.3, "budget": 0.5, "beta": 0.5,
    "big_m": 50.0, "intercept_bound": 9.0, "norm_bound": 0.8, "hull_bound": 0.6,
    "price": 0.1, "bend": 0.5, "exponent": 1.5, "rank": 1, "tau": 0.4, "truncation": -0.4,
    "mu": 0.0,
}  # fmt: skip
# Words that choose, and flags: the value itself is tried as a number too.
WORDS: dict[str, Any] = {
    "intercept": "free", "scale": "takeda", "transformation": "bigm", "both_sides": False,
    "class_balance": "uniform", "strengthening": "scaled", "w_ref": "mean_difference",
    "slack_bounds": "derived", "conflicts": "none", "products": "none", "partners": "none",
    "shape": "1x2", "loss": "squared_hinge", "regulariser": "ridge",
    "sides": "violated", "norm": "disjuncts",
}  # fmt: skip


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


def valid(name: str, intercept: str) -> dict[str, Any]:
    """Settings of an entry that its builder takes; conic_fixed has no free intercept."""
    accepted = CATALOGUE[name].parameters
    chosen = {word: value for word, value in (NUMBERS | WORDS).items() if word in accepted}
    if intercept != "free":
        chosen.pop("intercept_bound", None)
    return chosen | {"intercept": intercept}


def as_taken(name: str, data: TrainingData) -> TrainingData | MulticlassData:
    """The points as an entry takes them: for several classes, the two there are."""
    if MulticlassData not in CATALOGUE[name].takes:
        return data
    return MulticlassData(data.X, (data.y > 0).astype(int))


def modes(name: str) -> tuple[str, ...]:
    """Ways to treat the intercept that an entry knows."""
    return ("penalised", "none") if name == "conic_fixed" else ("free", "penalised", "none")
