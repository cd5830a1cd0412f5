"""Our own branch and bound with rows that are found at its nodes.

As solvers/tree/search.py, without what is derived from a cutoff: a point counts once
the separators accept it, and a bound of a box stays one when rows join the model. Where some do,
the multipliers of all leaves get the numbers that their rows have now, so that the kernel replays
the whole tree over the model with all rows.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from tightmargin.cuts.separation.asking import Asking
from tightmargin.cuts.separation.engines.ended import Ended
from tightmargin.cuts.separation.errors import HaltError
from tightmargin.cuts.separation.incumbent import Accepted
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.certify.case import SEARCH_GAP
from tightmargin.solvers.engines.registry import unknown_option
from tightmargin.solvers.engines.running import (
    MEMORY,
    CtrlC,
    Limits,
    LiveLine,
    StopReason,
    live_line,
)
from tightmargin.solvers.errors import ProblemClassError
from tightmargin.solvers.kernel.tree import first_rows, lattice, tree_bound
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.model.conic import ConicForm
from tightmargin.solvers.model.convexity import classify
from tightmargin.solvers.tree.node import WHOLE, NodeSolver, rounded
from tightmargin.solvers.tree.search import (
    Boxes,
    GrowingTree,
    Known,
    OpenNode,
    PseudoCosts,
    Splitting,
    Urgency,
)

OPTIONS = ("node_limit",)
EVERY = 10  # nodes between two roundings
ROUNDS = 20  # of rows at one relaxation that is not whole
SEARCHED = 0.9  # of a time limit; the kernel replays the tree in the rest


def refuse(asking: Asking, limits: Limits) -> None:
    """Raise for a model that is not convex once integrality is dropped, or has no integers."""
    kind = classify(asking.base)
    if not kind.has_integers or not kind.relaxes_to_convex:
        why = kind.reason or "it has no integer variables"
        raise ProblemClassError(
            "engine branch-and-bound is for models with integer variables that are convex without "
            f"them, and for this one {why}: take engine=live, highs or scip"
        )
    for name in limits.options:
        if name not in OPTIONS:
            raise unknown_option("engine branch-and-bound", name, OPTIONS)
    nodes = limits.options.get("node_limit")
    if nodes is not None and (type(nodes) is not int or nodes < 1):
        raise ValueError(f"node_limit must be a whole number of at least 1, got {nodes!r}")


def run(asking: Asking, limits: Limits, fractional: bool) -> Ended:
    """Search until every box is closed by a proof, or something ends it."""
    search = _Search(asking, limits, fractional)
    with search.ctrl_c.listening(), live_line("branch and bound", quiet=limits.log) as line:
        return search.ended(search.stop(line))


class _Search:
    """The state of a search."""

    def __init__(self, asking: Asking, limits: Limits, fractional: bool) -> None:
        self.asking, self.limits, self.fractional = asking, limits, fractional
        self.integer = np.flatnonzero(asking.base.integer)
        limit = limits.time_limit
        self.deadline = math.inf if limit is None else time.perf_counter() + SEARCHED * limit
        self.node_limit = limits.options.get("node_limit", math.inf)
        self.ctrl_c, self.costs = CtrlC(), PseudoCosts(asking.base.n)
        self.best = Accepted(asking, limits)
        self.nodes = 0
        # What is known of the box that is looked at, which is not in the tree meanwhile.
        self.known: Known | None = None
        self.value = math.inf
        self._read()
        self.tree = GrowingTree(self.rows.low, self.rows.high)

    def _read(self) -> None:
        """Everything that depends on the rows so far."""
        self.case = self.asking.case(self.limits)
        rows = first_rows(self.case.subject, math.inf)
        assert rows is not None
        self.rows, self.step = rows, lattice(self.case.subject)
        live = np.ones(len(rows.conic.b), dtype=bool)
        self.solver = NodeSolver(rows, live, self.limits.threads)
        self.boxes, self.urgency = Boxes(self.case, rows, self.solver), Urgency(rows, live)

    def _grow(self) -> None:
        """Take rows that were found into the model, and the tree along."""
        before = self.rows.conic
        self._read()
        moved = places(before, self.rows.conic)
        self.tree.renumber(moved)
        if self.known is not None:
            own = self.known.multipliers
            self.known = replace(self.known, multipliers=replace(own, rows=moved[own.rows]))

    @property
    def target(self) -> float:
        """Bound at which a box needs no further look."""
        known = self.best.varying
        if not math.isfinite(known):
            return math.inf
        return known - max(SEARCH_GAP * abs(known), self.limits.absolute_gap / 2)

    def _bound(self) -> float:
        least = min(self.tree.bound(), self.value, self.best.varying)
        return least + self.case.constant

    def ended(self, stop: StopReason) -> Ended:
        """The accepted point, and what the kernel makes of the tree."""
        proof = tree_bound(self.case.subject, self.tree.proof(math.inf, ()))
        status = Status.INTERRUPTED if stop is StopReason.INTERRUPTED else Status.FEASIBLE
        if stop is StopReason.PROVEN:
            status = Status.OPTIMAL if self.best.x is not None else Status.INFEASIBLE
        return Ended(
            stop, status, f"{self.nodes} nodes", self.best.x, proof=proof, nodes=self.nodes
        )

    def stop(self, line: LiveLine) -> StopReason:
        """Take the open box of least bound, again and again; why that ended."""
        while self.tree.is_open:
            if self.ctrl_c.asked:
                return StopReason.INTERRUPTED
            if time.perf_counter() > self.deadline:
                return StopReason.TIME_LIMIT
            if self.nodes >= self.node_limit:
                return StopReason.NODE_LIMIT
            if self.tree.numbers > MEMORY:
                return StopReason.MEMORY_LIMIT
            if line.is_due:
                sense = self.asking.base.sense
                words = f"{self.nodes:,} nodes, {len(self.asking.rows)} rows found"
                line.show(sense * self._bound(), sense * self.best.value, words)
            node = self.tree.pop()
            self.known, self.value = node.parent, node.bound
            try:
                self._look_at(node)
            except HaltError:
                box = node.low, node.high
                self.tree.push(OpenNode(node.number, *box, self.value, self.known))
                return self.asking.halt_reason()
            self.known, self.value = None, math.inf
        return StopReason.PROVEN if self.tree.worst >= self.target else StopReason.NUMERICAL

    def _look_at(self, node: OpenNode) -> None:
        """Bound a box, ask at its point, and close it or split it."""
        low, high, number = node.low, node.high, node.number
        if (low > high).any():
            self.tree.close(number, None, math.inf)
            return
        self.nodes += 1
        left = self.integer[low[self.integer] < high[self.integer]]
        x, rounds = np.clip(np.zeros(len(low)), low, high), 0
        while self.value < self.target:
            found = self.boxes.bounded(low, high, self.target)
            x = found.x
            if found.known is not None and found.bound >= self.value:
                self.known, self.value = found.known, found.bound
            if self.value >= self.target or not self._added(x, rounds, number, left):
                break
            rounds += 1
        if self.value >= self.target or not len(left):
            self.tree.close(number, self.known, self.value)
            return
        self._split(node, x, left)

    def _added(self, x: Array, rounds: int, number: int, left: Index) -> bool:
        """Whether rows were found at a relaxation's point, or at one with its integers."""
        count, whole = len(self.asking.rows), not len(left)
        whole = whole or bool(np.abs(x[left] - np.round(x[left])).max() < WHOLE)
        bound = self._bound()
        if whole:
            self.best.offer(x, bound, number)
        elif self.fractional and rounds < ROUNDS:
            # An interior-point method may leave its relaxation's rows by more than a little.
            self.asking.at(x, bound, number, again=True)
        elif self.nodes % EVERY == 1 and not rounds:
            self.best.offer(rounded(self.rows, x, self.asking.base.integer), bound, number)
        if len(self.asking.rows) == count:
            return False
        self._grow()
        return True

    def _split(self, node: OpenNode, x: Array, left: Index) -> None:
        if node.column >= 0 and math.isfinite(node.bound):
            grown = min(self.value, self.best.varying) - node.bound
            self.costs.add(node.side, node.column, grown, node.distance)
        ways = Splitting(self.tree, self.solver, self.costs, self.urgency, self.integer, self.step)
        box = OpenNode(node.number, node.low, node.high, self.value, self.known)
        ways.halve(box, x, left, self.target)


def places(old: ConicForm, new: ConicForm) -> Index:
    """Where the rows of a conic form stand in that of the same model with more linear rows."""
    equal = np.searchsorted(new.equal, old.equal)
    low = len(new.equal) + np.searchsorted(new.low, old.low)
    high = len(new.equal) + len(new.low) + np.searchsorted(new.high, old.high)
    linear = len(old.equal) + len(old.low) + len(old.high)
    moved = len(new.equal) + len(new.low) + len(new.high) - linear
    return np.concatenate([equal, low, high, np.arange(linear, len(old.b)) + moved])
