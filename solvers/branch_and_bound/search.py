"""Branch and bound, best bound first; everything it claims is a tree that the kernel replays.

A node's bound is the kernel's inequality at whatever multipliers its relaxation left. At the root
limits and large M are narrowed below the cutoff (strengthening.py); a column whose price already
closes one side of it is fixed by the same multipliers; the others are chosen by pseudo-costs. A
much better point starts the tree again, since more can be derived from it.
"""

from __future__ import annotations

import math
import time

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.branch_and_bound.boxes import Boxes
from tightmargin.solvers.branch_and_bound.branching import PseudoCosts, Urgency
from tightmargin.solvers.branch_and_bound.growing_tree import GrowingTree, Known, OpenNode
from tightmargin.solvers.branch_and_bound.node_solver import NodeSolver
from tightmargin.solvers.branch_and_bound.points import WHOLE, Incumbent, rounded
from tightmargin.solvers.branch_and_bound.result import Helper, TreeSearch
from tightmargin.solvers.branch_and_bound.splitting import Splitting
from tightmargin.solvers.branch_and_bound.strengthening import Strengthening, planted
from tightmargin.solvers.certificates.case import Case
from tightmargin.solvers.execution.live_line import LiveLine, live_line
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.execution.stop_request import CtrlC
from tightmargin.solvers.execution.trace import Progress
from tightmargin.solvers.execution.work import MEMORY, WorkCount
from tightmargin.solvers.proofs.tree.derived import binary
from tightmargin.solvers.proofs.tree.tree import TreeProof, lattice, tree_bound

NAME = "branch and bound"
BETTER = 0.08  # of the gap: an incumbent that is better by more starts the tree again
RESTARTS = 3
ROOT_SHARE = 0.3  # of a time limit
UNHURRIED = 4_000_000  # work at the root, see execution/work.py: ten seconds
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

    Parameters
    ----------
    start : array (n,), optional
        A point whose integers are tried first, nan where it says nothing; what is wrong with it
        does no harm.
    node_limit : int, optional
        Most boxes to bound.
    helper : callable() -> Answer, optional
        Asked for a point where the first boxes have not been enough.
    patience : int
        Work before it is asked, unless there is no point at all.
    within : float
        Seconds after which it is asked in any case; for searches with a time limit.

    Raises
    ------
    ValueError
        Another model.
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
