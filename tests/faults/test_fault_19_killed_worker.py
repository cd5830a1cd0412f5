"""Row 19 of the fault table: a worker that is killed, crashes or hangs takes nobody with it."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tightmargin as tm
from tests.support.lying_solver import SUBJECTS, telling
from tightmargin.solvers import SolveResult, Status, Verdict, solve_isolated


def kill_when_it_is_there(mark: Path) -> None:
    """SIGKILL, which nobody can refuse: what the system sends when memory runs out."""
    for _ in range(6000):
        if mark.exists() and mark.read_text():
            os.kill(int(mark.read_text()), signal.SIGKILL)
            return
        time.sleep(0.05)
    raise AssertionError("the child never came to its solver")


def test_fault_19_a_killed_crashed_or_hanging_worker_is_named_and_the_others_finish(
    tmp_path: Path,
) -> None:
    """Four solves side by side: killed from outside, crashed, hanging, and an honest one."""
    mark = tmp_path / "pid"

    def isolated(lie: str, deadline: float, mark: Path | None = None) -> SolveResult:
        model = SUBJECTS["QP"].build()
        return solve_isolated(model, "liar", deadline=deadline, setup=telling(lie, "QP", mark))

    with ThreadPoolExecutor(5) as pool:
        killed = pool.submit(isolated, "hangs", 600.0, mark)
        crashed = pool.submit(isolated, "crashes", 600.0)
        hung = pool.submit(isolated, "hangs", 4.0)
        honest = pool.submit(isolated, "nothing_but_the_truth", 600.0)
        pool.submit(kill_when_it_is_there, mark).result()
        found = [future.result() for future in (killed, crashed, hung, honest)]
    statuses = (Status.ERROR, Status.ERROR, Status.LIMIT_NO_SOLUTION)
    sentences = (
        "the process was killed by signal 9 (SIGKILL), by somebody or by the system when memory "
        "ran out; ",
        "the process was killed by signal 11 (SIGSEGV); ",
        "no answer within the deadline of 4 s: the process was ended; ",
    )
    for result, status, words in zip(found[:3], statuses, sentences, strict=True):
        assert result.status is status
        assert result.certificate.verdict is Verdict.NOT_CERTIFIED
        assert result.message.startswith(f"{words}solvers that take such models are clarabel, ")
        assert result.objective is None
    reference = tm.solve(SUBJECTS["QP"].build(), "clarabel")
    assert found[3].certificate.verdict is Verdict.CERTIFIED
    assert found[3].objective == pytest.approx(reference.objective, rel=1e-8)
