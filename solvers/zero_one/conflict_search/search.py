"""Branch and bound for the 0-1 loss over the choice which points are kept.

    min   norm2 + penalty * #{i : y_i (<w, x_i> + b) < 1}

A node keeps some points, pays for others, and leaves the rest open; node_bounds.py bounds it by
weak duality, all rounding given away. That of least bound is split at a point of a least conflict.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.dense_points import reads_dense_points
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import positive
from tightmargin.formulations.zero_one.loss import (
    EPS,
    margins,
    scale_onto_margin,
    trivial_points,
    zero_one_objective,
)
from tightmargin.solvers.execution.live_line import live_line
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.zero_one.conflict_search.dual_active_set import empty_sets
from tightmargin.solvers.zero_one.conflict_search.node_bounds import Nodes, bounded
from tightmargin.solvers.zero_one.conflict_search.packed_nodes import packed_node, unpacked_nodes
from tightmargin.solvers.zero_one.conflict_search.planes_beside import (
    planes_beside,
    with_best_intercept,
)
from tightmargin.solvers.zero_one.conflict_search.result import ConflictSearch, TracePoint
from tightmargin.solvers.zero_one.conflict_search.side_rows import SideRows
from tightmargin.solvers.zero_one.conflict_search.signed_points import hyperplane, signed_points
from tightmargin.solvers.zero_one.enumeration.incumbent import zero_one_incumbent

Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

BATCH = 256  # nodes at a time: fewer leave the interpreter waiting more
NUMBERS = 8_000_000  # of the largest array of a batch
ENTRIES = 150_000  # of all Gram matrices of a batch, which a time limit waits for
GAP = 1e-6
NEAR = 1e-9
ROUNDED = 8 * EPS  # of the sums of a node and of its target; norms are rounded down already
RAISED, RAISES = 16.0, 8  # of a cutoff that no point is below, and how often
FIRST_RESTART = 4000  # nodes; the heuristic is run again whenever their number has doubled
TRACED = 400


@unweighted_unlike("zero_one_big_m")
@reads_dense_points
def conflict_search(
    data: TrainingData,
    *,
    penalty: float,
    intercept: str,
    incumbent: tuple[Array, float] | None = None,
    gap: float = GAP,
    time_limit: float | None = None,
    step_limit: int | None = None,
    side: SideRows | None = None,
    clock: Callable[[], float] = time.monotonic,
    progress: Callable[[TracePoint], None] = lambda point: None,
) -> ConflictSearch:
    """Global optimum of the 0-1 loss problem, or the best point and bound within a limit.

    Parameters
    ----------
    data, penalty, intercept
        As for zero_one_big_m.
    incumbent : (w, b), optional
        A known hyperplane; a heuristic finds one otherwise.
    gap : float
        Relative gap at which a node is not split any further, of what side rows leave open.
    time_limit : float, optional
        Seconds of `clock`, measured from the call; a batch of nodes is finished first.
    step_limit : int, optional
        Of the active-set method: a limit that gives the same result on any machine.
    side : SideRows, optional
        What a hyperplane has to meet besides. It is met, and points are kept, to NEAR; where no
        point is found, the objective is infinite.
    clock, progress : callable
        time.process_time counts processor time instead; told about each TracePoint.

    Raises
    ------
    ValueError
        Bad penalty, intercept or limits; more than 5000 points.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.search.conflict_search(data, penalty=1.0, intercept="penalised")
    >>> found.objective - found.bound < 1e-5
    True
    """
    started = clock()
    cost, _ = positive("penalty", penalty), positive("gap", gap)
    if time_limit is not None:
        positive("time_limit", time_limit)
    search = _KeptSearch(data, cost, intercept, gap, side or SideRows.nothing(data.n, data.d))
    search.start(incumbent)
    stop = StopReason.PROVEN
    try:
        with live_line("conflict search") as line:
            search.root()
            while search.select() or search.raise_cutoff():
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
    if stop is StopReason.PROVEN and search.bound < search.target * (1 - 2 * search.rounded):
        stop = StopReason.NUMERICAL
    seconds = clock() - started
    search.note(seconds, progress, last_one=True)
    return ConflictSearch(
        search.w, search.b, search.given_up, search.objective, search.bound, search.nodes,
        search.steps, seconds, stop, tuple(search.trace),
    )  # fmt: skip


class _KeptSearch:
    """The open nodes, and the best point so far.

    A node is (bound, number, bytes): the bytes hold its kept and violated points as bits and the
    members of its working set, since there may be a million of them.
    """

    def __init__(
        self, data: TrainingData, penalty: float, intercept: str, gap: float, side: SideRows
    ) -> None:
        self.data, self.penalty, self.intercept = data, penalty, intercept
        self.gap, self.side = gap, side
        # A model adds up what points that are paid for cost, one by one.
        self.rounded = ROUNDED + EPS * int(side.paid.sum())
        self.points = signed_points(data, intercept=intercept, side=side)
        self.w, self.b, self.objective = np.zeros(data.d), 0.0, np.inf
        self.given_up = np.ones(data.n, dtype=bool)
        self.cutoff, self.raised = np.inf, 0
        largest = self.points.largest
        most = min(NUMBERS // (largest * max(largest, data.n)), ENTRIES // largest**2)
        self.width = max(1, min(BATCH, most))
        self.heap: list[tuple[float, int, int, bytes]] = []
        self.batch: list[tuple[float, int, int, bytes]] = []
        self.leaves = np.inf  # least bound of a node without a free point
        self.nodes = self.steps = self.numbered = 0
        self.rooted, self.proven = False, 0.0
        self.seed, self.next_restart = 0, FIRST_RESTART
        self.trace: list[TracePoint] = []

    def start(self, incumbent: tuple[Array, float] | None) -> None:
        """Take the best hyperplane that is known, or a cutoff where there is none."""
        if incumbent is None:
            incumbent = self._heuristic()
        plane = np.asarray(incumbent[0], dtype=float), float(incumbent[1])
        if self.side.empty:
            # The search itself meets only hyperplanes with points on their margin.
            trivial = trivial_points(self.data, penalty=self.penalty, intercept=self.intercept)[0]
            self._take(trivial.w, trivial.b)
            self._take(*plane)
            return
        self._start_beside(*plane)
        if np.isinf(self.objective):
            self.cutoff = self.penalty * self.data.n + float(plane[0] @ plane[0])
        elif self.intercept == "free":
            # The square that b costs while multipliers are sought is then small at the optimum.
            shift = self.b + float(self.points.centre @ self.w)
            self.points = signed_points(
                self.data, intercept=self.intercept, side=self.side, shift=shift
            )

    def _heuristic(self) -> tuple[Array, float]:
        found = zero_one_incumbent(
            self.data, penalty=self.penalty, intercept=self.intercept, seed=self.seed
        )
        return found.w, found.b

    def _start_beside(self, w: Array, b: float) -> None:
        """Hyperplanes that meet the side rows, improved from those that may not."""
        kept = margins(self.data, w, b) >= 1 - NEAR
        for point in trivial_points(self.data, penalty=self.penalty, intercept=self.intercept):
            missed = margins(self.data, point.w, point.b) < 1
            self._take_beside(point.w, point.b, missed | self.side.paid)
        for members in planes_beside(self.points, self.side, kept, self.penalty):
            self._offer(members)

    @property
    def target(self) -> float:
        """Bounds from here on close a node."""
        least = min(self.objective, self.cutoff)
        return least - self.gap * (least - self.side.constant)

    @property
    def suspects(self) -> Mask:
        """Points that the best hyperplane violates; side rows are none."""
        return np.r_[self.given_up, np.zeros(len(self.points.right) - self.data.n, dtype=bool)]

    @property
    def bound(self) -> float:
        """Least bound over all open nodes, the best so far; what was pruned reached some target."""
        if self.rooted:
            waiting = [node[0] for node in (*self.batch, *self.heap[:1])]
            self.proven = max(self.proven, min([self.target, self.leaves, *waiting]))
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
        rows = len(self.points.right) - self.data.n
        kept = np.r_[self.side.kept, np.ones(rows, dtype=bool)][None, :]
        violated = np.r_[self.side.paid, np.zeros(rows, dtype=bool)][None, :]
        self._add(Nodes(kept, violated, empty_sets(self.points, 1)), np.zeros(1))
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
        if self.side.empty:
            self._take(*self._heuristic())
        else:
            self._start_beside(*self._heuristic())

    def _offer(self, members: Index) -> None:
        """Take the hyperplane through these members if it is better than the best."""
        plane = hyperplane(self.points, members)
        if plane is None and self.intercept == "free" and not self.side.empty:
            plane = with_best_intercept(self.points, self.data, self.side, members)
        if plane is None:
            return
        kept = margins(self.data, *plane) >= 1 - NEAR
        if not self.side.empty:
            self._take_beside(*plane, ~kept | self.side.paid)
            return
        stretched = scale_onto_margin(self.data, *plane, kept)
        if stretched is None:
            return
        self._take(*stretched)

    def _take(self, w: Array, b: float) -> None:
        value = zero_one_objective(self.data, w, b, penalty=self.penalty, intercept=self.intercept)
        if value < self.objective:
            self.w, self.b, self.objective = w, b, value
            self.given_up = margins(self.data, w, b) < 1

    def _take_beside(self, w: Array, b: float, given_up: Mask) -> None:
        """A stretched hyperplane would leave its side rows: what it misses by NEAR, it keeps."""
        norm2 = float(w @ w) + (b * b if self.intercept == "penalised" else 0.0)
        value = norm2 + self.penalty * int(given_up.sum())
        if value >= self.objective or not self.side.allows(given_up):
            return
        if self.side.admits(w, b, NEAR):
            self.w, self.b, self.objective, self.given_up = w, b, value, given_up
