"""Class probabilities on the command line: the file, what predict makes of it, page and picture."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

from tests.inside.experiments import probability_figure
from tests.references import reference_solutions
from tests.support.command_line import Answer, run, write_csv
from tightmargin.formulations import TrainingData
from tightmargin.solvers import class_probabilities

DATA = reference_solutions.points("overlapping", 3, n=24)
# No multiple of a cost of one class is one of the other: the intercept is unique.
RIDGE, GRID = 0.02, (0.23, 0.47, 0.71)
WORDS = ("--set", f"ridge={RIDGE}", "pi=0.23,0.47,0.71")


def path(file: Path, *words: str | Path) -> Answer:
    return run("path", "weighted_svc", "--data", file, *words)


def by_scikit_learn(X: np.ndarray, y: np.ndarray, fresh: np.ndarray, **kernel: Any) -> np.ndarray:
    """Probabilities by the published rule from machines of another package."""
    low, high = np.zeros(len(fresh)), np.ones(len(fresh))
    for pi in GRID:
        machine = SVC(C=1 / (2 * RIDGE * len(y)), tol=1e-6, **({"kernel": "linear"} | kernel))
        machine.fit(X, y, sample_weight=np.where(y > 0, 1 - pi, pi))
        above = machine.decision_function(fresh) > 0
        low[above] = pi
        high[~above] = np.minimum(high[~above], pi)
    return (low + high) / 2


@pytest.fixture(scope="module")
def saved(file: Path) -> dict[str, Path]:
    """Files of points, of scaled points and of a kernel."""
    words = {"plain": (), "zscore": ("normalise=zscore",), "rbf": ("kernel=rbf", "width=0.9")}
    for case, more in words.items():
        answer = path(file, *WORDS, *more, "--out", file.parent / f"{case}.json")
        assert (answer.code, answer.stderr) == (0, ""), answer.stderr
    return {case: file.parent / f"{case}.json" for case in words}


@pytest.mark.parametrize("case", ["plain", "zscore", "rbf"])
def test_predict_gives_the_probabilities_of_new_points(
    case: str, saved: dict[str, Path], tmp_path: Path
) -> None:
    fresh = TrainingData(np.random.default_rng(2).standard_normal((20, 2)), np.tile([1, -1], 10))
    new = write_csv(tmp_path / "new.csv", fresh)
    answer = run("predict", saved[case], "--data", new, "--json")
    assert answer.code == 0, answer.stderr
    if case == "zscore":
        mean, deviation = DATA.X.mean(axis=0), DATA.X.std(axis=0)
        expected = by_scikit_learn(
            (DATA.X - mean) / deviation, DATA.y, (fresh.X - mean) / deviation
        )
    elif case == "rbf":
        expected = by_scikit_learn(DATA.X, DATA.y, fresh.X, kernel="rbf", gamma=0.9)
    else:
        expected = by_scikit_learn(DATA.X, DATA.y, fresh.X)
    np.testing.assert_allclose(answer.json["probabilities"], expected)
    np.testing.assert_allclose(np.mean(answer.json["intervals"], axis=1), expected)
    assert len(set(expected.tolist())) > 2


def test_the_grid_the_table_and_the_ridge(file: Path, tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    words = ("ridge=0.1", "grid=4", "--csv", table, "--plot", tmp_path / "p.png", "--json")
    answer = path(file, "--set", *words)
    assert answer.code == 0
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    document = answer.json
    np.testing.assert_allclose([row["pi"] for row in document["rows"]], [0.2, 0.4, 0.6, 0.8])
    with table.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [float(row["objective"]) for row in rows] == [
        row["objective"] for row in document["rows"]
    ]
    assert not any(cell.startswith("[") for row in rows for cell in row.values())  # no arrays
    default = path(file, "--set", "ridge=0.1", "--json").json
    assert [row["pi"] for row in default["rows"]] == pytest.approx(np.arange(1, 20) * 0.05)


# --- the picture ---------------------------------------------------------------------------------


def test_the_picture_of_one_feature_is_the_estimate() -> None:
    data = TrainingData(DATA.X[:, :1], DATA.y)
    found = class_probabilities(data, ridge=RIDGE, grid=GRID)
    upper, lower = probability_figure(found, "title").axes
    (curve,) = [line for line in upper.lines if line.get_label() == "estimate"]
    x, drawn = map(np.asarray, curve.get_data())
    np.testing.assert_allclose(drawn, by_scikit_learn(data.X, data.y, x[:, None]))
    assert (x.min(), x.max()) == pytest.approx((data.X.min(), data.X.max()))
    assert upper.get_xlabel() == "feature"
    assert upper.get_title() == "title"
    counted = [int(text.get_text()) for text in lower.texts]
    assert sum(counted) == data.n
