"""Branch and bound over cones of directions: the 0-1 loss and the ramp loss in few dimensions.

A cell is a box of directions on a face of a cube; given the largest margin that each point can have
in it, what is left is one-dimensional (solvers/proofs/cones/cell_bounds.py). The kernel bounds the
cells of the final cover again, and its number is the bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.dense_points import reads_dense_points
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import finite_hyperplane, positive
from tightmargin.solvers.exact_arithmetic import rounded_down
from tightmargin.solvers.execution.live_line import live_line
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.proofs.cones.cell_bounds import cell_bounds
from tightmargin.solvers.proofs.cones.cover import cover_lemma
from tightmargin.solvers.proofs.cones.problem import LARGEST, ConeProblem, cone_problem
from tightmargin.solvers.proofs.packings.side_rows import SideRows
from tightmargin.solvers.zero_one.cones.cell_tree import CellTree
from tightmargin.solvers.zero_one.cones.incumbents import (
    BestPlane,
    LeastCost,
    LeastCostBeside,
    LeastRamp,
)
from tightmargin.solvers.zero_one.cones.planes import caps_of, conflict_of
from tightmargin.solvers.zero_one.cones.result import ConeSearch
from tightmargin.solvers.zero_one.cones.run import Progress, Run, checked_run
from tightmargin.solvers.zero_one.conflict_search.result import TracePoint

GAP = 1e-6
PROVING = 0.6  # of the search's seconds, which the kernel takes at most to do it again
LARGEST_OPEN = 40_000_000  # numbers of all open cells
CENTRES = 32  # directions that are evaluated in each round
WORTH = 1.05  # of the best objective, up to which a direction is refined
DEARER = 400_000  # cells after which the dearer heuristic is run
TRACED = 400


@reads_dense_points
def cone_search(
    data: TrainingData,
    *,
    penalty: float,
    intercept: str,
    incumbent: tuple[Array, float] | None = None,
    gap: float = GAP,
    time_limit: float | None = None,
    cell_limit: int | None = None,
    side: SideRows | None = None,
    compiled: bool | None = None,
    clock: Callable[[], float] = time.monotonic,
    progress: Progress = lambda point: None,
) -> ConeSearch:
    """Global optimum of the 0-1 loss problem in few dimensions, by cones of directions.

    Up to five features it takes seconds for hundreds of points, and moments in two; each further
    feature takes some ten times as long. A penalised intercept counts as a feature, and so does a
    free one that a side row speaks of.

    Parameters
    ----------
    data, penalty, intercept
        As for zero_one_big_m; points may be weighted.
    incumbent : (w, b), optional
        A known hyperplane.
    gap : float
        Relative gap at which a cell is closed, of what side rows leave open.
    time_limit : float, optional
        Seconds of `clock` for the search and for the kernel's proof of it.
    cell_limit : int, optional
        A limit that gives the same result on any machine.
    side : SideRows, optional
        What a hyperplane has to meet besides. It is met, and points are kept, to 1e-9; where no
        point is found, the objective is infinite.
    compiled : bool, optional
        Whether numba compiles the bounds of cells where a free intercept makes them the most work:
        the same numbers in a third of the time. By default it does where it is installed and the
        search is long. The proof is numpy's in any case.
    clock, progress : callable
        time.process_time counts processor time instead; told about each TracePoint.

    Raises
    ------
    ValueError
        Bad penalty, intercept or limits; no feature; features of sizes beyond 2^200; compiled=True
        without numba.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=40, d=3, sigma=0.5, seed=1)
    >>> found = tm.search.cone_search(data, penalty=1.0, intercept="free")
    >>> str(found.stop), found.objective - found.bound < 1e-5 * found.objective
    ('proven', True)
    """
    started = clock()
    run = checked_run(data, intercept, gap, time_limit, cell_limit, clock, progress, compiled)
    cost = positive("penalty", penalty)
    problem = zero_one_cones(data, cost, intercept, side)
    best: BestPlane
    if side is not None and not side.empty:
        best, decided = LeastCostBeside(data, cost, intercept, side), side.constant
    else:
        best, decided = LeastCost(data, cost, intercept), 0.0
    _begin(best, data, incumbent)
    return search_cells(problem, best, run, started, "0-1 loss", decided)


@reads_dense_points
def ramp_cone_search(
    data: TrainingData,
    *,
    C: float,
    intercept: str,
    incumbent: tuple[Array, float] | None = None,
    gap: float = GAP,
    time_limit: float | None = None,
    cell_limit: int | None = None,
    side: SideRows | None = None,
    clock: Callable[[], float] = time.monotonic,
    progress: Progress = lambda point: None,
) -> ConeSearch:
    """Global optimum of the ramp loss in few dimensions, by cones of directions.

    Any intercept but none counts as a feature.

    Parameters
    ----------
    data : TrainingData
    C, intercept : float, str
        As for ramp_big_m.
    incumbent : (array (d,), float), optional
        w and b of a hyperplane to begin with.
    gap : float
        Relative; the search ends where the proven gap is no larger.
    time_limit, cell_limit : float, int, optional
        What ends it before; the bound so far counts.
    side : SideRows, optional
        Rows of w and b that a hyperplane has to meet, to 1e-9; decided points and counts are of
        the 0-1 loss alone. Where no point is found, the objective is infinite.
    clock : callable
        Seconds since some moment.
    progress : callable
        Called with where the search stands.

    Raises
    ------
    ValueError
        Bad C, intercept or limits; no feature; features of sizes beyond 2^200; decided points.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=20, d=2, sigma=0.5, seed=1)
    >>> found = tm.search.ramp_cone_search(data, C=1.0, intercept="penalised")
    >>> found.objective - found.bound < 1e-5 * found.objective
    True
    """
    started = clock()
    run = checked_run(data, intercept, gap, time_limit, cell_limit, clock, progress)
    cost = positive("C", C)
    beside = side if side is not None and not side.empty else None
    best = LeastRamp(data, cost, intercept, beside)
    _begin(best, data, incumbent)
    problem = ramp_cones(data, cost, intercept, beside)
    decided = 0.0 if beside is None else beside.constant
    return search_cells(problem, best, run, started, "ramp loss", decided)


def _begin(best: BestPlane, data: TrainingData, incumbent: tuple[Array, float] | None) -> None:
    if incumbent is not None:
        best.offer(finite_hyperplane("incumbent", incumbent, data.d))
    best.start()


def zero_one_cones(
    data: TrainingData, penalty: float, intercept: str, side: SideRows | None
) -> ConeProblem:
    """The problem of cone_search."""
    prices = penalty * data.multiplicity
    return cone_problem(data.X, data.y, prices, intercept=intercept, sides=side)


def ramp_cones(data: TrainingData, C: float, intercept: str, side: SideRows | None) -> ConeProblem:
    """The problem of ramp_cone_search."""
    return cone_problem(
        data.X, data.y, C * data.multiplicity, intercept=intercept, ramp=True, square=0.5,
        sides=side,
    )  # fmt: skip


def search_cells(
    problem: ConeProblem,
    best: BestPlane,
    run: Run,
    started: float,
    loss: str,
    decided: float = 0.0,
) -> ConeSearch:
    """Halve cells until the gap is closed or a limit is met, and have the kernel prove the rest.

    Parameters
    ----------
    decided : float
        What of the objective is decided: a gap is a share of the rest.
    """
    search = _Cells(problem, best, run, decided)
    stop = StopReason.PROVEN
    try:
        with live_line("cone search") as line:
            search.begin()
            while search.tree.open:
                elapsed = run.clock() - started
                search.note(elapsed)
                if line.is_due:
                    line.show(search.bound, best.objective, f"{search.tree.cells:,} cells")
                reason = search.limit(elapsed)
                if reason is not None:
                    stop = reason
                    break
                search.round()
    except KeyboardInterrupt:
        stop = StopReason.INTERRUPTED
    cover = search.tree.cover()
    # Above what the search believes the kernel need not look.
    lemma = cover_lemma(problem, cover, min(search.tree.least, problem.at_zero))
    bound = 0.0 if lemma is None else min(max(lemma.value, 0.0), best.objective)
    if stop is StopReason.PROVEN and bound < search.aim * (1 - 1e-9):
        stop = StopReason.NUMERICAL
    seconds = run.clock() - started
    search.note(seconds, bound)
    return ConeSearch(
        best.w, best.b, best.given_up, best.objective, bound, search.tree.cells, seconds, stop,
        tuple(search.trace), loss, cover, lemma,
    )  # fmt: skip


class _Cells:
    """The tree and the best hyperplane, and what one tells the other."""

    def __init__(self, problem: ConeProblem, best: BestPlane, run: Run, decided: float) -> None:
        self.problem, self.best, self.run = problem, best, run
        self.decided = decided
        self.known, self.dearer = np.inf, False
        self.trace: list[TracePoint] = []
        self.tree = CellTree(problem, self.target, run.compiled_after)

    @property
    def aim(self) -> float:
        """Bounds on the objective from here on close a cell."""
        value = self.best.objective
        if not np.isfinite(value):
            return LARGEST
        return value - self.run.gap * max(value - self.decided, 0.0)

    @property
    def target(self) -> float:
        """The same of the problem's own objective."""
        return min(rounded_down(Fraction(self.aim) - Fraction(self.problem.constant)), LARGEST)

    @property
    def bound(self) -> float:
        """What the search believes; the kernel is asked in the end."""
        return min(
            min(self.tree.least, self.problem.at_zero) + self.problem.constant, self.best.objective
        )

    def begin(self) -> None:
        """Tell the tree what is known before the first cell is halved."""
        if isinstance(self.best, LeastCostBeside) and len(self.problem.sides):
            plane = self.best.by_rows_alone()
            if plane is not None:
                self.tree.use(conflict_of(self.problem, *plane, rows_alone=True))
        self.renew()

    def renew(self) -> None:
        """Tell the tree of a better hyperplane."""
        if self.best.objective < self.known:
            self.known = self.best.objective
            prove = caps_of if self.problem.ramp else conflict_of
            self.tree.use(prove(self.problem, self.best.w, self.best.b))
            self.tree.lower_target(self.target)

    def limit(self, elapsed: float) -> StopReason | None:
        """Which limit is met."""
        run = self.run
        if run.time_limit is not None and elapsed * (1 + PROVING) >= run.time_limit:
            return StopReason.TIME_LIMIT
        if run.cell_limit is not None and self.tree.cells >= run.cell_limit:
            return StopReason.CELL_LIMIT
        numbers = self.tree.open * 2 * (self.problem.k + 1)
        return StopReason.CELL_LIMIT if numbers > LARGEST_OPEN else None

    def round(self) -> None:
        """Look along the most promising directions, and halve cells."""
        if not self.dearer and self.tree.cells > DEARER:
            self.dearer = True
            self.best.search()
        centres, halves = self.tree.nearest(CENTRES)
        # Where a coordinate is dear, as b beside features of 1e7, centres cost more than boxes do.
        cheap = np.sign(centres) * np.maximum(np.abs(centres) - halves, 0.0)
        centres, halves = np.vstack([centres, cheap]), np.vstack([halves, halves])
        beside = len(self.problem.sides) > 0  # a single direction may miss what a box meets
        halves = halves if beside else np.zeros_like(halves)
        values = cell_bounds(self.problem, centres, halves)
        k = int(values.argmin())
        if values[k] + self.problem.constant < self.best.objective * WORTH:
            self.best.offer(self.best.along(self.problem, centres[k], halves[k]))
        self.renew()
        if self.tree.open:
            self.tree.expand()

    def note(self, seconds: float, proven: float | None = None) -> None:
        """Add to the trace when the bound or the best hyperplane moved."""
        bound = max(self.bound, 0.0) if proven is None else proven
        now = TracePoint(seconds, self.tree.cells, bound, self.best.objective)
        if self.trace and proven is None:
            last = self.trace[-1]
            moved = now.bound - last.bound > now.objective / TRACED
            if not moved and now.objective == last.objective:
                return
        self.trace.append(now)
        self.run.progress(now)
