"""A function of Python that is taken to be concave, minimised over a polytope by concavity cuts.

Nothing here proves that the function is concave, so that what comes out is a claim that names the
assumption, and never a certificate. Pairs of points that refute it raise an error.

A cut is as deep as the function stays above the level along the edges, beyond the polytope too: one
that is concave over the polytope alone, and large outside, would get cuts that lose its minimum.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightmargin.cuts.concave.cut_loop.explicit_rows import ExplicitRows
from tightmargin.cuts.concave.reading import ConcaveProgram
from tightmargin.cuts.problem import cut_at, local_vertex, step_of_function
from tightmargin.cuts.proofs import Directions
from tightmargin.formulations.data.arrays import Array
from tightmargin.number_words import count_text
from tightmargin.printing import Printed
from tightmargin.solvers.engines.running import CtrlC, StopReason
from tightmargin.solvers.model.reader import StandardForm

ASSUMPTION = "the function is concave, beyond the polytope too (unproven)"
STARTS = 20
TRIES = 20
MOST_CUTS = 1500
CLOSE = 1e-6  # of the value: how far above the claimed bound the best vertex may be
SLACK = 1e-7  # of the sizes of values: a concave function is never below its chords by more


@dataclass(frozen=True, eq=False, repr=False)
class ConcaveClaim(Printed):
    """What concavity cuts say of a function that was taken to be concave.

    values: of the variables, by name.
    objective: at these values.
    bound: nothing is below it if the assumption is true; None where the loop did not finish.
    assumption: what the bound rests on.
    """

    values: Mapping[str, Array]
    objective: float
    bound: float | None
    assumption: str
    cuts: int
    stop: StopReason
    message: str


@dataclass(frozen=True, eq=False)
class AssumedConcave:
    """A function and its gradient, over some columns of a model.

    function(array (k,)) -> float.
    slope(array (k,)) -> array (k,).
    columns (k,).
    """

    function: Callable[[Array], float]
    slope: Callable[[Array], Array]
    columns: NDArray[np.int64]

    def value(self, x: Array) -> float:
        """The function at a point of all columns."""
        found = float(self.function(x[self.columns]))
        if not math.isfinite(found):
            raise ValueError(f"objective: the function is {found} at {x[self.columns].tolist()}")
        return found

    def gradient(self, x: Array) -> Array:
        """Its gradient over all columns."""
        own = np.asarray(self.slope(x[self.columns]), dtype=np.float64)
        if own.shape != (len(self.columns),) or not np.isfinite(own).all():
            raise ValueError(
                f"gradient must give {len(self.columns)} finite numbers, got {own.tolist()}"
            )
        gradient = np.zeros(len(x))
        gradient[self.columns] = own
        return gradient

    def refuse_refuted(self, x: Array, y: Array) -> None:
        """Raise ValueError where two points show that it is not concave, or the gradient wrong."""
        ends, middle = (self.value(x), self.value(y)), self.value((x + y) / 2)
        slack = SLACK * (1 + abs(ends[0]) + abs(ends[1]) + abs(middle))
        tangent = ends[0] + float(self.gradient(x) @ (y - x))
        points = f"{x[self.columns].tolist()} and {y[self.columns].tolist()}"
        if middle < sum(ends) / 2 - slack:
            raise ValueError(f"objective: it is not concave between {points}")
        if ends[1] > tangent + slack * (1 + abs(tangent)):
            raise ValueError(
                f"gradient: the tangent at the first of {points} is below the function"
            )


class _Rows(ExplicitRows):
    """The rows of a model, with the function in the place of its objective."""

    def __init__(self, form: StandardForm, assumed: AssumedConcave) -> None:
        nothing = Directions(np.zeros((form.n, 0)), np.zeros((1, 0)))
        program = ConcaveProgram(form, nothing, np.zeros((1, form.n)), np.zeros(0))
        super().__init__(program)
        self.value, self.gradient = assumed.value, assumed.gradient  # type: ignore[method-assign]

    def steps(self, vertex: Array, rays: Array, level: float) -> Array:
        """By bracketing."""
        return np.array([step_of_function(self.value, vertex, ray, level) for ray in rays])


@dataclass
class _Best:
    x: Array
    value: float


def cut_until_nothing(
    form: StandardForm,
    assumed: AssumedConcave,
    *,
    seed: int,
    time_limit: float | None,
    absolute_gap: float,
    cut_limit: int | None,
) -> tuple[Array, float, float | None, int, StopReason]:
    """Best point, its value, the bound that is claimed, how many cuts, and why the loop ended.

    Raises ValueError: the polytope is empty or unbounded where the function falls, or the function
        is refuted.
    """
    end = math.inf if time_limit is None else time.perf_counter() + time_limit
    most = MOST_CUTS if cut_limit is None else cut_limit
    rows, random = _Rows(form, assumed), np.random.default_rng(seed)
    best = _start(rows, assumed, random)
    ctrl_c = CtrlC()
    with ctrl_c.listening():
        while True:
            stop = None
            if ctrl_c.asked:
                stop = StopReason.INTERRUPTED
            elif time.perf_counter() > end:
                stop = StopReason.TIME_LIMIT
            elif rows.cuts >= most:
                stop = StopReason.ROUND_LIMIT
            level = best.value - max(CLOSE * abs(best.value), absolute_gap)
            stop = stop or _round(rows, assumed, random, best, level)
            if stop is not None:
                bound = level if stop is StopReason.PROVEN else None
                # Nothing was proven of the function.
                stop = StopReason.FINISHED if stop is StopReason.PROVEN else stop
                return best.x, best.value, bound, rows.cuts, stop


def _start(rows: _Rows, assumed: AssumedConcave, random: np.random.Generator) -> _Best:
    best: _Best | None = None
    for _ in range(STARTS):
        x = local_vertex(rows, random.normal(size=rows.n))
        if x is None:
            raise ValueError(
                "the polytope is empty, or unbounded where the function may fall: objective as a "
                "function takes bounded ones"
            )
        if best is not None:
            assumed.refuse_refuted(best.x, x)
        value = assumed.value(x)
        if best is None or value < best.value:
            best = _Best(x, value)
    assert best is not None
    return best


def _round(
    rows: _Rows, assumed: AssumedConcave, random: np.random.Generator, best: _Best, level: float
) -> StopReason | None:
    """One cut; or why there is none."""
    for _ in range(TRIES):
        x = local_vertex(rows, random.normal(size=rows.n))
        if x is None:
            return StopReason.PROVEN if rows.farkas() is not None else StopReason.NUMERICAL
        assumed.refuse_refuted(best.x, x)
        value = assumed.value(x)
        if value < best.value:
            best.x, best.value = x, value
            level = min(level, value - CLOSE * abs(value))
        cone = rows.cone_at(x)
        cut = None if cone is None else cut_at(rows, cone, level)
        if cut is not None and cone is not None and float(cut[0] @ cone.vertex) < cut[1]:
            rows.add_cut(*cut)
            return None
    return StopReason.STALLED


def words_of(stop: StopReason, cuts: int) -> str:
    """What is said of a loop."""
    done = f"concavity cuts in floating point, {count_text(cuts, 'cut')}"
    if stop is StopReason.FINISHED:
        return f"{done}: nothing is left if {ASSUMPTION}"
    return f"{done}, ended early ({str(stop).replace('_', ' ')}): no bound is claimed"
