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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from tightmargin.experiments.studies.code_digest import data_digest
from tightmargin.experiments.studies.code_watch import Watch
from tightmargin.experiments.studies.plain_values import task_text
from tightmargin.experiments.studies.pools import Pool, end_idle_workers, opened_pool, refuse_pool
from tightmargin.experiments.studies.progress import Progress, Say
from tightmargin.experiments.studies.result_store import Found, Key, ResultStore, opened
from tightmargin.experiments.studies.study import Failure, Study, StudyError, Task
from tightmargin.experiments.studies.task import Outcome, Step

__all__ = ["Failure", "Study", "StudyError", "run_study"]

DEATHS = "its process died twice, the second time with nothing beside it"


def run_study(
    work: Callable[..., Any],
    tasks: Iterable[Task],
    *,
    name: str,
    store: str | Path | None = None,
    backend: str = "loky",
    jobs: int = 1,
    scheduler: str | None = None,
    reads: Sequence[str | Path] = (),
    fresh: bool = False,
    stopped: Callable[[Any], bool] | None = None,
    say: Say = lambda text: None,
    tell: Say | None = None,
) -> Study:
    """Values of work(*task) for every task, each by one thread.

    A task that raises does not stop the others. A process that dies takes nothing with it that was
    finished: what it was running runs once more, alone, and is named if that dies again. With one
    job and no cluster tasks run in this process, one after the other, and one that ends it ends the
    study, which goes on where it was when it is called again.

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
        A file of results, made if it is not there. Results that were made by other code (ours, the
        function's, other versions of the solvers) or from other data are not read, but run again.
    backend : str
        loky: processes of this machine. dask: a cluster.
    jobs : int
        Processes of loky.
    scheduler : str, optional
        Address of the scheduler of a dask cluster, such as tcp://HOST:8786.
    reads : sequence of path
        Files of data that tasks read. What they say is part of what a stored result is known by;
        the files of code that the file of the function imports are it already.
    fresh : bool
        Forget first what is stored of this study.
    stopped : callable(value) -> bool, optional
        Whether a value is what Ctrl-C left of one. Without it a task during which Ctrl-C came is
        left out.
    say : callable(str)
        Told how many tasks are done whenever that changes.
    tell : callable(str), optional
        Told what is worth a line that stays: results found, failures. As `say` if not given.

    Raises
    ------
    TypeError, ValueError
        Arguments that do not fit, naming them; a store of something else, or that another run
        holds; code that was edited after this process loaded it.
    StudyError
        Code was edited while the study ran: what came before is stored.
    ConnectionError
        No scheduler or no worker of dask answers.
    """
    refuse_pool(backend, jobs, scheduler)
    if not hasattr(work, "__qualname__"):
        raise TypeError(f"work must be a function, which has a name to store by, got {work!r}")
    tasks = tuple(tasks)
    texts = [task_text(task) for task in tasks]
    if len(set(tasks)) < len(tasks):
        twice = next(task for task in tasks if tasks.count(task) > 1)
        raise ValueError(f"the task {twice} is asked for twice")
    run = _Run(work, tasks, stopped, tell or say)
    with _store(store) as kept:
        if kept is not None:
            run.watch = Watch(work)
            data = data_digest(map(Path, reads))
            called = f"{work.__module__}.{work.__qualname__}"
            run.keys = [Key(name, called, text, run.watch.code, data) for text in texts]
            run.kept = kept
            end_idle_workers(called, run.watch.code)
            if fresh:
                kept.forget(name)
            run.read(kept.find(run.keys))
        run.progress = Progress(len(tasks), len(run.values), say, side=min(jobs, len(run.left)))
        if run.left:
            try:
                with opened_pool(backend, jobs, scheduler) as pool:
                    run.work_off(pool)
            except KeyboardInterrupt:
                run.interrupted = True
        return run.study()


@contextmanager
def _store(path: str | Path | None) -> Iterator[ResultStore | None]:
    if path is None:
        yield None
        return
    with opened(Path(path)) as kept:
        yield kept


class _Run:
    """A study while it runs."""

    def __init__(
        self,
        work: Callable[..., Any],
        tasks: tuple[Task, ...],
        stopped: Callable[[Any], bool] | None,
        tell: Say,
    ) -> None:
        self.work = work
        self.tasks = tasks
        self.stopped = stopped
        self.tell = tell
        self.keys: list[Key] = []
        self.kept: ResultStore | None = None
        self.watch: Watch | None = None
        self.progress: Progress | None = None
        self.values: dict[int, Any] = {}
        self.failures: dict[int, Failure] = {}
        self.partial: dict[int, Any] = {}
        self.interrupted = False

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
                self.tell(f"{count} finished tasks were made {how} and are run again")
        if self.values:
            self.tell(f"{len(self.values)} of {len(self.tasks)} tasks were finished before")

    def work_off(self, pool: Pool) -> None:
        """Run all that is left, whatever dies."""
        try:
            while self.left and not self.interrupted:
                before = len(self.left)
                lost = self._drain(pool, self.left)
                self._rescue(pool)
                for index in lost:
                    if index in self.left and not self.interrupted:
                        self._alone(pool, index)
                if len(self.left) == before and not self.interrupted:
                    raise RuntimeError("the processes of the pool end before they begin a task")
        except KeyboardInterrupt:
            self._rescue(pool)
            raise

    def _drain(self, pool: Pool, indices: list[int]) -> list[int]:
        """Run some tasks; those whose process died."""
        steps = [Step(self.work, self.tasks[index], index) for index in indices]
        lost = []
        with closing(pool.run(steps)) as outcomes:
            for outcome in outcomes:
                if outcome.lost:
                    lost.append(outcome.index)
                else:
                    self._take(outcome)
                if self.interrupted:
                    break
        return lost

    def _alone(self, pool: Pool, index: int) -> None:
        """Run a task that may have ended its process, with nothing beside it."""
        self.tell(f"{self._name(index)}: a process died while it ran; it runs again, alone")
        self._drain(pool, [index])
        self._rescue(pool)
        if index in self.left and not self.interrupted:
            self._fail(Outcome(index, error=DEATHS))

    def _rescue(self, pool: Pool) -> None:
        for outcome in pool.rescued():
            if outcome.index in self.left:
                self._take(outcome)

    def _take(self, outcome: Outcome) -> None:
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
        if self.kept is not None and self.watch is not None:
            self.watch.refuse_edited()
            self.kept.put(self.keys[index], outcome.text, outcome.seconds)
        self.values[index] = value
        self._step(outcome.seconds)

    def _fail(self, outcome: Outcome) -> None:
        failure = Failure(self._name(outcome.index), outcome.error, outcome.trace)
        self.failures[outcome.index] = failure
        self.tell(f"{failure.name} failed: {failure.message}; the others go on")
        self._step()

    def _step(self, seconds: float | None = None) -> None:
        if self.progress is not None:
            self.progress.step(seconds)

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
