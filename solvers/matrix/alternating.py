"""Good matrices of bounded rank by turns: one factor of B = U V' is held, the other is optimal.

With orthonormal columns of U the norm of B is that of V, and the best V and b are a plain hinge
machine on the predictors U'X_i; then the columns of V are made orthonormal by a QR factorisation
and the best U is one on X_i V. Every step starts from what the one before found, so the objective
never rises. Where it ends depends on the start, and may be no local minimum even: the losses have
corners. What comes out is an upper bound on matrix_svc_bilinear and nothing more.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.data.training_data import TrainingData, reads_dense_points
from tightmargin.formulations.matrix.matrix_svc import bounded_objective, matrix_point
from tightmargin.formulations.matrix.shapes import (
    Shape,
    checked_rank,
    checked_shape,
    nearest_of_rank,
)
from tightmargin.formulations.parameters import INTERCEPTS, one_of, positive
from tightmargin.number_words import count_text
from tightmargin.printing import Page, Printed
from tightmargin.solvers.engines.running import StopReason, deriving_time, live_line
from tightmargin.solvers.hinge.batch import hinge_machines
from tightmargin.solvers.result import search_page
from tightmargin.solvers.tables import Framed

SWEEPS = 100
SETTLED = 1e-7  # relative decrease in a sweep below which a start has ended
INCUMBENT_STARTS = 3


@dataclass(frozen=True, eq=False, repr=False)
class MatrixStart(Printed):
    """Where one start ended.

    w (m n,): B row by row, of the bounded rank.
    trace: objective after the start and after every machine solved; it never rises.
    converged: false where the number of sweeps, the clock or Ctrl-C ended it.
    """

    w: Array
    b: float
    objective: float
    trace: tuple[float, ...]
    converged: bool


@dataclass(frozen=True, eq=False, repr=False)
class MatrixAlternating(Framed):
    """The best of several starts: an upper bound, with no proof that it is the optimum.

    w, b, objective: of the best start.
    solutions: one for each start that was begun, in their order.
    stop: "finished", "time_limit" or "interrupted".
    """

    w: Array
    b: float
    objective: float
    solutions: tuple[MatrixStart, ...]
    seed: int
    stop: StopReason
    _table = "solutions"

    def _page(self) -> Page:
        return search_page(
            f"MatrixAlternating: {count_text(len(self.w), 'entry', 'entries')} of bounded rank",
            self.objective,
            None,
            ended=str(self.stop),
            effort=count_text(len(self.solutions), "start"),
            parts=".w, .b, .solutions, .to_frame()",
        )

    @property
    def steps(self) -> int:
        """Machines solved in all."""
        return sum(len(found.trace) - 1 for found in self.solutions)


@unweighted_unlike("matrix_svc_bilinear")
@reads_dense_points
def matrix_alternating(
    data: TrainingData,
    *,
    ridge: float,
    shape: Shape,
    rank: int,
    starts: int = 10,
    seed: int = 0,
    time_limit: float | None = None,
    intercept: str = "free",
) -> MatrixAlternating:
    """Best matrix of bounded rank from several starts, for the objective of matrix_svc_bilinear.

        min   sum_i [1 - y_i (<X_i, B> + b)]_+ + ridge/2 ||B||_F^2,    rank(B) <= rank

    Parameters
    ----------
    data : TrainingData
        Points and labels.
    ridge : float
        Price of half the squared norm, positive.
    shape, rank
        As for matrix_svc_bilinear.
    starts : int
        How many: the optimum of any rank cut down to this one, then random factors by `seed`.
    seed : int
        Of the random factors.
    time_limit : float, optional
        Seconds; the best point so far is kept, as after Ctrl-C once there is one.
    intercept : "free", "penalised" or "none"
        As for matrix_svc_bilinear.

    Raises
    ------
    ValueError
        A bad hyperparameter, no start, a time limit that is not positive.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=10, d=4, sigma=0.5, seed=1)
    >>> found = tm.search.matrix_alternating(data, ridge=0.5, shape=(2, 2), rank=1, starts=2)
    >>> found.objective >= tm.search.matrix_search(data, ridge=0.5, shape=(2, 2), rank=1).bound
    True
    """
    size = checked_shape(shape, data.d)
    r = checked_rank(rank, *size)
    one_of("intercept", intercept, INTERCEPTS)
    if isinstance(starts, bool) or not isinstance(starts, int | np.integer) or starts < 1:
        raise ValueError(f"starts must be a whole number of at least 1, got {starts!r}")
    deadline = None
    if time_limit is not None:
        deadline = time.perf_counter() + positive("time_limit", time_limit)
    search = _Alternation(data, positive("ridge", ridge), size, r, intercept, deadline)
    solutions: list[MatrixStart] = []
    stop = StopReason.FINISHED
    rng = np.random.default_rng(seed)
    with live_line("alternating search") as line:
        while stop == StopReason.FINISHED and len(solutions) < starts:
            try:
                solutions.append(
                    search.from_factor(
                        search.full_factor() if not solutions else rng.standard_normal((size[0], r))
                    )
                )
            except KeyboardInterrupt:
                if not solutions:
                    raise
                stop = StopReason.INTERRUPTED
            else:
                stop = StopReason.TIME_LIMIT if search.late() else StopReason.FINISHED
            if line.is_due:
                least = min(found.objective for found in solutions)
                line.show(None, least, f"{len(solutions)} of {starts} starts")
    best = min(solutions, key=lambda found: found.objective)
    done = len(solutions) == starts and solutions[-1].converged
    return MatrixAlternating(
        best.w,
        best.b,
        best.objective,
        tuple(solutions),
        seed,
        StopReason.FINISHED if done else stop,
    )


@unweighted_unlike("matrix_svc_bilinear")
def matrix_incumbent(data: TrainingData, parameters: Mapping[str, Any]) -> tuple[Array, float]:
    """A known point (w, b) for matrix_svc_bilinear with these hyperparameters, from few starts."""
    words = {word: parameters[word] for word in ("ridge", "shape", "rank")}
    intercept = parameters.get("intercept", "free")
    words |= {"intercept": intercept, "time_limit": deriving_time()}
    found = matrix_alternating(data, **words, starts=INCUMBENT_STARTS)
    return found.w, found.b


@dataclass(frozen=True, eq=False)
class _Alternation:
    data: TrainingData
    ridge: float
    size: tuple[int, int]
    rank: int
    intercept: str
    deadline: float | None

    def late(self) -> bool:
        return self.deadline is not None and time.perf_counter() > self.deadline

    def full_factor(self) -> Array:
        """Leading left singular vectors (m, r) of the optimum of any rank."""
        w, _ = self._machine(self.data.X)
        return np.linalg.svd(np.reshape(w, self.size))[0][:, : self.rank]

    def from_factor(self, factor: Array) -> MatrixStart:
        """Alternate until a sweep gains nothing, from some U."""
        predictors = np.reshape(self.data.X, (self.data.n, *self.size))
        w, b = np.zeros(self.data.d), 0.0
        trace = [self._objective(w, b)]
        U, converged = np.linalg.qr(factor)[0], False
        for _ in range(SWEEPS):
            before = trace[-1]
            V, b_now = self._machine(np.einsum("pk,ipq->ikq", U, predictors))
            V = np.reshape(V, (self.rank, -1)).T
            w, b = self._keep(trace, (U @ V.T).ravel(), b_now, w, b)
            V = np.linalg.qr(V)[0]
            U_now, b_now = self._machine(np.einsum("ipq,qk->ipk", predictors, V))
            U_now = np.reshape(U_now, (-1, self.rank))
            w, b = self._keep(trace, (U_now @ V.T).ravel(), b_now, w, b)
            U = np.linalg.qr(U_now)[0]
            if before - trace[-1] <= SETTLED * max(1.0, abs(before)):
                converged = True
                break
            if self.late():
                break
        w = nearest_of_rank(w, *self.size, self.rank)  # rounding in the product
        found = matrix_point(self.data, w, b, self.size, self.intercept)
        return MatrixStart(w, found.b, self._objective(w, found.b), tuple(trace), converged)

    def _keep(
        self, trace: list[float], w: Array, b: float, old: Array, old_b: float
    ) -> tuple[Array, float]:
        """The new point, unless rounding made it worse."""
        value = self._objective(w, b)
        if value >= trace[-1]:
            trace.append(trace[-1])
            return old, old_b
        trace.append(value)
        return w, b

    def _objective(self, w: Array, b: float) -> float:
        return bounded_objective(self.data, w, b, self.ridge, self.size, self.intercept)

    def _machine(self, points: Array) -> tuple[Array, float]:
        return machine(points, self.data.y, self.ridge, self.intercept)


def machine(points: Array, y: Array, ridge: float, intercept: str) -> tuple[Array, float]:
    """Weights and intercept that minimise 1/2 ||v||^2 + 1/ridge sum of losses.

    points: everything but the first axis is flattened.
    """
    points = np.reshape(points, (len(y), -1))
    rows = y[:, None] * points
    price = np.ones(rows.shape[1])
    if intercept != "none":
        rows = np.column_stack([rows, y])
        price = np.append(price, 0.0 if intercept == "free" else 1.0)
    # 1/2 ||v||^2 is at most the loss of v = 0, and some point has u_i = 1 at an optimum.
    longest = float(np.linalg.norm(points, axis=1).max())
    reach = 2 + np.sqrt(4 * len(y) / ridge) * longest
    v = hinge_machines(rows, price, np.full((1, len(y)), 1 / ridge), reach).v[0]
    return (v, 0.0) if intercept == "none" else (v[:-1], float(v[-1]))


def fixed_columns(
    data: TrainingData, predictors: Array, U: Array, ridge: float, intercept: str
) -> tuple[Array, float]:
    """The best B (flat) with columns in the span of U (m, r), U'U = I, and its intercept.

    predictors (N, m, n).
    """
    V, b = machine(np.einsum("pk,ipq->ikq", U, predictors), data.y, ridge, intercept)
    return (U @ np.reshape(V, (U.shape[1], -1))).ravel(), b
