"""Synthetic data of Cepeda, Gomez and Han (2024), with the order of random draws written down.

A constant column is never part of the points: the intercept is a matter of the builders.
"""

from __future__ import annotations

import math
from difflib import get_close_matches

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData

FAR, NARROW = -10.0, math.sqrt(0.001)  # where the cluster of outliers is, and its width
OUTLIERS = ("none", "clustered", "spread")

# Upper ends of the unit interval, then for each piece: factor of the positive centroid, factor of
# sigma, label. The cluster of outliers sits beyond the negative class and is labelled +1.
Mixture = tuple[tuple[float, float, float, float], ...]
_MIXTURES: dict[str, Mixture] = {
    "none": ((0.5, 1.0, 1.0, 1.0), (1.0, -1.0, 1.0, -1.0)),
    "clustered": (
        (0.45, 1.0, 1.0, 1.0),
        (0.9, -1.0, 1.0, -1.0),
        (1.0, FAR, NARROW, 1.0),
    ),
    "spread": (
        (0.45, 1.0, 1.0, 1.0),
        (0.9, -1.0, 1.0, -1.0),
        (0.95, 1.0, 10.0, 1.0),
        (1.0, -1.0, 10.0, -1.0),
    ),
}

_TEST_SAMPLE = 2


def whole_number(name: str, value: int, smallest: int) -> int:
    """Return a whole number of at least `smallest`, or raise ValueError naming the argument."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < smallest:
        raise ValueError(f"{name} must be a whole number of at least {smallest}, got {value!r}")
    return int(value)


def stream(seed: int, sample: int, shared: np.random.Generator) -> np.random.Generator:
    """Choose the stream of a sample: the shared one for 0, an independent one for others."""
    if sample == 0:
        return shared
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(sample,)))


def _labelled(X: Array, y: Array, spec: str, seed: int, sample: int) -> TrainingData:
    if len(np.unique(y)) < 2:
        raise ValueError(
            f"seed={seed} draws only points labelled {y[0]:+.0f} (n={len(y)}): change seed, or "
            "draw more points"
        )
    return TrainingData(X, y, spec=f"{spec},sample={sample}" if sample else spec)


def outlier_direction(*, d: int, seed: int) -> Array:
    """Return the unit normal of the ideal classifier of `outlier_data`.

    Parameters
    ----------
    d : int
        Number of features.
    seed : int
        As given to `outlier_data`.

    Returns
    -------
    array (d,)
        It points to the positive class; the centroids are plus and minus half of it, and the
        ideal intercept is 0.

    Raises
    ------
    ValueError
        Naming the argument.
    """
    direction = np.random.default_rng(whole_number("seed", seed, 0)).uniform(
        -1.0, 1.0, whole_number("d", d, 1)
    )
    return direction / np.linalg.norm(direction)


def outlier_data(
    kind: str, *, n: int, d: int, sigma: float, seed: int, sample: int = 0
) -> TrainingData:
    """Two Gaussian classes with outliers (Cepeda et al. 2024, section 5.1.1).

    With chi = d / (2 ||d||) for a random direction d, and N the normal distribution:

        none       1/2 N(chi, sigma^2) label +1, 1/2 N(-chi, sigma^2) label -1
        clustered  0.45 and 0.45 as above, 0.1 N(-10 chi, 0.001 sigma^2) label +1
        spread     0.45 and 0.45 as above, 0.05 N(chi, 100 sigma^2) label +1,
                   0.05 N(-chi, 100 sigma^2) label -1

    The paper prints the mean of the cluster as 10 chi with index -1: the centroid of the negative
    class, ten times as far out. All covariances are multiples of the identity.

    Order of draws, from `numpy.random.default_rng(seed)`: the d entries of the direction, uniform
    on [-1, 1); n uniform numbers on [0, 1) that choose the piece of the mixture in the order
    written above; an (n, d) block of standard normals, scaled and shifted.

    Parameters
    ----------
    kind : str
        `none`, `clustered` or `spread`.
    n, d : int
        Number of points and of features.
    sigma : float
        Standard deviation within a class. The error of the ideal classifier on data without
        outliers is Phi(-1 / (2 sigma)).
    seed : int
        Seed of everything.
    sample : int
        0 is the recipe above. 1, 2, ... are further independent samples along the same direction
        (validation, test), drawn from `SeedSequence(seed, spawn_key=(sample,))`.

    Raises
    ------
    ValueError
        Naming the argument; or the seed, when it draws one class only.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=20, d=3, sigma=0.5, seed=1)
    >>> fresh = tm.data.outlier_data("clustered", n=20, d=3, sigma=0.5, seed=1, sample=1)
    >>> data.X.shape, bool((data.X == fresh.X).all())
    ((20, 3), False)
    """
    if kind not in _MIXTURES:
        close = get_close_matches(str(kind), OUTLIERS, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise ValueError(f"kind {kind!r} is not known: {hint}choose one of {', '.join(OUTLIERS)}")
    n, d = whole_number("n", n, 1), whole_number("d", d, 1)
    seed, sample = whole_number("seed", seed, 0), whole_number("sample", sample, 0)
    if not (math.isfinite(sigma) and sigma > 0):
        raise ValueError(f"sigma must be a positive number, got {sigma!r}")
    X, y = mixture_points(_MIXTURES[kind], n=n, d=d, sigma=sigma, seed=seed, sample=sample)
    spec = f"synthetic:{kind},n={n},d={d},sigma={float(sigma)!r},seed={seed}"
    return _labelled(X, y, spec, seed, sample)


def mixture_points(
    mixture: Mixture, *, n: int, d: int, sigma: float, seed: int, sample: int
) -> tuple[Array, Array]:
    """Points (n, d) and labels (n,) of any mixture, in the order of draws of `outlier_data`."""
    shared = np.random.default_rng(seed)
    direction = shared.uniform(-1.0, 1.0, d)
    centroid = 0.5 * direction / np.linalg.norm(direction)
    rng = stream(seed, sample, shared)
    chance = rng.uniform(size=n)
    noise = rng.standard_normal((n, d))
    ends, factors, widths, labels = np.array(mixture).T
    piece = np.searchsorted(ends, chance, side="right")
    return factors[piece, None] * centroid + (widths[piece] * sigma)[:, None] * noise, labels[piece]


def outlier_test_data(*, n: int, d: int, sigma: float, seed: int) -> TrainingData:
    """Clean test points for any kind of `outlier_data` with the same d, sigma and seed.

    Independent of training and validation points (samples 0 and 1); the paper takes n = 100000.

    Parameters
    ----------
    n, d, sigma, seed
        As for `outlier_data`.

    Raises
    ------
    ValueError
        See `outlier_data`.

    Examples
    --------
    >>> import tightmargin as tm
    >>> tm.data.outlier_test_data(n=50, d=3, sigma=0.5, seed=1).X.shape
    (50, 3)
    """
    return outlier_data("none", n=n, d=d, sigma=sigma, seed=seed, sample=_TEST_SAMPLE)


def label_flip_hyperplane(*, d: int, seed: int) -> tuple[Array, float]:
    """Return normal vector (d,) and intercept of the hyperplane behind `label_flip_data`.

    Raises
    ------
    ValueError
        Naming the argument.
    """
    drawn = np.random.default_rng(whole_number("seed", seed, 0)).uniform(
        -1.0, 1.0, whole_number("d", d, 1) + 1
    )
    return drawn[1:], float(drawn[0])


def label_flip_data(*, n: int, d: int, tau: float, seed: int, sample: int = 0) -> TrainingData:
    """Separable points with flipped labels (Cepeda et al. 2024, Appendix B).

    The label is the side of a random hyperplane, +1 on it, flipped with probability tau.

    Order of draws, from `numpy.random.default_rng(seed)`: the intercept, then the d entries of the
    normal vector, uniform on [-1, 1); an (n, d) block of points, uniform on [-1, 1); n uniform
    numbers on [0, 1), a label is flipped where its number is below tau. The constant column of the
    paper is not part of the points.

    Parameters
    ----------
    n, d : int
        Number of points and of features.
    tau : float
        Probability of a flip, in [0, 1/2]. With 0 the sample is a clean test set.
    seed : int
        Seed of everything.
    sample : int
        0 is the recipe above; 1, 2, ... are independent samples with the same hyperplane, drawn
        from `SeedSequence(seed, spawn_key=(sample,))`.

    Raises
    ------
    ValueError
        Naming the argument; or the seed, when it draws one class only (a hyperplane may miss the
        cube altogether).

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.label_flip_data(n=20, d=3, tau=0.1, seed=0)
    >>> data.X.shape
    (20, 3)
    """
    n, d = whole_number("n", n, 1), whole_number("d", d, 1)
    seed, sample = whole_number("seed", seed, 0), whole_number("sample", sample, 0)
    if not 0 <= tau <= 0.5:
        raise ValueError(f"tau must be between 0 and 0.5, got {tau!r}")
    shared = np.random.default_rng(seed)
    hyperplane = shared.uniform(-1.0, 1.0, d + 1)
    rng = stream(seed, sample, shared)
    X = rng.uniform(-1.0, 1.0, (n, d))
    flipped = rng.uniform(size=n) < tau
    positive = (X @ hyperplane[1:] + hyperplane[0] >= 0) ^ flipped
    spec = f"synthetic:flip,n={n},d={d},tau={float(tau)!r},seed={seed}"
    return _labelled(X, np.where(positive, 1.0, -1.0), spec, seed, sample)
