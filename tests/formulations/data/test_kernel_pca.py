"""Kernel principal components against scikit-learn, feature maps that can be written out, SVC."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA
from sklearn.svm import SVC

from tests.inside.experiments import prepare, restore
from tests.inside.formulations import cross_gram, fit_kernel_pca, gram_data
from tests.references import reference_solutions
from tightmargin.formulations import TrainingData, c_svc
from tightmargin.solvers import Verdict, solve

DATA = reference_solutions.points("overlapping", 3, n=24, d=3)
NEW = np.random.default_rng(31).normal(0.3, 1.5, (9, 3))
KERNELS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "rbf": {"kernel": "rbf", "width": 0.4},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 0.7},
}
# The same kernels as scikit-learn calls them.
THEIRS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": "linear"},
    "rbf": {"kernel": "rbf", "gamma": 0.4},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 0.7, "gamma": 1.0},
}


def same_up_to_sign(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Their columns, turned to our side."""
    return theirs * np.sign((ours * theirs).sum(axis=0))


# --- components ----------------------------------------------------------------------------------


@pytest.mark.parametrize("normalise", ["zscore", "unit", "centred"])
def test_normalisation_comes_before_the_components(normalise: str) -> None:
    options = KERNELS["rbf"] | {"normalise": normalise}
    found = fit_kernel_pca(DATA, keep="full", **options)
    theirs = KernelPCA(n_components=found.r, kernel="precomputed")
    theirs.fit(gram_data(DATA, **options).gram)
    for X in (DATA.X, NEW):
        ours, expected = found.apply(X), theirs.transform(cross_gram(DATA, X, **options))
        np.testing.assert_allclose(ours, same_up_to_sign(ours, expected), atol=1e-8)


def test_a_kernel_matrix_gives_what_its_points_give() -> None:
    rows = cross_gram(DATA, NEW, **KERNELS["rbf"])
    points = fit_kernel_pca(DATA, keep=5, **KERNELS["rbf"])
    known = fit_kernel_pca(gram_data(DATA, **KERNELS["rbf"]), keep=5)
    np.testing.assert_allclose(known.data.X, points.data.X, atol=1e-12)
    np.testing.assert_allclose(known.apply(rows), points.apply(NEW), atol=1e-12)
    with pytest.raises(ValueError, match=r"X must have shape \(m, 24\)"):
        known.apply(NEW)


# --- what is left out ----------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.8])
def test_a_share_keeps_the_fewest_components_that_hold_it(share: float) -> None:
    found = fit_kernel_pca(DATA, keep=share, **KERNELS["rbf"])
    fewer = fit_kernel_pca(DATA, keep=found.r - 1, **KERNELS["rbf"])
    assert found.share_kept >= share > fewer.share_kept
    assert 1 < found.r < 23


def test_equal_eigenvalues_stay_together() -> None:
    square = TrainingData([[3.0, 0, 1], [-3.0, 0, 1], [0, 3.0, -1], [0, -3.0, -1]], [1, -1, 1, -1])
    with pytest.raises(ValueError, match=r"keep = 1 separates equal .*\(18\).*: keep 2$"):
        fit_kernel_pca(square, keep=1, kernel="linear")
    assert fit_kernel_pca(square, keep=0.1, kernel="linear").r == 2
    assert fit_kernel_pca(square, keep=2, kernel="linear").r == 2
    low = TrainingData(square.X * [1.0, 1.0, 4.0], square.y)  # 64 once, before 18 twice
    with pytest.raises(ValueError, match="keep 1 or 3"):
        fit_kernel_pca(low, keep=2, kernel="linear")


def test_components_below_the_tolerance_are_none() -> None:
    points = np.hstack([DATA.X, 1e-4 * DATA.X[:, :1] ** 2, DATA.X[:, :1] - DATA.X[:, 1:2]])
    data = TrainingData(points, DATA.y)
    assert fit_kernel_pca(data, keep="full", kernel="linear").rank == 4
    found = fit_kernel_pca(data, keep="full", kernel="linear", tolerance=1e-6)
    assert found.rank == 3
    assert 0 < found.largest_dropped < 1e-6 * found.eigenvalues[0]
    with pytest.raises(ValueError, match="the 1 components above the tolerance hold 0"):
        fit_kernel_pca(data, keep=0.999, kernel="linear", tolerance=0.9)


# --- machines ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "C"), list(zip(KERNELS, (0.8, 5.0, 0.8), strict=True))
)  # at 0.3 every point of rbf is at its bound, b in a range
def test_c_svc_on_all_components_decides_as_the_kernel_machine(name: str, C: float) -> None:
    found = fit_kernel_pca(DATA, keep="full", **KERNELS[name])
    result = solve(c_svc(found.data, C=C))
    assert result.certificate.verdict is Verdict.CERTIFIED
    theirs = SVC(C=C, tol=1e-9, **THEIRS[name]).fit(DATA.X, DATA.y)
    w, b = result.values["w"], float(result.values["b"])
    ours, expected = found.apply(NEW) @ w + b, theirs.decision_function(NEW)
    np.testing.assert_allclose(ours, expected, atol=1e-4 * np.abs(expected).max())
    a, a0 = found.expansion(w, b)
    rows = cross_gram(DATA, NEW, **KERNELS[name])
    np.testing.assert_allclose(rows @ a + a0, ours, atol=1e-9 * np.abs(expected).max())


# --- saved ---------------------------------------------------------------------------------------


def test_a_record_turns_equal_eigenvalues_and_nothing_else() -> None:
    """The four corners of a square have two equal eigenvalues: any directions will do."""
    corners = TrainingData([[1, 1], [1, -1], [-1, 1], [-1, -1]], [1, 1, -1, -1])
    found = fit_kernel_pca(corners, keep="full", kernel="linear")
    assert found.turned(found.basis.tolist()) is found
    c, s = math.cos(0.7), math.sin(0.7)
    turn = np.array([[c, s], [s, -c]])
    turned = found.turned(found.basis @ turn)
    np.testing.assert_allclose(turned.basis, found.basis @ turn, atol=1e-15)
    np.testing.assert_allclose(turned.data.X @ turned.data.X.T, corners.X @ corners.X.T, atol=1e-14)
    # Whatever a file says, lengths are those of the data.
    for basis in (1e3 * found.basis, 0 * found.basis, np.ones((4, 2))):
        X = found.turned(basis).data.X
        np.testing.assert_allclose(X @ X.T, corners.X @ corners.X.T, atol=1e-14)
    with pytest.raises(ValueError, match="finite numbers"):
        found.turned([[1.0]])
    prepared = prepare(corners, {"kpca": "full"})
    record = json.loads(json.dumps(prepared.record))
    record["components"]["basis"] = (prepared.components.basis @ turn).tolist()
    again = restore(corners, record)
    np.testing.assert_allclose(again.data.X, prepared.data.X @ turn, atol=1e-14)
    distinct = fit_kernel_pca(DATA, keep=4, **KERNELS["rbf"])
    np.testing.assert_allclose(distinct.turned(-distinct.basis).basis, -distinct.basis, rtol=1e-15)


def test_the_preparation_says_what_does_not_belong() -> None:
    with pytest.raises(ValueError, match="kpca_tolerance belongs to kpca"):
        prepare(DATA, {"kpca_tolerance": 1e-3})
    with pytest.raises(ValueError, match="kernel linear takes no width"):
        prepare(DATA, {"kpca": "full", "width": 0.3})
    with pytest.raises(ValueError, match="leaves nothing for normalise to do"):
        prepare(DATA, {"kpca": "full", "kernel": "precomputed", "normalise": "unit"})
    prepared = prepare(DATA, {"kpca": 2, "kernel": "rbf", "width": 0.4, "normalise": "zscore"})
    again = restore(DATA, json.loads(json.dumps(prepared.record)))
    assert (again.data.factor == prepared.data.factor).all()
    assert again.remark == prepared.remark != ""
    assert prepare(DATA, {"normalise": "zscore"}).remark == ""
