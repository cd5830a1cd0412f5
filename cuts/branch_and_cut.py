"""Branch and cut over boxes on the unit sphere: the extended nu-SVC below nu_bar, proven.

A node is a box l <= w <= u. On ||w|| = 1 the secants of w_j^2 give (l + u)'w >= 1 + l'u, so that

    min h(w)   s.t.   l <= w <= u,   (l + u)'w >= 1 + l'u,   cuts

bounds it from below: the linear program (9) of Takeda & Sugiyama 2008 with w_ref = l + u. It falls
short by at most sum_j (u_j - l_j)^2 / 4 of norm, so that halving boxes closes the gap. Each node's
program is solved in its dual form (box_lp.py), but its bound is proven from the multipliers with
all roundings counted (box_bound.py). Local searches (Algorithm 7) from many directions give the
incumbent; their corners give global concavity cuts (sphere_cut.py); boxes shrink by ||w|| = 1, by
multipliers, and at the root by the extents of {h < incumbent}. The bound of the whole is the least
over open nodes and, of what was dropped, the goal just below the incumbent.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import Event

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cuts.box_bound import point_error
from cuts.box_lp import BoxLP
from cuts.box_tightening import by_multipliers, root_box
from cuts.boxes import branching, halves, on_sphere
from cuts.cut import Cut, InvalidCutError
from cuts.endings import Incumbent, StopError, StopReason
from cuts.given_weights import given_directions
from cuts.polar import PolarProblem, polar_problem
from cuts.search_result import SearchResult, SearchState, closed_below
from cuts.sphere_cut import as_cut, in_general_position, sphere_cut
from formulations.data import TrainingData
from formulations.support_function import ReducedHulls, support_value
from solvers.interrupts import supervised
from solvers.limits import checked_limits

Array = NDArray[np.float64]

BETTER = 1e-12  # relative: by less an incumbent is not worth a change
SAME_CORNER = 6  # decimals
ROUNDINGS = 8  # of a point of U, in each coordinate, that a closed gap leaves room for
PROOF = (
    "branch and cut over boxes: every node bounded from its multipliers in double precision, "
    "lowered by more than all roundings"
)


@dataclass(frozen=True, eq=False)
class _Node:
    bound: float
    weight: Array
    lower: Array
    upper: Array


def branch_and_cut(
    data: TrainingData,
    *,
    nu: float,
    class_balance: ArrayLike | str = "uniform",
    intercept: str = "free",
    tolerance: float = 1e-6,
    absolute: float = 1e-11,
    time_limit: float | None = None,
    node_limit: int | None = None,
    starts: int = 20,
    start: ArrayLike | None = None,
    cut_limit: int = 40,
    seed: int = 0,
    known_point: ArrayLike | None = None,
) -> SearchResult:
    """Solve the extended nu-SVC below nu_bar to a proven global optimum.

    Parameters
    ----------
    tolerance, absolute : float
        The gap counts as closed at tolerance * objective, or at `absolute` times the size of the
        data (a power of two near the largest entry of a centred point) where that is more: close
        to nu_bar the objective is next to 0. Raised to what roundings may come to.
    time_limit : float, optional
        Seconds. The best point and a proven bound come back all the same, as after Ctrl-C.
    node_limit : int, optional
        Most nodes.
    starts : int
        Directions of the first local searches: the difference of the class means, then random.
    start : array (k,) or (m, k), optional
        Further directions to search from, the solution of a neighbouring nu say.
    cut_limit : int
        Most concavity cuts at the corners that the local searches found.
    known_point : array (k,) or (m, k), optional
        Weights, an optimum say, for debugging: an error says which step drops a weight that is
        better than everything found.

    Returns
    -------
    SearchResult
        `steps` are nodes; stop ROUND_LIMIT is the node limit.

    Raises
    ------
    ValueError
        As extended_nu_svc_polar: nu at or above nu_bar, where extended_nu_svc_ball is convex and
        has the optimum; dependent features; bad arguments.
    InvalidCutError
        A step of the search loses a known point.
    """
    limits = checked_limits(time_limit, None, seed)
    if not 0 < tolerance < 1 or not 0 <= absolute < 1:
        raise ValueError(
            f"tolerance must lie in (0, 1) and absolute in [0, 1), got {tolerance!r}, {absolute!r}"
        )
    if starts < 1 or cut_limit < 0 or (node_limit is not None and node_limit < 1):
        raise ValueError("starts and node_limit must be at least 1, and cut_limit not negative")
    began = time.perf_counter()
    problem = polar_problem(data, nu=nu, class_balance=class_balance, intercept=intercept)
    search = _Search(
        problem,
        tolerance,
        absolute,
        math.inf if limits.time_limit is None else limits.time_limit,
        math.inf if node_limit is None else node_limit,
        cut_limit,
        seed,
        given_directions(problem, known_point, "known_point"),
        began,
    )
    given = given_directions(problem, start, "start")
    finished = supervised(lambda: search.run(starts, given), search.asked_to_stop.set)
    return finished.value


def in_unit(hulls: ReducedHulls) -> tuple[ReducedHulls, float]:
    """The points divided by a power of two near their largest entry, and that power."""
    unit = 2.0 ** math.frexp(float(np.abs(hulls.signed).max()))[1]
    return replace(hulls, signed=np.ascontiguousarray(hulls.signed / unit)), unit


@dataclass(eq=False)
class _Search:
    """State of one run; points and objectives in units of `unit`."""

    problem: PolarProblem
    tolerance: float
    absolute: float
    time_limit: float
    node_limit: float
    cut_limit: int
    seed: int
    known: Sequence[Array]
    began: float
    asked_to_stop: Event = field(default_factory=Event)
    heap: list[tuple[float, int, _Node]] = field(default_factory=list)
    trace: list[SearchState] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)
    nodes: int = 0
    pushed: int = 0
    evaluations: int = 0
    value: float = math.inf
    goal: float = math.inf

    def run(self, starts: int, given: Sequence[Array]) -> SearchResult:
        """Search until the gap is closed or something ends it."""
        self.hulls, self.unit = in_unit(self.problem.hulls)
        self.program = BoxLP(self.hulls, self.seed)
        rounding = point_error(self.hulls, self.program.size)
        self.absolute = max(self.absolute, ROUNDINGS * self.hulls.k * rounding)
        try:
            self._first_bound()
            self._first_points(starts, given)
            self._root()
            self._branch()
            stop = StopReason.PROVEN
            message = f"the gap is closed after {self.nodes} nodes"
        except StopError as end:
            stop, message = end.reason, end.message
        self._note(last=True)
        return self._result(stop, message)

    # --- points --------------------------------------------------------------------------------

    def _first_bound(self) -> None:
        """0 up to rounding: below nu_bar U holds 0, and multipliers say so."""
        k = self.hulls.k
        self.lower = self.program.solve(-np.ones(k), np.ones(k), 0.0).bound.value

    def _first_points(self, starts: int, given: Sequence[Array]) -> None:
        """Local searches, the incumbent among them, and cuts at their corners."""
        k = self.hulls.k
        rng = np.random.default_rng(self.seed)
        mean = sum(self.hulls.signed[group.members].mean(axis=0) for group in self.hulls.groups)
        directions = [*given, *([mean] if np.any(mean) else []), *rng.standard_normal((starts, k))]
        self._offer(directions[0] / np.linalg.norm(directions[0]))
        corners = []
        for direction in directions[: len(given) + starts]:
            self._check_limits()
            weight, value = self.program.local_search(direction)
            self.evaluations += 1
            corners.append((value, tuple(np.round(weight, SAME_CORNER)), weight))
            self._offer(weight)
        self._note()
        seen = set()
        for _, key, weight in sorted(corners, key=lambda corner: corner[:2]):
            if key in seen or len(self.program.rows.sides) >= self.cut_limit:
                continue
            seen.add(key)
            self._add_cut(weight)

    def _offer(self, weight: Array) -> bool:
        """Take a weight of norm 1 as the incumbent if it is better."""
        value = support_value(self.hulls, weight)
        self.evaluations += 1
        if not value < self.value * (1 - BETTER):
            return False
        self.best, self.value = weight, value
        self.goal = closed_below(value, self.tolerance, self.absolute)
        return True

    def _add_cut(self, weight: Array) -> None:
        if self.goal <= 0:
            return
        found = sphere_cut(self.hulls, weight, self.goal)
        if found is None:
            return
        for point in self._better_known():
            excess = float(found.normal @ point) - self.goal * found.side
            if excess > 0:
                raise InvalidCutError(
                    f"the concavity cut at w = {np.array2string(weight, precision=6)} removes a "
                    f"known point: w = {np.array2string(point, precision=6)} violates it by "
                    f"{excess:.3g}"
                )
        self.program.add_cut(found.normal, found.side)
        cut = as_cut(self.problem, found, self.unit, len(self.cuts))
        if cut is not None and in_general_position(self.hulls, weight):
            self.cuts.append(cut)

    # --- the tree ------------------------------------------------------------------------------

    def _root(self) -> None:
        k = self.hulls.k
        if self.lower >= self.goal:
            return
        kept = self._known_inside(-np.ones(k), np.ones(k))
        box = root_box(self.program, self.goal)
        self._check_kept(kept, box, "the root's box")
        if box is not None:
            self._process(box[0], box[1], self.lower)
        self._note()

    def _branch(self) -> None:
        """Best first, until the least bound of an open node reaches the goal."""
        while self.heap and self.heap[0][0] < self.goal:
            self.lower = max(self.lower, self.heap[0][0])
            self._check_limits()
            _, _, node = heapq.heappop(self.heap)
            j, at = branching(node.lower, node.upper, node.weight)
            try:
                for lower, upper in halves(node.lower, node.upper, j, at):
                    self._process(lower, upper, node.bound, node.weight)
            except BaseException:
                self._push(node)  # a child is missing: the parent stands for both
                raise
        self.lower = max(self.lower, self.goal)

    def _process(
        self, lower: Array, upper: Array, inherited: float, hint: Array | None = None
    ) -> None:
        """Bound a box and keep it as an open node unless it holds nothing below the goal."""
        self._check_limits()
        self.nodes += 1
        kept = self._known_inside(lower, upper)
        box = on_sphere(lower, upper)
        self._check_kept(kept, box, "the norm row")
        if box is None:
            return
        solved = self.program.solve(*box, self.goal, hint)
        bound = max(solved.bound.value, inherited)
        self._try(solved.weight)
        if bound < self.goal:
            box = by_multipliers(solved.bound, *box, self.goal)
            self._check_kept(kept, box, "tightening by multipliers")
            if box is not None:
                self._push(_Node(bound, solved.weight, *box))
        else:
            self._check_kept(kept, None, f"a node's bound {bound * self.unit:.9g}")
        if self.nodes & (self.nodes - 1) == 0:
            self._note()

    def _push(self, node: _Node) -> None:
        self.pushed += 1
        heapq.heappush(self.heap, (node.bound, self.pushed, node))

    def _try(self, weight: Array) -> None:
        """Look for a better incumbent where a node's program has its minimum."""
        length = float(np.linalg.norm(weight))
        if 0 < length < math.inf and self._offer(weight / length):
            better, _ = self.program.local_search(weight)
            self._offer(better)
            self._note()

    def _check_limits(self) -> None:
        if self.asked_to_stop.is_set():
            raise StopError(StopReason.INTERRUPTED, "interrupted by Ctrl-C")
        if time.perf_counter() - self.began > self.time_limit:
            raise StopError(StopReason.TIME_LIMIT, f"time limit of {self.time_limit:g} s")
        if self.nodes >= self.node_limit:
            raise StopError(StopReason.ROUND_LIMIT, f"limit of {self.node_limit:g} nodes")

    # --- known points --------------------------------------------------------------------------

    def _better_known(self) -> list[Array]:
        return [point for point in self.known if support_value(self.hulls, point) < self.goal]

    def _known_inside(self, lower: Array, upper: Array) -> list[Array]:
        """Known points in a box that the search must not drop; empty outside of debugging."""
        if not self.known:
            return []
        return [
            point
            for point in self._better_known()
            if (point >= lower).all() and (point <= upper).all()
        ]

    def _check_kept(
        self, points: Sequence[Array], box: tuple[Array, Array] | None, by: str
    ) -> None:
        for point in points:
            value = support_value(self.hulls, point)
            if value >= self.goal:
                continue
            if box is None or (point < box[0]).any() or (point > box[1]).any():
                raise InvalidCutError(
                    f"{by} drops a known point: w = {np.array2string(point, precision=6)} has the "
                    f"objective {value * self.unit:.9g} and the goal is {self.goal * self.unit:.9g}"
                )

    # --- telling -------------------------------------------------------------------------------

    def _present_bound(self) -> float:
        least = self.heap[0][0] if self.heap else -math.inf
        return max(self.lower, min(least, self.goal))

    def _note(self, last: bool = False) -> None:
        lower = self._present_bound() if last else self.lower
        self.trace.append(
            SearchState(
                steps=self.nodes,
                open=len(self.heap),
                upper=self.value * self.unit,
                lower=lower * self.unit,
                seconds=time.perf_counter() - self.began,
            )
        )

    def _result(self, stop: StopReason, message: str) -> SearchResult:
        best = Incumbent(self.best, self.problem.value(self.best), self.problem.point(self.best))
        return SearchResult(
            best=best,
            lower_bound=self._present_bound() * self.unit,
            trace=tuple(self.trace),
            stop=stop,
            message=message,
            proof=PROOF,
            engine="branch_and_cut",
            steps=self.nodes,
            lp_solves=self.program.solves,
            evaluations=self.evaluations,
            cuts=tuple(self.cuts),
            tolerance=self.tolerance,
            absolute=self.absolute,
            seed=self.seed,
            seconds=time.perf_counter() - self.began,
            problem=self.problem,
        )
