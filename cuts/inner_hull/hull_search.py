"""The extended nu-SVC in few dimensions by the facets of an inner hull.

Below nu_bar the optimum is the distance of 0 to the nearest facet of U (support_function.py). The
hull S of points of U that were found so far lies inside, so its nearest facet is not farther; the
point of U farthest along that facet's normal, found by sorting, either lies on it, and the facet
is one of U, or makes S larger. The facets are Qhull's, the proof is not: enclosure.py shows
from the corners of the facets that S holds a ball. No linear program is solved, and a round costs a
few products and sorts of all points, so that the cost grows linearly in their number; in the
number of dimensions it grows as the number of facets does, and five are the end.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import ConvexHull, QhullError

from tightmargin.cuts.cut.polar_problem import polar_problem
from tightmargin.cuts.inner_hull.enclosure import enclosed_radius
from tightmargin.cuts.inner_hull.surface import Surface, nearest_shares
from tightmargin.cuts.search.result import SearchResult, StopError, closed_below
from tightmargin.cuts.search.run import (
    SearchRun,
    check_tolerances,
    given_directions,
    has_highspy,
)
from tightmargin.cuts.spatial_branching.branch_and_cut import close_gap
from tightmargin.cuts.spatial_branching.node_bound import largest_entry, member, point_error
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData, reads_dense_points
from tightmargin.formulations.nu.reduced_hull import support
from tightmargin.solvers.engines.running import StopReason, checked_limits, supervised

MOST_DIMENSIONS = 7
BATCH = 8
# Wide merges of facets are allowed: what comes of them is checked here, not believed.
QHULL_OPTIONS = "Q12"
FACET_LIMIT = 200_000
RANDOM = 2  # first directions, for each dimension
OUTSIDE = 1e-12  # relative: nearer to a facet than that a point does not make the hull larger
PROOF = (
    "the facets of an inner hull of U enclose a ball about 0: each ridge is shared, one direction "
    "is covered an odd number of times, distances are taken from the corners"
)


@reads_dense_points
def hull_search(
    data: TrainingData | GramData,
    *,
    nu: float,
    class_balance: ArrayLike | str = "uniform",
    intercept: str = "free",
    tolerance: float = 1e-6,
    absolute: float = 1e-11,
    time_limit: float | None = None,
    round_limit: int | None = None,
    start: ArrayLike | None = None,
    seed: int = 0,
) -> SearchResult:
    """Solve the extended nu-SVC below nu_bar by the nearest facet of U; for at most 5 features.

    Parameters
    ----------
    data : TrainingData or GramData
        Points and labels; of a kernel matrix its factor has the points.
    nu : float
        Below nu_bar, where the problem is not convex; `tm.theory.nu_range` has it.
    class_balance : "uniform", "balanced" or array (n,)
        Weights c_i of the losses, as for extended_nu_svc.
    intercept : "free", "penalised" or "none"
        As for extended_nu_svc.
    seed : int
        Of what is drawn at random; the same seed gives the same result.
    tolerance, absolute : float
        The gap counts as closed at tolerance * objective, or at `absolute` times the size of the
        data where that is more. The search itself goes on until the facet is found exactly; the
        gap that remains is what roundings may come to.
    time_limit : float, optional
        Seconds. The best point and a proven bound come back all the same, as after Ctrl-C.
    round_limit : int, optional
        Most rounds.
    start : array (k,) or (m, k), optional
        Directions to look along first.

    Returns
    -------
    SearchResult
        `steps` are rounds. Where Qhull gives up, or its facets do not enclose 0, branch and cut
        goes on from the best point: `engine` and `steps` are then its own. Without highspy, which
        that takes, stop is NUMERICAL, and the bound what was proven before.

    Raises
    ------
    ValueError
        As extended_nu_svc_polar: nu at or above nu_bar, where extended_nu_svc_ball is convex and
        has the optimum; dependent features; more than 7 dimensions.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.search.hull_search(data, nu=0.1)
    >>> found.best.objective - found.bound < 1e-5
    True
    """
    limits = checked_limits(time_limit, None, seed)
    check_tolerances(tolerance, absolute)
    if round_limit is not None and round_limit < 1:
        raise ValueError(f"round_limit must be at least 1, got {round_limit!r}")
    began = time.perf_counter()
    problem = polar_problem(data, nu=nu, class_balance=class_balance, intercept=intercept)
    search = HullSearch(
        problem=problem,
        tolerance=tolerance,
        absolute=absolute,
        time_limit=limits.time_limit,
        step_limit=round_limit,
        seed=seed,
        began=began,
    )
    return taken_over(search, search.supervised(given_directions(problem, start, "start")))


def taken_over(search: HullSearch, found: SearchResult) -> SearchResult:
    """What a search found; where Qhull failed it, branch and cut goes on from its best point."""
    if found.stop is not StopReason.NUMERICAL or not has_highspy():
        return found
    other = close_gap(
        found.problem, found.best.weight, tolerance=found.tolerance, absolute=found.absolute,
        time_limit=search.time_limit, seed=found.seed, began=search.began,
    )  # fmt: skip
    return replace(
        other,
        bound=max(found.bound, other.bound),
        message=f"{found.message}; branch and cut went on: {other.message}",
        evaluations=found.evaluations + other.evaluations,
    )


@dataclass(eq=False, kw_only=True)
class HullSearch(SearchRun):
    """State of one run.

    surface: the facets so far.
    along: the direction (k,) in which each point of U was found, by the point's bytes.
    Raises ValueError: more than 7 dimensions.
    """

    engine: ClassVar[str] = "hull"
    step_word: ClassVar[str] = "rounds"
    proof: ClassVar[str] = PROOF

    surface: Surface | None = None
    along: dict[bytes, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hulls.k > MOST_DIMENSIONS:
            raise ValueError(
                f"the hull of {self.hulls.k} dimensions has too many facets: take branch_and_cut "
                f"beyond {MOST_DIMENSIONS}"
            )

    def supervised(self, given: list[Array]) -> SearchResult:
        """Run, with Ctrl-C as a reason to stop and with a line on the screen."""
        return supervised(
            lambda: self.run(given), self.asked_to_stop.set, name="hull search", state=self.state
        ).value

    def run(self, given: list[Array]) -> SearchResult:
        """Grow the inner hull until its nearest facet is one of U."""
        try:
            self._grow(given)
            stop, message = StopReason.PROVEN, ""
        except StopError as end:
            stop, message = end.reason, end.message
        except QhullError as error:
            words = str(error).strip().splitlines()[0]
            stop, message = StopReason.NUMERICAL, f"Qhull gave up: {words}"
        self._prove()
        closed = self.lower >= closed_below(self.value, self.tolerance, self.absolute)
        if closed:
            stop = StopReason.PROVEN
            message = f"the nearest of {self._facets} facets is one of U after {self.steps} rounds"
        elif stop is StopReason.PROVEN:
            stop = StopReason.NUMERICAL
            message = "the facets that Qhull lists could not be shown to enclose 0"
        self._note()
        return self.ended(stop, message, self.lower)

    def _grow(self, given: list[Array]) -> None:
        k = self.hulls.k
        rng = np.random.default_rng(self.seed)
        directions = [*given, *np.eye(k), *-np.eye(k), *rng.standard_normal((RANDOM * k, k))]
        points = np.array([self._farthest(w / np.linalg.norm(w))[0] for w in directions])
        self._bound_by_nearest(points)
        if k == 1:
            self.surface = Surface.of_ends(points)
            return
        hull: Any = ConvexHull(
            np.unique(points, axis=0), incremental=True, qhull_options=QHULL_OPTIONS
        )
        try:
            while True:
                self._take(hull)
                self._check_all_limits()
                self.steps += 1
                new = self._outside()
                if self.steps & (self.steps - 1) == 0:
                    self._note()
                if new is None:
                    return
                hull.add_points(new)
        finally:
            hull.close()

    def _take(self, hull: Any) -> None:
        self.surface = Surface.of_hull(hull)

    def _outside(self) -> Array | None:
        """Points of U beyond the nearest facets; None when the nearest is one of U."""
        assert self.surface is not None
        offsets = self.surface.offsets
        count = min(BATCH, len(offsets))
        nearest = np.argpartition(offsets, count - 1)[:count]
        nearest = nearest[np.argsort(offsets[nearest], kind="stable")]
        new: list[Array] = []
        asked: set[tuple[float, ...]] = set()
        for f in nearest.tolist():
            if offsets[f] >= self.value * (1 - OUTSIDE):
                break
            normal = self.surface.normals[f]
            key = tuple(np.round(normal, 10).tolist())
            if key in asked:
                continue
            asked.add(key)
            point, reach = self._farthest(normal)
            if reach > offsets[f] + OUTSIDE * max(1.0, abs(offsets[f])):
                new.append(point)
        return np.unique(np.array(new), axis=0) if new else None

    def _farthest(self, direction: Array) -> tuple[Array, float]:
        """Point of U farthest along a direction of norm 1, and how far: h, the objective."""
        self.evaluations += 1
        found = support(self.hulls, direction)
        if found.value < self.value:
            self.best, self.value = direction / np.linalg.norm(direction), found.value
        # The sort may leave a share of the mass out that is far above rounding.
        u = member(self.hulls, found.multipliers)
        self.along[u.tobytes()] = direction
        return u, float(u @ direction)

    def _check_all_limits(self) -> None:
        assert self.surface is not None
        self.check_limits()
        if len(self.surface.simplices) > FACET_LIMIT:
            words = f"limit of {FACET_LIMIT} facets: take branch_and_cut"
            raise StopError(StopReason.ROUND_LIMIT, words)

    def _prove(self) -> None:
        """What the corners of the facets prove, which is more than 0 if they enclose it."""
        if self.surface is None:
            return
        found = self.surface
        radius = enclosed_radius(found.points, found.simplices, found.normals)
        if radius is None:
            self._bound_by_nearest(found.points)
        else:
            self.lower = max(self.lower, radius - self._slack())

    def _bound_by_nearest(self, points: Array) -> None:
        """h(w) >= <u, w> >= -||u|| for the point u of their hull that is nearest to 0.

        About 0 as soon as the hull holds 0; what is left next to nu_bar, where U may just miss it.
        """
        shares = nearest_shares(points / max(float(np.abs(points).max()), 1e-300))
        length = float(np.linalg.norm(shares @ points))
        self.lower = max(self.lower, -length * (1 + OUTSIDE) - self._slack())

    def _slack(self) -> float:
        return 2 * math.sqrt(self.hulls.k) * point_error(self.hulls, largest_entry(self.hulls))

    # --- telling -------------------------------------------------------------------------------

    @property
    def _facets(self) -> int:
        return 0 if self.surface is None else len(self.surface.simplices)

    def _note(self) -> None:
        self.note(self._facets, self.lower)
