"""The path command of all families: numbers, files, Ctrl-C, and what is not proven."""

from __future__ import annotations

import csv
import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.cuts import nu_path as path_module
from tests.inside.experiments import conic_path_figure
from tests.inside.formulations import budget_grid
from tests.inside.solvers import ConicRows, RsvmRows
from tests.references import reference_solutions
from tests.support.command_line import Answer, run, write_csv
from tests.support.point_clouds import below_nu_bar, cloud
from tightmargin.formulations import TrainingData
from tightmargin.solvers import conic_path, penalty_grid

DATA = reference_solutions.points("overlapping", 3, n=10)
N = 10
FIVE: TrainingData = cloud(4, 30, 5)


@dataclass(frozen=True)
class Family:
    """A path: what it is asked for, the order of its rows, and what makes one of them."""

    word: str
    asked: str
    values: tuple[float, ...]
    rows: Any
    visit: str


NU = Family(  # nu_bar is 0.464, and the CVaR constant up to 0.2
    "nu", "0.1,0.2,0.4,0.6,0.9", (0.9, 0.6, 0.4, 0.2, 0.1), path_module._Path, "visit"
)
PENALTY = Family("penalty", "10,0.1,1", (0.1, 1.0, 10.0), ConicRows, "visit")
BUDGET = Family("budget", "0.1,0.5,0.3", (0.5, 0.3, 0.1), ConicRows, "visit")
BOUND = Family("norm_bound", "0.7,0.1,0.9", (0.1, 0.7, 0.9), RsvmRows, "row")
FAMILIES = {
    "extended_nu_svc": NU, "conic_sdp": PENALTY, "conic_sdp_budget": BUDGET, "rsvm": BOUND,
}  # fmt: skip


def path(name: str, file: Path, *words: str | Path, asked: str = "") -> Answer:
    family = FAMILIES[name]
    asked = asked or family.asked
    return run("path", name, "--data", file, "--set", f"{family.word}={asked}", *words)


@pytest.fixture(scope="module")
def documents(file: Path) -> dict[str, Any]:
    """What each family prints with --json."""
    found = {}
    for name in FAMILIES:
        answer = path(name, file, "--json")
        assert (answer.code, answer.stderr) == (0, "")
        found[name] = answer.json
    return found


# --- what all of them do -------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
def test_ctrl_c_keeps_the_rows_that_are_finished(
    name: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    family, out, table = FAMILIES[name], tmp_path / "t.json", tmp_path / "t.csv"
    visit = getattr(family.rows, family.visit)

    def interrupted_after(kept: int) -> Any:
        visits = itertools.count()

        def one(self: Any, *given: Any, **words: Any) -> Any:
            if next(visits) >= kept:
                raise KeyboardInterrupt
            return visit(self, *given, **words)

        return one

    monkeypatch.setattr(family.rows, family.visit, interrupted_after(2))
    answer = path(name, file, "--out", out, "--csv", table, "--json")
    assert answer.code == 130
    assert len(answer.json["rows"]) == 2
    assert sorted(answer.json["not_reached"]) == sorted(family.values[2:])
    assert answer.json["interrupted"]
    assert f"{name}: interrupted; kept 2 rows, without {family.word} = " in answer.stderr
    assert json.loads(out.read_text(encoding="utf-8")) == answer.json
    with table.open(encoding="utf-8", newline="") as stream:
        written = [float(line["objective"]) for line in csv.DictReader(stream)]
    assert written == [row["objective"] for row in answer.json["rows"]]
    monkeypatch.setattr(family.rows, family.visit, interrupted_after(0))
    answer = path(name, file)
    assert (answer.code, answer.stdout) == (130, "")


@pytest.mark.parametrize("name", FAMILIES)
def test_a_value_that_is_not_proven_is_1_with_a_line(name: str, file: Path, tmp_path: Path) -> None:
    family, value = FAMILIES[name], FAMILIES[name].values[1]
    if family is NU:  # of ten points in the plane the optimum is there at once
        file, value = write_csv(tmp_path / "five.csv", FIVE), below_nu_bar(FIVE, 0.3)
    answer = path(name, file, "--time-limit", "1e-9", asked=repr(value))
    assert answer.code == 1
    (line,) = answer.stderr.splitlines()
    assert f"{name}: {family.word} = " in line
    assert "NOT_CERTIFIED" in line
    assert "time" in line
    assert "limit" in line


# --- nu ------------------------------------------------------------------------------------------


def test_every_nu_has_its_global_optimum_and_proof(documents: dict[str, Any]) -> None:
    document, caps = documents["extended_nu_svc"], np.full(N, 1 / N)
    rows = document["rows"]
    for row in rows:
        if row["side"] > 0:
            expected = reference_solutions.nu_risk_in_ball(DATA, "free", row["nu"], caps)
        else:
            expected = reference_solutions.nu_risk_on_circle(DATA, "free", row["nu"], caps).value
        assert row["objective"] == pytest.approx(expected, rel=2e-6)
        assert row["cvar"] == pytest.approx(expected / row["nu"], rel=2e-6)
        assert row["bound"] <= expected + 1e-7
        assert row["verdict"] == "CERTIFIED"
        assert row["norm_multiplier"] == pytest.approx(-N * expected / 2**0.5, rel=2e-6)
        scores = DATA.y * (DATA.X @ row["w"] + row["b"])
        assert row["errors"] == (scores <= 0).sum()
        assert row["gap"] == pytest.approx(max(0.0, row["objective"] - row["bound"]))
    assert [row["side"] for row in rows] == [1, 1, -1, -1, -1]
    assert [row["constant"] for row in rows] == [False, False, False, True, True]
    found = tm.theory.nu_range(DATA)
    assert document["range"]["nu_bar"] == pytest.approx(found.nu_bar)
    low, high = document["range"]["nu_bar_bounds"]
    assert low - 1e-12 <= found.nu_bar <= high + 1e-9
    assert document["range"]["constant_until"] == pytest.approx(2 / N)


# --- penalty and budget --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["conic_sdp", "conic_sdp_budget"])
def test_every_row_has_the_value_of_theorem_2_and_its_proof(
    name: str, documents: dict[str, Any]
) -> None:
    word = FAMILIES[name].word
    for row in documents[name]["rows"]:
        expected = reference_solutions.theorem_2(DATA, "penalised", **{word: row[word]}).value
        assert row["objective"] == pytest.approx(expected, rel=2e-6)
        assert row["bound"] <= expected * (1 + 1e-7)
        assert row["gap"] == row["objective"] - row["bound"]
        assert (row["verdict"], row["method"]) == ("CERTIFIED", "low-rank")
        factor = np.array(row["factor"])
        assert factor[0].tolist() == [*row["w"], row["b"]]
        if word == "budget":
            assert sum(row["z"]) <= N * row["budget"] * (1 + 1e-12)
        else:
            norm = (factor**2).sum() + row["penalty"] * np.sum(row["z"])
            assert norm == pytest.approx(row["objective"])


def test_without_a_list_the_grid_is_taken(tmp_path: Path) -> None:
    data = reference_solutions.points("overlapping", 3, n=6)
    file = write_csv(tmp_path / "six.csv", data)
    rows = run("path", "conic_sdp", "--data", file, "--json").json["rows"]
    assert [row["penalty"] for row in rows] == penalty_grid(data).tolist()
    rows = run("path", "conic_sdp_budget", "--data", file, "--json").json["rows"]
    assert [row["budget"] for row in rows] == budget_grid().tolist()[::-1]


@pytest.mark.parametrize("given", [{"penalties": (0.1, 1.0)}, {"budgets": (0.5, 0.1)}])
def test_the_picture_draws_value_bound_and_sum_z(given: dict[str, Any]) -> None:
    found = conic_path(DATA, **given)
    upper, lower = conic_path_figure(found, "a title").axes
    followed = [getattr(row, found.parameter) for row in found.rows]
    drawn = {line.get_label(): line for axes in (upper, lower) for line in axes.get_lines()}
    for label, word in (("value", "objective"), ("proven lower bound", "bound"),
                        ("sum z / n", "spent")):  # fmt: skip
        assert drawn[label].get_xdata() == pytest.approx(followed)
        assert drawn[label].get_ydata() == pytest.approx([getattr(r, word) for r in found.rows])
    assert lower.get_xlabel() == found.parameter
    assert lower.get_xscale() == ("log" if found.parameter == "penalty" else "linear")
    assert upper.get_title() == "a title"
