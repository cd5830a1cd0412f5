"""One task as it is run, in whatever process: one thread, timed, its errors and Ctrl-C told."""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import current_thread, main_thread
from typing import Any

from threadpoolctl import threadpool_limits

from tightmargin.experiments.studies.code_digest import sources_digest

# What numerical libraries and solvers read; what is loaded already is told by threadpoolctl.
THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
    "RAYON_NUM_THREADS", "TIGHTMARGIN_THREADS",
)  # fmt: skip


@dataclass(frozen=True)
class TaskOutcome:
    """What came of a task.

    index: its place among the tasks.
    text: its value as JSON; None where there is none.
    error, trace: the error that it raised, and where; empty else.
    pressed: Ctrl-C came while it ran, so that the value may be half of one.
    lost: a process died, and this may be the task that it ran.
    """

    index: int
    text: str | None = None
    seconds: float = 0.0
    error: str = ""
    trace: str = ""
    pressed: bool = False
    lost: bool = False


@dataclass(frozen=True, eq=False)
class Step:
    """A call of a function on a task, as it is sent to a process.

    sources: digest that a process must have which runs it; empty for the process that asks.
    """

    work: Callable[..., Any]
    task: tuple[Any, ...]
    index: int
    sources: str = ""

    def __call__(self) -> TaskOutcome:
        """Run it; only Ctrl-C is raised."""
        began = time.perf_counter()
        text, error, trace = None, "", ""
        with one_thread(), ctrl_c() as pressed:
            try:
                if self.sources:
                    _refuse_other(self.work, self.sources)
                text = encoded(self.work(*self.task))
            except (KeyboardInterrupt, GeneratorExit):
                raise
            except BaseException as raised:  # a panic of a solver, or sys.exit, is an error too
                error = f"{type(raised).__name__}: {raised}"
                trace = traceback.format_exc()
            return TaskOutcome(
                self.index, text, time.perf_counter() - began, error, trace, pressed()
            )


def _refuse_other(work: Callable[..., Any], sources: str) -> None:
    """Refuse to run in a process that is not what the one that asks is."""
    worker = f"process {os.getpid()} on {socket.gethostname()}"
    try:
        here = _sources_here(work)
    except ValueError as error:
        raise RuntimeError(f"{worker}: {error}") from error
    if here != sources:
        raise RuntimeError(
            f"{worker} has another edition of tightmargin, of the file of the function, of Python "
            "or of a solver than the process that asked"
        )


@cache
def _sources_here(work: Callable[..., Any]) -> str:
    """Digest of the sources of this process, once for a function: to read them takes a while."""
    return sources_digest(work)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let libraries and solvers use one thread while the block runs."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        for name, word in before.items():
            if word is None:
                del os.environ[name]
            else:
                os.environ[name] = word


@contextmanager
def ctrl_c() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C has come since the block began, whoever handled it and however.

    A path that ends with what it has does not say so in words that all results share. Python
    writes the number of every signal that it handles to a descriptor, which is read here.
    """
    if current_thread() is not main_thread():
        yield lambda: False
        return
    reader, writer = socket.socketpair()
    with reader, writer:
        reader.setblocking(False)
        writer.setblocking(False)
        before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        try:
            yield lambda: _heard(reader)
        finally:
            signal.set_wakeup_fd(before)


def _heard(reader: socket.socket) -> bool:
    try:
        return signal.SIGINT in reader.recv(4096)
    except BlockingIOError:
        return False


# --- values that can be stored and come back as they were -----------------------------------------


def encoded(value: Any) -> str:
    """JSON text of a plain value, with NaN and Infinity for what JSON has no word for.

    Raises TypeError: it is not made of dict, list, str, int, float, bool and None only, naming the
        place.
    """
    _refuse_unless_plain(value, "the result")
    return json.dumps(value)


def _refuse_unless_plain(value: Any, place: str) -> None:
    if value is None or isinstance(value, (bool, int, float, str)):
        return
    if isinstance(value, list):
        for number, item in enumerate(value):
            _refuse_unless_plain(item, f"{place}[{number}]")
        return
    if isinstance(value, dict):
        for name, item in value.items():
            if not isinstance(name, str):
                raise TypeError(f"{place} has the key {name!r}: keys must be words, to be stored")
            _refuse_unless_plain(item, f"{place}[{name!r}]")
        return
    raise TypeError(
        f"{place} is a {type(value).__module__}.{type(value).__qualname__}: to be stored it must "
        "be made of dict, list, str, int, float, bool and None"
    )


def task_text(task: tuple[Any, ...]) -> str:
    """JSON text of a task.

    Raises TypeError: it is no tuple of words and numbers.
    """
    if not isinstance(task, tuple) or not all(map(_is_word, task)):
        raise TypeError(
            f"a task must be a tuple of words and numbers, so that it can be named, got {task!r}"
        )
    return json.dumps(task)


def _is_word(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_word, value))
    return (
        value is None
        or isinstance(value, (bool, int, str))
        or (isinstance(value, float) and not math.isnan(value))
    )
