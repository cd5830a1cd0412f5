"""Logs: streamed and kept when asked for, in every solver; otherwise not a byte, from C neither."""

from __future__ import annotations

import ctypes
import io
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import (
    NOISE,
    PANIC,
    SOLVERS,
    TIGHTENED,
    Limits,
    quiet_highs,
    silenced,
    supervised,
    without_lines,
)
from tests.support.long_runs import claim_of, data, finish, start

# A word that only the solver's own log has.
WORD = {
    "highs": "Running HiGHS", "clarabel": "Clarabel.rs", "scip": "SCIP Status", "scs": "SCS v",
    "piqp": "PIQP v", "gurobi": "Gurobi Optimizer version",
}  # fmt: skip


ALL = """
import tightmargin as tm
from tightmargin.solvers.errors import RefusedError
from tests.support.long_runs import Limits, claim_of, data, milp
for solver in {solvers}:
    print("==", solver)
    models = [tm.c_svc(data(20, 2), C=1.0)]
    if solver in ("highs", "scip", "gurobi"):
        models.append(milp(12, 2))
    for model in models:
        try:
            tm.solve(model, solver, time_limit=None if solver == "piqp" else 50)
        except RefusedError:
            pass
    if solver == "mosek":
        continue
    print("before")
    claim, form = claim_of(solver, tm.c_svc(data(20, 2), C=1.0), Limits(log=True))
    print("after")
    print(claim.log, end="")
"""


def test_a_log_is_written_when_it_is_asked_for_in_its_place_and_kept_to_the_letter() -> None:
    """Of all solvers one after the other, in a process that shows every byte."""
    solvers = [solver for solver in (*WORD, "mosek") if SOLVERS[solver].installed]
    code, stdout, stderr = finish(start(script=ALL.format(solvers=solvers)))
    assert (code, stderr) == (0, "")
    said = dict(part.split("\n", 1) for part in stdout.split("== ")[1:])
    assert list(said) == solvers
    for solver, words in said.items():
        if solver == "mosek":
            assert words == ""
            continue
        assert words.startswith("before\n"), "nothing without a log"
        passed_on, kept = words.removeprefix("before\n").split("after\n")
        assert WORD[solver] in passed_on
        assert kept == passed_on


def test_the_log_goes_where_sys_stdout_leads() -> None:
    for solver in ("scip", "piqp"):  # of C and of Python
        elsewhere = io.StringIO()
        with redirect_stdout(elsewhere):
            claim, _ = claim_of(solver, tm.c_svc(data(20, 2), C=1.0), Limits(log=True))
        assert WORD[solver] in claim.log
        assert elsewhere.getvalue() == claim.log


def test_other_threads_write_while_one_is_silenced(capfd: pytest.CaptureFixture[str]) -> None:
    """Two overlap, and whoever leaves last gives sys.stdout back."""
    before = sys.stdout
    inside, leave = threading.Event(), threading.Event()

    def first() -> None:
        with silenced():
            print("dropped")
            inside.set()
            leave.wait(60)
            print("dropped as well")

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(first)
        inside.wait(60)
        print("heard", flush=True)
        with silenced():
            leave.set()
            done.result(60)
            print("not this")
    assert sys.stdout is before
    print("and again", flush=True)
    assert capfd.readouterr().out == "heard\nand again\n"


def test_an_error_leaves_standard_output_as_it_was(capfd: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout

    def work() -> None:
        print("so far", flush=True)
        raise ValueError("no further")

    with pytest.raises(ValueError, match="no further"):
        supervised(work, log=True)
    assert sys.stdout is before
    os.write(1, b"descriptor\n")
    assert capfd.readouterr().out == "so far\ndescriptor\n"


def test_lines_that_no_switch_of_a_solver_stops_are_left_out(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Other lines of standard error come through, whoever writes them, and so does a last half."""
    with without_lines(NOISE):
        libc = ctypes.CDLL(None)
        line = f"{TIGHTENED} 1e-11\n".encode()
        libc.write(2, line, len(line))
        print("from Python", file=sys.stderr)
        os.write(2, b"[solve.c:4507] ERROR: Error <-6> in function call\n")
        os.write(2, b"from C\n" + line + b"[not.c] ERROR\nhalf")
    os.write(2, b" and on")
    assert capfd.readouterr().err == "from Python\nfrom C\n[not.c] ERROR\nhalf and on"
    panic = (
        b"\nthread '<unnamed>' panicked at src/solver/core/cones/psdtrianglecone.rs:453:35:\n"
        b"Eigval error: Eigen(1)\n"
        b"note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n"
    )
    with without_lines(PANIC):
        os.write(2, panic + b"an error of somebody else\n")
    assert capfd.readouterr().err == "an error of somebody else\n"


def test_the_banner_of_the_first_highs_of_a_process_is_dropped(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """HiGHS prints who it is from 1.16 on."""
    made: list[int] = []

    def highs() -> object:
        if not made:
            os.write(1, b"Running HiGHS\n")
        made.append(1)
        return object()

    monkeypatch.setitem(sys.modules, "highspy", type("highspy", (), {"Highs": staticmethod(highs)}))
    quiet_highs._first.cache_clear()
    print("before")
    first, second = quiet_highs.quiet_highs(), quiet_highs.quiet_highs()
    print("after")
    quiet_highs._first.cache_clear()
    assert first is not second
    assert len(made) == 3
    assert capfd.readouterr().out == "before\nafter\n"


def test_a_log_longer_than_a_pipe_ends() -> None:
    """200 kB of SCIP's, of even numbers whose sum is at most 301."""
    m = pyo.ConcreteModel()
    m.x, m.t = pyo.Var(range(24), within=pyo.Binary), pyo.Var(bounds=(0, 3))
    even = sum((2 * j + 2) * m.x[j] for j in m.x)
    m.row = pyo.Constraint(expr=even <= 301)
    m.goal = pyo.Objective(expr=pyo.exp(m.t) - even)
    loud = {"display/verblevel": 5, "display/freq": 1}
    off = {"presolving/maxrounds": 0, "separating/maxrounds": 0, "separating/maxroundsroot": 0}
    result = tm.solve(m, "scip", options={**loud, **off, "limits/totalnodes": 1500})
    assert result.objective == pytest.approx(-299)
