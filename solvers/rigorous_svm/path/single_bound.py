"""The methods for one norm bound of the rigorous SVM, each ending in a point with its proof."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.rigorous_svm.dual import rsvm_dual
from tightmargin.solvers.dispatch import solve
from tightmargin.solvers.errors import RefusedError
from tightmargin.solvers.execution.claim import Status
from tightmargin.solvers.rigorous_svm.decomposition.decomposition import decomposition
from tightmargin.solvers.rigorous_svm.path.interior_point import interior_point
from tightmargin.solvers.rigorous_svm.path.libsvm_fits import FITS, by_fits, labels_of
from tightmargin.solvers.rigorous_svm.path.scaled_problem import Scaled
from tightmargin.solvers.rigorous_svm.path.segment_newton import CAPPED, FREE, ZERO, Labels, follow
from tightmargin.solvers.rigorous_svm.point import RsvmPoint, rsvm_point

NEAR = 1e-7  # of the box: multipliers of a start this near its ends are there


@dataclass(frozen=True, eq=False)
class Task:
    """One norm bound of one problem.

    Attributes
    ----------
    data : TrainingData or GramData
    problem : Scaled
        Of the data.
    norm_bound : float
        H, in the units of the data.
    deadline : float or None
        Of time.perf_counter().
    fits : int
        Fits of libsvm at most.
    """

    data: TrainingData | GramData
    problem: Scaled
    norm_bound: float
    deadline: float | None = None
    fits: int = FITS

    @property
    def H(self) -> float:  # noqa: N802
        """H on the scale of the problem."""
        return self.problem.bound(self.norm_bound)

    @property
    def seconds_left(self) -> float | None:
        """Until the deadline; at least a millisecond, which solvers take for a limit."""
        if self.deadline is None:
            return None
        return max(self.deadline - time.perf_counter(), 1e-3)

    def is_over(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.perf_counter() > self.deadline

    def point(self, alpha: Array, w: Array, b: float) -> RsvmPoint:
        """Point of multipliers and a hyperplane on the scale of the problem."""
        hyperplane = self.problem.hyperplane(w, b)
        return rsvm_point(self.data, self.norm_bound, alpha, hyperplane)


@dataclass(frozen=True, eq=False)
class PointFound:
    """What a method found.

    Attributes
    ----------
    point : RsvmPoint or None
    steps : int
        Fits, linear systems, iterations or pairs.
    settled : bool
        H seems to be at or above the limit.
    said : str
        What a solver said when it failed.
    """

    point: RsvmPoint | None
    steps: int
    settled: bool = False
    said: str = ""


def certified(point: RsvmPoint | None) -> bool:
    """Whether there is a point, and nothing is left to look for."""
    return point is not None and point.settled


def better(first: RsvmPoint, second: RsvmPoint) -> RsvmPoint:
    """The point with the smaller gap."""
    return first if first.gap <= second.gap else second


def by_segments(task: Task, start: Array | None, patient: bool = False) -> PointFound:
    """Follow the partition of a start; failing that, partitions of fits by libsvm."""
    problem, steps, gamma = task.problem, 0, None
    if start is not None:
        gamma = _length(problem, start) / task.H or None
    if start is not None and gamma is not None:
        found = follow(problem, task.H, labels_of(start, NEAR), gamma, task.deadline)
        if found is not None:
            return PointFound(task.point(found.alpha, found.w, found.b), found.rounds)
        steps = 1
    fits = by_fits(problem, task.H, gamma, task.deadline, patient, task.fits)
    if fits.found is not None:
        found = fits.found
        return PointFound(task.point(found.alpha, found.w, found.b), steps + fits.count)
    last = rsvm_point(task.data, task.norm_bound, fits.alpha)
    return PointFound(last, steps + fits.count, fits.settled)


def _length(problem: Scaled, alpha: Array) -> float:
    return float(np.linalg.norm(problem.factor.T @ (problem.y * alpha)))


def by_interior(task: Task) -> PointFound:
    """Interior-point iterate, made exact by its partition where that is the right one."""
    at = interior_point(task.problem, task.H, task.deadline)
    point = task.point(at.alpha, at.v * task.H, at.b)
    gamma = at.multiplier / task.H**2
    return PointFound(_polished(task, point, at.labels, gamma), at.steps)


def by_socp(task: Task) -> PointFound:
    """Dual second-order cone program (12) by Clarabel, made exact by its partition."""
    model = rsvm_dual(task.data, norm_bound=task.norm_bound)
    try:
        result = solve(model, "clarabel", time_limit=task.seconds_left)
    except RefusedError as refusal:
        return PointFound(None, 0, said=str(refusal))
    said = "interrupted" if result.status is Status.INTERRUPTED else result.message
    if not {"weight", "balance"} <= set(result.duals):
        return PointFound(None, 1, said=said)
    alpha = np.asarray(result.values["alpha"])
    w, b = -np.asarray(result.duals["weight"]), -float(result.duals["balance"])
    point = rsvm_point(task.data, task.norm_bound, alpha, (w, b))
    gamma = _length(task.problem, point.alpha) / task.H
    if gamma > 0:
        margins = task.data.y * (task.data.factor @ w + b)
        inner = np.where(1 - alpha < 1 - margins, CAPPED, FREE)
        labels = np.where(alpha < margins - 1, ZERO, inner).astype(np.int8)
        point = _polished(task, point, labels, gamma)
    return PointFound(point, 1, said=said)


def _polished(task: Task, point: RsvmPoint, labels: Labels, gamma: float) -> RsvmPoint:
    """The exact point of a partition, where it closes the gap further."""
    exact = follow(task.problem, task.H, labels, gamma, task.deadline)
    if exact is None:
        return point
    return better(task.point(exact.alpha, exact.w, exact.b), point)


def by_decomposition(task: Task, start: Array | None) -> PointFound:
    """Pairs of variables by (19)-(21), see decomposition.py."""
    found = decomposition(
        task.data,
        norm_bound=task.norm_bound,
        start=start,
        time_limit=task.seconds_left,
    )
    return PointFound(found.point, found.steps, said=found.message or str(found.stop))
