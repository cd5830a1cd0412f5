"""Row 28: a record says what it takes to repeat a run, and repeating it gives the same bytes."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.solvers import SCHEMA, SOLVERS
from tests.references.reference_solutions import points
from tests.support.command_line import finish, run, start, write_csv
from tests.support.covering import FULL

DATA = points("overlapping", 6, n=10)
RUNS = {
    "highs": ("c_svc", "C=1"),
    "clarabel": ("conic_sdp", "penalty=1"),
    "scip": ("zero_one_big_m", "penalty=1", "big_m=derived"),
    "gurobi": ("zero_one_big_m", "penalty=1", "big_m=derived"),
    "scs": ("conic_sdp", "penalty=1"),
    "piqp": ("c_svc", "C=1"),
}


def words(solver: str, file: Path, out: Path) -> tuple[str | Path, ...]:
    name, *settings = RUNS[solver]
    threads = () if solver == "piqp" else ("--threads", "1")
    seed = ("--seed", "7") if solver in ("scip", "gurobi", "highs") else ()
    return (
        "solve", name, "--data", file, "--set", *settings, "--solver", solver, *threads, *seed,
        "--out", out, "--json",
    )  # fmt: skip


def without_clock(written: str) -> str:
    """A document less what a clock writes, and the checksum over it."""
    document = json.loads(written)
    document.pop("sha256", None)
    document.pop("seconds")
    for row in document["certificate"]["facts"].get("trace", ()):
        assert row.pop(0) >= 0, "a row of a trace begins with its seconds"
    text = json.dumps(document, indent=1)
    assert '"sha256"' in text, "that of the data stays"
    return text


@pytest.mark.parametrize("solver", RUNS if FULL else ("clarabel", "scip", "piqp"))
def test_row_28_a_second_run_writes_the_same_bytes_and_the_record_is_complete(
    solver: str, tmp_path: Path
) -> None:
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    file = write_csv(tmp_path / "points.csv", DATA)
    outs = [tmp_path / f"{k}.json" for k in range(2)]
    answers = [run(*words(solver, file, out)) for out in outs]
    assert without_clock(outs[0].read_text()) == without_clock(outs[1].read_text())
    assert without_clock(answers[0].stdout) == without_clock(answers[1].stdout)
    document: dict[str, Any] = json.loads(outs[0].read_bytes())
    said, digest = document["solver"], hashlib.sha256()
    assert document["schema"] == SCHEMA
    assert document["formulation"] == RUNS[solver][0]
    assert said["name"] == solver
    assert version(SOLVERS[solver].distribution) in said["version"]
    assert said["threads"] == (None if solver == "piqp" else 1)
    assert said["seed"] == (7 if solver in ("scip", "gurobi", "highs") else None)
    for package in ("pyomo", "numpy", "scipy"):
        assert document["versions"][package] == version(package)
    assert document["versions"]["tightmargin"] == tm.__version__
    for array in (DATA.X, DATA.y):
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    assert document["data"]["sha256"] == digest.hexdigest()
    assert document["data"]["spec"] == str(file)


def test_row_28_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "points.csv", DATA)
    here, there = tmp_path / "here.json", tmp_path / "there.json"
    assert run(*words("scip", file, here)).code == 0
    assert finish(start(*words("scip", file, there), cwd=tmp_path)).code == 0
    assert without_clock(here.read_text()) == without_clock(there.read_text())


def test_row_28_the_digest_sees_every_change_and_not_the_layout_in_memory() -> None:
    X, y = np.array(DATA.X), np.array(DATA.y)
    moved, swapped = X.copy(), y.copy()
    moved[3, 1] = np.nextafter(X[3, 1], 9.0)
    swapped[[0, -1]] = y[[-1, 0]]
    for other in ((moved, y), (X, swapped), (X[::-1], y[::-1])):
        assert tm.TrainingData(*other).sha256 != DATA.sha256
    assert tm.TrainingData(np.asfortranarray(X), y.astype(int)).sha256 == DATA.sha256
