"""What floating-point numbers prove about the optimal face of the linear program (13).

Inner products are taken in extended precision where the machine has it, with a bound on their
rounding. Equations that hold to rounding only are made exact by an argument, not by numbers: where
their rows are independent with least singular value s, a residual r is removed by a change of
length at most ||r|| / s, and strict inequalities survive so small a change. Where that fails,
small data are tried in rational arithmetic.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.solvers.rigorous_svm.norm_limit.centred_rows import Rows
from tightmargin.solvers.rigorous_svm.norm_limit.exact import exact_loss, exact_norm, on_their_sides
from tightmargin.solvers.rigorous_svm.norm_limit.optimal_face import sides

Extended = NDArray[Any]  # longdouble, or double for many points
Mask = NDArray[np.bool_]

DOUBLE = float(np.finfo(np.float64).eps)
EXTENDED_LIMIT = 4_000_000  # numbers of the points; above, double precision and wider margins
INSIDE = 1e-7  # of a multiplier in [0, 1] that has room on both sides


class Proofs:
    """Bounds that hold for the points as they are stored.

    Parameters
    ----------
    data : TrainingData or GramData
        A kernel matrix counts as its factor.
    rows : Rows
        Of the data.
    """

    def __init__(self, data: TrainingData | GramData, rows: Rows) -> None:
        self.data, self.rows = data, rows
        factor = np.asarray(data.factor)
        self.real: Any = np.longdouble if factor.size <= EXTENDED_LIMIT else np.float64
        self.eps = float(np.finfo(self.real).eps)
        self.points: Extended = factor.astype(self.real) - rows.centre.astype(self.real)
        sizes = np.abs(factor).max(axis=1, initial=0.0) + np.abs(rows.centre).max(initial=0.0)
        self.rounding = self.eps * np.sqrt(data.d) * sizes  # of a row of self.points, as a length
        self.lengths = np.sqrt((self.points**2).sum(axis=1)).astype(float) + self.rounding
        self.columns = _distinct_columns(factor)

    # --- hyperplanes

    def margins(self, v: Array, c: float) -> tuple[Extended, Array]:
        """u_i = y_i (<w, f_i - centre> + c) and how far rounding can put each off."""
        u = self.data.y * (self.points @ v.astype(self.real) + self.real(c))
        norm = float(np.linalg.norm(v)) * (1 + 1e-12)
        error = (self.data.d + 3) * self.eps * (self.lengths * norm + abs(c)) + self.rounding * norm
        return u, error

    def loss_above(self, v: Array, c: float) -> float:
        """Upper bound on E(w, b)."""
        u, error = self.margins(v, c)
        return _up(math.fsum(np.maximum(0.0, 1 - u + error).astype(float).tolist()), self.data.n)

    def least_margin(self, v: Array, c: float) -> float:
        """Lower bound on min u_i."""
        u, error = self.margins(v, c)
        return _down(float((u - error).min()), 0)

    # --- multipliers

    def residual(self, alpha: Array) -> tuple[float, float]:
        """||sum_i alpha_i y_i (f_i - centre)|| and |y'alpha|, both from above."""
        weights = (self.data.y * alpha).astype(self.real)
        r = weights @ self.points
        mass = float(alpha.sum()) * (1 + 1e-12)
        error = (self.data.n + 3) * self.eps * float(alpha @ self.lengths) * np.sqrt(self.data.d)
        error += float(alpha @ self.rounding)
        rounded = 1 + (self.data.d + 4) * self.eps + 2 * DOUBLE
        length = float(np.sqrt((r**2).sum())) * rounded + error
        return length, abs(float(weights.sum())) + self.data.n * self.eps * mass

    def norm_below(self, alpha: Array, least_loss_above: float) -> float:
        """Lower bound on ||w|| over the face, by weak duality (12).

        sum_i alpha_i - ||w|| ||r|| - |y'alpha| (1 + ||w|| max ||f_i - centre||) is at most E(w, b),
        for an intercept of least loss sits at some y_i - <w, f_i - centre>.
        """
        length, unbalanced = self.residual(alpha)
        reach = float(self.lengths.max(initial=0.0))
        gain = _down(math.fsum(alpha.tolist()), self.data.n) - least_loss_above - unbalanced
        price = length + unbalanced * reach
        return gain / price * (1 - 4 * DOUBLE) if gain > 0 and price > 0 else 0.0

    def loss_below(self, alpha: Array) -> float | None:
        """Lower bound on E0 from multipliers that satisfy (10) to rounding; None without a proof.

        Multipliers inside (0, 1) can move: where their columns span all equations, exact ones
        within the box are near.
        """
        length, unbalanced = self.residual(alpha)
        exact = exact_loss(self.data, alpha)
        if exact is not None:
            return _down(exact, self.data.n)
        inside = (alpha > INSIDE) & (alpha < 1 - INSIDE)
        if len(self.columns) + 1 > int(inside.sum()):
            return None
        least = self._least_singular(inside)
        if least <= 0:
            return None
        scale = self.rows.scale or 1.0
        move = float(np.hypot(length / scale, unbalanced)) / least
        room = float(np.minimum(alpha, 1 - alpha)[inside].min())
        if not move < room:
            return None
        bound = math.fsum(alpha.tolist()) - move * math.sqrt(float(inside.sum()))
        return max(0.0, _down(bound, self.data.n))

    def loss_within(self, alpha: Array, norm: float) -> float:
        """Lower bound on E(w, b) over ||w|| <= norm, by weak duality (12)."""
        length, unbalanced = self.residual(alpha)
        reach = float(self.lengths.max(initial=0.0))
        off = length * norm + unbalanced * (1 + norm * reach)
        return max(0.0, _down(math.fsum(alpha.tolist()) - off * (1 + 8 * DOUBLE), self.data.n))

    def norm_above(self, alpha: Array, v: Array, c: float, touched: Mask) -> float | None:
        """Upper bound on the least norm of the face that alpha describes; None without a proof.

        Multipliers that `loss_below` moves stay inside, so they describe the same face. A point of
        it is (w, b) itself, or near it where the touched rows are independent and the others open.
        """
        side = sides(alpha)
        norm = float(np.linalg.norm(v)) * (1 + 4 * DOUBLE)
        u, error = self.margins(v, c)
        doubtful = np.flatnonzero(np.abs(u - 1) <= error)
        clear = np.setdiff1d(np.arange(self.data.n), doubtful)
        if not bool((side[clear] * (u[clear] - 1) > 0).all()):
            return self._norm_beside(side, u, error, norm, touched)
        unmoved = not (v.any() and self.rows.centre.any())
        b = c - float(v @ self.rows.centre)
        if unmoved and on_their_sides(self.data, side, v, b, doubtful):
            return norm
        return self._norm_beside(side, u, error, norm, touched)

    def _norm_beside(
        self, side: NDArray[np.int8], u: Extended, error: Array, norm: float, touched: Mask
    ) -> float | None:
        """Norm of a point of the face that is not (w, b) itself."""
        near = self._first_of_equal(touched | (side == 0))
        found = self._norm_near(side, near, u, error, norm)
        return exact_norm(self.data, self.rows, side, near) if found is None else found

    def _first_of_equal(self, members: Mask) -> Mask:
        """Without points that are there twice."""
        index = np.flatnonzero(members)
        signed = np.column_stack([np.asarray(self.data.factor)[index], self.data.y[index]])
        _, first = np.unique(signed, axis=0, return_index=True)
        chosen = np.zeros(self.data.n, dtype=bool)
        chosen[index[first]] = True
        return chosen

    def _norm_near(
        self, side: NDArray[np.int8], near: Mask, u: Extended, error: Array, norm: float
    ) -> float | None:
        """Norm of a point of the face near (w, b), where the rows it touches are independent."""
        if not 0 < int(near.sum()) <= len(self.columns) + 1:
            return None
        least = self._least_singular(near)
        if least <= 0:
            return None
        scale = self.rows.scale or 1.0
        off = (np.abs(u - 1) + error)[near].astype(float)
        move = float(np.linalg.norm(off)) * (1 + 1e-12) / least  # of (scale w, c)
        others = ~self._equal_to(near)
        room = (side * (u - 1) - error)[others].astype(float)
        needed = move * np.sqrt((self.lengths[others] / scale) ** 2 + 1)
        return norm + move / scale if bool((room >= needed).all()) else None

    def _equal_to(self, near: Mask) -> Mask:
        """Points that are one of some points, with its label."""
        signed = np.column_stack([np.asarray(self.data.factor), self.data.y])
        _, group = np.unique(signed, axis=0, return_inverse=True)
        return np.isin(group, group[near])

    def _least_singular(self, members: Mask) -> float:
        """Lower bound on the least singular value of the rows (g_i, 1) of some points.

        It is 0 where rounding cannot exclude 0. Columns that are constant, or there twice, add no
        equation to y'alpha = 0 and F'(y o alpha) = 0, and none is needed to move (w, b).
        """
        some = self.rows.points[np.ix_(members, self.columns)]
        chosen = np.column_stack([some, np.ones(len(some))])
        sigma = np.linalg.svd(chosen, compute_uv=False)
        noise = 64 * DOUBLE * math.sqrt(chosen.size) * float(sigma[0])
        scale = self.rows.scale or 1.0
        stored = float(self.rounding.max(initial=0.0)) / self.eps * DOUBLE / scale
        noise += 8 * stored * math.sqrt(float(members.sum()))
        return max(0.0, float(sigma[-1]) - noise)


def _distinct_columns(factor: Array) -> NDArray[np.intp]:
    """First of each set of equal columns, without those of equal entries."""
    if not factor.shape[1]:
        return np.zeros(0, dtype=np.intp)
    _, first = np.unique(factor, axis=1, return_index=True)
    first = np.sort(first)
    return first[np.ptp(factor[:, first], axis=0) > 0]


def _down(value: float, n: int) -> float:
    return value - 4 * DOUBLE * abs(value) - n * 1e-300


def _up(value: float, n: int) -> float:
    return value + 4 * DOUBLE * abs(value) + n * 1e-300
