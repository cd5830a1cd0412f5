"""Algorithm 11: the extended nu-SVC for a descending list of nu, each value with its proof.

Takeda & Sugiyama 2008, section 4.3. Above nu_bar, which one linear program tells beforehand, the
ball problem is convex and solve() has it; below, a search engine looks for the global optimum of

    Phi(nu) = min { h_nu(w) : ||w|| = 1 } = nu CVaR,

the best weights of all other nu in its hands. Phi is the infimum over (w, b, rho) of functions
linear in nu, hence concave, with Phi(0) = Phi(nu_bar) = 0:

    chord      between two nu with proven lower bounds Phi is at least their chord
    tangent    a weight found for one nu has the value h_nu(w) at every other one

A weight whose value lies on the chord needs no search. On (0, 2 min c] the chord from 0 is exact,
and between two multiples of a cap h_nu(w) is linear in nu: the ends of such a piece are searched
first, and what is inside often lies on their chord.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from tightmargin.cuts.nu_path.engines import Engine, ProvingEngine, search_engine
from tightmargin.cuts.nu_path.family import (
    KnownWeights,
    NuFamily,
    bound_past_nu_bar,
    measured_points,
    radius_of,
)
from tightmargin.cuts.nu_path.result import ExtendedNuPath, anchors_of, chord, ends_first
from tightmargin.cuts.nu_path.row import PathRow, bound_of, path_row
from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData, reads_dense_points
from tightmargin.formulations.nu.extended import extended_nu_svc_ball
from tightmargin.formulations.nu.extended_checks import NO_DIRECTION
from tightmargin.formulations.nu.feature_rank import refuse_dependent_features
from tightmargin.formulations.nu.nu_svc import checked_nu
from tightmargin.formulations.nu.polytope import nearest_direction, proven_slope
from tightmargin.formulations.nu.reduced_hull import support_value
from tightmargin.solvers.engines.running import StopReason, telling
from tightmargin.solvers.kernel.statement import CLOSED
from tightmargin.solvers.solve import solve

ABSOLUTE = 2e-9  # of the largest entry: next to nu_bar a search that is so near has ended
EXACT = 1e-13  # of the radius of the points: rounding, where a chord and a value are the same
KEPT_STARTS = 10


@reads_dense_points
def extended_nu_path(
    data: TrainingData | GramData,
    nus: Iterable[float],
    *,
    class_balance: ArrayLike | str = "uniform",
    intercept: str = "free",
    engine: Engine | str = "auto",
    solver: str = "auto",
    tolerance: float = 1e-6,
    time_limit: float | None = None,
) -> ExtendedNuPath:
    """Solve the extended nu-SVC for several nu, from the largest to the smallest.

    Parameters
    ----------
    data : TrainingData or GramData
        Points and labels; of a kernel matrix its factor has the points.
    nus : iterable of float
        Each in (0, nu_max]; sorted here, one row for each number.
    class_balance : "uniform", "balanced" or array (n,)
        Weights of the losses, as for extended_nu_svc.
    intercept : "free", "penalised" or "none"
        As for extended_nu_svc.
    engine : str or callable(data, nu, starts) -> Search
        For nu below nu_bar: a method of search_engine, or a search of one's own, whose bound is a
        claim unless it comes as a ProvingEngine.
    solver : str
        For the convex problems above it.
    tolerance : float
        Relative gap up to which a value counts as proven, at most 1e-6. At nu_bar the optimum is
        0 and no gap is relative to it: the row shows the interval that is proven.
    time_limit : float, optional
        Seconds for each nu; not for a search of one's own.

    Raises
    ------
    ValueError
        No nu, nu outside (0, nu_max]; affinely dependent features; bad arguments.
    RuntimeError
        An engine whose proven bound exceeds the value of a known weight: one of the two is wrong.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> path = tm.paths.extended_nu_path(data, [0.05, 0.1, 0.2])
    >>> [row.verdict.value for row in path.rows]
    ['CERTIFIED', 'CERTIFIED', 'CERTIFIED']
    """
    refuse_dependent_features(data, intercept)
    data = data.points
    wanted = sorted({checked_nu(data, nu, class_balance, intercept) for nu in nus}, reverse=True)
    if not wanted:
        raise ValueError("nus is empty: name at least one nu")
    if not 0 < tolerance <= CLOSED:
        raise ValueError(
            f"tolerance must lie above 0 and be at most {CLOSED:g}, what CERTIFIED means; "
            f"got {tolerance!r}"
        )
    if isinstance(engine, str):
        engine = search_engine(
            engine,
            class_balance=class_balance,
            intercept=intercept,
            tolerance=tolerance / 2,
            time_limit=time_limit,
        )
    family = NuFamily(data, class_balance, intercept)
    path = _Path(family, engine, solver, tolerance, time_limit)
    waiting = ends_first(wanted, family.caps, data.y, intercept)
    with telling("extended nu path") as say:
        while waiting and not path.interrupted:
            say(f"nu {waiting[0]:.4g}, {len(waiting)} of {len(wanted)} to go")
            try:
                path.visit(waiting[0])
            except KeyboardInterrupt:  # outside of a search, which ends with what it has
                if not path.rows:
                    raise
                break
            waiting.pop(0)
    return path.finished(waiting)


@dataclass(eq=False)
class _Path:
    """Rows, weights and bounds so far."""

    family: NuFamily
    engine: Engine
    solver: str
    tolerance: float
    time_limit: float | None
    rows: list[PathRow] = field(default_factory=list)
    searches: int = 0

    def __post_init__(self) -> None:
        self.known = KnownWeights(self.family)
        points = measured_points(self.family.data, self.family.intercept)
        self.radius = radius_of(points)
        self.least_gap = ABSOLUTE * float(np.abs(points).max())

    @property
    def interrupted(self) -> bool:
        """Whether the last search was ended by Ctrl-C."""
        return bool(self.rows) and self.rows[-1].stop == StopReason.INTERRUPTED

    def visit(self, nu: float) -> None:
        """Add the row of one nu."""
        started = time.perf_counter()
        side = self.family.range.side(nu)
        row = (self._below, self._at, self._above)[side + 1](nu)
        self.rows.append(replace(row, seconds=time.perf_counter() - started))

    def finished(self, not_reached: Sequence[float]) -> ExtendedNuPath:
        """Rows by falling nu, bounds raised to the chords of all of them."""
        rows = sorted(self.rows, key=lambda row: -row.nu)
        family, anchors = self.family, self._anchors(rows)
        rows = [self._raised(row, anchors) for row in rows]
        return ExtendedNuPath(
            tuple(rows), family.range, family.bar, family.data, family.class_balance,
            family.intercept, self.searches, tuple(sorted(not_reached, reverse=True)),
        )  # fmt: skip

    def _anchors(self, rows: Iterable[PathRow]) -> tuple[tuple[float, float], ...]:
        return anchors_of((row.anchor for row in rows), self.family.bar[0])

    # --- three kinds of nu ---------------------------------------------------------------------

    def _above(self, nu: float) -> PathRow:
        family = self.family
        ball = extended_nu_svc_ball(
            family.data, nu=nu, class_balance=family.class_balance, intercept=family.intercept
        )
        result = solve(ball, self.solver, time_limit=self.time_limit)
        if result.objective is None:
            raise RuntimeError(f"the ball problem at nu = {nu:g} ended with {result.status}")
        weight = np.asarray(result.values["w"], dtype=np.float64)
        if family.intercept == "penalised":
            weight = np.append(weight, result.values["b"])
        hulls = family.hulls(nu)
        length, exact = float(np.linalg.norm(weight)), nearest_direction(hulls, weight)
        if length <= NO_DIRECTION and exact is None:
            # So near to nu_bar that the solver leaves w at 0.
            self._keep_least_hinge()
        elif exact is None:
            self.known.keep(weight)
        elif length <= NO_DIRECTION:
            self.known.keep(exact)
        else:
            solved = support_value(hulls, weight / length)
            self.known.keep(exact if support_value(hulls, exact) <= solved else weight)
        best, _ = self.known.best(nu)
        claimed = result.certificate.solver_bound
        bounds = [result.bound, proven_slope(hulls, best)]
        lower = max((bound for bound in bounds if bound is not None), default=-math.inf)
        row = self._row(nu, best, lower, claimed=claimed, how="ball", stop=str(result.status))
        return self._compared(row)

    def _at(self, nu: float) -> PathRow:
        """At nu_bar the least hinge loss has rho = 1 and value 0."""
        self._keep_least_hinge()
        row = self._above(nu)
        lower = row.bound
        least = self.family.bar[0]
        if least is not None:
            lower = max(lower, bound_past_nu_bar(nu, least, self.radius))
        below = bound_of(self.family, nu, lower, "boundary")
        return self._compared(replace(row, how="boundary", below=below))

    def _keep_least_hinge(self) -> None:
        """Keep the w of the least mean hinge loss, which solves nu_bar.

        Where that is 0 the classes may have one mean, and no w is better than another.
        """
        weight = least_hinge(self.family.data, self.family.caps, self.family.intercept)
        axes = np.eye(len(weight))
        for w in [weight] if np.linalg.norm(weight) > NO_DIRECTION else [*axes, *-axes]:
            self.known.keep(w)

    def _below(self, nu: float) -> PathRow:
        lower = chord(self._anchors(self.rows), nu)
        if self.known.weights:
            best, value = self.known.best(nu)
            if value - lower <= max(self._relative(value), EXACT * self.radius):
                row = self._row(nu, best, lower, claimed=None, how="chord", stop="no search")
                return self._compared(row)
        found = self.engine(self.family.data, nu, self.known.starts(nu, KEPT_STARTS))
        self.searches += 1
        self.known.keep(found.weight)
        best, value = self.known.best(nu)
        if found.bound > value + self._slack(value):
            raise RuntimeError(
                f"the engine's bound {found.bound:.9g} at nu = {nu:g} exceeds the value "
                f"{value:.9g} of a known weight: one of the two is wrong"
            )
        claimed = found.claimed_bound
        if isinstance(self.engine, ProvingEngine):
            lower = max(lower, found.bound)
        else:  # a search of one's own: its word
            claimed = max(found.bound, -math.inf if claimed is None else claimed)
        row = self._row(nu, best, lower, claimed=claimed, how="search", stop=found.stop)
        return self._compared(row)

    def _row(
        self, nu: float, weight: Array, lower: float, *, claimed: float | None, how: str,
        stop: str, seconds: float = 0.0,
    ) -> PathRow:  # fmt: skip
        return path_row(
            self.family, nu, weight, below=bound_of(self.family, nu, lower, how),
            tolerance=self.tolerance, claimed=claimed, how=how, stop=stop, seconds=seconds,
        )  # fmt: skip

    def _compared(self, row: PathRow) -> PathRow:
        """The row with what a claim says; a bound above the value is none, and the row says so."""
        if row.bound > row.upper:
            words = f"the bound {row.bound:.9g} exceeds the value: neither is proven"
            return replace(row, below=None, claim_closes=False, stop=f"{row.stop}; {words}")
        claimed = row.claimed_bound if row.side < 0 else None
        # A claim above the value is no better than one below it.
        closes = claimed is not None and abs(row.objective - claimed) <= self._slack(row.objective)
        return replace(row, claim_closes=closes)

    def _slack(self, value: float) -> float:
        """By how much a bound may exceed a value by rounding, or a claim be beside it."""
        return max(self._relative(value), self.least_gap)

    def _relative(self, value: float) -> float:
        return self.tolerance * abs(value) * (1 + 1e-9)

    def _raised(self, row: PathRow, anchors: tuple[tuple[float, float], ...]) -> PathRow:
        """The row with the chords of its neighbours, and the best weight of all rows."""
        best, value = self.known.best(row.nu)
        lower = max(row.bound, chord(anchors, row.nu))
        if value < row.objective - self.tolerance * abs(row.objective):
            row = self._row(
                row.nu, best, lower, claimed=row.claimed_bound, how=row.how, stop=row.stop,
                seconds=row.seconds,
            )  # fmt: skip
        if lower > row.bound:
            row = replace(row, below=bound_of(self.family, row.nu, lower, "chord"))
        return self._compared(row)


def least_hinge(data: TrainingData, caps: Array, intercept: str) -> Array:
    """w (k,), with b where it is penalised, of min sum_i c_i max(0, 1 - y_i (<w, x_i> + b)).

    caps (n,): the weights c.
    Raises RuntimeError: the linear program did not end with an optimum.
    """
    rows = data.y[:, None] * augmented(data, intercept)
    d = rows.shape[1]
    answer = linprog(
        np.r_[np.zeros(d), caps],
        A_ub=np.hstack([-rows, -np.eye(data.n)]),
        b_ub=-np.ones(data.n),
        bounds=[(None, None)] * d + [(0, None)] * data.n,
        method="highs",
    )
    if answer.status != 0:
        raise RuntimeError(f"the linear program for the hinge loss ended: {answer.message}")
    return answer.x[: d if intercept == "penalised" else data.d]
