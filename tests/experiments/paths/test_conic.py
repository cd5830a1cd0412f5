"""The path command over the penalty and the budget of the conic SDP: numbers, files, refusals."""

from __future__ import annotations

import csv
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.inside.experiments import ARRAYS, conic_path_figure
from tests.inside.formulations import budget_grid
from tests.inside.solvers import SCHEMA, ConicRows
from tests.references import reference_solutions
from tests.support.command_line import run, write_csv
from tightmargin.solvers import conic_path, penalty_grid

DATA = reference_solutions.points("overlapping", 3, n=10)
PENALTIES, BUDGETS = (0.1, 1.0, 10.0), (0.5, 0.1)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "train.csv", DATA)


def path(file: Path, *words: str | Path, name: str = "conic_sdp") -> Any:
    return run("path", name, "--data", file, *words)


@pytest.fixture(scope="module")
def documents(file: Path) -> dict[str, Any]:
    files = [f"--{kind}={file.parent / f't.{kind}'}" for kind in ("csv",)]
    files += ["--out", str(file.parent / "t.json"), "--plot", str(file.parent / "t.png")]
    answer = path(file, "--set", "penalty=10,0.1,1", *files, "--json")
    assert answer.code == 0, answer.stderr
    return {"json": answer.json, "stderr": answer.stderr, "folder": file.parent}


def test_every_row_has_the_value_of_theorem_2_and_its_proof(documents: dict[str, Any]) -> None:
    rows = documents["json"]["rows"]
    assert [row["penalty"] for row in rows] == list(PENALTIES)
    for row in rows:
        expected = reference_solutions.theorem_2(DATA, "penalised", penalty=row["penalty"]).value
        assert row["objective"] == pytest.approx(expected, rel=1e-6)
        assert row["bound"] <= expected * (1 + 1e-8)
        assert row["gap"] == row["objective"] - row["bound"]
        assert (row["verdict"], row["method"]) == ("CERTIFIED", "low-rank")
        factor = np.array(row["factor"])
        assert factor[0].tolist() == [*row["w"], row["b"]]
        norm = (factor**2).sum() + row["penalty"] * np.sum(row["z"])
        assert norm == pytest.approx(row["objective"])


def test_the_document_and_the_files_hold_the_same(documents: dict[str, Any]) -> None:
    document, folder = documents["json"], documents["folder"]
    assert (document["schema"], document["command"]) == (SCHEMA, "path")
    assert document["formulation"] == "conic_sdp"
    assert document["parameters"] == {"intercept": "penalised"}
    assert (document["not_reached"], document["interrupted"]) == ([], False)
    assert document["data"]["sha256"] == DATA.sha256
    assert documents["stderr"] == ""
    assert json.loads((folder / "t.json").read_text(encoding="utf-8")) == document
    with (folder / "t.csv").open(encoding="utf-8", newline="") as stream:
        table = list(csv.DictReader(stream))
    for written, row in zip(table, document["rows"], strict=True):
        assert set(written) == set(row) - set(ARRAYS)
        assert float(written["objective"]) == row["objective"]
    assert (folder / "t.png").read_bytes().startswith(b"\x89PNG")


def test_budgets_are_kept_and_printed(file: Path) -> None:
    words = ["--set", "budget=0.1,0.5", "intercept=none"]
    answer = path(file, *words, name="conic_sdp_budget")
    assert answer.code == 0
    assert answer.stdout.count("CERTIFIED") == 2
    assert "0 of 2 values took an interior-point solver" in answer.stdout
    rows = path(file, *words, "--json", name="conic_sdp_budget").json["rows"]
    assert [row["budget"] for row in rows] == list(BUDGETS)
    for row in rows:
        expected = reference_solutions.theorem_2(DATA, "none", budget=row["budget"]).value
        assert row["objective"] == pytest.approx(expected, rel=2e-6)
        assert sum(row["z"]) <= 10 * row["budget"] * (1 + 1e-12)


def test_without_a_list_the_grid_is_taken(file: Path) -> None:
    rows = path(file, "--json").json["rows"]
    assert [row["penalty"] for row in rows] == penalty_grid(DATA).tolist()
    rows = path(file, "--json", name="conic_sdp_budget").json["rows"]
    assert [row["budget"] for row in rows] == budget_grid().tolist()[::-1]


def test_a_kernel_is_taken(file: Path) -> None:
    words = ["--set", "penalty=1", "kernel=rbf", "width=1"]
    answer = path(file, *words, "--json")
    assert answer.code == 0, answer.stderr
    solved = run("solve", "conic_sdp_dual", "--data", file, *words, "--json")
    assert answer.json["rows"][0]["objective"] == pytest.approx(-solved.json["objective"], rel=2e-6)


def test_a_value_that_is_not_proven_is_1_with_a_line(file: Path) -> None:
    answer = path(file, "--set", "penalty=1", "--time-limit", "1e-9")
    assert answer.code == 1
    (line,) = answer.stderr.splitlines()
    assert "penalty = 1: NOT_CERTIFIED" in line
    assert "time limit" in line


@pytest.mark.parametrize(("name", "given", "left"), [
    ("conic_sdp", "penalty=0.1,1,10", [10.0]), ("conic_sdp_budget", "budget=0.5,0.3,0.1", [0.1]),
])  # fmt: skip
def test_ctrl_c_keeps_the_rows_that_are_finished(
    name: str, given: str, left: list[float], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visits, visit = itertools.count(), ConicRows.visit

    def interrupted(self: Any, number: float) -> None:
        if next(visits) >= 2:
            raise KeyboardInterrupt
        visit(self, number)

    monkeypatch.setattr(ConicRows, "visit", interrupted)
    answer = path(file, "--set", given, "--json", name=name)
    assert answer.code == 130
    assert len(answer.json["rows"]) == 2
    assert answer.json["not_reached"] == left
    assert answer.json["interrupted"]
    assert f"{name}: interrupted; kept 2 rows, without" in answer.stderr


REFUSED = {
    "zero": (["conic_sdp_budget", "--set", "budget=0.5,0"], "hard-margin problem"),
    "share": (["conic_sdp_budget", "--set", "budget=2"], "budget must lie in (0, 1]"),
    "penalty": (["conic_sdp", "--set", "penalty=1,-1"], "penalty must be a positive"),
    "word": (["conic_sdp", "--set", "penalty=1,high"], "'high'"),
    "free": (["conic_sdp", "--set", "penalty=1", "intercept=free"], "intercept_bound value by"),
    "bound": (["conic_sdp", "--set", "penalty=1", "intercept_bound=2"], "leave intercept_bound"),
    "other": (["conic_sdp", "--set", "budget=0.5"], "no hyperparameter 'budget'"),
    "method": (["conic_sdp", "--set", "penalty=1", "--method", "hull"], "no choice of methods"),
    "entry": (["conic_sdp_dual", "--set", "penalty=1"], "conic_sdp over penalty"),
}


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_what_cannot_be_a_path_is_refused_in_one_line(case: str, file: Path) -> None:
    words, expected = REFUSED[case]
    answer = run("path", *words, "--data", file)
    assert answer.code == 2
    assert expected in answer.complaint


@pytest.mark.parametrize("given", [{"penalties": PENALTIES}, {"budgets": BUDGETS}])
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
