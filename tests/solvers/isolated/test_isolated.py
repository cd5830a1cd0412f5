"""Solves in a child process: the same result, and an end to whatever does not end by itself."""

from __future__ import annotations

import functools
import json
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.experiments import solve as command_line_solve
from tests.inside.solvers import ChildAnswer as Answer
from tests.inside.solvers import child_packed as packed
from tests.inside.solvers import load_snapshot, snapshot, unpacked
from tests.support import command_line
from tests.support.long_runs import finish, press, start, wait_for
from tests.support.lying_solver import DATA, SUBJECTS, telling
from tightmargin.solvers import ProblemClassError, SolveResult, Status, Verdict, solve_isolated


def foreign() -> pyo.ConcreteModel:
    """Rules that no other process finds, an integer, a fixed variable, a block."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(3), within=pyo.Integers, bounds=lambda m, i: (0, 5))
    m.held = pyo.Var(initialize=1.5)
    m.held.fix()
    m.part = pyo.Block()
    m.part.y = pyo.Var(bounds=(-1, 1))
    m.rows = pyo.Constraint(range(2), rule=lambda m, i: m.x[i] + m.x[i + 1] >= 2.5 + m.part.y)
    m.objective = pyo.Objective(rule=lambda m: sum(m.x.values()) + m.held * m.part.y)
    return m


def same(a: Any, b: Any) -> bool:
    """Equal up to the last digits, which depend on where arrays happen to lie in memory."""
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, float | np.ndarray):
        return bool(np.allclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True))
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and bool(a == b)


def test_the_result_and_the_values_of_the_model_are_those_of_solve() -> None:
    here, there = foreign(), foreign()
    expected, found = tm.solve(here, "highs", seed=1), solve_isolated(there, "highs", seed=1)
    for a, b in ((expected, found), (expected.certificate, found.certificate)):
        for name in {item.name for item in fields(a)} - {"seconds", "log", "certificate", "facts"}:
            if name[0] == "_":
                continue
            assert same(getattr(b, name), getattr(a, name)), name
    assert expected.objective is not None
    for a, b in zip(*(m.component_data_objects(pyo.Var) for m in (here, there)), strict=True):
        assert b.value == pytest.approx(a.value), a.name


def test_a_refusal_comes_back_as_itself() -> None:
    with pytest.raises(ProblemClassError, match="piqp cannot take MIQP") as caught:
        solve_isolated(SUBJECTS["MIQP"].build(), "piqp")
    assert any("in choose" in note for note in caught.value.__notes__), "where it arose is lost"


class OddError(Exception):
    """Made from two things, and from its message alone it cannot be made again."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def raise_odd() -> None:
    raise OddError(1, 2)


def test_an_error_that_does_not_travel_is_told_in_its_words() -> None:
    with pytest.raises(RuntimeError) as caught:
        solve_isolated(foreign(), "highs", setup=raise_odd)
    assert str(caught.value) == "OddError: 1 and 2"
    assert any("in raise_odd" in note for note in caught.value.__notes__)


# --- crashes and hangs ----------------------------------------------------------------------------


def test_a_crash_is_a_result_that_says_how_it_ended() -> None:
    """Killed by a signal: tests/faults/test_solver_rows.py."""
    model = SUBJECTS["QP"].build()
    result = solve_isolated(model, "liar", time_limit=30.0, seed=7, setup=telling("leaves"))
    words = "the process ended with exit code 3 and without a result"
    assert result.status is Status.ERROR
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert result.certificate.reason.startswith(words)
    assert "; solvers that take such models are clarabel, " in result.message, "what would work"
    assert (result.objective, result.bound, dict(result.values)) == (None, None, {})
    assert (result.formulation, result.problem_class) == ("c_svc", "QP")
    assert (result.solver, result.seed, result.time_limit) == ("liar", 7, 30.0)
    assert result.data["sha256"] == DATA.sha256
    assert {"pyomo", "numpy"} <= set(result.versions)
    assert model.w[0].value is None


def refuse_to_leave(mark: Path) -> None:
    """Deaf to the polite signal, and with a child of its own that is deaf too."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = os.fork()
    if child == 0:
        time.sleep(300)
        os._exit(0)
    mark.write_text(f"{os.getpid()} {child}", encoding="utf-8")
    time.sleep(300)


def test_what_is_deaf_to_the_polite_signal_is_killed_with_all_it_has_started(
    tmp_path: Path,
) -> None:
    mark = tmp_path / "pids"
    setup = functools.partial(refuse_to_leave, mark)
    for grace in (2.0, 8.0, 64.0):  # a busy machine may need longer to come to the setup
        result = solve_isolated(foreign(), "highs", time_limit=1.0, grace=grace, setup=setup)
        assert 1.0 + grace <= result.seconds
        assert result.status is Status.LIMIT_NO_SOLUTION
        words = f"no answer within the deadline of {1 + grace:g} s"
        assert result.certificate.reason.startswith(words)
        if mark.exists():
            break
    assert [pid for pid in map(int, mark.read_text().split()) if is_running(pid)] == []


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie, after a moment to go."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        if state == "Z":
            return False
        time.sleep(0.1)
    return True


def test_more_memory_than_allowed_is_a_named_error() -> None:
    setup = telling("eats_memory", "QP")
    result = solve_isolated(SUBJECTS["QP"].build(), "liar", memory_limit=4 * 10**8, setup=setup)
    assert result.status is Status.ERROR
    assert result.certificate.reason.startswith(
        "the solve asked for more than memory_limit=400000000 bytes"
    )


# --- Ctrl-C ---------------------------------------------------------------------------------------

PARENT = """
import json, sys, threading, time
from pathlib import Path
from tightmargin.solvers.isolated import solve_isolated
from tests.support.lying_solver import SUBJECTS, telling
mark = Path(sys.argv[1])
def announce():
    while not mark.exists():
        time.sleep(0.02)
    print("it hangs", flush=True)
threading.Thread(target=announce).start()
setup = telling("hangs", mark=mark)
found = solve_isolated(SUBJECTS["QP"].build(), "liar", grace=float(sys.argv[2]), setup=setup)
print(json.dumps([found.status, found.objective, found.message]))
"""


def test_a_child_that_is_deaf_to_ctrl_c_is_ended_after_the_grace(tmp_path: Path) -> None:
    """The hanging liar holds the solver's thread, which nothing can stop."""
    mark = tmp_path / "pid"
    process = start(str(mark), "1.0", script=PARENT)
    wait_for("it hangs", process.stdout)
    press(process)
    code, stdout, stderr = finish(process)
    assert code == 0, stderr
    status, objective, message = json.loads(stdout.splitlines()[-1])
    assert (status, objective) == ("interrupted", None)
    assert message.startswith("interrupted, and no answer within 1 s")
    assert not is_running(int(mark.read_text()))


def test_a_child_does_not_outlive_its_parent(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    process = start(str(mark), "100", script=PARENT)
    wait_for("it hangs", process.stdout)
    process.kill()
    finish(process)
    assert not is_running(int(mark.read_text()))


def test_the_command_line_isolates_when_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    def recorded(model: pyo.ConcreteModel, solver: str, **words: Any) -> SolveResult:
        asked.append(words | {"solver": solver})
        return tm.solve(model, solver, time_limit=words["time_limit"])  # in this process

    monkeypatch.setattr(command_line_solve, "solve_isolated", recorded)
    file = command_line.write_csv(tmp_path / "d.csv", DATA)
    words = ("solve", "c_svc", "--data", file, "--set", "C=1", "--time-limit", 30, "--json")
    plain, isolated = command_line.run(*words).json, command_line.run(*words, "--isolate").json
    (settings,) = asked
    assert settings["solver"] == "auto"
    assert 0 < settings["time_limit"] <= 30  # less what building the model took
    assert plain.pop("seconds") > 0 < isolated.pop("seconds")
    assert same(plain, isolated)


# --- what travels ---------------------------------------------------------------------------------


def test_an_answer_that_was_cut_off_is_none() -> None:
    whole = packed(Answer(values={"x": [1.0], "w": np.arange(9000.0)}))
    found = unpacked(whole)
    assert found is not None
    assert found.values["x"] == [1.0]
    for length in [*range(60), *range(60, len(whole), 997), *range(len(whole) - 60, len(whole))]:
        assert unpacked(whole[:length]) is None


def test_values_travel_by_name_and_missing_ones_change_nothing() -> None:
    source, target = foreign(), foreign()
    source.x[1].set_value(3)
    target.x[0].set_value(2)
    load_snapshot(target, snapshot(source))
    assert [v.value for v in target.x.values()] == [2, 3, None]
    arrays = tm.c_svc(DATA, C=1.0)
    arrays.xi[0].set_value(0.5)
    other = tm.c_svc(DATA, C=1.0)
    load_snapshot(other, snapshot(arrays))
    assert [other.xi[0].value, other.xi[1].value] == [0.5, None]
