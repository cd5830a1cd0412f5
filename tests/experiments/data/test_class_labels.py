"""Several classes by name: labels of every kind of file, drawn rows, synthetic classes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from tests.inside.experiments import (
    Points,
    gaussian_class_data,
    gaussian_class_means,
    gaussian_class_probabilities,
    load,
    load_classes,
    subset,
)
from tightmargin.formulations import CATALOGUE, MulticlassData

X = np.random.default_rng(5).normal(size=(12, 3))
CODES = np.array([10, 9, 2, 9, 10, 2, 2, 9, 9, 10, 2, 9])
GIVEN = "synthetic:gaussians,n=40,d=2,sigma=0.5,classes=3,seed=2"


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


@given(
    labels=st.lists(st.sampled_from("abcd"), min_size=8, max_size=40).filter(
        lambda cells: len(set(cells)) >= 2
    ),
    share=st.floats(0, 1),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=30)
def test_stratified_classes_keep_their_shares_and_the_order_of_rows(
    labels: list[str], share: float, seed: int
) -> None:
    y = np.array(labels)
    classes, counts = np.unique(y, return_counts=True)
    size = len(classes) + round(share * (len(y) - len(classes)))
    options = {"n": str(size), "stratify": "", "seed": str(seed)}
    rows, kept, *_ = subset(Points(np.arange(len(y))[:, None], y), options)
    assert (np.diff(rows[:, 0]) > 0).all()
    assert len(kept) == size
    np.testing.assert_array_equal(kept, y[rows[:, 0]])
    drawn = np.array([(kept == name).sum() for name in classes])
    exact = size * counts / len(y)
    assert (drawn >= 1).all()
    if (exact >= 1).all():
        assert (abs(drawn - exact) < 1).all()


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
