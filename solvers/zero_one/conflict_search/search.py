"""Branch and bound for the 0-1 loss over the choice which points are kept.

    min   norm2 + penalty * #{i : y_i (<w, x_i> + b) < 1}

A node keeps some points, pays for others, and leaves the rest open; node_bounds.py bounds it. The
node with the least bound is split at a point of its smallest conflict. No solver is called, every
bound is weak duality in double precision with its rounding error given away.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import positive
from tightmargin.formulations.zero_one.loss import (
    margins,
    scale_onto_margin,
    trivial_points,
    zero_one_objective,
)
from tightmargin.solvers.execution.live_line import live_line
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.zero_one.conflict_search.dual_active_set import empty_sets, refreshed
from tightmargin.solvers.zero_one.conflict_search.node_bounds import Nodes, bounded
from tightmargin.solvers.zero_one.conflict_search.result import ConflictSearch, TracePoint
from tightmargin.solvers.zero_one.conflict_search.signed_points import (
    SignedPoints,
    hyperplane,
    signed_points,
)
from tightmargin.solvers.zero_one.enumeration.incumbent import zero_one_incumbent

Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

BATCH = 256  # nodes at a time: fewer leave the interpreter waiting more
NUMBERS = 8_000_000  # of the largest array of a batch
ENTRIES = 150_000  # of all Gram matrices of a batch, which a time limit waits for
GAP = 1e-6
NEAR = 1e-9
FIRST_RESTART = 4000  # nodes; the heuristic is run again whenever their number has doubled
TRACED = 400


def conflict_search(
    data: TrainingData,
    *,
    penalty: float,
    intercept: str,
    incumbent: tuple[Array, float] | None = None,
    gap: float = GAP,
    time_limit: float | None = None,
    step_limit: int | None = None,
    clock: Callable[[], float] = time.monotonic,
    progress: Callable[[TracePoint], None] = lambda point: None,
) -> ConflictSearch:
    """Global optimum of the 0-1 loss problem, or the best point and bound within a limit.

    Parameters
    ----------
    incumbent : (w, b), optional
        A known hyperplane; a heuristic finds one otherwise.
    gap : float
        Relative gap at which a node is not split any further.
    time_limit : float, optional
        Seconds of `clock`, measured from the call; a batch of nodes is finished first.
    step_limit : int, optional
        Steps of the active-set method: a limit that gives the same result on any machine.
    clock : callable
        time.process_time counts processor time instead.
    progress : callable(TracePoint)
        Told about progress.

    Raises
    ------
    ValueError
        Bad penalty, intercept or limits; more than 5000 points.
    """
    started = clock()
    cost = positive("penalty", penalty)
    positive("gap", gap)
    if time_limit is not None:
        positive("time_limit", time_limit)
    points = signed_points(data, penalty=cost, intercept=intercept)
    if incumbent is None:
        found = zero_one_incumbent(data, penalty=cost, intercept=intercept)
        incumbent = (found.w, found.b)
    search = _KeptSearch(data, cost, intercept, gap, points, incumbent)
    stop = StopReason.PROVEN
    try:
        with live_line("conflict search") as line:
            search.root()
            while search.select():
                elapsed = clock() - started
                search.note(elapsed, progress)
                if line.is_due:
                    line.show(search.bound, search.objective, f"{search.nodes:,} nodes")
                if time_limit is not None and elapsed >= time_limit:
                    stop = StopReason.TIME_LIMIT
                    break
                if step_limit is not None and search.steps >= step_limit:
                    stop = StopReason.STEP_LIMIT
                    break
                search.expand()
                search.restart()
    except KeyboardInterrupt:
        stop = StopReason.INTERRUPTED
    if stop is StopReason.PROVEN and search.bound < search.target:
        stop = StopReason.NUMERICAL
    seconds = clock() - started
    search.note(seconds, progress, last_one=True)
    return ConflictSearch(
        search.w, search.b, search.objective, search.bound, search.nodes, search.steps,
        seconds, stop, tuple(search.trace),
    )  # fmt: skip


class _KeptSearch:
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
        points: SignedPoints,
        incumbent: tuple[Array, float],
    ) -> None:
        self.data, self.penalty, self.intercept = data, penalty, intercept
        self.gap, self.points = gap, points
        # The search itself meets only hyperplanes with points on their margin.
        trivial = trivial_points(data, penalty=penalty, intercept=intercept)[0]
        self.w, self.b, self.objective = trivial.w, trivial.b, np.inf
        self._take(trivial.w, trivial.b)
        self._take(np.asarray(incumbent[0], dtype=float), float(incumbent[1]))
        largest = points.largest
        most = min(NUMBERS // (largest * max(largest, data.n)), ENTRIES // largest**2)
        self.width = max(1, min(BATCH, most))
        self.heap: list[tuple[float, int, int, bytes]] = []
        self.batch: list[tuple[float, int, int, bytes]] = []
        self.leaves = np.inf  # least bound of a node without a free point
        self.nodes = self.steps = self.numbered = 0
        self.rooted, self.proven = False, 0.0
        self.seed, self.next_restart = 0, FIRST_RESTART
        self.trace: list[TracePoint] = []

    def _value(self, w: Array, b: float) -> float:
        return zero_one_objective(self.data, w, b, penalty=self.penalty, intercept=self.intercept)

    @property
    def target(self) -> float:
        """Bounds from here on close a node."""
        return self.objective * (1 - self.gap)

    @property
    def bound(self) -> float:
        """Least bound over all open nodes, the best so far; what was pruned reached some target."""
        if self.rooted:
            waiting = [node[0] for node in (*self.batch, *self.heap[:1])]
            self.proven = max(self.proven, min([self.target, self.leaves, *waiting]))
        return min(self.proven, self.objective)

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
        """Bound the node without any decision."""
        nobody = np.zeros((1, self.data.n), bool)
        self._add(Nodes(nobody, nobody.copy(), empty_sets(self.points, 1)), np.zeros(1))
        self.rooted = True

    def select(self) -> bool:
        """Take the open nodes with the least bounds; False when none is left below the target."""
        self.batch = []
        while self.heap and len(self.batch) < self.width and self.heap[0][0] < self.target:
            self.batch.append(self.heap[0])  # first, so that an interrupt loses no node
            heapq.heappop(self.heap)
        return bool(self.batch)

    def expand(self) -> None:
        """Split the selected nodes: their point is kept in one half and violated in the other."""
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
        )
        self.batch = []

    def _add(self, nodes: Nodes, inherited: Array) -> None:
        """Bound new nodes and keep those that may hold a better point."""
        found = bounded(
            self.points, nodes, penalty=self.penalty, target=self.target, suspects=self.suspects
        )
        new: list[tuple[float, int, int, bytes]] = []
        leaves = self.leaves
        bound = np.maximum(found.bound, inherited)
        for k in np.flatnonzero(np.isfinite(found.bound)).tolist():
            if found.branch[k] < 0:
                leaves = min(leaves, float(bound[k]))
            else:
                self.numbered += 1
                record = packed_node(found.nodes, k)
                new.append((float(bound[k]), self.numbered, int(found.branch[k]), record))
        # All or nothing: an interrupt before this line leaves the batch as it was.
        self.leaves = leaves
        for node in new:
            heapq.heappush(self.heap, node)
        self.nodes += len(bound)
        self.steps += found.steps
        for members in found.candidates:
            self._offer(members)

    def restart(self) -> None:
        """Run the heuristic from another sample, rarely: best-bound search hardly goes deep."""
        if self.nodes < self.next_restart:
            return
        self.next_restart *= 2
        self.seed += 1
        found = zero_one_incumbent(
            self.data, penalty=self.penalty, intercept=self.intercept, seed=self.seed
        )
        self._take(found.w, found.b)

    def _offer(self, members: Index) -> None:
        """Take the hyperplane through these members if it is better than the best."""
        plane = hyperplane(self.points, members)
        if plane is None:
            return
        kept = margins(self.data, *plane) >= 1 - NEAR
        stretched = scale_onto_margin(self.data, *plane, kept)
        if stretched is None:
            return
        self._take(*stretched)

    def _take(self, w: Array, b: float) -> None:
        value = self._value(w, b)
        if value < self.objective:
            self.w, self.b, self.objective = w, b, value
            self.suspects = margins(self.data, w, b) < 1


def packed_node(nodes: Nodes, k: int) -> bytes:
    """Kept and violated points of one node as bits, then the members of its working set."""
    count = nodes.sets.count[k]
    parts = (
        np.packbits(nodes.kept[k]), np.packbits(nodes.violated[k]),
        nodes.sets.members[k, :count].astype(np.uint16).view(np.uint8),
    )  # fmt: skip
    return np.concatenate(parts).tobytes()


def unpacked_nodes(points: SignedPoints, records: list[bytes]) -> Nodes:
    """Nodes again from their bytes, with the multipliers of their working sets."""
    n = len(points.y)
    width = -(-n // 8)
    bits = np.array([np.frombuffer(r, np.uint8, 2 * width) for r in records])
    kept = np.unpackbits(bits[:, :width], axis=1, count=n).astype(bool)
    violated = np.unpackbits(bits[:, width:], axis=1, count=n).astype(bool)
    members = np.zeros((len(records), points.largest), np.intp)
    count = np.zeros(len(records), np.intp)
    for k, record in enumerate(records):
        own = np.frombuffer(record, np.uint16, offset=2 * width)
        members[k, : len(own)], count[k] = own, len(own)
    return Nodes(kept, violated, refreshed(points, members, count))
