"""Kernel matrices centred and normalised, against features that can be written out."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import normalize
from sklearn.svm import SVC

from tests.inside.experiments import prepare, restore
from tests.inside.formulations import (
    centred_gram,
    cross_gram,
    gram_data,
    kernel_matrix,
)
from tests.references.reference_solutions import points
from tests.support.command_line import run
from tightmargin.formulations import GramData, TrainingData
from tightmargin.solvers import SolveResult

DATA = points("overlapping", 6, n=16, d=3)
NEW = np.random.default_rng(8).normal(0.2, 1.3, (7, 3))
POLY: dict[str, Any] = {"kernel": "poly", "degree": 2, "coef0": 0.7}
CENTRED = {"kernel": "precomputed", "normalise": "centred"}


def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return kernel_matrix("poly", A, B, degree=2, coef0=0.7)


def own(A: np.ndarray) -> np.ndarray:
    return np.array([kernel(x[None], x[None])[0, 0] for x in A])


GRAM = TrainingData(kernel(DATA.X, DATA.X), DATA.y)
ROWS = np.column_stack([kernel(NEW, DATA.X), own(NEW)])


# --- kernel=precomputed normalise=centred --------------------------------------------------------


def test_a_given_matrix_is_prepared_like_the_kernel_of_its_points() -> None:
    prepared = prepare(GRAM, CENTRED)
    expected = gram_data(DATA, normalise="centred", **POLY)
    assert isinstance(prepared.data, GramData)
    np.testing.assert_allclose(prepared.data.gram, expected.gram, atol=1e-12)
    again = restore(GRAM, json.loads(json.dumps(prepared.record)))
    assert (again.data.factor == prepared.data.factor).all()
    w = np.random.default_rng(0).normal(size=prepared.data.d)
    coefficients = np.linalg.pinv(prepared.data.factor.T) @ w  # w = F'c
    rows = cross_gram(DATA, NEW, normalise="centred", **POLY)
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


def predicted(folder: Path, out: Path, rows: np.ndarray) -> list[float]:
    np.savez(folder / "new.npz", X=rows, y=np.where(np.arange(len(rows)) % 2, 1, -1))
    answer = run("predict", out, "--data", folder / "new.npz")
    assert answer.code == 0, answer.stderr
    return [float(row["decision_value"]) for row in csv.DictReader(io.StringIO(answer.stdout))]


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
    assert predicted(tmp_path, out, ROWS) == pytest.approx(expected.tolist(), abs=2e-4)
    assert SolveResult.load(out).normalisation["normalise"] == "centred"


def test_new_points_without_their_own_value_are_refused_with_what_is_missing(
    tmp_path: Path,
) -> None:
    out = fit(tmp_path)
    np.savez(tmp_path / "new.npz", X=ROWS[:, :-1], y=np.where(np.arange(len(ROWS)) % 2, 1, -1))
    complaint = run("predict", out, "--data", tmp_path / "new.npz").complaint
    assert (
        "a new point x is its 16 kernel values against the training points and then k(x, x): "
        "17 numbers, got 16" in complaint
    )
    words = ["--set", "C=1", "kernel=precomputed", "normalise=zscore"]
    complaint = run("solve", "c_svc_dual", "--data", tmp_path / "train.npz", *words).complaint
    assert "write centred, which acts on kernel values, or leave it out" in complaint
