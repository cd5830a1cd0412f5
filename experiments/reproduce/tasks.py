"""Independent runs, one after the other or in several processes, kept when Ctrl-C comes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from experiments.reproduce.registry import Effort

T = TypeVar("T")


@dataclass(frozen=True)
class Done(Generic[T]):
    """Results in the order of their tasks, and whether Ctrl-C came before the last."""

    results: tuple[T, ...]
    interrupted: bool = False


def run_tasks(
    work: Callable[..., T],
    tasks: Sequence[tuple[Any, ...]],
    effort: Effort,
    *,
    stopped: Callable[[T], bool] = lambda result: False,
) -> Done[T]:
    """work(*task) for every task, in effort.jobs processes of one thread each.

    Tasks are numbers and words, not arrays: every process loads its own data.

    Parameters
    ----------
    work : callable
        A function of a module, so that another process finds it.
    tasks : sequence of tuple
    effort : Effort
    stopped : callable(result) -> bool
        Whether a result is what Ctrl-C left of a task; nothing is run after it.

    Raises
    ------
    KeyboardInterrupt
        It came before the first result.
    """
    results: list[T] = []
    effort.say(f"0 of {len(tasks)} runs done")
    try:
        with closing(_stream(work, tasks, effort.jobs)) as stream:
            for result in stream:
                results.append(result)
                effort.say(f"{len(results)} of {len(tasks)} runs done")
                if stopped(result):
                    return Done(tuple(results), interrupted=True)
    except KeyboardInterrupt:
        if not results:
            raise
        return Done(tuple(results), interrupted=True)
    return Done(tuple(results))


def _stream(
    work: Callable[..., T], tasks: Sequence[tuple[Any, ...]], jobs: int
) -> Generator[T, None, None]:
    if jobs == 1:
        yield from (work(*task) for task in tasks)
        return
    from joblib import Parallel, delayed, parallel_config

    calls = (delayed(work)(*task) for task in tasks)
    with (
        parallel_config("loky", n_jobs=min(jobs, len(tasks)), inner_max_num_threads=1),
        closing(Parallel(return_as="generator")(calls)) as stream,
    ):
        yield from stream
