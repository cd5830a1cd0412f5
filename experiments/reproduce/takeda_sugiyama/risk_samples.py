"""Training and test points for the risk bounds, in a ball of radius 1 whatever is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightmargin.experiments.data.specs import load
from tightmargin.experiments.validation.cross_validation import splits
from tightmargin.formulations.data.normalisation import normalise
from tightmargin.formulations.data.training_data import TrainingData

FOLDS = 3  # one of them tests


@dataclass(frozen=True)
class Sampled:
    """Where points come from, and the nu that are tried on them.

    spec, normaliser: empty for the coin.
    nus, tuple of float.
    """

    words: str
    spec: str
    normaliser: str
    nus: tuple[float, ...]


COIN, FLIPPED, TOSSES = "coin", 0.4, 20_000
SAMPLED = {
    "wdbc": Sampled(
        "breast cancer", "sklearn:breast_cancer,features=0+1+4", "zscore_unit",
        (0.7, 0.5, 0.3, 0.22, 0.15, 0.1, 0.05, 0.02),
    ),
    "liver": Sampled(
        "liver disorders", "uci:liver_disorders", "zscore_unit",
        (0.8, 0.75, 0.6, 0.5, 0.3, 0.2, 0.1, 0.05),
    ),
    "adult": Sampled("adult", "uci:adult_a4a", "unit", (0.49, 0.45, 0.4)),
    COIN: Sampled("coin", "", "", (0.82, 0.7, 0.6, 0.5, 0.35, 0.3, 0.2, 0.1)),
}  # fmt: skip
RADIUS = 1.0
NOTES = (
    "breast cancer: mean radius, texture and smoothness; liver disorders: six features; adult: the "
    "fourth training subset, 123 features of 0 and 1",
    "every point is divided by its norm, so that R = 1 bounds all that can be drawn; the capacity "
    "term depends on the scale of the points as (R + 1/R)^2, and this is where it is least",
    "two thirds of the points train, a third tests, stratified; z-scores, of all but adult, are "
    "those of the training points",
    f"coin: x = -1 or 1 with the same probability, and the label is x, flipped with probability "
    f"{FLIPPED:g}; m = {TOSSES}. The machine is w = 1, b = 0, not trained, with the risk "
    f"{FLIPPED:g}; the theorems are about all (w, b)",
)


def sample(name: str, split: int) -> tuple[TrainingData, TrainingData]:
    """Training and test points of a split.

    Raises FileNotFoundError, ConnectionError: the data are not here; the message says how to get
        them.
    """
    if name == COIN:
        return _tosses(split, 0), _tosses(split, 1)
    known = SAMPLED[name]
    train, test = next(splits(load(known.spec), FOLDS, seed=split))
    mapped, fitted = normalise(train, known.normaliser)
    return mapped, TrainingData(fitted.apply(test.X), test.y)


def _tosses(split: int, part: int) -> TrainingData:
    rng = np.random.default_rng([split, part])
    x = rng.choice([-1.0, 1.0], TOSSES)
    return TrainingData(x[:, None], np.where(rng.random(TOSSES) < FLIPPED, -x, x))
