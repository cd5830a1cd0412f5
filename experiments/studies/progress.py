"""How far a study is, and how long the rest will take."""

from __future__ import annotations

import time
from collections.abc import Callable

from tightmargin.experiments.progress import Say


class StudyProgress:
    """Says how many runs are done whenever that changes.

    Parameters
    ----------
    asked : int
    stored : int
        Finished before; they say nothing about the time of the others.
    progress : callable(str)
    clock : callable() -> float
        Seconds.
    side : int
        How many run side by side: before so many are done, nothing is said of the time.
    """

    def __init__(
        self,
        asked: int,
        stored: int,
        progress: Say,
        clock: Callable[[], float] = time.monotonic,
        side: int = 1,
    ) -> None:
        self._side = side
        self._asked = asked
        self._stored = stored
        self._say = progress
        self._clock = clock
        self._began = clock()
        self._here = 0
        self._tell()

    def step(self, seconds: float | None = None) -> None:
        """One more is done, which took so many seconds, if that is known."""
        if not self._here and seconds is not None:
            # Until the first began, processes were started and libraries loaded.
            self._began = max(self._began, self._clock() - seconds)
        self._here += 1
        self._tell()

    def _tell(self) -> None:
        done = self._stored + self._here
        left = self._asked - done
        text = f"{done} of {self._asked} runs done"
        if self._here >= self._side and left:
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
