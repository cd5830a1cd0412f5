"""Relaxations of one model in many boxes, solved one after the other by a kept Clarabel.

What comes back are a point and multipliers, and both may be wrong: the kernel says what they prove.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.solvers.certify.case import FEASIBILITY_TOLERANCE, SEARCH_GAP, Case
from tightmargin.solvers.certify.certify import fixed_case, solve_fixed
from tightmargin.solvers.certify.points import exact_point
from tightmargin.solvers.engines.clarabel import is_panic
from tightmargin.solvers.engines.running import WorkCount
from tightmargin.solvers.kernel.bound import Rows, SparseMultipliers, minorant
from tightmargin.solvers.kernel.statement import FeasiblePoint
from tightmargin.solvers.model.residuals import primal_residual, without_rounding

# --- Powers of two that bring the numbers of a relaxation near 1, where they differ much in size
# Data in units of 1e6 leave multipliers of rows and of cones that are as far apart, and one grid
# below the largest of them keeps nothing of the small ones. So they are rounded in these units.
# The relaxation itself is solved as it is: rows with large coefficients, such as cuts, are met
# less closely in numbers near 1. Integers count things and keep their unit.


ROUNDS = 12
FAR = 2.0**13  # largest number over smallest one from which on anything is moved


@dataclass(frozen=True, eq=False)
class NodeScaling:
    """x = columns * x', and rows multiplied; all powers of two.

    columns (n,).
    rows (m,): equal within a cone.
    """

    columns: Array
    rows: Array


def node_scaling(
    A: sp.csr_matrix, parts: NDArray[np.intp], integer: NDArray[np.bool_]
) -> NodeScaling:
    """Factors by geometric means of rows and columns in turn.

    A (m, n).
    parts (m,): number of the row or cone that each row is one of.
    integer (n,): columns that stay as they are.
    """
    entries = without_rounding(A).tocoo()
    sizes = np.abs(entries.data)
    kept = sizes > 0
    sizes, own, j = sizes[kept], parts[entries.row[kept]], entries.col[kept]
    count = int(parts.max(initial=-1)) + 1
    columns, rows = np.zeros(A.shape[1]), np.zeros(count)
    if len(sizes) and sizes.max() > FAR * sizes.min():
        logs = np.log2(sizes)
        of_rows = np.maximum(np.bincount(own, minlength=count), 1)
        of_columns = np.maximum(np.bincount(j, minlength=A.shape[1]), 1)
        for _ in range(ROUNDS):
            rows = -np.bincount(own, logs + columns[j], count) / of_rows
            columns = -np.bincount(j, logs + rows[own], A.shape[1]) / of_columns
            columns[integer] = 0.0
    return NodeScaling(np.exp2(np.round(columns)), np.exp2(np.round(rows))[parts])


# A column that is fixed leaves no room for an interior point; its multipliers are taken all the
# same in the box without this.
WIDENED = 1e-7
BITS = 34  # of a multiplier: short numbers make short proofs that are checked quickly
FORGOTTEN = 1e-9  # of the largest multiplier
PATTERNS = 8  # sets of columns with limits whose factorisations are kept
# Of the size of an objective, for which Clarabel's tolerances are made smaller, and by how much.
SMALL, CLOSEST = 2.0**-10, 2.0**-20
CONES = {"zero": "ZeroConeT", "nonneg": "NonnegativeConeT", "soc": "SecondOrderConeT"}


@dataclass(frozen=True, eq=False)
class NodeSolution:
    """Where a relaxation ended.

    x (n,).
    multipliers: with mu = 0 where the relaxation has no point.
    bound: what the solver says of f + g'x; infinity where it says that there is no point.
    falls: whether it says that there is no least value.
    """

    x: Array
    multipliers: SparseMultipliers
    bound: float
    falls: bool


class NodeSolver:
    """Clarabel with the rows of a relaxation, for any box and any direction beside the objective.

    live (m,): rows that are worth their time; the others are implied.
    work: counts the relaxations.
    """

    def __init__(
        self,
        rows: Rows,
        live: NDArray[np.bool_],
        threads: int | None = None,
        work: WorkCount | None = None,
    ) -> None:
        self._rows = rows
        self.work = WorkCount() if work is None else work
        self._threads = threads or 1
        self._kept = np.flatnonzero(live)
        self._scaling = node_scaling(rows.lines[self._kept], self._parts(), rows.integer)
        self._A = rows.lines[self._kept]
        self._b = rows.conic.b[self._kept]
        # Clarabel's tolerances are absolute below 1; a power of two rounds nothing.
        largest = max(
            float(np.abs(numbers).max(initial=0.0)) for numbers in (rows.conic.q, rows.conic.P.data)
        )
        self._unit = math.ldexp(1.0, -math.frexp(largest)[1]) if largest > 0 else 1.0
        self._P = self._unit * sp.triu(rows.conic.P).tocsc()
        moved = self._unit * np.abs(self._scaling.columns * rows.conic.q).max(initial=0.0)
        self._closer = max(float(moved), CLOSEST) if 0 < moved < SMALL else 1.0
        self._curved = np.flatnonzero((np.diff(rows.conic.P.indptr) > 0) | (rows.curvature != 0))
        self._solvers: dict[bytes, Any] = {}
        self.size = int(self._A.nnz + self._P.nnz + len(self._b) + 2 * len(rows.low))
        self.solves = 0

    def solve(
        self, low: Array, high: Array, along: Array | None = None, *, widened: bool = True
    ) -> NodeSolution | None:
        """Minimise f + g'x in a box; None where the solver broke down.

        along (n,): g.
        widened: whether fixed columns get a little room.
        """
        below, above = np.isfinite(low), np.isfinite(high)
        key = below.tobytes() + above.tobytes()
        if key not in self._solvers:
            if len(self._solvers) >= PATTERNS:
                self._solvers.pop(next(iter(self._solvers)))
            self._solvers[key] = self._set_up(below, above)
        solver = self._solvers[key]
        room = np.where(low == high, WIDENED if widened else 0.0, 0.0)
        b = np.concatenate([self._b, (room - low)[below], (high + room)[above]])
        cost = self._rows.conic.q if along is None else self._rows.conic.q + along
        self.work.add(self.size)
        try:
            solver.update(b=b, q=self._unit * cost)
            found = solver.solve()
        except BaseException as error:
            if not is_panic(error):
                raise
            self._solvers.pop(key)
            return None
        self.solves += 1
        return self._solution(found)

    def _solution(self, found: Any) -> NodeSolution | None:
        x, z = np.array(found.x), np.array(found.z)[: len(self._kept)] / self._unit
        status = str(found.status)
        if not np.isfinite(z).all():
            return None
        empty = status in ("PrimalInfeasible", "AlmostPrimalInfeasible")
        if not np.isfinite(x).all():
            x = np.zeros(len(self._rows.low))
        bound = math.inf if empty else float(found.obj_val_dual) / self._unit
        bound = -math.inf if math.isnan(bound) else bound
        falls = status in ("DualInfeasible", "AlmostDualInfeasible")
        return NodeSolution(x, self._multipliers(0.0 if empty else 1.0, x, z), bound, falls)

    def _multipliers(self, mu: float, x: Array, z: Array) -> SparseMultipliers:
        factors, units = self._scaling.rows, self._scaling.columns[self._curved]
        z, at = z / factors, short(x[self._curved] / units) * units
        largest = float(np.abs(z).max(initial=0.0))
        used = np.flatnonzero(np.abs(z) > FORGOTTEN * largest)
        return SparseMultipliers(
            mu, self._kept[used], short(z[used]) * factors[used], self._curved[at != 0],
            at[at != 0],
        )  # fmt: skip

    def _set_up(self, below: NDArray[np.bool_], above: NDArray[np.bool_]) -> Any:
        import clarabel

        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.presolve_enable = False  # with it the sides cannot be changed
        settings.chordal_decomposition_enable = False
        settings.max_threads = self._threads
        settings.tol_gap_abs *= self._closer
        settings.tol_gap_rel *= self._closer
        identity = sp.identity(len(self._rows.low), format="csr")
        A = sp.vstack([self._A, -identity[below], identity[above]], format="csc")
        b = np.zeros(A.shape[0])
        b[: len(self._b)] = self._b
        count = int(below.sum() + above.sum())
        cones = [*self._cones(clarabel)]
        if count:
            cones.append(clarabel.NonnegativeConeT(count))
        return clarabel.DefaultSolver(
            self._P, self._unit * self._rows.conic.q, A, b, cones, settings
        )

    def _parts(self) -> NDArray[np.intp]:
        """Number of the row or cone that each kept row is one of."""
        owner = np.arange(len(self._rows.conic.b))
        for block in self._rows.conic.blocks:
            if block.kind not in ("zero", "nonneg"):
                owner[block.rows] = block.start
        return np.unique(owner[self._kept], return_inverse=True)[1]

    def _cones(self, clarabel: Any) -> list[Any]:
        found = []
        for block in self._rows.conic.blocks:
            inside = (self._kept >= block.start) & (self._kept < block.start + block.size)
            size = int(inside.sum())
            if block.kind == "psd":
                found.append(clarabel.PSDTriangleConeT(round((math.sqrt(8 * size + 1) - 1) / 2)))
            elif size:
                found.append(getattr(clarabel, CONES[block.kind])(size))
        return found


def short(numbers: Array) -> Array:
    """The numbers rounded to a grid of 34 bits below the largest."""
    largest = float(np.abs(numbers).max(initial=0.0))
    if not largest:
        return numbers
    unit = math.ldexp(1.0, math.frexp(largest)[1] - BITS)
    return np.round(numbers / unit) * unit if unit > 0 else numbers


# --- Incumbents: integers fixed, the rest solved, and the point made exact before it counts -------


NOISE = 2.0**-50
WHOLE = 1e-6
PART = 5  # of the open columns one in so many is fixed in each step of a dive
MOVES = 60  # that are tried from one point
STEPS = 200  # of one improvement
LOCKED = 1e-5
EXACT = 20  # relaxations that a point which is made exact is worth


class Incumbent:
    """The best exactly feasible point so far, and the integers that were tried."""

    def __init__(self, case: Case, work: WorkCount) -> None:
        self.point: FeasiblePoint | None = None
        self._case, self._work = case, work
        self._size = EXACT * int(case.form.A.nnz + case.form.objective.Q.nnz + case.form.n)
        self._integer = np.flatnonzero(case.form.integer)
        self._tried: set[bytes] = set()

    @property
    def best(self) -> float:
        """Its objective, the constant left out; infinity without a point."""
        return math.inf if self.point is None else self.point.varying

    @property
    def target(self) -> float:
        """Bound at which nothing better is left that a certificate would ask for."""
        if self.point is None:
            return math.inf
        least = NOISE * abs(self.best)  # a bound in doubles comes no nearer
        allowed = max(SEARCH_GAP * self._case.size(self.best), self._case.limits.absolute_gap / 2)
        return self.best - max(allowed, least)

    def take(self, x: Array) -> bool:
        """Fix the integers of x, make the rest as good as it gets, and keep what is better."""
        whole = np.where(self._case.form.integer, np.round(x), x)
        self._tried.add(whole[self._integer].tobytes())
        self._work.add(self._size)
        found = with_integers(self._case, whole)
        if found is None or not found.varying < self.best:
            return False
        self.point = found
        return True

    def begin(
        self, rows: Rows, solver: NodeSolver, start: Array, is_over: Callable[[], bool]
    ) -> None:
        """Try the integers of a start; where some are not known, what is best beside the others."""
        known = self._integer[np.isfinite(start[self._integer])]
        if len(known) == len(self._integer):
            within = np.clip(np.round(start[known]), rows.low[known], rows.high[known])
            whole = np.zeros(len(start))
            whole[known] = within
            self.take(whole)
        elif len(known):
            low, high = rows.low.copy(), rows.high.copy()
            low[known] = high[known] = np.clip(np.round(start[known]), low[known], high[known])
            self._dive(rows, solver, low, high, is_over)

    def offer(self, rows: Rows, solver: NodeSolver, x: Array) -> bool:
        """The same, where a quick look says that it is worth it."""
        if np.round(x[self._integer]).tobytes() in self._tried:
            return False
        near = looks_feasible(self._case, rows, solver, x)
        if near is None or self._case.form.objective.varying(near) >= self.target:
            self._tried.add(np.round(x[self._integer]).tobytes())
            return False
        return self.take(x)

    def improve(self, rows: Rows, solver: NodeSolver, is_over: Callable[[], bool]) -> None:
        """Move single integers by one while that pays, and keep the point that comes out.

        The multipliers at fixed integers say what a move costs at least, so that few are tried.
        """
        if self.point is None or self.point.x is None:
            return
        whole = np.round(self.point.x[self._integer])
        best, moved = self.best, False
        for _ in range(STEPS):  # where there is no least value they would never end
            if is_over():
                break
            step = self._move(rows, solver, whole, best)
            if step is None:
                break
            whole, best = step
            moved = True
        if moved and whole.tobytes() not in self._tried:
            x = self.point.x.copy()
            x[self._integer] = whole
            self.take(x)

    def _move(
        self, rows: Rows, solver: NodeSolver, whole: Array, best: float
    ) -> tuple[Array, float] | None:
        """The first move that makes the point better, and its objective."""
        low, high = rows.low[self._integer], rows.high[self._integer]
        if (whole < low).any() or (whole > high).any():
            return None
        found = self._fixed(rows, solver, whole)
        known = None if found is None else minorant(rows, found.multipliers)
        if found is None or known is None or not found.multipliers.mu:
            return None
        price = 0.5 * (known.low + known.high)
        change = np.concatenate([price, -price])
        allowed = np.concatenate([whole < high, whole > low])
        order = np.argsort(change, kind="stable")
        enough = best - max(SEARCH_GAP * abs(best), 1e-12)
        for place in order[allowed[order] & (found.bound + change[order] < enough)][:MOVES]:
            other = whole.copy()
            other[place % len(whole)] += 1.0 if place < len(whole) else -1.0
            there = self._fixed(rows, solver, other)
            if there is not None and there.multipliers.mu and there.bound < enough:
                return other, there.bound
        return None

    def _fixed(self, rows: Rows, solver: NodeSolver, whole: Array) -> NodeSolution | None:
        low, high = rows.low.copy(), rows.high.copy()
        low[self._integer] = high[self._integer] = whole
        return solver.solve(low, high)

    def dive(self, rows: Rows, solver: NodeSolver, is_over: Callable[[], bool]) -> None:
        """Fix integers a few at a time, nearest first, until all are."""
        self._dive(rows, solver, rows.low.copy(), rows.high.copy(), is_over)

    def _dive(
        self,
        rows: Rows,
        solver: NodeSolver,
        low: Array,
        high: Array,
        is_over: Callable[[], bool],
    ) -> None:
        left = self._integer[low[self._integer] < high[self._integer]]
        while len(left) and not is_over():
            found = solver.solve(low, high)
            if found is None or not found.multipliers.mu:
                return
            self.offer(rows, solver, rounded(rows, found.x, self._case.form.integer))
            distance = np.abs(found.x[left] - np.round(found.x[left]))
            if distance.max() < WHOLE:
                self.offer(rows, solver, found.x)
                return
            nearest = left[np.argsort(distance, kind="stable")[: max(1, len(left) // PART)]]
            whole = np.clip(np.round(found.x[nearest]), low[nearest], high[nearest])
            low[nearest] = high[nearest] = whole
            left = self._integer[low[self._integer] < high[self._integer]]
        if not len(left):
            self.offer(rows, solver, low)


def with_integers(case: Case, x: Array) -> FeasiblePoint | None:
    """The best exactly feasible point with the integers of x; None where none is found."""
    fixed = fixed_case(case, x)
    if (fixed.form.lower > fixed.form.upper).any():
        return None
    # Tolerances of a conic solver are those of numbers near 1.
    claim = solve_fixed(fixed, near_one=case.form.is_quadratic and fixed.scaling is not None)
    if claim is None or claim.x is None or not np.isfinite(claim.x).all():
        return None
    near = np.where(case.form.integer, np.round(x), claim.x)
    return exact_point(case.form, case.classification, near, case.limits)


def looks_feasible(case: Case, rows: Rows, solver: NodeSolver, x: Array) -> Array | None:
    """The relaxation with the integers of x; None where its point misses rows by much."""
    low, high, integer = rows.low.copy(), rows.high.copy(), case.form.integer
    whole = np.clip(np.round(x[integer]), low[integer], high[integer])
    low[integer] = high[integer] = whole
    found = solver.solve(low, high, widened=False)
    if found is None or not found.multipliers.mu or not np.isfinite(found.x).all():
        return None
    at = np.clip(found.x, low, high)
    return at if primal_residual(case.form, at)[0] <= FEASIBILITY_TOLERANCE else None


def rounded(rows: Rows, x: Array, integer: Mask) -> Array:
    """x with its integers rounded: to the side that no row forbids, else to the nearest."""
    A = rows.conic.A
    up, down = np.zeros(A.shape[1], dtype=bool), np.zeros(A.shape[1], dtype=bool)
    for block in rows.conic.blocks:
        part = A[block.rows]
        entries = part.tocoo()
        both = block.kind != "nonneg"
        up[entries.col[(entries.data > 0) | both]] = True
        down[entries.col[(entries.data < 0) | both]] = True
    whole = np.round(x)
    whole = np.where(~up & down, np.ceil(x - LOCKED), whole)
    whole = np.where(up & ~down, np.floor(x + LOCKED), whole)
    return np.where(integer, np.clip(whole, rows.low, rows.high), x)
