"""Which column a node is split on: pseudo-costs that strong branching starts.

Pseudo-costs (Benichou et al., Experiments in mixed-integer linear programming, Mathematical
Programming 1, 1971) are the mean growth of the bound per unit of distance, of each column and
side; a column with fewer than a few of them is tried out, as in reliability branching (Achterberg,
Koch & Martin, Branching rules revisited, Operations Research Letters 33, 2005).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.proofs.tree.rows import Rows

RELIABLE = 4  # trials of a column and side
WHOLE = 1e-6
LEAST_NORM = 1e-3  # of the continuous part of a row
NEGLIGIBLE = 1e-6  # share of what is missing to the cutoff that a growth counts for at least


class PseudoCosts:
    """Mean growth of the bound per unit, by side (0 below, 1 above) and column."""

    def __init__(self, n: int) -> None:
        self._sums = np.zeros((2, n))
        self._counts = np.zeros((2, n), dtype=np.int64)

    def add(self, side: int, column: int, growth: float, distance: float) -> None:
        """Note how much a bound grew."""
        if not np.isfinite(growth):
            return
        self._sums[side, column] += max(0.0, growth) / max(distance, WHOLE)
        self._counts[side, column] += 1

    def expected(self, side: int, columns: Index, distances: Array) -> Array:
        """Growth to be expected; the mean of all columns where one has none of its own."""
        counts = self._counts[side, columns]
        mean = self._sums[side].sum() / max(1, self._counts[side].sum())
        own = np.where(counts > 0, self._sums[side, columns] / np.maximum(1, counts), mean)
        return np.asarray(own * distances)

    def is_known(self, side: int, column: int) -> bool:
        """Whether a column needs no more trials."""
        return bool(self._counts[side, column] >= RELIABLE)

    @property
    def empty(self) -> bool:
        """Whether nothing is known yet."""
        return not self._counts.any()


class Urgency:
    """How much moving single columns to a whole number breaks, over the linear rows.

    Parameters
    ----------
    rows : Rows
    live : array (m,) of bool
        Rows that count.
    """

    def __init__(self, rows: Rows, live: NDArray[np.bool_]) -> None:
        self._rows, self._columns = rows, rows.whole
        lines = rows.lines.copy()
        lines.data = np.where(rows.integer[lines.indices], 0.0, lines.data)
        norms = np.sqrt(np.asarray(lines.multiply(lines).sum(axis=1)).ravel())
        linear = np.zeros(len(rows.conic.b), dtype=bool)
        for block in rows.conic.blocks_of("nonneg"):
            linear[block.rows] = True
        scale = np.where(linear & live, 1 / np.maximum(norms, LEAST_NORM), 0.0)
        entries = rows.conic.A[:, rows.whole].tocoo()
        used = scale[entries.row] > 0
        self._row, self._column = entries.row[used], entries.col[used]
        self._entries, self._scale = entries.data[used], scale[entries.row[used]]

    def at(self, x: Array) -> Array:
        """The larger one of both directions, of each column (k,)."""
        slack = (self._rows.conic.b - self._rows.matrices[1].T @ x)[self._row]
        base = np.maximum(0.0, -slack)
        here = x[self._columns]
        sides = []
        for moves in (np.floor(here) - here, np.ceil(here) - here):
            missed = np.maximum(0.0, self._entries * moves[self._column] - slack) - base
            sides.append(np.bincount(self._column, missed * self._scale, len(self._columns)))
        return np.maximum(*sides)


def chosen(
    costs: PseudoCosts,
    columns: Index,
    x: Array,
    urgency: Array,
    room: float,
    growth: Callable[[int, int], float],
    tries: int,
) -> int:
    """The column to branch on.

    Parameters
    ----------
    columns : array
        Integer columns that are not fixed.
    urgency : array
        What moving each of them to a whole number breaks.
    room : float
        What is missing to the cutoff.
    growth : callable(column, side) -> float
        Solves a child and says how much its bound grows.
    tries : int
        Columns that are tried out at most.
    """
    down, up = x[columns] - np.floor(x[columns]), np.ceil(x[columns]) - x[columns]
    away = np.minimum(down, up)
    broken = np.where(away > WHOLE, urgency, 0.0)
    if not (away > WHOLE).any():
        return int(columns[0])
    if broken.max() <= 0:
        broken = away
    score = broken
    if not costs.empty:
        below, above = costs.expected(0, columns, down), costs.expected(1, columns, up)
        score = np.maximum(below, NEGLIGIBLE) * np.maximum(above, NEGLIGIBLE) * (away > WHOLE)
    first = np.argsort(-score, kind="stable")[: max(1, tries // 2)]
    second = np.argsort(-broken, kind="stable")[:tries]
    candidates = [c for c in dict.fromkeys([*first, *second]) if away[c] > WHOLE][:tries]
    best, where = -1.0, int(columns[int(np.argmax(broken))])
    for c in candidates:
        j = int(columns[c])
        gains = []
        for side, distance in ((0, down[c]), (1, up[c])):
            if costs.is_known(side, j):
                one = np.array([j]), np.array([distance])
                gains.append(float(costs.expected(side, *one)[0]))
                continue
            gain = growth(j, side)
            costs.add(side, j, gain, float(distance))
            gains.append(gain)
        product = float(np.prod([np.clip(gain, NEGLIGIBLE * room, room) for gain in gains]))
        if product > best:
            best, where = product, j
    return where


def half(low: Array, high: Array, x: Array, column: int, side: int) -> tuple[Array, Array]:
    """The box on one side of a column."""
    at = min(max(math.floor(x[column]), low[column]), high[column] - 1)
    low, high = low.copy(), high.copy()
    if side == 0:
        high[column] = at
    else:
        low[column] = at + 1
    return low, high
