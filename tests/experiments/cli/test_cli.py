"""The command line: every command, every exit code, one line of JSON contract after another."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin
from tests.cases import CASES, OF_CLASSES, OVERLAPPING, C, Case, each, known
from tests.inside.experiments import (
    emit,
    options,
    parse_row,
    parse_value,
    solve,
)
from tests.inside.solvers import SCHEMA
from tests.references import reference_solutions
from tests.support.command_line import ROOT, run, write_csv
from tests.support.covering import FULL
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import Certificate, SolveResult, Status, Verdict

GRAM = OVERLAPPING.X @ OVERLAPPING.X.T
# The command line knows classes of problems and kinds of data; the library is asked for each entry.
SOME = list({case.entry.problem_class: name for name, case in CASES.items()}.values())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("data")
    write_csv(made / "overlapping.csv", OVERLAPPING)
    return made


@pytest.fixture
def overlapping(folder: Path) -> Path:
    return folder / "overlapping.csv"


# --- list, show, solvers -------------------------------------------------------------------------


def test_list_tells_every_entry_with_its_source_and_class() -> None:
    answer = run("list", "--json")
    assert answer.code == 0
    assert (answer.json["schema"], answer.json["command"]) == (SCHEMA, "list")
    found = {entry["name"]: entry for entry in answer.json["formulations"]}
    assert set(found) == set(CATALOGUE)
    for name, entry in CATALOGUE.items():
        assert found[name]["source"] == entry.source
        assert found[name]["problem_class"] == str(entry.problem_class)
        assert found[name]["relaxes"] == entry.relaxes
        assert found[name]["solvers"], "solved by at least one solver that is installed"
        assert {p["name"] for p in found[name]["parameters"]} == set(entry.parameters)


@pytest.mark.parametrize("name", ["c_svc", "conic_sdp_dual"])
def test_show_prints_mathematics_source_and_parameters(name: str) -> None:
    text = run("show", name).stdout
    assert all(word in text for word in ("min ", "s.t.", CATALOGUE[name].source))
    for word in CATALOGUE[name].parameters:
        assert re.search(rf"^{word}\b", text, re.MULTILINE)
    document = run("show", name, "--json").json["formulation"]
    required = {p["name"] for p in document["parameters"] if p["required"]}
    assert required == ({"C"} if name == "c_svc" else {"penalty"})
    assert "min " in document["mathematics"]


def test_version() -> None:
    said = f"tightmargin {tightmargin.__version__}\n"
    assert run("--version").stdout == said
    # As a module too: silence with exit code 0 would look like a run.
    words = [sys.executable, "-m", "tightmargin", "--version"]
    assert subprocess.run(words, cwd=ROOT, capture_output=True, text=True).stdout == said


def test_no_command_prints_the_help_as_an_error() -> None:
    answer = run()
    assert (answer.code, answer.stdout) == (2, "")
    for command in (
        "list", "show", "solvers", "solve", "compare", "export", "certify", "predict",
        "cross-validate", "reproduce",
    ):  # fmt: skip
        assert re.search(rf"^  {command} ", answer.stderr, re.MULTILINE)


# --- solve ---------------------------------------------------------------------------------------


@each(CASES if FULL else SOME)
def test_solve_gives_a_certified_result(case: Case, folder: Path) -> None:
    data, file = case.data, write_csv(folder / f"{case.name}.csv", case.data)
    words = ["--set", *case.spelled().split()] if case.words else []
    answer = run("solve", case.name, "--data", file, *words, "--json")
    assert answer.code == 0, answer.stderr
    document = answer.json
    optimum = known(case.name)
    if found := document["parameters"].get("incumbent"):  # relaxations below it are tighter
        w, b = found
        optimum = max(optimum, tightmargin.solve(case.build(incumbent=(np.array(w), b))).objective)
    assert document["objective"] == pytest.approx(optimum, rel=2e-6, abs=2e-6)
    assert document["certificate"]["verdict"] in ("CERTIFIED", "SOLVER_BOUND")
    assert document["formulation"] == case.name
    assert document["problem_class"] == str(case.entry.problem_class)
    assert document["status"] == "optimal"
    assert document["data"] == {
        "spec": str(file), "n": data.n, "d": data.d, "sha256": data.sha256,
        "feature_names": [f"x{j}" for j in range(data.d)],
    } | ({"classes": ["0", "1", "2"]} if case.name in OF_CLASSES else {})  # fmt: skip


def test_what_is_infinite_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    emit("solve", {"a": np.inf, "b": -np.inf, "c": np.nan, "d": np.array([1.0, np.nan])})
    printed = {"a": None, "b": None, "c": None, "d": [1.0, None]}
    assert json.loads(capsys.readouterr().out) == {"schema": SCHEMA, "command": "solve"} | printed


def test_precomputed_kernel(tmp_path: Path) -> None:
    np.savez(tmp_path / "gram.npz", X=GRAM, y=OVERLAPPING.y)
    words = ["--data", tmp_path / "gram.npz", "--set", f"C={C}", "kernel=precomputed", "--json"]
    expected = -reference_solutions.c_dual(GRAM, OVERLAPPING.y, np.full(OVERLAPPING.n, C), "free")
    assert run("solve", "c_svc_dual", *words).json["objective"] == pytest.approx(expected, rel=1e-6)


# --- exit codes ----------------------------------------------------------------------------------


RESULT = SolveResult(
    Status.OPTIMAL, 1.0, 1.0, {}, {}, Certificate(Verdict.CERTIFIED), "highs"
)  # fmt: skip


def test_exit_codes() -> None:
    none, bound = Verdict.NOT_CERTIFIED, Verdict.SOLVER_BOUND
    for status, objective, verdict, code in (
        (Status.OPTIMAL, 1.0, Verdict.CERTIFIED, 0),
        (Status.OPTIMAL, 1.0, bound, 0),
        (Status.OPTIMAL, 1.0, Verdict.WITHIN_TOLERANCE, 0),
        (Status.INACCURATE, 1.0, none, 1),
        (Status.FEASIBLE, 1.0, none, 1),
        (Status.ERROR, None, none, 1),
        (Status.LIMIT_NO_SOLUTION, None, none, 1),
        (Status.INFEASIBLE, None, none, 3),
        (Status.UNBOUNDED, None, none, 3),
        (Status.INFEASIBLE_OR_UNBOUNDED, None, none, 3),
        (Status.FEASIBLE, 1.0, bound, 4),
        (Status.INTERRUPTED, 1.0, bound, 130),
    ):
        words = {"status": status, "objective": objective, "certificate": Certificate(verdict)}
        assert options.exit_code(replace(RESULT, **words)) == code, (status, verdict)


def test_interrupted_is_130(monkeypatch: pytest.MonkeyPatch, overlapping: Path) -> None:
    def interrupted(*args: Any, **limits: Any) -> SolveResult:
        raise KeyboardInterrupt

    monkeypatch.setattr(solve, "solve", interrupted)
    answer = run("solve", "c_svc", "--data", overlapping, "--set", "C=1", "--json")
    assert (answer.code, answer.complaint) == (130, "tightmargin: interrupted")


def test_traceback_on_request(monkeypatch: pytest.MonkeyPatch, overlapping: Path) -> None:
    monkeypatch.setenv("TIGHTMARGIN_TRACEBACK", "1")
    answer = run("solve", "c_svc", "--data", overlapping)
    assert answer.code == 2
    assert "Traceback" in answer.stderr


# --- what a user writes --------------------------------------------------------------------------


def test_values() -> None:
    for text, value in (
        ("1", 1), ("-2", -2), ("0.5", 0.5), ("1e3", 1000.0), ("true", True), ("False", False),
        ("null", None), ("derived", "derived"), ("1,2", (1, 2)), ("0.5,1e2", (0.5, 100.0)),
        ("a,b", ("a", "b")), ("3x3", "3x3"),
    ):  # fmt: skip
        found = parse_value(text)
        assert found == value
        assert type(found) is type(value)


def test_rows_carry_settings_of_their_own() -> None:
    assert parse_row("conic_sdp") == ("conic_sdp", {})
    own = {"big_m": 1000, "intercept": "free"}
    assert parse_row("zero_one_relaxed:big_m=1000,intercept=free") == ("zero_one_relaxed", own)
    assert parse_row("c_svc:class_weight=1,2,C=3")[1] == {"class_weight": (1, 2), "C": 3}
    for text in ("c_svc:", "c_svc:C", "c_svc:C=1,C=2"):
        with pytest.raises(ValueError, match=r"key=value|set twice"):
            parse_row(text)
