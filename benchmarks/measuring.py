"""CPU seconds and memory of routes to the same thing, in the same run.

A route is a function that goes from arrays to whatever its last step makes. All routes are run
once on a small instance first, so that imports and caches are paid for, and then in turns, so that
a busy minute of the machine hits all of them. Seconds are CPU seconds of the process: what another
process takes from the machine does not count.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

Route = Callable[..., Any]
ROOT = Path(__file__).resolve().parents[1]

MEGABYTE = 2**20


def cpu_seconds(route: Route, *arguments: Any) -> float:
    """CPU seconds until a route returns; what it returned is freed after the clock stopped."""
    gc.collect()
    start = time.process_time()
    made = route(*arguments)
    seconds = time.process_time() - start
    del made
    return seconds


def in_turns(
    routes: Mapping[str, Route],
    arguments: tuple[Any, ...],
    warm: tuple[Any, ...],
    repeats: int,
    at_most: Mapping[str, int] = MappingProxyType({}),
    measured: Callable[..., Any] | None = None,
) -> dict[str, tuple[Any, ...]]:
    """What was measured of every route, run by run.

    Parameters
    ----------
    arguments, warm : tuple
        Given to every route, measured and before that on a small instance.
    at_most : mapping
        Fewer runs, by name, of routes too slow to repeat.
    measured : callable(route, *arguments), optional
        Number, or numbers, of one run; CPU seconds until the route returns, unless given.
    """
    measured = measured or cpu_seconds
    numbers: dict[str, list[Any]] = {name: [] for name in routes}
    with quiet(), _frozen_heap():
        for route in routes.values():
            measured(route, *warm)
        for turn in range(repeats):
            for name, route in routes.items():
                if turn < at_most.get(name, repeats):
                    numbers[name].append(measured(route, *arguments))
    return {name: tuple(found) for name, found in numbers.items()}


@contextmanager
def _frozen_heap() -> Iterator[None]:
    """Keep what was there before out of garbage collections, as in a process of one's own."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextmanager
def quiet() -> Iterator[None]:
    """Send what solvers and modelling packages print to nowhere, their warnings too."""
    sys.stdout.flush()
    kept = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def stop_before_run() -> Iterator[list[Any]]:
    """Leave the block where HiGHS would start, with its object in the list.

    What a route does before that is measured exactly; nothing has to be subtracted.
    """
    import highspy

    class Ready(BaseException):
        """Passes through handlers of ordinary exceptions."""

    found: list[Any] = []

    def ready(solver: Any) -> None:
        found.append(solver)
        raise Ready

    run = highspy.Highs.run
    highspy.Highs.run = ready
    try:
        yield found
    except Ready:
        pass
    finally:
        highspy.Highs.run = run
    if not found:
        raise RuntimeError("HiGHS was never asked to run")


def peak_growth(work: Callable[[], Any]) -> float:
    """Megabytes by which the resident memory of this process grew at its highest point.

    Linux only: the kernel's mark of the highest point is set back to the present before.
    """
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before = _resident("VmRSS")
    made = work()
    growth = _resident("VmHWM") - before
    del made
    return growth


def _resident(name: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024 / MEGABYTE
    raise RuntimeError(f"/proc/self/status has no {name}")


def in_fresh_process(module: str, *words: Any) -> Any:
    """What `python -m module words` prints as JSON: memory is measured one route a process."""
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, words)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)
