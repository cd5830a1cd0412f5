"""New points meet the features of the training points by name, and by the indices of a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tightmargin as tm
from tests.support.command_line import run

FRAME = pd.DataFrame(
    {"age": [2, 1.5, 0.2, 0.1], "dose": [0.1, 0.3, 2, 1.7], "mass": [1.0, 3.0, 2.0, 4.0]}
)
Y = [1, 1, -1, -1]
DATA = tm.TrainingData(FRAME, Y)
NEW = pd.DataFrame({"age": [3, 0.1], "dose": [0.5, 2.5], "mass": [2.0, 0.5]})
SWAPPED = NEW[["mass", "age", "dose"]]


def classes(data: Any) -> Any:
    return tm.paths.class_probabilities(data, ridge=0.1, grid=[0.25, 0.5, 0.75])


MACHINES: dict[str, Callable[[], Any]] = {
    "in the variables": lambda: tm.fit("c_svc", DATA, C=1.0),
    "normalised": lambda: tm.fit("c_svc", DATA, C=1.0, normalise="zscore"),
    "kernel": lambda: tm.fit("kernel_soft_margin_svc", DATA, ridge=0.1, kernel="rbf", width=0.5),
    "components": lambda: tm.fit("c_svc", DATA, C=1.0, kernel="rbf", width=0.5, kpca="full"),
    "several classes": lambda: tm.fit(
        "multiclass_hinge", tm.MulticlassData(FRAME, ["a", "b", "c", "a"]), ridge=0.1
    ),
    "probabilities": lambda: tm.fit(classes, DATA, normalise="zscore"),
}


@pytest.mark.parametrize("kind", MACHINES)
def test_columns_of_a_frame_are_paired_by_name(kind: str) -> None:
    machine = MACHINES[kind]()
    values = getattr(machine, "decision_values", None) or machine.probabilities
    right = values(NEW.to_numpy())
    np.testing.assert_array_equal(values(SWAPPED), right)
    np.testing.assert_array_equal(machine.labels(SWAPPED), machine.labels(NEW.to_numpy()))
    for bad, words in (
        (NEW.rename(columns={"age": "years"}), "lack the column age and have the unknown column y"),
        (NEW.drop(columns="dose"), "lack the column dose:"),
        (NEW.assign(y=1), "have the unknown column y:"),
        (NEW.set_axis(["age", "dose", "dose"], axis=1), "two columns 'dose'"),
    ):
        with pytest.raises(ValueError, match=words):
            values(bad)


def test_the_centred_kernel_has_one_column_more() -> None:
    names = [f"p{k}" for k in range(4)]
    gram = pd.DataFrame(FRAME.to_numpy() @ FRAME.to_numpy().T, columns=names)
    words = {"kernel": "precomputed", "normalise": "centred"}
    machine = tm.fit("kernel_soft_margin_svc", tm.TrainingData(gram, Y), ridge=0.1, **words)
    rows = pd.DataFrame(NEW.to_numpy() @ FRAME.to_numpy().T, columns=names)
    rows["itself"] = (NEW.to_numpy() ** 2).sum(axis=1)
    expected = machine.decision_values(rows.to_numpy())
    np.testing.assert_array_equal(machine.decision_values(rows[[*names[::-1], "itself"]]), expected)
    np.testing.assert_array_equal(machine.decision_values(rows[["itself", *names]]), expected)
    with pytest.raises(ValueError, match="unknown columns itself, more"):
        machine.decision_values(rows.assign(more=0.0))


# --- the command line ----------------------------------------------------------------------------

TRAIN = "label,age,dose\nill,2,.1\nill,1.5,.3\nwell,.2,2\nwell,.1,1.7\n"


def solved(folder: Path, text: str, name: str, *options: str) -> Path:
    (folder / name).write_text(text)
    out = folder / "fit.json"
    done = run("solve", "c_svc", "--data", f"{folder / name}{','.join(['', *options])}",
               "--set", "C=1", "--out", out)  # fmt: skip
    assert done.code == 0, done.complaint
    return out


@pytest.mark.parametrize(
    ("text", "labels", "errors"),
    [
        ("dose,age\n.5,3\n2.5,.1\n", [1, -1], None),
        ("dose,label,age\n.5,ill,3\n2.5,ill,.1\n", [1, -1], 1),
        ("dose,age,label\n.5,3,well\n", [1], 1),
    ],
)
def test_a_csv_file_is_read_by_its_header_and_by_what_the_result_knows(
    text: str, labels: list[int], errors: int | None, tmp_path: Path
) -> None:
    """Which column holds the labels, and which one is +1, need not be said again."""
    out = solved(tmp_path, TRAIN, "train.csv", "label=label", "positive=ill")
    (tmp_path / "new.csv").write_text(text)
    answer = run("predict", out, "--data", tmp_path / "new.csv", "--json").json
    assert (answer["labels"], answer["errors"]) == (labels, errors)


@pytest.mark.parametrize("cells", ["yes", "0", "1\n0,1,0"])
def test_other_labels_are_not_compared(cells: str, tmp_path: Path) -> None:
    out = solved(tmp_path, TRAIN.replace("ill", "1").replace("well", "-1"), "train.csv",
                 "label=label")  # fmt: skip
    (tmp_path / "new.csv").write_text(f"age,dose,label\n3,.5,{cells}\n")
    answer = run("predict", out, "--data", tmp_path / "new.csv", "--json")
    assert answer.json["labels"][0] == 1
    assert answer.json["errors"] is None
    assert "are not compared" in answer.stderr
    assert "--positive" in answer.stderr


ONES = "+1 1:2 2:1 3:.1\n+1 1:1.5 2:-1 3:.3\n-1 1:.2 2:1 3:2\n-1 1:.1 2:-1 3:1.7\n"
ZEROS = ONES.replace("1:", "0:").replace("2:", "1:").replace("3:", "2:")


@pytest.mark.parametrize(
    ("train", "new", "points", "errors"),
    [
        (ONES, "+1 1:3 3:.5\n+1 1:2 3:.2\n", [[3, 0, 0.5], [2, 0, 0.2]], 0),
        (ONES, "-1 1:.1 3:2\n", [[0.1, 0, 2]], 0),
        (ONES, "0 1:3 3:.5\n0 1:.1 3:2\n", [[3, 0, 0.5], [0.1, 0, 2]], None),
        (ONES, "+1 1:2\n-1 2:1\n", [[2, 0, 0], [0, 1, 0]], 1),
        (ONES, "+1 2:2\n-1\n", [[0, 2, 0], [0, 0, 0]], None),
        (ZEROS, "+1 1:2\n", [[0, 2, 0]], None),  # 1 is the second feature there
        (ZEROS, "+1 0:2 2:-1\n", [[2, 0, -1]], 0),
    ],
)
def test_a_libsvm_file_needs_neither_both_labels_nor_all_features(
    train: str, new: str, points: list[list[float]], errors: int | None, tmp_path: Path
) -> None:
    out = solved(tmp_path, train, "train.libsvm")
    (tmp_path / "new.libsvm").write_text(new)
    answer = run("predict", out, "--data", tmp_path / "new.libsvm", "--json").json
    expected = tm.read_fitted(out).decision_values(points)
    np.testing.assert_allclose(answer["decision_values"], expected, rtol=1e-12, atol=1e-12)
    if errors is not None:
        assert answer["errors"] == errors


def test_a_libsvm_file_of_other_features_is_refused_and_chosen_ones_are_taken(
    tmp_path: Path,
) -> None:
    for train, new, words in (
        (ONES, "+1 0:3\n", "counted from 0, and from 1 in the training file"),
        (ONES, "+1 1:3 5:1\n", "the feature of index 5 occurs, and the training points have 3"),
        (ZEROS, "+1 0:3 3:1\n", "the feature of index 3 occurs, and the training points have 3"),
    ):
        out = solved(tmp_path, train, "train.libsvm")
        (tmp_path / "new.libsvm").write_text(new)
        answer = run("predict", out, "--data", tmp_path / "new.libsvm")
        assert answer.code == 2
        assert words in answer.complaint
    out = solved(tmp_path, ONES, "train.libsvm", "features=0+2")
    (tmp_path / "new.libsvm").write_text("+1 1:3 2:9\n")
    answer = run("predict", out, "--data", tmp_path / "new.libsvm", "--json").json
    expected = tm.read_fitted(out).decision_values([[3.0, 0.0]])
    np.testing.assert_allclose(answer["decision_values"], expected, rtol=1e-12)
