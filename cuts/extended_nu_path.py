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
from itertools import groupby

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog

from cuts.kkt_recovery import recover_multipliers
from cuts.search_engines import Engine, search_engine
from formulations.data import TrainingData
from formulations.extended_nu_checks import NO_DIRECTION
from formulations.extended_nu_svc import extended_nu_svc_ball
from formulations.feature_rank import refuse_dependent_features
from formulations.hyperplane import augmented
from formulations.nu_svc import checked_nu, loss_weights
from formulations.support_function import best_levels, reduced_hulls, support_value
from solvers.algorithms.ranges import NuRange, nu_bar_bounds, nu_range
from solvers.result import Verdict
from solvers.solve import solve

Array = NDArray[np.float64]

ABSOLUTE = 2e-9  # of the largest entry: next to nu_bar a search that is so near has ended
EXACT = 1e-13  # of the radius of the points: rounding, where a chord and a value are the same
KEPT_STARTS = 10
INTERRUPTED = "interrupted"  # as solvers and searches alike call it
SAME_DIRECTION = 1e-9


@dataclass(frozen=True, eq=False)
class PathRow:
    """The extended nu-SVC at one nu.

    Attributes
    ----------
    nu : float
    value, cvar : float
        Phi at the weight, by sorting, and Phi / nu.
    lower_bound : float
        Proven.
    claimed_bound : float or None
        An engine's or solver's, where it proves none.
    verdict : Verdict
    how : str
        "ball" above nu_bar, "boundary" at it, "search", or "chord" where no search was needed.
    stop : str
        The engine's word, or the solver's status.
    side : int
        1 above nu_bar (convex), 0 at it, -1 below.
    constant : bool
        Whether nu lies in the zone where the CVaR is constant.
    w : array (d,)
        Of norm 1 (with b, where b is penalised).
    b, rho : float
    norm_multiplier : float
        lambda of Perez-Cruz et al.: minus half the objective in their scale.
    alpha : array (n,)
        Multipliers of the margin rows in their scale, in [0, n c_i] and with sum n nu.
    stationarity : float
        Residual of lambda w = sum_i alpha_i y_i x_i, see recover_multipliers.
    support_share, margin_error_share : float
        Number of points with alpha > 0 over n; mass of the points beyond rho.
    errors : int
        Training points on the wrong side or on the hyperplane.
    seconds : float
    """

    nu: float
    value: float
    cvar: float
    lower_bound: float
    claimed_bound: float | None
    verdict: Verdict
    how: str
    stop: str
    side: int
    constant: bool
    w: Array
    b: float
    rho: float
    norm_multiplier: float
    alpha: Array
    stationarity: float
    support_share: float
    margin_error_share: float
    errors: int
    seconds: float

    @property
    def gap(self) -> float:
        """value - lower_bound, at least 0."""
        return max(0.0, self.value - self.lower_bound)


@dataclass(frozen=True, eq=False)
class ExtendedNuPath:
    """Rows by falling nu, and where the problem changes its nature.

    Attributes
    ----------
    rows : tuple of PathRow
    range : NuRange
        nu_bar, nu_max and the end of the constant zone.
    nu_bar_bounds : (float or None, float)
        Proven.
    data, class_balance, intercept
        Of the problem.
    searches : int
        How many nu took the engine.
    left_out : tuple of float
        The nu that Ctrl-C came before; empty else.
    """

    rows: tuple[PathRow, ...]
    range: NuRange
    nu_bar_bounds: tuple[float | None, float]
    data: TrainingData
    class_balance: ArrayLike | str
    intercept: str
    searches: int
    left_out: tuple[float, ...]

    @property
    def anchors(self) -> tuple[tuple[float, float], ...]:
        """Rising pairs (nu, proven lower bound of Phi) that chords join; (0, 0) is the first."""
        return _anchors(self.rows, self.nu_bar_bounds[0])

    @property
    def weights(self) -> tuple[Array, ...]:
        """The weights (k,) of all rows, of norm 1."""
        return tuple(_weight_of(row, self.intercept) for row in self.rows)


def extended_nu_path(
    data: TrainingData,
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
    nus : iterable of float
        Each in (0, nu_max]; sorted here, one row for each number.
    engine : str or callable(data, nu, starts) -> Search
        For nu below nu_bar: a method of search_engine, or a search of one's own.
    solver : str
        For the convex problems above it.
    tolerance : float
        Relative gap below nu_bar up to which a value counts as proven.
    time_limit : float, optional
        Seconds for each nu; not for a search of one's own.

    Raises
    ------
    ValueError
        No nu, nu outside (0, nu_max]; affinely dependent features; bad arguments.
    RuntimeError
        An engine whose proven bound exceeds the value of a known weight: one of the two is wrong.
    """
    refuse_dependent_features(data, intercept)
    wanted = sorted({checked_nu(data, nu, class_balance, intercept) for nu in nus}, reverse=True)
    if not wanted:
        raise ValueError("nus is empty: name at least one nu")
    if not 0 < tolerance < 1:
        raise ValueError(f"tolerance must lie between 0 and 1, got {tolerance!r}")
    if isinstance(engine, str):
        engine = search_engine(
            engine,
            class_balance=class_balance,
            intercept=intercept,
            tolerance=tolerance / 2,
            time_limit=time_limit,
        )
    path = _Path(data, class_balance, intercept, engine, solver, tolerance, time_limit)
    waiting = _ends_first(wanted, path.caps, data.y, intercept)
    while waiting and not path.interrupted:
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

    data: TrainingData
    class_balance: ArrayLike | str
    intercept: str
    engine: Engine
    solver: str
    tolerance: float
    time_limit: float | None
    rows: list[PathRow] = field(default_factory=list)
    weights: list[Array] = field(default_factory=list)
    searches: int = 0

    def __post_init__(self) -> None:
        self.caps = loss_weights(self.data, self.class_balance)
        points = augmented(self.data, self.intercept if self.intercept == "penalised" else "none")
        if self.intercept == "free":
            points = points - points.mean(axis=0)
        self.radius = float(np.linalg.norm(points, axis=1).max())
        self.least_gap = ABSOLUTE * float(np.abs(points).max())
        self.range = nu_range(self.data, class_balance=self.class_balance, intercept=self.intercept)
        self.bar = nu_bar_bounds(
            self.data, class_balance=self.class_balance, intercept=self.intercept
        )

    @property
    def interrupted(self) -> bool:
        """Whether the last search was ended by Ctrl-C."""
        return bool(self.rows) and self.rows[-1].stop == INTERRUPTED

    def visit(self, nu: float) -> None:
        """Add the row of one nu."""
        started = time.perf_counter()
        side = self.range.side(nu)
        row = (self._below, self._at, self._above)[side + 1](nu)
        self.rows.append(replace(row, seconds=time.perf_counter() - started))

    def finished(self, left_out: Sequence[float]) -> ExtendedNuPath:
        """Rows by falling nu, bounds raised to the chords of all of them."""
        rows = sorted(self.rows, key=lambda row: -row.nu)
        anchors = _anchors(rows, self.bar[0])
        rows = [self._raised(row, anchors) for row in rows]
        return ExtendedNuPath(
            tuple(rows), self.range, self.bar, self.data, self.class_balance, self.intercept,
            self.searches, tuple(sorted(left_out, reverse=True)),
        )  # fmt: skip

    # --- three kinds of nu ---------------------------------------------------------------------

    def _above(self, nu: float) -> PathRow:
        result = solve(
            extended_nu_svc_ball(
                self.data, nu=nu, class_balance=self.class_balance, intercept=self.intercept
            ),
            self.solver,
            time_limit=self.time_limit,
        )
        if result.objective is None:
            raise RuntimeError(f"the ball problem at nu = {nu:g} ended with {result.status}")
        weight = np.asarray(result.values["w"], dtype=np.float64)
        if self.intercept == "penalised":
            weight = np.append(weight, result.values["b"])
        if np.linalg.norm(weight) > NO_DIRECTION:
            self._keep(weight)
        else:  # so near to nu_bar that the solver leaves w at 0
            self._keep_least_hinge()
        best, _ = self._best_known(nu)
        claimed = result.certificate.solver_bound
        lower = -math.inf if result.bound is None else result.bound
        return self._row(
            nu, best, lower, claimed, result.certificate.verdict, "ball", str(result.status)
        )

    def _at(self, nu: float) -> PathRow:
        """At nu_bar the least hinge loss has rho = 1 and value 0.

        Phi is at least 0 up to the proven lower bound of nu_bar, and falls no faster beyond it than
        by rho, which is at most the radius of the points.
        """
        self._keep_least_hinge()
        row = self._above(nu)
        lower = row.lower_bound
        if self.bar[0] is not None:
            lower = max(lower, -max(nu - self.bar[0], 0.0) * self.radius)
        closed = row.value - lower <= self.tolerance * self.radius
        verdict = Verdict.CERTIFIED if closed else Verdict.NOT_CERTIFIED
        return replace(row, how="boundary", lower_bound=lower, verdict=verdict)

    def _keep_least_hinge(self) -> None:
        """Keep the w of the least mean hinge loss, which solves nu_bar.

        Where that is 0 the classes may have one mean, and no w is better than another.
        """
        weight = _least_hinge(self.data, self.caps, self.intercept)
        axes = np.eye(len(weight))
        for w in [weight] if np.linalg.norm(weight) > NO_DIRECTION else [*axes, *-axes]:
            self._keep(w)

    def _below(self, nu: float) -> PathRow:
        lower = chord(_anchors(self.rows, self.bar[0]), nu)
        if self.weights:
            best, value = self._best_known(nu)
            if value - lower <= max(self._relative(value), EXACT * self.radius):
                return self._row(nu, best, lower, None, Verdict.CERTIFIED, "chord", "no search")
        found = self.engine(self.data, nu, self._starts(nu))
        self.searches += 1
        self._keep(found.weight)
        best, value = self._best_known(nu)
        if found.lower_bound > value + self._slack(value):
            raise RuntimeError(
                f"the engine's bound {found.lower_bound:.9g} at nu = {nu:g} exceeds the value "
                f"{value:.9g} of a known weight: one of the two is wrong"
            )
        lower, claimed = max(lower, found.lower_bound), found.claimed_bound
        return self._row(
            nu, best, lower, claimed, self._verdict(value, lower, claimed), "search", found.stop
        )

    def _verdict(self, value: float, lower: float, claimed: float | None) -> Verdict:
        if self._closed(value, lower):
            return Verdict.CERTIFIED
        # A claim above the value is no better than one below it.
        if claimed is not None and abs(value - claimed) <= self._slack(value):
            return Verdict.SOLVER_BOUND
        return Verdict.NOT_CERTIFIED

    def _slack(self, value: float) -> float:
        """The gap at which a value counts as proven."""
        return max(self._relative(value), self.least_gap)

    def _relative(self, value: float) -> float:
        return self.tolerance * abs(value) * (1 + 1e-9)

    def _closed(self, value: float, lower: float) -> bool:
        return value - lower <= self._slack(value)

    def _raised(self, row: PathRow, anchors: tuple[tuple[float, float], ...]) -> PathRow:
        """The row with the chords of its neighbours, and the best weight of all rows."""
        best, value = self._best_known(row.nu)
        lower = max(row.lower_bound, chord(anchors, row.nu))
        if value < row.value - self.tolerance * abs(row.value):
            row = self._row(
                row.nu, best, lower, row.claimed_bound, row.verdict, row.how, row.stop, row.seconds
            )
        if row.side < 0:
            row = replace(row, verdict=self._verdict(row.value, lower, row.claimed_bound))
        return replace(row, lower_bound=lower)

    # --- weights -------------------------------------------------------------------------------

    def _keep(self, weight: Array) -> None:
        unit = np.asarray(weight, dtype=np.float64) / np.linalg.norm(weight)
        if all(float(np.abs(unit - other).max()) > SAME_DIRECTION for other in self.weights):
            self.weights.append(unit)

    def _values(self, nu: float) -> Array:
        hulls = reduced_hulls(
            self.data, nu=nu, class_balance=self.class_balance, intercept=self.intercept
        )
        return np.array([support_value(hulls, weight) for weight in self.weights])

    def _best_known(self, nu: float) -> tuple[Array, float]:
        values = self._values(nu)
        place = int(values.argmin())
        return self.weights[place], float(values[place])

    def _starts(self, nu: float) -> list[Array]:
        if not self.weights:
            return []
        order = np.argsort(self._values(nu), kind="stable")[:KEPT_STARTS]
        return [self.weights[place] for place in order]

    def _row(
        self,
        nu: float,
        weight: Array,
        lower: float,
        claimed: float | None,
        verdict: Verdict,
        how: str,
        stop: str,
        seconds: float = 0.0,
    ) -> PathRow:
        hulls = reduced_hulls(
            self.data, nu=nu, class_balance=self.class_balance, intercept=self.intercept
        )
        value = support_value(hulls, weight)
        b, rho, xi = best_levels(hulls, weight)
        w = weight[: self.data.d]
        if self.intercept == "penalised":
            b = float(weight[-1])
        scores = self.data.y * (self.data.X @ w + b)
        dual, n = recover_multipliers(hulls, weight), self.data.n
        slack = 1e-9 * max(1.0, float(np.abs(scores).max()))
        return PathRow(
            nu=nu,
            value=value,
            cvar=value / nu,
            lower_bound=lower,
            claimed_bound=claimed,
            verdict=verdict,
            how=how,
            stop=stop,
            side=self.range.side(nu),
            constant=nu <= self.range.constant_until * (1 + 1e-12),
            w=w,
            b=b,
            rho=rho,
            norm_multiplier=-n * value / math.sqrt(2),
            alpha=n * dual.multipliers,
            stationarity=dual.residual,
            support_share=float(dual.support.mean()),
            margin_error_share=float(self.caps[xi > slack].sum()),
            errors=int((scores <= 0).sum()),
            seconds=seconds,
        )


# --- bounds from concavity -----------------------------------------------------------------------


def _anchors(rows: Iterable[PathRow], bar: float | None) -> tuple[tuple[float, float], ...]:
    """(nu, lower bound of Phi) by rising nu: 0 at 0 and at a proven lower bound of nu_bar."""
    found = {0.0: 0.0}
    if bar is not None and bar > 0:
        found[bar] = 0.0
    for row in rows:
        if math.isfinite(row.lower_bound):
            found[row.nu] = max(row.lower_bound, found.get(row.nu, -math.inf))
    return tuple(sorted(found.items()))


def chord(anchors: Sequence[tuple[float, float]], nu: float) -> float:
    """Proven lower bound of Phi at nu: the highest chord over it; -inf beyond the last anchor."""
    best = -math.inf
    for left, low in anchors:
        for right, high in anchors:
            if left == nu:
                best = max(best, low)
            elif left < nu <= right:
                share = (nu - left) / (right - left)
                best = max(best, (1 - share) * low + share * high)
    return best


def _weight_of(row: PathRow, intercept: str) -> Array:
    return np.append(row.w, row.b) if intercept == "penalised" else row.w


def _least_hinge(data: TrainingData, caps: Array, intercept: str) -> Array:
    """w (k,), with b where it is penalised, of the least weighted mean hinge loss."""
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


def _ends_first(nus: Sequence[float], caps: Array, y: Array, intercept: str) -> list[float]:
    """Falling nu, but of those between two multiples of the caps the outer two first."""
    sides = [y > 0, y < 0] if intercept == "free" else [y != 0]
    steps = [caps[side] * len(sides) for side in sides]
    if any(step.min() != step.max() for step in steps):
        return list(nus)

    def piece(nu: float) -> tuple[int, ...]:
        return tuple(math.ceil(nu / float(step[0]) - 1e-9) for step in steps)

    order: list[float] = []
    for _, group in groupby(nus, key=piece):
        inside = list(group)
        order += [inside[0], *([inside[-1]] if len(inside) > 1 else []), *inside[1:-1]]
    return order
