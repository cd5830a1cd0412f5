"""Lines that a solver's C code writes to standard error whatever its log is set to."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread, current_thread, main_thread

PATIENCE = 1.0  # seconds for what is left in the pipe; a process started meanwhile may hold it


@contextmanager
def without_lines(opening: str) -> Iterator[None]:
    """Leave lines that begin with `opening` out of standard error while the block runs.

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
    reading, writing = os.pipe()
    passing = Thread(target=_pass_on, args=(reading, outside, opening.encode()), daemon=True)
    passing.start()
    os.dup2(writing, 2)
    os.close(writing)
    try:
        yield
    finally:
        if sys.stderr is not None:
            sys.stderr.flush()
        os.dup2(outside, 2)
        passing.join(PATIENCE)


def _pass_on(reading: int, outside: int, opening: bytes) -> None:
    with open(reading, "rb") as lines, open(outside, "wb", buffering=0) as kept:
        for line in lines:
            if not line.startswith(opening):
                kept.write(line)
