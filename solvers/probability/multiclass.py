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
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.data.arrays import Array, real_array, refuse_non_finite
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.point_weights import unweighted
from tightmargin.formulations.multiclass.fisher_consistency import (
    HINGE,
    admissible_truncation,
    is_consistent,
)
from tightmargin.formulations.multiclass.truncated_hinge import cap_of
from tightmargin.formulations.parameters import one_of
from tightmargin.printing import Printed
from tightmargin.solvers.engines.running import StopReason, checked_limits, telling
from tightmargin.solvers.hinge.batch_multiclass import Space, hinge_batch, machine_space
from tightmargin.solvers.multiclass.dca import DcaBatch
from tightmargin.solvers.multiclass.search import truncated_search
from tightmargin.solvers.probability.simplex_grid import (
    SimplexGrid,
    border_weights,
    probabilities_at,
    probability_intervals,
    rainbow_cells,
    simplex_grid,
)

# --- Fitted machines of the direct scheme, and the class probabilities that they give to points --


Whole = NDArray[np.int64]

AT_ONCE = 2_000_000  # scores in one array
EQUAL = 1e-9  # relative: probabilities that differ by less are equal


@dataclass(frozen=True, eq=False, repr=False)
class DirectReading(Printed):
    """What the machines say of m points.

    probabilities (m, K).
    border (m, K): border weights.
    cells (m,): how many cells carried all labels: odd, and 1 for labels of one p.
    labels (m,): class of the largest probability; of equal ones (a grid has many) the one that
        carries more grid labels, and so needs less weight to be chosen.
    low, high (m, K): where p lies if every label is argmax_k pi_k p_k: what the step of the grid
        leaves open, and not what the machines got wrong. Several cells contradict that, and the
        mean of their border weights may give less or more than each of them: the interval then
        reaches to it.
    """

    probabilities: Array
    border: Array
    cells: Whole
    labels: Whole
    low: Array
    high: Array


@dataclass(frozen=True, eq=False, repr=False)
class DirectProbabilities(Printed):
    """Fitted machines, one for each grid weight.

    B, b (W, K, d) (W, K): their functions; 0 for classes of weight 0, which are barred.
    grid: weights (W, K), the step 1/N and the cells.
    machine: "hinge", "truncated" or "exact".
    classes, tuple of str.
    complete: false where the time or Ctrl-C left some searches undone: their weights have the
        machine that was reached, at worst that of the hinge loss.
    converged: whether every d.c. search came to its end; no proof of an optimum. False where one
        was left undone, ran into its limit of iterations, or rose because a quadratic program was
        not solved to the last digit. True for hinge machines, which need none.
    gaps (W,): of exact machines: what is open between the truncated loss of each and its proven
        bound, relative; 1 where none was found, 0 at the corners.
    """

    B: Array
    b: Array
    grid: SimplexGrid
    ridge: float
    machine: str
    truncation: float | None
    intercept: str
    classes: tuple[str, ...]
    seconds: float
    complete: bool
    converged: bool
    gaps: Array | None = None

    def grid_labels(self, X: ArrayLike) -> Whole:
        """Label of every grid weight at every point, (m, W)."""
        points = self._points(X)
        W, K = self.b.shape
        slopes, barred = self.B.reshape(W * K, -1).T, self.grid.counts == 0
        found = np.empty((len(points), W), dtype=np.int64)
        room = max(1, AT_ONCE // (W * K))
        for start in range(0, len(points), room):
            part = slice(start, start + room)
            scores = (points[part] @ slopes).reshape(-1, W, K) + self.b
            scores[:, barred] = -np.inf
            found[part] = scores.argmax(axis=2)
        return found

    def reading(self, X: ArrayLike) -> DirectReading:
        """Probabilities with their border weights, cells and intervals.

        X (m, d): in the coordinates of the training points.
        Raises ValueError: another number of features, or cells that are no finite numbers.
        """
        labels = self.grid_labels(X)
        rainbow = rainbow_cells(self.grid, labels)
        border = border_weights(self.grid, rainbow)
        p = probabilities_at(border)
        chosen = (labels[:, :, None] == np.arange(self.grid.n_classes)).sum(axis=1)
        largest = p >= p.max(axis=1)[:, None] * (1 - EQUAL)
        low, high = probability_intervals(self.grid, labels, rainbow)
        low, high = np.minimum(low, p), np.maximum(high, p)
        return DirectReading(
            p, border, rainbow.sum(axis=1), np.where(largest, chosen, -1).argmax(axis=1), low, high
        )

    def probabilities(self, X: ArrayLike) -> Array:
        """Estimated p (m, K), positive and summing to 1."""
        return self.reading(X).probabilities

    def labels(self, X: ArrayLike) -> Whole:
        """Class of the largest probability (m,)."""
        return self.reading(X).labels

    def rainbow_cells(self, X: ArrayLike) -> Whole:
        """Number of complete cells of each point (m,)."""
        return self.reading(X).cells

    def _points(self, X: ArrayLike) -> Array:
        points = real_array("X", X)
        if points.ndim != 2 or points.shape[1] != self.B.shape[2]:
            raise ValueError(f"X must have shape (m, {self.B.shape[2]}), got {points.shape}")
        refuse_non_finite("X", points)
        return points


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
        truncated hinge loss with a proof of every optimum by multiclass/search.py, for
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
