"""The rigorous SVM by decomposition: working sets of q variables of its dual, one after the other.

    min  W(alpha) = H sqrt(alpha'Q alpha) - e'alpha     over y'alpha = 0,  0 <= alpha <= 1     (12)

Bi & Vapnik 2003, section 5, (19)-(21); two variables have a closed form (pairs.py).
It ends when the loss of a hyperplane and the bound of the multipliers, both recomputed, are as
close as was asked; 1e-9 of the loss is within reach as a rule. Three things stand in the way:

    alpha = 0       looks stationary unless H is small, because W has a corner where S = 0: a start
                    there, or one worse than ours, is replaced; other corners are met on the way,
                    and left with the help of a floor under S (iterate.py)
    H too large     at and above norm_limit the optimum is such a corner, S = 0, where W has no
                    gradient: unless the gap closes all the same, the end is called stalled
    rounding        f and S are computed anew from time to time
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.data.dense_points import reads_dense_points
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import fraction, positive
from tightmargin.number_words import count_text
from tightmargin.printing import Page
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.printing.results import search_page
from tightmargin.solvers.printing.tables import Framed
from tightmargin.solvers.rigorous_svm.decomposition.iterate import Iterate
from tightmargin.solvers.rigorous_svm.decomposition.run import Run, TracePoint
from tightmargin.solvers.rigorous_svm.decomposition.start import (
    checked_start,
    even_start,
    go_to_start,
)
from tightmargin.solvers.rigorous_svm.point import RsvmPoint

__all__ = ["Decomposition", "TracePoint", "decomposition"]

TOLERANCE = 1e-9
STEPS = 1_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Decomposition(Framed):
    """Result of a run.

    Attributes
    ----------
    point : RsvmPoint
        The best hyperplane and the multipliers with the best bound, with their verdict.
    steps : int
        Working sets that were solved.
    stop : StopReason
        CONVERGED only where the gap of `point` is within the tolerance.
    trace : tuple of TracePoint
        At the start, at growing distances, and at the end.
    message : str
        What stands behind STALLED, else empty.
    """

    point: RsvmPoint
    steps: int
    stop: StopReason
    trace: tuple[TracePoint, ...]
    message: str = ""

    def _page(self) -> Page:
        return search_page(
            f"Decomposition: rigorous SVM, H = {self.point.norm_bound:.6g}",
            self.point.objective,
            self.point.bound,
            ended=f"{self.stop}, {self.point.verdict}" + (self.message and f": {self.message}"),
            effort=count_text(self.steps, "working set"),
            parts=".point, .trace, .to_frame()",
        )


@unweighted_unlike("rsvm")
@reads_dense_points
def decomposition(
    data: TrainingData | GramData,
    *,
    norm_bound: float,
    working_set: int = 2,
    start: ArrayLike | None = None,
    tolerance: float = TOLERANCE,
    steps: int = STEPS,
    time_limit: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Decomposition:
    """Solve the dual (12) of the rigorous SVM by working sets.

    Parameters
    ----------
    data : TrainingData or GramData
        Points are used as they are; of their kernel matrix only rows are made.
    norm_bound : float
        H > 0, below norm_limit(data): at or above it this method stalls.
    working_set : int
        q, even: half of the set violates the conditions (14) most upwards, half downwards.
    start : array (n,), optional
        Multipliers in [0, 1], say those of a neighbouring H; y'alpha = 0 is mended by scaling.
        Where S = 0 (as at 0), or W is no lower than at our own start, our own is taken; see
        start.py.
    tolerance : float
        Gap as a share of the loss at which the run has converged.
    steps : int
        Working sets at most.
    time_limit : float, optional
        Seconds of `clock`.
    clock : callable() -> float
        time.process_time counts processor time instead.

    Returns
    -------
    Decomposition
        Whatever ended it, Ctrl-C included, `point` holds the best that was found.

    Raises
    ------
    ValueError
        A bad argument, named.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> row = tm.search.decomposition(data, norm_bound=0.5)
    >>> exact = tm.solve(tm.rsvm(data, norm_bound=0.5))
    >>> abs(row.point.objective - exact.objective) < 1e-4
    True
    """
    began = clock()
    bound = positive("norm_bound", norm_bound)
    q = _checked_working_set(working_set, data.n)
    share = fraction("tolerance", tolerance)
    most = _whole("steps", steps)
    seconds = math.inf if time_limit is None else positive("time_limit", time_limit)
    given = None if start is None else checked_start(start, data)
    iterate = Iterate(data, bound, q, even_start(data))
    go_to_start(iterate, given)
    run = Run(data, iterate, share)
    try:
        stop = run.go(most, lambda: clock() - began >= seconds)
    except KeyboardInterrupt:
        stop = StopReason.INTERRUPTED
        run.look_again()
    message = run.why_stalled() if stop is StopReason.STALLED else ""
    return Decomposition(run.point(), run.steps, stop, tuple(run.trace), message)


def _whole(name: str, value: int) -> int:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    return int(value)


def _checked_working_set(value: int, n: int) -> int:
    q = _whole("working_set", value)
    if q % 2 or q > n:
        raise ValueError(f"working_set must be even and at most n = {n}, got {value}")
    return q
