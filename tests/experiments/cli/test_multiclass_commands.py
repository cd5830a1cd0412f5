"""Several classes on the command line: every command, and what is refused."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tests.inside.experiments import load_classes
from tests.support.command_line import Answer, run
from tightmargin.solvers import SolveResult

IRIS = "sklearn:iris"
FEW = "sklearn:iris,n=12,features=1+3,stratify,seed=3"
C, PENALISED = 0.8, "intercept=penalised"
TRUNCATED = ("ridge=0.02", "truncation=-0.5", "big_m=derived")


def solve(*words: str | Path, data: str | Path = IRIS, name: str = "multiclass_hinge") -> Answer:
    settings = [word for word in words if isinstance(word, str) and "=" in word]
    rest = [word for word in words if word not in settings]
    return run("solve", name, "--data", data, "--set", *settings, *rest)


def table(answer: Answer) -> tuple[list[str], np.ndarray]:
    """Labels and decision values of a printed prediction."""
    assert answer.code == 0, answer.stderr
    head, *rows = csv.reader(io.StringIO(answer.stdout))
    assert head[0] == "label"
    assert all(name.startswith("decision_value") for name in head[1:])
    return [row[0] for row in rows], np.array([row[1:] for row in rows], dtype=float)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("classes")


@pytest.fixture(scope="module")
def fit(folder: Path) -> Path:
    """Iris, in z-scores, with the constant column in the norm as in LinearSVC."""
    out = folder / "fit.json"
    ridge = f"ridge={1 / (2 * C * 150)!r}"
    answer = solve(ridge, PENALISED, "normalise=zscore", "--out", out)
    assert (answer.code, answer.stderr) == (0, "")
    assert f"{IRIS}: 150 points, 4 features, 3 classes" in answer.stdout
    assert all(f"B {name}" in answer.stdout for name in load_iris().target_names)
    return out


def test_prediction_needs_no_training_data_without_a_kernel(folder: Path) -> None:
    file, out = folder / "train.npz", folder / "moved.json"
    bunch = load_iris()
    np.savez(file, X=bunch.data, y=bunch.target_names[bunch.target])
    assert solve("ridge=0.01", "normalise=unit", "--out", out, data=file).code == 0
    before = table(run("predict", out, "--data", IRIS))[1]
    file.unlink()
    np.testing.assert_array_equal(table(run("predict", out, "--data", IRIS))[1], before)
    answer = run("certify", out)
    assert answer.code == 2
    assert "there is no file" in answer.complaint


def test_two_classes_are_the_soft_margin_with_half_the_ridge(folder: Path) -> None:
    spec, several, two = "sklearn:breast_cancer,n=40,stratify", "k.json", "b.json"
    words = ["normalise=zscore", "ridge=0.2", "--out", folder / several]
    assert solve(*words, data=spec).code == 0
    words = ["normalise=zscore", "ridge=0.1", "--out", folder / two]
    assert solve(*words, data=spec, name="soft_margin_svc").code == 0
    names, values = table(run("predict", folder / several, "--data", spec))
    _, signed = table(run("predict", folder / two, "--data", spec))
    assert load_classes(spec).classes == ("benign", "malignant")
    np.testing.assert_allclose(values[:, 1] - values[:, 0], signed[:, 0], atol=1e-4)
    assert (np.array(names) == "malignant").tolist() == (signed[:, 0] > 0).tolist()


def test_gaps_and_agreement_are_printed(folder: Path) -> None:
    words = ["--data", FEW, "--set", *TRUNCATED, "--json"]
    relaxed = "multiclass_truncated_relaxed"
    answer = run("compare", relaxed, "--exact", "multiclass_truncated", *words)
    assert answer.code == 0, answer.stderr
    (study,) = answer.json["studies"]
    assert study["data"]["classes"] == ["setosa", "versicolor", "virginica"]
    (row,) = study["rows"]
    assert 0 < row["certified_bound"] < study["upper"]
    assert row["relative_gap"] == pytest.approx(1 - row["certified_bound"] / study["upper"])
    both = ["multiclass_hinge", relaxed, "--solver", "clarabel,highs"]
    answer = run("compare", *both, *words)
    assert answer.code == 0, answer.stderr
    assert [row["agrees"] for row in answer.json["rows"]] == [True] * 4
    assert answer.json["data"]["classes"] == study["data"]["classes"]


def test_data_or_names_that_changed_are_refused(fit: Path, folder: Path) -> None:
    bunch = load_iris()
    other = np.where(np.arange(150) == 149, 0, bunch.target)
    np.savez(folder / "other.npz", X=bunch.data, y=bunch.target_names[other])
    answer = run("certify", fit, "--data", folder / "other.npz")
    assert answer.code == 2
    assert "was saved for other data" in answer.complaint
    result, renamed = SolveResult.load(fit), folder / "renamed.json"
    names = ["versicolor", "setosa", "virginica"]
    replace(result, data=dict(result.data) | {"classes": names}).save(renamed)
    answer = run("certify", renamed)
    assert answer.code == 2
    assert "names the classes versicolor, setosa, virginica" in answer.complaint
