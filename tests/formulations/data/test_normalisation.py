"""Scaling, the unit sphere and kernels against scikit-learn and explicit feature maps."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.base import clone
from sklearn.feature_selection import VarianceThreshold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from tests.inside.formulations import (
    KERNELS,
    NORMALISERS,
    Normaliser,
    cross_gram,
    fit_normaliser,
    gram_data,
)
from tests.support.covering import FULL
from tightmargin.formulations import TrainingData

# Whole numbers over 8: exact in binary, so that equal columns and zero rows happen and are exact.
eighths = st.integers(-400, 400)
pairs = st.integers(1, 4).flatmap(
    lambda d: st.tuples(
        st.integers(2, 7).flatmap(lambda n: arrays(np.int64, (n, d), elements=eighths)),
        arrays(np.int64, (3, d), elements=eighths),
    ).map(lambda pair: tuple(part / 8 for part in pair))
)
THEIRS = {
    "zscore": [VarianceThreshold(), StandardScaler()],
    "unit": [Normalizer()],
    "centred": [StandardScaler(with_std=False), Normalizer()],
    "zscore_unit": [VarianceThreshold(), StandardScaler(), Normalizer()],
}


@pytest.mark.parametrize("kind", THEIRS)
@given(pair=pairs)
@settings(max_examples=100 if FULL else 40)
def test_a_normaliser_is_a_pipeline_of_scikit_learn(kind, pair):
    """New points with the numbers of the training points; what has no direction is refused."""
    X, Z = pair
    varying = np.ptp(X, axis=0) > 0
    scaled = kind.startswith("zscore")
    if scaled and not varying.any():
        if kind == "zscore_unit":
            with pytest.raises(ValueError, match="every column of X is constant"):
                fit_normaliser(kind, X)
        return
    fitted = fit_normaliser(kind, X)
    theirs = make_pipeline(*map(clone, THEIRS[kind]))
    # A column of tiny variance in many digits is constant to scikit-learn's eye only by rounding.
    assume(not scaled or (VarianceThreshold().fit(X).get_support() == varying).all())
    theirs.fit(X)
    kept = varying if scaled else np.ones(X.shape[1], dtype=bool)
    for points_ in (X, Z):
        moved = np.abs(points_ - (0.0 if kind == "unit" else X.mean(axis=0)))
        nowhere = (moved[:, kept] < 1e-9).all(axis=1) & (kind != "zscore")
        if nowhere.any():
            with pytest.raises(ValueError, match=f"row {np.argmax(nowhere)} of X is "):
                fitted.apply(points_)
        else:
            found = fitted.apply(points_)
            found = found[:, varying] if kind == "zscore" else found
            np.testing.assert_allclose(found, theirs.transform(points_), atol=1e-9)


@pytest.mark.parametrize("column", [[0.1, 0.2, -0.3, 0.0], [1e5, 3e5, -4e5, 1e-14]])
def test_a_point_on_a_mean_that_rounding_moved_is_refused(column):
    """The computed mean is another number than the last point, and much nearer than rounding."""
    X = np.array(column)[:, None]
    for kind in ("centred", "zscore_unit"):
        with pytest.raises(ValueError, match=r"row 3 of X is the (training )?mean"):
            fit_normaliser(kind, X).apply(X)
    with pytest.raises(ValueError, match=r"row 3 of data\.X is the mean .* in feature space"):
        gram_data(
            TrainingData(X, [1, -1, 1, -1]),
            kernel="poly", degree=1, coef0=0.0, normalise="centred",
        )  # fmt: skip


def test_points_beyond_double_precision_are_named():
    fitted = fit_normaliser("zscore_unit", [[0.0, 1e-300], [1.0, 0.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="row 1 of X lies beyond double precision"):
        fitted.apply([[0.0, 0.0], [0.5, 1.7e308]])
    with pytest.raises(ValueError, match="row 0 of X lies beyond double precision"):
        fit_normaliser("zscore", [[0.0], [1e-300]]).apply([[1e300]])


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_extreme_sizes_neither_vanish_nor_overflow(size):
    X = size * np.array([[1.0, 2.0], [3.0, -2.0], [-4.0, 1.0]])
    for kind in ("zscore", "unit", "centred", "zscore_unit"):
        expected = fit_normaliser(kind, X / size).apply(X / size)
        np.testing.assert_allclose(fit_normaliser(kind, X).apply(X), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("kind", "X", "message"),
    [
        ("zscor", [[1.0]], "normalise 'zscor' is not known: did you mean 'zscore'"),
        ("pca", [[1.0]], "is not known: choose one of none, zscore, unit, centred"),
        ("unit", [1.0, 2.0, 3.0], r"X must have shape \(m, d\) with m >= 1, got \(3,\)"),
        ("zscore", [[1.0], [math.nan]], "X holds nan in row 1, column 0"),
        ("zscore", [["a"], ["b"]], "X must hold real numbers"),
        ("zscore", [[1j], [2.0]], "X must hold real numbers: 1j in row 0, column 0"),
        ("zscore", np.ma.masked_greater([[1.0], [9.0]], 5.0), "X holds nan in row 1, column 0"),
        ("zscore", sp.eye_array(1_000_000), "X is sparse and needs 8,000,000,000,000 bytes"),
        ("zscore", [[-1.7e308], [1.7e308], [1.7e308]], "column 0 of X spreads beyond double"),
    ],
)
def test_refusals_of_the_normaliser(kind, X, message):
    with pytest.raises(ValueError, match=message):
        fit_normaliser(kind, X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "zscoer"}, "did you mean 'zscore'"),
        ({"shift": None}, "a zscore normaliser needs shift"),
        ({"kind": "unit"}, "a unit normaliser has no shift"),
        ({"shift": [1.0]}, "shift must hold 2 finite numbers"),
        ({"scale": [1.0, math.inf]}, "scale must hold 2 finite numbers"),
        ({"scale": [1.0, 0.0]}, "scale must hold positive numbers"),
        ({"constant_columns": [2]}, "constant_columns must lie in 0 to 1"),
        ({"kind": "zscore_unit", "constant_columns": [0, 1]}, "every column of X is constant"),
        ({"largest": math.inf}, "largest must be a finite number"),
    ],
)
def test_a_damaged_saved_normaliser_is_refused(change, message):
    saved = fit_normaliser("zscore", [[0.0, 1.0], [2.0, 5.0]]).to_json()
    with pytest.raises(ValueError, match=message):
        Normaliser.from_json(saved | change)


# Kernels


@pytest.mark.parametrize("kind", NORMALISERS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_training_points_as_new_points_give_the_gram_matrix(kernel, kind):
    X = np.random.default_rng(20).normal(2.0, 1.5, (12, 3))
    data = TrainingData(X, np.resize([1.0, -1.0], 12))
    parameters = {"linear": {}, "rbf": {"width": 0.2}, "poly": {"degree": 2, "coef0": 1.0}}[kernel]
    gram = gram_data(data, kernel=kernel, normalise=kind, **parameters)
    rows = cross_gram(data, data.X, kernel=kernel, normalise=kind, **parameters)
    np.testing.assert_allclose(rows, gram.gram, atol=1e-12, rtol=1e-12)
    if kind == "centred":
        np.testing.assert_allclose(np.diag(gram.gram), 1, rtol=1e-14)
        # The points before the sphere sum to zero, so that one dimension is lost.
        assert gram.d <= data.n - 1


def test_a_point_on_the_mean_in_feature_space_is_refused():
    """Of 1, 0 and -1 the middle one is the mean, whichever odd power the kernel takes."""
    line = TrainingData([[1.0], [0.0], [-1.0]], [1, -1, 1])
    with pytest.raises(ValueError, match="row 1 of X is the mean of the training points"):
        gram_data(line, kernel="linear", normalise="centred")
    with pytest.raises(ValueError, match=r"row 1 of data\.X is the mean .* in feature space"):
        gram_data(line, kernel="poly", degree=3, coef0=0.0, normalise="centred")
    pair = TrainingData([[1.0], [-1.0]], [1, -1])
    with pytest.raises(ValueError, match=r"row 2 of X is the mean .* in feature space"):
        cross_gram(
            pair, [[5.0], [2.0], [0.0]],
            kernel="poly", degree=3, coef0=0.0, normalise="centred",
        )  # fmt: skip
