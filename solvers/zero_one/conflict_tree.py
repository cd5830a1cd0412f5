"""The tree of the conflict search: open nodes, least bound first, and the best hyperplane."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.zero_one.loss import margins
from tightmargin.number_words import count_text
from tightmargin.solvers.kernel.conflicts import OpenNode, PackingCover, PackingProblem, in_parts
from tightmargin.solvers.kernel.signed_points import SideRows, SignedPoints
from tightmargin.solvers.searches import GlobalSearch, Progress, Stated, Trace
from tightmargin.solvers.zero_one.active_set import WorkingSets, empty_sets, refreshed
from tightmargin.solvers.zero_one.heuristic import zero_one_incumbent
from tightmargin.solvers.zero_one.node_bounds import Bounded, Nodes, NotCompiledError, bounded
from tightmargin.solvers.zero_one.planes import BETTER, NEAR_SIDE, ConePlane, ConflictPlane

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
) -> Stated:
    """The big-M model that a search is about, its M derived from the best hyperplane."""
    known = {"incumbent": (best.w, best.b)} if np.isfinite(best.objective) else {}
    return Stated(entry, data, {**words, "big_m": "derived", **known})


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
