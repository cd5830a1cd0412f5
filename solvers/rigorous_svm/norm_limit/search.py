"""The search behind norm_limit: least loss first, then the least norm among its hyperplanes.

What the solvers return are guesses: norm_limit recomputes and proves what it says.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tightmargin.formulations.common.hyperplane import add_hyperplane, signed_score
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.modeling.affine_rows import AffineRows, squares
from tightmargin.formulations.rigorous_svm.primal import rsvm_relaxed
from tightmargin.solvers.backends import clarabel, highs
from tightmargin.solvers.canonical_form.classification import classify
from tightmargin.solvers.canonical_form.named_values import named_values
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.rigorous_svm.norm_limit.optimal_face import (
    FacePoint,
    Rows,
    Sides,
    least_on_face,
    sides,
)
from tightmargin.solvers.rigorous_svm.norm_limit.proofs import (
    Proofs,
    exact_hyperplane,
    with_a_column,
)
from tightmargin.solvers.standard_form.standard_form import standard_form

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
CLOSE = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
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

    Attributes
    ----------
    start : Start or None
        The first hyperplane of least loss, or the nearest to one.
    alpha : array (n,)
        Multipliers of (10); zeros where there are none yet, and for separable data.
    separable : bool
        Proven when True.
    point : FacePoint or None
        Hyperplane of least norm; None when the time was up first.
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

    Raises
    ------
    RuntimeError
        HiGHS ended otherwise, in its own words.
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
    claim = clarabel.run(form, classify(form), Limits(time_limit=clock.left, options=CLOSE))
    if claim.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if claim.x is None or claim.duals is None or (clock.out and claim.status is not Status.OPTIMAL):
        return None
    found = named_values(m, form, claim.x)
    v = found["w"][: rows.points.shape[1]] * size
    return Start(v, float(found["b"]), claim.duals.rows * size**2)
