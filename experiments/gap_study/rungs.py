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


@dataclass(frozen=True)
class GapEffort:
    """How much the expensive rungs may cost.

    Attributes
    ----------
    tighten_time : float, optional
        Seconds of bound tightening; what it proves by then is used. Without them it ends after
        some work, about a minute, with the same bounds on any machine.
    lift_points : int
        The full level-1 lift is left out for more points: its size grows with their square.

    Raises
    ------
    ValueError
        A time that is not positive, a number of points that is no whole number from 0 on.
    """

    tighten_time: float | None = None
    lift_points: int = 40

    def __post_init__(self) -> None:
        if self.tighten_time is not None:
            positive("tighten_time", self.tighten_time)
        if not isinstance(self.lift_points, int) or self.lift_points < 0:
            raise ValueError(
                f"lift_points must be a whole number not below 0, got {self.lift_points!r}"
            )


class LeftOutError(Exception):
    """What a step found says that a rung is not to be solved; the text says why."""


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

    Attributes
    ----------
    run : callable(problem, *outcomes) -> anything
        Reads the outcomes of the steps that come before it.
    after : tuple of Step
    """

    name: str
    run: Callable[..., Any]
    after: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Need:
    """What a rung takes from a step: hyperparameters of its formulation, or LeftOutError."""

    step: Step
    take: Callable[[Any], Mapping[str, Any]]


@dataclass(frozen=True)
class Rung:
    """One formulation with hyperparameters of its own, and what a reader calls it.

    Attributes
    ----------
    need : Need or None
        Where further hyperparameters come from.
    reason_to_skip : callable(data, effort) -> str, or None
        Why the rung is not solved for this data; an empty string when it is.
    """

    formulation: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    need: Need | None = None
    reason_to_skip: Callable[[Any, GapEffort], str] | None = None

    @property
    def name(self) -> str:
        """The label, or else the catalogue name with the parameters."""
        return self.label or label_of((self.formulation, self.parameters))

    def why_skipped(self, data: Any, effort: GapEffort) -> str:
        """Why it is not solved for this data; an empty string when it is."""
        return "" if self.reason_to_skip is None else self.reason_to_skip(data, effort)


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

        Raises
        ------
        LeftOutError
            The rung is not to be solved.
        """
        if rung.need is None:
            return {}, 0.0
        found = self.of(rung.need.step)
        return rung.need.take(found), sum(self._done[s][1] for s in _all_before(rung.need.step))


def _all_before(step: Step) -> set[Step]:
    """The step and all that come before it, each once."""
    return {step}.union(*map(_all_before, step.after))
