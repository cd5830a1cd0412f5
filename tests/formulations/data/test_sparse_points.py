"""Sparse points as training data: canonical, checked to the cell, read-only, and what prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import tightmargin as tm
from tests.inside.formulations import (
    arrays,
    augmented,
    fit_normaliser,
    largest_in_columns,
    scaled_columns,
    scaled_rows,
    squared_distances,
    squared_lengths,
)
from tightmargin.formulations import MulticlassData

X = np.array([[0.0, 2.0, 0.0, -1.5], [0.0] * 4, [3.0, 0.0, 0.0, 0.0], [0.5, -0.25, 0.0, 8.0]])
Y = np.array([1, -1, 1, -1])


def _twice() -> Any:
    """Every number in two halves, each cell stored twice and out of order."""
    row, column = np.nonzero(X)
    halves = np.r_[X[row, column], X[row, column]] / 2
    at = np.r_[row, row][::-1], np.r_[column, column][::-1]
    return sp.coo_matrix((halves[::-1], at), X.shape)


def _with_zeros() -> Any:
    """Zeros of both signs that are stored, and columns out of order."""
    data = np.array([-1.5, 2.0, -0.0, 3.0, 0.0, 8.0, 0.5, -0.25])
    columns = np.array([3, 1, 0, 0, 2, 3, 0, 1])
    return sp.csr_matrix((data, columns, np.array([0, 2, 3, 5, 8])), X.shape)


FORMATS: dict[str, Callable[[], Any]] = {
    "csc": lambda: sp.csc_array(X),
    "duplicates": _twice,
    "stored zeros": _with_zeros,
    "long double": lambda: sp.csr_array(X.astype(np.longdouble)),
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_becomes_the_same_canonical_array(name: str) -> None:
    data, plain = tm.TrainingData(FORMATS[name](), Y), sp.csr_array(X)
    assert isinstance(data.X, sp.csr_array)
    np.testing.assert_array_equal(data.X.toarray(), X)
    for part in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(data.X, part), getattr(plain, part))
        assert getattr(data.X, part).dtype == getattr(plain, part).dtype
    assert data.X.has_canonical_format
    assert data.sha256 == tm.TrainingData(plain, Y).sha256
    assert (data.n, data.d, data.is_sparse) == (4, 4, True)


def test_points_without_any_number_are_points() -> None:
    data = tm.TrainingData(sp.csr_array((3, 2)), [1, -1, 1])
    assert data.X.nnz == 0
    assert "0 of the cells stored" in repr(data)
    assert tm.solve(tm.c_svc(data, C=1.0)).objective == pytest.approx(2.0)


def test_the_points_are_a_copy_that_nobody_writes_to() -> None:
    mine = sp.csr_array(X)
    data = tm.TrainingData(mine, Y)
    digest = data.sha256
    mine.data[0] = 99.0
    np.testing.assert_array_equal(data.X.toarray(), X)
    for part in (data.X.data, data.X.indices, data.X.indptr):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        data.X[0, 0] = 7.0  # a cell that is not stored yet
    assert digest == tm.TrainingData(data.X, Y).sha256
    other = data.X.copy()
    other[0, 1] = 7.0
    assert other[0, 1] == 7.0


def test_formulas_of_points_do_not_ask_whether_they_are_sparse() -> None:
    rows, factors, centre = sp.csr_array(X), np.array([2.0, -1.0, 0.5, 3.0]), X.mean(axis=0)
    sparse, dense = tm.TrainingData(rows, Y), tm.TrainingData(X, Y)
    np.testing.assert_allclose(squared_lengths(rows), (X**2).sum(axis=1), rtol=1e-15)
    np.testing.assert_allclose(
        squared_distances(rows, centre), ((X - centre) ** 2).sum(axis=1), rtol=1e-13
    )
    np.testing.assert_array_equal(largest_in_columns(rows), np.abs(X).max(axis=0))
    np.testing.assert_array_equal(scaled_rows(factors, rows).toarray(), factors[:, None] * X)
    np.testing.assert_array_equal(scaled_columns(rows, factors).toarray(), X * factors)
    for word in ("free", "penalised", "none"):
        np.testing.assert_array_equal(augmented(sparse, word).toarray(), augmented(dense, word))


def test_normalisers_keep_zeros_or_make_the_points_dense() -> None:
    points = X[[0, 2, 3]]
    for kind in ("none", "unit"):
        fitted = fit_normaliser(kind, sp.csr_array(points))
        mapped = fitted.apply(sp.csc_array(points))
        assert sp.issparse(mapped)
        np.testing.assert_allclose(mapped.toarray(), fit_normaliser(kind, points).apply(points))
        assert fitted.constant_columns == (2,)
    dense = fit_normaliser("zscore", sp.csr_array(X)).apply(sp.csr_array(X))
    np.testing.assert_array_equal(dense, fit_normaliser("zscore", X).apply(X))
    with pytest.raises(ValueError, match="row 1 of X is zero and has no direction"):
        fit_normaliser("unit", sp.csr_array(X)).apply(sp.csr_array(X))


def test_too_large_for_dense_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "DENSE_LIMIT_BYTES", 100)
    monkeypatch.setattr("tightmargin.formulations.data.training_data.DENSE_LIMIT_BYTES", 100)
    data = tm.TrainingData(sp.csr_array(X), Y)
    words = r"zero_one_big_m needs dense points, and X needs 128 bytes when dense \(limit 100\)"
    others = r"keeps sparse points: c_svc, c_svc_dual, .*rsvm"
    with pytest.raises(ValueError, match=f"{words}.*{others}"):
        tm.zero_one_big_m(data, penalty=1.0, big_m=2.0)
    with pytest.raises(ValueError, match="conflict_search needs dense points"):
        tm.search.conflict_search(data, penalty=1.0, intercept="free")
    with pytest.raises(ValueError, match="rsvm_path needs dense points"):
        tm.paths.rsvm_path(data=data, norm_bounds=[1.0])
    with pytest.raises(ValueError, match=r"normalise=zscore needs dense points.*take unit"):
        tm.fit("c_svc", data, C=1.0, normalise="zscore")
    with pytest.raises(ValueError, match=r"method sgd needs dense points.*take method=direct"):
        tm.solve(tm.soft_margin_svc(data, ridge=1.0, intercept="none"), method="sgd")
    assert tm.solve(tm.c_svc(data, C=1.0)).certificate.verdict.closed


# --- data of several classes ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "classes", "numbers"),
    [
        ([-1, 1, 1, -1, 0, 10], ("-1", "0", "1", "10"), [0, 2, 2, 0, 1, 3]),
        (["b", "a", "c", "a", "a", "b"], ("a", "b", "c"), [1, 0, 2, 0, 0, 1]),
        ([True, False, True, True, True, True], ("False", "True"), [1, 0, 1, 1, 1, 1]),
    ],
)
def test_labels_of_any_kind_are_numbered_in_their_order(
    y: list[object], classes: tuple[str, ...], numbers: list[int]
) -> None:
    data = MulticlassData(np.arange(12.0).reshape(6, 2), y)  # type: ignore[arg-type]
    assert data.classes == classes
    assert data.y.tolist() == numbers
