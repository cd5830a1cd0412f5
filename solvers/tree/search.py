"""Branch and bound, best bound first; everything it claims is a tree that the kernel replays.

A node's bound is the kernel's inequality at whatever multipliers its relaxation left. At the root
limits and large M are narrowed below the cutoff (strengthening.py); a column whose price already
closes one side of it is fixed by the same multipliers; the others are chosen by pseudo-costs. A
much better point starts the tree again, since more can be derived from it.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.printing import Printed
from tightmargin.solvers.certify.case import Case
from tightmargin.solvers.certify.no_optimum import find_infeasibility
from tightmargin.solvers.engines.running import (
    MEMORY,
    NODE,
    CtrlC,
    Limits,
    LiveLine,
    StopReason,
    WorkCount,
    live_line,
)
from tightmargin.solvers.kernel.bound import (
    Minorant,
    Rows,
    SparseMultipliers,
    minorant,
)
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.statement import FeasiblePoint, Infeasible, LowerBound
from tightmargin.solvers.kernel.tree import (
    Branch,
    Leaf,
    Step,
    TreeProof,
    binary,
    lattice,
    leaf_value,
    tree_bound,
)
from tightmargin.solvers.model.claim import Progress, Row
from tightmargin.solvers.tree.node import WHOLE, Incumbent, NodeSolver, rounded
from tightmargin.solvers.tree.strengthening import Strengthening, planted

# --- Multipliers that prove a box to have no point ------------------------------------------------


NONE: Index = np.zeros(0, dtype=np.int64)


def violated_row(rows: Rows, low: Array, high: Array) -> SparseMultipliers | None:
    """The multiplier of one row that no point of the box meets; None without such a row."""
    A, sizes = rows.matrices[1].T, rows.matrices[3].T
    ends = np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)
    middle, half = 0.5 * (ends[0] + ends[1]), 0.5 * (ends[1] - ends[0])
    endless = ~(np.isfinite(low) & np.isfinite(high))
    about, spread = A @ middle, sizes @ half
    closed = (sizes @ endless.astype(np.float64)) == 0
    over, under = about - spread - rows.conic.b, about + spread - rows.conic.b
    best, place, sign = 0.0, -1, 1.0
    for block in rows.conic.blocks:
        if block.kind not in ("zero", "nonneg"):
            continue
        inside = np.arange(block.start, block.start + block.size)
        for side, missed in ((1.0, over), (-1.0, -under)):
            if side < 0 and block.kind != "zero":
                continue
            amount = np.where(closed[inside], missed[inside], 0.0)
            k = int(np.argmax(amount))
            if amount[k] > best + 1e-9 * (1.0 + abs(float(rows.conic.b[inside[k]]))):
                best, place, sign = float(amount[k]), int(inside[k]), side
    if place < 0:
        return None
    return SparseMultipliers(0.0, np.array([place]), np.array([sign]), NONE, np.zeros(0))


def farkas_of_rows(
    subject: Subject, low: Array, high: Array, limits: Limits
) -> SparseMultipliers | None:
    """Farkas multipliers of the linear rows in a box, by the linear program of least violation."""
    form, conic = subject.form, subject.conic
    box = replace(
        form,
        lower=np.maximum(form.lower, low),
        upper=np.minimum(form.upper, high),
        integer=np.zeros(form.n, dtype=bool),
        quadratic=(),
        psd=(),
    )
    if (box.lower > box.upper).any():
        return None
    found = find_infeasibility(box, Limits(time_limit=limits.time_limit, threads=limits.threads))
    if found is None or found.multipliers is None:
        return None
    y = found.multipliers
    z = np.concatenate(
        [-y[conic.equal], np.maximum(y[conic.low], 0.0), np.maximum(-y[conic.high], 0.0)]
    )
    used = np.flatnonzero(z)
    return SparseMultipliers(0.0, used, z[used], NONE, np.zeros(0))


# --- A tree while it grows: its nodes, the boxes that are still open, and the least bound of all


@dataclass(frozen=True, eq=False)
class Known:
    """Multipliers and what they say."""

    multipliers: SparseMultipliers
    minorant: Minorant

    def value(self, low: Array, high: Array, step: Fraction | None) -> float:
        """Bound of a box, infinity where it has no point."""
        return leaf_value(self.minorant, self.multipliers.mu, low, high, step)


@dataclass(frozen=True, eq=False)
class OpenNode:
    """A box that is still to be bounded: its parent's bound and multipliers, and how it came."""

    number: int
    low: Array
    high: Array
    bound: float = -math.inf
    parent: Known | None = None
    column: int = -1
    side: int = 0
    distance: float = 0.0


OPEN = 6  # arrays of an open node: limits, and its share of what is known of its parent


class GrowingTree:
    """Nodes by number, the root first; each is closed, split, or open."""

    def __init__(self, low: Array, high: Array) -> None:
        self.worst = math.inf  # least bound of a closed node
        self._kept = 0
        self._nodes: list[Branch | Leaf | None] = [None]
        self._certificates: list[SparseMultipliers] = []
        self._numbers: dict[int, int] = {}
        self._heap: list[tuple[float, int, OpenNode]] = []
        self._ties = count()
        self.push(OpenNode(0, low, high))

    @property
    def is_open(self) -> bool:
        """Whether a box is left."""
        return bool(self._heap)

    @property
    def numbers(self) -> int:
        """About how many numbers are kept."""
        width = OPEN * len(self._heap[0][2].low) if self._heap else 0
        return self._kept + NODE * len(self._nodes) + (width + NODE) * len(self._heap)

    def bound(self) -> float:
        """Least bound of all boxes."""
        return min(self._heap[0][0], self.worst) if self._heap else self.worst

    def push(self, node: OpenNode) -> None:
        """Keep a box for later."""
        heapq.heappush(self._heap, (node.bound, next(self._ties), node))

    def pop(self) -> OpenNode:
        """Take the open box of least bound."""
        return heapq.heappop(self._heap)[2]

    def close(self, number: int, known: Known | None, value: float) -> None:
        """Leave a node with the bound that multipliers prove."""
        self._nodes[number] = Leaf(self._certificate(known))
        self.worst = min(self.worst, value)

    def split(self, number: int, column: int, at: float) -> tuple[int, int]:
        """Numbers of the two children of a node."""
        below = len(self._nodes)
        self._nodes += [None, None]
        self._nodes[number] = Branch(column, at, below, below + 1)
        return below, below + 1

    def fix(
        self,
        number: int,
        known: Known,
        low: Array,
        high: Array,
        prices: Mapping[int, float],
        target: float,
        step: Fraction | None,
    ) -> tuple[int, Array, Array]:
        """Fix binaries whose price closes one side: that side is a leaf of the same multipliers."""
        for j, price in prices.items():
            costly = 1.0 if price > 0 else 0.0
            low_there, high_there = low.copy(), high.copy()
            low_there[j] = high_there[j] = costly
            there = known.value(low_there, high_there, step)
            if there < target:
                continue
            below, above = self.split(number, j, 0.0)
            closed, number = (above, below) if costly else (below, above)
            self.close(closed, known, there)
            low, high = low.copy(), high.copy()
            low[j] = high[j] = 1.0 - costly
        return number, low, high

    def renumber(self, places: Index) -> None:
        """Give the rows of all multipliers the numbers that they have now that others joined them.

        places: the new number of each row, by its old one.
        """
        moved: dict[int, SparseMultipliers] = {}

        def of(given: SparseMultipliers) -> SparseMultipliers:
            if id(given) not in moved:
                moved[id(given)] = replace(given, rows=places[given.rows])
            return moved[id(given)]

        kept, open_nodes = self._certificates, self._heap
        self._certificates = [of(certificate) for certificate in kept]
        self._numbers = {id(found): k for k, found in enumerate(self._certificates)}
        self._heap = [
            (bound, tie, node if node.parent is None else replace(
                node, parent=replace(node.parent, multipliers=of(node.parent.multipliers))
            ))
            for bound, tie, node in open_nodes
        ]  # fmt: skip

    def proof(self, cutoff: float, rounds: Sequence[tuple[Step, ...]]) -> TreeProof:
        """The tree as it stands, open nodes with what their parents say of them."""
        nodes = list(self._nodes)
        for _, _, node in self._heap:
            nodes[node.number] = Leaf(self._certificate(node.parent))
        whole = tuple(Leaf(-1) if node is None else node for node in nodes)
        return TreeProof(cutoff, tuple(rounds), tuple(self._certificates), whole)

    def _certificate(self, known: Known | None) -> int:
        if known is None:
            return -1
        key = id(known.multipliers)
        if key not in self._numbers:
            self._numbers[key] = len(self._certificates)
            self._certificates.append(known.multipliers)
            self._kept += NODE + 2 * (len(known.multipliers.rows) + len(known.multipliers.columns))
        return self._numbers[key]


# --- The bound of one box: the relaxation's multipliers, and others where they are not enough ----


@dataclass(frozen=True, eq=False)
class Bounded:
    """What is proven of a box, and a point of its relaxation, inside the box.

    The bound is infinite where the box has no point; `falls` says that the solver calls the
    relaxation unbounded.
    """

    known: Known | None
    bound: float
    x: Array
    falls: bool = False


class Boxes:
    """Bounds of boxes of one model under the rows of a root."""

    def __init__(self, case: Case, rows: Rows, solver: NodeSolver) -> None:
        self._case, self._rows, self._solver = case, rows, solver
        self._integer = np.flatnonzero(case.form.integer)
        self._step = lattice(case.subject)

    def bounded(self, low: Array, high: Array, target: float) -> Bounded:
        """The best bound of a box; dear means are for boxes below `target` without a branch."""
        x = np.clip(np.zeros(len(low)), low, high)
        empty = self._known(violated_row(self._rows, low, high), low, high)
        if empty is not None and empty.value(low, high, self._step) == math.inf:
            return Bounded(empty, math.inf, x)
        best: tuple[Known | None, float] = (None, -math.inf)
        found = self._solver.solve(low, high)
        if found is not None:
            x = np.clip(np.where(np.isfinite(found.x), found.x, 0.0), low, high)
            best = self._better(best, found.multipliers, low, high)
        if best[1] < target and (low[self._integer] == high[self._integer]).all():
            best = self._last(best, low, high)
        return Bounded(*best, x, found is not None and found.falls)

    def _last(
        self, best: tuple[Known | None, float], low: Array, high: Array
    ) -> tuple[Known | None, float]:
        """The best that is found of a box with all integers fixed, at some expense."""
        found = self._solver.solve(low, high, widened=False)
        if found is not None:
            best = self._better(best, found.multipliers, low, high)
            best = self._better(best, replace(found.multipliers, mu=0.0), low, high)
        if not math.isfinite(best[1]):
            farkas = farkas_of_rows(self._case.subject, low, high, self._case.limits)
            best = self._better(best, farkas, low, high)
        return best

    def _better(
        self,
        best: tuple[Known | None, float],
        multipliers: SparseMultipliers | None,
        low: Array,
        high: Array,
    ) -> tuple[Known | None, float]:
        known = self._known(multipliers, low, high)
        if known is None:
            return best
        value = known.value(low, high, self._step)
        return (known, value) if best[0] is None or value > best[1] else best

    def _known(
        self, multipliers: SparseMultipliers | None, low: Array, high: Array
    ) -> Known | None:
        if multipliers is None:
            return None
        inequality = minorant(self._rows, multipliers, box=(low, high))
        return None if inequality is None else Known(multipliers, inequality)


# --- Which column a node is split on: pseudo-costs that strong branching starts ------------------
# Pseudo-costs (Benichou et al., Experiments in mixed-integer linear programming, Mathematical
# Programming 1, 1971) are the mean growth of the bound per unit of distance, of each column and
# side; a column with fewer than a few of them is tried out, as in reliability branching
# (Achterberg, Koch & Martin, Branching rules revisited, Operations Research Letters 33, 2005).


RELIABLE = 4  # trials of a column and side
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

    live (m,): rows that count.
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

    columns: integer columns that are not fixed.
    urgency: what moving each of them to a whole number breaks.
    room: what is missing to the cutoff.
    growth(column, side) -> float: solves a child and says how much its bound grows.
    tries: columns that are tried out at most.
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


# --- What a search over boxes asks for, and what it returns --------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class TreeSearch(Printed):
    """Where a search ended.

    point: the best one, exactly feasible.
    bound: what the kernel makes of the proof.
    nodes: boxes that were bounded.
    trace (seconds, bound, incumbent): of the minimisation, its constant included.
    falls: whether the relaxation seems to have no least value although there is a point.
    """

    point: FeasiblePoint | None
    proof: TreeProof
    bound: LowerBound | Infeasible | None
    nodes: int
    stop: StopReason
    trace: tuple[Row, ...]
    falls: bool = False
    _shown = ("point", "bound", "nodes", "stop", "trace")


@dataclass(frozen=True, eq=False)
class Answer:
    """What somebody who is asked for a point says.

    x (n,).
    seconds: what the search may still take, if that is for it to say.
    again: work of the search after which it may be asked again.
    within: seconds after which that is due in any case, where a clock was asked for.
    ends: whether there is nothing left to prove.
    """

    x: Array | None
    seconds: float | None = None
    again: int | None = None
    within: float | None = None
    ends: bool = False


Helper = Callable[[], Answer]


# --- Splitting a box in two: which column, where, and what is known of the halves ----------------


TRIES = 2  # columns that are tried out at a node


@dataclass(frozen=True, eq=False)
class Splitting:
    """What a search splits its boxes with.

    integer: integer columns.
    step: as for `Known.value`.
    """

    tree: GrowingTree
    solver: NodeSolver
    costs: PseudoCosts
    urgency: Urgency
    integer: Index
    step: Fraction | None

    def halve(self, node: OpenNode, x: Array, left: Index, target: float) -> None:
        """Put both halves of a box into the tree, with what is known of the whole.

        node: its `bound` and `parent` are what is proven of the box itself.
        x (n,): a point of the box.
        left: integer columns that are not fixed.
        target: bound at which a box needs no further look.
        """
        low, high, value, known = node.low, node.high, node.bound, node.parent
        urgency = self.urgency.at(x)[np.searchsorted(self.integer, left)]
        room = target - value if math.isfinite(target - value) else 1.0

        def growth(column: int, side: int) -> float:
            found = self.solver.solve(*half(low, high, x, column, side))
            if found is None or not math.isfinite(value):
                return 0.0
            return max(0.0, min(found.bound, target) - value)

        j = chosen(self.costs, left, x, urgency, max(room, 1e-12), growth, TRIES)
        at = min(max(math.floor(x[j]), low[j]), high[j] - 1)
        for side, child in enumerate(self.tree.split(node.number, j, float(at))):
            box = half(low, high, x, j, side)
            least = value if known is None else max(value, known.value(*box, self.step))
            distance = abs(x[j] - at) if side == 0 else abs(at + 1 - x[j])
            self.tree.push(OpenNode(child, *box, least, known, j, side, float(distance)))


NAME = "branch and bound"
BETTER = 0.08  # of the gap: an incumbent that is better by more starts the tree again
RESTARTS = 3
ROOT_SHARE = 0.3  # of a time limit
UNHURRIED = 4_000_000  # work at the root, see engines/running.py: ten seconds
SEARCHED = 0.9  # of a time limit; the kernel replays the tree in the rest
EVERY = 10  # nodes between two roundings
ENDLESS = 5_000  # nodes where an integer column has no limit, so that boxes may be split for ever
PATIENCE = 1_500_000  # work before anybody is asked for a point: three seconds


def tree_search(
    case: Case,
    start: Array | None = None,
    *,
    node_limit: int | None = None,
    helper: Helper | None = None,
    patience: int = PATIENCE,
    within: float = math.inf,
) -> TreeSearch:
    """Search a mixed-integer model that is convex once integrality is dropped.

    start (n,): a point whose integers are tried first, nan where it says nothing; what is wrong
        with it does no harm.
    node_limit: most boxes to bound.
    helper() -> Answer: asked for a point where the first boxes have not been enough.
    patience: work before it is asked, unless there is no point at all.
    within: seconds after which it is asked in any case; for searches with a time limit.
    Raises ValueError: another model.
    """
    if not case.classification.relaxes_to_convex:
        raise ValueError(f"branch and bound: {case.classification.reason}")
    search = _Search(case, node_limit, helper, patience, within)
    with search.ctrl_c.listening(), live_line(NAME, quiet=case.limits.log) as line:
        stop = search.run(start, line)
    proof = search.proof()
    return TreeSearch(
        search.incumbent.point, proof, tree_bound(case.subject, proof), search.nodes_done, stop,
        search.progress.rows, search.falls,
    )  # fmt: skip


class _Search:
    """The state of a search."""

    def __init__(
        self,
        case: Case,
        node_limit: int | None,
        helper: Helper | None,
        patience: int = PATIENCE,
        within: float = math.inf,
    ) -> None:
        self.helper, self.patience, self.within = helper, patience, within
        self.work = WorkCount()
        self.case, self.subject, self.form = case, case.subject, case.form
        self.integer = np.flatnonzero(self.form.integer)
        self.step = lattice(self.subject)
        self.began = time.perf_counter()
        limit = case.limits.time_limit
        self.deadline = math.inf if limit is None else self.began + SEARCHED * limit
        self.node_limit = math.inf if node_limit is None else node_limit
        self.ctrl_c, self.progress = CtrlC(), Progress()
        self.incumbent = Incumbent(case, self.work)
        self.costs = PseudoCosts(self.form.n)
        self.nodes_done, self.restarts, self.falls = 0, 0, False
        self.is_done = False  # since somebody who was asked has proven it, say
        self.cutoff = math.inf
        self.root = planted(self.subject, self.cutoff)
        self.tree = GrowingTree(self.root.rows.low, self.root.rows.high)
        self.former: tuple[float, TreeProof | None] = (-math.inf, None)

    @property
    def best(self) -> float:
        """Objective of the incumbent, the constant left out."""
        return self.incumbent.best

    @property
    def target(self) -> float:
        """Bound at which a box needs no further look."""
        return self.incumbent.target

    def bound(self) -> float:
        """Least bound of what is open and of what was closed."""
        return max(min(self.tree.bound(), self.cutoff), self.former[0])

    def proof(self) -> TreeProof:
        """The tree, or the one before it while that proves more."""
        bound, former = self.former
        if former is not None and bound > min(self.tree.bound(), self.cutoff):
            return former
        return self.tree.proof(self.cutoff, self.root.rounds)

    def _ready(self) -> None:
        """Solver and scales for the rows of the root."""
        rows = self.root.rows
        self.solver = NodeSolver(rows, self.root.live, self.case.limits.threads, self.work)
        self.boxes = Boxes(self.case, rows, self.solver)
        self.urgency = Urgency(rows, self.root.live)
        self.binary = binary(self.subject, rows)
        ends = rows.low[self.integer], rows.high[self.integer]
        self.endless = not all(np.isfinite(end).all() for end in ends)

    def _note(self) -> None:
        constant = self.case.constant
        self.progress.add(self.bound() + constant, self.best + constant)

    def _is_over(self) -> bool:
        return self.ctrl_c.asked or self.is_done or time.perf_counter() > self.deadline

    def run(self, start: Array | None, line: LiveLine) -> StopReason:
        """Search until the gap is closed or a limit ends it."""
        self._ready()
        for begin in (start, None) if start is not None else (None,):
            self._climb(begin)
        if self.incumbent.point is None and self.helper is not None:
            self._ask()
        while True:
            self.incumbent.improve(self.root.rows, self.solver, self._is_over)
            self._grow_root()
            # With a point and a ray of the relaxation there is no least value in rational data;
            # without a point boxes may be split for ever.
            stop = StopReason.NUMERICAL if self.falls else self._tree(line)
            if stop is not None:
                self._note()
                return stop
            self.restarts += 1
            if self.bound() > self.former[0]:
                self.former = self.bound(), self.tree.proof(self.cutoff, self.root.rounds)

    def _climb(self, start: Array | None) -> None:
        """A point from a start or from the relaxation, as good as single moves make it."""
        other = Incumbent(self.case, self.work)
        if start is None:
            other.dive(self.root.rows, self.solver, self._is_over)
        else:
            other.begin(self.root.rows, self.solver, start, self._is_over)
        other.improve(self.root.rows, self.solver, self._is_over)
        if other.best < self.best:
            self.incumbent = other

    def _grow_root(self) -> None:
        """Everything that can be derived at the root below the present cutoff."""
        if self.best < self.cutoff:
            self._lower_cutoff()
        if not self._is_empty():
            whole = self.boxes.bounded(self.root.rows.low, self.root.rows.high, self.target)
            bound, self.falls = whole.bound, whole.falls
        if math.isfinite(self.cutoff) and not self._is_empty() and bound < self.target:
            self._strengthen(bound)
        self.tree = GrowingTree(self.root.rows.low, self.root.rows.high)

    def _strengthen(self, bound: float) -> None:
        """Derive limits and smaller M; the helper is asked in between where that takes long."""
        guess = bound if math.isfinite(bound) else min(0.0, self.cutoff)
        now = time.perf_counter()
        most, end = self.work.done + UNHURRIED, now + ROOT_SHARE * (self.deadline - now)
        self._derive(guess, most, end, asking=self.helper is not None)
        if self.helper is not None and self._is_slow():
            before = time.perf_counter()
            self._ask()
            end = min(end + time.perf_counter() - before, self.deadline)
            if self.best < self.cutoff:
                self._lower_cutoff()
            self._derive(guess, most, end)

    def _derive(self, guess: float, most: int, end: float, *, asking: bool = False) -> None:
        """Strengthen until so much work is done, to an end, or until somebody is to be asked."""

        def is_over() -> bool:
            late = self.work.done >= most or time.perf_counter() > end
            return late or self._is_over() or (asking and self._is_slow())

        if is_over():
            return
        threads = self.case.limits.threads
        Strengthening(
            self.subject, self.root, self.cutoff, guess, threads, self.work, is_over
        ).run()
        self._ready()

    def _lower_cutoff(self) -> None:
        """Everything derived so far, below the present point."""
        self.cutoff = self.best
        self.root = planted(self.subject, self.cutoff, self.root)
        self._ready()

    def _is_empty(self) -> bool:
        return bool((self.root.rows.low > self.root.rows.high).any())

    def _show(self, line: LiveLine) -> None:
        sense, constant = self.form.sense, self.case.constant
        bound, best = sense * (self.bound() + constant), sense * (self.best + constant)
        line.show(bound, best, f"{self.nodes_done:,} nodes")

    def _tree(self, line: LiveLine) -> StopReason | None:
        """Take the open node of least bound, again and again; None to start the tree again."""
        at_root = self.best
        if self.tree.is_open:  # without its root a tree proves nothing
            self._look_at(self.tree.pop())
        while self.tree.is_open:
            stop = self._limit()
            if stop is not None:
                return stop
            if self.helper is not None and self._is_slow():
                self._ask()
            if line.is_due:
                self._show(line)
            self._look_at(self.tree.pop())
            if self.best < at_root and self.restarts < RESTARTS:
                least = self.bound()
                much = not math.isfinite(at_root) or not math.isfinite(least)
                if much or at_root - self.best > BETTER * abs(at_root - least):
                    return None
        return StopReason.PROVEN if self.tree.worst >= self.target else StopReason.NUMERICAL

    def _limit(self) -> StopReason | None:
        """What ends the search now, if anything does."""
        if self.ctrl_c.asked:
            return StopReason.INTERRUPTED
        if self.is_done:
            return StopReason.FINISHED
        if time.perf_counter() > self.deadline:
            return StopReason.TIME_LIMIT
        if self.nodes_done >= self.node_limit:
            return StopReason.NODE_LIMIT
        if self.endless and self.nodes_done >= ENDLESS:
            return StopReason.STALLED
        return StopReason.MEMORY_LIMIT if self.tree.numbers > MEMORY else None

    def _is_slow(self) -> bool:
        late = time.perf_counter() - self.began > self.within
        return late or self.work.done > self.patience

    def _ask(self) -> None:
        """Try the helper's point."""
        assert self.helper is not None
        answer = self.helper()
        now = time.perf_counter()
        if answer.again is None:
            self.helper = None
        else:
            self.patience = self.work.done + answer.again
            self.within = math.inf
            if answer.within is not None:
                self.within = now - self.began + answer.within
        self.is_done = answer.ends
        if answer.seconds is not None:
            self.deadline = min(self.deadline, now + SEARCHED * answer.seconds)
        x = answer.x
        if x is not None and np.isfinite(x).all() and self.incumbent.take(x):
            self.incumbent.improve(self.root.rows, self.solver, self._is_over)
            self._note()

    def _look_at(self, node: OpenNode) -> None:
        """Bound a box; close it or split it."""
        low, high, number = node.low, node.high, node.number
        if (low > high).any():
            self.tree.close(number, None, math.inf)
            return
        self.nodes_done += 1
        if node.bound >= self.target:
            self.tree.close(number, node.parent, node.bound)
            return
        known, value, x = self._bounded(node)
        left = self.integer[low[self.integer] < high[self.integer]]
        if value < self.target:
            self._look_for_points(x, left)
        if value >= self.target or not len(left):
            self.tree.close(number, known, value)
            return
        if known is not None and known.multipliers.mu == 1 and math.isfinite(self.best):
            price = np.zeros(len(low))
            price[self.integer] = known.minorant.low
            priced = left[self.binary[left] & (np.abs(price[left]) > self.target - value)]
            number, low, high = self.tree.fix(
                number, known, low, high, dict(zip(priced.tolist(), price[priced], strict=True)),
                self.target, self.step,
            )  # fmt: skip
            left = self.integer[low[self.integer] < high[self.integer]]
            if not len(left):
                self.tree.push(OpenNode(number, low, high, value, known))
                return
        ways = Splitting(self.tree, self.solver, self.costs, self.urgency, self.integer, self.step)
        ways.halve(OpenNode(number, low, high, value, known), x, left, self.target)

    def _bounded(self, node: OpenNode) -> tuple[Known | None, float, Array]:
        """The better of what the parent and the box itself prove, and a point of it."""
        own = self.boxes.bounded(node.low, node.high, self.target)
        if node.column >= 0 and math.isfinite(node.bound):
            grown = min(own.bound, self.best) - node.bound
            self.costs.add(node.side, node.column, grown, node.distance)
        if own.known is None or own.bound < node.bound:
            return node.parent, node.bound, own.x
        return own.known, own.bound, own.x

    def _look_for_points(self, x: Array, left: Index) -> None:
        offers = []
        if self.nodes_done % EVERY == 1:
            offers.append(rounded(self.root.rows, x, self.form.integer))
        if not len(left) or np.abs(x[left] - np.round(x[left])).max() < WHOLE:
            offers.append(x)
        if any([self.incumbent.offer(self.root.rows, self.solver, offer) for offer in offers]):
            self.incumbent.improve(self.root.rows, self.solver, self._is_over)
            self._note()
