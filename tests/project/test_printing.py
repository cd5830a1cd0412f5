"""Objects print in a few lines, as text and in a notebook, whatever their size."""

from __future__ import annotations

import copy
import html
import math
import re
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tightmargin as tm
from tests.inside.solvers import Framed, Infeasible, TreeProof, TreeSearch, Unbounded
from tests.support.printed_examples import PENALTY, examples, points
from tests.support.public_classes import public_classes
from tightmargin.number_words import bound_text, proven_ends
from tightmargin.printing import (
    CHARACTERS,
    LINES,
    NUMBERS,
    Page,
    Printed,
    Readable,
    html_of,
    text_of,
)

BESIDES = {Infeasible, Unbounded, TreeProof, TreeSearch}  # held where annotations do not say so
PUBLIC = sorted(
    public_classes() | BESIDES, key=lambda kind: f"{kind.__module__}.{kind.__qualname__}"
)
NAMES = [kind.__name__ for kind in PUBLIC]
NUMBER = r"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)"
LONG_ARRAY = re.compile(rf"{NUMBER}(?:\s*,?\s+{NUMBER}){{{NUMBERS},}}")
ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")
MANY, WIDE = 569, 30
TAGS = {"div", "strong", "table", "tr", "th", "td", "sub", "sup"}
MEANT = ("parameter", "tolerance")  # fields that a computation reads


class Cells(HTMLParser):
    """What HTML shows: its text, its rows, and whether every tag is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.lines, self.open = "", 0, []
        self.tags: set[str] = set()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        self.lines += tag == "tr" or (tag == "div" and len(self.open) > 1)
        assert all(name == "style" and "url" not in (value or "") for name, value in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"


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
    if isinstance(thing, tuple | tm.FormulationClassifier):
        return  # named tuples print as Python has it, and estimators as scikit-learn's do
    page = thing._repr_html_()
    shown = Cells(page)
    assert shown.open == []
    assert shown.tags <= TAGS  # no script, nothing loaded
    refuse_long(shown.text, shown.lines + 1, len("".join(shown.text.split("\n"))))


def larger(thing: Any) -> Any:
    """A copy of which every array, list, mapping and text is long."""
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
    if type(part) is dict and part:
        first = next(iter(part.values()))
        return part | {f"entry {k}": _longer(first) for k in range(100)}
    if type(part) is float and math.isfinite(part):
        return part * (1 + 1e-9) + 1e-9 / 7
    return part


def test_every_public_class_has_an_example() -> None:
    missing = [f"{kind.__module__}.{kind.__name__}" for kind in PUBLIC if kind not in examples()]
    assert missing == []  # add a call that returns one to tests/support/printed_examples.py
    assert len(PUBLIC) > 100


@pytest.mark.parametrize("kind", PUBLIC, ids=NAMES)
def test_it_prints_in_a_few_lines(kind: type) -> None:
    refuse_long_pages(examples()[kind])


@pytest.mark.parametrize(
    "kind", [kind for kind in PUBLIC if is_dataclass(kind)], ids=lambda kind: kind.__name__
)
def test_it_does_so_at_any_size(kind: type) -> None:
    thing = larger(examples()[kind])
    refuse_long_pages(thing)
    assert isinstance(thing.to_dict(), dict)


@pytest.mark.parametrize(
    "kind",
    [kind for kind in PUBLIC if getattr(kind, "to_dict", None) is Printed.to_dict],
    ids=lambda kind: kind.__name__,
)
def test_everything_is_in_its_dictionary(kind: type) -> None:
    thing = examples()[kind]
    found = thing.to_dict()
    assert list(found) == [field.name for field in fields(thing) if field.name[0] != "_"]
    assert not any(is_dataclass(part) for part in found.values() if not isinstance(part, type))


@pytest.mark.parametrize(
    "kind", [kind for kind in PUBLIC if issubclass(kind, Framed)], ids=lambda kind: kind.__name__
)
def test_what_is_tabular_becomes_a_frame(kind: type) -> None:
    thing = examples()[kind]
    frame = thing.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == len(thing._records()) > 0
    for column in frame:
        assert not any(isinstance(cell, np.ndarray) for cell in frame[column])


def test_real_sizes() -> None:
    data = points(MANY, WIDE)
    result = tm.solve(tm.c_svc(data, C=1.0))
    path = tm.paths.conic_path(points(), penalties=np.geomspace(0.1, 10.0, 40))
    words = {"penalty": PENALTY, "intercept": "penalised"}
    rows = ["zero_one_relaxed", "zero_one_hinge", "conic_sdp", "conic_sdp_literal"]
    rows += ["conic_sdp_eliminated", "conic_sdp_strengthened"]
    table = tm.compare(points(), rows, parameters=words | {"big_m": 10.0})
    for thing in (data, result, result.certificate, path, table, tm.diff(tm.c_svc(data, C=1.0))):
        refuse_long_pages(thing)
    assert len(str(path).splitlines()) == 43  # title, heads, forty rows, what is next
    assert "more rows: print() shows all" in repr(path)


def test_a_result_is_five_lines_from_what_it_is_to_what_is_next() -> None:
    result = tm.solve(tm.c_svc(points(), C=1.0))
    lines = repr(result).splitlines()
    assert lines[0] == "SolveResult: c_svc (QP), 20 points, 2 features, C = 1, intercept = free"
    words = [line.split()[0] for line in lines[1:]]
    assert words == ["objective", "verdict", "solver", "next"]
    assert f"  verdict    CERTIFIED: {result.certificate.bound_method}" in lines
    assert ".values (w, b, xi)" in lines[-1]


def test_no_point_and_no_bound_are_said() -> None:
    model = tm.hard_margin_svc(tm.TrainingData([[0.0], [1.0], [2.0]], [1, -1, 1]))
    text = repr(tm.solve(model))
    assert "status   infeasible" in text
    assert "verdict  CERTIFIED" in text


def test_a_bound_without_a_proof_of_the_paper_is_marked() -> None:
    result = tm.solve(tm.c_svc(points(), C=1.0))
    certificate = replace(result.certificate, unproven="nobody knows its big-M")
    for thing in (certificate, replace(result, certificate=certificate)):
        assert re.search(
            "no bound of the problem it stands for: nobody knows its big-M", repr(thing)
        )


@pytest.mark.parametrize(
    ("low", "high"), [(1 / 3, 1 / 3 + 1e-9), (-2 / 3, 1e6), (0.1, 0.1), (-1e-20, 1e-20), (2.0, 2.0)]
)
def test_printed_ends_hold_the_proven_ones(low: float, high: float) -> None:
    below, above = map(Fraction, proven_ends(low, high))
    assert below <= Fraction(low) <= Fraction(high) <= above
    assert above - below <= 2 * (Fraction(high) - Fraction(low)) + Fraction(2 * abs(low)) / 10**13


@pytest.mark.parametrize("value", [1 / 3, -2 / 3, 1e-30 / 7, 123456789.987654321, 5.0])
def test_printed_bounds_are_bounds(value: float) -> None:
    assert Fraction(bound_text(value, math.inf)) <= Fraction(value)
    assert Fraction(bound_text(value, -math.inf)) >= Fraction(value)
    assert float(bound_text(value)) == value


def test_html_is_escaped() -> None:
    page = Page("<script>", [("<b>", "&")], ("<i>",), [("<td>",)], more="<p>")
    found = html_of(page)
    for word in ("<script>", "<b>", "&", "<i>", "<td>", "<p>"):
        assert html.escape(word) in found
    assert "<script>" not in found
    assert "<b>" not in found


def test_columns_of_numbers_end_together() -> None:
    page = Page("title", columns=("name", "value"), rows=[("a", "1"), ("longer", "-12.5")])
    assert text_of(page).splitlines()[1:] == [
        "  name    value",
        "  a           1",
        "  longer  -12.5",
    ]


def test_rows_print_their_first_as_mathematics_and_make_none() -> None:
    model = tm.c_svc(tm.TrainingData([[0.5, -2.0], [1.0, 3.0]], [-1, 1]), C=1.0)
    text = repr(model.margin)
    assert text.splitlines()[0] == "margin: 2 rows"
    assert "-0.5 w[0] + 2 w[1] - b + xi[0] >= 1" in text
    assert "like any Pyomo constraint: margin[0].deactivate(), del margin[0]" in text
    assert len(model.margin._data) == len(model.xi.touched()) == 0
    assert str(model.margin) == "margin"  # Pyomo writes names so
    assert "xi[0] >= 0" in repr(model.xi)


def test_a_row_that_was_edited_prints_as_it_is() -> None:
    model = tm.c_svc(tm.TrainingData([[0.5], [1.0]], [-1, 1]), C=1.0)
    model.margin[0].set_value(model.w[0] <= 3)
    assert "w[0] <= 3" in repr(model.margin)
    del model.margin[0]
    assert repr(model.margin).startswith("margin: 1 row\n  margin[1]  w[0] + b + xi[1] >= 1")


def test_cones_print_as_products() -> None:
    model = tm.conic_sdp(points(), penalty=PENALTY, intercept="none")
    assert "inside[0]" in repr(model.inside)
    assert "^2 <= " in repr(model.inside)


def test_no_dataclass_writes_a_page_of_its_own_over_ours() -> None:
    """@dataclass makes a __repr__ unless it is told repr=False."""
    waiting, own = [Readable], []
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        ours = kind.__module__.startswith("tightmargin.")  # and not one that a test has made
        own += [kind] if ours and kind.__repr__ is not Readable.__repr__ else []
    assert own == []


def test_a_subclass_of_a_result_without_fields_prints_its_name() -> None:
    class Empty(Printed):
        pass

    assert repr(Empty()) == "Empty"
    assert Empty().to_dict() == {}
