"""Stochastic gradient descent on the soft margin without an intercept: a witness to learn from.

Lee 2020, Algorithms 3 (points) and 4 (kernel matrix), corrected. It proves nothing by itself; the
draws make multipliers, and those prove a bound.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.dense_points import reads_dense_points
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import one_of, positive
from tightmargin.number_words import count_text
from tightmargin.printing import Page, Printed
from tightmargin.solvers.execution.limits import checked_limits
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.printing.results import search_page
from tightmargin.solvers.printing.tables import Framed
from tightmargin.solvers.soft_margin.sgd_rate import RULES, checked_steps
from tightmargin.solvers.soft_margin.sgd_steps import Walk, walk_on

AVERAGES = ("all", "last")
BLOCK = 4096  # steps between two looks at the clock
MARKS = 25  # places of the trace, evenly spaced in the logarithm


@dataclass(frozen=True, repr=False)
class SgdPoint(Printed):
    """Where a run stands: f of its iterate, and the best bound on the optimum so far."""

    steps: int
    objective: float
    bound: float


@dataclass(frozen=True, eq=False, repr=False)
class Sgd(Framed):
    """A run of stochastic gradient descent.

    Attributes
    ----------
    w : array (d,)
        The averaged iterate (or the last one) in the coordinates of `data.factor`.
    coefficients : array (n,)
        The same as w = sum_i coefficients_i psi(x_i), the alpha-bar of Algorithm 4.
    objective : float
        ridge ||w||^2 + mean hinge loss at w.
    alpha : array (n,)
        Multipliers in [0, 1/n] of the margin rows, made of the draws.
    bound : float
        Their dual value, a proven bound on the optimum.
    trace : tuple of SgdPoint
        At about evenly spaced logarithms of the step, the last one at the end.
    steps : int
        Taken; fewer than asked for after a time limit or Ctrl-C.
    stop : StopReason
        FINISHED after all steps, TIME_LIMIT or INTERRUPTED.
    """

    w: Array
    coefficients: Array
    objective: float
    alpha: Array
    bound: float
    trace: tuple[SgdPoint, ...]
    steps: int
    stop: StopReason

    def _page(self) -> Page:
        return search_page(
            f"Sgd: soft margin, {count_text(len(self.alpha), 'point')}",
            self.objective,
            self.bound,
            ended=str(self.stop),
            effort=count_text(self.steps, "step"),
            parts=".w, .coefficients, .trace, .to_frame()",
        )

    @property
    def gap(self) -> float:
        """objective - bound, at least 0."""
        return max(0.0, self.objective - self.bound)


@unweighted_unlike("soft_margin_svc")
@reads_dense_points
def sgd(
    data: TrainingData | GramData,
    *,
    ridge: float,
    steps: int,
    seed: int,
    average: str = "all",
    rule: str = "printed",
    time_limit: float | None = None,
) -> Sgd:
    """Minimise ridge ||w||^2 + (1/n) sum_i [1 - y_i <w, x_i>]_+ by random points, one at a time.

    With lambda = 2 ridge, theta_1 = 0 and i uniform in every step t = 1 to T,

        w_t = theta_t / (lambda t)
        theta_{t+1} = theta_t + y_i x_i  where  y_i <w_t, x_i> < 1,  otherwise theta_t

    and w is the mean of w_1 to w_T. On a kernel matrix theta_t = sum_j beta_j psi(x_j), and only
    entry i of beta moves, by y_i (Algorithm 4). Same draws, same iterates.

    A draw j of point i that moved theta weighs h_j = (1/T) sum_{t > j} 1/t in w, so that
    w = sum_i a_i y_i x_i / lambda with a_i the sum of h_j over those draws: multipliers but for
    the cap 1/n, which they keep in the mean only. Divided by n times the same sum over all draws
    of i they keep it always; the better of that and the clipped a_i bounds the optimum.

    Corrected: the paper minimises lambda/2 ||w||^2 here and lambda ||w||^2 in (5), theta_1 = 0 and
    the left sides of two assignments are missing, the test on w^(j) lacks y, beta starts at index
    0, all of beta moves, and the output has alpha for alpha-bar. Its text has
    w_t = theta_t / (lambda (t - 1)), `rule="update"`, and Algorithm 3 lambda t, "printed": gradient
    steps of sizes 1 / (lambda t) and 1 / (lambda (t + 1)), see sgd_rate.py.

    Parameters
    ----------
    data : TrainingData or GramData
        Points for Algorithm 3, a kernel matrix for Algorithm 4.
    ridge : float
        As in soft_margin_svc.
    steps : int
        T.
    seed : int
        Of the draws; the same seed gives the same result.
    average : str
        "all" for the mean of all iterates, "last" for w_T alone, of which no rate is stated.
    rule : str
        "printed" or "update".
    time_limit : float, optional
        Seconds; the iterate reached by then is returned, as after Ctrl-C.

    Returns
    -------
    Sgd

    Raises
    ------
    ValueError
        A bad ridge, steps, seed, average, rule or time_limit.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.search.sgd(data, ridge=0.1, steps=500, seed=0)
    >>> found.bound <= tm.solve(tm.soft_margin_svc(data, ridge=0.1, intercept="none")).objective
    True
    """
    if not isinstance(data, TrainingData | GramData):
        raise TypeError(f"sgd takes TrainingData or GramData, got {type(data).__name__}")
    ridge, total = positive("ridge", ridge), checked_steps(steps)
    one_of("average", average, AVERAGES)
    one_of("rule", rule, RULES)
    limits = checked_limits(time_limit, None, seed)
    if limits.seed is None:
        raise ValueError("seed must be a whole number: nothing is drawn that cannot be drawn again")
    run = _Run(data, ridge, average, walk_on(data, 2 * ridge, rule, limits.seed))
    end = np.inf if limits.time_limit is None else time.perf_counter() + limits.time_limit
    stop = StopReason.FINISHED
    try:
        for size, marked in _blocks(total):
            run.walk.advance(size)
            if marked:
                run.mark()
            if run.walk.steps < total and time.perf_counter() > end:
                stop = StopReason.TIME_LIMIT
                break
    except KeyboardInterrupt:
        stop = StopReason.INTERRUPTED
    return run.ended(stop)


def _blocks(total: int) -> Iterator[tuple[int, bool]]:
    """Sizes of the blocks of steps, and whether the trace has a point after each."""
    done = 0
    for mark in np.unique(np.round(np.geomspace(1, total, MARKS)).astype(np.int64)).tolist():
        while done < mark:
            size = min(BLOCK, mark - done)
            done += size
            yield size, done == mark


@dataclass(eq=False)
class _Run:
    """A walk with its trace and the best multipliers so far."""

    data: TrainingData | GramData
    ridge: float
    average: str
    walk: Walk
    alpha: Array = field(init=False)
    bound: float = 0.0
    trace: list[SgdPoint] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.alpha = np.zeros(self.data.n)  # proves that no loss is negative

    def mark(self) -> None:
        """Look at the iterate and at the multipliers, and write both down."""
        n, (moved, drawn) = self.data.n, self.walk.weights()
        shares = np.divide(moved, n * drawn, out=np.zeros(n), where=drawn > 0)
        for alpha in (np.clip(moved, 0.0, 1 / n), np.clip(shares, 0.0, 1 / n)):
            value = _dual_at_least(self.data, self.ridge, alpha)
            if value > self.bound:
                self.alpha, self.bound = alpha, value
        w, _ = self.iterate()
        here = SgdPoint(self.walk.steps, _objective(self.data, self.ridge, w), self.bound)
        self.trace.append(here)

    def iterate(self) -> tuple[Array, Array]:
        """w and its coefficients."""
        weights = self.walk.weights()[0] if self.average == "all" else self.walk.last_weights()
        coefficients = self.data.y * weights / (2 * self.ridge)
        return self.data.factor.T @ coefficients, coefficients

    def ended(self, stop: StopReason) -> Sgd:
        if not self.trace or self.trace[-1].steps < self.walk.steps:
            self.mark()
        w, coefficients = self.iterate()
        objective = _objective(self.data, self.ridge, w)
        return Sgd(
            w, coefficients, objective, self.alpha, self.bound, tuple(self.trace),
            self.walk.steps, stop,
        )  # fmt: skip


def _objective(data: TrainingData | GramData, ridge: float, w: Array) -> float:
    losses = np.maximum(0.0, 1 - data.y * (data.factor @ w))
    return ridge * float(w @ w) + float(losses.mean())


def _dual_at_least(data: TrainingData | GramData, ridge: float, alpha: Array) -> float:
    """sum alpha - ||F'(y o alpha)||^2 / (4 ridge), with what rounding can hide taken off."""
    v = data.factor.T @ (data.y * alpha)
    size = np.abs(data.factor).T @ alpha
    norm, most = float(v @ v) / (4 * ridge), float(size @ size) / (4 * ridge)
    mass = float(alpha.sum())
    # Of a sum of n products, of its square, and of 1 / n: each from the terms it is made of.
    rounding = np.finfo(float).eps * (data.n + data.d + 8) * (mass + 2 * most)
    return mass - norm - float(rounding)
