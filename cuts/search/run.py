"""What the global searches for the extended nu-SVC have in common: state, limits and result."""

from __future__ import annotations

import importlib.util
import math
import time
from dataclasses import dataclass, field, replace
from threading import Event
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.cuts.cut.cut import Cut
from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.cuts.search.result import Incumbent, SearchResult, SearchState, StopError
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.reduced_hull import ReducedHulls
from tightmargin.solvers.engines.running import StopReason


def has_highspy() -> bool:
    """Whether branch and cut has its solver."""
    try:
        return importlib.util.find_spec("highspy") is not None
    except ImportError:  # an import hook that keeps it away
        return False


def check_tolerances(tolerance: float, absolute: float) -> None:
    """Refuse gaps that no search takes.

    Raises ValueError: tolerance outside (0, 1), absolute outside [0, 1).
    """
    if not 0 < tolerance < 1 or not 0 <= absolute < 1:
        raise ValueError(
            f"tolerance must lie in (0, 1) and absolute in [0, 1), got {tolerance!r}, {absolute!r}"
        )


def in_unit(hulls: ReducedHulls) -> tuple[ReducedHulls, float]:
    """The points divided by a power of two near their largest entry, and that power."""
    unit = 2.0 ** math.frexp(float(np.abs(hulls.signed).max()))[1]
    return replace(hulls, signed=np.ascontiguousarray(hulls.signed / unit)), unit


@dataclass(eq=False, kw_only=True)
class SearchRun:
    """State of one run; points and objectives in units of `unit`.

    problem, tolerance, absolute, time_limit, seed: as the search was given them.
    step_limit: most steps, which are nodes or rounds: `step_word` says which.
    began: of time.perf_counter().
    asked_to_stop: set by Ctrl-C.
    steps, evaluations: so far; evaluations of h by sorting.
    best (k,): the best weight so far, of norm 1, once there is one.
    value, lower: its h, and the proven bound.
    """

    engine: ClassVar[str]
    step_word: ClassVar[str]
    proof: ClassVar[str]

    problem: PolarProblem
    tolerance: float
    absolute: float
    time_limit: float | None
    step_limit: int | None
    seed: int
    began: float
    asked_to_stop: Event = field(default_factory=Event)
    trace: list[SearchState] = field(default_factory=list)
    steps: int = 0
    evaluations: int = 0
    best: Array = field(init=False)
    value: float = math.inf
    lower: float = -math.inf

    def __post_init__(self) -> None:
        self.hulls, self.unit = in_unit(self.problem.hulls)

    def check_limits(self) -> None:
        """End the search where a limit is reached or Ctrl-C was pressed.

        Raises StopError: with the reason.
        """
        if self.asked_to_stop.is_set():
            raise StopError(StopReason.INTERRUPTED, "interrupted by Ctrl-C")
        if self.time_limit is not None and self.seconds > self.time_limit:
            raise StopError(StopReason.TIME_LIMIT, f"time limit of {self.time_limit:g} s")
        if self.step_limit is not None and self.steps >= self.step_limit:
            words = f"limit of {self.step_limit:g} {self.step_word}"
            raise StopError(StopReason.ROUND_LIMIT, words)

    @property
    def seconds(self) -> float:
        """Since the search began."""
        return time.perf_counter() - self.began

    def note(self, still_open: int, lower: float) -> None:
        """Add a row to the trace: nodes or facets that are open, and the bound (in units)."""
        self.trace.append(
            SearchState(
                steps=self.steps,
                open=still_open,
                upper=self.value * self.unit,
                lower=lower * self.unit,
                seconds=self.seconds,
            )
        )

    def state(self) -> tuple[float | None, float | None, str]:
        """Bound, best value and how much is open, of the last row of the trace."""
        if not self.trace:
            return None, None, ""
        last = self.trace[-1]
        return last.lower, last.upper, f"{last.open:,} open, {self.steps:,} {self.step_word}"

    def ended(
        self,
        stop: StopReason,
        message: str,
        lower: float,
        *,
        lp_solves: int = 0,
        cuts: tuple[Cut, ...] = (),
    ) -> SearchResult:
        """The result, with the bound `lower` in units."""
        best = Incumbent(self.best, self.problem.value(self.best), self.problem.point(self.best))
        return SearchResult(
            best=best,
            bound=lower * self.unit,
            trace=tuple(self.trace),
            stop=stop,
            message=message,
            proof=self.proof,
            engine=self.engine,
            steps=self.steps,
            lp_solves=lp_solves,
            evaluations=self.evaluations,
            cuts=cuts,
            tolerance=self.tolerance,
            absolute=self.absolute,
            seed=self.seed,
            seconds=self.seconds,
            problem=self.problem,
        )


def given_weights(problem: PolarProblem, given: ArrayLike | None, word: str) -> list[Array]:
    """Weights (k,) or (m, k) of a caller one by one; none for None.

    word: the argument's name, for messages.
    Raises ValueError: another number of columns, a number that is not finite, a weight of 0.
    """
    if given is None:
        return []
    points = np.atleast_2d(np.asarray(given, dtype=np.float64))
    if points.ndim != 2 or points.shape[1] != problem.hulls.k or not np.isfinite(points).all():
        raise ValueError(f"{word} must hold {problem.hulls.k} finite numbers each")
    if not points.any(axis=1).all():
        raise ValueError(f"{word}: a weight of 0 has no direction")
    return list(points)


def given_directions(problem: PolarProblem, given: ArrayLike | None, word: str) -> list[Array]:
    """The same, scaled to norm 1."""
    return [point / np.linalg.norm(point) for point in given_weights(problem, given, word)]
