"""Relaxations of one model in many boxes, solved one after the other by a kept Clarabel.

What comes back are a point and multipliers, and both may be wrong: the kernel says what they prove.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.engines.clarabel import is_panic
from tightmargin.solvers.engines.running import WorkCount
from tightmargin.solvers.kernel.bound import Rows, SparseMultipliers
from tightmargin.solvers.model.residuals import without_rounding

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
