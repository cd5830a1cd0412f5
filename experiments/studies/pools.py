"""Where tasks run, always by joblib: in this process, in others of this machine, on a cluster."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from typing import Any

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor

from tightmargin.experiments.studies.task import Step, TaskOutcome
from tightmargin.worker_processes import connected_client, follow_parent

LOKY, DASK = "loky", "dask"
BACKENDS = (LOKY, DASK)
LOOK = 0.2  # seconds between two looks at whether it is still there

Outcomes = Generator[TaskOutcome, None, None]
Pool = Callable[[Sequence[Step]], Outcomes]  # a step that may have ended a process comes as lost


@contextmanager
def opened_pool(jobs: int, scheduler: str | None) -> Iterator[Pool]:
    """Make a pool of this process, of several on this machine, or of a scheduler's workers.

    Raises ValueError: dask.distributed is not installed; a worker has several threads.
    Raises ConnectionError: no scheduler or no worker answers.
    """
    if scheduler:
        with connected_client(scheduler) as client:
            yield partial(_on_cluster, client, scheduler)
    elif jobs == 1:
        yield lambda steps: _stream(steps, parallel_config("sequential", n_jobs=1))
    else:
        try:
            yield partial(_in_processes, jobs)
        finally:
            # joblib would keep them, with the code that they have loaded, for the next study.
            get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)


def _stream(
    steps: Iterable[Step], config: AbstractContextManager[Any], ahead: str = "n_jobs"
) -> Outcomes:
    """Outcomes as they come; so many steps are handed over before one is finished."""
    with config:
        parallel = Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch=ahead)
    outcomes = parallel(delayed(step)() for step in steps)
    try:
        for outcome in outcomes:  # noqa: UP028 - "yield from" would close it before our finally
            yield outcome
    finally:
        with warnings.catch_warnings():
            # It says that tasks were left, which is why this is called.
            warnings.simplefilter("ignore")
            outcomes.close()


# --- processes of this machine ------------------------------------------------------------------


def _in_processes(jobs: int, steps: Sequence[Step]) -> Outcomes:
    """With one process all others end: whatever was handed over may have been its end."""
    waiting = set[int]()

    def handed() -> Iterator[Step]:
        for step in steps:
            waiting.add(step.index)
            yield step

    # Of one process joblib would make none, and a step that kills would kill this one.
    config = parallel_config(
        LOKY, n_jobs=max(2, min(jobs, len(steps))), inner_max_num_threads=1,
        initializer=follow_parent, initargs=(os.getpid(),),
    )  # fmt: skip
    try:
        with closing(_stream(handed(), config)) as outcomes:
            for outcome in outcomes:
                waiting.discard(outcome.index)
                yield outcome
    except BrokenProcessPool as error:
        yield from [TaskOutcome(index, error=str(error), lost=True) for index in sorted(waiting)]


# --- a cluster ----------------------------------------------------------------------------------


def _on_cluster(client: Any, address: str, steps: Sequence[Step]) -> Outcomes:
    """All are handed over at once: a step is a few words, and a cluster may grow.

    A worker that dies is the scheduler's to replace: it gives a task to another one, and loses it
    after several of them died, also when another task of theirs was the reason.
    """
    with closing(_stream(steps, parallel_config(_dask_backend(client)), "all")) as outcomes:
        for outcome in outcomes:
            if outcome.lost and client.status != "running":
                raise ConnectionError(f"the dask scheduler at {address} is gone")
            yield outcome


class _Unheard:
    """Steps that a cluster was given and of which nothing was heard yet, each of them once."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._waiting: dict[int, Callable[[Any], None]] = {}

    def expect(
        self, step: Step, callback: Callable[[list[TaskOutcome]], Any]
    ) -> Callable[[Any], None]:
        """What to call with a list of one outcome, or with what is said instead of it."""

        def heard(out: Any) -> None:
            if self._waiting.pop(step.index, None):
                callback(out if isinstance(out, list) else [self._given_up(step, out)])

        self._waiting[step.index] = heard
        return heard

    def _given_up(self, step: Step, reason: Any) -> TaskOutcome:
        from distributed import KilledWorker

        lost = isinstance(reason, KilledWorker) or self._client.status != "running"
        return TaskOutcome(step.index, error=f"{type(reason).__name__}: {reason}", lost=lost)

    async def watch(self, goes_on: Callable[[], bool]) -> None:
        """Give up all when the scheduler goes: of outcomes on their way nothing is said then."""
        while goes_on():
            if self._client.status != "running":
                for heard in list(self._waiting.values()):
                    heard(ConnectionError("the scheduler is gone"))
            await asyncio.sleep(LOOK)


def _dask_backend(client: Any) -> Any:
    from joblib._dask import DaskDistributedBackend

    unheard = _Unheard(client)

    class Backend(DaskDistributedBackend):
        """joblib's, which waits for ever for what the scheduler has given up or took with it."""

        def submit(self, func: Any, callback: Any = None) -> Any:
            """Send one step, and hear of it whatever becomes of it."""
            ((step, _, _),) = func.items
            heard = unheard.expect(step, callback)

            def told(sent: Future[Any]) -> None:
                if sent.exception() is not None:
                    heard(sent.exception())

            sent = super().submit(func, heard)
            sent.add_done_callback(told)
            return sent

        def start_call(self) -> None:
            """Watch the scheduler from now on."""
            super().start_call()
            client.loop.add_callback(unheard.watch, lambda: self._continue)

        def retrieve_result_callback(self, out: Any) -> Any:
            """Outcomes of one step: a list of one."""
            return out

        def effective_n_jobs(self, n_jobs: int) -> int:
            """Never one: of a cluster of one worker joblib makes this process."""
            return max(2, super().effective_n_jobs(n_jobs))

    return Backend(client=client)


# --- words --------------------------------------------------------------------------------------


def refuse_pool(backend: str, jobs: int, scheduler: str | None) -> None:
    """Refuse words that do not fit each other, before anything starts.

    Raises ValueError: naming the option.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend {backend!r} is not known: choose {' or '.join(BACKENDS)}")
    if jobs < 1:
        raise ValueError(f"jobs must be 1 or more, got {jobs}")
    if backend == DASK and not scheduler:
        raise ValueError(
            "the backend dask needs a scheduler, such as --scheduler tcp://HOST:8786: start one "
            "with `dask scheduler`"
        )
    if backend == DASK and jobs != 1:
        raise ValueError("jobs is for the backend loky: with dask all workers of the cluster work")
    if backend != DASK and scheduler:
        raise ValueError("a scheduler is for the backend dask: add --backend dask")
