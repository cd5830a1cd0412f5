"""How often a hyperplane misclassifies: counted on points, and exactly for Gaussian classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from tightmargin.experiments.data.outlier_generators import OUTLIERS, outlier_direction
from tightmargin.experiments.data.specs import load
from tightmargin.experiments.data.subsets import columns_of
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData

TEST_POINTS = 100_000  # the paper's
ErrorRate = Callable[[Array, float], float]


def mistakes(y: Array, scores: Array) -> int:
    """Points whose score <w, x> + b is on the wrong side, or 0: no side is taken there."""
    return int((y * scores <= 0).sum())


def gaussian_error(w: Array, b: float, *, centroid: Array, sigma: float) -> float:
    """Probability that <w, x> + b misclassifies, without any sample.

    Labels are equally likely and x ~ N(y centroid, sigma^2 I), so that y (<w, x> + b) is normal
    with mean <w, centroid> + y b and deviation s = sigma ||w||:

        1/2 Phi(-(<w, centroid> + b) / s) + 1/2 Phi(-(<w, centroid> - b) / s)

    The classes of section 5.1.1 of Cepeda et al. (2024) without outliers. With w = 0 it is 1/2, the
    share of the class that b is against, and 1 if b = 0 as well, as `mistakes` counts.

    w, b (d,): the hyperplane.
    centroid (d,): mean of the positive class; the negative one has its opposite.
    sigma: standard deviation within a class, positive.
    """
    reach = sigma * float(np.linalg.norm(w))
    along = float(w @ centroid)
    if reach == 0:
        return 0.5 if b else 1.0
    return float(ndtr(-(along + b) / reach) + ndtr(-(along - b) / reach)) / 2


@dataclass(frozen=True, eq=False)
class Samples:
    """Points to train on, to choose the hyperparameter with, and to judge the choice by.

    train, validation, test: independent samples; the test points have no outliers.
    exact(w, b) -> float, or None: the error rate on what the test points are drawn from, where it
        has a closed form.
    """

    train: TrainingData
    validation: TrainingData
    test: TrainingData
    exact: ErrorRate | None = None


def synthetic_samples(spec: str, *, test_points: int = TEST_POINTS) -> Samples:
    """Samples 0, 1 and 2 of a generator: section 5.1.2 of Cepeda et al. (2024).

    Training and validation points are drawn alike, outliers or flipped labels included, n of each;
    the test points are clean.

    spec: synthetic:KIND,... without sample=, see tightmargin.experiments.data.specs.
    test_points: how many; the paper takes 100000.
    Raises ValueError: beginning with the spec, for any that is no synthetic one or names a sample.
    """
    head, *written = [part.strip() for part in spec.split(",")]
    scheme, _, kind = head.partition(":")
    options = dict(part.split("=", 1) for part in written if "=" in part)
    if scheme != "synthetic":
        raise ValueError(f"{spec}: only synthetic data has samples; other data is cut into folds")
    if "sample" in options:
        raise ValueError(f"{spec}: leave sample out: 0 trains, 1 validates, 2 tests")
    train = load(spec)
    clean = options | {"n": str(test_points), "sample": "2"}
    if kind == "flip":
        clean["tau"] = "0"
    source = "none" if kind in OUTLIERS else kind
    test = load(",".join([f"synthetic:{source}", *(f"{k}={v}" for k, v in clean.items())]))
    return Samples(
        train, load(f"{spec},sample=1"), test, _closed_form(options) if kind in OUTLIERS else None
    )


def _closed_form(options: dict[str, str]) -> ErrorRate:
    d = int(options["d"])
    direction = outlier_direction(d=d, seed=int(options.get("seed", "0")))
    centroid = 0.5 * direction[columns_of(options, d)]
    sigma = float(options["sigma"])
    return lambda w, b: gaussian_error(w, b, centroid=centroid, sigma=sigma)
