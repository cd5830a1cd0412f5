"""Ctrl-C: every solver keeps its point and bound, a second press ends the process."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import (
    Finished,
    Limits,
    Subject,
    clarabel,
    exact_lp_bound,
    highs,
    piqp,
    reported,
    scs,
    supervised,
)
from tests.solvers.backends.test_translations import installed
from tests.support import long_runs
from tests.support.long_runs import claim_of
from tightmargin.solvers import Claim, Status


def interrupt_this_process() -> None:
    os.kill(os.getpid(), signal.SIGINT)


MODELS: dict[str, Any] = {
    "highs": lambda: long_runs.lp(2000, 30),
    "clarabel": lambda: tm.conic_sdp(long_runs.data(80, 30), penalty=1.0),
    "scs": lambda: tm.conic_sdp(long_runs.data(30, 10), penalty=1.0),
    "piqp": lambda: tm.c_svc(long_runs.data(40, 3), C=1.0),
}
NEVER = {"scs": {"eps_abs": 0.0, "eps_rel": 0.0, "max_iters": 10**8}}


@pytest.mark.parametrize("solver", MODELS)
def test_a_solver_keeps_its_last_iterate(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pressed as it begins; branch and bound: tests/faults/test_fault_18_ctrl_c.py."""
    installed(solver)
    module: Any = {"highs": highs, "clarabel": clarabel, "scs": scs, "piqp": piqp}[solver]

    def pressed(work: Callable[[], Any], stop: Any = None, **words: Any) -> Any:
        def begun() -> Any:
            if solver in ("clarabel", "scs"):  # asked at their next look; SCS hears signals itself
                stop()
            else:
                interrupt_this_process()
            return work()

        return replace(supervised(begun, stop, **words), interrupted=True)

    monkeypatch.setattr(module, "supervised", pressed)
    claim, form = claim_of(solver, MODELS[solver](), Limits(options=NEVER.get(solver, {})))
    if solver == "piqp":  # which cannot be stopped
        assert claim.status is Status.OPTIMAL
        assert claim.message.startswith("interrupted, PIQP_SOLVED")
        return
    assert claim.status is Status.INTERRUPTED
    assert "interrupt" in claim.message.lower()
    assert claim.duals is not None
    if solver == "highs":
        assert claim.x is None, "the dual simplex has no feasible point before its end"
        proven = exact_lp_bound(Subject(form), claim.duals.rows)
        assert proven is not None
        whole, _ = claim_of("clarabel", MODELS["highs"](), Limits())
        assert 0 <= proven.value(form.objective.constant) < form.objective.at(whole.x)
    else:
        assert np.isfinite(claim.x).all()
        assert claim.bound is None, "the dual objective of an iterate is no bound"


@pytest.mark.parametrize("broken", ["deaf at first", "breaks down at the end"])
def test_a_scip_that_is_between_two_stages_keeps_its_point(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine SCIP said that a method cannot be called at this time."""
    pyscipopt = pytest.importorskip("pyscipopt")
    refusal = Exception("SCIP: method cannot be called at this time in solution process!")
    asked = threading.Event()

    class Busy(pyscipopt.Model):
        def optimizeNogil(self) -> None:  # noqa: N802
            super().optimizeNogil()
            interrupt_this_process()
            asked.wait(30)
            if broken != "deaf at first":
                raise refusal

        def interruptSolve(self) -> None:  # noqa: N802
            asked.set()
            raise refusal

    monkeypatch.setattr(pyscipopt, "Model", Busy)
    model = pyo.ConcreteModel()
    model.x = pyo.Var([0, 1], within=pyo.Integers, bounds=(0, 9))
    model.row = pyo.Constraint(expr=3 * model.x[0] + 5 * model.x[1] <= 17)
    model.goal = pyo.Objective(expr=2 * model.x[0] + 3 * model.x[1], sense=pyo.maximize)
    claim, _ = claim_of("scip", model, Limits())
    assert claim.status is Status.OPTIMAL, "it had ended before it was asked"
    assert claim.message.startswith("interrupted, ")
    assert claim.x is not None
    assert claim.objective == -11


def test_the_second_press_raises_and_gives_the_handler_back() -> None:
    released = threading.Event()
    presses: list[int] = []

    def stop() -> None:
        presses.append(1)
        if len(presses) == 1:
            interrupt_this_process()

    def work() -> None:
        interrupt_this_process()
        released.wait(30)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        supervised(work, stop)
    assert signal.getsignal(signal.SIGINT) is before
    released.set()


def test_solve_after_solve_runs_on_the_same_thread() -> None:
    """SCIP's automatic differentiation has room for some fifty threads and crashes beyond."""
    before = threading.active_count()
    threads = {supervised(threading.get_ident).value for _ in range(100)}
    assert threading.active_count() <= before + 1
    assert len(threads) <= 2, "a thread may be a moment late in becoming idle"


UNFINISHED = (Status.FEASIBLE, Status.LIMIT_NO_SOLUTION, Status.INACCURATE)


@pytest.mark.parametrize("claimed", [*UNFINISHED, Status.OPTIMAL, Status.INFEASIBLE])
def test_only_an_unfinished_solve_becomes_interrupted(claimed: Status) -> None:
    claim = reported(Claim(claimed, message="word"), Finished(None, interrupted=True))
    assert claim.status is (Status.INTERRUPTED if claimed in UNFINISHED else claimed)
    assert claim.message == "interrupted, word"
    assert reported(Claim(claimed, message="word"), Finished(None)).status is claimed
