"""Tasks that leave a mark each time they run, and processes that run a study of them."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any


def mark(folder: str, word: str, number: int) -> None:
    """One more file: whatever is killed and when, marks are whole."""
    (Path(folder) / f"{word}-{number}-{time.monotonic_ns()}-{os.getpid()}").touch()


def marks(folder: Path, word: str) -> Counter[int]:
    """How often tasks began or ended."""
    return Counter(int(path.name.split("-")[1]) for path in folder.glob(f"{word}-*"))


def running(folder: Path) -> dict[int, int]:
    """Processes of tasks that began and have not ended, by task."""
    ended = marks(folder, "ended")
    begun = {}
    for path in folder.glob("begun-*"):
        _, number, _, process = path.name.split("-")
        if not ended[int(number)]:
            begun[int(number)] = int(process)
    return begun


def wait_until(true: Callable[[], bool]) -> None:
    for _ in range(6000):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("60 seconds are over")


def marked(folder: str, number: int, seconds: float) -> dict[str, Any]:
    """Take some time."""
    mark(folder, "begun", number)
    time.sleep(seconds)
    mark(folder, "ended", number)
    return {"number": number, "square": number**2}


def deadly(folder: str, number: int, seconds: float, times: int) -> dict[str, Any]:
    """Task 2 ends its process so many times."""
    if number == 2:
        mark(folder, "begun", number)
        if marks(Path(folder), "begun")[2] <= times:
            time.sleep(seconds / 2)  # what ended when this began has been heard of
            os.kill(os.getpid(), signal.SIGKILL)
        mark(folder, "ended", number)
        return {"number": 2, "square": 4}
    return marked(folder, number, seconds)
