"""Standard output carries results only; solvers, logs and progress go to standard error."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import time
from collections.abc import Iterator

from tightmargin.experiments.progress import Say


@contextlib.contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Send everything written to standard output, by C code too, to standard error."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        # A stream of its own: Pyomo reads both standard descriptors while SCIP runs, and copies
        # what it reads to sys.stdout; through either descriptor it would read its own words.
        with open(os.dup(2), "w", buffering=1) as stderr, contextlib.redirect_stdout(stderr):
            yield
    finally:
        # C code buffers what it prints; it must leave before the descriptor comes back.
        ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)


@contextlib.contextmanager
def working(text: str, *, log: bool = False, every: float | None = None) -> Iterator[Say]:
    """Keep standard output clean, and show on a terminal what is being done.

    Parameters
    ----------
    text : str
        What is shown first.
    log : bool
        Show nothing: a solver's log is on the screen.
    every : float, optional
        Where there is no terminal, write a line after so many seconds, and again after as many.

    Yields
    ------
    callable(str)
        Changes the text that is shown.
    """
    from rich.console import Console

    console = Console(stderr=True)
    with stdout_to_stderr():
        if log or not console.is_terminal:
            yield (lambda text: None) if every is None else _now_and_then(every)
            return
        # What works is loaded by now; --version and --help load none of it.
        from tightmargin.solvers.engines.running import shown_by

        with (
            console.status(text) as status,
            shown_by(lambda line: status.update(f"{text}: {line}")),
        ):
            yield lambda text: status.update(text)


def _now_and_then(every: float) -> Say:
    told = time.monotonic()

    def progress(text: str) -> None:
        nonlocal told
        if time.monotonic() - told >= every:
            told = time.monotonic()
            complain(text)

    return progress


def complain(text: str) -> None:
    """Write one line on standard error."""
    print(" ".join(text.split()), file=sys.stderr)
