"""Solver options, starts, data that is piped in, shell completion, memory, the screen of list."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.inside.experiments import solve as solving
from tests.inside.experiments import tables
from tests.references.reference_solutions import points
from tests.support.command_line import ROOT, run, write_csv
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import SolveResult, solve

DATA = points("overlapping", 1, n=10)
C_SVC = ("solve", "c_svc", "--set", "C=1", "--data")
ZERO_ONE = ("solve", "zero_one_big_m", "--set", "penalty=1", "big_m=50", "--data")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("options") / "points.csv", DATA)


# --- options and starts --------------------------------------------------------------------------


def test_options_go_to_the_solver_or_the_method_that_is_named(file: Path) -> None:
    words = ("--solver", "clarabel", "--option", "max_iter=2", "--option", "verbose=false")
    answer = run(*C_SVC, file, *words, "--json")
    assert answer.code == 1
    assert answer.json["solver"]["options"] == {"max_iter": 2, "verbose": False}
    assert "2 iterations" in answer.json["message"]
    words = ("solve", "soft_margin_svc", "--set", "ridge=0.1", "intercept=none")
    answer = run(*words, "--data", file, "--method", "sgd", "--option", "steps=50", "--json")
    assert answer.json["solver"]["options"]["steps"] == 50


def test_a_saved_result_is_a_start(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = tmp_path / "result.json"
    assert run(*ZERO_ONE, file, "--out", saved).code == 0
    seen: list[Any] = []

    def watched(model: Any, *words: Any, **limits: Any) -> SolveResult:
        seen.append(limits["warm_start"])
        return solve(model, *words, **limits)

    monkeypatch.setattr(solving, "solve", watched)
    again = run(*ZERO_ONE, file, "--start", saved, "--solver", "scip", "--json")
    assert again.code == 0
    assert "no effect" not in again.json["message"]
    assert isinstance(seen[0], SolveResult)
    assert set(seen[0].values) == {"w", "b", "z"}
    told = run(*C_SVC, file, "--start", saved, "--json").json["message"]
    assert "the warm start had no effect" in told
    other = run("solve", "c_svc_dual", "--set", "C=1", "--data", file, "--start", saved)
    assert (other.code, "has no variable of the result's" in other.complaint) == (2, True)


# --- data that is piped in -----------------------------------------------------------------------


def piped(stdin: Any, data: str = "/dev/stdin") -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "tightmargin", *C_SVC, data, "--json"]
    words = {"stdin": stdin} if hasattr(stdin, "read") else {"input": stdin}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, **words)


# --- the shell and the screen --------------------------------------------------------------------


def test_a_screen_of_80_columns_holds_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "PIPE_WIDTH", 80)
    text = run("list").stdout
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    for name, entry in CATALOGUE.items():
        assert any(line.split()[:2] == [name, str(entry.problem_class)] for line in lines)


def test_memory_that_ran_out_is_one_sentence(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    def greedy(*_: Any, **__: Any) -> SolveResult:
        raise MemoryError("std::bad_alloc")

    monkeypatch.setattr(solving, "solve", greedy)
    answer = run(*C_SVC, file)
    assert answer.code == 1
    assert answer.complaint.startswith("tightmargin: memory ran out: ")


@pytest.mark.parametrize("entry", ["c_svc", "zero_one_big_m", "conic_sdp", "hard_margin_svc"])
def test_numbers_whose_squares_overflow_are_one_sentence(entry: str, tmp_path: Path) -> None:
    huge = tmp_path / "huge.csv"
    huge.write_text("a,b,y\n1e300,1,1\n-1e300,2,-1\n3e299,1,1\n0,4e299,-1\n")
    words = {"c_svc": ["C=1"], "zero_one_big_m": ["penalty=1", "big_m=9"]}
    own = words.get(entry, ["penalty=1"] if entry == "conic_sdp" else ["intercept=free"])
    answer = run("solve", entry, "--data", huge, "--set", *own)
    assert answer.code == 2
    assert answer.complaint.endswith("add --set normalise=zscore, or take other units")
    scaled = run("solve", entry, "--data", huge, "--set", *own, "normalise=zscore")
    assert (scaled.code, scaled.stderr) == (0, "")
