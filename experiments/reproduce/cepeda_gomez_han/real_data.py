"""The five data sets of section 5.2, split and with labels flipped as it says."""

from __future__ import annotations

import numpy as np

from tightmargin.experiments.data.specs import load
from tightmargin.experiments.reproduce.cepeda_gomez_han.published import POINTS
from tightmargin.experiments.validation.error_rates import Samples
from tightmargin.formulations.data.training_data import TrainingData

TRAIN, VALIDATION = 0.35, 0.35  # the other 30 % test
SPECS = {
    "breast": "uci:breast_cancer_irradiat",
    "german": "uci:german_credit",
    "immunotherapy": "uci:immunotherapy",
    "ionosphere": "uci:ionosphere",
    "sonar": "uci:sonar",
}


def whole(name: str) -> TrainingData:
    """All points of a data set of Table 3.

    Raises
    ------
    FileNotFoundError
        It is not here; the message says how to get it.
    ValueError
        It has another number of points than the paper's.
    """
    data = load(SPECS[name])
    if data.n != POINTS[name]:
        raise ValueError(f"{SPECS[name]}: the paper's data has {POINTS[name]} points, not {data.n}")
    return data


def noisy_split(name: str, tau: float, seed: int) -> Samples:
    """Split number `seed`: 35 % train, 35 % validate, 30 % test; the first two with noise.

    From `default_rng(seed)` a permutation of the points and then one uniform number for every
    point; a label is flipped where its number is below tau, but not among test points. So the
    splits are the same for every tau, and a label once flipped stays so as tau grows. A permutation
    whose parts do not all hold both classes is drawn again.

    Parameters
    ----------
    name : str
    tau : float
        Probability of a flip.
    seed : int
    """
    data = whole(name)
    rng = np.random.default_rng(seed)
    first = round(TRAIN * data.n)
    second = first + round(VALIDATION * data.n)
    while True:
        order = rng.permutation(data.n)
        flipped = rng.uniform(size=data.n) < tau
        flipped[order[second:]] = False
        y = np.where(flipped, -data.y, data.y)
        parts = np.split(order, [first, second])
        if all(len(np.unique(y[part])) == 2 for part in parts):
            break
    train, validation, test = (
        TrainingData(data.X[part], y[part], spec=f"{data.spec}, split {seed}, tau {tau:g}, {word}")
        for part, word in zip(parts, ("training", "validation", "test"), strict=True)
    )
    return Samples(train, validation, test)
