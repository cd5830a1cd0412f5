"""Points of section 6, stand-ins for those that are not known, and what is trained on them.

The paper prints no points and no seeds. Every recipe draws from numpy.random.default_rng(seed), in
the order written in its docstring.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tightmargin.experiments.data.specs import load
from tightmargin.experiments.reproduce.perez_cruz.published import FIGURE4_NU
from tightmargin.experiments.validation.cross_validation import splits
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.normalisation import normalise
from tightmargin.formulations.data.training_data import TrainingData

POINTS = 60  # of section 6: the number follows from the caption of Figure 3, see figure3.py
CIRCLES, SPREAD, OFFSET = 28, 0.7, 0.5
CLOUDS, FAR, NEAR = 60, 6.0, 2.5
WIDTH = 1.0  # of Table 1: k(x, x') = exp(-||x - x'||^2)
PANELS = {  # of Figure 2
    "a": "separable points",
    "b": "nu-SVC, just above nu_min",
    "c": "extended nu-SVC, nu = 0.01",
}
SIGMA = 8.0  # of Figure 4: exp(-||x - x'||^2 / (2 sigma^2))
# What kernel_matrix takes, and how many components are kept.
KERNELS: dict[str, tuple[dict[str, Any], int]] = {
    "poly": ({"kernel": "poly", "degree": 2, "coef0": 1.0}, 5),
    "rbf": ({"kernel": "rbf", "width": 1 / (2 * SIGMA**2)}, 5),
}
FIGURE4_NUS = (0.9, 0.8, 0.7, 0.6, FIGURE4_NU, 0.4, 0.3, 0.2, 0.1)
PLACE = FIGURE4_NUS.index(FIGURE4_NU)
LIVER, FOLDS = "uci:liver_disorders", 5


def circles_and_disks(seed: int) -> TrainingData:
    """Stand-in for Figure 1: 14 points around (0.5, 0), 14 around (-0.5, 0), deviation 0.7.

    Draws: a (28, 2) block of standard normals, class +1 first.
    """
    half = CIRCLES // 2
    X = SPREAD * np.random.default_rng(seed).standard_normal((CIRCLES, 2))
    X[:, 0] += OFFSET * _labels(half, half)
    return TrainingData(X, _labels(half, half), spec=f"stand-in for Figure 1, seed={seed}")


def two_clouds(seed: int, distance: float) -> TrainingData:
    """Stand-in for Figure 2: 30 points of each class, variance 1, means so far apart along x = y.

    Draws: a (60, 2) block of standard normals, class +1 first.
    """
    half = CLOUDS // 2
    y = _labels(half, half)
    X = np.random.default_rng(seed).standard_normal((CLOUDS, 2))
    X += (distance / np.sqrt(8)) * y[:, None]
    return TrainingData(X, y, spec=f"stand-in for Figure 2, seed={seed}, distance={distance:g}")


def liver() -> TrainingData:
    """All 345 rows, label `selector`, every feature with mean 0 and standard deviation 1.

    Raises FileNotFoundError, ConnectionError: the data are not here; the message says how to get
        them.
    """
    return normalise(load(LIVER), "zscore")[0]


def liver_split(seed: int, fold: int) -> tuple[TrainingData, TrainingData]:
    """Training and test points of one of five stratified folds."""
    return list(splits(liver(), FOLDS, seed=seed))[fold]


def _labels(plus: int, minus: int) -> Array:
    return np.repeat([1.0, -1.0], [plus, minus])
