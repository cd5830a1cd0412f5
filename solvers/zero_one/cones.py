"""Branch and bound over cones of directions: the 0-1 loss and the ramp loss in few dimensions.

A cell is a box of directions on a face of a cube; given the largest margin that each point can have
in it, what is left is one-dimensional (solvers/kernel/cones.py). The kernel bounds the
cells of the final cover again, and its number is the bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.data.point_weights import is_weighted
from tightmargin.formulations.data.training_data import TrainingData, reads_dense_points
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.parameters import INTERCEPTS, finite_hyperplane, one_of, positive
from tightmargin.number_words import count_text
from tightmargin.solvers.certify.case import GAP_TOLERANCE, SEARCH_GAP
from tightmargin.solvers.engines.running import StopReason, drive
from tightmargin.solvers.exact import rounded_down
from tightmargin.solvers.kernel.cones import (
    LARGEST,
    SHORTEST,
    Caps,
    Cheapest,
    ConeCover,
    ConeProblem,
    Conflict,
    ProvenCaps,
    ProvenConflict,
    bits_of,
    cell_bounds,
    cone_problem,
    cover_lemma,
    faces,
    fits_a_cube,
    halves,
    proven,
)
from tightmargin.solvers.kernel.signed_points import SideRows
from tightmargin.solvers.searches import GlobalSearch, Progress, Trace
from tightmargin.solvers.zero_one.conflicts import big_m_model
from tightmargin.solvers.zero_one.edited import ONLY_ADDED
from tightmargin.solvers.zero_one.node_bounds import NotCompiledError
from tightmargin.solvers.zero_one.planes import (
    ConePlane,
    LeastCost,
    LeastCostBeside,
    LeastRamp,
    caps_of,
    conflict_of,
)

# --- The open cells of a search over cones of directions, and the tree that covers them all ------
# Cells are bounded by the kernel's own function; what counts in the end is what the kernel proves
# of the whole cover. A quarter of the open cells, those of least bound, is halved at a time.


PRODUCTS = 200_000  # of points and cells at a time, which stay in the cache
ROUND = 6_000_000  # of points and cells in one round, which a limit waits for
FEWEST, SHARE = 256, 4
NEAR = 0.25  # half widths up to which conflicts are looked at


class CellTree:
    """Open cells with their bounds; nodes of the tree are numbered as they are made.

    Attributes
    ----------
    target : float
        Cells whose bound reaches it are closed; it only falls.
    leaves : float
        Least bound of a cell that cannot be halved.
    cells : int
        Bounded so far.
    compiled_after : float
        Products of points and cells after which numba does the same, with the same numbers.
    """

    def __init__(self, problem: ConeProblem, target: float, compiled_after: float = np.inf) -> None:
        self.problem, self.target, self.compiled_after = problem, target, compiled_after
        self.known: list[Conflict | Caps] = []
        self.proven: tuple[ProvenConflict | ProvenCaps, ...] = ()
        self.numbered, self.cells = 2 * problem.k, 0
        self.splits: list[tuple[Index, Index]] = []
        self.leaves = np.inf
        self.centre, self.half = faces(problem.k)
        self.number = np.arange(2 * problem.k)
        self.bound = self._bounds(self.centre, self.half)
        self.cells = len(self.bound)
        self._close()

    def use(self, known: Conflict | Caps | None) -> None:
        """Look at one more conflict, or set of caps, from now on."""
        if known is not None:
            self.known.append(known)
            self.proven += proven(self.problem, [known])

    def lower_target(self, target: float) -> None:
        """Close the cells that a lower target decides."""
        self.target = min(target, self.target)
        self._close()

    @property
    def least(self) -> float:
        """Least bound of all cells, what is closed and v = 0 included."""
        return min(self.target, self.leaves, float(self.bound.min(initial=np.inf)))

    @property
    def open(self) -> int:
        """Cells that may hold a better point."""
        return len(self.bound)

    def nearest(self, count: int) -> tuple[Array, Array]:
        """Centres and half widths of the open cells of least bound."""
        few = min(count, self.open)
        best = np.argpartition(self.bound, few - 1)[:few]
        return self.centre[best], self.half[best]

    def expand(self) -> None:
        """Halve the most promising of the open cells."""
        largest = max(1, ROUND // max(1, len(self.problem.prices)))
        count = min(max(FEWEST, self.open // SHARE), largest, self.open)
        order = np.argpartition(self.bound, count - 1)
        chosen, rest = order[:count], order[count:]
        edge = self.half[chosen].max(axis=1, initial=0.0)
        final = chosen[edge <= SHORTEST]
        chosen = chosen[edge > SHORTEST]
        centre, half = halves(self.centre[chosen], self.half[chosen])
        bound = np.maximum(self._bounds(centre, half), np.repeat(self.bound[chosen], 2))
        first = self.numbered + 2 * np.arange(len(chosen))
        number = self.numbered + np.arange(2 * len(chosen))
        # All or nothing: an interrupt before these lines leaves the tree as it was.
        leaves = min(self.leaves, float(self.bound[final].min(initial=np.inf)))
        kept = bound < self.target
        state = (
            np.concatenate([self.centre[rest], centre[kept]]),
            np.concatenate([self.half[rest], half[kept]]),
            np.concatenate([self.bound[rest], bound[kept]]),
            np.concatenate([self.number[rest], number[kept]]),
        )
        split = (self.number[chosen], first)
        (self.centre, self.half, self.bound, self.number), self.leaves = state, leaves
        self.splits.append(split)
        self.numbered += 2 * len(chosen)
        self.cells += 2 * len(chosen)

    def cover(self) -> ConeCover:
        """The tree as the kernel reads it."""
        first_half = np.full(self.numbered, -1)
        for parents, first in self.splits:
            first_half[parents] = first
        return ConeCover(bits_of(self.problem.k, first_half), tuple(self.known))

    def _bounds(self, centre: Array, half: Array) -> Array:
        found = np.empty(len(centre))
        together = max(1, PRODUCTS // max(1, len(self.problem.prices)))
        cheapest = self._cheapest()
        for start in range(0, len(centre), together):
            part = slice(start, start + together)
            near = half[part].max(initial=0.0) <= NEAR
            known = (*self.proven[:1], *self.proven[1:][-2:]) if near else ()
            ceiling = min(self.target, LARGEST)
            cells = self.problem, centre[part], half[part], ceiling, known
            try:
                found[part] = cell_bounds(*cells, cheapest)
            except NotCompiledError:
                self.compiled_after, cheapest = np.inf, None
                found[part] = cell_bounds(*cells)
        return found

    def _cheapest(self) -> Cheapest | None:
        products = self.cells * len(self.problem.prices)
        if products < self.compiled_after or not self.problem.band or self.problem.price is None:
            return None
        # numba is optional.
        from tightmargin.solvers.zero_one.compiled import cheapest_levels

        return cheapest_levels

    def _close(self) -> None:
        kept = self.bound < self.target
        self.centre, self.half = self.centre[kept], self.half[kept]
        self.bound, self.number = self.bound[kept], self.number[kept]


# --- What a search over cones of directions found: the best hyperplane, the bound, its cover -----


@dataclass(frozen=True, eq=False, repr=False)
class ConeSearch(GlobalSearch):
    """Result of a search over cones of directions; see GlobalSearch.

    Attributes
    ----------
    w, b : array (d,), float
        The best hyperplane found; the points it keeps have margin 1 or more in floating point,
        beside side rows nearly so. Its objective counts violations strictly.
    given_up : array (n,) of bool
        Points that are paid for; of the ramp loss, those that pay the most there is.
    cells : int
        Cells bounded.
    loss : str
        "0-1 loss", "ramp loss" or "count of errors".
    cover : ConeCover
        The boxes, and the conflicts that close what they leave; the kernel proves `bound` from it.
    lemma : Lemma or None
        The bound as the kernel states it; None where nothing is proven.
    """

    w: Array
    b: float
    given_up: NDArray[np.bool_]
    cells: int
    loss: str
    cover: ConeCover
    lemma: Lemma | None

    def _title(self) -> str:
        return f"ConeSearch: {self.loss}, {count_text(len(self.w), 'feature')}"

    def _effort(self) -> str:
        return f"{count_text(self.cells, 'cell')}, {self.seconds:.2g} s"


# --- Limits of a search over cones of directions, and whether its bounds are compiled ------------


COMPILED_AFTER = 4_000_000  # products of points and cells; loading numba takes a second or two


@dataclass(frozen=True, eq=False)
class Run:
    """Limits of one search, and who is told."""

    gap: float
    time_limit: float | None
    cell_limit: int | None
    clock: Callable[[], float]
    progress: Progress
    compiled_after: float


def checked_run(
    data: TrainingData,
    intercept: str,
    gap: float,
    time_limit: float | None,
    cell_limit: int | None,
    clock: Callable[[], float],
    progress: Progress = lambda point: None,
    compiled: bool | None = None,
) -> Run:
    """The limits, or a ValueError that names the bad one."""
    one_of("intercept", intercept, INTERCEPTS)
    positive("gap", gap)
    for name, limit in (("time_limit", time_limit), ("cell_limit", cell_limit)):
        if limit is not None:
            positive(name, limit)
    if not data.d:
        raise ValueError("the search over cones of directions needs a feature, and X has none")
    there = find_spec("numba") is not None
    if compiled and not there:
        raise ValueError('compiled=True needs the package numba: pip install "tightmargin[numba]"')
    if compiled:
        # numba is optional.
        from tightmargin.solvers.zero_one.compiled import compile_levels

        compile_levels()
    after = {True: 0.0, False: np.inf, None: COMPILED_AFTER if there else np.inf}[compiled]
    return Run(gap, time_limit, cell_limit, clock, progress, after)


PROVING = 0.6  # of the search's seconds, which the kernel takes at most to do it again
LARGEST_OPEN = 40_000_000  # numbers of all open cells
CENTRES = 32  # directions that are evaluated in each round
WORTH = 1.05  # of the best objective, up to which a direction is refined
DEARER = 400_000  # cells after which the dearer heuristic is run


@reads_dense_points
def cone_search(
    data: TrainingData,
    *,
    penalty: float,
    intercept: str,
    incumbent: tuple[Array, float] | None = None,
    gap: float = SEARCH_GAP,
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
        the same numbers in a third of the time. By default it is asked after 4 million products of
        points and cells, where it is installed and `tightmargin solvers --compile` has compiled;
        no search does, but compiled=True before its time begins. The proof is numpy's in any case.
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
    run = checked_run(data, intercept, gap, time_limit, cell_limit, clock, progress, compiled)
    started = clock()
    cost = positive("penalty", penalty)
    problem = zero_one_cones(data, cost, intercept, side)
    best: ConePlane
    if side is not None and not side.empty:
        best, decided = LeastCostBeside(data, cost, intercept, side), side.constant
    else:
        best, decided = LeastCost(data, cost, intercept), 0.0
    _begin(best, data, incumbent)
    found = search_cells(problem, best, run, started, "0-1 loss", decided)
    words = {"penalty": cost, "intercept": intercept}
    return replace(found, about=None if side else big_m_model("zero_one_big_m", data, words, best))


@reads_dense_points
def ramp_cone_search(
    data: TrainingData,
    *,
    C: float,
    intercept: str,
    incumbent: tuple[Array, float] | None = None,
    gap: float = SEARCH_GAP,
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
    found = search_cells(problem, best, run, started, "ramp loss", decided)
    words = {"C": cost, "intercept": intercept}
    return replace(found, about=None if side else big_m_model(RAMP, data, words, best))


def _begin(best: ConePlane, data: TrainingData, incumbent: tuple[Array, float] | None) -> None:
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
    best: ConePlane,
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
    search = _Cells(problem, best, run, decided, started)
    stop = drive("cone search", search)
    cover = search.tree.cover()
    # Above what the search believes the kernel need not look.
    lemma = cover_lemma(problem, cover, min(search.tree.least, problem.at_zero))
    bound = 0.0 if lemma is None else min(max(lemma.value, 0.0), best.objective)
    if stop is StopReason.PROVEN and bound < search.aim * (1 - 1e-9):
        stop = StopReason.NUMERICAL
    seconds = run.clock() - started
    search.trace.note(seconds, search.tree.cells, bound, best.objective, last=True)
    return ConeSearch(
        objective=best.objective, bound=bound, stop=stop, seconds=seconds,
        trace=tuple(search.trace.points), w=best.w, b=best.b, given_up=best.given_up,
        cells=search.tree.cells, loss=loss, cover=cover, lemma=lemma,
    )  # fmt: skip


class _Cells:
    """The tree and the best hyperplane, and what one tells the other."""

    def __init__(
        self, problem: ConeProblem, best: ConePlane, run: Run, decided: float, started: float
    ) -> None:
        self.problem, self.best, self.run = problem, best, run
        self.decided, self.started = decided, started
        self.known, self.dearer = np.inf, False
        self.trace = Trace(run.progress)
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

    @property
    def is_open(self) -> bool:
        """Whether a cell is left."""
        return bool(self.tree.open)

    def standing(self) -> tuple[float, float, str]:
        """For the live line."""
        return self.bound, self.best.objective, f"{self.tree.cells:,} cells"

    def limit(self) -> StopReason | None:
        """Which limit is met."""
        run, elapsed = self.run, self.run.clock() - self.started
        self.trace.note(elapsed, self.tree.cells, max(self.bound, 0.0), self.best.objective)
        if run.time_limit is not None and elapsed * (1 + PROVING) >= run.time_limit:
            return StopReason.TIME_LIMIT
        if run.cell_limit is not None and self.tree.cells >= run.cell_limit:
            return StopReason.CELL_LIMIT
        numbers = self.tree.open * 2 * (self.problem.k + 1)
        return StopReason.CELL_LIMIT if numbers > LARGEST_OPEN else None

    def step(self) -> None:
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


# --- Models of the 0-1 and the ramp loss as the search over cones of directions takes them -------


MANY_DIMENSIONS, POINTS_PER_DIMENSION = 6, 10
RAMP = "ramp_big_m"
# Points up to which a minute sufficed, by dimensions (two cores of 2026, one of them used).
POINTS = {1: 20_000, 2: 5_000, 3: 2_000, 4: 1_000, 5: 600, 6: 200, 7: 60}
RAMP_POINTS = {1: 5_000, 2: 500, 3: 200, 4: 60}
# Behind a model whose own bounds decide points, a gap is a share of the rest. It costs no cells.
CLOSING_GAP = GAP_TOLERANCE / 1000
SHORT = 20_000_000  # products of points and cells: a few seconds


def dimensions(origin: Origin, side: SideRows | None = None) -> int:
    """Of the cube: an intercept with a price, or one that side rows speak of, is a feature more."""
    intercept = origin.parameters["intercept"]
    beside = side is not None and (
        bool((side.of_b != 0).any()) or any(not count.points.all() for count in side.counts)
    )
    lifted = intercept == "free" and (origin.entry == RAMP or beside)
    return int(origin.data.d) + int(intercept == "penalised" or lifted)


def suits(origin: Origin, side: SideRows | None = None) -> bool:
    """Whether cones were measured to prove such a problem within a minute.

    Few points in many dimensions are left to the conflict search: there every direction is much
    like its neighbours, and cones cover the whole cube. On 150 problems in 4 to 7 dimensions cones
    took at most 0.4 s in 4 and 5 (two of them 2 and 3 s), conflicts 0.1 to 2 s. In 6 conflicts were
    quicker up to 40 points (0.5 s against 5), neither at 60, and cones at 100 (7 s against more
    than 12). In 7 dimensions conflicts were quicker at 24, 40 and 60 points. Weighted points have
    no other search.
    """
    width, n = dimensions(origin, side), int(origin.data.n)
    most = (RAMP_POINTS if origin.entry == RAMP else POINTS).get(width, 0)
    few = width >= MANY_DIMENSIONS and n < POINTS_PER_DIMENSION * width
    left = few and origin.entry != RAMP and not is_weighted(origin.data)
    if not origin.data.d or n > most or left:
        return False
    return fits_a_cube(origin.data.points.X, origin.parameters["intercept"])


def by_cones(
    origin: Origin,
    seconds: float | None,
    side: SideRows | None = None,
    *,
    cell_limit: int | None = None,
    incumbent: tuple[Array, float] | None = None,
    gap: float = SEARCH_GAP,
) -> ConeSearch:
    """The search that a model asks for."""
    data, parameters = origin.data.points, origin.parameters
    known = parameters.get("incumbent") if incumbent is None else incumbent
    if origin.entry == RAMP:
        return ramp_cone_search(
            data, C=parameters["C"], intercept=parameters["intercept"], incumbent=known,
            gap=gap, time_limit=seconds, cell_limit=cell_limit, side=side,
        )  # fmt: skip
    return cone_search(
        data, penalty=parameters["penalty"], intercept=parameters["intercept"], incumbent=known,
        gap=gap, time_limit=seconds, cell_limit=cell_limit, side=side,
    )  # fmt: skip


def cones_of(origin: Origin, side: SideRows | None = None) -> ConeProblem:
    """The problem that the search of a model covers."""
    data, parameters = origin.data.points, origin.parameters
    if origin.entry == RAMP:
        return ramp_cones(data, parameters["C"], parameters["intercept"], side)
    return zero_one_cones(data, parameters["penalty"], parameters["intercept"], side)


def lemma_of(found: ConeSearch, side: SideRows | None = None) -> Lemma | None:
    """What the kernel proved, and beside what."""
    lemma = found.lemma
    if lemma is None:
        return None
    more = {} if side is None else {ONLY_ADDED: isinstance(side, SideRows)}
    opening = "" if found.stop is StopReason.PROVEN else "unfinished "
    return Lemma(lemma.value, opening + lemma.words, {**lemma.hypotheses, **more})


def bound_by_cones(
    origin: Origin,
    known: tuple[Array, float] | None,
    side: SideRows | None = None,
    seconds: float | None = None,
) -> Lemma | None:
    """Bound of a search of a few seconds; None where it was measured to take longer."""
    if not suits(origin, side):
        return None
    cells = SHORT // int(origin.data.n)
    found = by_cones(origin, seconds, side, cell_limit=cells, incumbent=known, gap=CLOSING_GAP)
    if found.stop is StopReason.INTERRUPTED:
        raise KeyboardInterrupt
    return lemma_of(found, side)
