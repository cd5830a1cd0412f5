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
the cells bound it for each point); near 0 it falls more slowly, since no border weight of the grid
is nearer to 1 than the last cell.

Sources: Lee 2020, section 4.1, Theorems 4.1 to 4.3 (the printed denominators lack hats); Wu, Zhang
& Liu 2010.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.data.arrays import Array, Mask, real_array, refuse_non_finite
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

# --- Class weights on a grid of the simplex, its triangulation, and cells whose corners differ ----
# The weights pi = a / N with whole numbers a_1 + ... + a_K = N are triangulated after Kuhn: in the
# partial sums t_j = a_1 + ... + a_j a cell starts at a grid point and raises every t_j once, in
# some order, so that there are N^(K-1) cells. From t_j to t_j + 1 one step of weight goes from
# class j + 1 to class j: no weight differs by more than 1/N within a cell.
#
# Let every grid point carry a label, a class of positive weight: a Sperner labelling. Then the
# number of cells with all K labels is odd, and so never 0. Where the label of pi is argmax_k pi_k
# p_k,
#
#     v_k p_k >= v_j p_j    for all j, with v the corner that has label k,
#
# which bounds the ratios p_j / p_k, and with them the probabilities.
#
# Sources: Lee 2020, Theorems 4.1, 4.2; Wu, Zhang & Liu 2010; Sperner 1928.


Whole = NDArray[np.int64]

LARGEST = 100_000  # grid points, and cells
CORNERS_AT_ONCE = 4_000_000  # labels of corners in one array


@dataclass(frozen=True, eq=False, repr=False)
class SimplexGrid(Printed):
    """Grid points and cells.

    steps: N; the step of the grid is 1/N.
    counts (W, K): whole numbers a >= 0 that sum to N, in lexicographic order.
    cells: numbers of the grid points at the corners of each cell.
    """

    steps: int
    counts: Whole
    cells: Whole

    @property
    def n_classes(self) -> int:
        """K."""
        return self.counts.shape[1]

    @property
    def weights(self) -> Array:
        """Weights pi (W, K), each row summing to 1."""
        return self.counts / self.steps

    @property
    def diameter(self) -> float:
        """Largest Euclidean distance within a cell: up to K weights differ, by 1/N each."""
        return math.sqrt(2 * (self.n_classes // 2)) / self.steps

    @property
    def centres(self) -> Array:
        """Barycentres of the cells (N^(K-1), K)."""
        return self.weights[self.cells].mean(axis=1)


@lru_cache(maxsize=4)
def simplex_grid(n_classes: int, steps: int) -> SimplexGrid:
    """Grid with step 1/N on the simplex of K classes.

    n_classes, steps: K >= 2 and N >= K: with fewer steps no weight is positive for all classes.
    Raises ValueError: no whole numbers, too small ones, or more than 100,000 points or cells.
    """
    for name, number, least in (("n_classes", n_classes, 2), ("grid", steps, n_classes)):
        if not isinstance(number, int | np.integer) or isinstance(number, bool) or number < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, got {number!r}")
    K, N = int(n_classes), int(steps)
    points, cells = math.comb(N + K - 1, K - 1), N ** (K - 1)
    if max(points, cells) > LARGEST:
        raise ValueError(
            f"grid={N} for {K} classes has {points:,} weights and {cells:,} cells; at most "
            f"{LARGEST:,} are taken"
        )
    bars = np.array(list(itertools.combinations(range(N + K - 1), K - 1)), dtype=np.int64)
    ends = np.hstack([np.full((points, 1), -1), bars, np.full((points, 1), N + K - 1)])
    counts = np.diff(ends, axis=1) - 1
    triangles = _kuhn_cells(counts, N)
    counts.setflags(write=False)
    triangles.setflags(write=False)
    return SimplexGrid(N, counts, triangles)


def _kuhn_cells(counts: Whole, N: int) -> Whole:
    K = counts.shape[1]
    place = (N + 1) ** np.arange(K - 1, -1, -1, dtype=np.int64)
    codes = counts @ place  # rising, as the counts are in lexicographic order
    moves = np.eye(K, dtype=np.int64)[:-1] - np.eye(K, dtype=np.int64)[1:]
    found = []
    for order in itertools.permutations(range(K - 1)):
        corners = counts[:, None, :] + np.vstack(
            [np.zeros((1, K), dtype=np.int64), np.cumsum(moves[list(order)], axis=0)]
        )
        inside = (corners >= 0).all(axis=(1, 2))
        found.append(np.searchsorted(codes, corners[inside] @ place))
    return np.concatenate(found)


def rainbow_cells(grid: SimplexGrid, labels: Whole) -> Mask:
    """Which cells carry all K labels, (m, N^(K-1)).

    labels (m, W): class of each grid point, for m labellings.
    Raises ValueError: a label with weight 0: such a labelling may have no complete cell.
    """
    barred = grid.counts[np.arange(labels.shape[1])[None, :], labels] == 0
    if barred.any():
        row, point = np.argwhere(barred)[0]
        raise ValueError(
            f"labels: {labels[row, point]} in row {row} has weight 0 at grid point {point}"
        )
    bits = np.int64(1) << labels
    found = np.empty((len(labels), len(grid.cells)), dtype=bool)
    for part in _parts(len(labels), grid.cells.size):
        found[part] = np.bitwise_or.reduce(bits[part][:, grid.cells], axis=2) == (
            (1 << grid.n_classes) - 1
        )
    return found


def _parts(m: int, each: int) -> Iterator[slice]:
    room = max(1, CORNERS_AT_ONCE // each)
    for start in range(0, m, room):
        yield slice(start, start + room)


def border_weights(grid: SimplexGrid, rainbow: Mask) -> Array:
    """Mean barycentre of the complete cells (m, K)."""
    found: Array = (rainbow @ grid.centres) / rainbow.sum(axis=1)[:, None]
    return found


def probabilities_at(border: Array) -> Array:
    """p_k = (1 / pi_k) / sum_j (1 / pi_j) of border weights (m, K). Lee 2020, Theorem 4.2."""
    inverse = 1 / border
    found: Array = inverse / inverse.sum(axis=1)[:, None]
    return found


def probability_intervals(grid: SimplexGrid, labels: Whole, rainbow: Mask) -> tuple[Array, Array]:
    """Least and largest p (m, K) that the labels of a complete cell allow, over all such cells.

    If every label is argmax_k pi_k p_k, then p lies between the two: from the corner v^k with label
    k and the corners v^j with the others,

        1 / (1 + sum_j v^k_k / v^k_j)  <=  p_k  <=  1 / (1 + sum_j v^j_k / v^j_j)
    """
    K = grid.n_classes
    low, high = np.ones((len(labels), K)), np.zeros((len(labels), K))
    rows, cells = np.nonzero(rainbow)
    corners = grid.cells[cells]
    order = np.argsort(np.take_along_axis(labels[rows], corners, axis=1), axis=1)
    v = grid.weights[np.take_along_axis(corners, order, axis=1)]  # (., label, class)
    own = np.einsum("ckk->ck", v)
    with np.errstate(divide="ignore"):
        least = 1 / (own[:, :, None] / v).sum(axis=2)
    largest = 1 / (v / own[:, :, None]).sum(axis=1)
    np.minimum.at(low, rows, least)
    np.maximum.at(high, rows, largest)
    return low, high


# --- Fitted machines of the direct scheme, and the class probabilities that they give to points --


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
