"""What a solver prints, from C code too: passed on to sys.stdout as it comes, or dropped."""

from __future__ import annotations

import codecs
import ctypes
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from threading import Lock, current_thread, get_ident, main_thread
from typing import Any, TextIO


@contextmanager
def transcript(wanted: bool) -> Iterator[Callable[[], str]]:
    """Keep what is printed on standard output while the block runs.

    A file takes it: a pipe would fill up while a solver holds the interpreter, and then stop it.
    Standard output belongs to the whole process, so only the main thread does this; elsewhere the
    log goes wherever standard output leads, and nothing is kept.

    Yields
    ------
    callable() -> str
        Passes on what is new to sys.stdout, and returns all there is so far.
    """
    if not wanted or current_thread() is not main_thread():
        yield lambda: ""
        return
    sys.stdout.flush()
    flush_c = ctypes.CDLL(None).fflush
    flush_c(None)
    descriptor = os.dup(1)
    outside = _beyond_the_descriptor(sys.stdout, descriptor)
    with tempfile.TemporaryFile() as kept:
        text: list[str] = []
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        at = 0

        def pass_on() -> str:
            nonlocal at
            inside.flush()
            flush_c(None)
            new = os.pread(kept.fileno(), os.fstat(kept.fileno()).st_size - at, at)
            at += len(new)
            if new:
                text.append(decode(new))
                outside.write(text[-1])
                outside.flush()
            return "".join(text)

        os.dup2(kept.fileno(), 1)
        inside = open(os.dup(1), "w", buffering=1)  # noqa: SIM115
        try:
            with redirect_stdout(inside):
                yield pass_on
        finally:
            pass_on()
            inside.close()
            os.dup2(descriptor, 1)
            os.close(descriptor)


def _beyond_the_descriptor(stream: TextIO, descriptor: int) -> TextIO:
    """The stream itself, or one of its kind where it would write into descriptor 1."""
    with suppress(io.UnsupportedOperation, AttributeError):
        if stream.fileno() == 1:
            return open(descriptor, "w", buffering=1, closefd=False)
    return stream


@contextmanager
def silenced() -> Iterator[None]:
    """Drop what this thread writes to sys.stdout while the block runs.

    For a solver that reports a failure there whatever its switches say. What other threads write
    passes, so that a solve in the background takes nothing from the program around it.
    """
    if sys.stdout is None:
        yield
        return
    with _changing:
        stream = sys.stdout
        if not isinstance(stream, _Filtered):
            stream = sys.stdout = _Filtered(sys.stdout)
        stream.silent.add(get_ident())
    try:
        yield
    finally:
        with _changing:
            stream.silent.remove(get_ident())
            if not stream.silent and sys.stdout is stream:
                sys.stdout = stream.outside


class _Filtered:
    """A stream without what some threads write."""

    def __init__(self, outside: TextIO) -> None:
        self.outside = outside
        self.silent: set[int] = set()

    def write(self, text: str) -> int:
        return len(text) if get_ident() in self.silent else self.outside.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.outside, name)


_changing = Lock()


_BANNER = Lock()


@contextmanager
def dropped() -> Iterator[None]:
    """Drop what C code writes to standard output while the block runs.

    For a moment, of a banner that no option keeps back.
    """
    with _BANNER:
        sys.stdout.flush()
        flush_c = ctypes.CDLL(None).fflush
        flush_c(None)
        descriptor, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        try:
            yield
        finally:
            flush_c(None)
            os.dup2(descriptor, 1)
            os.close(descriptor)
            os.close(nowhere)
