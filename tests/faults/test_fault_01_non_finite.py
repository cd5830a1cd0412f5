"""Row 1: NaN or infinity anywhere is refused by name, before anything is built.

tests/project/test_numbers.py goes on from here to coefficients, sides and bounds of edited models.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightmargin as tm
from tests.faults.settings import NUMBERS, WORDS, arrays, as_taken, modes, valid
from tests.references.reference_solutions import points
from tests.support.command_line import run
from tightmargin.formulations import CATALOGUE, MulticlassData
from tightmargin.solvers import NumberError

DATA = points("overlapping", 0, n=8)
BAD = (math.nan, math.inf, -math.inf)


def spoiled(name: str, word: str, value: Any) -> Any:
    """An argument as the builder takes it: pairs of the incumbent, groups of points."""
    if (name, word) == ("conic_sdp_rank_one", "groups") and isinstance(value, np.ndarray):
        return [[int(i) if np.isfinite(i) else i for i in value]]
    if word != "incumbent":
        return value
    if isinstance(as_taken(name, DATA), MulticlassData):
        both = np.outer([1.0, -1.0], value)
        return both[:, :-1], both[:, -1]
    return value[:-1], value[-1]


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, str, dict[str, Any]]:
    """An entry, one of its arguments with NaN or infinity somewhere, and all its settings."""
    name = draw(st.sampled_from(sorted(CATALOGUE)))
    intercept = draw(st.sampled_from(modes(name)))
    chosen = valid(name, intercept)
    word = draw(st.sampled_from(sorted(CATALOGUE[name].parameters)))
    bad: Any = draw(st.sampled_from(BAD))
    whole = arrays(DATA, intercept)
    if word in whole and draw(st.booleans()):
        array = whole[word]
        array[draw(st.integers(0, len(array) - 1))] = bad
        bad = spoiled(name, word, draw(st.sampled_from([array, array.tolist()])))
    else:
        as_type = draw(st.sampled_from([float, np.float64, np.float32, np.array, str]))
        bad = as_type(bad)
    return name, word, chosen | {word: bad}


@given(call=calls())
@settings(max_examples=400)
def test_row_01_no_builder_takes_a_non_finite_argument(
    call: tuple[str, str, dict[str, Any]],
) -> None:
    name, word, arguments = call
    with pytest.raises(ValueError, match=word):
        CATALOGUE[name].build(as_taken(name, DATA), **arguments)


def test_row_01_every_hyperparameter_of_the_catalogue_is_spoiled() -> None:
    """A new hyperparameter joins the lists above, and what is left alone is refused nowhere."""
    words = {word for entry in CATALOGUE.values() for word in entry.parameters}
    assert words == set(NUMBERS) | set(WORDS) | set(arrays(DATA, "free"))
    for name in CATALOGUE:
        for intercept in modes(name):
            whole = arrays(DATA, intercept)
            data = as_taken(name, DATA)
            CATALOGUE[name].build(data, **valid(name, intercept))
            for word in set(whole) & set(CATALOGUE[name].parameters):
                good = valid(name, intercept) | {word: spoiled(name, word, whole[word])}
                CATALOGUE[name].build(data, **good)


@given(
    which=st.sampled_from(["X", "y", "gram"]),
    bad=st.sampled_from(BAD),
    row=st.integers(0, 7),
    column=st.integers(0, 1),
    as_type=st.sampled_from([np.float64, np.float32, object]),
)
@settings(max_examples=100)
def test_row_01_a_bad_cell_of_the_data_is_named(
    which: str, bad: float, row: int, column: int, as_type: Any
) -> None:
    X, y, gram = np.array(DATA.X), np.array(DATA.y), DATA.X @ DATA.X.T
    if which == "y":
        y[row] = bad
        place = rf"y holds {bad} in row {row} \(1 such cells\)"
    else:
        (X if which == "X" else gram)[row, column] = bad
        place = rf"{which} holds {bad} in row {row}, column {column} \(1 such cells\)"
    make = tm.GramData if which == "gram" else tm.TrainingData
    with pytest.raises(ValueError, match=place):
        make((gram if which == "gram" else X).astype(as_type), y.astype(as_type))


def test_row_01_a_param_spoiled_after_the_build_reaches_no_solver() -> None:
    """Every mutable Param, the arrays among them: its own domain refuses, or solve() does."""
    tried = set()
    for name, entry in CATALOGUE.items():
        model = entry.build(as_taken(name, DATA), **valid(name, modes(name)[0]))
        for word in entry.parameters:
            found = model.find_component(word)
            if not isinstance(found, pyo.Param):
                continue
            cell = next(iter(found.values()))
            before = cell.value
            for bad in BAD:
                with pytest.raises((ValueError, NumberError), match=rf"{word}|{bad}"):
                    _set_and_solve(cell, bad, model)
            cell.set_value(before)
            tried.add(word)
    assert {"C", "nu", "beta", "w_ref", "big_m", "penalty", "intercept_bound", "pi"} <= tried


def _set_and_solve(cell: Any, bad: float, model: Any) -> None:
    cell.set_value(bad)
    tm.solve(model)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999", ""])
def test_row_01_files_and_settings_say_the_place(text: str, tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    file.write_text(f"a,b,y\n1,2,1\n3,{text},-1\n", encoding="utf-8")
    answer = run("solve", "c_svc", "--data", file, "--set", "C=1")
    assert answer.code == 2
    assert "'b'" in answer.complaint or "column b" in answer.complaint, answer.complaint
    good = tmp_path / "good.csv"
    good.write_text("a,b,y\n1,2,1\n3,4,-1\n", encoding="utf-8")
    answer = run("solve", "c_svc", "--data", good, "--set", f"C={text}")
    assert answer.code == 2
    assert "C" in answer.complaint
