"""Branch and cut over boxes of the directions in which the model is concave.

Best bound first. A box is bounded by the program with secants (node_program.py); its multipliers
cut pieces off it (range_reduction.py) before it is split at its minimiser, in the direction where
secant and square are farthest apart there. Incumbents are vertices that local search reaches from
the minimisers. What it ends with is a cover that the kernel checks, leaf by leaf.
"""

from __future__ import annotations

import heapq
import math
import time
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np

from tightmargin.cuts.concave.growing_cover import GrowingCover
from tightmargin.cuts.concave.node_program import NodeProgram, Prices
from tightmargin.cuts.concave.points.incumbent import Incumbent
from tightmargin.cuts.concave.range_reduction import Piece, pieces
from tightmargin.cuts.concave.reading import ConcaveProgram
from tightmargin.cuts.concave.root_box import RootBox
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.engines.running import MEMORY, NODE, CtrlC, StopReason
from tightmargin.solvers.kernel.statement import FeasiblePoint
from tightmargin.solvers.model.claim import Progress

OFTEN, SELDOM = 50, 16  # boxes whose minimiser starts a local search: the first ones, and every
EXTENTS = 2  # directions of a box that are bounded so, those with most to gain

CUT_OFF = 1e-6  # of the width: a minimiser so far outside is no place to split at
WORTH_A_SOLVE = 0.2  # of the width of a box: a piece cut off that is worth solving it again
PARTED = 0.05  # of the width: a piece inside that is worth two boxes
MIDDLE = 0.5  # a split is between the minimiser and the middle
EDGE = 0.1  # of the width: a split keeps so far from the ends
NOTHING = 1e-9  # of the objective: secants that are so near leave nothing to split
THINNEST = 1e-12  # of the largest coordinate: boxes that are not split any more


@dataclass(frozen=True, eq=False)
class Found:
    """Where a search ended.

    x (n,): the best point, feasible to rounding.
    point: the same, proven feasible.
    value: its objective without the constant; infinity without a point.
    lower: the least bound of a leaf, in floating point.
    """

    x: Array | None
    point: FeasiblePoint | None
    value: float
    cover: GrowingCover
    lower: float
    nodes: int
    solves: int
    stop: StopReason
    progress: Progress


@dataclass(order=True)
class _Open:
    """A box that is to be looked at, the one of the least bound first."""

    bound: float
    node: int
    low: Array = field(compare=False)
    high: Array = field(compare=False)


class BoxSearch:
    """One search; `run` does all of it.

    root: bounded.
    absolute_gap: a gap of so much is closed too.
    """

    def __init__(
        self,
        program: ConcaveProgram,
        root: RootBox,
        *,
        absolute_gap: float = 0.0,
        seed: int = 0,
        start: Array | None = None,
    ) -> None:
        self.program, self.root = program, root
        self.best = Incumbent(program, root, absolute_gap=absolute_gap, seed=seed, start=start)
        self.nodes = NodeProgram(program, root.columns)
        self.cover = GrowingCover()
        self.count = 0
        self.open: list[_Open] = []
        self.closed = math.inf  # least bound of a leaf that is closed
        self.progress = Progress()

    @property
    def target(self) -> float:
        """What the bound of a closed leaf has to reach."""
        return self.best.target

    def run(self, *, time_limit: float | None = None, node_limit: int | None = None) -> Found:
        """Search until every leaf is closed, or a limit."""
        end = math.inf if time_limit is None else time.perf_counter() + time_limit
        columns, rows = self.program.form.n, len(self.program.form.rows)
        most = MEMORY // (NODE + columns + rows)
        ctrl_c = CtrlC()
        with ctrl_c.listening():
            if not self.best.is_known:
                self.best.seek(end)
            self.open = [_Open(-math.inf, 0, *self.root.directions)]
            stop = StopReason.PROVEN
            while self.open:
                if self.open[0].bound >= self.target:
                    break
                if ctrl_c.asked:
                    stop = StopReason.INTERRUPTED
                elif time.perf_counter() > end and self.count:
                    stop = StopReason.TIME_LIMIT
                elif node_limit is not None and self.count >= node_limit:
                    stop = StopReason.NODE_LIMIT
                elif self.count > most:
                    stop = StopReason.MEMORY_LIMIT
                if stop is not StopReason.PROVEN:
                    break
                self._visit(heapq.heappop(self.open))
                self._note()
        lower = self.lower
        if stop is StopReason.PROVEN and lower < self.target:
            stop = StopReason.NUMERICAL
        best, solves = self.best, self.nodes.solves + self.best.local.solves
        return Found(
            best.x if best.is_known else None, best.point, best.value, self.cover,
            lower, self.count, solves, stop, self.progress,
        )  # fmt: skip

    @property
    def lower(self) -> float:
        """Least bound of all leaves."""
        return min(self.closed, self.open[0].bound if self.open else math.inf)

    def _note(self) -> None:
        constant = self.program.form.objective.constant
        self.progress.add(self.lower + constant, self.best.value + constant)

    # --- boxes -----------------------------------------------------------------------------------

    def _visit(self, box: _Open) -> None:
        """Bound a box, and split what is left of it."""
        self.count += 1
        node, low, high = box.node, box.low, box.high
        solved = self.nodes.solve(low, high)
        prices = solved.prices
        if prices is None:
            self._without_prices(box)
            return
        choice = self.cover.known(prices)
        if prices.mu == 0:
            self.cover.close(node, choice)
            return
        x = solved.x
        assert x is not None
        if self.count <= OFTEN or self.count % SELDOM == 0 or self._is_better(x):
            self.best.look_from(x)
        bound = prices.bound(low, high)
        if bound > box.bound:
            self.cover.close(node, choice)
        bound = max(bound, box.bound)
        if bound >= self.target:
            self.closed = min(self.closed, bound)
            return
        node, low, high, inside = self._shrunk(node, low, high, prices, choice)
        if self.best.is_known:
            inside = {}
            left = self._tightened(node, low, high, prices, x)
            if left is None:
                return
            node, low, high = left
        width = box.high - box.low
        with np.errstate(invalid="ignore", divide="ignore"):
            gone = np.where(width > 0, (high - low) / width, 1.0)
        if gone.min(initial=1.0) <= 1 - WORTH_A_SOLVE:
            heapq.heappush(self.open, _Open(bound, node, low, high))
            return
        self._split(_Open(bound, node, low, high), x, prices, choice, inside)

    def _is_better(self, x: Array) -> bool:
        return not self._missed(x).any() and self.program.value(x) < self.best.value

    def _missed(self, x: Array) -> Array:
        """Which reverse convex rows (K,) a point misses, as 0 and 1."""
        return np.asarray(self.program.sides(x) < 0, dtype=np.float64)

    def _without_prices(self, box: _Open) -> None:
        """Split a box that HiGHS said nothing of, so that nothing depends on it."""
        width = box.high - box.low
        j = int(np.argmax(width))
        if self._is_thin(box, j) or self.cover.choice[box.node] < 0:
            self.closed = min(self.closed, box.bound)
            return
        self._halves(box, j, box.low[j] + width[j] / 2, self.cover.choice[box.node])

    def _is_thin(self, box: _Open, j: int) -> bool:
        largest = max(abs(float(box.low[j])), abs(float(box.high[j])))
        return bool(box.high[j] - box.low[j] <= THINNEST * largest)

    def _shrunk(
        self, node: int, low: Array, high: Array, prices: Prices, choice: int
    ) -> tuple[int, Array, Array, dict[int, Piece]]:
        """The box without pieces at its ends, and the pieces inside it by their direction."""
        low, high = low.copy(), high.copy()
        inside: dict[int, Piece] = {}
        bound = prices.bound(low, high)
        for piece in pieces(prices, low, high, self.target):
            j = piece.axis
            if piece.start <= low[j] and piece.end >= high[j]:
                continue  # the whole box: the bound is at the target but for rounding
            if piece.start <= low[j]:
                closed, node = self.cover.split(node, j, piece.end, self.cover.choice[node])
                low[j] = piece.end
            elif piece.end >= high[j]:
                node, closed = self.cover.split(node, j, piece.start, self.cover.choice[node])
                high[j] = piece.start
            else:
                if piece.end - piece.start > PARTED * (high[j] - low[j]):
                    inside[j] = piece
                continue
            self._close(closed, choice, bound)
        return node, low, high, inside

    def _tightened(
        self, node: int, low: Array, high: Array, prices: Prices, x: Array
    ) -> tuple[int, Array, Array] | None:
        """The box without what the extents of directions close; None where that is all of it."""
        z = np.clip(self.program.directions.vectors.T @ x, low, high)
        missing = np.maximum(prices.weights, 0.0) * (z - low) * (high - z)
        axes = np.argsort(-missing, kind="stable")[:EXTENTS].tolist()
        with closing(self.nodes.extents(low, high, self.target, axes)) as extents:
            for prices in extents:
                if prices.bound(low, high) >= self.target:
                    self._close(node, self.cover.known(prices), self.target)
                    return None
                if not pieces(prices, low, high, self.target):
                    continue
                choice = self.cover.known(prices)
                node, low, high, _ = self._shrunk(node, low, high, prices, choice)
        return node, low, high

    def _close(self, node: int, choice: int, bound: float) -> None:
        """Note a piece that the multipliers close: its bound is the target."""
        self.cover.close(node, choice)
        self.closed = min(self.closed, max(bound, self.target))

    def _split(
        self, box: _Open, x: Array, prices: Prices, choice: int, inside: dict[int, Piece]
    ) -> None:
        """Split in the direction where secant and square are farthest apart at the minimiser."""
        z = np.clip(self.program.directions.vectors.T @ x, box.low, box.high)
        width = box.high - box.low
        apart = (z - box.low) * (box.high - z)
        missing = np.maximum(prices.weights, 0.0) * apart
        if not missing.sum() > NOTHING * (abs(self.best.value) if self.best.is_known else 1.0):
            # A row without a price is met by its secants, and perhaps not by its squares.
            missing = self._missed(x) @ np.abs(self.nodes.P[1:]) * apart
        was = self.program.directions.vectors.T @ x
        if (np.abs(was - z) > CUT_OFF * width).any():
            missing = (
                self.nodes.P.max(axis=0) * width**2
            )  # the minimiser is not in the box any more
        j = int(np.argmax(missing))
        if not missing[j] > 0 or self._is_thin(box, j):
            self.closed = min(self.closed, box.bound)
            return
        if j in inside:
            piece = inside[j]
            own = self.cover.choice[box.node]
            below, rest = self.cover.split(box.node, j, piece.start, own)
            closed, above = self.cover.split(rest, j, piece.end, own)
            self._close(closed, choice, box.bound)
            self._push(box, j, below, above, piece.start, piece.end)
            return
        middle = box.low[j] + width[j] / 2
        at = MIDDLE * middle + (1 - MIDDLE) * z[j]
        at = min(max(at, box.low[j] + EDGE * width[j]), box.high[j] - EDGE * width[j])
        self._halves(box, j, float(at), choice)

    def _halves(self, box: _Open, j: int, at: float, choice: int) -> None:
        below, above = self.cover.split(box.node, j, float(at), self.cover.choice[box.node])
        self._push(box, j, below, above, float(at), float(at))

    def _push(self, box: _Open, j: int, below: int, above: int, end: float, start: float) -> None:
        """Children z_j <= end and z_j >= start."""
        high, low = box.high.copy(), box.low.copy()
        high[j], low[j] = end, start
        heapq.heappush(self.open, _Open(box.bound, below, box.low, high))
        heapq.heappush(self.open, _Open(box.bound, above, low, box.high))
