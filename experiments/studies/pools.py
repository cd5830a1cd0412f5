"""Where tasks run, always by joblib: in this process, in others of this machine, on a cluster."""

from __future__ import annotations

import os
import warnings
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from typing import Any, Protocol

from tightmargin.experiments.studies.notes_folder import notes_folder
from tightmargin.experiments.studies.task import (
    DASK,
    LOKY,
    Outcome,
    Step,
    begun_note,
    finished_note,
    noted,
)

BACKENDS = (LOKY, DASK)
Outcomes = Generator[Outcome, None, None]


class Pool(Protocol):
    """What runs steps."""

    def run(self, steps: Sequence[Step]) -> Outcomes:
        """Outcomes as they come; fewer than there are steps where processes died."""

    def rescued(self) -> list[Outcome]:
        """What was finished and not handed over; some of it may have been."""


def stream(
    steps: Sequence[Step], config: AbstractContextManager[Any], ahead: str = "2 * n_jobs"
) -> Outcomes:
    """Run steps under a configuration of joblib; outcomes as they come.

    Parameters
    ----------
    steps : sequence of Step
    config : context manager
    ahead : str
        How many steps are handed over before one is finished, or all.
    """
    from joblib import Parallel, delayed

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


class Here:
    """In this process, one step after the other."""

    def run(self, steps: Sequence[Step]) -> Outcomes:
        """Outcomes in the order of the steps."""
        from joblib import parallel_config

        return stream(steps, parallel_config("sequential", n_jobs=1))

    def rescued(self) -> list[Outcome]:
        """Nothing is on its way."""
        return []


class Loky:
    """Processes of this machine, which note in a folder what they do, in case one dies."""

    def __init__(self, jobs: int, notes: str) -> None:
        self._jobs = jobs
        self._notes = notes
        self._asked: set[int] = set()

    def run(self, steps: Sequence[Step]) -> Outcomes:
        """Outcomes as they come, and at the death of a process what it was running, as lost.

        All processes end with the one that died: every step that was begun and not finished may
        have been its end.
        """
        from joblib import parallel_config

        parent = os.getpid()
        steps = [replace(step, place=LOKY, notes=self._notes, parent=parent) for step in steps]
        self._asked |= {step.index for step in steps}
        for step in steps:
            begun_note(self._notes, step.index).unlink(missing_ok=True)
        # Of one process joblib would make none, and a step that kills would kill this one.
        jobs = max(2, min(self._jobs, len(steps)))
        config = parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1)
        try:
            with closing(stream(steps, config)) as outcomes:
                for outcome in outcomes:
                    yield outcome
                    self._forget(outcome.index)
        except BrokenProcessPool:
            for step in steps:
                begun = begun_note(self._notes, step.index).exists()
                if begun and noted(self._notes, step.index) is None:
                    yield Outcome(step.index, lost="its process died")

    def _forget(self, index: int) -> None:
        """Leave out the notes of what was handed over: of many they would fill the disk."""
        self._asked.discard(index)
        begun_note(self._notes, index).unlink(missing_ok=True)
        finished_note(self._notes, index).unlink(missing_ok=True)

    def rescued(self) -> list[Outcome]:
        """What processes wrote down."""
        found = [noted(self._notes, index) for index in sorted(self._asked)]
        return [outcome for outcome in found if outcome is not None]


@contextmanager
def opened_pool(backend: str, jobs: int, scheduler: str | None) -> Iterator[Pool]:
    """The pool of a backend.

    Raises
    ------
    ValueError
        The words do not fit each other, naming the option.
    ConnectionError
        No scheduler or no worker answers.
    """
    if backend == DASK:
        from tightmargin.experiments.studies.dask_pool import cluster

        with cluster(scheduler or "") as pool:
            yield pool
    elif jobs == 1:
        yield Here()
    else:
        with notes_folder() as notes:
            yield Loky(jobs, notes)


_RAN: dict[str, str] = {}  # code of every function that processes of this machine have loaded


def end_idle_workers(called: str, code: str) -> None:
    """End processes that joblib keeps for the next study, if they may have loaded other code."""
    from joblib.externals.loky import get_reusable_executor

    if _RAN.setdefault(called, code) != code:
        get_reusable_executor().shutdown(wait=True, kill_workers=True)
        _RAN[called] = code


def refuse_pool(backend: str, jobs: int, scheduler: str | None) -> None:
    """Refuse words that do not fit each other, before anything starts.

    Raises
    ------
    ValueError
        Naming the option.
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
