"""Other processes that work for this one: joblib's on this machine, those of a dask scheduler."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from threading import Thread
from typing import Any

PATIENCE = 10  # seconds to wait for a scheduler of dask, and for its first worker
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}


def follow_parent(parent: int) -> None:
    """Leave Ctrl-C to the process that asked, and end soon after it was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


@contextmanager
def connected_client(address: str) -> Iterator[Any]:
    """Connect to a scheduler that has workers.

    Raises ValueError: dask.distributed is not installed; a worker has several threads.
    Raises ConnectionError: no scheduler or no worker answers.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ValueError(
            'the backend dask needs the package distributed: pip install ".[cluster]"'
        ) from error
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(f"no dask scheduler answers at {address}: {error}") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError as error:
            raise ConnectionError(
                f"the scheduler at {address} has no workers: start some with "
                f"`dask worker {address} --nthreads 1`"
            ) from error
        several = [worker for worker, threads in client.nthreads().items() if threads > 1]
        if several:
            raise ValueError(
                f"the worker {several[0]} has several threads, and solvers share a process badly: "
                "start workers with --nthreads 1, and as many as there are cores with --nworkers"
            )
        yield client


class Workers:
    """Processes that are given functions to call.

    count: how many there are.
    """

    def __init__(
        self, count: int, opened: Callable[[], Executor], ended: Callable[[Any, bool], None]
    ) -> None:
        self.count, self._opened, self._ended = count, opened, ended
        self._executor = opened()
        self._last: list[Future[Any]] = []

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Hand over one call; where the processes have ended, to new ones."""
        try:
            future = self._executor.submit(function, *arguments)
        except BrokenProcessPool:
            self._executor = self._opened()
            future = self._executor.submit(function, *arguments)
        self._last = [*(other for other in self._last if not other.done()), future]
        return future

    def close(self) -> None:
        """End them, whatever they are at."""
        self._ended(self._executor, not all(future.done() for future in self._last))


def is_lost(error: BaseException) -> bool:
    """Whether a call came to nothing because of its process, and not of what it did."""
    if isinstance(error, BrokenProcessPool | CancelledError):
        return True
    try:
        from distributed import KilledWorker
    except ImportError:
        return False
    return isinstance(error, KilledWorker)


@contextmanager
def opened_workers(count: int, scheduler: str | None) -> Iterator[Workers]:
    """Processes of this machine, or all workers of a dask scheduler.

    Raises ValueError, ConnectionError: as connected_client.
    """
    if scheduler:
        with connected_client(scheduler) as client:
            workers = Workers(
                len(client.nthreads()), lambda: client.get_executor(pure=False),
                lambda executor, busy: executor.shutdown(wait=False),
            )  # fmt: skip
            try:
                yield workers
            finally:
                workers.close()
        return
    from joblib.externals.loky import ProcessPoolExecutor

    def opened() -> Executor:
        executor: Executor = ProcessPoolExecutor(
            count, initializer=follow_parent, initargs=(os.getpid(),), env=ONE_THREAD
        )
        return executor

    workers = Workers(count, opened, lambda executor, busy: executor.shutdown(kill_workers=busy))
    try:
        yield workers
    finally:
        workers.close()
