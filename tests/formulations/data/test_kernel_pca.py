"""Kernel principal components and centred kernel matrices, against scikit-learn."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA
from sklearn.preprocessing import normalize
from sklearn.svm import SVC

from tests.inside.experiments import prepare, restore
from tests.inside.formulations import (
    centred_gram,
    cross_gram,
    fit_kernel_pca,
    gram_data,
    kernel_matrix,
)
from tests.references import reference_solutions
from tests.support.command_line import run
from tightmargin.formulations import GramData, MulticlassData, TrainingData, c_svc
from tightmargin.solvers import SolveResult, Verdict, solve

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


@pytest.mark.parametrize("normalise", ["none", "zscore", "unit", "centred"])
def test_components_are_those_of_scikit_learn_after_normalisation(normalise: str) -> None:
    options = KERNELS["rbf"] | {"normalise": normalise}
    found = fit_kernel_pca(DATA, keep="full", **options)
    theirs = KernelPCA(n_components=found.r, kernel="precomputed")
    theirs.fit(gram_data(DATA, **options).gram)
    np.testing.assert_allclose(found.eigenvalues, theirs.eigenvalues_, rtol=1e-8)
    for X in (DATA.X, NEW):
        ours, expected = found.apply(X), theirs.transform(cross_gram(DATA, X, **options))
        turned = expected * np.sign((ours * expected).sum(axis=0))
        np.testing.assert_allclose(ours, turned, atol=1e-8)
    assert (found.apply(DATA.X) == found.data.X).all()


# --- what is left out ----------------------------------------------------------------------------


def test_a_share_keeps_the_fewest_components_that_hold_it() -> None:
    found = fit_kernel_pca(DATA, keep=0.8, **KERNELS["rbf"])
    fewer = fit_kernel_pca(DATA, keep=found.r - 1, **KERNELS["rbf"])
    assert found.share_kept >= 0.8 > fewer.share_kept
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
    several = restore(MulticlassData(corners.X, np.array([0, 1, 2, 1])), record).data
    assert several.y.tolist() == [0, 1, 2, 1]
    np.testing.assert_array_equal(several.X, again.data.X)
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


# --- kernel=precomputed normalise=centred --------------------------------------------------------

CENTRED = {"kernel": "precomputed", "normalise": "centred"}


def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return kernel_matrix("poly", A, B, degree=2, coef0=0.7)


GRAM = TrainingData(kernel(DATA.X, DATA.X), DATA.y)
ROWS = np.column_stack([kernel(NEW, DATA.X), np.diag(kernel(NEW, NEW))])


def test_a_given_matrix_is_prepared_like_the_kernel_of_its_points() -> None:
    prepared = prepare(GRAM, CENTRED)
    expected = gram_data(DATA, normalise="centred", **KERNELS["poly"])
    assert isinstance(prepared.data, GramData)
    np.testing.assert_allclose(prepared.data.gram, expected.gram, atol=1e-12)
    again = restore(GRAM, json.loads(json.dumps(prepared.record)))
    assert (again.data.factor == prepared.data.factor).all()
    w = np.random.default_rng(0).normal(size=prepared.data.d)
    coefficients = np.linalg.pinv(prepared.data.factor.T) @ w  # w = F'c
    rows = cross_gram(DATA, NEW, normalise="centred", **KERNELS["poly"])
    for found in (prepared, again):
        np.testing.assert_allclose(found.scores(ROWS, w, 0.4), rows @ coefficients + 0.4, atol=1e-9)


def test_the_shift_comes_before_the_centring_and_is_said() -> None:
    wrong = TrainingData(GRAM.X - 0.3 * np.eye(GRAM.n), GRAM.y)
    with pytest.raises(ValueError, match="gram is not positive semidefinite"):
        prepare(wrong, CENTRED)
    prepared = prepare(wrong, CENTRED | {"shift": "smallest"})
    np.testing.assert_allclose(np.diag(prepared.data.factor @ prepared.data.factor.T), 1)
    np.testing.assert_allclose(
        prepared.data.factor @ prepared.data.factor.T,
        centred_gram(GramData(wrong.X, wrong.y, shift="smallest"))[0].gram,
        atol=1e-12,
    )
    assert "was added to the diagonal before centring" in prepared.remark
    assert prepare(GRAM, CENTRED).remark == ""


def fit(folder: Path, *words: str, name: str = "c_svc_dual") -> Path:
    np.savez(folder / "train.npz", X=GRAM.X, y=GRAM.y)
    out = folder / "fit.json"
    settings = ["--set", "C=1.3", "kernel=precomputed", "normalise=centred", *words]
    answer = run("solve", name, "--data", folder / "train.npz", *settings, "--out", out)
    assert answer.code == 0, answer.stderr
    assert run("certify", out).code == 0
    return out


@pytest.mark.parametrize("words", [(), ("kpca=full",)])
def test_the_command_line_predicts_from_kernel_values_and_their_own(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """scikit-learn on the features, written out, centred and on the sphere."""
    out = fit(tmp_path, *words, name="c_svc" if words else "c_svc_dual")
    eigenvalues, vectors = np.linalg.eigh(kernel(*[np.vstack([DATA.X, NEW])] * 2))
    phi = vectors * np.sqrt(np.maximum(eigenvalues, 0))
    mean = phi[: DATA.n].mean(axis=0)
    features = normalize(phi - mean)
    theirs = SVC(kernel="linear", C=1.3, tol=1e-9).fit(features[: DATA.n], DATA.y)
    expected = theirs.decision_function(features[DATA.n :])
    np.savez(tmp_path / "new.npz", X=ROWS, y=np.where(np.arange(len(ROWS)) % 2, 1, -1))
    answer = run("predict", out, "--data", tmp_path / "new.npz")
    assert answer.code == 0, answer.stderr
    rows = csv.DictReader(io.StringIO(answer.stdout))
    predicted = [float(row["decision_value"]) for row in rows]
    assert predicted == pytest.approx(expected.tolist(), abs=2e-4)
    assert SolveResult.load(out).normalisation["normalise"] == "centred"


def test_new_points_without_their_own_value_are_refused_with_what_is_missing(
    tmp_path: Path,
) -> None:
    out = fit(tmp_path)
    np.savez(tmp_path / "new.npz", X=ROWS[:, :-1], y=np.where(np.arange(len(ROWS)) % 2, 1, -1))
    complaint = run("predict", out, "--data", tmp_path / "new.npz").complaint
    assert (
        "a new point x is its 24 kernel values against the training points and then k(x, x): "
        "25 numbers, got 24" in complaint
    )
    words = ["--set", "C=1", "kernel=precomputed", "normalise=zscore"]
    complaint = run("solve", "c_svc_dual", "--data", tmp_path / "train.npz", *words).complaint
    assert "write centred, which acts on kernel values, or leave it out" in complaint
