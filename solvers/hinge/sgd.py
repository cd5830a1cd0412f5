"""Stochastic gradient descent on the soft margin without an intercept: a witness to learn from.

Lee 2020, Algorithms 3 (points) and 4 (kernel matrix), corrected. It proves nothing by itself; the
draws make multipliers, and those prove a bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.point_weights import unweighted, unweighted_unlike
from tightmargin.formulations.data.training_data import GramData, TrainingData, reads_dense_points
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.parameters import one_of, positive
from tightmargin.number_words import count_text
from tightmargin.printing import Page, Printed
from tightmargin.solvers.engines.running import Limits, StopReason, checked_limits
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.registry import Finding, Method, register_method
from tightmargin.solvers.result import search_page
from tightmargin.solvers.tables import Framed

# --- What theory promises of stochastic gradient descent on the soft margin, derived for our scale
# With lambda = 2 ridge the objective f(w) = ridge ||w||^2 + (1/n) sum_i [1 - y_i <w, x_i>]_+ is
# lambda-strongly convex, and for a uniform draw i the vector g_t = lambda w_t + v_t, with v_t = 0
# or -y_i x_i, is in the mean a subgradient of f at w_t. Both rules are steps along it,
#     update    w_{t+1} = w_t - g_t / (lambda t)         w_t = theta_t / (lambda (t - 1))
#     printed   w_{t+1} = w_t - g_t / (lambda (t + 1))   w_t = theta_t / (lambda t)
# from w_1 = 0, theta_t being minus the sum of v_1 to v_{t-1}. With R = max ||x_i|| both have
# ||lambda w_t|| <= R, so ||g_t|| <= 2 R; the optimum is w* = sum_i alpha_i y_i x_i / lambda with
# sum_i alpha_i <= 1, so ||w*|| <= R / lambda. For D_t = ||w_t - w*||^2 and a step of size s_t
#     E f(w_t) - f* <= E [(D_t - D_{t+1}) / (2 s_t) - lambda D_t / 2 + s_t ||g_t||^2 / 2].
# Summed over t = 1 to T the distances cancel but for the first one, with the weight 0 (update) or
# lambda / 2 (printed), and E f(mean of w_t) is at most the mean:
#     update    E f(w_bar) - f* <= 2 R^2 H_T / (lambda T)
#     printed   E f(w_bar) - f* <= R^2 (1 + 4 (H_{T+1} - 1)) / (2 lambda T)
# with H_T = 1 + 1/2 + ... + 1/T. The first is Theorem 14.11 of Shalev-Shwartz & Ben-David,
# Understanding Machine Learning (2014), with rho = 2 R and H_T for its 1 + log T.


RULES = ("printed", "update")
SMALL = 256
EULER = 0.5772156649015329


def harmonic(k: int) -> float:
    """H_k = 1 + 1/2 + ... + 1/k, 0 for k = 0."""
    if k <= SMALL:
        return float((1 / np.arange(1, k + 1)).sum())
    return float(np.log(k) + EULER + 1 / (2 * k) - 1 / (12 * k**2) + 1 / (120 * k**4))


@unweighted
def sgd_rate(
    data: TrainingData | GramData, *, ridge: float, steps: int, rule: str = "printed"
) -> float:
    """Bound on the mean, over draws, of f(w_bar) - f* after so many steps.

    Conditions: draws that are uniform and independent, no intercept, the mean over all iterates.
    It bounds a mean, not every run.

    data: only the largest norm of a point is used.
    ridge: lambda / 2.
    steps: T, at least 1.
    rule: "printed" or "update".
    Raises ValueError: a bad ridge, steps or rule.
    """
    one_of("rule", rule, RULES)
    strength = 2 * positive("ridge", ridge)
    checked_steps(steps)
    square = float(np.einsum("ij,ij->i", data.factor, data.factor).max(initial=0.0))
    if rule == "update":
        return 2 * square * harmonic(steps) / (strength * steps)
    return square * (1 + 4 * (harmonic(steps + 1) - 1)) / (2 * strength * steps)


def checked_steps(steps: int) -> int:
    """A whole number of at least 1, or a ValueError naming steps."""
    whole = isinstance(steps, int | np.integer) and not isinstance(steps, bool)
    if not whole or steps < 1:
        raise ValueError(f"steps must be a whole number of at least 1, got {steps!r}")
    return int(steps)


# --- The steps of stochastic gradient descent, on points and on a kernel matrix, and what they
#     weigh
# What a later average needs of the draws are four sums for each point, so that a run of any length
# takes the memory of one block.


Draws = NDArray[np.int64]
# Places k in the draws at which y <theta, x> was below level k, so that theta moved.
Moves = Callable[[list[int], list[float]], list[int]]


@dataclass(eq=False)
class Walk:
    """A sequence of iterates w_t = theta_t / (lambda (t - behind)) from theta_1 = 0.

    With K_j = 1/1 + ... + 1/(j - behind), a draw j that moved theta has in the sum over t > j of
    1 / (t - behind) the weight K_T - K_j.

    n: points.
    strength: lambda.
    behind: 0 for Algorithm 3 as printed, 1 for the rule of the text.
    rng: of the draws.
    moves: keeps theta.
    steps: taken.
    """

    n: int
    strength: float
    behind: int
    rng: np.random.Generator
    moves: Moves
    steps: int = 0
    _harmonic: float = 0.0  # K_T
    _last: int | None = None  # the point that moved theta in the very last step
    _drawn: Array = field(init=False)
    _drawn_at: Array = field(init=False)
    _moved: Array = field(init=False)
    _moved_at: Array = field(init=False)

    def __post_init__(self) -> None:
        self._drawn, self._drawn_at, self._moved, self._moved_at = np.zeros((4, self.n))

    def advance(self, size: int) -> None:
        """Take that many steps."""
        draws = self.rng.integers(self.n, size=size)
        t = np.arange(self.steps + 1, self.steps + size + 1) - self.behind
        divisors = np.where(t == 0, 1, t)  # at w_1 = 0 every margin is below 1 whatever divides it
        moved = np.array(
            self.moves(draws.tolist(), (self.strength * divisors).tolist()), dtype=np.int64
        )
        sums = self._harmonic + np.cumsum(np.where(t == 0, 0.0, 1 / divisors))
        self._add(draws, sums, moved)
        self._harmonic = float(sums[-1])
        self.steps += size
        ends = len(moved) > 0 and moved[-1] == size - 1
        self._last = int(draws[-1]) if ends else None

    def _add(self, draws: Draws, sums: Array, moved: Draws) -> None:
        n = self.n
        self._drawn += np.bincount(draws, minlength=n)
        self._drawn_at += np.bincount(draws, sums, minlength=n)
        self._moved += np.bincount(draws[moved], minlength=n)
        self._moved_at += np.bincount(draws[moved], sums[moved], minlength=n)

    def weights(self) -> tuple[Array, Array]:
        """For each point (1/T) sum (K_T - K_j): over the draws that moved theta, and over all."""
        steps = max(1, self.steps)
        moved = self._harmonic * self._moved - self._moved_at
        drawn = self._harmonic * self._drawn - self._drawn_at
        return np.maximum(moved, 0.0) / steps, np.maximum(drawn, 0.0) / steps

    def last_weights(self) -> Array:
        """Weights of w_T, which knows nothing of the last draw."""
        counts = self._moved.copy()
        if self._last is not None:
            counts[self._last] -= 1
        return counts / max(1, self.steps - self.behind)


def _on_points(data: TrainingData) -> Moves:
    """Algorithm 3: theta in the space of the points."""
    rows, theta = list(data.y[:, None] * data.X), np.zeros(data.d)

    def moves(draws: list[int], levels: list[float]) -> list[int]:
        moved = []
        for k, i in enumerate(draws):
            if theta.dot(rows[i]) < levels[k]:
                np.add(theta, rows[i], out=theta)
                moved.append(k)
        return moved

    return moves


def _on_kernel(data: GramData) -> Moves:
    """Algorithm 4: y_i <theta, psi(x_i)> at all points, from entries of the matrix alone."""
    columns, scores = list(np.outer(data.y, data.y) * data.gram), np.zeros(data.n)

    def moves(draws: list[int], levels: list[float]) -> list[int]:
        moved = []
        for k, i in enumerate(draws):
            if scores[i] < levels[k]:
                np.add(scores, columns[i], out=scores)
                moved.append(k)
        return moved

    return moves


def walk_on(data: TrainingData | GramData, strength: float, rule: str, seed: int) -> Walk:
    """The walk that belongs to the data; `strength` is lambda."""
    moves = _on_kernel(data) if isinstance(data, GramData) else _on_points(data)
    behind = 1 if rule == "update" else 0
    return Walk(data.n, strength, behind, np.random.default_rng(seed), moves)


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

    w (d,): the averaged iterate (or the last one) in the coordinates of `data.factor`.
    coefficients (n,): the same as w = sum_i coefficients_i psi(x_i), the alpha-bar of Algorithm 4.
    objective: ridge ||w||^2 + mean hinge loss at w.
    alpha (n,): multipliers in [0, 1/n] of the margin rows, made of the draws.
    bound: their dual value, a proven bound on the optimum.
    trace: at about evenly spaced logarithms of the step, the last one at the end.
    steps: taken; fewer than asked for after a time limit or Ctrl-C.
    stop: FINISHED after all steps, TIME_LIMIT or INTERRUPTED.
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
    steps of sizes 1 / (lambda t) and 1 / (lambda (t + 1)).

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


# --- Stochastic gradient descent on soft-margin models, which never ends at their optimum --------
# The averaged iterate is a point of the model and the draws make multipliers of its margin rows,
# so that a result holds a proven gap; it is certified where that closes, which takes more steps
# than anybody waits for. On points it is Algorithm 3 of Lee 2020, on a kernel matrix Algorithm 4.


SGD = "sgd"
DESCENDED = ("soft_margin_svc", "kernel_soft_margin_svc")
STEPS = 100_000  # a second or less
PROOF = "weak duality at multipliers in [0, 1/n] made of the draws, recomputed from the data"


def _by_descent(origin: Origin, limits: Limits) -> Finding:
    steps = limits.options.get("steps", STEPS)
    checked_steps(steps)
    ridge = origin.parameters["ridge"]
    run = sgd(
        origin.data, ridge=ridge, steps=steps, seed=limits.seed or 0, time_limit=limits.time_limit
    )
    rate = sgd_rate(origin.data, ridge=ridge, steps=run.steps) if run.steps else None
    return Finding(
        _values(origin, run.coefficients),
        Status.INTERRUPTED if run.stop is StopReason.INTERRUPTED else Status.FEASIBLE,
        SGD,
        bound=Lemma(run.bound, PROOF, {"alpha lies in [0, 1/n]": _in_box(run.alpha)}),
        multipliers={"margin": run.alpha},
        bound_values=_values(origin, origin.data.y * run.alpha / (2 * ridge)),
        facts={
            "stop": run.stop,
            "steps": run.steps,
            "descent": [[point.steps, point.objective, point.bound] for point in run.trace],
            "expected_gap": rate,
        },
        message=_message(run),
        options={"steps": steps},
    )


def _in_box(alpha: Array) -> bool:
    return bool((alpha >= 0).all() and (alpha <= 1 / len(alpha)).all())


def _values(origin: Origin, coefficients: Array) -> dict[str, Array]:
    """The variables of a model; those of the other entry are not in it and stay unused."""
    data = origin.data
    w = data.factor.T @ coefficients
    losses = np.maximum(0.0, 1 - data.y * (data.factor @ w))
    return {"w": w, "xi": losses, "alpha": coefficients, "v": w}


def _message(run: Sgd) -> str:
    ended = "" if run.stop is StopReason.FINISHED else f"{run.stop.replace('_', ' ')}: "
    return f"{ended}{run.steps:,} steps of stochastic gradient descent"


def _refuses(origin: Origin) -> str:
    intercept = origin.parameters["intercept"]
    if intercept == "none":
        return ""
    return f"it has no intercept, as in its paper: build with intercept=none, not {intercept!r}"


register_method(
    Method(
        SGD,
        DESCENDED,
        _by_descent,
        "stochastic gradient descent on the soft margin without intercept",
        options=("steps",),
        draws=True,
        refuses=_refuses,
    )
)
