"""The conflict search with other processes: the same optimum, and nothing lost with a process."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import numpy as np
import pytest

from tests.inside.solvers import ConflictSearch, StopReason, loans
from tests.inside.solvers import conflict_search_search as searching
from tightmargin.formulations import TrainingData
from tightmargin.solvers import conflict_search

START = (np.zeros(4), 1.0)  # spares the heuristic
WORDS: dict[str, Any] = {
    "penalty": 10.0, "intercept": "free", "compiled": False, "incumbent": START,
}  # fmt: skip


def hard(n: int = 26) -> TrainingData:
    rng = np.random.default_rng(1)
    return TrainingData(rng.normal(size=(n, 4)), np.where(np.arange(n) % 2 == 0, 1.0, -1.0))


class Here:
    """Workers that are this process; `told` may lose a call, and decides in which order."""

    def __init__(self, lost: Callable[[int], bool] = lambda call: False) -> None:
        self.count, self.lost, self.calls = 2, lost, itertools.count(1)

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.lost(next(self.calls)):
            future.set_exception(BrokenProcessPool("killed"))
        else:
            future.set_result(function(*arguments))
        return future


def with_workers(
    monkeypatch: pytest.MonkeyPatch, workers: Here, data: TrainingData, **words: Any
) -> ConflictSearch:
    monkeypatch.setattr(searching, "opened_workers", lambda count, scheduler: workers)
    monkeypatch.setattr(searching, "FRONTIER", 0.0)
    monkeypatch.setattr(loans, "SECONDS", 0.02)
    return conflict_search(data, **(WORDS | words), workers=2)


LOSSES = {
    "nobody": lambda call: False,
    "every second": lambda call: call % 2 == 0,
    "all after the third": lambda call: call > 3,
    "all": lambda call: True,
}


@pytest.fixture(scope="module")
def own() -> ConflictSearch:
    return conflict_search(hard(), **WORDS)


@pytest.mark.parametrize("lost", LOSSES)
def test_lost_workers_leave_the_optimum(lost: str, own: ConflictSearch, monkeypatch: Any) -> None:
    workers = Here(LOSSES[lost])
    found = with_workers(monkeypatch, workers, hard())
    assert next(workers.calls) > 3
    assert found.stop is StopReason.PROVEN
    assert found.objective == pytest.approx(own.objective, rel=2e-6)
    assert found.bound == pytest.approx(own.bound, rel=4e-6)


@pytest.mark.parametrize("at", [1, 5])
def test_an_interrupt_counts_lent_nodes(at: int, own: ConflictSearch, monkeypatch: Any) -> None:
    def pressed(call: int) -> bool:
        if call == at:
            raise KeyboardInterrupt
        return False

    found = with_workers(monkeypatch, Here(pressed), hard())
    assert found.stop is StopReason.INTERRUPTED
    assert 0 < found.bound < own.objective * (1 - 1e-5)


def test_an_error_of_the_search_itself_is_not_taken_for_a_lost_worker(monkeypatch: Any) -> None:
    class Failing(Here):
        def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(ZeroDivisionError("a fault"))
            return future

    with pytest.raises(ZeroDivisionError, match="a fault"):
        with_workers(monkeypatch, Failing(), hard())


@pytest.mark.slow("starts processes, kills one and starts another")
def test_killed_processes_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    from joblib.externals.loky import ProcessPoolExecutor

    killed, opened = list[int](), list[Any]()

    class Watched(ProcessPoolExecutor):
        def __init__(self, *args: Any, **words: Any) -> None:
            super().__init__(*args, **words)
            opened.append(self)

    def kill_one(told: Any) -> None:
        for executor in opened:
            for process in list((executor._processes or {}).values()):
                if not killed and told.nodes > 100:
                    killed.append(process.pid)
                    os.kill(process.pid, signal.SIGKILL)

    monkeypatch.setattr("joblib.externals.loky.ProcessPoolExecutor", Watched)
    monkeypatch.setattr(searching, "FRONTIER", 0.1)
    monkeypatch.setattr(loans, "SECONDS", 0.2)
    found = conflict_search(hard(40), **WORDS, workers=2, progress=kill_one)
    own = conflict_search(hard(40), **WORDS)
    assert killed
    assert len(opened) > 1
    assert found.stop is StopReason.PROVEN
    assert found.objective == pytest.approx(own.objective, rel=2e-6)
