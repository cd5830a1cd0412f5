"""Branch and cut over boxes on the unit sphere: the extended nu-SVC below nu_bar, proven.

A node is a box l <= w <= u. On ||w|| = 1 the secants of w_j^2 give (l + u)'w >= 1 + l'u, so that

    min h(w)   s.t.   l <= w <= u,   (l + u)'w >= 1 + l'u,   cuts

bounds it from below: (9) of Takeda & Sugiyama 2008 with w_ref = l + u. It falls short by at most
sum_j (u_j - l_j)^2 / 4 of norm: halving boxes closes the gap. Programs are solved in dual form
(node_program.py), bounds proven from multipliers (node_bound.py). Local searches (Algorithm 7) give
the incumbent, their corners global concavity cuts (sphere_cuts.py); boxes shrink by ||w|| = 1 and
by multipliers. The bound of all is the least of open nodes, and the goal of what was dropped.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.cuts.cut.cut import Cut
from tightmargin.cuts.cut.polar_problem import PolarProblem, polar_problem
from tightmargin.cuts.search.result import SearchResult, StopError, closed_below
from tightmargin.cuts.search.run import SearchRun, check_tolerances, given_directions
from tightmargin.cuts.spatial_branching.boxes import (
    KnownInBoxes,
    branching,
    by_multipliers,
    halves,
    on_sphere,
    root_box,
)
from tightmargin.cuts.spatial_branching.node_bound import point_error
from tightmargin.cuts.spatial_branching.node_program import BoxLP
from tightmargin.cuts.spatial_branching.sphere_cuts import as_cut, in_general_position, sphere_cut
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData, reads_dense_points
from tightmargin.formulations.nu.reduced_hull import support_value
from tightmargin.solvers.engines.running import StopReason, checked_limits, supervised

BETTER = 1e-12  # relative: by less an incumbent is not worth a change
SAME_CORNER = 6  # decimals
ROUNDINGS = 8  # of a point of U, in each coordinate, that a closed gap leaves room for
STARTS, CUT_LIMIT = 20, 40
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


@reads_dense_points
def branch_and_cut(
    data: TrainingData | GramData,
    *,
    nu: float,
    class_balance: ArrayLike | str = "uniform",
    intercept: str = "free",
    tolerance: float = 1e-6,
    absolute: float = 1e-11,
    time_limit: float | None = None,
    node_limit: int | None = None,
    starts: int = STARTS,
    start: ArrayLike | None = None,
    cut_limit: int = CUT_LIMIT,
    seed: int = 0,
    debug_solution: ArrayLike | None = None,
) -> SearchResult:
    """Solve the extended nu-SVC below nu_bar to a proven global optimum.

    Parameters
    ----------
    data, nu, class_balance, intercept
        As for extended_nu_svc, with nu below nu_bar.
    tolerance, absolute : float
        The gap counts as closed at tolerance * objective, or at `absolute` times the size of the
        data (a power of two near the largest entry of a centred point) where that is more: close
        to nu_bar the objective is next to 0. Raised to what roundings may come to.
    time_limit : float, optional
        Seconds. The best point and a proven bound come back all the same, as after Ctrl-C.
    node_limit : int, optional
        Most nodes.
    starts, seed : int
        Directions of the first local searches: the difference of the class means, then random.
    start : array (k,) or (m, k), optional
        Further directions to search from, the solution of a neighbouring nu say.
    cut_limit : int
        Most concavity cuts at the corners that the local searches found.
    debug_solution : array (k,) or (m, k), optional
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

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> tm.search.branch_and_cut(data, nu=0.1).proven
    True
    """
    limits = checked_limits(time_limit, None, seed)
    check_tolerances(tolerance, absolute)
    if starts < 1 or cut_limit < 0 or (node_limit is not None and node_limit < 1):
        raise ValueError(
            "starts and node_limit must be at least 1, and cut_limit not negative; got "
            f"starts={starts!r}, node_limit={node_limit!r}, cut_limit={cut_limit!r}"
        )
    began = time.perf_counter()
    problem = polar_problem(data, nu=nu, class_balance=class_balance, intercept=intercept)
    search = BoxSearch(
        problem=problem,
        tolerance=tolerance,
        absolute=absolute,
        time_limit=limits.time_limit,
        step_limit=node_limit,
        seed=seed,
        began=began,
        cut_limit=cut_limit,
        known_points=given_directions(problem, debug_solution, "debug_solution"),
    )
    return search.supervised(starts, given_directions(problem, start, "start"))


def close_gap(
    problem: PolarProblem,
    weight: Array,
    *,
    tolerance: float,
    absolute: float,
    time_limit: float | None,
    seed: int,
    began: float,
) -> SearchResult:
    """Go on where another search, which began then, is left without a way: from its weight (k,)."""
    search = BoxSearch(
        problem=problem, tolerance=tolerance, absolute=absolute, time_limit=time_limit,
        step_limit=None, seed=seed, began=began, cut_limit=CUT_LIMIT,
        known_points=(),
    )  # fmt: skip
    return search.supervised(STARTS, [weight / np.linalg.norm(weight)])


@dataclass(eq=False, kw_only=True)
class BoxSearch(SearchRun):
    """State of one run."""

    engine: ClassVar[str] = "branch_and_cut"
    step_word: ClassVar[str] = "nodes"
    proof: ClassVar[str] = PROOF

    cut_limit: int
    known_points: Sequence[Array]
    heap: list[tuple[float, int, _Node]] = field(default_factory=list)
    cuts: list[Cut] = field(default_factory=list)
    pushed: int = 0
    goal: float = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        self.known = KnownInBoxes(self.known_points, self.hulls, self.unit)

    def supervised(self, starts: int, given: Sequence[Array]) -> SearchResult:
        """Run, with Ctrl-C as a reason to stop and with a line on the screen."""
        return supervised(
            lambda: self.run(starts, given), self.asked_to_stop.set, name="branch and cut",
            state=self.state,
        ).value  # fmt: skip

    def run(self, starts: int, given: Sequence[Array]) -> SearchResult:
        """Search until the gap is closed or something ends it."""
        self.program = BoxLP(self.hulls, self.seed)
        rounding = point_error(self.hulls, self.program.size)
        self.absolute = max(self.absolute, ROUNDINGS * self.hulls.k * rounding)
        try:
            self._first_bound()
            self._first_points(starts, given)
            self._root()
            self._branch()
            stop = StopReason.PROVEN
            message = f"the gap is closed after {self.steps} nodes"
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
            self.check_limits()
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
        self.known.check_cut(found, weight, self.goal)
        self.program.add_cut(found.normal, found.side)
        cut = as_cut(self.problem, found, self.unit, len(self.cuts))
        if cut is not None and in_general_position(self.hulls, weight):
            self.cuts.append(cut)

    # --- the tree ------------------------------------------------------------------------------

    def _root(self) -> None:
        k = self.hulls.k
        if self.lower >= self.goal:
            return
        kept = self.known.inside(-np.ones(k), np.ones(k), self.goal)
        box = root_box(self.program, self.goal)
        self.known.check_box(kept, box, self.goal, "the root's box")
        if box is not None:
            self._process(box[0], box[1], self.lower)
        self._note()

    def _branch(self) -> None:
        """Best first, until the least bound of an open node reaches the goal."""
        while self.heap and self.heap[0][0] < self.goal:
            self.lower = max(self.lower, self.heap[0][0])
            self.check_limits()
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
        self.check_limits()
        self.steps += 1
        kept = self.known.inside(lower, upper, self.goal)
        box = on_sphere(lower, upper)
        self.known.check_box(kept, box, self.goal, "the norm row")
        if box is None:
            return
        solved = self.program.solve(*box, self.goal, hint)
        bound = max(solved.bound.value, inherited)
        self._try(solved.weight)
        if bound < self.goal:
            box = by_multipliers(solved.bound, *box, self.goal)
            self.known.check_box(kept, box, self.goal, "tightening by multipliers")
            if box is not None:
                self._push(_Node(bound, solved.weight, *box))
        else:
            self.known.check_box(kept, None, self.goal, f"a node's bound {bound * self.unit:.9g}")
        if self.steps & (self.steps - 1) == 0:
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

    # --- telling -------------------------------------------------------------------------------

    def _present_bound(self) -> float:
        least = self.heap[0][0] if self.heap else -math.inf
        return max(self.lower, min(least, self.goal))

    def _note(self, last: bool = False) -> None:
        self.note(len(self.heap), self._present_bound() if last else self.lower)

    def _result(self, stop: StopReason, message: str) -> SearchResult:
        return self.ended(
            stop, message, self._present_bound(),
            lp_solves=self.program.solves, cuts=tuple(self.cuts),
        )  # fmt: skip
