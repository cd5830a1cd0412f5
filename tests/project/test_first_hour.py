"""The ten tasks of docs/first_hour.md: short, with few imports, and they print what is shown."""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import tightmargin as tm

PAGE = Path(__file__).parents[2] / "docs" / "first_hour.md"
# What another run or machine prints differently: seconds, versions, the course of a search.
PASSING = (
    (r"^  solver .*$", "  solver"),
    (r"\d+ leaves", "# leaves"),
    (r"\S+(?=  CERTIFIED$)", "#"),
)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Task:
    """A section: its number (0 before the first), its code and what is printed below it."""

    number: int
    code: str
    shown: str


def tasks() -> list[Task]:
    parts = re.split(r"^## (\d+)\. ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = [("0", parts[0]), *zip(parts[1::2], parts[2::2], strict=True)]
    found = []
    for number, text in sections:
        blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", text, flags=re.S)
        assert len(blocks) == 1, f"section {number} has one block of code"
        found.append(Task(int(number), *blocks[0]))
    return found


@dataclass(frozen=True)
class Run:
    """What a section printed, and the names as it left them."""

    printed: str
    space: dict[str, Any]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, Run]]:
    """All sections, one after another in one name space, as a reader runs them."""
    known = dict(tm.catalogue)
    space: dict[str, Any] = {}
    found: dict[int, Run] = {}
    try:
        with contextlib.chdir(tmp_path_factory.mktemp("first_hour")):
            for task in tasks():
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(task.code, f"{PAGE.name}, section {task.number}", "exec"), space)
                found[task.number] = Run(printed.getvalue(), dict(space))
        yield found
    finally:  # a section that fails leaves no formulation of its own behind
        tm.catalogue.clear()
        tm.catalogue.update(known)


def alike(printed: str, shown: str) -> bool:
    """Whether two outputs have the same words and, up to a thousandth, the same numbers."""
    for pattern, word in PASSING:
        printed, shown = (
            re.sub(pattern, word, text, flags=re.MULTILINE) for text in (printed, shown)
        )
    if NUMBER.sub("#", printed).split() != NUMBER.sub("#", shown).split():
        return False
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(shown), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=1e-3, abs_tol=1e-3) for a, b in pairs)


def test_it_prints_what_is_shown(runs: dict[int, Run]) -> None:
    assert [task.number for task in tasks()] == list(range(11))
    for task in tasks()[1:]:
        printed, shown = runs[task.number].printed, task.shown
        assert shown, "its output is on the page"
        if shown.startswith("...\n"):  # the beginning is left out
            shown = shown.removeprefix("...\n")
            printed = "\n".join(printed.rstrip().splitlines()[-len(shown.splitlines()) :])
        assert alike(printed, shown), f"section {task.number} prints\n{printed}"
    assert alike("bound 1.0004 of two", "bound 1.0 of two")
    for other in ("bound 1.004 of two", "bound -1.0 of two", "bound 1.0 of three", "bound 1.0"):
        assert not alike(other, "bound 1.0 of two")


# --- the numbers, by other computations ----------------------------------------------------------


def svc_value(X: Any, y: Any, weights: Any = None) -> float:
    """Least 1/2 ||w||^2 + sum of weighted hinge losses, by scikit-learn."""
    weights = np.ones(len(y)) if weights is None else weights
    other = SVC(kernel="linear", C=1.0, tol=1e-8).fit(X, y, sample_weight=weights)
    w, b = other.coef_[0], other.intercept_[0]
    return float(0.5 * w @ w + weights @ np.maximum(0, 1 - y * (X @ w + b)))


def test_two_features_are_the_best_two(runs: dict[int, Run]) -> None:
    data, model = runs[1].space["data"], runs[1].space["model"]
    pairs = itertools.combinations(range(data.d), 2)
    best = min(svc_value(data.X[:, list(two)], data.y) for two in pairs)
    assert model.objective.expr() == pytest.approx(best, rel=1e-5)


def test_the_gradient_of_the_squared_hinge_vanishes(runs: dict[int, Run]) -> None:
    data, model = runs[2].space["data"], runs[2].space["model"]
    w, xi = (np.array([x.value for x in v.values()]) for v in (model.w, model.xi))
    assert w == pytest.approx(2 * (data.y * xi) @ data.X, abs=1e-4)
    assert data.y @ xi == pytest.approx(0, abs=1e-4)


def test_the_own_relaxation_is_one(runs: dict[int, Run]) -> None:
    table = tm.compare(
        runs[3].space["data"], ["every_other_point"],
        parameters=runs[3].space["settings"], exact="zero_one_big_m",
    )  # fmt: skip
    (row,) = table.rows
    assert row.certified
    assert row.bound <= table.upper
    assert not table.violations()


def test_gaps_grow_from_the_semidefinite_to_the_linear_relaxation(runs: dict[int, Run]) -> None:
    pairs = re.findall(r"\['(\S+)%', '(\S+)%'\]", runs[5].printed)
    assert len(pairs) == 6
    assert all(0 < float(conic) < float(linear) < 100 for linear, conic in pairs)


def test_the_file_says_what_the_model_says(runs: dict[int, Run]) -> None:
    theirs, ours = map(float, runs[6].printed.split())
    assert theirs == pytest.approx(ours, rel=1e-6)


def test_weights_count_as_they_do_elsewhere(runs: dict[int, Run]) -> None:
    data, weights = runs[7].space["data"], runs[7].space["weights"]
    assert float(runs[7].printed) == pytest.approx(svc_value(data.X, data.y, weights), rel=1e-5)


def test_the_cuts_prove_the_optimum_of_the_cone(runs: dict[int, Run]) -> None:
    bound, optimum = map(float, runs[8].printed.split())
    assert bound <= optimum * (1 + 1e-6)
    assert bound == pytest.approx(optimum, rel=1e-3)


def test_duals_are_minus_their_primal_and_all_solvers_agree(runs: dict[int, Run]) -> None:
    table = runs[9].space["table"]
    assert not table.disagreements()
    assert len(table.rows) == 3 * 4 * 2
    values = np.array([row.result.objective for row in table.rows]).reshape(4, 3, 2)
    assert values[:, 1:] == pytest.approx(-np.repeat(values[:, :1], 2, axis=1), rel=1e-4)


def test_the_grid_search_chooses_as_that_of_another_svc(runs: dict[int, Run]) -> None:
    data, search = runs[10].space["data"], runs[10].space["search"]
    machine = make_pipeline(StandardScaler(), SVC(kernel="linear"))
    grid = {"svc__C": runs[10].space["grid"]["formulationclassifier__C"]}
    other = GridSearchCV(machine, grid, cv=3).fit(data.X, data.y)
    assert list(search.best_params_.values()) == list(other.best_params_.values())
    assert search.best_score_ == pytest.approx(other.best_score_)
