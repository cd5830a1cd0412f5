"""Objects print in a few lines, as text and in a notebook, whatever their size."""

from __future__ import annotations

import copy
import math
import re
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import tightmargin as tm
from tests.inside.solvers import Framed
from tests.support.printed_examples import PENALTY, examples, points
from tests.support.public_classes import public_classes
from tightmargin.number_words import bound_text, proven_ends
from tightmargin.printing import CHARACTERS, LINES, NUMBERS, Printed

PUBLIC = sorted(public_classes(), key=lambda kind: f"{kind.__module__}.{kind.__qualname__}")
NAMES = [kind.__name__ for kind in PUBLIC]
NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)"
LONG_ARRAY = re.compile(rf"{NUMBER}(?:\s*,?\s+{NUMBER}){{{NUMBERS},}}")
ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
MANY, WIDE = 569, 30
TAGS = {"div", "strong", "table", "tr", "th", "td", "sub", "sup"}
MEANT = ("parameter", "tolerance")  # fields that a computation reads


def refuse_long(text: str, lines: int, characters: int) -> None:
    """The limits of whatever prints without being asked for more."""
    assert characters <= CHARACTERS, text
    assert lines <= LINES, text
    assert not ADDRESS.search(text), text
    assert not any(LONG_ARRAY.search(line) for line in text.splitlines()), text


def refuse_long_pages(thing: Any) -> None:
    """Both pages of an object."""
    text = repr(thing)
    assert text.strip()
    refuse_long(text, len(text.splitlines()), len(text))
    page = ElementTree.fromstring(thing._repr_html_())
    parts = list(page.iter())
    assert {part.tag for part in parts} <= TAGS  # no script, nothing loaded
    for part in parts:
        assert set(part.attrib) <= {"style"}
        assert "url" not in part.get("style", "")
    lines = sum(part.tag in ("tr", "div") for part in parts)
    refuse_long("\n".join(page.itertext()), lines, len("".join(page.itertext())))


def larger(thing: Any) -> Any:
    """A copy of which every array, list and text is long, with signs that HTML has to escape."""
    grown = copy.copy(thing)
    for field in fields(thing):
        if field.name not in MEANT:
            object.__setattr__(grown, field.name, _longer(getattr(thing, field.name)))
    return grown


def _longer(part: Any) -> Any:
    if isinstance(part, np.ndarray) and part.ndim and part.size:
        return np.resize(part, (MANY, WIDE)[: part.ndim] if part.ndim < 3 else part.shape)
    if type(part) is str:
        return (part or "a word <b>& another</b>") * 40
    if type(part) is tuple and part:
        return part * 40
    return part


def test_every_public_class_has_an_example() -> None:
    missing = [f"{kind.__module__}.{kind.__name__}" for kind in PUBLIC if kind not in examples()]
    assert missing == []  # add a call that returns one to tests/support/printed_examples.py
    assert len(PUBLIC) > 100


@pytest.mark.parametrize("kind", PUBLIC, ids=NAMES)
def test_it_prints_in_a_few_lines_at_any_size_and_becomes_a_dictionary_and_a_frame(
    kind: type,
) -> None:
    thing = examples()[kind]
    refuse_long_pages(thing)
    if is_dataclass(kind):
        grown = larger(thing)
        refuse_long_pages(grown)
        assert isinstance(grown.to_dict(), dict)
    if getattr(kind, "to_dict", None) is Printed.to_dict:
        found = thing.to_dict()
        shown = [field for field in fields(thing) if field.repr]
        assert list(found) == [field.name for field in shown if field.name[0] != "_"]
        assert not any(is_dataclass(part) for part in found.values() if not isinstance(part, type))
    if issubclass(kind, Framed):
        frame = thing.to_frame()
        assert isinstance(frame, pd.DataFrame)
        assert len(frame) == len(thing._records()) > 0
        assert not any(isinstance(cell, np.ndarray) for column in frame for cell in frame[column])


@pytest.mark.parametrize(
    ("low", "high"), [(1 / 3, 1 / 3 + 1e-9), (-2 / 3, 1e6), (0.1, 0.1), (-1e-20, 1e-20), (2.0, 2.0)]
)
def test_printed_ends_and_bounds_hold_the_proven_ones(low: float, high: float) -> None:
    below, above = map(Fraction, proven_ends(low, high))
    assert below <= Fraction(low) <= Fraction(high) <= above
    assert above - below <= 2 * (Fraction(high) - Fraction(low)) + Fraction(2 * abs(low)) / 10**13
    for value in (low, high, 1e-30 / 7, 123456789.987654321):
        assert Fraction(bound_text(value, math.inf)) <= Fraction(value)
        assert Fraction(bound_text(value, -math.inf)) >= Fraction(value)
        assert float(bound_text(value)) == value


def test_classes_that_are_left_out_are_counted() -> None:
    assert "1 of 5 and 2 classes more" in repr(tm.MulticlassData(np.eye(8), np.arange(8)))


def test_rows_print_as_mathematics_as_they_are_now_and_make_none() -> None:
    model = tm.c_svc(tm.TrainingData([[0.5, -2.0], [1.0, 3.0]], [-1, 1]), C=1.0)
    text = repr(model.margin)
    assert text.splitlines()[0] == "margin: 2 rows"
    assert "-0.5 w[0] + 2 w[1] - b + xi[0] >= 1" in text
    assert len(model.margin._data) == len(model.xi.touched()) == 0
    assert str(model.margin) == "margin"  # Pyomo writes names so
    assert "xi[0] >= 0" in repr(model.xi)
    model.margin[0].set_value(model.w[0] <= 3)
    assert "w[0] <= 3" in repr(model.margin)
    del model.margin[0]
    assert repr(model.margin).startswith("margin: 1 row\n  margin[1]  w[0] + 3 w[1] + b + xi[1]")
    cones = tm.conic_sdp(points(), penalty=PENALTY, intercept="none").inside
    assert "^2 <= " in repr(cones)
