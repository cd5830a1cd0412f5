"""Rows 2 to 4: two kinds of labels are signs, all others are refused, contradictions are counted.

tests/experiments/data/test_specs.py reads labels of files, where --positive names the positive one.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightmargin as tm
from tests.cases import valid
from tests.inside.formulations import least_errors
from tests.support.command_line import run
from tests.support.covering import FULL
from tightmargin.solvers import Status, build

X = np.array([[0.0], [1.0], [2.0], [3.0]])
PAIRS = pd.Series([(1, 2), (0, 5), (1, 2), (1, 2)]).to_numpy()  # numpy would make a table of them


@pytest.mark.parametrize(
    ("y", "asked", "positive", "negative"),
    [
        ([0, 1, 0, 1], None, 1, 0),
        (["no", "yes", "no", "yes"], "no", "no", "yes"),
        (np.array([b"a", b"b", b"a", b"b"]), None, b"b", b"a"),
        (pd.Categorical(["a", "b", "a", "b"]), None, "b", "a"),
        (PAIRS, None, (1, 2), (0, 5)),
    ],
)
def test_row_02_two_kinds_of_labels_are_signs(
    y: Any, asked: Any, positive: Any, negative: Any
) -> None:
    signs = [1.0 if label == positive else -1.0 for label in y]
    for make, shape in ((tm.TrainingData, X), (tm.GramData, np.eye(4))):
        data = make(shape, y, positive=asked)
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
        def __repr__(self) -> str:
            return "kind"

    ill, well = Kind(), Kind()
    y = np.array([ill, well, ill, ill], dtype=object)
    with pytest.raises(ValueError, match="kind, kind have no order: say which is"):
        tm.TrainingData(X, y)
    data = tm.TrainingData(X, y, positive=ill)
    assert data.classes == (well, ill)
    assert data.y.tolist() == [1, -1, 1, 1]


# --- row 3: one class alone -----------------------------------------------------------------------


def test_row_03_one_class_is_refused_with_its_label(tmp_path: Path) -> None:
    for label, word in ((1, r"\+1"), (-1, "-1")):
        sentence = rf"both labels -1 and \+1 must occur, got only: {word}"
        with pytest.raises(ValueError, match=sentence):
            tm.TrainingData(np.zeros((3, 2)), np.full(3, label))
        with pytest.raises(ValueError, match=sentence):
            tm.GramData(np.eye(3), np.full(3, label))
    file = tmp_path / "points.csv"
    file.write_text("a,y\n0,1\n1,1\n2,1\n", encoding="utf-8")
    for spec in (f"{file}", f"{file},n=2,seed=0"):
        answer = run("solve", "nu_svc", "--data", spec, "--set", "nu=0.5")
        assert answer.code == 2
        assert "label" in answer.complaint


# --- row 4: equal points with opposite labels -----------------------------------------------------

# Three places: two positive and one negative at 0, one of each at 2, one positive at 3.
PLACES = np.array([[0.0, 1.0], [0.0, 1.0], [-0.0, 1.0], [2.0, 0.0], [2.0, 0.0], [3.0, 1.0]])
Y = np.array([1, 1, -1, 1, -1, 1])
DATA = tm.TrainingData(PLACES, Y)


def fewest_wrong(data: tm.TrainingData) -> int:
    """Every way to give each place a label, by brute force; on coordinates, not on bytes."""
    places = sorted({tuple(row) for row in data.X.tolist()})
    home = [places.index(tuple(row)) for row in data.X.tolist()]
    return min(
        sum(labels[p] != y for p, y in zip(home, data.y.tolist(), strict=True))
        for labels in itertools.product((-1.0, 1.0), repeat=len(places))
    )


@given(
    cells=st.lists(st.tuples(st.integers(-1, 1), st.sampled_from([0.0, -0.0, 1.0])), min_size=2),
    seed=st.integers(0, 999),
)
@settings(max_examples=120 if FULL else 30)
def test_row_04_the_least_number_of_errors_is_that_of_brute_force(
    cells: list[tuple[int, float]], seed: int
) -> None:
    y = np.random.default_rng(seed).choice([-1, 1], len(cells))
    y[:2] = 1, -1
    data = tm.TrainingData(np.array(cells, dtype=float), y)
    assert least_errors(data) == fewest_wrong(data)
    gram = tm.GramData(data.X @ data.X.T, y)
    assert least_errors(gram) >= least_errors(data), "the kernel can only merge places"


@pytest.mark.parametrize("name", ["zero_one_relaxed", "min_cvar", "max_margin_svc"])
def test_row_04_every_result_says_how_many_errors_cannot_be_avoided(name: str) -> None:
    settings_ = valid(name, "free") | ({"beta": 0.9} if name == "min_cvar" else {})
    # The CVaR is 0 here: what is proven of it, on a sphere that has no doubles, is within 1e-11.
    result = tm.solve(build(name, DATA, **settings_), absolute_gap=1e-11)
    facts = result.certificate.facts
    assert result.status is Status.OPTIMAL
    assert facts["least_errors"] == 2
    assert "every classifier makes at least 2 errors" in result.message
    assert facts.get("errors", 2) >= 2
    assert ("not separable" in facts.get("degenerate", "")) == (name == "max_margin_svc")
    clean = tm.solve(tm.c_svc(tm.TrainingData(PLACES[[0, 4]], [1, -1]), C=1.0))
    assert "least_errors" not in clean.certificate.facts
    assert "classifier makes" not in clean.message
