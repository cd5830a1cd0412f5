"""One task as it is run, in whatever process: one thread, timed, its errors and Ctrl-C told."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import Any

from tightmargin.experiments.studies.code_digest import sources_digest
from tightmargin.experiments.studies.code_watch import (
    refuse_edited,  # at once: it remembers what files are now
)
from tightmargin.experiments.studies.plain_values import encoded

HERE, LOKY, DASK = "here", "loky", "dask"

# What numerical libraries and solvers read; what is loaded already is told by threadpoolctl.
THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
    "RAYON_NUM_THREADS", "TIGHTMARGIN_THREADS",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What came of a task.

    Attributes
    ----------
    index : int
        Its place among the tasks.
    text : str or None
        Its value as JSON; None where there is none.
    seconds : float
    error, trace : str
        The error that it raised, and where; empty else.
    pressed : bool
        Ctrl-C came while it ran, so that the value may be half of one.
    lost : str
        How its process ended before it; empty else.
    """

    index: int
    text: str | None = None
    seconds: float = 0.0
    error: str = ""
    trace: str = ""
    pressed: bool = False
    lost: str = ""


@dataclass(frozen=True, eq=False)
class Step:
    """A call of a function on a task, as it is sent to a process.

    Attributes
    ----------
    work : callable
    task : tuple
    index : int
    place : str
        HERE, LOKY or DASK.
    notes : str
        Folder in which processes of this machine note what they begin and what they finish; empty
        for none.
    sources : str
        Digest of our sources that a process must have; empty where that is not asked.
    parent : int
        Process that asks, with which one of LOKY ends.
    """

    work: Callable[..., Any]
    task: tuple[Any, ...]
    index: int
    place: str = HERE
    notes: str = ""
    sources: str = ""
    parent: int = 0

    def __str__(self) -> str:
        return self.work.__qualname__

    def __call__(self) -> Outcome:
        """Run it; only Ctrl-C is raised."""
        if self.place == LOKY and current_thread() is main_thread():
            # The terminal sends it to all processes: the one that asked says what becomes of it.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            if os.getppid() != self.parent:
                os._exit(1)  # what an orphan was handed is nobody's
            _end_with(self.parent)
        if self.notes:
            _write(begun_note(self.notes, self.index), "")
        outcome = self._outcome()
        if self.notes:
            _write(finished_note(self.notes, self.index), json.dumps(vars(outcome)))
        return outcome

    def _outcome(self) -> Outcome:
        began = time.perf_counter()
        text, error, trace = None, "", ""
        with one_thread(), ctrl_c() as pressed:
            try:
                self._refuse_other_sources()
                text = encoded(self.work(*self.task))
            except (KeyboardInterrupt, GeneratorExit):
                raise
            except BaseException as raised:  # a panic of a solver, or sys.exit, is an error too
                error = f"{type(raised).__name__}: {raised}"
                trace = traceback.format_exc()
            return Outcome(self.index, text, time.perf_counter() - began, error, trace, pressed())

    def _refuse_other_sources(self) -> None:
        if not self.sources:
            return
        try:
            sources = _sources_here(self.work)
        except ValueError as error:
            raise RuntimeError(f"the worker on {socket.gethostname()}: {error}") from error
        if sources != self.sources:
            raise RuntimeError(
                f"the worker on {socket.gethostname()} has another edition of tightmargin, of "
                "Python or of a solver than the process that asked"
            )


@cache
def _sources_here(work: Callable[..., Any]) -> str:
    """Digest of the sources of this process, once for a function: to read them takes a while."""
    refuse_edited(work)
    return sources_digest(work)


@cache
def _end_with(parent: int) -> None:
    """End this process soon after the one that started it was killed: nobody takes its results."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def begun_note(folder: str, index: int) -> Path:
    """File that says that a task was begun."""
    return Path(folder) / f"{index}.begun"


def finished_note(folder: str, index: int) -> Path:
    """File with the outcome of a task."""
    return Path(folder) / f"{index}.finished"


def noted(folder: str, index: int) -> Outcome | None:
    """The outcome that a process wrote down."""
    path = finished_note(folder, index)
    return Outcome(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    draft = path.with_suffix(".draft")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise OSError(
            f"{path}: {error.strerror or error}: processes note here what they finish; name a "
            "folder with room in TMPDIR"
        ) from error


# --- threads and Ctrl-C --------------------------------------------------------------------------


@contextmanager
def one_thread() -> Iterator[None]:
    """Let libraries and solvers use one thread while the block runs."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        with _libraries(len(sys.modules)).limit(limits=1):
            yield
    finally:
        for name, word in before.items():
            if word is None:
                del os.environ[name]
            else:
                os.environ[name] = word


@lru_cache(maxsize=1)
def _libraries(modules: int) -> Any:
    """Libraries with threads that are loaded; looked for again where more modules are."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


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
