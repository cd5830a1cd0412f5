"""Row 1: NaN or infinity anywhere is refused by name, before anything is built.

tests/project/test_numbers.py goes on from here to coefficients, sides and bounds of edited models.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.cases import NUMBERS, WORDS, modes, valid
from tests.faults.settings import arrays, as_taken
from tests.references.reference_solutions import points
from tests.support.command_line import run
from tests.support.covering import FULL, covering
from tightmargin.formulations import CATALOGUE, MulticlassData
from tightmargin.solvers import NumberError

DATA = points("overlapping", 0, n=8)
BAD = (math.nan, math.inf, -math.inf)
TYPES = (float, np.float64, np.float32, np.array, str)


def as_argument(name: str, word: str, value: Any) -> Any:
    """An array as the builder takes it: pairs of the incumbent, groups of points."""
    if (name, word) == ("conic_sdp_rank_one", "groups") and isinstance(value, np.ndarray):
        return [[int(i) if np.isfinite(i) else i for i in value]]
    if word != "incumbent":
        return value
    if isinstance(as_taken(name, DATA), MulticlassData):
        both = np.outer([1.0, -1.0], value)
        return both[:, :-1], both[:, -1]
    return value[:-1], value[-1]


@pytest.mark.parametrize("name", CATALOGUE)
def test_row_01_no_builder_takes_a_non_finite_argument(name: str) -> None:
    """Each argument as a number, and where it may be an array with one bad cell."""
    data, turn = as_taken(name, DATA), itertools.count(len(name))
    for mode in modes(name)[: 3 if FULL else 1]:
        good, whole = valid(name, mode), arrays(DATA, mode)
        CATALOGUE[name].build(data, **good)
        for word in CATALOGUE[name].parameters:
            k = next(turn)
            with pytest.raises(ValueError, match=word):
                CATALOGUE[name].build(data, **(good | {word: TYPES[k % 5](BAD[k % 3])}))
            if word in whole:
                CATALOGUE[name].build(data, **good | {word: as_argument(name, word, whole[word])})
                array = whole[word].copy()
                array[k % len(array)] = BAD[k % 3]
                given = as_argument(name, word, array if k % 2 else array.tolist())
                with pytest.raises(ValueError, match=word):
                    CATALOGUE[name].build(data, **(good | {word: given}))


def test_row_01_every_hyperparameter_of_the_catalogue_is_spoiled() -> None:
    words = {word for entry in CATALOGUE.values() for word in entry.parameters}
    assert words == set(NUMBERS) | set(WORDS) | set(arrays(DATA, "free"))


@pytest.mark.parametrize(
    ("which", "bad", "at", "as_type"),
    covering(["X", "y", "gram"], BAD, [(0, 1), (7, 0)], [np.float64, np.float32, object]),
)
def test_row_01_a_bad_cell_of_the_data_is_named(
    which: str, bad: float, at: tuple[int, int], as_type: Any
) -> None:
    X, y, gram = np.array(DATA.X), np.array(DATA.y), DATA.X @ DATA.X.T
    if which == "y":
        y[at[0]] = bad
        place = rf"y holds {bad} in row {at[0]} \(1 such cells\)"
    else:
        (X if which == "X" else gram)[at] = bad
        place = rf"{which} holds {bad} in row {at[0]}, column {at[1]} \(1 such cells\)"
    make = tm.GramData if which == "gram" else tm.TrainingData
    with pytest.raises(ValueError, match=place):
        make((gram if which == "gram" else X).astype(as_type), y.astype(as_type))


def test_row_01_a_param_spoiled_after_the_build_reaches_no_solver() -> None:
    """Every mutable Param, the arrays among them: its own domain refuses, or solve() does."""
    tried: set[str] = set()
    for name, entry in CATALOGUE.items():
        model = entry.build(as_taken(name, DATA), **valid(name, modes(name)[0]))
        for word in entry.parameters:
            found = model.find_component(word)
            if not isinstance(found, pyo.Param) or (word in tried and not FULL):
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


@pytest.mark.parametrize("text", ["nan", "1e999", ""])
def test_row_01_files_and_settings_say_the_place(text: str, tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    for cell, setting, place in ((text, "1", "b"), ("4", text, "C")):
        file.write_text(f"a,b,y\n1,2,1\n3,{cell},-1\n", encoding="utf-8")
        answer = run("solve", "c_svc", "--data", file, "--set", f"C={setting}")
        assert answer.code == 2
        assert place in answer.complaint, answer.complaint
