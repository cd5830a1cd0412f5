"""Studies: one function over many tasks, on one core or on a cluster, stopped and taken up again.

    from tightmargin.experiments.studies.runner import run_study

    def errors(data, noise, split):
        ...                                    # loads its data, solves over all hyperparameters
        return {"C": [0.1, 1.0], "errors": [12, 9]}

    tasks = [(d, t, s) for d in ("sonar", "wdbc") for t in (0.0, 0.1) for s in range(20)]
    study = run_study(errors, tasks, name="noise", store="noise.sqlite", jobs=4)
    study.complete()["sonar", 0.1, 3]
    study.to_frame()                           # of pandas: data, noise, split, C, errors

Every finished task is stored at once. The same call again runs what is left.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from tightmargin.experiments.progress import Say
from tightmargin.experiments.studies.code_digest import (
    code_digest,
    data_digest,
    refuse_edited,
    sources_digest,
)
from tightmargin.experiments.studies.pools import LOKY, Pool, opened_pool, refuse_pool
from tightmargin.experiments.studies.result_store import Found, Key, ResultStore, opened
from tightmargin.experiments.studies.study import Failure, Study, StudyError, Task
from tightmargin.experiments.studies.task import Step, TaskOutcome, task_text

__all__ = ["Failure", "Study", "StudyError", "run_study"]

DEATHS = "its process died twice, the second time with nothing beside it"


def run_study(
    work: Callable[..., Any],
    tasks: Iterable[Task],
    *,
    name: str,
    store: str | Path | None = None,
    backend: str = LOKY,
    jobs: int = 1,
    scheduler: str | None = None,
    reads: Sequence[str | Path] = (),
    fresh: bool = False,
    stopped: Callable[[Any], bool] | None = None,
    progress: Say | None = None,
    report: Say | None = None,
) -> Study:
    """Values of work(*task) for every task, each by one thread.

    A task that raises does not stop the others. A process that dies takes nothing with it that was
    stored: what it may have been running runs once more, alone, and is named if that dies again.
    With one job and no cluster tasks run in this process, one after the other, and one that ends
    it ends the study, which goes on where it was when it is called again.

    Parameters
    ----------
    work : callable
        Returns a plain value, made of dict, list, str, int, float, bool and None. Every process
        loads its own data; functools.cache keeps them from task to task.
    tasks : iterable of tuple
        Words and numbers, such as (data set, noise, split), each once. Hyperparameters belong
        inside a task, in an order in which one solution starts the next. Less than about 0.2 s of
        work is too little for a task.
    name : str
        Of the study, part of what a stored result is known by.
    store : path, optional
        A file of results, made if it is not there. Results that were made by other code (any file
        of tightmargin or the file of the function, other versions of the solvers) or from other
        data are not read, but run again.
    backend : str
        loky: processes of this machine. dask: a cluster.
    jobs : int
        Processes of loky.
    scheduler : str, optional
        Address of the scheduler of a dask cluster, such as tcp://HOST:8786.
    reads : sequence of path
        Files that tasks read, data or code of yours beside the file of the function. What they say
        is part of what a stored result is known by.
    fresh : bool
        Forget first what is stored of this study.
    stopped : callable(value) -> bool, optional
        Whether a value is what Ctrl-C left of one. Without it a task during which Ctrl-C came is
        left out.
    progress : callable(str), optional
        Told how many tasks are done whenever that changes; by default a terminal shows it.
    report : callable(str), optional
        Told what is worth a line that stays: results found, failures. As `progress` if not given.

    Raises
    ------
    TypeError, ValueError
        Arguments that do not fit, naming them; a store of something else, or that another run
        holds; code that was edited after this process loaded it.
    StudyError
        Code was edited while the study ran: what came before is stored.
    ConnectionError
        No scheduler or no worker of dask answers.

    Examples
    --------
    >>> import tightmargin as tm
    >>> study = tm.studies.run_study(abs, [(-1,), ("word",)], name="sizes")
    >>> study.values, len(study.failures)
    ({(-1,): 1}, 1)
    """
    refuse_pool(backend, jobs, scheduler)
    if not hasattr(work, "__qualname__"):
        raise TypeError(f"work must be a function, which has a name to store by, got {work!r}")
    tasks = tuple(tasks)
    texts = [task_text(task) for task in tasks]
    if len(set(tasks)) < len(tasks):
        twice = next(task for task in tasks if tasks.count(task) > 1)
        raise ValueError(f"the task {twice} is asked for twice")
    # Worker processes import this module too, and need no solvers for that.
    from tightmargin.solvers.engines.running import telling

    sources = sources_digest(work) if jobs > 1 or scheduler else ""
    run = _Run(work, tasks, stopped, report or progress or (lambda text: None), sources)
    with nullcontext() if store is None else opened(Path(store)) as kept:
        if kept is not None:
            called, code = f"{work.__module__}.{work.__qualname__}", code_digest(work)
            data = data_digest(map(Path, reads))
            run.kept, run.keys = kept, [Key(name, called, text, code, data) for text in texts]
            if fresh:
                kept.forget(name)
            run.read(kept.find(run.keys))
        with telling(f"study {name}", progress) as say:
            run.progress = StudyProgress(
                len(tasks), len(run.values), say, side=min(jobs, len(run.left))
            )
            if run.left:
                try:
                    with opened_pool(jobs, scheduler) as pool:
                        run.work_off(pool)
                except KeyboardInterrupt:
                    run.interrupted = True
                    run.recall()
            return run.study()


@dataclass
class _Run:
    """A study while it runs; what has been found is by the places of its tasks."""

    work: Callable[..., Any]
    tasks: tuple[Task, ...]
    stopped: Callable[[Any], bool] | None
    report: Say
    sources: str
    keys: list[Key] = field(default_factory=list)
    kept: ResultStore | None = None
    values: dict[int, Any] = field(default_factory=dict)
    failures: dict[int, Failure] = field(default_factory=dict)
    partial: dict[int, Any] = field(default_factory=dict)
    interrupted: bool = False
    progress: StudyProgress = field(init=False)  # begins when it is known what is stored

    @property
    def left(self) -> list[int]:
        """Tasks that are to be run."""
        done = self.values.keys() | self.failures.keys()
        return [index for index in range(len(self.tasks)) if index not in done]

    def read(self, found: Found) -> None:
        """Take what is stored."""
        self.values = {index: json.loads(text) for index, text in found.values.items()}
        others = (found.other_code, "by other code"), (found.other_data, "from other data")
        for count, how in others:
            if count:
                self.report(f"{count} finished tasks were made {how} and are run again")
        if self.values:
            self.report(f"{len(self.values)} of {len(self.tasks)} tasks were finished before")

    def recall(self) -> None:
        """Take the value that was stored in the moment in which Ctrl-C came."""
        if self.kept is not None:
            stored = self.kept.find(self.keys).values
            self.values = {index: json.loads(text) for index, text in stored.items()}

    def work_off(self, pool: Pool) -> None:
        """Run all that is left, whatever dies."""
        while self.left and not self.interrupted:
            for outcome in self._drain(pool, self.left):
                # Until the one is found that ends its process: the others may run side by side.
                if self.interrupted or not self._survives(pool, outcome.index):
                    break

    def _drain(self, pool: Pool, indices: list[int]) -> list[TaskOutcome]:
        """Run some tasks; those that may have ended their process."""
        steps = [Step(self.work, self.tasks[index], index, self.sources) for index in indices]
        lost = []
        with closing(pool(steps)) as outcomes:
            for outcome in outcomes:
                if outcome.lost:
                    lost.append(outcome)
                else:
                    self._take(outcome)
                if self.interrupted:
                    break
        return lost

    def _survives(self, pool: Pool, index: int) -> bool:
        """Run a task that may have ended its process, with nothing beside it."""
        self.report(f"{self._name(index)}: a process died, it may be of this; it runs again, alone")
        lost = self._drain(pool, [index])
        for outcome in lost:
            self._fail(replace(outcome, error=DEATHS, trace=outcome.error))
        return not lost

    def _take(self, outcome: TaskOutcome) -> None:
        """Keep an outcome: store a value, remember a failure, see what Ctrl-C did."""
        index = outcome.index
        self.interrupted |= outcome.pressed
        if outcome.text is None:
            if not outcome.pressed:
                self._fail(outcome)
            return
        value = json.loads(outcome.text)
        if self.stopped is not None and self.stopped(value):
            self.partial[index] = value
            self.interrupted = True
            return
        if outcome.pressed and self.stopped is None:
            return
        if self.kept is not None:
            try:
                refuse_edited(self.work)
            except ValueError as error:
                raise StudyError(f"{error}; what was finished before is kept") from error
            self.kept.put(self.keys[index], outcome.text, outcome.seconds)
        self.values[index] = value
        self.progress.step(outcome.seconds)

    def _fail(self, outcome: TaskOutcome) -> None:
        failure = Failure(self._name(outcome.index), outcome.error, outcome.trace)
        self.failures[outcome.index] = failure
        self.report(f"{failure.name} failed: {failure.message}; the others go on")
        self.progress.step()

    def _name(self, index: int) -> str:
        words = ", ".join(map(repr, self.tasks[index]))
        return f"{self.work.__qualname__}({words})"

    def study(self) -> Study:
        """What has been found, in the order of the tasks."""
        return Study(
            self.tasks,
            {self.tasks[index]: self.values[index] for index in sorted(self.values)},
            tuple(self.failures[index] for index in sorted(self.failures)),
            self.interrupted,
            {self.tasks[index]: value for index, value in self.partial.items()},
            "" if self.kept is None else str(self.kept.path),
            _parameters(self.work),
        )


def _parameters(work: Callable[..., Any]) -> tuple[str, ...]:
    """What a function calls the parts of a task; those after *args have no names."""
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    try:
        found = signature(work).parameters.values()
    except ValueError:  # of a function of C that does not say
        return ()
    return tuple(one.name for one in found if one.kind in kinds)


# --- how far a study is ---------------------------------------------------------------------------


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
