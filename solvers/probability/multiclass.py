"""Class probabilities from one weighted machine for each point of a grid of class weights.

A machine with class weights pi estimates argmax_k pi_k p_k(x). At the border weight of x, where
all pi_k p_k are equal, every class meets every other; it is found as the barycentre of the grid
cell whose corners carry all K labels at x (the mean of them where there are several), and

    p_k(x) = (1 / pi_k) / sum_j (1 / pi_j).

A class of weight 0 is barred: it is no label, which makes the labelling a Sperner labelling, so
that such a cell always exists. Its points cost nothing, and its function would only be one more
that the others have to lead; with a free intercept that costs nothing either, its intercept far
down. So it is left out, function and all, and the corners of the simplex need no machine.

With labels that are exact the error falls as 1/N for probabilities away from 0 (the intervals of
simplex_grid.py bound it for each point); near 0 it falls more slowly, since no border weight of the
grid is nearer to 1 than the last cell.

Sources: Lee 2020, section 4.1, Theorems 4.1 to 4.3 (the printed denominators lack hats); Wu, Zhang
& Liu 2010.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.point_weights import unweighted
from tightmargin.formulations.multiclass.big_m import cap_of
from tightmargin.formulations.multiclass.fisher_consistency import (
    HINGE,
    admissible_truncation,
    is_consistent,
)
from tightmargin.formulations.parameters import one_of
from tightmargin.solvers.execution.limits import checked_limits
from tightmargin.solvers.execution.live_line import telling
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.hinge_batch.multiclass import hinge_batch
from tightmargin.solvers.hinge_batch.multiclass_space import Space, machine_space
from tightmargin.solvers.multiclass.branch_and_bound import truncated_search
from tightmargin.solvers.multiclass.dca import DcaBatch
from tightmargin.solvers.probability.multiclass_result import DirectProbabilities, DirectReading
from tightmargin.solvers.probability.simplex_grid import SimplexGrid, simplex_grid

__all__ = ["MACHINES", "DirectProbabilities", "DirectReading", "direct_probabilities"]

Whole = NDArray[np.int64]

HINGE_MACHINE, TRUNCATED, EXACT = "hinge", "truncated", "exact"
MACHINES = (TRUNCATED, HINGE_MACHINE, EXACT)
BATCH = 64  # weights between two looks at the clock


@unweighted
def direct_probabilities(
    data: MulticlassData,
    *,
    ridge: float,
    grid: int,
    machine: str = TRUNCATED,
    truncation: float | None = None,
    intercept: str = "free",
    time_limit: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> DirectProbabilities:
    """Fit the direct scheme.

    Parameters
    ----------
    data : MulticlassData
    ridge : float
        lambda > 0, of every machine.
    grid : int
        N >= K: weights with step 1/N.
    machine : "truncated", "hinge" or "exact"
        Truncated hinge loss by the d.c. algorithm from the hinge machine, which the theory is
        about; the hinge machine itself, which is not consistent for more than two classes; or the
        truncated hinge loss with a proof of every optimum by multiclass/branch_and_bound.py, for
        few points.
    truncation : float, optional
        s in the range of admissible_truncation; the paper's -1/(K - 1) when left out.
    intercept : "free", "penalised" or "none"
    time_limit : float, optional
        Seconds. The searches stop then, as after Ctrl-C, and what they reached is kept.
    progress : callable(str), optional
        Told what is being done; by default a terminal shows it.

    Raises
    ------
    ValueError
        An argument out of range, by its name.
    TimeoutError
        The time was over before every hinge machine was there: all of them are needed.
    KeyboardInterrupt
        Ctrl-C before that.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.gaussian_class_data(n=12, d=2, classes=3, sigma=0.5, seed=0)
    >>> fitted = tm.paths.direct_probabilities(data, ridge=0.1, grid=3, machine="hinge")
    >>> fitted.reading(data.X).probabilities.shape
    (12, 3)
    """
    if not isinstance(data, MulticlassData):
        raise TypeError(f"direct_probabilities takes MulticlassData, got {type(data).__name__}")
    one_of("machine", machine, MACHINES)
    s = _truncation(machine, truncation, data.n_classes)
    limits = checked_limits(time_limit=time_limit)
    shape = simplex_grid(data.n_classes, grid)
    began = time.perf_counter()
    deadline = None if limits.time_limit is None else began + limits.time_limit
    fits = _Fits(data, ridge, intercept, shape)
    complete = converged = True
    with telling("class probabilities", progress) as say:
        say(f"{fits.total} hinge machines")
        fits.hinge(deadline)
        if s is not None:
            say(f"{fits.total} d.c. searches")
            complete, converged = fits.descend(s, deadline)
        if s is not None and machine == EXACT and complete:
            say(f"{fits.total} proofs")
            complete = fits.prove(s, deadline)
    return DirectProbabilities(
        fits.B, fits.b, shape, float(ridge), machine, s, intercept, data.classes,
        time.perf_counter() - began, complete, converged, fits.gaps if machine == EXACT else None,
    )  # fmt: skip


def _truncation(machine: str, truncation: float | None, K: int) -> float | None:
    if machine == HINGE_MACHINE:
        if truncation is not None:
            raise ValueError("truncation belongs to machine='truncated'")
        return None
    if truncation is None:
        return -1 / (K - 1)
    cap_of(truncation)
    if not is_consistent(HINGE.name, truncation, K):
        lower = admissible_truncation(HINGE.name, K)[0]
        raise ValueError(
            f"truncation must lie in [{lower:.6g}, 0] for {K} classes, where the truncated hinge "
            f"loss is Fisher consistent; got {truncation!r}"
        )
    return float(truncation)


@dataclass(frozen=True, eq=False)
class _Family:
    """The weights that are positive for the same classes, and the points of these."""

    classes: Whole
    rows: NDArray[np.intp]  # of the grid
    points: MulticlassData
    space: Space
    costs: Array  # (rows, points)


class _Fits:
    """Machines of all grid weights, hinge loss first."""

    def __init__(
        self, data: MulticlassData, ridge: float, intercept: str, grid: SimplexGrid
    ) -> None:
        self.grid, self.ridge, self.intercept, self.n = grid, ridge, intercept, data.n
        self.gaps = (grid.counts > 0).sum(axis=1).clip(max=2) - 1.0
        self.B = np.zeros((len(grid.counts), data.n_classes, data.d))
        self.b = np.zeros(self.B.shape[:2])
        self.families = tuple(_families(data, ridge, intercept, grid))
        self.A = [np.zeros((len(f.rows), *_shape(f.space))) for f in self.families]

    @property
    def total(self) -> int:
        """How many machines there are."""
        return sum(len(family.rows) for family in self.families)

    def hinge(self, deadline: float | None) -> None:
        done = 0
        for number, family, part in self._batches():
            self.A[number][part] = hinge_batch(family.space, family.costs[part], deadline=deadline)
            if deadline is not None and time.perf_counter() > deadline:
                raise TimeoutError(
                    f"time_limit: {done} of {self.total} hinge machines were fitted in time, and "
                    "all are needed"
                )
            done += len(self.A[number][part])
            self._keep(number, part)

    def descend(self, truncation: float, deadline: float | None) -> tuple[bool, bool]:
        """Whether neither time nor Ctrl-C cut a search short, and whether every one converged."""
        complete = converged = True
        try:
            for number, family, part in self._batches():
                search = DcaBatch(
                    family.space, family.costs[part], truncation, self.A[number][part]
                )
                try:
                    search.run(deadline)
                finally:
                    self.A[number][part] = search.best
                    self._keep(number, part)
                complete = complete and not search.late
                converged = converged and all(run.converged for run in search.runs())
        except KeyboardInterrupt:
            return False, False
        return complete, converged

    def prove(self, truncation: float, deadline: float | None) -> bool:
        """Whether the optimum of every machine was found and proven."""
        complete = True
        for family in self.families:
            share = family.points.n / self.n
            for row in family.rows.tolist():
                left = None if deadline is None else deadline - time.perf_counter()
                if left is not None and left <= 0:
                    return False
                place = (row, family.classes)
                found = truncated_search(
                    family.points,
                    ridge=self.ridge,
                    truncation=truncation,
                    # Its mean is over fewer points.
                    class_weight=(self.grid.weights[place] * share).tolist(),
                    intercept=self.intercept,
                    incumbent=(self.B[place], self.b[place]),
                    time_limit=left,
                )
                self.B[place], self.b[place] = found.B, found.b
                self.gaps[row] = max(0.0, 1 - found.bound / found.objective)
                complete = complete and found.stop is StopReason.PROVEN
                if found.stop is StopReason.INTERRUPTED:
                    return False
        return complete

    def _batches(self) -> Iterator[tuple[int, _Family, slice]]:
        for number, family in enumerate(self.families):
            for start in range(0, len(family.rows), BATCH):
                yield number, family, slice(start, start + BATCH)

    def _keep(self, number: int, part: slice) -> None:
        family = self.families[number]
        B, b = family.space.machine(self.A[number][part])
        places = np.ix_(family.rows[part], family.classes)
        self.B[places], self.b[places] = B, b


def _shape(space: Space) -> tuple[int, int]:
    return space.Q.shape[1], space.X.shape[1]


def _families(
    data: MulticlassData, ridge: float, intercept: str, grid: SimplexGrid
) -> Iterator[_Family]:
    """One for each set of at least two classes; the full set comes last."""
    positive = grid.counts > 0
    for size in range(2, data.n_classes + 1):
        for some in combinations(range(data.n_classes), size):
            classes = np.array(some)
            rows = np.flatnonzero((positive == np.isin(np.arange(data.n_classes), some)).all(1))
            mine = np.isin(data.y, classes)
            part = MulticlassData(data.X[mine], np.searchsorted(classes, data.y[mine]))
            space = machine_space(part, ridge, intercept)
            costs = grid.weights[rows][:, classes][:, part.y] / data.n
            yield _Family(classes, rows, part, space, costs)
