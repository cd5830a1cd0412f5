"""A dask cluster as a place where tasks run, through joblib."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tightmargin.experiments.studies.code_digest import sources_digest
from tightmargin.experiments.studies.task import DASK, Outcome, Step

PATIENCE = 10  # seconds to wait for the scheduler, and for its first worker


class Cluster:
    """The workers of a scheduler; they need the same tightmargin, Python and solvers."""

    def __init__(self, client: Any, address: str) -> None:
        self._client = client
        self._address = address

    def run(self, steps: Sequence[Step]) -> Generator[Outcome, None, None]:
        """Outcomes as they come; a step whose workers died again and again is lost.

        The scheduler gives up a task after several workers died that had it, also when another
        task of theirs was the reason.

        Raises
        ------
        ConnectionError
            The scheduler is gone.
        """
        from joblib import parallel_config

        from tightmargin.experiments.studies.pools import stream

        # Of each function once: to read all sources for every task takes longer than the tasks.
        sources = {work: sources_digest(work) for work in {step.work for step in steps}}
        steps = [replace(step, place=DASK, sources=sources[step.work]) for step in steps]
        # All at once: a step is a few words, and a cluster may grow.
        for outcome in stream(steps, parallel_config(_backend(self._client)), "all"):
            if outcome.lost and self._client.status != "running":
                raise ConnectionError(f"the dask scheduler at {self._address} is gone")
            yield outcome

    def rescued(self) -> list[Outcome]:
        """Nothing: what a cluster finishes is handed over or lost."""
        return []


@contextmanager
def cluster(address: str) -> Iterator[Cluster]:
    """Connect to a scheduler.

    Raises
    ------
    ImportError
        dask.distributed is not installed.
    ConnectionError
        No scheduler answers, or it has no workers.
    ValueError
        The address is none, or a worker has several threads.
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
        yield Cluster(client, address)


def _backend(client: Any) -> Any:
    from joblib._dask import DaskDistributedBackend

    class Backend(DaskDistributedBackend):
        """joblib's, which waits for ever for a task that the scheduler has given up."""

        def submit(self, func: Any, callback: Any = None) -> Any:
            """Send one step, and hear of it whatever becomes of it."""
            ((step, _, _),) = func.items

            def heard(out: Any) -> None:
                # A list of one outcome, or what the scheduler says instead of it.
                callback(out if isinstance(out, list) else _lost(step, out))

            def told(done: Any) -> None:
                if done.exception() is not None:
                    callback(_lost(step, done.exception()))

            future = super().submit(func, heard)
            future.add_done_callback(told)
            return future

        def retrieve_result_callback(self, out: Any) -> Any:
            """Outcomes of one step: a list of one."""
            return out

        def effective_n_jobs(self, n_jobs: int) -> int:
            """Never one: of a cluster of one worker joblib makes this process."""
            return max(2, super().effective_n_jobs(n_jobs))

    return Backend(client=client)


def _lost(step: Step, reason: Any) -> list[Outcome]:
    return [Outcome(step.index, lost=f"{type(reason).__name__}: {reason}")]
