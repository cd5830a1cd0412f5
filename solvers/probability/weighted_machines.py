"""Weighted machines for several values of pi, by three methods that end in the same proof.

    min  ridge ||w||^2 + (1/n) [(1 - pi) sum_{y_i = 1} xi_i + pi sum_{y_i = -1} xi_i]     Lee (10)

is 2 ridge times F(c) of hinge/batch.py, c_i = (1 - pi or pi) / (2 ridge n): machines of a
whole grid differ in c alone and go through the interior point method together. Kernels of many
points are faster one by one in libsvm. The entry weighted_svc, re-solved in place with its Param
pi, is what both are checked against, and the way out where a gap stays open. Whoever finds (w, b),
its value is computed here from the data, and the bound from multipliers by weak duality.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from tightmargin.formulations.common.hyperplane import norm_of
from tightmargin.formulations.common.margin_levels import hinge_intercept
from tightmargin.formulations.common.rounding import (
    OUTWARD,
    ROUNDOFF,
    excess,
    growth,
    most_hinge,
    most_squares,
    score_errors,
    summed_up,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.svc.soft_margin import weighted_svc
from tightmargin.solvers.hinge.batch import bounding_lemmas, hinge_machines
from tightmargin.solvers.kernel.statement import (
    FeasiblePoint,
    LowerBound,
    by_lemma,
    closes,
    point_by_formula,
)
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.searches import CatalogueModel, Proven
from tightmargin.solvers.solve import solve

INTERIOR, LIBSVM, MODEL = "interior", "libsvm", "model"
METHODS = ("auto", INTERIOR, LIBSVM, MODEL)

WORK = 1e8  # n k^2 of the machines that go together, so that Ctrl-C never loses much
MEMORY = 2e7  # n k of them: numbers that are held at once
ITERATIONS = 200_000  # of libsvm
OF_MODEL = "the bound that the certificate of the entry weighted_svc proves"
OF_CERTIFICATE = {"the model is this machine, and its bound a proof, not a solver's word": True}
TOLERANCE = 1e-7  # of libsvm: much below, it may go round in circles


@dataclass(frozen=True, eq=False, repr=False)
class WeightedMachine(Proven):
    """The weighted machine at one value of pi.

    w, b (d,): in the coordinates of the factor of the data; b is 0 without an intercept.
    objective: ridge ||w||^2 plus the weighted mean hinge loss, recomputed from (w, b).
    attained, below: proofs of the objective and of the bound; None of a machine that was read from
        a file, but for its objective where the data is at hand.
    method: "interior", "libsvm" or "model".
    seconds: its share of what it was solved in.
    claimed: the bound that a file states.
    about: the model of the machine.
    """

    pi: float
    w: Array
    b: float
    objective: float
    attained: FeasiblePoint | None
    below: LowerBound | None
    method: str
    seconds: float
    claimed: float | None = None
    about: CatalogueModel | None = field(default=None, repr=False)

    @property
    def gap(self) -> float:
        """objective - bound, or what a file states to be one; at least 0."""
        lower = self.bound if self.claimed is None else max(self.bound, self.claimed)
        return max(0.0, self.objective - lower)

    @property
    def verdict(self) -> Verdict:
        """That of the proofs; SOLVER_BOUND where a file says that there was one."""
        found = super().verdict
        if found is Verdict.NOT_CERTIFIED and closes(self.objective, self.claimed):
            return Verdict.SOLVER_BOUND
        return found

    @property
    def stop(self) -> str:
        """Empty: there is nothing to say but the gap."""
        return ""


@dataclass(frozen=True, eq=False)
class Problem:
    """The family of weighted machines on one data set."""

    data: TrainingData | GramData
    ridge: float
    intercept: str

    def weights(self, pi: float) -> Array:
        """Weight of each point (n,): 1 - pi for label +1, pi for label -1."""
        return np.where(self.data.y > 0, 1 - pi, pi)

    def caps(self, pis: Array) -> Array:
        """c of hinge/batch.py, (B, n)."""
        weights = np.array([self.weights(pi) for pi in pis.tolist()])
        found: Array = weights / (2 * self.ridge * self.data.n)
        return found

    @cached_property
    def rows(self) -> Array:
        """y_i (f_i, 1), or y_i f_i without an intercept, (n, k)."""
        points = self.data.factor
        if self.intercept != "none":
            points = np.hstack([points, np.ones((self.data.n, 1))])
        found: Array = self.data.y[:, None] * points
        return found

    @property
    def price(self) -> Array:
        """1 for each column of `rows` whose weight counts in the norm, and 0 for a free b."""
        price = np.ones(self.data.d + (self.intercept != "none"))
        price[-1] = 0.0 if self.intercept == "free" else 1.0
        return price

    def reach(self, caps: Array) -> float:
        """A bound on |b| at an optimum.

        w = 0, b = +-1 costs at most twice the caps of the smaller side, which bounds ||w||^2 / 2,
        and b is a breakpoint y_i - <w, f_i>.
        """
        positive = self.data.y > 0
        most = 2 * np.minimum(caps[:, positive].sum(axis=1), caps[:, ~positive].sum(axis=1)).max()
        far = math.sqrt(float((self.data.factor**2).sum(axis=1).max()))
        return OUTWARD + OUTWARD * far * math.sqrt(2 * float(most))

    def subject(self, pi: float) -> tuple[str, str, float, str, float]:
        """What proofs of the machine at pi speak of, in the coordinates of the factor."""
        return "weighted_svc", self.data.sha256, self.ridge, self.intercept, pi

    def lemma(self, of_caps: Lemma) -> Lemma:
        """A lower bound on F(c), whose c is rounded, as one on the objective.

        F is concave in c, 0 at 0, and rises: F(t c) <= t F(c) for t >= 1, which is what c may be
        larger by.
        """
        value = 2 * self.ridge * of_caps.value
        return replace(of_caps, value=value - 16 * ROUNDOFF * abs(value))

    def machine(
        self, pi: float, w: Array, b: float, lemma: Lemma | None, method: str, seconds: float
    ) -> WeightedMachine:
        """The machine of a hyperplane; a free b moves to where it costs least for this w.

        Where every point of an interval is such an intercept, it is the middle.
        """
        if self.intercept == "free":
            b = hinge_intercept(self.data.factor @ w, self.data.y, self.weights(pi))
        value, below = self.value(pi, w, b), by_lemma(self.subject(pi), lemma)
        attained = self.attained(pi, w, b, value)
        words = {"ridge": self.ridge, "pi": pi, "intercept": self.intercept}
        about = CatalogueModel("weighted_svc", self.data, words)
        return WeightedMachine(pi, w, b, value, attained, below, method, seconds, about=about)

    def attained(self, pi: float, w: Array, b: float, value: float) -> FeasiblePoint:
        """The objective rounded up, every rounding counted."""
        points = self.data.factor
        u, errors = self.data.y * (points @ w + b), score_errors(points, w, b)
        loss = summed_up(self.weights(pi), most_hinge(u, errors)) / self.data.n
        norm = most_squares(np.append(w, b) if self.intercept == "penalised" else w)
        most = (self.ridge * norm + loss) * (1 + OUTWARD * growth(6))
        words = "slacks from their formula"
        return point_by_formula(self.subject(pi), value, excess(most, value), words)

    def value(self, pi: float, w: Array, b: float) -> float:
        """ridge ||w||^2 plus the weighted mean hinge loss."""
        u = self.data.y * (self.data.factor @ w + b)
        loss = float(self.weights(pi) @ np.maximum(0.0, 1 - u)) / self.data.n
        return self.ridge * norm_of(w, b, self.intercept) + loss


def machines(
    problem: Problem, pis: Array, method: str, time_limit: float | None
) -> Iterator[list[WeightedMachine]]:
    """Machines by rising pi, as many together as were solved together; see METHODS."""
    size = problem.data.n * (problem.data.d + 1)
    work = size * (problem.data.d + 1)
    if method == "auto":
        method = INTERIOR if work <= WORK or problem.intercept != "free" else LIBSVM
    model = _Model(problem)
    together = max(1, int(min(WORK / work, MEMORY / size))) if method == INTERIOR else 1
    for first in range(0, len(pis), together):
        batch = pis[first : first + together]
        if method == MODEL:
            yield [model.solved(float(batch[0]), time_limit)]
        elif method == LIBSVM:
            yield [model.better(_by_libsvm(problem, float(batch[0])), time_limit)]
        else:
            found = _interior(problem, batch, time_limit)
            yield [model.better(machine, time_limit) for machine in found]


def _interior(problem: Problem, pis: Array, time_limit: float | None) -> list[WeightedMachine]:
    start = time.perf_counter()
    caps = problem.caps(pis)
    found = hinge_machines(
        problem.rows, problem.price, caps, problem.reach(caps),
        None if time_limit is None else start + time_limit * len(pis),
    )  # fmt: skip
    seconds = (time.perf_counter() - start) / len(pis)
    return [
        problem.machine(pi, *_split(problem, v), problem.lemma(lemma), INTERIOR, seconds)
        for pi, v, lemma in zip(pis.tolist(), found.v, found.lemmas, strict=True)
    ]


def _split(problem: Problem, v: Array) -> tuple[Array, float]:
    return (v, 0.0) if problem.intercept == "none" else (v[:-1].copy(), float(v[-1]))


def _by_libsvm(problem: Problem, pi: float) -> WeightedMachine:
    """One machine with a free intercept, the only one libsvm has."""
    from sklearn.svm import SVC

    start = time.perf_counter()
    caps = problem.caps(np.array([pi]))
    rows, y = problem.rows, problem.data.y
    points = problem.data.factor
    kernel = points if len(points) > points.shape[1] else points @ points.T
    machine = SVC(
        C=1.0, kernel="linear" if kernel is points else "precomputed", tol=TOLERANCE,
        cache_size=500, max_iter=ITERATIONS,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of max_iter: the gap tells how good the end is
        machine.fit(kernel, y, sample_weight=caps[0])
    alpha = np.zeros(problem.data.n)
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    w = points.T @ (y * alpha)
    (lemma,) = bounding_lemmas(rows, problem.price, caps, alpha[None, :], problem.reach(caps))
    seconds = time.perf_counter() - start
    b = float(machine.intercept_[0])
    return problem.machine(pi, w, b, problem.lemma(lemma), LIBSVM, seconds)


class _Model:
    """The entry weighted_svc, built once and re-solved in place."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._model: Any = None

    def solved(self, pi: float, time_limit: float | None) -> WeightedMachine:
        """The machine at pi.

        Raises KeyboardInterrupt: after Ctrl-C, as a machine that was left half-way is none.
        """
        problem, start = self.problem, time.perf_counter()
        if self._model is None:
            self._model = weighted_svc(
                problem.data.points, ridge=problem.ridge, pi=pi, intercept=problem.intercept
            )
        self._model.pi.set_value(pi)
        result = solve(self._model, time_limit=time_limit)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        w = np.asarray(result.values.get("w", np.zeros(problem.data.d)))
        b = float(result.values.get("b", 0.0))
        lemma = None if result.bound is None else Lemma(result.bound, OF_MODEL, OF_CERTIFICATE)
        return problem.machine(pi, w, b, lemma, MODEL, time.perf_counter() - start)

    def better(self, machine: WeightedMachine, time_limit: float | None) -> WeightedMachine:
        """The machine; where it is not proven, the better of it and the model's, in time left."""
        left = None if time_limit is None else time_limit - machine.seconds
        if machine.verdict is Verdict.CERTIFIED or (left is not None and left <= 0):
            return machine
        other = self.solved(machine.pi, left)
        return replace(
            min(machine, other, key=lambda found: found.upper),
            below=max(machine, other, key=lambda found: found.bound).below,
            seconds=machine.seconds + other.seconds,
        )
