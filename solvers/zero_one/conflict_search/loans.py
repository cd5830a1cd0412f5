"""The conflict search with several processes: open nodes are lent to workers, and come back split.

A loan is a share of the open nodes. A worker searches below them for a moment and returns what is
open then, the least bound of the nodes that it could not split, and its best hyperplane. Until it
has, the nodes of a loan are as open as before: their bounds count in the least one, and when its
process is lost they are searched again. So what is proven depends on no worker.
"""

from __future__ import annotations

import time
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.proofs.packings.cover import OpenNode, Remainder
from tightmargin.solvers.proofs.packings.side_rows import SideRows
from tightmargin.solvers.zero_one.conflict_search.node_bounds import OutOfTimeError
from tightmargin.solvers.zero_one.conflict_search.tree import Tree
from tightmargin.worker_processes import Workers, is_lost

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
    """Have the modules of a search, compiled where its bounds are, in whatever process this is."""
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
    """Of workers, who have compiled before they are lent anything."""
    return 0.0 if np.isfinite(tree.compiled_after) else np.inf


def _best(tree: Tree) -> Plane:
    best = tree.best
    return Plane(best.w, best.b, best.given_up, best.objective)
