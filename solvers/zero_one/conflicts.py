"""Branch and bound for the 0-1 loss over the choice which points are kept.

    min   norm2 + penalty * #{i : y_i (<w, x_i> + b) < 1}

A node keeps some points, pays for others, and leaves the rest open; node_bounds.py bounds it by
weak duality, all rounding given away. That of least bound is split at a point of a least conflict.
Where many points leave much open, parts of them are searched alone and their bounds added up
(parts.py). Better hyperplanes are looked for, now and then, by the same search among those that
treat all points but the ones nearest to the margin of a good one as that does (tree.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.data.training_data import TrainingData, reads_dense_points
from tightmargin.formulations.parameters import positive
from tightmargin.solvers.engines.running import StopReason, live_line
from tightmargin.solvers.kernel.conflicts import OpenNode, Remainder
from tightmargin.solvers.kernel.signed_points import SideRows
from tightmargin.solvers.zero_one.conflict_tree import (
    ConflictSearch,
    TracePoint,
    Tree,
    larger_splits,
    part_tree,
    parts_are_due,
)
from tightmargin.solvers.zero_one.node_bounds import OutOfTimeError
from tightmargin.worker_processes import Workers, is_lost, opened_workers

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


GAP = 1e-6
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
    gap: float = GAP,
    time_limit: float | None = None,
    step_limit: int | None = None,
    side: SideRows | None = None,
    compiled: bool | None = None,
    workers: int = 1,
    scheduler: str | None = None,
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
        data, cost, intercept, gap, side or SideRows.nothing(data.n, data.d), compiled_after
    )
    if time_limit is not None and clock is time.monotonic:
        search.until = started + time_limit
    with ExitStack() as opened:
        several = None
        if workers > 1 or scheduler:
            several = Lender(search, opened.enter_context(opened_workers(workers, scheduler)))
        try:
            search.start(incumbent)
            limits = _Limits(lambda: clock() - started, time_limit, step_limit)
            stop = _searched(search, several, limits, progress)
        except OutOfTimeError:
            stop = StopReason.TIME_LIMIT
        except KeyboardInterrupt:
            stop = StopReason.INTERRUPTED
    if stop is StopReason.PROVEN and search.bound < search.target * (1 - search.problem.rounded):
        stop = StopReason.NUMERICAL
    seconds = clock() - started
    search.note(seconds, progress, last_one=True)
    return ConflictSearch(
        search.best.w, search.best.b, search.best.given_up, search.objective, search.bound,
        search.nodes, search.steps, seconds, stop, tuple(search.trace), search.parts,
        search.cover.lemma(search.objective),
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


def _searched(
    search: Tree,
    several: Lender | None,
    limits: _Limits,
    progress: Callable[[TracePoint], None],
    name: str = "conflict search",
) -> StopReason:
    """Search until nothing is open or a limit is reached."""
    with live_line(name) as line:
        search.root()
        way: Tree | Lender = search
        parts_tried = False
        while way.more():
            seconds = limits.elapsed()
            search.note(seconds, progress)
            if line.is_due:
                line.show(search.bound, search.objective, f"{search.nodes:,} nodes")
            stop = limits.reached(search)
            if stop is not None:
                return stop
            way.go()
            if not parts_tried and parts_are_due(search):
                parts_tried = True
                _search_parts(search, several, limits, progress)
                if search.bound >= search.target:
                    break
            if several and way is search and seconds >= FRONTIER and several.awake():
                if not search.seed:
                    search.look_elsewhere()  # workers do not
                way = several
    return StopReason.PROVEN


def _search_parts(
    search: Tree,
    several: Lender | None,
    limits: _Limits,
    progress: Callable[[TracePoint], None],
) -> None:
    """Add up bounds of parts, and of larger ones once all are finished within their share."""
    for parts in larger_splits(search.data, search.best.w, search.best.b):
        many, finished = len(parts), True
        search.cover.add_parts(many)
        for k, own in enumerate(parts):
            if limits.reached(search):
                return
            part = part_tree(search, own, many)
            share = limits.shared(search, 1 / (many / OF_PARTS - k))
            if share.seconds is not None and np.isfinite(search.until):
                part.until = time.monotonic() + share.seconds
            part.start(None)
            search.cover.add_part(own, part.cover)

            def told(point: TracePoint) -> None:
                search.note(limits.elapsed(), progress)

            try:
                name = f"conflict search, part {k + 1} of {many}"
                others = Lender(part, several.workers) if several else None
                stop = _searched(part, others, share, told, name)
            except OutOfTimeError:
                stop = StopReason.TIME_LIMIT
            part.note(share.elapsed(), told, last_one=True)
            search.nodes += part.nodes
            search.steps += part.steps
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
