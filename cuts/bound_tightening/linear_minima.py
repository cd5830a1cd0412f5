"""Least values of many linear functions over one convex set, each with a proof.

The set is that of a model in conic form,  {x : A x + s = b, s in K},  and lies in a known box
low <= x <= high. For any z in the dual cone of K, whoever computed it, weak duality gives

    c'x >= -b'z + sum_j min(r_j low_j, r_j high_j),      r = c + A'z,      for every x of the set:

c'x = r'x - z'A x = r'x - z'b + z's and z's >= 0. A solver's z leaves r at about its tolerance, so
the box takes the place of a repair, and a minimum costs one solve of a prepared solver: from one
function to the next only c changes, and b where a variable is pinned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.engines.clarabel import cones, is_panic
from tightmargin.solvers.engines.running import WorkCount
from tightmargin.solvers.model.conic import ConicForm, pack, unpack

EPS = float(np.finfo(np.float64).eps)
INSIDE = 1e-14  # relative distance from the surface of a cone: more than the rounding of a norm
SETTINGS = {
    "verbose": False, "presolve_enable": False,
    "tol_gap_abs": 1e-7, "tol_gap_rel": 1e-7, "tol_feas": 1e-9,
}  # fmt: skip


class ProvenMinimum:
    """A solver prepared for one set, and what turns its multipliers into bounds.

    conic: the set; its objective is not used.
    low, high (n,): finite bounds that hold everywhere in the set.
    seconds: longest time for one solve; multipliers of an unfinished one prove a bound as well.
    work: counts the minimisations.
    Raises ValueError: when the box is not finite, or the conic form has a quadratic objective.
    """

    def __init__(
        self,
        conic: ConicForm,
        low: Array,
        high: Array,
        seconds: float | None = None,
        work: WorkCount | None = None,
    ) -> None:
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise ValueError("low and high must be finite")
        if conic.P.nnz:
            raise ValueError("the conic form has a quadratic objective")
        self.conic, self.low, self.high = conic, low, high
        self.reach = np.maximum(np.abs(low), np.abs(high))
        self.transposed = conic.A.T.tocsr()
        self.sizes = abs(self.transposed)
        # A sum of m products is off by at most m roundings of the sum of their sizes.
        self.terms = 2 + np.diff(self.transposed.indptr)
        first = sum(len(part) for part in (conic.equal, conic.low, conic.high))
        self.low_row = dict(zip(conic.low_bound.tolist(), range(first, len(conic.b)), strict=False))
        first += len(conic.low_bound)
        self.high_row = dict(
            zip(conic.high_bound.tolist(), range(first, len(conic.b)), strict=False)
        )
        self.solves = self.failed = 0
        self.point: Array | None = None  # where the last function was least, as the solver says
        self.seconds = seconds
        self.work = WorkCount() if work is None else work
        self.size = conic.A.nnz + sum(block.size**2 for block in conic.blocks_of("psd"))
        self._solver = _prepared(conic, seconds)

    def least(self, cost: Array, pinned: Mapping[int, float] | None = None) -> float:
        """Lower bound on cost'x over the set, where some columns are pinned to a value.

        cost (n,).
        pinned: columns that have a row for both of their bounds.
        Returns: -inf when the solver left nothing to build on, inf when no point of the set has the
            pinned values.
        """
        b, low, high = self.conic.b, self.low, self.high
        if pinned:
            b, low, high = b.copy(), low.copy(), high.copy()
            for column, value in pinned.items():
                b[self.low_row[column]], b[self.high_row[column]] = -value, value
                low[column] = high[column] = value
        z = self._multipliers(cost, b)
        if z is None:
            self.failed += 1
            return -np.inf
        if self.value(0 * cost, z, b, low, high) > 0:
            return np.inf  # arbitrarily large multiples of z prove arbitrarily large bounds
        return self.value(cost, z, b, low, high)

    def value(self, cost: Array, z: Array, b: Array, low: Array, high: Array) -> float:
        """What multipliers in the dual cone prove, rounded downwards."""
        r = cost + self.transposed @ z
        blur = EPS * self.terms * (np.abs(cost) + self.sizes @ np.abs(z))
        products = b * z
        rest = np.where(r > 0, r * low, r * high)
        rounding = float(blur @ self.reach) + EPS * len(b) * float(
            np.abs(products).sum() + np.abs(rest).sum()
        )
        return -float(products.sum()) + float(rest.sum()) - rounding

    def _multipliers(self, cost: Array, b: Array) -> Array | None:
        solution = self.solution(cost, b)
        self.point = None
        z = np.array([np.nan] if solution is None else solution.z)
        if solution is not None and np.isfinite(x := np.array(solution.x)).all():
            self.point = x
        return into_dual_cone(self.conic, z) if np.isfinite(z).all() else None

    def solution(self, cost: Array, b: Array) -> Any:
        """What the solver says of one function; None when it broke down."""
        self.solves += 1
        self.work.add(self.size)
        try:
            self._solver.update(q=cost, b=b)
            return self._solver.solve()
        except BaseException as error:
            if not is_panic(error):
                raise
            # What it leaves cannot be used again.
            self._solver = _prepared(self.conic, self.seconds)
            return None


def into_dual_cone(conic: ConicForm, z: Array) -> Array:
    """Multipliers moved into the dual cone, by a relative INSIDE more than needed."""
    z = z.copy()
    balls: dict[int, list[int]] = {}
    for block in conic.blocks:
        match block.kind:
            case "nonneg":
                z[block.rows] = np.maximum(z[block.rows], 0.0)
            case "soc":
                balls.setdefault(block.size, []).append(block.start)
            case "psd":
                z[block.rows] = _semidefinite(z[block.rows])
    for size, starts in balls.items():
        first = np.array(starts)
        norms = np.sqrt((z[first[:, None] + np.arange(1, size)] ** 2).sum(axis=1))
        z[first] = np.maximum(z[first], norms * (1 + INSIDE))
    return z


def _semidefinite(part: Array) -> Array:
    matrix = unpack(part)
    values = np.linalg.eigvalsh(matrix)
    lack = INSIDE * len(values) * float(np.abs(values).max()) - float(values[0])
    return pack(matrix + max(0.0, lack) * np.eye(len(values)))


def _prepared(conic: ConicForm, seconds: float | None) -> Any:
    import clarabel

    settings = clarabel.DefaultSettings()
    for name, value in SETTINGS.items():
        setattr(settings, name, value)
    settings.max_threads = 1
    if seconds is not None:
        settings.time_limit = max(seconds, 1e-3)
    n = conic.A.shape[1]
    return clarabel.DefaultSolver(
        sp.csc_matrix((n, n)), np.zeros(n), conic.A, conic.b, cones(conic, clarabel), settings
    )
