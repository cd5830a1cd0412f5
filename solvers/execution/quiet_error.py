"""Lines of a solver's own that no switch of its log keeps off standard error, left out."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread, current_thread, main_thread

from tightmargin.solvers.execution.live_line import standard_error_at, terminal

PATIENCE = 1.0  # seconds for what is left in the pipe; a process started meanwhile may hold it


@contextmanager
def without_lines(pattern: str) -> Iterator[None]:
    """Leave lines whose beginning fits a pattern out of standard error while the block runs.

    Everything else is passed on at once, line by line. The block must release the interpreter
    while it writes. Standard error belongs to the whole process, so only the main thread does this.
    """
    if current_thread() is not main_thread():
        yield
        return
    if sys.stderr is not None:
        sys.stderr.flush()
    try:
        outside = os.dup(2)
    except OSError:  # a process without standard error
        yield
        return
    shown_at = None if terminal() is None else outside
    reading, writing = os.pipe()
    passing = Thread(
        target=_pass_on, args=(reading, outside, re.compile(pattern.encode())), daemon=True
    )
    passing.start()
    os.dup2(writing, 2)
    os.close(writing)
    try:
        with standard_error_at(shown_at):
            yield
    finally:
        if sys.stderr is not None:
            sys.stderr.flush()
        os.dup2(outside, 2)
        passing.join(PATIENCE)


def _pass_on(reading: int, outside: int, pattern: re.Pattern[bytes]) -> None:
    with open(reading, "rb") as lines, open(outside, "wb", buffering=0) as kept:
        for line in lines:
            if not pattern.match(line):
                kept.write(line)
