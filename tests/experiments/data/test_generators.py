"""The generators against a point-by-point reading of the recipe and against closed forms."""

import math

import numpy as np
import pytest

from tests.inside.experiments import (
    OUTLIERS,
    label_flip_data,
    label_flip_hyperplane,
    outlier_data,
)

MANY = 60_000


def five_sigma(share, n):
    """Five standard errors of an observed share: exceeded once in about two million tries."""
    return 5 * math.sqrt(share * (1 - share) / n)


def point_by_point(kind, n, d, sigma, seed):
    """Section 5.1.1 read aloud: one branch for each sentence of the paper."""
    rng = np.random.default_rng(seed)
    direction = rng.uniform(-1, 1, d)
    chi = 0.5 * direction / np.linalg.norm(direction)
    chance = rng.uniform(size=n)
    noise = rng.standard_normal((n, d))
    X, y = np.empty((n, d)), np.empty(n)
    for i in range(n):
        if kind == "none":
            mean, sd, y[i] = (chi, sigma, 1) if chance[i] < 0.5 else (-chi, sigma, -1)
        elif chance[i] < 0.45:
            mean, sd, y[i] = chi, sigma, 1
        elif chance[i] < 0.9:
            mean, sd, y[i] = -chi, sigma, -1
        elif kind == "clustered":
            mean, sd, y[i] = 10 * -chi, math.sqrt(0.001) * sigma, 1
        elif chance[i] < 0.95:
            mean, sd, y[i] = chi, math.sqrt(100) * sigma, 1
        else:
            mean, sd, y[i] = -chi, math.sqrt(100) * sigma, -1
        X[i] = mean + sd * noise[i]
    return X, y


@pytest.mark.parametrize("kind", OUTLIERS)
@pytest.mark.parametrize(("n", "d", "sigma", "seed"), [(100, 3, 0.5, 7), (40, 1, 0.2, 0)])
def test_outliers_are_drawn_in_the_documented_order(kind, n, d, sigma, seed):
    data = outlier_data(kind, n=n, d=d, sigma=sigma, seed=seed)
    X, y = point_by_point(kind, n, d, sigma, seed)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    assert data.spec == f"synthetic:{kind},n={n},d={d},sigma={sigma},seed={seed}"


@pytest.mark.parametrize("tau", [0.0, 0.1, 0.5])
def test_labels_are_flipped_with_probability_tau(tau):
    w, b = label_flip_hyperplane(d=3, seed=2)
    data = label_flip_data(n=MANY, d=3, tau=tau, seed=2)
    side = np.where(data.X @ w + b >= 0, 1, -1)
    for here in (side > 0, side < 0):
        share = np.mean(data.y[here] != side[here])
        assert abs(share - tau) <= five_sigma(tau, here.sum())
    assert np.abs(data.X).max() <= 1
    other = label_flip_data(n=200, d=3, tau=0.0, seed=2, sample=1)
    assert (other.y * (other.X @ w + b) >= 0).all(), "samples share the hyperplane alone"
    assert not np.isin(data.X[:200], other.X).any()


def test_one_class_names_the_seed():
    with pytest.raises(ValueError, match=r"seed=0 draws only points labelled [+-]1 \(n=1\)"):
        outlier_data("none", n=1, d=2, sigma=0.2, seed=0)
    # A hyperplane with |b| > |w| leaves the whole interval on one side: no n helps.
    seed = next(
        s for s in range(50) if np.diff(np.abs(np.random.default_rng(s).uniform(-1, 1, 2))) < 0
    )
    with pytest.raises(ValueError, match=f"seed={seed} draws only points.*change seed"):
        label_flip_data(n=500, d=1, tau=0.0, seed=seed)
