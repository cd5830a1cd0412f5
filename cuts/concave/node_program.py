"""The linear program of a box: every square in the concave parts replaced by its secant.

    min   a'x - sum_j p_0j (l_j + u_j) z_j
    s.t.  A x within its sides, x within its bounds,   V'x - z = 0,   l <= z <= u
          b_k'x + sum_j p_kj (l_j + u_j) z_j >= - const_k + sum_j p_kj l_j u_j

It stays in HiGHS: between two boxes only costs and bounds of z and the coefficients of the last
rows change. Nothing that HiGHS says is believed: what its multipliers prove is computed from them
here, and by the kernel once more with every rounding counted.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tightmargin.cuts.concave.reading import ConcaveProgram
from tightmargin.cuts.simplex import dual_ray, new_highs
from tightmargin.formulations.data.arrays import Array

NO_PRICE = 1e-9  # of the largest multiplier: an objective priced so low bounds nothing
EXACT_LATER = 1e-9  # of its terms: what of a reduced cost the kernel makes 0 where it has to


@dataclass(frozen=True, eq=False)
class Prices:
    """Multipliers of a box; see solvers/proofs/cover/leaf_bounds.py.

    Attributes
    ----------
    mu : float
    y, w, t : arrays (m,), (K,), (r,)
    constant : float
        What they prove without the terms of the box, in floating point.
    weights : array (r,)
        P of the terms t_j z - P_j z^2.
    """

    mu: float
    y: Array
    w: Array
    t: Array
    constant: float
    weights: Array

    def terms(self, low: Array, high: Array) -> Array:
        """Least of each term over a box."""
        below = self.t * low - self.weights * low * low
        return np.asarray(np.minimum(below, self.t * high - self.weights * high * high))

    def bound(self, low: Array, high: Array) -> float:
        """What they prove of a box, in floating point."""
        return self.constant + float(self.terms(low, high).sum())


@dataclass(frozen=True, eq=False)
class Solved:
    """A box's program after its solve.

    Attributes
    ----------
    x : array (n,) or None
        A minimiser; None where there is none.
    prices : Prices or None
        For mu = 0 they prove the box empty; None where HiGHS gave up.
    """

    x: Array | None
    prices: Prices | None


def pass_rows(
    lp: Any, A: sp.csc_matrix, cost: Array, bounds: tuple[Array, Array], sides: tuple[Array, Array]
) -> None:
    """Hand a whole program over."""
    m, n = A.shape
    lp.passModel(
        n, m, A.nnz, 1, 1, 0.0, cost, *bounds, *sides, A.indptr.astype(np.int32),
        A.indices.astype(np.int32), A.data, np.zeros(n, dtype=np.int32),
    )  # fmt: skip


class NodeProgram:
    """The programs of all boxes, one after the other.

    Parameters
    ----------
    program : ConcaveProgram
    columns : pair of arrays (n,)
        Proven limits of x.
    """

    def __init__(self, program: ConcaveProgram, columns: tuple[Array, Array]) -> None:
        form, V = program.form, program.directions.vectors
        self.program, self.columns, self.V = program, columns, V
        self.P = program.directions.weights
        self.n, self.r = V.shape
        self.m, self.K = len(form.rows), len(program.constants)
        self.A, self.AT = form.A, form.A.T.tocsr()
        self.solves = 0
        links = sp.hstack([sp.csr_matrix(V.T), -sp.identity(self.r)])
        # 1 stands in every place whose coefficient changes from box to box.
        reverse = sp.hstack([sp.csr_matrix(program.linear[1:]), sp.csr_matrix(self.P[1:] != 0)])
        rows = sp.hstack([form.A, sp.csr_matrix((self.m, self.r))])
        goal = sp.csr_matrix(np.concatenate([program.linear[0], self.P[0] != 0]))
        matrix = sp.vstack([rows, links, reverse.astype(float), goal], format="csc")
        zeros, endless = np.zeros(self.r), np.full(self.r, np.inf)
        self._lp = new_highs()
        pass_rows(
            self._lp,
            matrix,
            np.concatenate([program.linear[0], zeros]),
            (np.concatenate([form.lower, -endless]), np.concatenate([form.upper, endless])),
            (
                np.concatenate([form.row_lower, zeros, np.full(self.K + 1, -np.inf)]),
                np.concatenate([form.row_upper, zeros, np.full(self.K + 1, np.inf)]),
            ),
        )
        self._places = np.arange(self.n, self.n + self.r, dtype=np.int32)
        self._others = np.arange(self.n, dtype=np.int32)
        self._changing = [(k, j) for k in range(self.K) for j in np.flatnonzero(self.P[1 + k])]

    def solve(self, low: Array, high: Array) -> Solved:
        """The program of a box."""
        lp = self._lp
        self._into(low, high)
        lp.changeColsCost(self.r, self._places, -self.P[0] * (low + high))
        status = self._run()
        if status == "kOptimal":
            found = lp.getSolution()
            dual = np.array(found.row_dual)[:-1]
            return Solved(np.array(found.col_value)[: self.n], self.priced(1.0, dual))
        if status == "kInfeasible":
            return Solved(None, self._farkas(low, high))
        return Solved(None, None)

    def extents(
        self, low: Array, high: Array, target: float, axes: Iterable[int]
    ) -> Generator[Prices, None, None]:
        """Multipliers for the least and the largest z_j where the secants are below a target.

        They price the objective too, so that they bound it in every box; where they prove that z_j
        does not reach an end of this one, they close the piece of it that is there.
        """
        lp, goal = self._lp, self.m + self.r + self.K
        self._into(low, high)
        for j in np.flatnonzero(self.P[0]).tolist():
            lp.changeCoeff(goal, self.n + j, float(-self.P[0, j] * (low[j] + high[j])))
        lp.changeRowBounds(goal, -np.inf, target - float(self.P[0] @ (low * high)))
        lp.changeColsCost(self.n, self._others, np.zeros(self.n))
        try:
            for j in axes:
                for sign in (1.0, -1.0):
                    one = sign * np.eye(1, self.r, j).ravel()
                    lp.changeColsCost(self.r, self._places, one)
                    if self._run() != "kOptimal":
                        continue
                    dual = np.array(lp.getSolution().row_dual)
                    if dual[-1] < -NO_PRICE * float(np.abs(dual).max()):
                        yield self.priced(1.0, dual[:-1] / -dual[-1])
        finally:
            lp.changeRowBounds(goal, -np.inf, np.inf)
            lp.changeColsCost(self.n, self._others, self.program.linear[0])

    def _into(self, low: Array, high: Array) -> None:
        """Bounds and secant rows of a box."""
        lp, middle, first = self._lp, low + high, self.m + self.r
        lp.changeColsBounds(self.r, self._places, low, high)
        for k, j in self._changing:
            lp.changeCoeff(first + k, self.n + int(j), float(self.P[1 + k, j] * middle[j]))
        for k in range(self.K):
            side = float(self.P[1 + k] @ (low * high)) - float(self.program.constants[k])
            lp.changeRowBounds(first + k, side, np.inf)

    def _run(self) -> str:
        self.solves += 1
        self._lp.run()
        status = self._lp.getModelStatus().name
        if status not in ("kOptimal", "kInfeasible"):
            # A warm start sometimes fails where a cold one does not.
            self._lp.clearSolver()
            self._lp.run()
            status = self._lp.getModelStatus().name
        return str(status)

    def priced(self, mu: float, dual: Array) -> Prices:
        """What multipliers of all rows prove."""
        m, r, form = self.m, self.r, self.program.form
        y, t, w = dual[:m], dual[m : m + r], np.maximum(dual[m + r :], 0.0)
        side = np.where(y > 0, form.row_lower, form.row_upper)
        y = np.where(np.isfinite(side), y, 0.0)
        side = np.where(np.isfinite(side), side, 0.0)
        lines = self.program.linear
        rest = mu * lines[0] - w @ lines[1:] - self.AT @ y - self.V @ t
        ends = np.where(rest > 0, self.columns[0], self.columns[1])
        endless = ~np.isfinite(ends)
        ends = np.where(endless, 0.0, ends)
        constant = float(y @ side) - float(w @ self.program.constants) + float(rest @ ends)
        if endless.any():
            size = mu * np.abs(lines[0]) + abs(self.AT) @ np.abs(y) + np.abs(self.V) @ np.abs(t)
            if (endless & (np.abs(rest) > EXACT_LATER * size)).any():
                constant = -np.inf
        return Prices(mu, y, w, t, constant, mu * self.P[0] + w @ self.P[1:])

    def _farkas(self, low: Array, high: Array) -> Prices | None:
        """Multipliers that prove a box empty; None where HiGHS has none that do."""
        ray = dual_ray(self._lp)
        if ray is None:
            return None
        for sign in (1.0, -1.0):
            found = self.priced(0.0, sign * ray[:-1])
            if found.bound(low, high) > 0:
                return found
        return None
