"""Scaling, the unit sphere and kernels against scikit-learn and explicit feature maps."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.feature_selection import VarianceThreshold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler, normalize

from tests.inside.formulations import (
    KERNELS,
    NORMALISERS,
    Normaliser,
    cross_gram,
    fit_normaliser,
    gram_data,
    normalise,
)
from tightmargin.formulations import GramData, TrainingData

# Whole numbers over 8: exact in binary, so that equal columns and zero rows happen and are exact.
points = st.integers(2, 7).flatmap(
    lambda n: st.integers(1, 4).flatmap(
        lambda d: arrays(np.int64, (n, d), elements=st.integers(-400, 400)).map(lambda a: a / 8)
    )
)
pairs = points.flatmap(
    lambda X: st.tuples(
        st.just(X),
        arrays(np.int64, (3, X.shape[1]), elements=st.integers(-400, 400)).map(lambda a: a / 8),
    )
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(20)
    return TrainingData(rng.normal(2.0, 1.5, (12, 3)), np.resize([1.0, -1.0], 12), spec="twelve")


@pytest.fixture(scope="module")
def new():
    return np.random.default_rng(21).normal(1.0, 2.0, (7, 3))


HUGE = [[0.0, -1.7e308], [1.0, 1.7e308], [2.0, 1.7e308]]

# Normaliser


@given(X=points)
def test_centred_is_mean_then_sphere(X):
    fitted = fit_normaliser("centred", X)
    moved = X - X.mean(axis=0)
    on_mean = np.flatnonzero(np.abs(moved).max(axis=1) < 1e-9)
    if on_mean.size:
        with pytest.raises(ValueError, match=f"row {on_mean[0]} of X is the mean of the training"):
            fitted.apply(X)
    else:
        np.testing.assert_allclose(fitted.apply(X), normalize(moved), atol=1e-9)


@given(pair=pairs)
def test_zscore_unit_is_a_pipeline_of_scikit_learn(pair):
    """Section 6 of Bi & Vapnik, new points with the numbers of the training points."""
    X, Z = pair
    varying = np.ptp(X, axis=0) > 0
    if not varying.any():
        with pytest.raises(ValueError, match="every column of X is constant"):
            fit_normaliser("zscore_unit", X)
        return
    fitted = fit_normaliser("zscore_unit", X)
    theirs = make_pipeline(VarianceThreshold(), StandardScaler(), Normalizer())
    # A column of tiny variance in many digits is constant to scikit-learn's eye only by rounding.
    assume((VarianceThreshold().fit(X).get_support() == varying).all())
    theirs.fit(X)
    assert fitted.kept.tolist() == np.flatnonzero(varying).tolist()
    for points_ in (X, Z):
        on_mean = (np.abs(points_ - X.mean(axis=0))[:, varying] < 1e-9).all(axis=1)
        if on_mean.any():
            with pytest.raises(ValueError, match=f"row {np.argmax(on_mean)} of X is the training"):
                fitted.apply(points_)
        else:
            found = fitted.apply(points_)
            np.testing.assert_allclose(found, theirs.transform(points_), atol=1e-9)
            np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-14)


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


def test_a_repeated_number_is_constant_even_when_its_mean_is_rounded():
    X = np.column_stack([np.full(3, 0.1), np.arange(3.0)])
    assert X[:, 0].std() != 0
    fitted = fit_normaliser("zscore", X)
    assert fitted.constant_columns == (0,)
    assert (fitted.apply(X)[:, 0] == 0).all()
    np.testing.assert_allclose(fitted.apply([[1.1, 1.0]]), [[1.0, 0.0]])


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
        ("zscore", HUGE, "column 1 of X spreads beyond double precision"),
    ],
)
def test_refusals_of_the_normaliser(kind, X, message):
    with pytest.raises(ValueError, match=message):
        fit_normaliser(kind, X)


def test_refusals_of_what_is_normalised(data):
    with pytest.raises(ValueError, match=r"X must have shape \(m, 3\) with m >= 1, got \(2, 2\)"):
        fit_normaliser("zscore", data.X).apply(np.ones((2, 2)))
    with pytest.raises(TypeError, match=r"normalise takes TrainingData, got GramData.*gram_data"):
        normalise(GramData(np.eye(2), np.array([1.0, -1.0])), "unit")


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
def test_training_points_as_new_points_give_the_gram_matrix(data, kernel, kind):
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
