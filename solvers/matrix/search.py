"""Branch and bound for the matrix SVM of rank 1, or one below full rank: the optimum, enclosed.

Such a B is given by one unit vector u, and u and -u are the same. All
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
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.common.hyperplane import balanced_alpha
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.data.training_data import TrainingData, reads_dense_points
from tightmargin.formulations.matrix.matrix_svc import bounded_objective, matrix_point
from tightmargin.formulations.matrix.shapes import (
    Shape,
    checked_rank,
    checked_shape,
    nearest_of_rank,
)
from tightmargin.formulations.parameters import INTERCEPTS, finite_hyperplane, one_of, positive
from tightmargin.number_words import count_text
from tightmargin.solvers.certify.case import SEARCH_GAP
from tightmargin.solvers.engines.clarabel import is_panic
from tightmargin.solvers.engines.running import StopReason, drive
from tightmargin.solvers.matrix.alternating import fixed_columns, matrix_alternating
from tightmargin.solvers.searches import CatalogueModel, GlobalSearch, Trace

# --- The projection SDP of the matrix SVM where one direction lies in a cone, and its proven bound
# Take predictors with m <= n (transposed if need be). A B of rank 1 has its columns along a unit
# vector u, and one of rank m - 1 has its columns orthogonal to a unit vector u. Write Q = u u' and
# P = Q or P = I - Q. For u in a cone {C l : l >= 0}
#     min   sum_i xi_i + ridge/2 tr T
#     s.t.  y_i (<X_i, B> + b) + xi_i >= 1,  xi_i >= 0,   [[T, B'], [B, P]] semidefinite,
#           Q semidefinite, tr Q = 1,  C^-1 Q C^-T >= 0 in every entry,
# is a relaxation, and the smaller the cone the nearer it is to the truth. With a in [0, 1]^N (y'a
# = 0 for a free intercept), A = sum_i a_i y_i X_i, a matrix Z >= 0 and G = C^-T Z C^-1, which is
# not negative on the cone, weak duality in closed form gives
#     sum a - 1/(2 ridge) largest eigenvalue of (A A' + G)                         P = Q
#     sum a - 1/(2 ridge) (||A||_F^2 - smallest eigenvalue of (A A' - G))          P = I - Q
# (less (y'a)^2 / (2 ridge) for a penalised intercept). That number is the bound; the solver only
# proposes a and Z.


EPS = float(np.finfo(float).eps)
LINE, COMPLEMENT = "line", "complement"


@dataclass(frozen=True, eq=False)
class CellBound:
    """What the relaxation of one cell says.

    lower: proven.
    direction (m,): a unit vector that the relaxation points at, not necessarily in the cell.
    """

    lower: float
    direction: Array


@dataclass(frozen=True, eq=False)
class CellProblem:
    """The relaxation of all cells of one problem; only the rows of C change.

    predictors (N, m, n): with m <= n.
    kind: "line" for rank 1, "complement" for rank m - 1.
    reach: a bound on |b| at an optimum; of no meaning unless the intercept is free.
    """

    data: TrainingData
    predictors: Array
    ridge: float
    intercept: str
    kind: str
    reach: float
    _rows: list[Any] = field(default_factory=list)

    def bound(self, cone: Array | None) -> CellBound:
        """Bound over unit vectors in the cone with these generators (m, m), one a column.

        None stands for all directions, and the relaxation for matrix_svc_projection.

        Raises ValueError: generators that are no basis.
        """
        m = self.predictors.shape[1]
        normals: Array = np.zeros((m, m))
        if cone is not None:
            rows = np.linalg.inv(cone)
            normals = np.asarray(rows / np.linalg.norm(rows, axis=1)[:, None])
        x, z = self._solve(normals)
        pairs = list(zip(*np.triu_indices(m, 1), strict=True))
        Z = np.zeros((m, m))
        for k, (i, j) in enumerate(pairs):
            Z[i, j] = Z[j, i] = max(float(z[len(z) - self._tail() - len(pairs) + k]), 0.0)
        alpha = z[1 : 1 + self.data.n]
        Q = np.zeros((m, m))
        Q[np.triu_indices(m)] = x[len(x) - m * (m + 1) // 2 :]
        Q = np.triu(Q) + np.triu(Q, 1).T
        # A row Q_ij >= 0 stands twice in tr(Z Q), and the closed form divides by 2 ridge.
        return CellBound(self.proven(alpha, self.ridge * Z, normals), np.linalg.eigh(Q)[1][:, -1])

    def proven(self, alpha: Array, Z: Array, normals: Array) -> float:
        """The closed form at any alpha and Z, which are put where they have to be.

        normals (m, m): positive multiples of the rows of C^-1, or 0 for all directions.
        """
        data = self.data
        Z = np.maximum((Z + Z.T) / 2, 0.0)
        alpha = balanced_alpha(alpha, data.y, np.ones(data.n), self.intercept)
        signed = alpha * data.y
        A = np.tensordot(signed, self.predictors, axes=1)
        M, G = A @ A.T, normals.T @ Z @ normals
        if self.kind == LINE:
            most = float(np.linalg.eigvalsh(M + G)[-1])
        else:
            most = float(np.trace(M)) - float(np.linalg.eigvalsh(M - G)[0])
        balance = float(signed.sum())
        lower = float(alpha.sum()) - most / (2 * self.ridge)
        if self.intercept == "penalised":
            lower -= balance**2 / (2 * self.ridge)
        elif self.intercept == "free":
            lower -= (abs(balance) + 4 * data.n * EPS * float(alpha.sum())) * self.reach
        # No entry of A is off by more than this, nor an eigenvalue by more than the norms say.
        size = np.tensordot(alpha, np.abs(self.predictors), axes=1)
        hidden = float((size**2).sum()) + float((np.abs(normals.T) @ Z @ np.abs(normals)).sum())
        return lower - 16 * (data.n + A.size) * EPS * (float(alpha.sum()) + hidden / self.ridge)

    def _tail(self) -> int:
        """Rows of the semidefinite blocks, which come last."""
        m, n = self.predictors.shape[1:]
        return (m + n) * (m + n + 1) // 2 + (m * (m + 1) // 2 if self.kind == COMPLEMENT else 0)

    def _solve(self, normals: Array) -> tuple[Array, Array]:
        """Columns of the relaxation and multipliers of its rows, as far as the solver came."""
        import clarabel

        if not self._rows:
            self._rows.extend(self._constant_rows())
        head, right, blocks, P, q = self._rows
        N, (m, n) = self.data.n, self.predictors.shape[1:]
        upper = np.triu_indices(m)
        pairs = np.triu_indices(m, 1)
        products = normals[pairs[0]][:, :, None] * normals[pairs[1]][:, None, :]
        products = products + products.transpose(0, 2, 1)
        entries = np.where(upper[0] == upper[1], 0.5, 1.0) * products[:, upper[0], upper[1]]
        inside = sp.hstack(
            [sp.csc_matrix((len(entries), len(q) - len(upper[0]))), sp.csc_matrix(-entries)]
        )
        rows = sp.vstack([head, inside, blocks]).tocsc()
        sides = np.concatenate([right[0], np.zeros(len(entries)), right[1]])
        cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * N + len(entries))]
        cones.append(clarabel.PSDTriangleConeT(m + n))
        if self.kind == COMPLEMENT:
            cones.append(clarabel.PSDTriangleConeT(m))
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        try:
            found = clarabel.DefaultSolver(P, q, rows, sides, cones, settings).solve()
        except BaseException as error:
            if not is_panic(error):
                raise
            return np.zeros(len(q)), np.zeros(len(sides))
        return _finite(found.x), _finite(found.z)

    def _constant_rows(self) -> tuple[Any, ...]:
        """Rows that do not know the cone: tr Q = 1, margins, xi >= 0; and the blocks.

        Columns are w (m n), b unless it is "none", xi (N), T and Q by their upper triangles, row
        after row.
        """
        N, (m, n) = self.data.n, self.predictors.shape[1:]
        has_b = self.intercept != "none"
        first_xi = m * n + has_b
        first_T = first_xi + N
        first_Q = first_T + n * (n + 1) // 2
        width = first_Q + m * (m + 1) // 2
        T = _positions(n, first_T)
        Q = _positions(m, first_Q)
        w = np.arange(m * n).reshape(m, n)
        trace = sp.csc_matrix((np.ones(m), (np.zeros(m, int), np.diag(Q))), (1, width))
        margin = np.zeros((N, width))
        margin[:, : m * n] = -self.data.y[:, None] * self.predictors.reshape(N, -1)
        if has_b:
            margin[:, m * n] = -self.data.y
        margin[np.arange(N), first_xi + np.arange(N)] = -1.0
        slack = sp.csc_matrix((-np.ones(N), (np.arange(N), first_xi + np.arange(N))), (N, width))
        head = sp.vstack([trace, sp.csc_matrix(margin), slack]).tocsc()
        sign = 1.0 if self.kind == LINE else -1.0
        matrix: list[list[tuple[int, float]]] = [
            [(int(T[i, j]), 1.0) for j in range(n)] + [(int(w[p, i]), 1.0) for p in range(m)]
            for i in range(n)
        ] + [
            [(int(w[p, j]), 1.0) for j in range(n)] + [(int(Q[p, k]), sign) for k in range(m)]
            for p in range(m)
        ]
        blocks, offset = _block(matrix, width)
        if self.kind == COMPLEMENT:
            for k in range(n, m + n):
                offset[(k + 1) * (k + 2) // 2 - 1] = 1.0
            own, zero = _block([[(int(Q[p, k]), 1.0) for k in range(m)] for p in range(m)], width)
            blocks, offset = sp.vstack([blocks, own]).tocsc(), np.concatenate([offset, zero])
        q = np.zeros(width)
        q[first_xi:first_T] = 1.0
        q[np.diag(T)] = self.ridge / 2
        P = sp.csc_matrix((width, width))
        if self.intercept == "penalised":
            P = sp.csc_matrix(([self.ridge], ([m * n], [m * n])), (width, width))
        sides = np.concatenate([[1.0], -np.ones(N), np.zeros(N)])
        return head, (sides, offset), blocks, P, q


def _finite(numbers: Any) -> Array:
    """What a solver that broke down leaves proves less, but still something true."""
    return np.nan_to_num(np.array(numbers, dtype=float), nan=0.0, posinf=0.0, neginf=0.0)


def _positions(order: int, first: int) -> NDArray[np.int64]:
    """Column of every entry of a symmetric matrix kept by its upper triangle."""
    found = np.zeros((order, order), dtype=np.int64)
    found[np.triu_indices(order)] = first + np.arange(order * (order + 1) // 2)
    return np.maximum(found, found.T)


def _block(matrix: list[list[tuple[int, float]]], width: int) -> tuple[Any, Array]:
    """Rows -x of a semidefinite block whose entries are multiples of single columns.

    Upper triangle column by column, off the diagonal times the square root of 2.
    """
    places = [(i, j) for j in range(len(matrix)) for i in range(j + 1)]
    columns = [matrix[i][j][0] for i, j in places]
    numbers = [-matrix[i][j][1] * (1.0 if i == j else np.sqrt(2.0)) for i, j in places]
    rows = np.arange(len(places))
    return sp.csc_matrix((numbers, (rows, columns)), (len(places), width)), np.zeros(len(places))


CELL_LIMIT = 20_000
EVERY, FEW = 50, 10  # points from this many first relaxations, then from one in ten


@dataclass(frozen=True, eq=False, repr=False)
class MatrixSearch(GlobalSearch):
    """The optimum of matrix_svc_bilinear, enclosed; see GlobalSearch.

    w (m n,): B row by row, of the bounded rank.
    cells: relaxations solved.
    """

    w: Array
    b: float
    cells: int

    def _title(self) -> str:
        return f"MatrixSearch: {count_text(len(self.w), 'entry', 'entries')} of bounded rank"

    def _effort(self) -> str:
        return f"{search_name(self.cells)}, {self.seconds:.2g} s"


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
    gap: float = SEARCH_GAP,
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
    started = time.perf_counter()
    if time_limit is not None:
        positive("time_limit", time_limit)
    if incumbent is None:
        found = matrix_alternating(
            data, ridge=ridge, shape=(m, n), rank=r, starts=3, intercept=intercept,
            time_limit=time_limit,
        )  # fmt: skip
        incumbent = found.w, found.b
    w, b = finite_hyperplane("incumbent", incumbent, data.d)
    search = _MatrixSearch(data, ridge, (m, n), r, intercept)
    search.offer(nearest_of_rank(w, m, n, r), 0.0 if intercept == "none" else b)
    search.gap, search.cell_limit, search.started = positive("gap", gap), cell_limit, started
    if time_limit is not None:
        search.deadline = started + positive("time_limit", time_limit)
    stop = drive("branch and bound over directions", search)
    seconds = time.perf_counter() - started
    search.trace.note(seconds, search.cells, search.bound, search.objective, last=True)
    words = {"ridge": ridge, "shape": (m, n), "rank": r, "intercept": intercept}
    words["incumbent"] = search.w, search.b
    return MatrixSearch(
        objective=search.objective, bound=search.bound, stop=stop, seconds=seconds,
        trace=tuple(search.trace.points), w=search.w, b=search.b, cells=search.cells,
        about=CatalogueModel("matrix_svc_bilinear", data, words),
    )  # fmt: skip


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
        self.heap: list[tuple[float, int, Array | None]] = []
        self.count, self.cells = itertools.count(), 0
        self.trace = Trace()
        self.started = time.perf_counter()
        self.gap, self.cell_limit, self.deadline = SEARCH_GAP, CELL_LIMIT, np.inf

    def offer(self, w: Array, b: float) -> None:
        """Keep a point of the bounded rank if it is the best."""
        words = (self.size, self.intercept)
        value = bounded_objective(self.data, w, b, self.ridge, *words)
        if value < self.objective:
            self.w, self.b, self.objective = w, matrix_point(self.data, w, b, *words).b, value

    def begin(self) -> None:
        """Bound all directions at once."""
        longest = float(np.linalg.norm(self.predictors, axis=(1, 2)).max())
        ridge = self.ridge / self.scale**2
        # ridge/2 ||B||^2 is at most the best objective, and some point has u_i = 1 at an optimum.
        reach = 1 + 1e-9 + np.sqrt(2 * self.objective / ridge) * longest
        self.problem = CellProblem(
            self.data, self.predictors, ridge, self.intercept, self.kind, reach
        )
        self._add(None, 0.0)

    @property
    def bound(self) -> float:
        """What is proven now."""
        return min(self.objective, self.heap[0][0] if self.heap else 0.0)

    @property
    def is_open(self) -> bool:
        """Whether a cone may hold a better point."""
        return self.heap[0][0] < self.objective - self.gap * max(1.0, abs(self.objective))

    def limit(self) -> StopReason | None:
        """The limit that is reached."""
        now = time.perf_counter()
        self.trace.note(now - self.started, self.cells, self.bound, self.objective)
        if self.cells >= self.cell_limit:
            return StopReason.CELL_LIMIT
        return StopReason.TIME_LIMIT if now > self.deadline else None

    def standing(self) -> tuple[float, float, str]:
        """For the live line."""
        return self.bound, self.objective, f"{self.cells:,} cells"

    def step(self) -> None:
        """Halve the cone with the least bound, which stays until all of its parts are there."""
        floor, _, cone = self.heap[0]
        for part in _parts(cone, self.predictors.shape[1]):
            if self.limit():
                return
            self._add(part, floor)
        heapq.heappop(self.heap)  # the cone: no part has a smaller bound, and all were added later

    def _add(self, part: Array | None, floor: float) -> None:
        """Bound a cone; nothing in it is below `floor`."""
        found = self.problem.bound(part)
        self.cells += 1
        lower = float(np.fmax(found.lower, floor))
        if lower < self.objective and (self.cells <= EVERY or self.cells % FEW == 0):
            self._from_direction(found.direction)
        heapq.heappush(self.heap, (lower, next(self.count), part))

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
