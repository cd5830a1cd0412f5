"""Rungs of a gap table, and what some of them need computed before they can be built."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tightmargin.experiments.gap_study.comparing import label_of
from tightmargin.experiments.progress import Say
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import positive
from tightmargin.formulations.zero_one.slack_bounds import SlackBounds

Hyperplane = tuple[Any, float]
Known = tuple[Hyperplane, SlackBounds]


@dataclass(frozen=True)
class GapEffort:
    """How much the expensive rungs may cost.

    tighten_time: seconds of bound tightening; what it proves by then is used. Without them it ends
        after some work, about a minute, with the same bounds on any machine.
    Raises ValueError: a time that is not positive.
    """

    tighten_time: float | None = None

    def __post_init__(self) -> None:
        if self.tighten_time is not None:
            positive("tighten_time", self.tighten_time)


@dataclass(frozen=True, eq=False)
class Problem:
    """What a step works on: the exact problem, and what may be spent."""

    data: TrainingData
    penalty: float
    intercept: str
    effort: GapEffort
    progress: Say


@dataclass(frozen=True, eq=False)
class Step:
    """A computation that rungs share; it runs once a study.

    run(problem, *outcomes) -> anything: reads the outcomes of the steps that come before it.
    after, tuple of Step.
    """

    name: str
    run: Callable[..., Any]
    after: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Rung:
    """One formulation with hyperparameters of its own, and what a reader calls it.

    need: where incumbent and slack_bounds come from.
    reason_to_skip(data) -> str, or None: why the rung is not solved for this data; an empty string
        when it is.
    """

    formulation: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    need: Step | None = None
    reason_to_skip: Callable[[Any], str] | None = None

    @property
    def name(self) -> str:
        """The label, or else the catalogue name with the parameters."""
        return self.label or label_of((self.formulation, self.parameters))

    def why_skipped(self, data: Any) -> str:
        """Why it is not solved for this data; an empty string when it is."""
        return "" if self.reason_to_skip is None else self.reason_to_skip(data)


class Outcomes:
    """Outcomes of the steps of one study, and the seconds that each took."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._done: dict[Step, tuple[Any, float]] = {}

    def of(self, step: Step) -> Any:
        """The outcome of a step, computed at the first call."""
        if step not in self._done:
            before = [self.of(other) for other in step.after]
            self._problem.progress(step.name)
            began = time.perf_counter()
            found = step.run(self._problem, *before)
            self._done[step] = found, time.perf_counter() - began
        return self._done[step][0]

    def parameters(self, rung: Rung) -> tuple[Mapping[str, Any], float]:
        """Further hyperparameters of a rung, and the seconds of all steps they come from.

        A shared step counts fully in every rung that needs it: so long that rung alone takes.
        """
        if rung.need is None:
            return {}, 0.0
        known: Known = self.of(rung.need)
        seconds = sum(self._done[step][1] for step in _all_before(rung.need))
        return {"incumbent": known[0], "slack_bounds": known[1]}, seconds


def _all_before(step: Step) -> set[Step]:
    """The step and all that come before it, each once."""
    return {step}.union(*map(_all_before, step.after))
