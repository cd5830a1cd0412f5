"""Synthetic data of several classes whose probabilities are known in closed form."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.experiments.data.outlier_generators import stream, whole_number
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.training_data import TrainingData

# Of `clusters`: class +1 from two normal distributions at these means, class -1 around 0.
CLUSTER_MEANS = ((2.0, 0.0), (0.0, 2.0))


def gaussian_class_means(*, d: int, classes: int) -> Array:
    """Means (K, d) of the classes of `gaussian_class_data`.

    Evenly spread on the unit circle of the first two features, from (1, 0) on; with one feature,
    evenly spread from -1 to 1.

    Parameters
    ----------
    d, classes : int
        Numbers of features and classes.

    Raises
    ------
    ValueError
        Naming the argument.

    Examples
    --------
    >>> import tightmargin as tm
    >>> tm.data.gaussian_class_means(d=2, classes=2).round(9).tolist()
    [[1.0, 0.0], [-1.0, 0.0]]
    """
    d, classes = whole_number("d", d, 1), whole_number("classes", classes, 2)
    if d == 1:
        return np.linspace(-1.0, 1.0, classes)[:, None]
    angles = 2 * math.pi * np.arange(classes) / classes
    means = np.zeros((classes, d))
    means[:, 0], means[:, 1] = np.cos(angles), np.sin(angles)
    return means


def gaussian_class_data(
    *, n: int, d: int, classes: int, sigma: float, seed: int, sample: int = 0
) -> MulticlassData:
    """K classes of equal probability, class k distributed as N(mean_k, sigma^2 I).

    Order of draws, from `numpy.random.default_rng(seed)`: n classes by `integers`; an (n, d) block
    of standard normals, scaled and shifted.

    Parameters
    ----------
    n, d, classes : int
        Numbers of points, features and classes.
    sigma : float
        Standard deviation within a class; the means are those of `gaussian_class_means`.
    seed : int
        Seed of everything.
    sample : int
        0 is the recipe above; 1, 2, ... are independent samples, drawn from
        `SeedSequence(seed, spawn_key=(sample,))`.

    Raises
    ------
    ValueError
        Naming the argument; or the seed, when it draws no point of some class.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.gaussian_class_data(n=30, d=2, classes=3, sigma=0.5, seed=0)
    >>> data.X.shape, data.n_classes
    ((30, 2), 3)
    """
    n, means = whole_number("n", n, 1), gaussian_class_means(d=d, classes=classes)
    seed, sample = whole_number("seed", seed, 0), whole_number("sample", sample, 0)
    if not (math.isfinite(sigma) and sigma > 0):
        raise ValueError(f"sigma must be a positive number, got {sigma!r}")
    rng = stream(seed, sample, np.random.default_rng(seed))
    y = rng.integers(classes, size=n)
    X = means[y] + sigma * rng.standard_normal((n, d))
    missing = np.setdiff1d(np.arange(classes), y)
    if missing.size:
        raise ValueError(
            f"seed={seed} draws no point of class {missing[0]} (n={n}): change seed, or draw more "
            "points"
        )
    spec = f"synthetic:gaussians,n={n},d={d},sigma={float(sigma)!r},classes={classes},seed={seed}"
    return MulticlassData(X, y, spec=f"{spec},sample={sample}" if sample else spec)


def gaussian_class_probabilities(X: ArrayLike, *, classes: int, sigma: float) -> Array:
    """P(Y = k | x) (m, K) for points X (m, d) of `gaussian_class_data`.

    With equal priors and covariances, proportional to exp(-||x - mean_k||^2 / (2 sigma^2)).

    Parameters
    ----------
    X : array (m, d)
        Points.
    classes : int
        K.
    sigma : float
        Standard deviation within a class.

    Examples
    --------
    >>> import tightmargin as tm
    >>> tm.data.gaussian_class_probabilities([[0.0, 5.0]], classes=2, sigma=1.0).tolist()
    [[0.5, 0.5]]
    """
    points = np.asarray(X, dtype=np.float64)
    means = gaussian_class_means(d=points.shape[1], classes=classes)
    exponents = -((points[:, None, :] - means) ** 2).sum(axis=2) / (2 * sigma**2)
    weights = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def clusters(seed: int, n: int) -> TrainingData:
    """Perez-Cruz et al. 2003, section 6: n / 2 points of each class, variance 1 along both axes.

    Draws: for each of the n / 2 points labelled +1 which of its two means; their (n / 2, 2) block
    of standard normals; the block of the others.
    """
    rng, half = np.random.default_rng(seed), n // 2
    which = rng.integers(0, 2, half)
    plus = np.array(CLUSTER_MEANS)[which] + rng.standard_normal((half, 2))
    X = np.vstack([plus, rng.standard_normal((n - half, 2))])
    return TrainingData(
        X, np.repeat([1.0, -1.0], [half, n - half]), spec=f"section 6, n={n}, seed={seed}"
    )
