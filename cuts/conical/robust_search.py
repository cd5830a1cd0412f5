"""The extended robust machine to its proven optimum, by simplicial cones of (w, b).

Its risk is T_m - T_k of the errors over n, m = nu n and k = mu n, a difference of convex functions
of the d + 1 numbers (w, b): no binary is needed, and what branching has to resolve are a few
dimensions and not n points. A cone's bound (cone_program.py) replaces the subtracted part by its
values at the generators, so that it is exact where the same points are given up in the whole cone.
A cone is halved between the two generators that the minimiser mixes and whose outliers differ most.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.cuts.conical.cone_program import ConePrograms
from tightmargin.cuts.conical.orthant_tree import Cone, OrthantTree
from tightmargin.cuts.conical.result import RobustSearch
from tightmargin.cuts.conical.simplicial import (
    MOST_DIMENSIONS,
    SPAN,
    TailDifference,
    cover_lemma,
    halves,
    largest_sum,
    orthants,
    point_value,
    tail_difference,
)
from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import unweighted
from tightmargin.formulations.data.training_data import TrainingData, reads_dense_points
from tightmargin.formulations.nu.extended_robust import (
    Share,
    given_up,
    offset_limit,
    robust_risk,
    window,
)
from tightmargin.formulations.parameters import INTERCEPTS, finite_hyperplane, one_of, positive
from tightmargin.solvers.certify.case import SEARCH_GAP
from tightmargin.solvers.engines.running import StopReason, drive
from tightmargin.solvers.exact import rounded_up
from tightmargin.solvers.searches import CatalogueModel, Progress, Trace

PROVING = 0.1  # of the search's seconds, which the kernel takes at most to do it again
LOST = 32  # times the error of a sum of all entries of a column
LONGEST = 8  # levels after which the longest edge is halved, so that no cone stays long
MIXED = 1e-9  # of a minimiser's coefficients
LARGEST = 2.0**200  # of a feature


@unweighted
@reads_dense_points
def robust_search(
    data: TrainingData,
    *,
    nu: float,
    mu: Share,
    intercept: str = "penalised",
    incumbent: tuple[Array, float] | None = None,
    gap: float = SEARCH_GAP,
    time_limit: float | None = None,
    cell_limit: int | None = None,
    clock: Callable[[], float] = time.monotonic,
    progress: Progress = lambda point: None,
) -> RobustSearch:
    """Global optimum of the extended robust SVM (Takeda, Fujiwara & Kanamori 2014).

    Up to seven numbers (w, b) it takes seconds to minutes for hundreds of points.

    Parameters
    ----------
    data, nu, mu, intercept
        As for extended_robust_svc.
    incumbent : (array (d,), float), optional
        w and b of a known machine, such as the end of robust_dca.
    gap : float
        Relative gap at which a cone is closed, or where the rounding of sums over the largest
        feature is more than that.
    time_limit : float, optional
        Seconds of `clock` for the search and for the kernel's proof of it.
    cell_limit : int, optional
        A limit that gives the same result on any machine.
    clock, progress : callable
        time.process_time counts processor time instead; told about each TracePoint.

    Raises
    ------
    ValueError
        Bad shares, limits or intercept; weighted points; a risk without end along a free
        intercept; more than 14 numbers in (w, b), no feature, features beyond 2^200 in size.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.TrainingData([[2.0], [1.0], [-1.0], [-3.0]], [1, 1, -1, 1])
    >>> found = tm.search.robust_search(data, nu=0.5, mu=0.25, intercept="none")
    >>> round(found.risk, 6), found.outliers.tolist(), found.gap <= 1e-6
    (-0.25, [3], True)
    """
    started = clock()
    _check(intercept, {"gap": gap, "time_limit": time_limit, "cell_limit": cell_limit})
    problem, unit = _problem(data, nu, mu, intercept)
    search = _Search(problem, unit, gap, Trace(progress), lambda: clock() - started)
    search.time_limit, search.cell_limit = time_limit, cell_limit
    if incumbent is not None:
        w, b = finite_hyperplane("incumbent", incumbent, data.d)
        search.offer(np.asarray(w) if intercept == "none" else np.append(w, b))
    stop = drive("robust search", search)
    cover = search.tree.cover(search.exponents, search.programs.directions)
    lemma = cover_lemma(problem, cover, unit)
    bound = search.floor if lemma is None else min(lemma.value, search.risk)
    aim = float(Fraction(search.target) * unit) - 1e-9 * abs(search.risk)
    if stop is StopReason.PROVEN and bound < aim:
        stop = StopReason.NUMERICAL
    seconds = clock() - started
    search.trace.note(seconds, search.cells, bound, search.risk, last=True)
    w, b = search.best[: data.d], 0.0 if intercept == "none" else float(search.best[-1])
    words: dict[str, Any] = {"nu": nu, "mu": mu, "intercept": intercept}
    return RobustSearch(
        objective=search.risk, bound=bound, stop=stop, seconds=seconds,
        trace=tuple(search.trace.points), w=w, b=b,
        outliers=np.flatnonzero(robust_risk(data, w, b, nu=nu, mu=mu)[1]), cells=search.cells,
        cover=cover, lemma=lemma, about=CatalogueModel("extended_robust_svc", data, words),
    )  # fmt: skip


def _check(intercept: str, limits: Mapping[str, float | None]) -> None:
    one_of("intercept", intercept, INTERCEPTS)
    for name, limit in limits.items():
        if limit is not None:
            positive(name, limit)


def _problem(
    data: TrainingData, nu: float, mu: Share, intercept: str
) -> tuple[TailDifference, Fraction]:
    """The difference of tail sums, its rows at most 1 in size, and what times it is the risk."""
    count = given_up(data, nu, mu)
    if not data.d:
        raise ValueError("the search needs a feature, and X has none")
    offset = offset_limit(data, nu, mu) if intercept == "free" else 0.0
    columns = "none" if intercept == "none" else "penalised"
    rows = data.y[:, None] * np.asarray(augmented(data, columns))
    if rows.shape[1] > MOST_DIMENSIONS:
        raise ValueError(
            f"(w, b) has {rows.shape[1]} numbers, and the search takes {MOST_DIMENSIONS} at most: "
            "solve extended_robust_svc by method='branch-and-bound', or take fewer features"
        )
    top = float(np.abs(rows).max())
    if top > LARGEST:
        raise ValueError("features beyond 2^200 in size; give X in another unit")
    exponent = math.frexp(top)[1]
    ball = data.d if intercept == "free" else rows.shape[1]
    scaled = np.ldexp(rows, -exponent)
    problem = tail_difference(scaled, count + window(data, nu, mu), count, ball, offset)
    return problem, Fraction(2) ** exponent / data.n


class _Search:
    """The tree, its programs and the best machine, in the units of the kernel's problem."""

    time_limit: float | None = None
    cell_limit: int | None = None
    met: StopReason | None = None

    def __init__(
        self,
        problem: TailDifference,
        unit: Fraction,
        gap: float,
        trace: Trace,
        elapsed: Callable[[], float],
    ) -> None:
        self.problem, self.unit, self.gap = problem, unit, gap
        self.trace, self.elapsed = trace, elapsed
        self.programs, self.tree = ConePrograms(problem), OrthantTree()
        self.best, self.value = np.zeros(problem.dimensions), 0.0
        self.cells = 0
        # What no arithmetic tells apart: an optimum of 0 that other machines attain is closed here.
        self.rounding = LOST * problem.error * float(problem.sums.max())
        sizes = np.linalg.norm(problem.rows, axis=0)
        exponents = np.where(sizes > 0, -np.frexp(np.where(sizes > 0, sizes, 1.0))[1], 0)
        self.exponents: NDArray[np.int64] = np.clip(exponents, -SPAN, SPAN).astype(np.int64)
        self.scale = np.ldexp(1.0, self.exponents)[:, None]

    @property
    def risk(self) -> float:
        """Of the best machine, rounded up."""
        return rounded_up(Fraction(self.value) * self.unit) + 0.0

    @property
    def bound(self) -> float:
        """What the search believes; the kernel is asked in the end."""
        return min(float(Fraction(self.tree.least) * self.unit), self.risk)

    @property
    def floor(self) -> float:
        """A bound without any search: no error exceeds the largest entries can make it."""
        box = np.ones(self.problem.dimensions)
        box[self.problem.in_ball :] = self.problem.box
        most = float(self.problem.most) * float((np.abs(self.problem.rows) @ box).max())
        return -rounded_up(Fraction(most) * self.unit) * (1 + 1e-9)

    @property
    def target(self) -> float:
        """Bounds from here on close a cone."""
        return self.value - max(self.gap * abs(self.value), self.rounding)

    def offer(self, z: Array) -> None:
        """Take the machine along z if it is better: on the sphere, and not outside of it."""
        length = math.hypot(*z[: self.problem.in_ball])
        if not length > 0:
            return
        machine = z / length * (1 - 2.0**-50)
        if np.isfinite(machine).all():
            value = point_value(self.problem, machine)
            if value < self.value:
                self.best, self.value = machine, value

    def begin(self) -> None:
        """Bound the orthants; when a limit is met, those that are left by one program each."""
        for generators in orthants(self.problem.dimensions):
            self.met = self.met or self._limit()
            cone = self._cone(generators, 0, np.empty(0, dtype=np.intp), self.met)
            self.tree.roots.append(cone)
            self.tree.add(cone, self.target)

    @property
    def is_open(self) -> bool:
        """Whether a cone is left, or a limit was met before all were there."""
        return bool(self.tree.open) or self.met is not None

    def limit(self) -> StopReason | None:
        """The limit that is met."""
        if self.met is None:
            self.trace.note(self.elapsed(), self.cells, self.bound, self.risk)
            self.met = self._limit()
        return self.met

    def _limit(self) -> StopReason | None:
        late = self.elapsed() * (1 + PROVING)
        if self.time_limit is not None and late >= self.time_limit:
            return StopReason.TIME_LIMIT
        most = self.cell_limit
        return StopReason.CELL_LIMIT if most is not None and self.cells >= most else None

    def standing(self) -> tuple[float, float, str]:
        """For the live line."""
        return self.bound, self.risk, f"{self.cells:,} cones"

    def step(self) -> None:
        """Halve the cone with the least bound."""
        cone = self.tree.take()
        if cone.found.value >= self.target:
            self.tree.close(cone)
            return
        i, j = self._edge(cone)
        real = cone.generators * self.scale
        ratio = math.hypot(*real[:, j]) / math.hypot(*real[:, i])
        power = round(math.log2(ratio))
        try:
            halved = halves(cone.generators, i, j, power)
        except ValueError:  # too fine for doubles
            self.tree.close(cone)
            return
        lower, upper = (self._cone(half, cone.depth + 1, cone.found.which) for half in halved)
        cone.split, cone.children = (i, j, power), (lower, upper)
        for child in (lower, upper):
            self.tree.add(child, self.target)

    def _cone(
        self,
        generators: NDArray[np.int64],
        depth: int,
        inherited: NDArray[np.intp],
        stop: StopReason | None = None,
    ) -> Cone:
        real = np.asarray(generators * self.scale, dtype=float)
        # Where no risk is below 0 a cone is asked for 0 itself, which the kernel can tell exactly.
        target = -math.inf if stop else self.target if self.value < 0 else 0.0
        found, met = self.programs.bounded(real, inherited, target)
        self.cells += 1
        for z in met[:1]:
            self.offer(z)
        return Cone(generators, depth, found)

    def _edge(self, cone: Cone) -> tuple[int, int]:
        """The generators between which a cone is halved."""
        real = cone.generators * self.scale
        unit = real / np.linalg.norm(real, axis=0)
        t = cone.found.coefficients
        mixed = np.flatnonzero(t > MIXED * t.max(initial=0.0))
        if cone.depth % LONGEST != LONGEST - 1 and len(mixed) > 1:
            pairs = np.array(list(itertools.combinations(mixed, 2)))
            i, j = pairs.T
            together = largest_sum(self.problem, unit[:, i] + unit[:, j])
            tails = cone.found.tails
            lost = np.sqrt(t[i] * t[j]) * (tails[i] + tails[j] - together)
            worst = int(lost.argmax())
            if lost[worst] > 1e-12 * np.abs(tails).max():
                return int(i[worst]), int(j[worst])
        cosines = unit.T @ unit
        np.fill_diagonal(cosines, 2.0)
        first, second = np.unravel_index(int(cosines.argmin()), cosines.shape)
        return int(first), int(second)
