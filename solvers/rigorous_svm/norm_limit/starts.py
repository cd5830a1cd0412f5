"""Solves that h_limit starts from: libsvm, the linear program (13), and the face as a model.

What they return are guesses: h_limit recomputes and proves what it says.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from tightmargin.formulations.common.hyperplane import add_hyperplane, signed_score
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.modeling.affine_rows import AffineRows, squares
from tightmargin.formulations.rigorous_svm.primal import rsvm_relaxed
from tightmargin.solvers.backends import clarabel, highs
from tightmargin.solvers.canonical_form.classification import classify
from tightmargin.solvers.canonical_form.named_values import named_values
from tightmargin.solvers.execution.limits import Limits
from tightmargin.solvers.result import Status
from tightmargin.solvers.rigorous_svm.norm_limit.centred_rows import Rows
from tightmargin.solvers.standard_form.standard_form import standard_form

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


@dataclass(frozen=True, eq=False)
class Start:
    """A hyperplane and multipliers of the margin rows."""

    v: Array
    c: float
    alpha: Array


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


def hard_start(points: Array, y: Array) -> Start:
    """libsvm with a large C and a limit on its steps: cheap, whether it succeeds or not.

    The multipliers are those of its own problem, at least 0 and at most HARD_COST.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    machine = SVC(C=HARD_COST, kernel="linear", tol=1e-7, max_iter=LIBSVM_STEPS, cache_size=500)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(points, y)
    beta = np.zeros(len(y))
    beta[machine.support_] = machine.dual_coef_[0] * np.sign(machine.classes_[1])
    return Start(points.T @ beta, float(machine.intercept_[0]), y * beta)


def least_loss_start(rows: Rows, clock: Clock) -> Start | None:
    """Solution of (13) with multipliers; None when the time was up first.

    E0 and alpha do not depend on the scale of a column: features are scaled to 1.

    Raises
    ------
    RuntimeError
        HiGHS ended otherwise, in its own words.
    """
    points = rows.points
    size = np.abs(points).max(axis=0) if rows.measured else np.ones(points.shape[1])
    size[size == 0] = 1.0
    scaled = points / size
    scaled[np.abs(scaled) < SMALLEST] = 0.0
    data = _data(scaled, rows.y)
    m = rsvm_relaxed(data)
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


def face_start(
    points: Array, y: Array, side: NDArray[np.int8], size: float, clock: Clock
) -> Start | None:
    """Least norm over the face as a QP; its multipliers are those of `FacePoint.mu`.

    v is written as `size` times a variable near 1, or Clarabel stops early where ||v|| is large.
    """
    data = _data(points * size, y)
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
    return Start(
        found["w"][: points.shape[1]] * size, float(found["b"]), claim.duals.rows * size**2
    )


def _data(points: Array, y: Array) -> TrainingData:
    """Points as data of a model, which have at least one column."""
    return TrainingData(points if points.shape[1] else np.zeros((len(y), 1)), y)
