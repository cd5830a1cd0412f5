"""Branch and bound for the matrix SVM of rank 1, or one below full rank: the optimum, enclosed.

Such a B is given by one unit vector u (direction_cells.py), and u and -u are the same. All
directions come first, which is the projection SDP, then the cones of the 2^(m-1) orthants, up to
sign; the cone with the least bound is halved at the middle of its longest edge until no cone is
left whose bound is below the best point by more than the gap. For a fixed u the problem is a plain
hinge machine, which is where points come from.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.dense_points import reads_dense_points
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.matrix.checks import bounded_objective, matrix_point
from tightmargin.formulations.matrix.shapes import (
    Shape,
    checked_rank,
    checked_shape,
    nearest_of_rank,
)
from tightmargin.formulations.parameters import INTERCEPTS, finite_hyperplane, one_of, positive
from tightmargin.number_words import count_text
from tightmargin.printing import Page, Printed
from tightmargin.solvers.execution.live_line import LiveLine, live_line
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.matrix.alternating import fixed_columns, matrix_alternating
from tightmargin.solvers.matrix.direction_cells import COMPLEMENT, LINE, CellProblem
from tightmargin.solvers.printing.results import search_page

GAP = 5e-7  # half of what a certificate allows; the other half is for rounding
CELL_LIMIT = 20_000
EVERY, FEW = 50, 10  # points from this many first relaxations, then from one in ten


@dataclass(frozen=True, eq=False, repr=False)
class MatrixSearch(Printed):
    """The optimum of matrix_svc_bilinear, enclosed.

    Attributes
    ----------
    w : array (m n,)
        B row by row, of the bounded rank.
    objective : float
        At (w, b).
    bound : float
        No matrix of that rank has a smaller objective.
    cells : int
        Relaxations solved.
    stop : StopReason
        "proven", "cell_limit", "time_limit" or "interrupted".
    """

    w: Array
    b: float
    objective: float
    bound: float
    cells: int
    stop: StopReason

    def _page(self) -> Page:
        return search_page(
            f"MatrixSearch: {count_text(len(self.w), 'entry', 'entries')} of bounded rank",
            self.objective,
            self.bound,
            ended=str(self.stop),
            effort=search_name(self.cells),
            parts=".w, .b",
        )


def search_name(cells: int) -> str:
    """How a proof by so many cones is called."""
    return f"search over {cells:,} cone{'' if cells == 1 else 's'} of directions"


def is_searchable(shape: tuple[int, int], rank: int) -> bool:
    """Whether one unit vector gives the rank: 1, or one below full."""
    return min(shape) > 1 and rank in (1, min(shape) - 1)


@unweighted_unlike("matrix_svc_bilinear")
@reads_dense_points
def matrix_search(
    data: TrainingData,
    *,
    ridge: float,
    shape: Shape,
    rank: int,
    intercept: str = "free",
    incumbent: tuple[Array, float] | None = None,
    gap: float = GAP,
    cell_limit: int = CELL_LIMIT,
    time_limit: float | None = None,
) -> MatrixSearch:
    """Prove the optimum of the matrix SVM with rank(B) <= rank by cones of directions.

    Parameters
    ----------
    data : TrainingData
        Points and labels.
    ridge : float
        Price of half the squared norm, positive.
    shape, rank
        As for matrix_svc_bilinear; the rank must be 1 or min(m, n) - 1.
    intercept : "free", "penalised" or "none"
        As for matrix_svc_bilinear.
    incumbent : (w, b), optional
        A known point; by default the alternating heuristic finds one.
    gap : float
        Relative to max(1, objective).
    cell_limit : int
        Most cones of directions.
    time_limit : float, optional
        Seconds; the best point and a proven bound are kept, as after Ctrl-C.

    Raises
    ------
    ValueError
        Another rank, or a bad hyperparameter.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=10, d=4, sigma=0.5, seed=1)
    >>> found = tm.search.matrix_search(data, ridge=0.5, shape=(2, 2), rank=1)
    >>> found.objective - found.bound < 1e-6
    True
    """
    m, n = checked_shape(shape, data.d)
    r = checked_rank(rank, m, n)
    one_of("intercept", intercept, INTERCEPTS)
    ridge = positive("ridge", ridge)
    if not is_searchable((m, n), r):
        raise ValueError(
            f"rank {r} of a matrix {m}x{n} is not searched: one direction gives ranks 1 and "
            f"{min(m, n) - 1} alone, if they are below full rank"
        )
    deadline = None
    if time_limit is not None:
        deadline = time.perf_counter() + positive("time_limit", time_limit)
    if incumbent is None:
        found = matrix_alternating(
            data, ridge=ridge, shape=(m, n), rank=r, starts=3, intercept=intercept,
            time_limit=time_limit,
        )  # fmt: skip
        incumbent = found.w, found.b
    w, b = finite_hyperplane("incumbent", incumbent, data.d)
    search = _MatrixSearch(data, ridge, (m, n), r, intercept)
    search.offer(nearest_of_rank(w, m, n, r), 0.0 if intercept == "none" else b)
    with live_line("branch and bound over directions") as line:
        return search.run(positive("gap", gap), cell_limit, deadline, line)


class _MatrixSearch:
    def __init__(
        self, data: TrainingData, ridge: float, size: tuple[int, int], rank: int, intercept: str
    ) -> None:
        self.data, self.ridge, self.size, self.rank = data, ridge, size, rank
        self.intercept = intercept
        # A free intercept takes up any shift, and B any scale: cones see numbers of size 1. With a
        # price on b, it would have to be scaled with B.
        self.centre = data.X.mean(axis=0) if intercept == "free" else np.zeros(data.d)
        moved = data.X - self.centre
        sizes = np.abs(moved[moved != 0])
        scaled = sizes.size > 0 and intercept != "penalised"
        self.scale = float(np.exp2(np.round(np.log2(np.median(sizes))))) if scaled else 1.0
        predictors = np.reshape(moved / self.scale, (data.n, *size))
        self.turned = size[0] > size[1]
        if self.turned:
            predictors = predictors.transpose(0, 2, 1)
        self.predictors = np.ascontiguousarray(predictors)
        self.kind = LINE if rank == 1 else COMPLEMENT
        self.w, self.b, self.objective = np.zeros(data.d), 0.0, np.inf

    def offer(self, w: Array, b: float) -> None:
        """Keep a point of the bounded rank if it is the best."""
        words = (self.size, self.intercept)
        value = bounded_objective(self.data, w, b, self.ridge, *words)
        if value < self.objective:
            self.w, self.b, self.objective = w, matrix_point(self.data, w, b, *words).b, value

    def run(
        self, gap: float, cell_limit: int, deadline: float | None, line: LiveLine
    ) -> MatrixSearch:
        """Halve the cone with the least bound until the best point is proven."""
        longest = float(np.linalg.norm(self.predictors, axis=(1, 2)).max())
        ridge = self.ridge / self.scale**2
        # ridge/2 ||B||^2 is at most the best objective, and some point has u_i = 1 at an optimum.
        reach = 1 + 1e-9 + np.sqrt(2 * self.objective / ridge) * longest
        problem = CellProblem(self.data, self.predictors, ridge, self.intercept, self.kind, reach)
        heap: list[tuple[float, int, Array | None]] = []
        count, cells = itertools.count(), 0
        stop: StopReason | None = None
        parts: Iterable[Array | None] = [None]
        floor = 0.0  # of the cone that is being divided: no part has a smaller value
        divided = False  # whether every part of it is on the heap
        try:
            while stop is None:
                divided = False
                for part in parts:
                    if cells and (stop := _limit(cells, cell_limit, deadline)):
                        break
                    found = problem.bound(part)
                    cells += 1
                    if line.is_due:
                        least = min([floor, *(heap[0][:1] if heap else ())])
                        line.show(least, self.objective, f"{cells:,} cells")
                    lower = float(np.fmax(found.lower, floor))
                    if lower < self.objective and (cells <= EVERY or cells % FEW == 0):
                        self._from_direction(found.direction)
                    heapq.heappush(heap, (lower, next(count), part))
                else:
                    divided = True
                    if heap[0][0] >= self.objective - gap * max(1.0, abs(self.objective)):
                        stop = StopReason.PROVEN
                    else:
                        stop = _limit(cells, cell_limit, deadline)
                    if stop is not None:
                        break
                    divided = False  # before the cone is off the heap: Ctrl-C must lose none
                    floor, _, cone = heapq.heappop(heap)
                    parts = _parts(cone, self.predictors.shape[1])
        except KeyboardInterrupt:
            stop = StopReason.INTERRUPTED
        lower = min(self.objective, *(() if divided else (floor,)), *(heap[0][:1] if heap else ()))
        assert stop is not None  # the loop ends with a reason
        return MatrixSearch(self.w, self.b, self.objective, lower, cells, stop)

    def _from_direction(self, direction: Array) -> None:
        """The best point for a direction that a relaxation points at."""
        if self.kind == LINE:
            basis = direction[:, None]
        else:
            basis = np.linalg.svd(direction[:, None])[0][:, 1:]
        ridge = self.ridge / self.scale**2
        w, b = fixed_columns(self.data, self.predictors, basis, ridge, self.intercept)
        B = np.reshape(w / self.scale, self.predictors.shape[1:])
        w = (B.T if self.turned else B).ravel()
        self.offer(w, b - float(self.centre @ w))


def _limit(cells: int, cell_limit: int, deadline: float | None) -> StopReason | None:
    """The limit that is reached, if one is."""
    if cells >= cell_limit:
        return StopReason.CELL_LIMIT
    late = deadline is not None and time.perf_counter() > deadline
    return StopReason.TIME_LIMIT if late else None


def _parts(cone: Array | None, m: int) -> Iterable[Array]:
    """Cones whose union is the given one: its halves, or of all directions one of u, -u each."""
    if cone is not None:
        return _halves(cone)
    signs = itertools.product((1.0, -1.0), repeat=m - 1)
    return (np.diag(np.array([1.0, *chosen])) for chosen in signs)


def _halves(cone: Array) -> list[Array]:
    """Two cones whose union is the given one: a new generator in the middle of its longest edge."""
    inner = cone.T @ cone
    pairs = np.triu_indices(len(cone), 1)
    k = int(np.argmin(inner[pairs]))
    i, j = int(pairs[0][k]), int(pairs[1][k])
    middle = cone[:, i] + cone[:, j]
    middle /= np.linalg.norm(middle)
    halves = [cone.copy(), cone.copy()]
    halves[0][:, i], halves[1][:, j] = middle, middle
    return halves
