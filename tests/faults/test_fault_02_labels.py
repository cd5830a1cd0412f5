"""Rows 2 and 3: two kinds of labels are signs, whatever they are; all others are refused.

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
# Labels, the positive one as asked for or None, the one that is +1 then, the other.
TWO: dict[str, tuple[Any, Any, Any, Any]] = {
    "zero and one": ([0, 1, 0, 1], None, 1, 0),
    "one and two": ([1, 2, 2, 1], None, 2, 1),
    "minus one asked for": ([1, -1, -1, -1], -1, -1, 1),
    "halves": ([0.5, -0.5, 0.5, -0.5], None, 0.5, -0.5),
    "words asked for": (["no", "yes", "no", "yes"], "no", "no", "yes"),
    "digits as words": (["1", "-1", "1", "-1"], None, "1", "-1"),
    "bytes": (np.array([b"a", b"b", b"a", b"b"]), None, b"b", b"a"),
    "objects": (np.array(["a", "b", "a", "a"], dtype=object), None, "b", "a"),
    "categories": (pd.Categorical(["a", "b", "a", "b"]), None, "b", "a"),
    "a column of words": (pd.Series(["x", "y", "y", "y"], index=[4, 3, 2, 1]), "x", "x", "y"),
    "pairs": ([(1, 2), (0, 5), (1, 2), (1, 2)], None, (1, 2), (0, 5)),
}


def as_array(y: Any) -> Any:
    """Pairs as labels: numpy would make a table of them."""
    if not isinstance(y, list) or not isinstance(y[0], tuple):
        return y
    found = np.empty(len(y), dtype=object)
    found[:] = y
    return found


@pytest.mark.parametrize("case", TWO)
def test_row_02_two_kinds_of_labels_are_signs(case: str) -> None:
    y, asked, positive, negative = TWO[case]
    signs = [1.0 if label == positive else -1.0 for label in as_array(y)]
    for make, shape in ((tm.TrainingData, X), (tm.GramData, np.eye(4))):
        data = make(shape, as_array(y), positive=asked)
        assert data.y.tolist() == signs
        assert data.classes == (negative, positive)
        assert [type(label) for label in data.classes] == [type(negative), type(positive)]
        assert data.sha256 == make(shape, signs).sha256
        assert f"of {positive}" in repr(data)


REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    ([1, -1, 0, 1], {}, "3 kinds of labels, -1, 0, 1: MulticlassData takes them"),
    (["a", "b", "c", "a"], {"positive": "a"}, "for one against the rest"),
    (["a"] * 4, {}, "one kind of label, 'a'"),
    (["a", "b", "a", "a"], {"positive": "c"}, "positive is 'c', and y"),
    ([1j, 2j, 1j, 1j], {}, "y must hold labels of two kinds.*complex"),
    (np.array(["a", 1, 1, 1], dtype=object), {}, "mixes.*number, str"),
    (["a", None, "b", "b"], {}, "y is missing in row 1"),
    (np.array([[1], [2, 3], [1], [1]], dtype=object), {}, "holds list, which is no label"),
    (["a", "b", "a", "a"], {"classes": ("c", "d")}, "classes name the labels -1"),
    ([1, -1, 1, 1], {"classes": ("c",)}, "classes must be two different names"),
    ([1, -1, 1, 1], {"classes": "ab"}, "classes must be two different names"),
]


@pytest.mark.parametrize(("y", "words", "sentence"), REFUSED)
def test_row_02_other_labels_are_refused(y: Any, words: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        tm.TrainingData(X, y, **words)


def test_row_02_objects_without_an_order_ask_for_the_positive_one() -> None:
    class Kind:
        def __init__(self, name: str) -> None:
            self.name = name

        def __repr__(self) -> str:
            return self.name

    ill, well = Kind("ill"), Kind("well")
    y = np.array([ill, well, ill, ill], dtype=object)
    with pytest.raises(ValueError, match="ill, well have no order: say which is"):
        tm.TrainingData(X, y)
    data = tm.TrainingData(X, y, positive=ill)
    assert data.classes == (well, ill)
    assert data.y.tolist() == [1, -1, 1, 1]


# --- row 3: one class alone -----------------------------------------------------------------------


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
