"""Samples of section 5.1.1, also with another share of clustered outliers than the printed one."""

from __future__ import annotations

import numpy as np

from tightmargin.experiments.data.outlier_generators import (
    outlier_direction,
    outlier_test_data,
    stream,
)
from tightmargin.experiments.validation.error_rates import (
    Samples,
    gaussian_error,
    synthetic_samples,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData

PRINTED = 10  # percent
FAR = -10.0  # the cluster's mean, in centroids of the positive class
NARROW = np.sqrt(0.001)  # its standard deviation, in sigma


def outlier_samples(
    kind: str, n: int, d: int, sigma: float, seed: int, *, percent: int, test_points: int
) -> Samples:
    """Training, validation and test points of one replication.

    Parameters
    ----------
    kind : str
        none, clustered or spread.
    n, d : int
        Training points, and validation points; features.
    sigma : float
    seed : int
    percent : int
        Share of clustered outliers; other kinds take the printed one only.
    test_points : int

    Raises
    ------
    ValueError
        Naming percent, or as `tightmargin.experiments.validation.error_rates.synthetic_samples`.
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
    shared = np.random.default_rng(seed)
    direction = shared.uniform(-1.0, 1.0, d)
    centroid = 0.5 * direction / np.linalg.norm(direction)
    rng = stream(seed, sample, shared)
    chance = rng.uniform(size=n)
    noise = rng.standard_normal((n, d))
    piece = np.searchsorted([(1 - share) / 2, 1 - share], chance, side="right")
    factor = np.array([1.0, -1.0, FAR])[piece, None]
    width = np.array([1.0, 1.0, NARROW])[piece, None]
    X = factor * centroid + width * sigma * noise
    spec = f"clustered,share={share!r},n={n},d={d},sigma={sigma!r},seed={seed},sample={sample}"
    return TrainingData(X, np.array([1.0, -1.0, 1.0])[piece], spec=spec)


def sum_points_away(data: TrainingData, seed: int) -> bool:
    """Whether sum_i y_i x_i, the hinge machine's direction for small beta, is on the wrong side.

    For small enough beta every margin is below 1, so that (w, b) = beta / (2 (1 - beta)) sum_i
    y_i (x_i, 1). Its expectation along chi is n ((1 - f) - 10 f) ||chi||^2 with a share f of
    clustered outliers: negative from f = 1/11 on.
    """
    along: Array = data.X @ outlier_direction(d=data.d, seed=seed)
    return bool(data.y @ along < 0)
