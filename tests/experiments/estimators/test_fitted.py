"""Fitted machines predict on new points with the preprocessing of their training points."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

import tightmargin as tm
from tests.inside.experiments import Fitted, FittedProbabilities
from tests.inside.solvers import checksum
from tests.support.command_line import run, write_csv
from tightmargin.formulations import TrainingData
from tightmargin.solvers import class_probabilities, direct_probabilities

RNG = np.random.default_rng(8)
SPREAD = RNG.normal(size=(30, 2)) * [1, 3] + 2
TRAIN = TrainingData(SPREAD, np.where(SPREAD @ [1, 0.4] + RNG.logistic(size=30) > 3, 1, -1))
NEW = RNG.normal(size=(9, 2)) * [1, 3] + 2
RIDGE = 0.02
BUNCH = load_iris()
IRIS = tm.MulticlassData(BUNCH.data, BUNCH.target, classes=tuple(BUNCH.target_names))


def test_probabilities_are_read_from_prepared_points() -> None:
    words: dict[str, Any] = {"ridge": RIDGE, "grid": 9}
    machine = tm.fit(class_probabilities, TRAIN, normalise="zscore", **words)
    assert isinstance(machine, FittedProbabilities)
    scaler = StandardScaler().fit(TRAIN.X)
    mapped = TrainingData(scaler.transform(TRAIN.X), TRAIN.y)
    direct = class_probabilities(mapped, **words)
    expected = direct.probabilities(scaler.transform(NEW))
    np.testing.assert_allclose(machine.probabilities(NEW), expected)
    assert len(set(expected.tolist())) > 2
    np.testing.assert_array_equal(machine.labels(NEW), direct.labels(scaler.transform(NEW)))


def test_the_direct_scheme_answers_with_names_and_shares() -> None:
    data = tm.MulticlassData(BUNCH.data[::5], BUNCH.target[::5], classes=IRIS.classes)
    words: dict[str, Any] = {"ridge": 0.05, "grid": 4, "machine": "hinge"}
    machine = tm.fit(direct_probabilities, data, normalise="zscore", **words)
    scaler = StandardScaler().fit(data.X)
    new = BUNCH.data[1::10]
    mapped = tm.MulticlassData(scaler.transform(data.X), data.y)
    direct = direct_probabilities(mapped, **words)
    np.testing.assert_allclose(
        machine.probabilities(new), direct.probabilities(scaler.transform(new)), atol=1e-6
    )
    np.testing.assert_allclose(machine.probabilities(new).sum(axis=1), 1)
    names = BUNCH.target_names[direct.labels(scaler.transform(new))]
    np.testing.assert_array_equal(machine.labels(new), names)
    assert len(set(names)) == 3


# --- files ---------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "train.csv", TRAIN)


@pytest.mark.parametrize("words", [{"kernel": "rbf", "width": 0.7}, {"kpca": "full"}])
def test_a_path_of_a_kernel_predicts_from_the_training_data(
    words: dict[str, Any], file: Path
) -> None:
    names = np.where(TRAIN.y > 0, "yes", "no")
    rows = [
        ",".join([*map(repr, x), name]) for x, name in zip(TRAIN.X.tolist(), names, strict=True)
    ]
    file.write_text("a,b,kind\n" + "\n".join(rows) + "\n")
    out, asked = file.with_name("path.json"), [f"{key}={value}" for key, value in words.items()]
    settings = ["--set", f"ridge={RIDGE}", "grid=9", *asked, "--out", out]
    named = ["--data", file, "--label", "kind", "--positive", "yes"]
    assert run("path", "weighted_svc", *named, *settings).code == 0
    direct = tm.fit(class_probabilities, TRAIN, ridge=RIDGE, grid=9, **words)
    np.savez(file.with_name("new.npz"), X=NEW, y=np.resize([1, -1], 9))
    answer = run("predict", out, "--data", file.with_name("new.npz"), "--json")
    assert answer.code == 0, answer.stderr
    np.testing.assert_allclose(answer.json["probabilities"], direct.probabilities(NEW))
    file.write_text("a,b,kind\n" + "\n".join(rows[1:]) + "\n")
    answer = run("predict", out, "--data", file.with_name("new.npz"))
    assert answer.code == 2
    assert "the path was saved for other data" in answer.complaint


def test_files_that_hold_no_machine_are_refused(file: Path) -> None:
    out = file.with_name("path.json")
    words = ["--set", f"ridge={RIDGE}", "grid=9", "--out", out]
    assert run("path", "weighted_svc", "--data", file, *words).code == 0
    document = json.loads(out.read_text())
    cases: list[tuple[dict[str, Any], str]] = [
        ({"formulation": "rsvm"}, "of all paths that of weighted_svc predicts, and this is one of"),
        ({"rows": []}, "the document has no rows"),
        ({"normalisation": None}, "is not a readable path"),
        ({"normalisation": {"kind": "zscore"}}, "the saved normaliser lacks d"),
        ({"rows": [{"pi": 0.5}]}, "lacks a part"),
        ({"command": "solve"}, "is not a readable result"),
    ]
    for change, message in cases:
        forged = {word: part for word, part in (document | change).items() if word != "sha256"}
        out.write_text(json.dumps(forged | {"sha256": checksum(forged)}))
        answer = run("predict", out, "--data", file)
        assert answer.code == 2, change
        assert message in answer.complaint
    altered = json.loads(json.dumps(document))
    altered["rows"][0]["w"] = [-5 * number for number in altered["rows"][0]["w"]]
    unsigned = {word: part for word, part in document.items() if word != "sha256"}
    for given, message in (
        (altered, "the checksum does not match: the file was altered"),
        (unsigned, "is not a readable path"),
        ([1, 2], "is not a readable result"),
    ):
        out.write_text(json.dumps(given))
        assert message in run("predict", out, "--data", file).complaint


def test_a_result_of_several_classes_solved_in_python_predicts_their_names(tmp_path: Path) -> None:
    result = tm.solve(tm.multiclass_hinge(IRIS, ridge=RIDGE))
    result.save(tmp_path / "iris.json")
    np.savez(tmp_path / "new.npz", X=IRIS.X[::10], y=np.zeros(15))
    answer = run("predict", tmp_path / "iris.json", "--data", tmp_path / "new.npz", "--json")
    assert answer.code == 0
    scores = IRIS.X[::10] @ np.reshape(result.values["B"], (3, 4)).T + result.values["b"]
    expected = np.array(IRIS.classes)[scores.argmax(axis=1)]
    assert answer.json["labels"] == expected.tolist()


def test_names_that_do_not_fit_a_result_are_refused() -> None:
    result = tm.solve(tm.multiclass_hinge(IRIS, ridge=RIDGE))
    for names in ([], ["setosa"], ["a", "b", "c", "d"]):
        other = replace(result, data=dict(result.data) | {"classes": names})
        with pytest.raises(ValueError, match="do not fit its B and b"):
            Fitted(other, lambda: pytest.fail("no training data is needed"))
