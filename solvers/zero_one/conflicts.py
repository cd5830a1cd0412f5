"""Branch and bound for the 0-1 loss over the choice which points are kept.

    min   norm2 + penalty * #{i : y_i (<w, x_i> + b) < 1}

A node keeps some points, pays for others, and leaves the rest open; node_bounds.py bounds it by
weak duality, all rounding given away. That of least bound is split at a point of a least conflict.
Where many points leave much open, parts of them are searched alone and their bounds added up.
Better hyperplanes are looked for, now and then, by the same search among those that treat all
points but the ones nearest to the margin of a good one as that does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import ExitStack, suppress
from copy import copy
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.data.training_data import TrainingData, reads_dense_points
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.parameters import positive
from tightmargin.formulations.zero_one.loss import margins
from tightmargin.number_words import count_text
from tightmargin.solvers.certify.case import SEARCH_GAP
from tightmargin.solvers.engines.running import StopReason, drive
from tightmargin.solvers.kernel.conflicts import (
    OpenNode,
    PackingCover,
    PackingProblem,
    Remainder,
    in_parts,
)
from tightmargin.solvers.kernel.signed_points import SideRows, SignedPoints
from tightmargin.solvers.searches import CatalogueModel, GlobalSearch, Progress, Trace
from tightmargin.solvers.zero_one.heuristic import zero_one_incumbent
from tightmargin.solvers.zero_one.node_bounds import (
    Bounded,
    Nodes,
    NotCompiledError,
    OutOfTimeError,
    WorkingSets,
    bounded,
    empty_sets,
    refreshed,
)
from tightmargin.solvers.zero_one.planes import BETTER, NEAR_SIDE, ConePlane, ConflictPlane
from tightmargin.worker_processes import Workers, is_lost, opened_workers

# --- The tree of the search: open nodes, least bound first, and the best hyperplane ---------------


# --- What a conflict search found: the best hyperplane, the proven bound, and how they came about


@dataclass(frozen=True, eq=False, repr=False)
class ConflictSearch(GlobalSearch):
    """Result of a search; see GlobalSearch.

    Attributes
    ----------
    w, b : array (d,), float
        The best hyperplane found; the points it keeps have margin 1 or more in floating point,
        beside side rows nearly so. Its objective counts violations strictly.
    given_up : array (n,) of bool
        Points that are paid for: those it violates, and those that side rows say are paid for.
    nodes, steps : int
        Nodes bounded, and steps of the active-set method.
    parts : int
        Parts of the points whose bounds add up to `bound`; 1 where all are in one tree.
    lemma : Lemma or None
        The bound as the kernel proved it node by node; None where nothing is proven.
    """

    w: Array
    b: float
    given_up: NDArray[np.bool_]
    nodes: int
    steps: int
    parts: int
    lemma: Lemma | None

    def _title(self) -> str:
        return f"ConflictSearch: 0-1 loss, {count_text(len(self.w), 'feature')}"

    def _effort(self) -> str:
        return f"{count_text(self.nodes, 'node')}, {self.seconds:.2g} s{in_parts(self.parts)}"


def big_m_model(
    entry: str, data: TrainingData, words: Mapping[str, Any], best: ConePlane | ConflictPlane
) -> CatalogueModel:
    """The big-M model that a search is about, its M derived from the best hyperplane."""
    known = {"incumbent": (best.w, best.b)} if np.isfinite(best.objective) else {}
    return CatalogueModel(entry, data, {**words, "big_m": "derived", **known})


BATCH = 256  # nodes at a time: fewer leave the interpreter waiting more
NUMBERS = 8_000_000  # of the largest array of a batch
ENTRIES = 150_000  # of all Gram matrices of a batch, which a time limit waits for
RAISED, RAISES = 16.0, 8  # of a cutoff that no point is below, and how often
FIRST_LOOK = 500  # nodes, when better points are looked for elsewhere
LOOKING = 0.25  # of the time that is left, for good points
AGAIN, OFTEN = 4, 50_000  # and again when there are so many times, or so many more
NEAREST, MORE = 40, 20  # points to the margin that are free around a hyperplane; the next time more
LEAST_ROOM, ROOM = 250, 0.04  # nodes around one, and their share of all


class Tree:
    """A cover that grows, and the best point so far.

    What the cover keeps for the tree beside each node, as bytes since there may be a million of
    them, is the point to branch on and the members of its working set.
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
        progress: Progress = lambda point: None,
    ) -> None:
        self.compiled_after = compiled_after
        self.data, self.penalty, self.intercept = data, penalty, intercept
        self.gap, self.side = gap, side
        self.problem = PackingProblem(data, penalty, intercept, side)
        self.cover = PackingCover(self.problem, shift)
        self.best = ConflictPlane(data, penalty, intercept, self.side)
        self.cutoff, self.raised = np.inf, 0
        largest = self.points.largest
        most = min(NUMBERS // (largest * max(largest, data.n)), ENTRIES // largest**2)
        self.width = max(1, min(BATCH, most))
        self.batch: list[OpenNode] = []
        self.nodes = self.steps = 0
        self.until = np.inf  # of time.monotonic(), what goes beyond the root
        self.seed, self.next_look = 0, FIRST_LOOK
        self.trace = Trace(progress)

    def start(self, incumbent: tuple[Array, float] | None) -> None:
        """Take the best hyperplane that is known, or a cutoff where there is none.

        An interrupt of the heuristic leaves the best one with w = 0.
        """
        if incumbent is None:
            try:
                incumbent = self._heuristic()
            except KeyboardInterrupt:
                self.best.start(self.points, np.zeros(self.data.d), 0.0)
                raise
        w, b = np.asarray(incumbent[0], dtype=float), float(incumbent[1])
        self.best.start(self.points, w, b)
        if np.isinf(self.objective):
            self.cutoff = self.penalty * self.data.n + float(w @ w)
        elif self.intercept == "free" and not self.side.empty:
            # The square that b costs while multipliers are sought is then small at the optimum.
            shift = self.best.b + float(self.points.centre @ self.best.w)
            self.cover = PackingCover(self.problem, shift)

    def _heuristic(self) -> tuple[Array, float]:
        left = self.until - time.monotonic()
        found = zero_one_incumbent(
            self.data, penalty=self.penalty, intercept=self.intercept, seed=self.seed,
            time_limit=None if np.isinf(left) else max(LOOKING * left, 0.0),
        )  # fmt: skip
        return found.w, found.b

    @property
    def points(self) -> SignedPoints:
        """The problem in the coordinates of its cover."""
        return self.cover.points

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
        """What the cover proves, no more than the best objective."""
        return min(self.cover.value, self.objective)

    @property
    def parts(self) -> int:
        """Of the points, whose bounds add up to what is proven."""
        return self.cover.parts

    def note(self, seconds: float, *, last: bool = False) -> None:
        """Add to the trace when the bound or the incumbent moved."""
        self.trace.note(seconds, self.nodes, self.bound, self.objective, last=last)

    def root(self) -> None:
        """Bound the node without any decision of the search."""
        (node,) = self.cover.taken
        nodes = Nodes(*self.cover.masks([node]), empty_sets(self.points, 1))
        found = self._bounded(nodes, np.inf)
        self.cover.narrow_root(found.evidence, _notes(found))
        self._offer(found)

    def raise_cutoff(self) -> bool:
        """Search again below a higher cutoff where no point below the last one is known."""
        found = np.isfinite(self.objective)
        if self.cutoff >= self.objective or (self.raised == RAISES and not found):
            return False
        self.raised += 1
        self.cutoff = np.inf if found else self.cutoff * RAISED
        self.cover.begin_again()
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
        self.cover.put_back(self.batch)
        self.batch = self.cover.take(self.width, self.target)
        return bool(self.batch)

    @property
    def is_open(self) -> bool:
        """Whether a node that is not lent may hold a better point."""
        return bool(self.batch) or self.cover.least_waiting < self.target

    def adopt(self, nodes: Sequence[OpenNode], cutoff: float) -> None:
        """Go on with the nodes of another tree of the same problem."""
        self.cover = self.cover.below(nodes)
        self.cutoff = cutoff

    def expand(self) -> None:
        """Split the selected nodes: their point is kept in one half and violated in the other.

        Once the time is over, OutOfTimeError leaves the nodes as they were.
        """
        kept, violated = self.cover.masks(self.batch)
        branch, sets = self._noted(violated)
        each = np.arange(len(branch))
        more_kept, more_violated = kept.copy(), violated.copy()
        more_kept[each, branch] = True
        more_violated[each, branch] = True
        nodes = Nodes(
            np.vstack([more_kept, kept]),
            np.vstack([violated, more_violated]),
            sets.take(np.r_[each, each]),
        )
        found = self._bounded(nodes, self.until)
        self.cover.split(self.batch, branch, found.evidence, _notes(found))
        self.batch = []
        self._offer(found)

    def _noted(self, violated: Mask) -> tuple[Index, WorkingSets]:
        """The points to branch on of the selected nodes, and the working sets of what they keep."""
        members = np.zeros((len(self.batch), self.points.largest), np.intp)
        count = np.zeros(len(self.batch), np.intp)
        branch = np.zeros(len(self.batch), np.intp)
        for k, (_, _, _, note) in enumerate(self.batch):
            branch[k], *own = np.frombuffer(note, np.uint16)
            members[k, : len(own)], count[k] = own, len(own)
        short = np.take_along_axis(violated & ~self.points.loose, members, axis=1)
        return branch, refreshed(self.points, members, count, np.where(short, -1.0, 1.0))

    def _bounded(self, nodes: Nodes, until: float) -> Bounded:
        """What bounds new nodes: nothing is changed by an interrupt, or where time is over."""
        words: dict[str, Any] = {
            "penalty": self.penalty, "target": self.target, "suspects": self.suspects,
            "until": until,
        }  # fmt: skip
        if self.nodes >= self.compiled_after:
            # numba is optional.
            from tightmargin.solvers.zero_one import compiled

            try:
                return compiled.bounded(self.points, nodes, **words)
            except NotCompiledError:
                self.compiled_after = np.inf
        return bounded(self.points, nodes, **words)

    def _offer(self, found: Bounded) -> None:
        self.nodes += len(found.bound)
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
            if not np.array_equal(self.best.given_up, margins(self.data, w, b) < 1 - NEAR_SIDE):
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
            kept = margin >= 1 - NEAR_SIDE
            near = copy(self)  # with the best hyperplane of this tree
            near.batch = []
            near.cover = self.cover.among(fixed & kept, fixed & ~kept)
            near.root()
            most = near.nodes + max(LEAST_ROOM, ROOM * near.nodes)
            while near.nodes < most and near.select():
                near.expand()
            self.nodes, self.steps = near.nodes, near.steps
            w, b = self.best.w, self.best.b


def _notes(found: Bounded) -> list[bytes | None]:
    """What is noted of nodes that may hold a better point: their branch, then their members."""
    sets = found.nodes.sets
    numbers = np.column_stack([found.branch, sets.members]).astype(np.uint16)
    going_on = np.isfinite(found.bound) & (found.branch >= 0)
    return [
        row[: 1 + many].tobytes() if on else None
        for row, many, on in zip(numbers, sets.count.tolist(), going_on.tolist(), strict=True)
    ]


# --- Bounds of the 0-1 loss from parts of the points, each searched alone ------------------------
# Where every point belongs to one of g parts P_1, ..., P_g,
#     norm2 + penalty #{violated} = sum_j (norm2 + g penalty #{violated of P_j}) / g
#                                >= sum_j (optimum of P_j at the price g penalty) / g,
# and what a search has proven of an optimum may stand for it; they are added up by the cover of
# all points (kernel/conflicts.py). Disjoint conflicts are the case of parts that cost one
# point each. Of 500 points in ten features a tree proves less than half of the optimum in minutes,
# where trees of 100 points each are finished in seconds and leave a third.


POINTS = 100  # of a part, at first: so many in ten features are proven in seconds
FEWEST = 3  # parts; two of 100 points prove less than one tree of 200
AFTER = 1_000  # nodes of the whole tree
OPEN = 0.2  # share of the objective that is open, from which on parts are tried


def parts_are_due(search: Tree) -> bool:
    """Whether a tree has grown for long, and little of its objective is proven."""
    if search.nodes < AFTER or search.data.n < FEWEST * POINTS:
        return False
    return search.bound < (1 - OPEN) * search.objective


def split_points(data: TrainingData, w: Array, b: float, many: int) -> list[Index]:
    """Parts alike in their classes and in the margins of a hyperplane, at random else."""
    margin = margins(data, w, b)
    part = np.empty(data.n, dtype=np.intp)
    random = np.random.default_rng(0)
    for label in (-1.0, 1.0):
        own = np.flatnonzero(data.y == label)
        own = own[np.argsort(margin[own], kind="stable")]
        for first in range(0, len(own), many):
            some = own[first : first + many]
            part[some] = random.permutation(many)[: len(some)]
    return [np.flatnonzero(part == k) for k in range(many)]


def larger_splits(data: TrainingData, w: Array, b: float) -> Iterator[list[Index]]:
    """All points in parts, at first in many small ones."""
    rarest = min(int((data.y > 0).sum()), int((data.y < 0).sum()))
    many = min(data.n // POINTS, rarest)
    while many > 1:
        yield split_points(data, w, b, many)
        many = 4 * many // 5


def part_tree(search: Tree, own: Index, many: int) -> Tree:
    """The tree of one of so many parts; every part has the rows of w and b, and none has counts."""
    part = search.problem.part(own, many)
    return Tree(
        part.data, part.penalty, part.intercept, search.gap, part.side,
        max(search.compiled_after - search.nodes, 0),
    )  # fmt: skip


# --- The conflict search with several processes: open nodes are lent to workers, and come back
#     split
# A loan is a share of the open nodes. A worker searches below them for a moment and returns what
# is open then, the least bound of the nodes that it could not split, and its best hyperplane.
# Until it has, the nodes of a loan are as open as before: their bounds count in the least one, and
# when its process is lost they are searched again. So what is proven depends on no worker.


SECONDS = 1.0  # that a worker searches
LENT = 2000  # nodes of one loan at most
WAITED = 0.2  # seconds for a worker, before limits are looked at again
LOSSES = 3  # in a row, after which this process goes on alone


@dataclass(frozen=True, eq=False)
class Plane:
    """A hyperplane, what it gives up and costs."""

    w: Array
    b: float
    given_up: Mask
    objective: float


@dataclass(frozen=True, eq=False)
class Loan:
    """What a worker is told: the problem, the nodes, and below what it is to search."""

    data: TrainingData
    penalty: float
    intercept: str
    gap: float
    side: SideRows
    compiled_after: float
    shift: float
    cutoff: float
    best: Plane
    nodes: tuple[OpenNode, ...]
    seconds: float
    left: float  # seconds of the whole search


@dataclass(frozen=True, eq=False)
class Return:
    """What a worker gives back."""

    left: Remainder
    best: Plane
    bounded: int
    steps: int


def searched(loan: Loan) -> Return:
    """Search below the nodes of a loan, in whatever process this is."""
    tree = Tree(
        loan.data, loan.penalty, loan.intercept, loan.gap, loan.side, loan.compiled_after,
        shift=loan.shift,
    )  # fmt: skip
    tree.adopt(list(loan.nodes), loan.cutoff)
    tree.best.adopt(loan.best.w, loan.best.b, loan.best.given_up, loan.best.objective)
    end = time.monotonic() + loan.seconds
    tree.until = time.monotonic() + loan.left
    with suppress(OutOfTimeError):
        while time.monotonic() < end and tree.select():
            tree.expand()
    return Return(tree.cover.remainder(), _best(tree), tree.nodes, tree.steps)


def woken(compiled_after: float) -> None:
    """Have the modules of a search, and its compiled code, in whatever process this is."""
    data = TrainingData(np.array([[0.0], [1.0]]), np.array([-1.0, 1.0]))
    tree = Tree(data, 1.0, "free", 1e-6, SideRows.nothing(2, 1), compiled_after)
    tree.start((np.zeros(1), 0.0))
    tree.root()


class Lender:
    """Keeps workers busy with the open nodes of a tree."""

    def __init__(self, tree: Tree, workers: Workers) -> None:
        self.tree, self.workers = tree, workers
        self._out: dict[Future[Return], Loan] = {}
        self._losses = 0
        self._called: list[Future[None]] = []

    def awake(self) -> bool:
        """Whether some process is there, all being started by the first call.

        That takes seconds, in which the tree grows without them. One that is lost counts, as its
        loans come back.
        """
        if not self._called:
            call = (woken, _compiled_after(self.tree))
            self._called = [self.workers.submit(*call) for _ in range(self.workers.count)]
        return any(future.done() for future in self._called)

    def more(self) -> bool:
        """Whether anything is open; a cutoff without a point below it is raised."""
        if self._out or self.tree.is_open:
            return True
        if not self.tree.raise_cutoff():
            return False
        self.tree.expand()
        return True

    def go(self) -> None:
        """Keep every worker busy for a moment; where all are lost, go on without them.

        The heuristic is not run again: workers would wait for it.
        """
        if self._losses < LOSSES:
            self._lend()
        elif not self._out and self.tree.select():
            self.tree.expand()
        if self._out:
            self._collect()

    def _lend(self) -> None:
        """Deal the weakest open nodes out in turn; half of them stay for those who come back."""
        tree, free = self.tree, self.workers.count - len(self._out)
        waiting = tree.cover.waiting
        if free <= 0 or not waiting:
            return
        some = waiting if not self._out else -(-waiting // 2)
        nodes = tree.cover.take(min(LENT * free, some), tree.target)
        for share in (tuple(nodes[k::free]) for k in range(free)):
            if share:
                loan = self._loan(share)
                self._out[self.workers.submit(searched, loan)] = loan

    def _loan(self, nodes: tuple[OpenNode, ...]) -> Loan:
        tree = self.tree
        return Loan(
            tree.data, tree.penalty, tree.intercept, tree.gap, tree.side,
            _compiled_after(tree),
            tree.points.shift, tree.cutoff, _best(tree), nodes, SECONDS,
            max(tree.until - time.monotonic(), 0.0),
        )  # fmt: skip

    def _collect(self) -> None:
        """Take back what is done, after a short wait; nodes of lost workers as they were."""
        done, _ = wait(self._out, timeout=WAITED, return_when=FIRST_COMPLETED)
        for future in done:
            error = CancelledError() if future.cancelled() else future.exception()
            if error is not None and not is_lost(error):
                raise error
            loan = self._out[future]
            if error is not None:
                self._losses += 1
                self.tree.cover.put_back(loan.nodes)
                del self._out[future]
                continue
            self._losses = 0
            found = future.result()
            self.tree.best.adopt(
                found.best.w, found.best.b, found.best.given_up, found.best.objective
            )
            self.tree.cover.take_back(loan.nodes, found.left)
            self.tree.nodes += found.bounded
            self.tree.steps += found.steps
            del self._out[future]


def _compiled_after(tree: Tree) -> float:
    """Of workers, who have loaded the code before they are lent anything."""
    return 0.0 if np.isfinite(tree.compiled_after) else np.inf


def _best(tree: Tree) -> Plane:
    best = tree.best
    return Plane(best.w, best.b, best.given_up, best.objective)


COMPILED_AFTER = 2000  # nodes; loading numba takes as long as some hundreds of them
MOST_OPEN = 10_000_000  # nodes that wait: 4 GB
FRONTIER = 1.0  # seconds of a search before other processes are started
OF_PARTS = 0.8  # of what is left, for all parts together
PART_STEPS = 5_000_000  # of a part of the points, where nothing else limits it


@unweighted_unlike("zero_one_big_m")
@reads_dense_points
def conflict_search(
    data: TrainingData,
    *,
    penalty: float,
    intercept: str,
    incumbent: tuple[Array, float] | None = None,
    gap: float = SEARCH_GAP,
    time_limit: float | None = None,
    step_limit: int | None = None,
    side: SideRows | None = None,
    compiled: bool | None = None,
    workers: int = 1,
    scheduler: str | None = None,
    clock: Callable[[], float] = time.monotonic,
    progress: Progress = lambda point: None,
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
        Seconds of `clock`, measured from the call; what was begun is finished first where it is
        not time.monotonic, the root always.
    step_limit : int, optional
        Of the active-set method: a limit that gives the same result on any machine.
    side : SideRows, optional
        What a hyperplane has to meet besides. It is met, and points are kept, to NEAR; where no
        point is found, the objective is infinite.
    compiled : bool, optional
        Whether numba computes the bounds of nodes: several times as many a second, equal to
        rounding. By default it does from 2,000 nodes on, where it is installed and `tightmargin
        solvers --compile` has compiled, and not under a step limit. No search compiles, but
        compiled=True before its time begins.
    workers : int
        Processes of this machine; from the second on they search below open nodes that they are
        lent. A program that asks for several is run as a file with `if __name__ == "__main__"`.
    scheduler : str, optional
        Address of a dask scheduler whose workers do so instead. What is proven is proven whoever
        found it, and a worker that dies loses nothing.
    clock, progress : callable
        time.process_time counts processor time instead; told about each TracePoint.

    Raises
    ------
    ValueError
        Bad penalty, intercept or limits; more than 5000 points; compiled=True without numba;
        several workers and a step limit, or a scheduler; a scheduler without distributed.
    ConnectionError
        No scheduler or no worker answers.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.search.conflict_search(data, penalty=1.0, intercept="penalised")
    >>> found.objective - found.bound < 1e-5
    True
    """
    cost, _ = positive("penalty", penalty), positive("gap", gap)
    if time_limit is not None:
        positive("time_limit", time_limit)
    check_workers(workers, scheduler, step_limit)
    compiled_after = _compiled_start(compiled, step_limit)
    started = clock()
    search = Tree(
        data, cost, intercept, gap, side or SideRows.nothing(data.n, data.d), compiled_after,
        progress=progress,
    )  # fmt: skip
    if time_limit is not None and clock is time.monotonic:
        search.until = started + time_limit
    with ExitStack() as opened:
        several = None
        if workers > 1 or scheduler:
            several = Lender(search, opened.enter_context(opened_workers(workers, scheduler)))
        try:
            search.start(incumbent)
            limits = _Limits(lambda: clock() - started, time_limit, step_limit)
            stop = drive("conflict search", _Run(search, several, limits))
        except OutOfTimeError:
            stop = StopReason.TIME_LIMIT
        except KeyboardInterrupt:
            stop = StopReason.INTERRUPTED
    if stop is StopReason.PROVEN and search.bound < search.target * (1 - search.problem.rounded):
        stop = StopReason.NUMERICAL
    seconds = clock() - started
    search.note(seconds, last=True)
    words, best = {"penalty": cost, "intercept": intercept}, search.best
    about = None if side else big_m_model("zero_one_big_m", data, words, best)
    return ConflictSearch(
        objective=best.objective, bound=search.bound, stop=stop, seconds=seconds,
        trace=tuple(search.trace.points), w=best.w, b=best.b, given_up=best.given_up,
        nodes=search.nodes, steps=search.steps, parts=search.parts,
        lemma=search.cover.lemma(search.objective),
        about=about,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Limits:
    """Of a search: seconds since it began, and how many of them and of steps there may be."""

    elapsed: Callable[[], float]
    seconds: float | None
    steps: int | None

    def reached(self, search: Tree) -> StopReason | None:
        """The one that is reached."""
        if self.seconds is not None and self.elapsed() >= self.seconds:
            return StopReason.TIME_LIMIT
        if self.steps is not None and search.steps >= self.steps:
            return StopReason.STEP_LIMIT
        return StopReason.MEMORY_LIMIT if search.cover.waiting > MOST_OPEN else None

    def shared(self, search: Tree, share: float) -> _Limits:
        """A share of what is left, which begins now."""
        begun = self.elapsed()
        seconds, steps = None, PART_STEPS
        if self.seconds is not None:
            seconds = share * max(self.seconds - begun, 0.0)
        if self.steps is not None:
            steps = int(share * (self.steps - search.steps))
        alone = self.seconds is not None and self.steps is None
        return _Limits(lambda: self.elapsed() - begun, seconds, None if alone else steps)


class _Run:
    """A tree, or those who are lent its nodes, until nothing is open or a limit is reached."""

    def __init__(self, tree: Tree, several: Lender | None, limits: _Limits) -> None:
        self.tree, self.several, self.limits = tree, several, limits
        self.way: Tree | Lender = tree
        self.parts_tried = self.closed = False

    def begin(self) -> None:
        """Bound the root."""
        self.tree.root()

    @property
    def is_open(self) -> bool:
        """Whether nodes are left to split."""
        return not self.closed and self.way.more()

    def limit(self) -> StopReason | None:
        """The limit that is reached."""
        self.tree.note(self.limits.elapsed())
        return self.limits.reached(self.tree)

    def standing(self) -> tuple[float, float, str]:
        """For the live line."""
        return self.tree.bound, self.tree.objective, f"{self.tree.nodes:,} nodes"

    def step(self) -> None:
        """Split nodes; add up parts once, and lend nodes from some moment on."""
        seconds = self.limits.elapsed()
        self.way.go()
        if not self.parts_tried and parts_are_due(self.tree):
            self.parts_tried = True
            _search_parts(self.tree, self.several, self.limits)
            self.closed = self.tree.bound >= self.tree.target
        late = seconds >= FRONTIER and not self.closed
        if self.several and self.way is self.tree and late and self.several.awake():
            if not self.tree.seed:
                self.tree.look_elsewhere()  # workers do not
            self.way = self.several


def _search_parts(search: Tree, several: Lender | None, limits: _Limits) -> None:
    """Add up bounds of parts, and of larger ones once all are finished within their share."""
    for parts in larger_splits(search.data, search.best.w, search.best.b):
        many, finished = len(parts), True
        search.cover.add_parts(many)
        for k, own in enumerate(parts):
            if limits.reached(search):
                return
            part = part_tree(search, own, many)
            part.trace = Trace(lambda point: search.note(limits.elapsed()))
            share = limits.shared(search, 1 / (many / OF_PARTS - k))
            if share.seconds is not None and np.isfinite(search.until):
                part.until = time.monotonic() + share.seconds
            part.start(None)
            search.cover.add_part(own, part.cover)
            try:
                others = Lender(part, several.workers) if several else None
                name = f"conflict search, part {k + 1} of {many}"
                stop = drive(name, _Run(part, others, share))
            except OutOfTimeError:
                stop = StopReason.TIME_LIMIT
            part.note(share.elapsed(), last=True)
            search.nodes += part.nodes
            search.steps += part.steps
            if stop is StopReason.INTERRUPTED:
                raise KeyboardInterrupt
            finished &= stop is StopReason.PROVEN
        if not finished:
            return


def check_workers(
    workers: int, scheduler: str | None = None, step_limit: int | None = None
) -> None:
    """Refuse what is no number of workers, or does not go with it."""
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise ValueError(f"workers must be 1 or more, got {workers!r}")
    if scheduler is not None and not isinstance(scheduler, str):
        raise ValueError(f"scheduler must be an address such as tcp://HOST:8786: {scheduler!r}")
    if scheduler and workers > 1:
        raise ValueError("workers are of this machine: with a scheduler all of its workers work")
    if step_limit is not None and (scheduler or workers > 1):
        raise ValueError("step_limit repeats a search exactly, which several workers do not")


def _compiled_start(wanted: bool | None, step_limit: int | None) -> float:
    """Nodes after which compiled code bounds them, if it is there by then."""
    there = find_spec("numba") is not None
    if wanted and not there:
        raise ValueError('compiled=True needs the package numba: pip install "tightmargin[numba]"')
    if wanted:
        # numba is optional.
        from tightmargin.solvers.zero_one.compiled import compile_nodes

        compile_nodes()
    if wanted is not None:
        return 0 if wanted else np.inf
    return COMPILED_AFTER if there and step_limit is None else np.inf
