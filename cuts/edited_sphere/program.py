"""The linear program of a box with rows besides: min -nu rho + c'xi over (w, b, rho, xi).

Rows besides are about variables that the dual of node_program.py has eliminated, so that this
program keeps them. Each of them, and the secant row, may be missed at a price: a program always has
a point, and multipliers that are no larger than the price. They are all that a bound is made of.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from tightmargin.cuts.simplex import new_highs
from tightmargin.cuts.spatial_branching.node_bound import Multipliers, SideRows, proven_bound
from tightmargin.cuts.spatial_branching.node_program import (
    LARGEST,
    BoxLP,
    Solved,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.support_function import ReducedHulls

MISSED = 1e-9  # in units: rows that are missed by more have no point in common


class SideProgram(BoxLP):
    """The programs of all nodes of an edited model, one after the other; rays are those of U."""

    def __init__(self, hulls: ReducedHulls, side: SideRows, seed: int = 0) -> None:
        super().__init__(hulls, seed)
        self.side, self._lp = side, new_highs(seed)
        n, k, m = self.n, self.k, len(side.most)
        free = [hulls.y[:, None]] if hulls.free else []
        of_b = [side.of_b[:, None]] if hulls.free else []
        margins = [hulls.signed, *free, -np.ones((n, 1)), np.eye(n), np.zeros((n, m + 1))]
        beside = [side.of_weight, *of_b, side.of_rho[:, None], side.of_xi, np.zeros((m, 1)),
                  -np.eye(m)]  # fmt: skip
        width = k + len(free) + 1 + n + 1 + m
        secant = np.zeros((1, width))
        secant[0, :k], secant[0, width - m - 1] = 1.0, 1.0
        rows = sp.csr_matrix(np.vstack([np.hstack(margins), secant, np.hstack(beside)]))
        self._b, self._rho, self._xi = k, k + len(free), k + len(free) + 1
        costs = np.zeros(width)
        costs[self._rho] = -hulls.nu
        costs[self._xi : self._xi + n] = hulls.caps
        costs[self._xi + n :] = LARGEST
        self._costs = costs
        lower, upper = np.full(width, -np.inf), np.full(width, np.inf)
        lower[self._xi :] = 0.0
        self._lp.passModel(
            width, n + 1 + m, rows.nnz, 2, 1, 0.0, costs, lower, upper,
            np.r_[np.zeros(n), -np.inf, np.full(m, -np.inf)],
            np.r_[np.full(n + 1, np.inf), side.most],
            rows.indptr.astype(np.int32), rows.indices.astype(np.int32), rows.data,
            np.zeros(width, dtype=np.int32),
        )  # fmt: skip
        self._weights = np.arange(k, dtype=np.int32)

    def solve(self, lower: Array, upper: Array, level: float, hint: Array | None = None) -> Solved:
        """The program of a box; `level` and `hint` are of no use here."""
        x, duals = self._answer(lower, upper, lower + upper, 1.0 + float(lower @ upper))
        n = self.n
        found = Multipliers(
            np.maximum(duals[:n], 0.0), max(float(duals[n]), 0.0), np.zeros(len(self.rows.sides)),
            np.maximum(-duals[n + 1 :], 0.0),
        )  # fmt: skip
        bound = proven_bound(
            self.hulls, self.size, found, (lower, upper), self.rows, level, self.side
        )
        return Solved(bound, x[: self.k])

    def best_levels(self, weight: Array, most: Array) -> tuple[dict[str, Array] | None, float]:
        """The best (w, b, rho, xi) for a weight (k,), None where rows are missed; with its price.

        That is the objective and what is paid for missed rows.

        Parameters
        ----------
        most : array (m,)
            Sides of the rows besides, for this program alone.
        """
        self._sides(np.where(self.side.has_levels, most, self.side.most))
        x, _ = self._answer(weight, weight, np.zeros(self.k), -np.inf)
        self._sides(self.side.most)
        return self._point(x), float(self._costs @ x)

    def step(self, weight: Array, reach: float, most: Array) -> Array | None:
        """A weight of the least price near one of norm 1, on the plane that touches there.

        Parameters
        ----------
        reach : float
            How far each coordinate may go.
        most : array (m,)
            Sides of the rows besides, for this program alone.
        """
        self._sides(most)
        x, _ = self._answer(weight - reach, weight + reach, weight, 1.0)
        self._sides(self.side.most)
        return x[: self.k] if np.isfinite(x).all() else None

    def _sides(self, most: Array) -> None:
        for j, side in enumerate(most.tolist()):
            self._lp.changeRowBounds(self.n + 1 + j, -np.inf, side)

    def _point(self, x: Array) -> dict[str, Array] | None:
        missed = x[self._xi + self.n :]
        if not np.isfinite(x).all() or float(missed.max(initial=0.0)) > MISSED:
            return None
        b = x[self._b] if self.hulls.free else 0.0
        return {
            "w": x[: self.k], "b": np.array(b), "rho": np.array(x[self._rho]),
            "xi": x[self._xi : self._xi + self.n],
        }  # fmt: skip

    def _answer(self, lower: Array, upper: Array, row: Array, least: float) -> tuple[Array, Array]:
        """Solution and multipliers of rows; nan and 0 where there are none."""
        lp = self._lp
        lp.changeColsBounds(self.k, self._weights, lower, upper)
        for j, number in enumerate(row.tolist()):
            lp.changeCoeff(self.n, j, number)
        lp.changeRowBounds(self.n, least, np.inf)
        self.solves += 1
        lp.run()
        if lp.getModelStatus().name != "kOptimal":
            # A warm start sometimes fails where a cold one does not.
            lp.clearSolver()
            lp.run()
        found: Any = lp.getSolution()
        x, duals = np.array(found.col_value), np.array(found.row_dual)
        if lp.getModelStatus().name != "kOptimal" or not np.isfinite([*x, *duals]).all():
            return np.full(lp.getNumCol(), np.nan), np.zeros(lp.getNumRow())
        return x, duals
