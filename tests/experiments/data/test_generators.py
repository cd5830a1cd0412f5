"""Generators by their recipes, classes that are drawn, and closed forms."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from tests.inside.experiments import (
    OUTLIERS,
    gaussian_class_data,
    gaussian_class_means,
    gaussian_class_probabilities,
    label_flip_data,
    label_flip_hyperplane,
    load,
    load_classes,
    outlier_data,
)
from tightmargin.formulations import CATALOGUE, MulticlassData

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


X = np.random.default_rng(5).normal(size=(12, 3))
CODES = np.array([10, 9, 2, 9, 10, 2, 2, 9, 9, 10, 2, 9])
GIVEN = "synthetic:gaussians,n=40,d=2,sigma=0.5,classes=3,seed=2"


def test_classes_are_in_the_order_of_numbers(here: Path) -> None:
    np.savetxt("d.csv", np.column_stack([X, CODES]), "%.17g", ",", header="a,b,c,y", comments="")
    np.savez("d.npz", X=X, y=CODES.astype(float))
    for name in ("d.csv", "d.npz"):
        data = load_classes(name)
        assert data.classes == ("2", "9", "10"), name
        assert [data.classes[k] for k in data.y] == [str(code) for code in CODES], name
        np.testing.assert_array_equal(data.X, X)


@pytest.mark.parametrize("spec", ["d.npz", "sklearn:iris", GIVEN])
def test_two_class_formulations_name_those_of_several(spec: str, here: Path) -> None:
    np.savez("d.npz", X=X, y=CODES)
    able = [e.name for e in CATALOGUE.values() if MulticlassData in e.takes]
    assert "multiclass_hinge" in able
    with pytest.raises(ValueError, match=f"all the classes at once are taken by {able[0]}"):
        load(spec)
    np.savez("two.npz", X=X, y=np.where(CODES == 9, 5, 6))
    with pytest.raises(ValueError, match="say which one is") as raised:
        load("two.npz")
    assert "all the classes" not in str(raised.value)


# Drawn rows


def test_a_draw_that_loses_a_class_names_it(here: Path) -> None:
    np.savez("rare.npz", X=np.arange(100.0)[:, None], y=["rare"] + ["often", "seldom", "x"] * 33)
    with pytest.raises(ValueError, match="the 9 rows drawn hold no point of the class rare: add"):
        load_classes("rare.npz,n=9")
    data = load_classes("rare.npz,n=9,stratify")
    assert data.counts.tolist() == [3, 1, 3, 2]
    with pytest.raises(ValueError, match="option n must lie between 4 and the 100 rows, got 3"):
        load_classes("rare.npz,n=3,stratify")


# Synthetic classes


def test_gaussians_follow_the_written_order_of_draws() -> None:
    data = gaussian_class_data(n=40, d=2, classes=3, sigma=0.5, seed=2)
    rng = np.random.default_rng(2)
    y = rng.integers(3, size=40)
    angles = np.array([0, 2 * math.pi / 3, 4 * math.pi / 3])
    centres = np.column_stack([np.cos(angles), np.sin(angles)])
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_allclose(data.X, centres[y] + 0.5 * rng.standard_normal((40, 2)), atol=1e-15)
    assert data.spec == GIVEN
    again = load_classes(data.spec)
    assert (again.sha256, again.classes) == (data.sha256, ("0", "1", "2"))
    other = gaussian_class_data(n=40, d=2, classes=3, sigma=0.5, seed=2, sample=1)
    assert other.sha256 == load_classes(other.spec).sha256 != data.sha256
    assert load(f"{GIVEN},positive=1").n_pos == (y == 1).sum()


def test_their_probabilities_are_those_of_bayes() -> None:
    points = np.random.default_rng(0).normal(size=(20, 3))
    means = gaussian_class_means(d=3, classes=4)
    densities = np.array([multivariate_normal(m, 0.49).pdf(points) for m in means]).T
    expected = densities / densities.sum(axis=1, keepdims=True)
    found = gaussian_class_probabilities(points, classes=4, sigma=0.7)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    far = gaussian_class_probabilities(np.array([[1e3, 0.0]]), classes=3, sigma=1e-2)
    np.testing.assert_allclose(far, [[1, 0, 0]])
    assert gaussian_class_means(d=1, classes=3).ravel().tolist() == [-1, 0, 1]
