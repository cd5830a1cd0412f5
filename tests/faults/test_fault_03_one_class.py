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
    for n in (1, 3):
        with pytest.raises(ValueError, match=sentence):
            tm.TrainingData(np.zeros((n, 2)), np.full(n, label))
        with pytest.raises(ValueError, match=sentence):
            tm.GramData(np.eye(n), np.full(n, label))


def test_row_03_files_and_subsets_too(tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    file.write_text("a,y\n0,1\n1,1\n2,1\n", encoding="utf-8")
    for spec in (f"{file}", f"{file},n=2,seed=0"):
        answer = run("solve", "nu_svc", "--data", spec, "--set", "nu=0.5")
        assert answer.code == 2
        assert "label" in answer.complaint
