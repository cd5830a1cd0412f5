"""The runs of a reproduction, stored one by one, and what there is of them when Ctrl-C comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyomo.environ as pyo

from tightmargin.experiments.reproduce.framework.printed import printed_files
from tightmargin.experiments.reproduce.framework.registry import Effort
from tightmargin.experiments.studies.runner import Study, run_study
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.solve import solve


def optimum(
    model: pyo.ConcreteModel, solver: str = "auto", **words: Any
) -> tuple[SolveResult, float]:
    """The result of one model and its objective, unless Ctrl-C came or it has no point."""
    result = solve(model, solver, **words)
    if result.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if result.objective is None:
        raise RuntimeError(f"{result.formulation} ended with {result.status}: {result.message}")
    return result, result.objective


@dataclass(frozen=True)
class Done:
    """Results of the first tasks, in their order, and whether Ctrl-C came before the last.

    results: plain values. After Ctrl-C those of all tasks before the first that is missing, so that
        results and tasks go together.
    """

    results: tuple[Any, ...]
    interrupted: bool = False

    def unfinished(self, asked: int, words: str) -> str:
        """What a report says of it; empty where Ctrl-C did not come."""
        return f"{len(self.results)} of {asked} {words}" if self.interrupted else ""


def run_tasks(
    work: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    effort: Effort,
    *,
    stopped: Callable[[Any], bool] | None = None,
    reads: Sequence[str | Path] = (),
) -> Done:
    """work(*task) for every task, by one thread each; see `run_study`.

    work: a function of a module that returns a plain value: dict, list, str, int, float, bool,
        None.
    tasks: words and numbers, each tuple once.
    stopped(result) -> bool: whether a result is what Ctrl-C left of a task; nothing is run after
        it, and it is not stored. Without it a task during which Ctrl-C came is left out.
    reads: files that the tasks read, besides what the papers print; stored results of other files
        are not used.
    Raises StudyError: tasks failed; everything else was run first, and is stored.
    Raises KeyboardInterrupt: it came before the first result.
    """
    study = run_study(
        work, tasks, name=effort.study or work.__qualname__, store=effort.store,
        backend=effort.backend, jobs=effort.jobs, scheduler=effort.scheduler,
        reads=[*reads, *printed_files()], stopped=stopped,
        progress=effort.progress, report=effort.report,
    )  # fmt: skip
    if not study.interrupted:
        return Done(tuple(study.complete().values()))
    if study.kept:
        effort.report(
            f"{len(study.values)} of {len(tasks)} tasks are kept in {study.kept}; the same command "
            "runs the others"
        )
    first = _first(study)
    if not first:
        raise KeyboardInterrupt
    return Done(first, interrupted=True)


def _first(study: Study) -> tuple[Any, ...]:
    """Results up to the first that is missing; a half one is the last."""
    found: list[Any] = []
    for task in study.tasks:
        if task in study.partial:
            return (*found, study.partial[task])
        if task not in study.values:
            break
        found.append(study.values[task])
    return tuple(found)
