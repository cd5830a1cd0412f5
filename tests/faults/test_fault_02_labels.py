"""Row 2: builders take labels -1 and +1 only; the refusal shows the line that mends it.

tests/experiments/data/test_specs.py reads labels of files, where --positive names the positive one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tightmargin as tm
from tests.support.command_line import run

X = np.array([[0.0], [1.0], [2.0], [3.0]])
OTHERS: dict[str, tuple[Any, Any]] = {
    "zero and one": ([0, 1, 0, 1], 1),
    "one and two": ([1, 2, 2, 1], 2),
    "three and seven": ([3, 7, 7, 3], 7),
    "halves": ([0.5, -0.5, 0.5, -0.5], 0.5),
    "words": (["no", "yes", "no", "yes"], "yes"),
    "digits as words": (["1", "-1", "1", "-1"], "1"),
    "booleans": ([True, False, True, False], True),
    "bytes": (np.array([b"a", b"b", b"a", b"b"]), b"a"),
    "categories": (pd.Categorical(["a", "b", "a", "b"]), "b"),
    "three classes": ([1, -1, 0, 1], 1),
}


@pytest.mark.parametrize("case", OTHERS)
@pytest.mark.parametrize("kind", ["points", "kernel"])
def test_row_02_other_labels_are_refused_and_the_hint_works(case: str, kind: str) -> None:
    y, positive_label = OTHERS[case]

    def make(labels: Any) -> tm.TrainingData | tm.GramData:
        return tm.TrainingData(X, labels) if kind == "points" else tm.GramData(np.eye(4), labels)

    with pytest.raises(ValueError, match=r"-1 and \+1") as refusal:
        make(y)
    hint = "np.where(y == positive_label, 1, -1)"
    assert hint in str(refusal.value)
    mended = eval(hint, {"np": np, "y": np.asarray(y), "positive_label": positive_label})
    assert make(mended).n_pos == sum(label == positive_label for label in y)


def test_row_02_a_builder_takes_checked_data_only() -> None:
    for data in (X, (X, [1, -1, 1, -1]), {"X": X}):
        with pytest.raises(TypeError, match="c_svc takes TrainingData, got"):
            tm.c_svc(data, C=1.0)  # type: ignore[arg-type]


def test_row_02_the_command_line_asks_for_the_positive_label(tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    file.write_text("a,y\n0,3\n1,7\n2,7\n3,3\n", encoding="utf-8")
    refused = run("solve", "c_svc", "--data", file, "--set", "C=1")
    assert refused.code == 2
    assert "--positive" in refused.complaint
    solved = run("solve", "c_svc", "--data", file, "--set", "C=1", "--positive", "7", "--json")
    assert solved.code == 0
    same = tm.solve(tm.c_svc(tm.TrainingData(X, [-1, 1, 1, -1]), C=1.0))
    assert solved.json["objective"] == pytest.approx(same.objective, rel=1e-7)
