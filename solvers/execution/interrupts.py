"""A solve that Ctrl-C stops without losing what was found.

The solver runs in a thread of its own, with the interpreter released, and the caller's thread
waits. The first Ctrl-C asks the solver to stop, and what it has found is returned; the second gives
up waiting and raises KeyboardInterrupt. Python hands signals to the main thread only: in any other
thread solve() runs the same way and Ctrl-C is left to whoever holds the main one.

Threads are used again: SCIP numbers every thread that ever called its automatic differentiation,
has room for few, and crashes beyond.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from queue import SimpleQueue
from threading import Thread, current_thread, main_thread
from typing import Any, Generic, TypeVar

from tightmargin.solvers.execution.claim import Claim, Status
from tightmargin.solvers.execution.deadline import uninterrupted
from tightmargin.solvers.execution.live_line import live_line
from tightmargin.solvers.execution.output_capture import transcript

T = TypeVar("T")

POLL = 0.05  # seconds between two looks at Ctrl-C and at the log

State = tuple[float | None, float | None, str]  # bound, best, what else there is to say
Jobs = SimpleQueue[tuple[Callable[[], Any], Future[Any]]]

_idle: list[Jobs] = []  # of threads that wait for work
_abandoned: list[Future[Any]] = []

os.register_at_fork(after_in_child=_idle.clear)  # a child process has none of the threads


@dataclass(frozen=True)
class Finished(Generic[T]):
    """What came of a supervised call.

    Attributes
    ----------
    value : T
        What the call returned.
    interrupted : bool
        Whether Ctrl-C was pressed meanwhile.
    log : str
        What was printed meanwhile, if that was asked for.
    """

    value: T
    interrupted: bool = False
    log: str = ""


def reported(claim: Claim, finished: Finished[Any]) -> Claim:
    """The claim of a supervised solve, with its log and what Ctrl-C did to it."""
    claim = replace(claim, log=finished.log)
    if not finished.interrupted:
        return claim
    stopped = (Status.FEASIBLE, Status.INACCURATE, Status.LIMIT_NO_SOLUTION, Status.ERROR)
    status = Status.INTERRUPTED if claim.status in stopped else claim.status
    word = "" if "interrupt" in claim.message.lower() else "interrupted, "
    return replace(claim, status=status, message=word + claim.message)


def supervised(
    work: Callable[[], T],
    stop: Callable[[], None] | None = None,
    *,
    log: bool = False,
    name: str = "",
    state: Callable[[], State] | None = None,
) -> Finished[T]:
    """Run a solver so that Ctrl-C can stop it and its log is seen while it grows.

    Parameters
    ----------
    work : callable() -> T
        The solve. One that holds the interpreter is neither stopped nor shown before its end.
    stop : callable(), optional
        Asks `work` to return soon; called again and again from another thread until it does.
        Without it the first Ctrl-C is remembered, and reported when `work` has returned.
    log : bool
        Pass on what is printed to sys.stdout as it comes, and keep it.
    name : str
        What is shown to be working on a terminal, after two seconds; nothing by default.
    state : callable() -> (bound, best, words), optional
        How far it has come; called in this thread, while the work goes on in another.

    Raises
    ------
    KeyboardInterrupt
        At the second Ctrl-C; the solver is left to itself.
    """
    quiet = log or not name
    with (
        _presses() as presses,
        transcript(log) as printed,
        live_line(name, quiet=quiet) as line,
        uninterrupted(name or "a library's call"),
    ):
        outcome = _begin(work)
        while wait([outcome], POLL).not_done:
            if len(presses) > 1:
                _abandoned.append(outcome)
                raise KeyboardInterrupt
            if presses and stop is not None:
                stop()
            printed()
            if line.is_due:
                line.show(*(state() if state is not None else ()))
        return Finished(outcome.result(), bool(presses), printed())


def _begin(work: Callable[[], T]) -> Future[T]:
    """Start the work on an idle thread, or on a new one."""
    outcome: Future[T] = Future()
    try:
        jobs = _idle.pop()
    except IndexError:
        jobs = SimpleQueue()
        Thread(target=_serve, args=(jobs,), daemon=True).start()
    jobs.put((work, outcome))
    return outcome


def _serve(jobs: Jobs) -> None:
    while True:
        work, outcome = jobs.get()
        try:
            value = work()
        except BaseException as error:
            _idle.append(jobs)
            outcome.set_exception(error)
        else:
            _idle.append(jobs)
            outcome.set_result(value)
        # Nothing of a finished solve stays alive here while the thread waits.
        work = outcome = value = None  # type: ignore[assignment]


@contextmanager
def _presses() -> Iterator[list[int]]:
    """Signals of Ctrl-C while the block runs; none where they are ignored or not ours to hear."""
    presses: list[int] = []
    if current_thread() is not main_thread():
        yield presses
        return
    previous = signal.getsignal(signal.SIGINT)
    if previous in (None, signal.SIG_IGN):
        yield presses
        return
    signal.signal(signal.SIGINT, lambda number, frame: presses.append(number))
    try:
        yield presses
    finally:
        signal.signal(signal.SIGINT, previous)


@atexit.register
def _leave() -> None:
    """End the process at once while an abandoned solver runs: unwinding its thread would abort."""
    if not all(outcome.done() for outcome in _abandoned):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)
