"""Row 1: NaN or infinity anywhere is refused by name, before anything is built.

tests/project/test_numbers.py goes on from here to coefficients, sides and bounds of edited models.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.cases import NUMBERS, OF_CLASSES, WORDS, modes, valid
from tests.references.reference_solutions import points
from tests.support.covering import FULL, covering
from tightmargin.formulations import CATALOGUE, MulticlassData, TrainingData
from tightmargin.solvers import NumberError

DATA = points("overlapping", 0, n=8)
BAD = (math.nan, math.inf, -math.inf)
TYPES = (float, np.float64, np.float32, np.array, str)
POSITIVE = {
    "C", "ridge", "pi", "nu", "penalty", "big_m", "budget", "intercept_bound", "norm_bound",
    "hull_bound", "rank", "tau", "price",
}  # fmt: skip


def as_taken(name: str, data: TrainingData) -> TrainingData | MulticlassData:
    """The points as an entry takes them: for several classes, the two there are."""
    return MulticlassData(data.X, (data.y > 0).astype(int)) if name in OF_CLASSES else data


def arrays(data: TrainingData, intercept: str) -> dict[str, Any]:
    """A valid array for every hyperparameter that takes one; of `incumbent`, both parts."""
    width = data.d + (intercept == "penalised")
    return {
        "big_m": np.full(data.n, 50.0),
        "strengthening": np.full(data.n, 1e-3),
        "class_balance": np.full(data.n, 1 / data.n),
        "class_weight": np.array([1.0, 2.0]),
        "w_ref": np.arange(1.0, width + 1),
        "groups": np.arange(data.d, dtype=float),
        "incumbent": np.append(np.ones(data.d), 0.0 if intercept == "none" else 0.3),
    }


def as_argument(name: str, word: str, value: Any) -> Any:
    """An array as the builder takes it: pairs of the incumbent, groups of points."""
    if (name, word) == ("conic_sdp_rank_one", "groups") and isinstance(value, np.ndarray):
        return [[int(i) if np.isfinite(i) else i for i in value]]
    if word != "incumbent":
        return value
    if name in OF_CLASSES:
        both = np.outer([1.0, -1.0], value)
        return both[:, :-1], both[:, -1]
    return value[:-1], value[-1]


@pytest.mark.parametrize("name", CATALOGUE)
def test_row_01_no_builder_takes_a_non_finite_argument(name: str) -> None:
    """Nor one that is no number, or not positive; and no array with one bad cell."""
    data, turn = as_taken(name, DATA), itertools.count(len(name))
    for mode in modes(name)[: 3 if FULL else 1]:
        good, whole = valid(name, mode), arrays(DATA, mode)
        CATALOGUE[name].build(data, **good)
        for word in CATALOGUE[name].parameters:
            k = next(turn)
            bad: list[Any] = [TYPES[k % 5](BAD[k % 3])]
            if word in POSITIVE & set(good):
                bad += [0.0, -1.0, "one", [1.0] if word == "intercept_bound" else None]
            if word in whole:
                CATALOGUE[name].build(data, **good | {word: as_argument(name, word, whole[word])})
                array = whole[word].copy()
                array[k % len(array)] = BAD[k % 3]
                bad.append(as_argument(name, word, array if k % 2 else array.tolist()))
            for value in bad:
                with pytest.raises(ValueError, match=word):
                    CATALOGUE[name].build(data, **(good | {word: value}))


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
            if not isinstance(found, pyo.Param):
                continue
            cell = next(iter(found.values()))
            before = cell.value
            for bad in (*BAD, *((-1.0, 0.0) if word in POSITIVE else ())):
                with pytest.raises((ValueError, NumberError), match=rf"{word}|{bad}"):
                    _set_and_solve(cell, bad, model)
            cell.set_value(before)
            tried.add(word)
    assert {"C", "nu", "beta", "w_ref", "big_m", "penalty", "intercept_bound", "pi"} <= tried


def _set_and_solve(cell: Any, bad: float, model: Any) -> None:
    cell.set_value(bad)
    tm.solve(model)
