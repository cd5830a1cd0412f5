"""Weights and names that come with files, with data frames and with calls of `fit`."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tightmargin as tm
from tests.inside.formulations import legend
from tests.support.command_line import run
from tightmargin.solvers import SolveResult

ROWS = [(0, 1, 1, "ill"), (1, 0, 2, "ill"), (3, 2, 1, "well"), (4, 1, 3, "well"), (2, 3, 1, "ill"),
        (5, 2, 0, "well"), (2.5, 2.5, 2, "well")]  # fmt: skip
TABLE = pd.DataFrame(ROWS, columns=["age", "income", "copies", "y"])
NAMES = ("age", "income")


def by_hand(**words: Any) -> tm.TrainingData:
    return tm.TrainingData(TABLE[list(NAMES)], TABLE["y"], positive="ill", **words)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "points.csv"
    TABLE.to_csv(path, index=False)
    return path


# --- names of features ----------------------------------------------------------------------------


def test_names_of_columns_are_kept_and_no_part_of_the_digest() -> None:
    data = by_hand()
    assert data.feature_names == NAMES
    plain = tm.TrainingData(TABLE[list(NAMES)].to_numpy(), TABLE["y"], positive="ill")
    assert plain.feature_names == ()
    assert plain.sha256 == data.sha256
    several = tm.MulticlassData(TABLE[list(NAMES)], [0, 1, 2, 0, 1, 2, 0])
    assert several.feature_names == NAMES
    assert "features" in repr(data)
    assert dataclasses.replace(data, X=data.X + 1).feature_names == NAMES
    assert tm.TrainingData([[0.0], [1.0]], [-1, 1], feature_names=["a"]).feature_names == ("a",)
    numbered = TABLE[["age", "income"]].set_axis([0, 1], axis=1)
    assert tm.TrainingData(numbered, TABLE["y"]).feature_names == ()


def test_results_pictures_and_models_say_the_names(tmp_path: Path) -> None:
    data = by_hand()
    machine = tm.fit("c_svc", data, C=1.0, normalise="zscore")
    machine.result.save(tmp_path / "machine.json")
    assert SolveResult.load(tmp_path / "machine.json").data["feature_names"] == list(NAMES)
    axes = tm.plots.machine_figure(machine, data).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == NAMES
    model = tm.c_svc(data, C=1.0)
    assert "w[0] of age, w[1] of income" in str(tm.show(model))
    assert tm.solve(model).data["feature_names"] == list(NAMES)
    assert legend([str(k) for k in range(9)]).endswith("w[5] of 5 and 3 more")


def test_other_coordinates_have_no_names() -> None:
    """Components of a kernel are none of the columns, of one class or of several."""
    words: dict[str, Any] = {"kernel": "rbf", "width": 1.0}
    tm.fit("c_svc_dual", by_hand(), C=1.0, **words)
    several = tm.MulticlassData(TABLE[list(NAMES)], [0, 1, 2, 0, 1, 2, 0])
    machine = tm.fit("multiclass_hinge", several, ridge=0.1, kpca="full", **words)
    assert machine.labels(several.X).shape == (7,)


# --- files and the command line -------------------------------------------------------------------


def test_a_file_holds_weights_and_names(file: Path, tmp_path: Path) -> None:
    data = tm.load(f"{file},weight=copies,class_weight=ill:2+-1:0.5", positive="ill")
    assert data.feature_names == NAMES
    assert data.sha256 == by_hand(sample_weight=TABLE["copies"], class_weight=[0.5, 2.0]).sha256
    balanced = tm.load(f"{file},weight=copies,class_weight=balanced", positive="ill")
    assert balanced.masses == pytest.approx((5.0, 5.0))
    archive = tmp_path / "points.npz"
    np.savez(
        archive, X=TABLE[list(NAMES)], y=np.where(TABLE["y"] == "ill", 1, -1), s=TABLE["copies"]
    )
    again = tm.load(f"{archive},weight=s,class_weight=1:2+-1:0.5")
    assert again.sha256 == data.sha256
    several = tm.data.load_classes(f"{file},weight=copies,class_weight=well:3")
    assert several.masses.tolist() == [4.0, 18.0]
    drawn = tm.load(f"{file},weight=copies,n=5,seed=1,features=1", positive="ill")
    assert drawn.feature_names == ("income",)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("weight=copes", "weight=copes: the header names no such one: did you mean 'copies'"),
        ("weight=y", "that is the column of labels"),
        ("label=copies,weight=y", "weights must be numbers"),
        ("weight=copies,class_weight=ill", "class_weight is balanced or A:1.B:2"),
        ("class_weight=ill:1+ill:2", "names ill twice"),
        ("class_weight=sick:1", "names the class 'sick'; the classes are -1, .1"),
        ("class_weight=ill:-1", "class_weight must be positive"),
    ],
)
def test_bad_options_of_weights_are_refused(file: Path, options: str, sentence: str) -> None:
    positive = "1" if options.startswith("label") else "ill"
    with pytest.raises(ValueError, match=sentence):
        tm.load(f"{file},{options}", positive=positive)


def test_the_command_line_takes_weights_and_records_them(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    words = ["--weight-column", "copies", "--class-weight", "ill=2,-1=1", "--positive", "ill"]
    answer = run("solve", "c_svc", "--data", file, *words, "--set", "C=1", "--out", out)
    assert answer.code == 0, answer.stderr
    expected = tm.solve(
        tm.c_svc(by_hand(sample_weight=TABLE["copies"], class_weight=[1, 2]), C=1.0)
    )
    saved = SolveResult.load(out)
    assert saved.objective == pytest.approx(expected.objective, rel=1e-6)
    assert saved.data["total_weight"] == 14.0
    assert saved.data["feature_names"] == list(NAMES)
    certified = run("certify", out)
    assert certified.code == 0, certified.stderr
    assert "CERTIFIED" in certified.stdout
    bad = run("solve", "c_svc", "--data", file, "--class-weight", "ill", "--set", "C=1")
    assert bad.code == 2
    assert "--class-weight A=1,B=2" in bad.stderr
