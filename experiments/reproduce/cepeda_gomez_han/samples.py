"""Samples of section 5: public data with flipped labels, and points with clustered outliers."""

from __future__ import annotations

import numpy as np

from tightmargin.experiments.data.outlier_generators import (
    FAR,
    NARROW,
    mixture_points,
    outlier_direction,
    outlier_test_data,
)
from tightmargin.experiments.data.specs import load
from tightmargin.experiments.reproduce.cepeda_gomez_han.published import POINTS
from tightmargin.experiments.validation.error_rates import (
    Samples,
    gaussian_error,
    synthetic_samples,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData

TRAIN, VALIDATION = 0.35, 0.35  # the other 30 % test
SPECS = {
    "breast": "uci:breast_cancer_irradiat",
    "german": "uci:german_credit",
    "immunotherapy": "uci:immunotherapy",
    "ionosphere": "uci:ionosphere",
    "sonar": "uci:sonar",
}
PRINTED = 10  # percent


def whole(name: str) -> TrainingData:
    """All points of a data set of Table 3.

    Raises FileNotFoundError: it is not here; the message says how to get it.
    Raises ValueError: it has another number of points than the paper's.
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

    tau: probability of a flip.
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


# --- clustered outliers, section 5.1.1 ------------------------------------------------------------


def outlier_samples(
    kind: str, n: int, d: int, sigma: float, seed: int, *, percent: int, test_points: int
) -> Samples:
    """Training, validation and test points of one replication.

    kind: none, clustered or spread.
    n, d: training points, and validation points; features.
    percent: share of clustered outliers; other kinds take the printed one only.
    Raises ValueError: naming percent, or as
        `tightmargin.experiments.validation.error_rates.synthetic_samples`.
    """
    if percent == PRINTED:
        spec = f"synthetic:{kind},n={n},d={d},sigma={sigma},seed={seed}"
        return synthetic_samples(spec, test_points=test_points)
    if kind != "clustered" or not 0 < percent < 100:
        raise ValueError(f"percent must be {PRINTED}, or 1 to 99 for clustered, got {percent}")
    centroid = 0.5 * outlier_direction(d=d, seed=seed)
    train, validation = (
        clustered_points(percent / 100, n=n, d=d, sigma=sigma, seed=seed, sample=sample)
        for sample in (0, 1)
    )
    test = outlier_test_data(n=test_points, d=d, sigma=sigma, seed=seed)
    return Samples(
        train, validation, test, lambda w, b: gaussian_error(w, b, centroid=centroid, sigma=sigma)
    )


def clustered_points(
    share: float, *, n: int, d: int, sigma: float, seed: int, sample: int
) -> TrainingData:
    """Clustered outliers of any share, drawn in the order of `generators.outlier_data`.

    With chi the centroid of the positive class: (1 - share)/2 N(chi, sigma^2) label +1, as many
    N(-chi, sigma^2) label -1, and share N(-10 chi, 0.001 sigma^2) label +1.
    """
    half = (1 - share) / 2
    pieces = ((half, 1.0, 1.0, 1.0), (1 - share, -1.0, 1.0, -1.0), (1.0, FAR, NARROW, 1.0))
    X, y = mixture_points(pieces, n=n, d=d, sigma=sigma, seed=seed, sample=sample)
    spec = f"clustered,share={share!r},n={n},d={d},sigma={sigma!r},seed={seed},sample={sample}"
    return TrainingData(X, y, spec=spec)


def sum_points_away(data: TrainingData, seed: int) -> bool:
    """Whether sum_i y_i x_i, the hinge machine's direction for small beta, is on the wrong side.

    For small enough beta every margin is below 1, so that (w, b) = beta / (2 (1 - beta)) sum_i
    y_i (x_i, 1). Its expectation along chi is n ((1 - f) - 10 f) ||chi||^2 with a share f of
    clustered outliers: negative from f = 1/11 on.
    """
    along: Array = data.X @ outlier_direction(d=data.d, seed=seed)
    return bool(data.y @ along < 0)
