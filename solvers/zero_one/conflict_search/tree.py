"""The tree of the conflict search: open nodes, least bound first, and the best hyperplane."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from copy import copy
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.zero_one.loss import EPS, margins
from tightmargin.solvers.zero_one.conflict_search.dual_active_set import empty_sets
from tightmargin.solvers.zero_one.conflict_search.incumbents import BETTER, NEAR, BestPlane
from tightmargin.solvers.zero_one.conflict_search.node_bounds import Bounded, Nodes, bounded
from tightmargin.solvers.zero_one.conflict_search.packed_nodes import packed_node, unpacked_nodes
from tightmargin.solvers.zero_one.conflict_search.result import TracePoint
from tightmargin.solvers.zero_one.conflict_search.side_rows import SideRows
from tightmargin.solvers.zero_one.conflict_search.signed_points import signed_points
from tightmargin.solvers.zero_one.enumeration.incumbent import zero_one_incumbent

Mask = NDArray[np.bool_]

BATCH = 256  # nodes at a time: fewer leave the interpreter waiting more
NUMBERS = 8_000_000  # of the largest array of a batch
ENTRIES = 150_000  # of all Gram matrices of a batch, which a time limit waits for
ROUNDED = 8 * EPS  # of the sums of a node and of its target; norms are rounded down already
RAISED, RAISES = 16.0, 8  # of a cutoff that no point is below, and how often
FIRST_LOOK = 500  # nodes, when better points are looked for elsewhere
LOOKING = 0.25  # of the time that is left, for good points
AGAIN, OFTEN = 4, 50_000  # and again when there are so many times, or so many more
NEAREST, MORE = 40, 20  # points to the margin that are free around a hyperplane; the next time more
LEAST_ROOM, ROOM = 250, 0.04  # nodes around one, and their share of all
TRACED = 400


OpenNode: TypeAlias = tuple[float, int, int, bytes]


class Tree:
    """The open nodes, and the best point so far.

    A node is (bound, number, bytes): the bytes hold its kept and violated points as bits and the
    members of its working set, since there may be a million of them.
    """

    def __init__(
        self,
        data: TrainingData,
        penalty: float,
        intercept: str,
        gap: float,
        side: SideRows,
        compiled_after: float = np.inf,
        shift: float = 0.0,
    ) -> None:
        self.compiled_after = compiled_after
        self.data, self.penalty, self.intercept = data, penalty, intercept
        self.gap, self.side = gap, side
        # A model adds up what points that are paid for cost, one by one.
        self.rounded = ROUNDED + EPS * int(side.paid.sum())
        self.points = signed_points(data, intercept=intercept, side=side, shift=shift)
        self.best = BestPlane(data, penalty, intercept, self.side)
        self.cutoff, self.raised = np.inf, 0
        largest = self.points.largest
        most = min(NUMBERS // (largest * max(largest, data.n)), ENTRIES // largest**2)
        self.width = max(1, min(BATCH, most))
        self.heap: list[OpenNode] = []
        self.batch: list[OpenNode] = []
        self.lent: list[float] = []  # bounds of nodes that others search below
        self.leaves = np.inf  # least bound of a node without a free point
        self.nodes = self.steps = self.numbered = 0
        self.rooted, self.proven = False, 0.0
        self.parts = 1  # of the points, whose bounds add up to what is proven
        self.until = np.inf  # of time.monotonic(), what goes beyond the root
        self.seed, self.next_look = 0, FIRST_LOOK
        self.trace: list[TracePoint] = []

    def start(self, incumbent: tuple[Array, float] | None) -> None:
        """Take the best hyperplane that is known, or a cutoff where there is none."""
        if incumbent is None:
            incumbent = self._heuristic()
        w, b = np.asarray(incumbent[0], dtype=float), float(incumbent[1])
        self.best.start(self.points, w, b)
        if np.isinf(self.objective):
            self.cutoff = self.penalty * self.data.n + float(w @ w)
        elif self.intercept == "free" and not self.side.empty:
            # The square that b costs while multipliers are sought is then small at the optimum.
            shift = self.best.b + float(self.points.centre @ self.best.w)
            self.points = signed_points(
                self.data, intercept=self.intercept, side=self.side, shift=shift
            )

    def _heuristic(self) -> tuple[Array, float]:
        left = self.until - time.monotonic()
        found = zero_one_incumbent(
            self.data, penalty=self.penalty, intercept=self.intercept, seed=self.seed,
            time_limit=None if np.isinf(left) else max(LOOKING * left, 0.0),
        )  # fmt: skip
        return found.w, found.b

    @property
    def objective(self) -> float:
        """Of the best hyperplane."""
        return self.best.objective

    @property
    def target(self) -> float:
        """Bounds from here on close a node."""
        least = min(self.objective, self.cutoff)
        return least - self.gap * (least - self.side.constant)

    @property
    def suspects(self) -> Mask:
        """Points that the best hyperplane violates; side rows are none."""
        return np.r_[self.best.given_up, np.zeros(len(self.points.right) - self.data.n, dtype=bool)]

    @property
    def bound(self) -> float:
        """Least bound over all open nodes, the best so far; what was pruned reached some target."""
        if self.rooted:
            waiting = [node[0] for node in (*self.batch, *self.heap[:1])]
            least = min([self.target, self.leaves, *waiting, *self.lent])
            if least > self.proven:
                self.proven, self.parts = least, 1
        return min(self.proven, self.objective) * (1 - self.rounded)

    def note(
        self, seconds: float, progress: Callable[[TracePoint], None], *, last_one: bool = False
    ) -> None:
        """Add to the trace when the bound or the incumbent moved."""
        now = TracePoint(seconds, self.nodes, self.bound, self.objective)
        if self.trace and not last_one:
            last = self.trace[-1]
            moved = now.bound - last.bound > (now.objective / TRACED)
            if not moved and now.objective == last.objective:
                return
        self.trace.append(now)
        progress(now)

    def root(self) -> None:
        """Bound the node without any decision of the search."""
        self._root(self.side.kept, self.side.paid)

    def _root(self, keeping: Mask, paying: Mask) -> None:
        rows = len(self.points.right) - self.data.n
        kept = np.r_[keeping, np.ones(rows, dtype=bool)][None, :]
        violated = np.r_[paying, np.zeros(rows, dtype=bool)][None, :]
        self._add(Nodes(kept, violated, empty_sets(self.points, 1)), np.zeros(1), np.inf)
        self.rooted = True

    def raise_cutoff(self) -> bool:
        """Search again below a higher cutoff where no point below the last one is known."""
        found = np.isfinite(self.objective)
        if self.cutoff >= self.objective or (self.raised == RAISES and not found):
            return False
        self.proven, self.rooted = self.bound, False
        self.raised += 1
        self.cutoff = np.inf if found else self.cutoff * RAISED
        self.leaves = np.inf
        self.root()
        return self.select() or self.raise_cutoff()

    def more(self) -> bool:
        """Whether there are nodes to split; a cutoff without a point below it is raised."""
        return self.select() or self.raise_cutoff()

    def go(self) -> None:
        """Split the selected nodes, and rarely look for better points elsewhere."""
        self.expand()
        if self.nodes >= self.next_look:
            self.look_elsewhere()

    def select(self) -> bool:
        """Take the open nodes with the least bounds; False when none is left below the target."""
        self.batch = []
        while self.heap and len(self.batch) < self.width and self.heap[0][0] < self.target:
            self.batch.append(self.heap[0])  # first, so that an interrupt loses no node
            heapq.heappop(self.heap)
        return bool(self.batch)

    @property
    def open(self) -> list[OpenNode]:
        """All nodes that may hold a better point."""
        return [node for node in (*self.batch, *self.heap) if node[0] < self.target]

    def adopt(self, nodes: list[OpenNode], cutoff: float) -> None:
        """Go on with the nodes of another tree of the same problem."""
        self.heap, self.cutoff, self.rooted = nodes, cutoff, True
        heapq.heapify(self.heap)

    def weakest(self, many: int) -> list[OpenNode]:
        """Take out open nodes, least bound first."""
        taken: list[OpenNode] = []
        while self.heap and len(taken) < many and self.heap[0][0] < self.target:
            taken.append(heapq.heappop(self.heap))
        return taken

    def expand(self) -> None:
        """Split the selected nodes: their point is kept in one half and violated in the other.

        Raises
        ------
        OutOfTimeError
            The nodes are as open as before.
        """
        nodes = unpacked_nodes(self.points, [node[3] for node in self.batch])
        branch = np.array([node[2] for node in self.batch])
        each = np.arange(len(branch))
        kept, violated = nodes.kept.copy(), nodes.violated.copy()
        kept[each, branch] = True
        violated[each, branch] = True
        bounds = np.array([node[0] for node in self.batch])
        twice = np.r_[each, each]
        self._add(
            Nodes(
                np.vstack([kept, nodes.kept]),
                np.vstack([nodes.violated, violated]),
                nodes.sets.take(twice),
            ),
            bounds[twice],
            self.until,
        )
        self.batch = []

    def _bounding(self) -> Callable[..., Bounded]:
        if self.nodes < self.compiled_after:
            return bounded
        # numba is optional.
        from tightmargin.solvers.zero_one.conflict_search.compiled.nodes import (
            bounded as compiled,
        )

        return compiled

    def _add(self, nodes: Nodes, inherited: Array, until: float) -> None:
        """Bound new nodes and keep those that may hold a better point."""
        found = self._bounding()(
            self.points, nodes, penalty=self.penalty, target=self.target, suspects=self.suspects,
            until=until,
        )  # fmt: skip
        new: list[OpenNode] = []
        leaves = self.leaves
        bound = np.maximum(found.bound, inherited)
        for k in np.flatnonzero(np.isfinite(found.bound)).tolist():
            if found.branch[k] < 0:
                leaves = min(leaves, float(bound[k]))
            else:
                self.numbered += 1
                record = packed_node(found.nodes, k)
                new.append((float(bound[k]), self.numbered, int(found.branch[k]), record))
        # All or nothing: an interrupt, or the time, before this line leaves the batch as it was.
        self.leaves = leaves
        for node in new:
            heapq.heappush(self.heap, node)
        self.nodes += len(bound)
        self.steps += found.steps
        self.best.offer(self.points, found.candidates, found.directions)

    def look_elsewhere(self) -> None:
        """Run the heuristic from another sample, and search around what it finds and the best.

        Rarely, but soon after it helped: best-bound search hardly goes deep. The first time the
        sample is known.
        """
        before, many = self.objective, NEAREST + MORE * self.seed
        if self.seed:
            w, b = self._heuristic()
            self.best.start(self.points, w, b)
            if not np.array_equal(self.best.given_up, margins(self.data, w, b) < 1 - NEAR):
                self._look_near(w, b, many)
        if np.isfinite(self.objective):
            self._look_near(self.best.w, self.best.b, many)
        self.seed += 1
        later = min(AGAIN * self.nodes, self.nodes + OFTEN)
        self.next_look = self.nodes + FIRST_LOOK if self.objective < before else later

    def _look_near(self, w: Array, b: float, many: int) -> None:
        """Search where all points but those nearest to a margin are kept or not as they are there.

        What is met is offered to the best hyperplane; around a better one the search goes on.
        """
        decided = self.side.kept | self.side.paid
        if self.data.n - int(decided.sum()) <= many:
            return
        before = np.inf
        while self.objective < before * (1 - BETTER):
            before, margin = self.objective, margins(self.data, w, b)
            off = np.where(decided, np.inf, np.abs(margin - 1))
            fixed = ~decided
            fixed[np.argsort(off, kind="stable")[:many]] = False
            kept = margin >= 1 - NEAR
            near = copy(self)  # with the best hyperplane of this tree
            near.heap, near.batch, near.lent, near.leaves = [], [], [], np.inf
            near._root(self.side.kept | fixed & kept, self.side.paid | fixed & ~kept)
            most = near.nodes + max(LEAST_ROOM, ROOM * near.nodes)
            while near.nodes < most and near.select():
                near.expand()
            self.nodes, self.steps = near.nodes, near.steps
            w, b = self.best.w, self.best.b
