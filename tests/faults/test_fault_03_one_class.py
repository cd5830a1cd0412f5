"""Row 3: one class alone is refused wherever data come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tightmargin as tm
from tests.support.command_line import run


@pytest.mark.parametrize(("label", "word"), [(1, r"\+1"), (-1, "-1")])
def test_row_03_one_class_is_refused_with_its_label(label: int, word: str) -> None:
    sentence = rf"both labels -1 and \+1 must occur, got only: {word}"
    with pytest.raises(ValueError, match=sentence):
        tm.TrainingData(np.zeros((3, 2)), np.full(3, label))
    with pytest.raises(ValueError, match=sentence):
        tm.GramData(np.eye(3), np.full(3, label))


def test_row_03_one_point_is_one_class() -> None:
    with pytest.raises(ValueError, match="both labels"):
        tm.TrainingData([[1.0, 2.0]], [1])


@pytest.mark.parametrize("spec", ["{file}", "{file},n=2,seed=0"])
def test_row_03_files_and_subsets_too(spec: str, tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    file.write_text("a,y\n0,1\n1,1\n2,1\n", encoding="utf-8")
    answer = run("solve", "nu_svc", "--data", spec.format(file=file), "--set", "nu=0.5")
    assert answer.code == 2
    assert "label" in answer.complaint
