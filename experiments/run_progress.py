"""How far a study is, and how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Callable

Say = Callable[[str], None]


class Progress:
    """Says how many runs are done whenever that changes.

    Parameters
    ----------
    asked : int
    stored : int
        Finished before; they say nothing about the time of the others.
    say : callable(str)
    clock : callable() -> float
        Seconds.
    """

    def __init__(
        self, asked: int, stored: int, say: Say, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._asked = asked
        self._stored = stored
        self._say = say
        self._clock = clock
        self._began = clock()
        self._here = 0
        self._tell()

    def step(self) -> None:
        """One more is done."""
        self._here += 1
        self._tell()

    def _tell(self) -> None:
        done = self._stored + self._here
        left = self._asked - done
        text = f"{done} of {self._asked} runs done"
        if self._here and left:
            # As long as those of this run took, in all processes together.
            seconds = left * (self._clock() - self._began) / self._here
            text += f", {time_text(seconds)} left"
        self._say(text)


def time_text(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    minutes = seconds / 60
    return f"about {round(minutes)} min" if minutes < 90 else f"about {minutes / 60:.1f} h"
