"""The linear program of a box: every square in the concave parts replaced by its secant.

    min   a'x - sum_j p_0j (l_j + u_j) z_j
    s.t.  A x within its sides, x within its bounds,   V'x - z = 0,   l <= z <= u
          b_k'x + sum_j p_kj (l_j + u_j) z_j >= - const_k + sum_j p_kj l_j u_j    not convex
          b_k'x + sum_j 2 p_kj c_j z_j >= - const_k + sum_j p_kj c_j^2            convex, any c

It stays in HiGHS: between two boxes only costs and bounds of z and the coefficients of secants
change. Tangents of convex sides touch where a box's minimiser missed one, and hold in every box.
Nothing that HiGHS says is believed: what its multipliers prove is computed from them here, and by
the kernel once more with every rounding counted.
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
MISSED = 1e-8  # of its terms: a convex side that is missed by less gets no tangent
TANGENT_ROUNDS = 3  # of a box
MOST_TANGENTS = 400  # beyond it those that are not tight go


@dataclass(frozen=True, eq=False)
class Prices:
    """Multipliers of a box; see cuts/proofs.py.

    y, w, t (m,) (K,) (r,).
    constant: what they prove without the terms of the box, in floating point.
    weights (r,): P of the terms t_j z - P_j z^2.
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
        least = np.minimum(below, self.t * high - self.weights * high * high)
        bent = self.weights < 0
        if bent.any():
            bottom = np.clip(self.t[bent] / (2 * self.weights[bent]), low[bent], high[bent])
            least[bent] = self.t[bent] * bottom - self.weights[bent] * bottom * bottom
        return np.asarray(least)

    def bound(self, low: Array, high: Array) -> float:
        """What they prove of a box, in floating point."""
        return self.constant + float(self.terms(low, high).sum())


@dataclass(frozen=True, eq=False)
class Solved:
    """A box's program after its solve.

    x (n,): a minimiser; None where there is none.
    prices: for mu = 0 they prove the box empty; None where HiGHS gave up.
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

    columns (n,): proven limits of x.
    """

    def __init__(self, program: ConcaveProgram, columns: tuple[Array, Array]) -> None:
        form, V = program.form, program.directions.vectors
        self.program, self.columns, self.V = program, columns, V
        self.P = program.directions.weights
        self.secant = np.flatnonzero(~program.convex)
        self.tangent = np.flatnonzero(program.convex)
        self.n, self.r = V.shape
        self.m, self.K = len(form.rows), len(self.secant)
        self.A, self.AT = form.A, form.A.T.tocsr()
        self.solves = 0
        links = sp.hstack([sp.csr_matrix(V.T), -sp.identity(self.r)])
        # 1 stands in every place whose coefficient changes from box to box.
        bent = self.P[1 + self.secant] != 0
        secants = sp.hstack([sp.csr_matrix(program.linear[1 + self.secant]), sp.csr_matrix(bent)])
        rows = sp.hstack([form.A, sp.csr_matrix((self.m, self.r))])
        goal = sp.csr_matrix(np.concatenate([program.linear[0], self.P[0] != 0]))
        matrix = sp.vstack([rows, links, secants.astype(float), goal], format="csc")
        zeros, endless = np.zeros(self.r), np.full(self.r, np.inf)
        self._lp = new_highs()
        pass_rows(
            self._lp,
            matrix,
            np.concatenate([program.linear[0], zeros]),
            (np.concatenate([columns[0], -endless]), np.concatenate([columns[1], endless])),
            (
                np.concatenate([form.row_lower, zeros, np.full(self.K + 1, -np.inf)]),
                np.concatenate([form.row_upper, zeros, np.full(self.K + 1, np.inf)]),
            ),
        )
        self._places = np.arange(self.n, self.n + self.r, dtype=np.int32)
        self._others = np.arange(self.n, dtype=np.int32)
        self._changing = [
            (k, side, j)
            for k, side in enumerate(self.secant.tolist())
            for j in np.flatnonzero(self.P[1 + side]).tolist()
        ]
        self._goal = self.m + self.r + self.K
        self._touching = np.zeros(0, dtype=np.int64)  # sides of the tangents
        for side in self.tangent.tolist():
            self._touch_axes(side)

    def solve(self, low: Array, high: Array) -> Solved:
        """The program of a box."""
        lp = self._lp
        self._into(low, high)
        lp.changeColsCost(self.r, self._places, -self.P[0] * (low + high))
        status = self._run()
        for _ in range(TANGENT_ROUNDS if len(self.tangent) else 0):
            if status != "kOptimal" or not self._touch(np.array(lp.getSolution().col_value)):
                break
            status = self._run()
        if status == "kOptimal":
            found = lp.getSolution()
            x, dual = np.array(found.col_value)[: self.n], np.array(found.row_dual)
            prices = self.priced(1.0, dual)
            if len(self._touching) > MOST_TANGENTS:
                self._drop_tangents(dual)
            return Solved(x, prices)
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
        lp, goal = self._lp, self._goal
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
                    if dual[goal] < -NO_PRICE * float(np.abs(dual).max()):
                        yield self.priced(1.0, dual / -dual[goal])
        finally:
            lp.changeRowBounds(goal, -np.inf, np.inf)
            lp.changeColsCost(self.n, self._others, self.program.linear[0])

    def _into(self, low: Array, high: Array) -> None:
        """Bounds and secant rows of a box."""
        lp, middle, first = self._lp, low + high, self.m + self.r
        lp.changeColsBounds(self.r, self._places, low, high)
        for k, side, j in self._changing:
            lp.changeCoeff(first + k, self.n + j, float(self.P[1 + side, j] * middle[j]))
        for k, side in enumerate(self.secant.tolist()):
            end = float(self.P[1 + side] @ (low * high)) - float(self.program.constants[side])
            lp.changeRowBounds(first + k, end, np.inf)

    # --- tangents --------------------------------------------------------------------------------

    def _touch_axes(self, side: int) -> None:
        """Tangents where the axes of a side without a linear part meet it."""
        p, constant = self.P[1 + side], float(self.program.constants[side])
        if self.program.linear[1 + side].any() or not constant > 0:
            return
        for j in np.flatnonzero(p).tolist():
            for sign in (1.0, -1.0):
                self._add_tangent(side, sign * np.sqrt(-constant / p[j]) * np.eye(1, self.r, j)[0])

    def _touch(self, found: Array) -> bool:
        """Add tangents where a point misses convex sides; whether there are any."""
        x, z = found[: self.n], self.V.T @ found[: self.n]
        values, sizes = self.program.sides(x), self.program.size_of_sides(x)
        missed = [k for k in self.tangent.tolist() if values[k] < -MISSED * sizes[k]]
        for k in missed:
            pure = not self.program.linear[1 + k].any() and self.program.constants[k] > 0
            squares = float(-self.P[1 + k] @ (z * z))
            # On the surface itself the tangent is deeper than at the point outside of it.
            scale = np.sqrt(float(self.program.constants[k]) / squares) if pure else 1.0
            self._add_tangent(k, scale * z)
        return bool(missed)

    def _add_tangent(self, side: int, at: Array) -> None:
        """The tangent of a convex side at z = `at`."""
        p = self.P[1 + side]
        line = np.concatenate([self.program.linear[1 + side], 2 * p * at])
        least = float(p @ (at * at)) - float(self.program.constants[side])
        places = np.flatnonzero(line).astype(np.int32)
        self._lp.addRow(least, np.inf, len(places), places, line[places])
        if self._lp.getNumRow() > self._goal + 1 + len(self._touching):  # not so beyond 1e15
            self._touching = np.append(self._touching, side)

    def _drop_tangents(self, dual: Array) -> None:
        """Drop the tangents that have no price at present."""
        idle = np.flatnonzero(dual[self._goal + 1 :] == 0)
        self._lp.deleteRows(len(idle), (self._goal + 1 + idle).astype(np.int32))
        self._touching = np.delete(self._touching, idle)

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
        """What multipliers of all rows of the program prove."""
        m, r, form = self.m, self.r, self.program.form
        y, t = dual[:m], dual[m : m + r]
        w = np.zeros(len(self.program.constants))
        w[self.secant] = np.maximum(dual[m + r : self._goal], 0.0)
        # Multipliers of tangents of a side, together, are one of the side itself.
        np.add.at(w, self._touching, np.maximum(dual[self._goal + 1 :], 0.0))
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
            found = self.priced(0.0, sign * ray)
            if found.bound(low, high) > 0:
                return found
        return None
