"""The largest norm bound of the rigorous SVM that matters.

    H_lim = min { ||w|| : (w, b) of least hinge sum E0 }

Below it ||w|| <= H is active at every optimum and gamma > 0; above it gamma = 0 and the linear
program (13) of Bi & Vapnik 2003 is all there is. It replaces the paper's Propositions 5 and 6: a
larger ||w|| with the least loss may exist (for separable data always), and says nothing. Separable
data have E0 = 0 and H_lim = 1 / Delta, the hard margin; all others have E0 >= 1, for a hyperplane
with positive margins could be scaled to loss 0.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray
from scipy.linalg import lstsq, qr, solve_triangular
from scipy.optimize import linprog, nnls

from tightmargin.formulations.common.hyperplane import add_hyperplane, signed_score
from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.data.training_data import GramData, TrainingData, reads_dense_points
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.modeling.affine_rows import AffineRows, squares
from tightmargin.formulations.parameters import positive
from tightmargin.formulations.rigorous_svm.rsvm import rsvm_relaxed
from tightmargin.printing import Printed
from tightmargin.solvers.engines import clarabel, highs
from tightmargin.solvers.engines.running import Limits, checked_limits
from tightmargin.solvers.exact import (
    Dyadic,
    dot_integers,
    dyadic,
    rounded_down,
    rounded_up,
    scaled,
    solve_exactly,
)
from tightmargin.solvers.kernel.exact_bounds import exact_lp_value
from tightmargin.solvers.kernel.limits import Subject
from tightmargin.solvers.kernel.statement import by_lemma, point_by_formula
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.model.convexity import classify
from tightmargin.solvers.model.names import named_values
from tightmargin.solvers.model.reader import standard_form
from tightmargin.solvers.rigorous_svm.point import NOTHING, STRETCH, RsvmPoint, rsvm_point

# --- The hyperplane of least norm on the optimal face of the linear program (13) of Bi & Vapnik --
# Any optimal multipliers alpha of (10) describe the whole face, without the number E0:
#     u_i >= 1 where alpha_i = 0,   u_i <= 1 where alpha_i = 1,   u_i = 1 in between,
# u_i = y_i (<w, g_i> + b), because the optimal (w, b) are those complementary to alpha. Its point
# of least norm is the least solution of u_T = 1 over the rows T that are active at it; a solver of
# the quadratic program names T, and the system is solved again to full precision.


Sides = NDArray[np.int8]

ROUNDS = 4  # in which rows that are wrong or short change together
TOLERANCE = 1e-11
RANK = 1e-13
INSIDE = 1e-7  # of a multiplier in [0, 1] that may be moved
NUMBERS = 1_000_000  # of the matrix of the linear program for the multipliers
TIGHT_LINEAR = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True, eq=False)
class Rows:
    """Points g_i = (f_i - centre) / scale with ||g_i|| <= 1.

    Neither changes which hyperplane is best: a shift moves only b, a factor divides w.
    """

    points: Array
    y: Array
    centre: Array
    scale: float

    def refined(self, alpha: Array, target: Array | float = 0.0) -> Array:
        """Multipliers with sum alpha_i y_i (g_i, 1) = (target, 0), by the least move of inner ones.

        What rounding of a solver left open is taken up by the multipliers inside (0, 1); the
        result is the input where they would leave the box.
        """
        inside = (alpha > INSIDE) & (alpha < 1 - INSIDE)
        signed = self.signed
        rest = -alpha @ signed
        rest[:-1] += target
        if not inside.any():
            return alpha
        step, *_ = lstsq(signed[inside].T, rest, cond=1e-13, lapack_driver="gelsy")
        new = alpha.copy()
        new[inside] += step
        better = float(np.linalg.norm(rest - step @ signed[inside])) < float(np.linalg.norm(rest))
        return new if better and bool((new >= 0).all() and (new <= 1).all()) else alpha

    @property
    def signed(self) -> Array:
        """y_i (g_i, 1)."""
        return self.y[:, None] * np.column_stack([self.points, np.ones(len(self.y))])


def centred_rows(data: TrainingData | GramData) -> Rows:
    """Rows of the factor around their mean, the longest of length 1."""
    factor = np.asarray(data.factor)
    centre = factor.mean(axis=0)
    points = factor - centre
    points[:, np.ptp(factor, axis=0) == 0] = 0.0  # the mean of equal numbers may be off by a bit
    scale = float(np.linalg.norm(points, axis=1).max()) or 1.0
    return Rows(points / scale, data.y, centre, scale)


@dataclass(frozen=True, eq=False)
class FacePoint:
    """The least point of a face.

    v (d,).
    mu (n,): multipliers: v = sum_i mu_i y_i g_i, sum_i mu_i y_i = 0; at least 0 where u_i >= 1 is
        asked for, at most 0 where u_i <= 1 is.
    active (n,): rows whose equations u_i = 1 determine the point; none where it did not settle.
    touched (n,): rows with u_i = 1 to rounding.
    only: the rows (g_i, 1) that are touched are independent: mu is the only choice.
    """

    v: Array
    c: float
    mu: Array
    active: Mask
    touched: Mask
    only: bool


def sides(alpha: Array) -> Sides:
    """1 where u_i >= 1 is asked for, -1 where u_i <= 1 is, 0 where u_i = 1 is."""
    return np.where(alpha <= 0, 1, np.where(alpha >= 1, -1, 0)).astype(np.int8)


def least_on_face(rows: Rows, side: Sides, guess: Mask, offset: float) -> FacePoint | None:
    """Least norm over a face; None when the guess of active rows leads nowhere.

    Active rows whose multiplier has the wrong sign leave and others that are violated enter, a few
    times. `offset` is the intercept to take where no row is active, and w = 0.
    """
    active = guess | (side == 0)
    for _ in range(ROUNDS):
        v, c, mu, independent = _least_through(rows, active, offset)
        u = rows.y * (rows.points @ v + c)
        allowed = TOLERANCE * (1 + float(np.linalg.norm(v)) + abs(c))
        if float(np.abs(u[active] - 1).max(initial=0.0)) > 100 * allowed:
            return None  # no (v, c) meets these rows at once
        if not independent:
            mu = _signed_multipliers(rows, side, active, v, mu)
        short = ~active & (side * (1 - u) > allowed)
        wrong = active & (-side * mu > TOLERANCE * float(np.abs(mu).max(initial=0.0)))
        if not (short.any() or wrong.any()):
            touched = np.abs(u - 1) <= 100 * allowed
            only = independent and not (touched & ~active).any()
            return FacePoint(v, c, np.where(side * mu < 0, 0.0, mu), active, touched, only)
        active = (active & ~wrong) | short
    return None


def _least_through(rows: Rows, active: Mask, offset: float) -> tuple[Array, float, Array, bool]:
    """Least ||v|| with <v, g_i> + c = y_i on some rows: v, c, multipliers, rows independent or not.

    c is free, so the rows count from their mean.
    """
    mu = np.zeros(len(active))
    if not active.any():
        return np.zeros(rows.points.shape[1]), offset, mu, True
    points, labels = rows.points[active], rows.y[active]
    mean, middle = points.mean(axis=0), float(labels.mean())
    Q, R, order = qr((points - mean).T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    size = max(float(diagonal.max(initial=0.0)), float(np.linalg.norm(mean)))
    rank = int((diagonal > RANK * size).sum())
    kept = R[:rank, :rank]
    inner = solve_triangular(kept, (labels - middle)[order[:rank]], trans="T")
    v = Q[:, :rank] @ inner
    beta = np.zeros(len(labels))
    beta[order[:rank]] = solve_triangular(kept, inner)
    mu[active] = labels * (beta - beta.mean())
    return v, middle - float(mean @ v), mu, rank == len(labels) - 1


def _signed_multipliers(rows: Rows, side: Sides, active: Mask, v: Array, mu: Array) -> Array:
    """Multipliers of the signs that they should have, where dependent rows leave a choice."""
    up, down = np.flatnonzero(active & (side >= 0)), np.flatnonzero(active & (side <= 0))
    signed = rows.signed
    try:
        parts, rest = nnls(np.vstack([signed[up], -signed[down]]).T, np.append(v, 0.0))
    except RuntimeError:  # it goes round in circles among rows that depend only to rounding
        return mu
    if rest > TOLERANCE * float(np.linalg.norm(v)):
        return mu
    found = np.zeros(len(mu))
    found[up] += parts[: len(up)]
    found[down] -= parts[len(up) :]
    return found


def multipliers_at_limit(rows: Rows, alpha: Array, point: FacePoint) -> tuple[float, Array]:
    """Largest gamma at H = H_lim, and its multipliers.

        max  gamma
        s.t. sum_i alpha_i y_i f_i = gamma w,   y'alpha = 0,   0 <= alpha <= 1,
             alpha_i = 0 where u_i > 1,   alpha_i = 1 where u_i < 1

    Where the rows with u_i = 1 are independent, alpha + gamma mu is the only choice.

    Returns: NaN and alpha where w = 0, and gamma does not matter.
    """
    mu = point.mu
    if not point.v.any() or not mu.any():
        return np.nan, alpha
    room = np.where(mu > 0, 1 - alpha, alpha)[mu != 0] / np.abs(mu[mu != 0])
    gamma = float(room.min())
    best = np.clip(alpha + gamma * mu, 0.0, 1.0)
    if not point.only and point.touched.sum() * rows.points.shape[1] <= NUMBERS:
        gamma, best = _by_program(rows, point, gamma, best)
    return gamma * rows.scale**2, rows.refined(best, gamma * point.v)


def _by_program(rows: Rows, point: FacePoint, gamma: float, best: Array) -> tuple[float, Array]:
    """The linear program over the touched rows, if it gains anything."""
    free = point.touched
    fixed = np.where(~free & (rows.y * (rows.points @ point.v + point.c) < 1), 1.0, 0.0)
    signed, k = rows.signed, int(free.sum())
    answer = linprog(
        -np.eye(k + 1)[k],
        A_eq=np.column_stack([signed[free].T, -np.append(point.v, 0.0)]),
        b_eq=-fixed @ signed,
        bounds=[(0.0, 1.0)] * k + [(0.0, None)],
        method="highs",
        options=TIGHT_LINEAR,
    )
    if answer.status != 0 or answer.x[k] <= gamma:
        return gamma, best
    fixed[free] = np.clip(answer.x[:k], 0.0, 1.0)
    return float(answer.x[k]), fixed


# --- What is proven of the least hinge loss and of the norms that reach it, without rounding -----
# Points, hyperplanes and multipliers are floats, hence integers times powers of two, and every sum
# here is taken in integers. Two things are mended first where rounding keeps them from being
# exact: multipliers of the linear program, by kernel/exact_bounds.py, and the hyperplane, by
# solving its active rows again in fractions.


DEPENDENT = 1e-9  # of rows and columns that are chosen for an exact system
DOUBLE = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ExactHyperplane:
    """(w, b) in fractions."""

    w: tuple[Fraction, ...]
    b: Fraction

    @property
    def norm_above(self) -> float:
        """||w|| rounded up."""
        return math.hypot(*map(rounded_up, map(abs, self.w))) * (1 + 4 * DOUBLE)


def exact_hyperplane(w: Array, c: float, centre: Array) -> ExactHyperplane:
    """(w, b) with <w, x> + b = <w, x - centre> + c."""
    weights = tuple(map(Fraction, w.tolist()))
    moved = sum(
        (a * Fraction(m) for a, m in zip(weights, centre.tolist(), strict=True)), Fraction()
    )
    return ExactHyperplane(weights, Fraction(c) - moved)


class Proofs:
    """Bounds for the points as they are stored; a kernel matrix counts as its factor."""

    def __init__(self, data: TrainingData | GramData) -> None:
        self.factor, self.y = np.asarray(data.factor), data.y
        self.n, self.d = self.factor.shape

    @cached_property
    def exact(self) -> Dyadic:
        """Entries of the factor, row by row."""
        return dyadic(self.factor.ravel())

    # --- hyperplanes

    def margins(self, plane: ExactHyperplane, some: Index | None = None) -> tuple[list[int], int]:
        """u_i = y_i (<w, x_i> + b) of all points or some, as numerators over one denominator."""
        common = math.lcm(*(x.denominator for x in (*plane.w, plane.b)))
        *w, b = [x.numerator * (common // x.denominator) for x in (*plane.w, plane.b)]
        up, down, d = max(self.exact.exponent, 0), max(-self.exact.exponent, 0), self.d
        b <<= down
        members = np.arange(self.n) if some is None else some
        numerators = [
            sign * ((dot_integers(self.exact.integers[i * d : (i + 1) * d], w) << up) + b)
            for i, sign in zip(members.tolist(), self.y[members].astype(int).tolist(), strict=True)
        ]
        return numerators, common << down

    def loss(self, plane: ExactHyperplane) -> Fraction:
        """E(w, b)."""
        numerators, one = self.margins(plane)
        return Fraction(sum(one - u for u in numerators if u < one), one)

    def least_margin(self, plane: ExactHyperplane) -> Fraction:
        """The smallest u_i."""
        numerators, one = self.margins(plane)
        return Fraction(min(numerators), one)

    def on_active_rows(self, plane: ExactHyperplane, active: Mask) -> ExactHyperplane | None:
        """A hyperplane with u_i = 1 on all active rows, near one that has it to rounding.

        As few numbers of (w, b) are changed as there are independent rows. None where rounding
        hides how many there are.
        """
        members = np.flatnonzero(active)
        if not len(members):
            return None
        around = self.factor[members] - self.factor[members].mean(axis=0)
        around /= float(np.abs(around).max(initial=0.0)) or 1.0
        chosen = _independent(np.column_stack([around, np.ones(len(members))]).T)
        rows, differences = members[chosen], around[chosen[1:]] - around[chosen[0]]
        columns = np.append(_independent(differences), self.d)
        if len(columns) != len(rows):
            return None
        extended = np.column_stack([self.factor[rows], np.ones(len(rows))])
        exact = [dyadic(extended[:, j]) for j in columns]
        matrix = [[column.integers[k] for column in exact] for k in range(len(rows))]
        numerators, one = self.margins(plane, rows)
        signs = self.y[rows].astype(int).tolist()
        rest = [t * Fraction(one - u, one) for t, u in zip(signs, numerators, strict=True)]
        step = solve_exactly(matrix, rest)
        if step is None:
            return None
        moved = [*plane.w, plane.b]
        for j, x, column in zip(columns.tolist(), step, exact, strict=True):
            moved[j] += x * scaled(1, -column.exponent)
        return ExactHyperplane(tuple(moved[:-1]), moved[-1])

    # --- multipliers

    def least_loss(self, alpha: Array) -> Fraction | None:
        """Lower bound on E(w, b) over all hyperplanes, from approximate multipliers of (10).

        It is the least loss itself where alpha is a vertex. None where no exact multipliers with
        the same entries at 0 and 1 are found, or their sum is 0, which proves nothing.
        """
        form = standard_form(rsvm_relaxed(with_a_column(self.factor, self.y)))
        found = exact_lp_value(Subject(form), alpha)
        return found if found is not None and found > 0 else None

    def weak_duality(self, alpha: Array) -> tuple[Fraction, Fraction]:
        """(mass, length) with E(w, b) >= mass - ||w|| length for all hyperplanes, by (12).

        The multipliers of the heavier class are scaled down until y'alpha = 0.
        """
        support = np.flatnonzero(alpha > 0)
        weights = dyadic(np.minimum(alpha[support], 1.0))
        labels = self.y[support].astype(int).tolist()
        of = {t: sum(a for a, s in zip(weights.integers, labels, strict=True) if s == t)
              for t in (1, -1)}  # fmt: skip
        if not (of[1] and of[-1]):
            return Fraction(), Fraction()
        balanced = [t * a * of[-t] for a, t in zip(weights.integers, labels, strict=True)]
        lighter, heavier = sorted(of.values())
        unit = scaled(1, weights.exponent + self.exact.exponent) / heavier
        members = itemgetter(*support.tolist())
        residual = [
            rounded_up(
                abs(dot_integers(members(self.exact.integers[j :: self.d]), balanced) * unit)
            )
            for j in range(self.d)
        ]
        length = math.hypot(*residual) * (1 + 4 * DOUBLE)
        return scaled(2 * lighter, weights.exponent), Fraction(length)

    def loss_within(self, alpha: Array, norm: float) -> float:
        """Lower bound on E(w, b) over ||w|| <= norm."""
        mass, length = self.weak_duality(alpha)
        return max(0.0, rounded_down(mass - length * Fraction(norm)))

    def norm_below(self, alpha: Array, least_loss_above: Fraction) -> float:
        """Lower bound on ||w|| over all hyperplanes whose loss is at most a number."""
        mass, length = self.weak_duality(alpha)
        gain = mass - least_loss_above
        return rounded_down(gain / length) if gain > 0 and length > 0 else 0.0


def with_a_column(points: Array, y: Array) -> TrainingData:
    """Points as data of a model, which have at least one column."""
    return TrainingData(points if points.shape[1] else np.zeros((len(y), 1)), y)


def _independent(matrix: Array) -> Index:
    """Columns that span the others to rounding."""
    if not matrix.size:
        return np.zeros(0, dtype=np.intp)
    _, r, order = qr(matrix, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(r))
    rank = int((diagonal > DEPENDENT * diagonal.max(initial=0.0)).sum())
    return np.sort(order[:rank])


# --- The search behind norm_limit: least loss first, then the least norm among its hyperplanes ---
# What the solvers return are guesses: norm_limit recomputes and proves what it says.


LP_FEATURES = 100  # up to here the linear program is cheaper than a try by libsvm
HARD_COST = 1e6  # C of libsvm, for points in the unit ball
LIBSVM_STEPS = 100_000
EXACT_LP: dict[str, Any] = {
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
}
# The dual simplex gives up on some dense kernel matrices; the primal one and others do not.
LP_WAYS: tuple[dict[str, Any], ...] = (
    EXACT_LP,
    {**EXACT_LP, "simplex_strategy": 4},
    {**EXACT_LP, "solver": "ipm"},
    {},
)
TIGHT_CONIC = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
SMALLEST = 1e-9  # what HiGHS would leave out
ON_BOUND = 1e-9  # of a multiplier in [0, 1]
LEAST = 0.5  # ||v|| is 0, or at least 1: u = 1 at rows of both classes, no longer than 1
END = 1e-6  # how far from -1 and 1 a QP leaves an intercept that belongs there
MET = 1e-6  # how near to 1 the margin of an active row is
ACTIVE = (1e-6, 1e-4, 1e-8)  # of the largest multiplier: guesses of what an active row is


class Clock:
    """What is left of a time limit."""

    def __init__(self, time_limit: float | None) -> None:
        self.end = None if time_limit is None else time.monotonic() + time_limit

    @property
    def left(self) -> float | None:
        """Seconds, at least a thousandth, which solvers take for a limit; None without one."""
        return None if self.end is None else max(1e-3, self.end - time.monotonic())

    @property
    def out(self) -> bool:
        """Whether the time is up."""
        return self.end is not None and time.monotonic() >= self.end


@dataclass(frozen=True, eq=False)
class Start:
    """A hyperplane and multipliers of the margin rows."""

    v: Array
    c: float
    alpha: Array


@dataclass(frozen=True, eq=False)
class Found:
    """What a search knows at its end.

    start: the first hyperplane of least loss, or the nearest to one.
    alpha (n,): multipliers of (10); zeros where there are none yet, and for separable data.
    separable: proven when True.
    point: hyperplane of least norm; None when the time was up first.
    """

    start: Start | None
    alpha: Array
    separable: bool
    point: FacePoint | None


def search(rows: Rows, proofs: Proofs, clock: Clock, measured: bool) -> Found:
    """Least loss, separable or not, least norm; each as far as the time allows.

    `measured`: the columns are features, each exact on its own scale. Those of the factor of a
    kernel matrix are exact on the scale of the longest row only.
    """
    none, first = np.zeros(len(rows.y)), None
    if rows.points.shape[1] > LP_FEATURES:
        first = hard_start(rows)
        if _separates(rows, proofs, first):
            point = _settled(rows, sides(none), first) or _least(rows, none, first, clock)
            return Found(first, none, True, point)
    start = least_loss_start(rows, clock, measured)
    if start is None:
        return Found(first, none, False, None)
    separable = _separates(rows, proofs, start)
    alpha = none if separable else rows.refined(start.alpha)
    return Found(start, alpha, separable, _least(rows, alpha, start, clock))


def _separates(rows: Rows, proofs: Proofs, start: Start) -> bool:
    if (rows.y * (rows.points @ start.v + start.c)).min() <= 0:
        return False
    plane = exact_hyperplane(start.v / rows.scale, start.c, rows.centre)
    return proofs.least_margin(plane) > 0


def _least(rows: Rows, alpha: Array, start: Start, clock: Clock) -> FacePoint | None:
    """The least point of the face, by the quadratic program.

    It is solved again in units of its own solution where the first hyperplane, which may be far
    longer, was no good unit.
    """
    side, size = sides(alpha), float(np.linalg.norm(start.v))
    point = None
    for _ in range(2):
        found = face_start(rows, side, max(1.0, size), clock)
        if found is None:
            break
        size = float(np.linalg.norm(found.v))
        if size < LEAST:
            found = replace(found, v=0 * found.v, c=_without_direction(found.c), alpha=0 * alpha)
        point = _settled(rows, side, found)
        if point is not None:
            return point
        mu = np.where(side * found.alpha < 0, 0.0, found.alpha)
        nothing = np.zeros(len(mu), dtype=bool)
        point = FacePoint(found.v, found.c, mu, nothing, nothing, True)
    return point


def _settled(rows: Rows, side: Sides, start: Start) -> FacePoint | None:
    """The least point of the face by guesses of its active rows."""
    sizes = np.abs(start.alpha)
    guesses = [sizes > share * float(sizes.max(initial=0.0)) for share in ACTIVE]
    guesses.append(np.abs(rows.y * (rows.points @ start.v + start.c) - 1) <= MET)
    points = (least_on_face(rows, side, guess, start.c) for guess in guesses)
    return next((point for point in points if point is not None), None)


def _without_direction(c: float) -> float:
    """Intercept of w = 0: the ends of the best ones are -1 and 1, met to rounding only."""
    inside = max(-1.0, min(1.0, c))
    return float(np.sign(c)) if 1 - abs(inside) < END else inside


def hard_start(rows: Rows) -> Start:
    """libsvm with a large C and a limit on its steps: cheap, whether it succeeds or not.

    The multipliers are those of its own problem, at least 0 and at most HARD_COST.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    machine = SVC(C=HARD_COST, kernel="linear", tol=1e-7, max_iter=LIBSVM_STEPS, cache_size=500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(rows.points, rows.y)
    beta = np.zeros(len(rows.y))
    beta[machine.support_] = machine.dual_coef_[0] * np.sign(machine.classes_[1])
    return Start(rows.points.T @ beta, float(machine.intercept_[0]), rows.y * beta)


def least_loss_start(rows: Rows, clock: Clock, measured: bool) -> Start | None:
    """Solution of (13) with multipliers; None when the time was up first.

    E0 and alpha do not depend on the scale of a column: features are scaled to 1.

    Raises RuntimeError: HiGHS ended otherwise, in its own words.
    """
    points = rows.points
    size = np.abs(points).max(axis=0) if measured else np.ones(points.shape[1])
    size[size == 0] = 1.0
    scaled = points / size
    scaled[np.abs(scaled) < SMALLEST] = 0.0
    m = rsvm_relaxed(with_a_column(scaled, rows.y))
    form = standard_form(m)
    kind = classify(form)
    for options in LP_WAYS:
        claim = highs.run(form, kind, Limits(time_limit=clock.left, options=options))
        if claim.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if claim.status is Status.OPTIMAL and claim.x is not None and claim.duals is not None:
            break
        if clock.out:
            return None
    else:
        raise RuntimeError(f"the linear program (13) ended with: {claim.message}")
    found = named_values(m, form, claim.x)
    alpha = np.clip(claim.duals.rows, 0.0, 1.0)
    alpha[alpha < ON_BOUND] = 0.0
    alpha[alpha > 1 - ON_BOUND] = 1.0
    return Start(found["w"][: len(size)] / size, float(found["b"]), alpha)


def face_start(rows: Rows, side: Sides, size: float, clock: Clock) -> Start | None:
    """Least norm over the face as a QP; its multipliers are those of `FacePoint.mu`.

    v is written as `size` times a variable near 1, or Clarabel stops early where ||v|| is large.
    """
    data = with_a_column(rows.points * size, rows.y)
    m = pyo.ConcreteModel()
    add_hyperplane(m, data, "free")
    m.face = AffineRows(
        m.I,
        signed_score(m, data),
        lower=np.where(side >= 0, 1.0, -np.inf),
        upper=np.where(side <= 0, 1.0, np.inf),
    )
    m.objective = pyo.Objective(expr=0.5 * squares(m.w))
    form = standard_form(m)
    claim = clarabel.run(form, classify(form), Limits(time_limit=clock.left, options=TIGHT_CONIC))
    if claim.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if claim.x is None or claim.duals is None or (clock.out and claim.status is not Status.OPTIMAL):
        return None
    found = named_values(m, form, claim.x)
    v = found["w"][: rows.points.shape[1]] * size
    return Start(v, float(found["b"]), claim.duals.rows * size**2)


AT = 1e-8  # relative: how near H counts as at the limit
EXACT = 1e-8  # relative: width between proven bounds that makes the value proven
STRETCHES = 3  # steps by which a hyperplane may become a rounding longer
FAR = 10.0  # times the limit: how far a least loss is looked for where no proof covers all w


@dataclass(frozen=True, eq=False, repr=False)
class NormLimit(Printed):
    """The largest norm bound that matters.

    value: H_lim as computed, of separable points rounded up to where a loss of 0 is proven; NaN
        where it was not found.
    lower, upper: proven bounds on H_lim; 0 and infinity where there is no proof.
    separable: whether some (w, b) has positive margins at all points: proven by one when True.
    least_loss: E0, the least hinge sum over all (w, b), as computed at (w, b); 0 when separable.
    least_loss_bound: proven lower bound on E0; 0 where there is no better proof.
    w, b (d,): hyperplane of least loss with ||w|| = value.
    alpha (n,): multipliers of (10): F'(y o alpha) = 0 and y'alpha = 0 to rounding, sum alpha = E0.
    gamma_range: g: at H = H_lim all gamma in [0, g] are optimal, and the C-SVM has the solution (w,
        b) from C = 1 / g on. NaN where H_lim is 0 or was not found.
    alpha_at_limit (n,): multipliers at H = H_lim with gamma = g; they prove `lower`.
    proof: what is proven and what is computed only.
    """

    value: float
    lower: float
    upper: float
    separable: bool
    least_loss: float
    least_loss_bound: float
    w: Array
    b: float
    alpha: Array
    gamma_range: float
    alpha_at_limit: Array
    proof: str
    _shown = ("value", "lower", "upper", "proven", "separable", "gamma_range", "proof")

    @property
    def proven(self) -> bool:
        """Whether both bounds are proven and within EXACT of one another."""
        return math.isfinite(self.upper) and self.upper - self.lower <= EXACT * self.upper

    def place(self, norm_bound: float) -> str:
        """Where a norm bound lies: "below", "at" or "above" the limit; "unknown" without one."""
        if math.isnan(self.value):
            return "unknown"
        if abs(norm_bound - self.value) <= AT * self.value:
            return "at"
        return "below" if norm_bound < self.value else "above"


@unweighted_unlike("rsvm")
@reads_dense_points
def norm_limit(data: TrainingData | GramData, *, time_limit: float | None = None) -> NormLimit:
    """Find the least norm over the optimal face of the linear program (13).

    Parameters
    ----------
    data : TrainingData or GramData
        A kernel matrix is taken by its factor.
    time_limit : float, optional
        Seconds. When they are up, what is known is returned, with `value` NaN.

    Returns
    -------
    NormLimit

    Raises
    ------
    ValueError
        time_limit is no positive number.
    RuntimeError
        The linear program did not end at an optimum; in the solver's words.

    Remarks
    -----
    Both ends are proven in exact arithmetic: the lower one by multipliers, the upper one by a
    hyperplane whose loss is exactly what other multipliers prove to be the least. Data that are
    not separable have an upper end up to 149 features, or dimensions of the kernel; beyond that,
    and where features depend on one another to rounding only, it is said to be open.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> limit = tm.theory.norm_limit(data).value
    >>> least = tm.solve(tm.rsvm_relaxed(data)).objective
    >>> abs(tm.solve(tm.rsvm(data, norm_bound=1.01 * limit)).objective - least) < 1e-6
    True
    """
    clock = Clock(checked_limits(time_limit).time_limit)
    rows, proofs = centred_rows(data), Proofs(data)
    found = search(rows, proofs, clock, measured=isinstance(data, TrainingData))
    if found.point is None:
        return _not_found(rows, proofs, found)
    limit = _separable if found.separable else _with_loss
    return limit(rows, proofs, found, found.point)


def _separable(rows: Rows, proofs: Proofs, found: Found, point: FacePoint) -> NormLimit:
    """The hyperplane scaled until every margin is 1."""
    w, c = point.v / rows.scale, point.c
    plane = exact_hyperplane(w, c, rows.centre)
    margin = proofs.least_margin(plane)
    if margin <= 0:  # a point that did not settle: the first one has margins at least
        assert found.start is not None
        w, c = found.start.v / rows.scale, found.start.c
        plane = exact_hyperplane(w, c, rows.centre)
        margin = proofs.least_margin(plane)
    upper = rounded_up(Fraction(plane.norm_above) / margin)
    if not 1 <= margin <= 1 + EXACT:
        w, c = w / float(margin), c / float(margin)
    w, b = _stretched(proofs, w, c - float(w @ rows.centre))
    value = float(np.linalg.norm(w))
    if value < upper <= value * (1 + STRETCH):
        value = upper  # there a hyperplane is proven to lose nothing
    gamma, alpha = multipliers_at_limit(rows, found.alpha, point)
    limit = NormLimit(
        value=value,
        lower=min(value, proofs.norm_below(alpha, Fraction())),
        upper=max(upper, value),
        separable=True,
        least_loss=0.0,
        least_loss_bound=0.0,
        w=w,
        b=b,
        alpha=found.alpha,
        gamma_range=gamma,
        alpha_at_limit=alpha,
        proof="",
    )
    return _in_words(limit)


def _stretched(proofs: Proofs, w: Array, b: float) -> tuple[Array, float]:
    """(w, b) a rounding longer, so that as stored no margin is below 1, where that is enough."""
    longer, short = (w, b), 1 - proofs.least_margin(exact_hyperplane(w, b, 0 * w))
    for _ in range(STRETCHES):
        if short <= 0:
            return longer
        if short > STRETCH:
            break
        factor = 1 + 2 * float(short) + DOUBLE
        longer = longer[0] * factor, longer[1] * factor
        short = 1 - proofs.least_margin(exact_hyperplane(*longer, 0 * w))
    return w, b


def _with_loss(rows: Rows, proofs: Proofs, found: Found, point: FacePoint) -> NormLimit:
    """A least loss above 0, proven where a hyperplane has exactly what multipliers prove."""
    w, c = point.v / rows.scale, point.c
    plane = exact_hyperplane(w, c, rows.centre)
    least = proofs.least_loss(found.alpha)
    upper, loss = _judged(proofs, _candidates(rows, proofs, found, plane, least), least)
    gamma, alpha = multipliers_at_limit(rows, found.alpha, point)
    value = float(np.linalg.norm(w))
    limit = NormLimit(
        value=value,
        lower=min(value, proofs.norm_below(alpha, loss)),
        upper=max(upper, value),
        separable=False,
        least_loss=float(loss),
        least_loss_bound=0.0 if least is None else rounded_down(least),
        w=w,
        b=c - float(w @ rows.centre),
        alpha=found.alpha,
        gamma_range=gamma,
        alpha_at_limit=alpha,
        proof="",
    )
    return _in_words(limit, "" if least is not None else _within(rows, proofs, limit))


def _candidates(
    rows: Rows, proofs: Proofs, found: Found, plane: ExactHyperplane, least: Fraction | None
) -> Iterator[ExactHyperplane]:
    """Hyperplanes that may have exactly the least loss, the likeliest first."""
    assert found.point is not None
    active, touched = found.point.active, found.point.touched
    for members in (touched, active):
        if least is None or (members is active and (active == touched).all()):
            continue
        near = proofs.on_active_rows(plane, members)
        if near is not None:
            yield near
    yield plane
    if found.start is not None:
        yield exact_hyperplane(found.start.v / rows.scale, found.start.c, rows.centre)


def _judged(
    proofs: Proofs, candidates: Iterable[ExactHyperplane], least: Fraction | None
) -> tuple[float, Fraction]:
    """Norm of the first hyperplane whose loss is proven to be the least; the smallest loss."""
    losses = []
    for plane in candidates:
        losses.append(proofs.loss(plane))
        if losses[-1] == least:
            return plane.norm_above, losses[-1]
    return math.inf, min(losses)


def _within(rows: Rows, proofs: Proofs, limit: NormLimit) -> str:
    """What is proven of the least loss where no multipliers prove it at any norm."""
    far = FAR * max(limit.value, 1 / rows.scale)
    least = proofs.loss_within(limit.alpha, far)
    within = f"no hyperplane with ||w|| <= {far:.4g} has a loss below {least:.10g}"
    mass = float(limit.alpha.sum())
    if abs(mass - limit.least_loss) > EXACT * limit.least_loss:
        within += f", and the multipliers add up to {mass:.10g}, not to that loss"
    return within


def _not_found(rows: Rows, proofs: Proofs, found: Found) -> NormLimit:
    """What is known when the time was up before the least norm."""
    w, c = np.zeros(rows.points.shape[1]), 0.0
    if found.start is not None:
        w, c = found.start.v / rows.scale, found.start.c
    least = proofs.least_loss(found.alpha) if found.alpha.any() else None
    loss = Fraction()
    if not found.separable:
        loss = proofs.loss(exact_hyperplane(w, c, rows.centre))
    return NormLimit(
        value=math.nan,
        lower=0.0,
        upper=math.inf,
        separable=found.separable,
        least_loss=rounded_up(loss),
        least_loss_bound=0.0 if least is None else rounded_down(least),
        w=w,
        b=c - float(w @ rows.centre),
        alpha=found.alpha,
        gamma_range=math.nan,
        alpha_at_limit=found.alpha,
        proof="not found: the time limit was reached first",
    )


def _in_words(limit: NormLimit, within: str = "") -> NormLimit:
    """The limit with what its numbers are worth."""
    return replace(limit, proof=_proof(limit, within))


def _proof(limit: NormLimit, within: str) -> str:
    if limit.separable:
        loss = "separable: proven by a hyperplane with positive margins"
    elif limit.least_loss_bound > 0:
        gap = max(0.0, limit.least_loss - limit.least_loss_bound)
        loss = f"not separable: least loss {limit.least_loss:.10g} proven to {gap:.1e}"
    else:
        loss = f"least loss {limit.least_loss:.10g} NOT proven: {within}"
    lower = f"H_lim >= {limit.lower:.10g} proven by multipliers (weak duality)"
    if math.isfinite(limit.upper):
        return f"{loss}; {lower}; H_lim <= {limit.upper:.10g} proven by a hyperplane of least loss"
    return (
        f"{loss}; {lower}; NOT proven from above: {limit.value:.10g} is the norm of a hyperplane "
        "of least loss to rounding"
    )


# --- The rigorous SVM at and above the largest norm bound that matters ---------------------------


AT_ANY_NORM = (
    "least loss at any norm by multipliers of the linear program (10), or weak duality of the "
    "rigorous SVM, recomputed from the data"
)
EXACTLY = {"multipliers in [0, 1] with y'alpha = 0, exactly: by their construction": True}


def rsvm_at_limit(data: TrainingData | GramData, norm_bound: float, limit: NormLimit) -> RsvmPoint:
    """Solution of the rigorous SVM at or above the limit: that of the linear program, gamma = 0.

    norm_bound: H, not below limit.value.
    limit: of the same data.
    Returns: with gamma = 0: what `limit.alpha` leaves of S is rounding, and its proven bound takes
        that into account. Where H is a little below the value, within what counts as at it, the
        multipliers of the limit's other end, gamma = g, may prove more and are kept then.
    Raises ValueError: H is no positive number, or below the limit, or the limit was not found.
    """
    norm_bound = positive("norm_bound", norm_bound)
    place = limit.place(norm_bound)
    if place == "unknown":
        raise ValueError("limit holds no value: norm_limit was stopped before it found one")
    if place == "below":
        raise ValueError(
            f"norm_bound = {norm_bound:g} is below the limit {limit.value:.10g}: gamma > 0 there"
        )
    hyperplane = limit.w, limit.b
    proofs = Proofs(data)

    def point(alpha: Array) -> RsvmPoint:
        """With the best of three proven bounds: that on E0 holds however large H is."""
        made = rsvm_point(data, norm_bound, alpha, hyperplane)
        closer = proofs.loss_within(made.alpha, norm_bound)
        lemma = Lemma(max(closer, limit.least_loss_bound), AT_ANY_NORM, EXACTLY)
        below = by_lemma(made.attained.subject, lemma)
        assert below is not None
        if limit.separable and norm_bound >= limit.upper:
            # Its numbers are fractions; w and b are its nearest doubles.
            words = "a hyperplane of loss 0, exactly, of a norm of at most H"
            made = replace(made, attained=point_by_formula(made.attained.subject, 0.0, 0.0, words))
        return replace(made, below=below) if below.varying > made.bound else made

    found = point(limit.alpha)
    if norm_bound < limit.value:
        other = point(limit.alpha_at_limit)
        if other.gap < found.gap:
            return other
    reach = float(np.linalg.norm(data.factor, axis=1).max(initial=0.0))
    rounding = NOTHING * reach * data.n
    return replace(found, length=0.0) if found.length <= rounding else found
