"""One line on a terminal while something takes long: bound, best point, gap, nodes, clock."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from multiprocessing import parent_process
from threading import current_thread, main_thread
from typing import Any, TypeAlias

Say: TypeAlias = Callable[[str], None]

AFTER, EVERY = 2.0, 0.25  # seconds before the line appears, and between two states of it

_screens: list[Callable[[str], None]] = []  # functions that show it in place of the terminal
_taken: list[int | None] = []  # where standard error leads while its descriptor is taken
_lines: list[LiveLine] = []  # open ones; the innermost one is shown
_shown: list[Any] = []  # the status of rich, while there is one
_hidden: list[str] = []  # blocks that show nothing
SWITCH = "TIGHTMARGIN_LIVE"  # an environment variable that is 0 hides every line


@contextmanager
def _entered(entries: list[Any], entry: Any) -> Iterator[None]:
    entries.append(entry)
    try:
        yield
    finally:
        entries.remove(entry)


def shown_by(show: Callable[[str], None]) -> AbstractContextManager[None]:
    """Hand every line to a function for as long as the block runs, terminal or not."""
    return _entered(_screens, show)


def standard_error_at(descriptor: int | None) -> AbstractContextManager[None]:
    """Say where standard error leads while its own descriptor is taken; None if to no terminal."""
    return _entered(_taken, descriptor)


@contextmanager
def live_line(name: str, *, quiet: bool = False) -> Iterator[LiveLine]:
    """A line for one search; what is quiet shows nothing, as beside a solver's own log."""
    line = LiveLine(name, quiet=quiet)
    try:
        with _entered(_lines, line):
            yield line
    finally:
        if _shown and not _lines:
            status = _shown.pop()
            status.stop()
            status.console.file.close()


def hidden(*, unless: bool = False) -> AbstractContextManager[None]:
    """Show no line as long as the block runs."""
    return nullcontext() if unless else _entered(_hidden, SWITCH)


@contextmanager
def telling(name: str, progress: Callable[[str], None] | None = None) -> Iterator[Say]:
    """Pass messages of a long run to `progress`, or to a line on the screen without one."""
    with live_line(name) as line:

        def say(text: str) -> None:
            if progress is not None:
                progress(text)
            elif line.is_due:
                line.show(more=text)

        yield say


class LiveLine:
    """What is known of one search, shown on standard error if that is a terminal.

    Only the main thread shows anything, and of searches within a search the innermost one.
    """

    def __init__(self, name: str, *, quiet: bool = False) -> None:
        self._name, self._quiet = name, quiet or bool(_hidden) or _is_silent()
        self._began = time.perf_counter()
        self._next = self._began + AFTER

    @property
    def is_due(self) -> bool:
        """Whether it is time to show a state: two seconds have passed, and a moment since."""
        return not self._quiet and time.perf_counter() >= self._next and _lines[-1:] == [self]

    def show(self, bound: float | None = None, best: float | None = None, more: str = "") -> None:
        """Show the present state; numbers that are not finite count as none."""
        now = time.perf_counter()
        self._next = now + EVERY
        parts = [part for part in (*_numbers(bound, best), more) if part]
        text = ", ".join([*parts, f"{now - self._began:.0f} s"])
        _show(f"{self._name}: {text}")


def _is_silent() -> bool:
    """Whether nobody may show anything: another thread, a worker of a study, the variable."""
    elsewhere = current_thread() is not main_thread() or parent_process() is not None
    return elsewhere or os.environ.get(SWITCH, "").strip() == "0"


def _numbers(bound: float | None, best: float | None) -> Iterator[str]:
    low, high = _finite(bound), _finite(best)
    if low is not None:
        yield f"bound {low:.6g}"
    if high is not None:
        yield f"best {high:.6g}"
    if low is not None and high is not None:
        size = max(abs(low), abs(high))
        yield f"gap {100 * abs(high - low) / size:.3g} %" if size else "gap 0 %"


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) and abs(value) < 1e20 else None


def _show(text: str) -> None:
    if _screens:
        _screens[-1](text)
    elif _shown:
        _shown[-1].update(_one_line(text, _shown[-1].console.width))
    else:
        descriptor = terminal()
        if descriptor is not None:
            from rich.console import Console

            # A descriptor of its own: that of standard error may be taken while the line is shown.
            console = Console(file=open(os.dup(descriptor), "w"))  # noqa: SIM115
            if console.is_interactive:  # a dumb terminal cannot take a line back
                status = console.status(_one_line(text, console.width))
                status.start()
                _shown.append(status)
            else:
                console.file.close()


def _one_line(text: str, width: int) -> Any:
    """The text beside the spinner, cut where the line ends; brackets in names are no markup."""
    from rich.text import Text

    room = max(width - 3, 1)
    return Text(text if len(text) <= room else f"{text[: room - 1]}…")


def terminal() -> int | None:
    """The descriptor of standard error where that is a terminal.

    The stream of a notebook has a descriptor too, of the terminal that the server runs in.
    """
    if _taken:
        return _taken[-1]
    try:
        if sys.stderr is None or not sys.stderr.isatty():
            return None
        descriptor = sys.stderr.fileno()
    except (AttributeError, ValueError, OSError):  # a stream of a test's, or one that is closed
        return None
    return descriptor if os.isatty(descriptor) else None
