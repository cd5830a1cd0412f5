"""Ctrl-C as a wish: the first one is noted for whoever looks, the second ends the run as usual."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any


class CtrlC:
    """Whether a stop was asked for.

    Attributes
    ----------
    asked : bool
    """

    def __init__(self) -> None:
        self.asked = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Have the first Ctrl-C set `asked`, and the second raise KeyboardInterrupt.

        Nothing is changed outside of the main thread, or where Ctrl-C is ignored.
        """
        previous = signal.getsignal(signal.SIGINT)
        if current_thread() is not main_thread() or previous in (None, signal.SIG_IGN):
            yield
            return

        def ask(number: int, frame: Any) -> None:
            if self.asked:
                raise KeyboardInterrupt
            self.asked = True

        signal.signal(signal.SIGINT, ask)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)
