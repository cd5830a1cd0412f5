"""Truncated hinge loss of several classes by differences of convex functions, from many starts.

    V(B, b) = (1/n) sum_i c_{y_i} T_s(u_i) + ridge sum_k ||B_k||^2,  T_s(u) = min([1 - u]_+, 1 - s)

with the lead u_i = min over k other than y_i of f_{y_i}(x_i) - f_k(x_i). T_s = H_1 - H_s with
H_a(u) = [a - u]_+, and both are convex in (B, b). The algorithm replaces H_s by its tangent at the
present point: where u_i < s the tangent of -u_i goes along one class k that attains the minimum.
What is left is a convex quadratic program that is nowhere below V and equal to it at the present
point, so that V never rises. It ends at a local solution at best: its value is an upper bound, and
experiments/gap_study/gap_table.py says how far it is from what is proven.

Source: Lee 2020, section 4.1; Wu, Zhang & Liu 2010.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.multiclass_data import MulticlassData
from tightmargin.formulations.data.point_weights import unweighted_unlike
from tightmargin.formulations.multiclass.hinge import class_costs
from tightmargin.formulations.multiclass.truncated_hinge import cap_of, truncated_objective
from tightmargin.number_words import count_text
from tightmargin.printing import Page, Printed
from tightmargin.solvers.engines.running import checked_limits, live_line
from tightmargin.solvers.hinge.batch_multiclass import Space, hinge_batch, machine_space, slope_of
from tightmargin.solvers.result import search_page
from tightmargin.solvers.tables import Framed, record_of

# --- Where the d.c. algorithm for the truncated hinge loss begins: hinge machines on changed data


HINGE, NOISE, SUBSET, RANDOM = "hinge", "label noise", "subset", "random"
KINDS = (NOISE, SUBSET, RANDOM)
BATCH = 32  # starts that go on together
KEPT = (0.3, 0.9)  # share of the points that a subset keeps
NOISY = (0.1, 0.5)  # share of the points that take another class
LEADS = (0.3, 3.0)  # typical lead of a random start


def start_batches(
    space: Space, costs: Array, starts: int, seed: int, deadline: float | None
) -> Iterator[tuple[tuple[str, ...], Array]]:
    """Names and points A of the starts, the hinge machine first and by itself.

    costs (n,): cost of each point.
    """
    yield (HINGE,), hinge_batch(space, costs[None], deadline=deadline)
    rng = np.random.default_rng(seed)
    for first in range(1, starts, BATCH):
        numbers = range(first, min(first + BATCH, starts))
        names = tuple(KINDS[(number - 1) % len(KINDS)] for number in numbers)
        yield names, _starts(space, costs, names, rng, deadline)


def _starts(
    space: Space,
    costs: Array,
    names: tuple[str, ...],
    rng: np.random.Generator,
    deadline: float | None,
) -> Array:
    n, K = len(costs), len(space.Q)
    prices, labels = np.tile(costs, (len(names), 1)), np.tile(space.y, (len(names), 1))
    random = np.zeros((len(names), K - 1, space.X.shape[1]))
    for row, name in enumerate(names):
        if name == NOISE:
            changed = rng.random(n) < rng.uniform(*NOISY)
            labels[row, changed] = rng.integers(K, size=int(changed.sum()))
        elif name == SUBSET:
            prices[row, rng.random(n) > rng.uniform(*KEPT)] = 0.0
        else:
            random[row] = rng.standard_normal(random.shape[1:])
    found = hinge_batch(space, prices, y=labels, deadline=deadline)
    drawn = np.array([name == RANDOM for name in names])
    size = np.abs(space.scores(random[drawn])).mean(axis=(1, 2))
    lead = rng.uniform(*LEADS, size=int(drawn.sum()))
    factor = np.where(size > 0, lead / np.where(size > 0, size, 1.0), 0.0)
    found[drawn] = random[drawn] * factor[:, None, None]
    return found


ITERATIONS = 100
STILL = 1e-8  # relative decrease of V below which a search has ended


@dataclass(frozen=True, eq=False, repr=False)
class DcaRun(Printed):
    """Where one search began and ended.

    start: "hinge", "label noise", "subset" or "random".
    trace: V at the start and after each quadratic program.
    converged: false where the limit of iterations, the time or Ctrl-C ended it, or where V rose
        because a quadratic program was not solved to the last digit.
    """

    start: str
    trace: tuple[float, ...]
    converged: bool

    @property
    def objective(self) -> float:
        """The least V on the way."""
        return min(self.trace)


@dataclass(frozen=True, eq=False, repr=False)
class TruncatedDca(Framed):
    """The best of several searches: an upper bound, with no proof that it is the optimum.

    B, b (K, d) (K,): score functions that sum to zero: label = argmax_k <B_k, x> + b_k.
    objective: V(B, b), computed from the data.
    trace: of the run that found it.
    runs: one for each start that was begun, the hinge machine first.
    complete: whether every start was run until it converged.
    interrupted: whether Ctrl-C ended it.
    """

    B: Array
    b: Array
    objective: float
    trace: tuple[float, ...]
    runs: tuple[DcaRun, ...]
    data: MulticlassData
    ridge: float
    truncation: float
    class_weight: tuple[float, ...] | None
    intercept: str
    seed: int
    seconds: float
    complete: bool
    interrupted: bool = False
    _table = "runs"

    def _page(self) -> Page:
        ended = "interrupted" if self.interrupted else "every start has converged"
        return search_page(
            f"TruncatedDca: {len(self.b)} classes, {count_text(self.B.shape[1], 'feature')}",
            self.objective,
            None,
            ended=ended if self.complete or self.interrupted else "some starts did not converge",
            effort=f"{count_text(self.starts, 'start')}, {self.seconds:.2g} s",
            parts=".B, .b, .runs, .to_frame()",
        )

    def _records(self) -> list[dict[str, Any]]:
        return [record_of(run) | {"objective": run.objective} for run in self.runs]

    @property
    def starts(self) -> int:
        """How many searches were begun."""
        return len(self.runs)

    @property
    def iterations(self) -> int:
        """Quadratic programs solved in all, the starts not counted."""
        return sum(len(run.trace) - 1 for run in self.runs)


@unweighted_unlike("multiclass_truncated")
def truncated_dca(
    data: MulticlassData,
    *,
    ridge: float,
    truncation: float,
    class_weight: Sequence[float] | None = None,
    intercept: str = "free",
    starts: int = 1,
    seed: int = 0,
    time_limit: float | None = None,
) -> TruncatedDca:
    """Best local solution of multiclass_truncated from several starts.

    Parameters
    ----------
    data : MulticlassData
    ridge : float
        lambda > 0.
    truncation : float
        s <= 0: no loss is above 1 - s. See fisher_consistency.py for the range that makes sense.
    class_weight : sequence (K,), optional
        c, positive numbers used as they are; 1 for every class when left out.
    intercept : "free", "penalised" or "none"
    starts : int
        The hinge machine, and then hinge machines with some labels drawn anew, on random subsets,
        and random directions, in turns and by `seed`.
    seed : int
        Of what is drawn for the starts.
    time_limit : float, optional
        Seconds; what was found is returned, as after Ctrl-C.

    Returns
    -------
    TruncatedDca

    Raises
    ------
    ValueError
        An argument out of range, by its name; more than 3000 unknowns (K - 1)(d + 1).
    KeyboardInterrupt
        Ctrl-C before the first machine is there.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.gaussian_class_data(n=12, d=2, classes=3, sigma=0.5, seed=0)
    >>> found = tm.search.truncated_dca(data, ridge=0.1, truncation=0.0, starts=2)
    >>> found.objective >= tm.search.truncated_search(data, ridge=0.1, truncation=0.0).bound
    True
    """
    if not isinstance(data, MulticlassData):
        raise TypeError(f"truncated_dca takes MulticlassData, got {type(data).__name__}")
    cap_of(truncation)
    truncation = float(truncation)
    limits = checked_limits(time_limit=time_limit, seed=seed)
    if not (isinstance(starts, int) and not isinstance(starts, bool) and starts >= 1):
        raise ValueError(f"starts must be a whole number of at least 1, got {starts!r}")
    costs = class_costs(data, class_weight)
    space = machine_space(data, ridge, intercept)
    began = time.perf_counter()
    deadline = None if limits.time_limit is None else began + limits.time_limit
    found: list[DcaBatch] = []
    interrupted = False
    try:
        for names, A in start_batches(space, costs, starts, seed, deadline):
            descent = DcaBatch(space, np.tile(costs, (len(A), 1)), truncation, A, names)
            found.append(descent)
            descent.run(deadline)
            if deadline is not None and time.perf_counter() > deadline:
                break
    except KeyboardInterrupt:
        if not found:
            raise
        interrupted = True
    runs = tuple(run for descent in found for run in descent.runs())
    complete = not interrupted and len(runs) == starts and all(run.converged for run in runs)
    values = np.concatenate([descent.best_values for descent in found])
    points = np.concatenate([descent.best for descent in found])
    best = int(values.argmin())
    B, b = space.machine(points[best])
    weights = None if class_weight is None else tuple(float(c) for c in class_weight)
    value = truncated_objective(
        data, B, b, ridge=ridge, truncation=truncation, class_weight=weights, intercept=intercept
    )
    return TruncatedDca(
        B, b, value, runs[best].trace, runs, data, float(ridge), truncation, weights, intercept,
        seed, time.perf_counter() - began, complete, interrupted,
    )  # fmt: skip


class DcaBatch:
    """The searches of one batch, step by step together.

    best, best_values (B, K - 1, k) (B,): the best point of each search so far, and V there.
    late: whether the time was over before every search had converged.
    """

    def __init__(
        self,
        space: Space,
        costs: Array,
        truncation: float,
        A: Array,
        names: Sequence[str] = (),
    ) -> None:
        self.space, self.costs, self.truncation = space, costs, truncation
        self.names = tuple(names) or ("hinge",) * len(A)
        self.best, self.best_values = A.copy(), np.full(len(A), np.inf)
        self._A = A.copy()
        self._values, self._capped = self._look(np.arange(len(A)))
        self.best_values[:] = self._values
        self._traces = [[float(value)] for value in self._values]
        self._over = np.zeros(len(A), dtype=bool)
        self._converged = self._over.copy()
        self.late = False

    def run(self, deadline: float | None = None, iterations: int = ITERATIONS) -> None:
        """Go on until every search has ended."""
        with live_line("d.c. searches") as line:
            for _ in range(iterations):
                active = np.flatnonzero(~self._over)
                if not active.size or _over(deadline):
                    break
                self._step(active, deadline)
                if line.is_due:
                    left = f"{active.size} of {len(self._over)} to go"
                    line.show(None, float(self.best_values.min()), left)
        self.late = _over(deadline) and not self._converged.all()

    def runs(self) -> tuple[DcaRun, ...]:
        """What each search did."""
        return tuple(
            DcaRun(name, tuple(trace), bool(done))
            for name, trace, done in zip(self.names, self._traces, self._converged, strict=True)
        )

    def _look(self, rows: NDArray[np.intp]) -> tuple[Array, NDArray[np.int64]]:
        """V, and of each point whose loss is capped the class that leads (-1 for the others)."""
        scores = self.space.scores(self._A[rows])
        own = np.broadcast_to(self.space.y[:, None], (*scores.shape[:2], 1))
        u = np.take_along_axis(scores, own, -1)[..., 0]
        np.put_along_axis(scores, own, -np.inf, -1)
        u = u - scores.max(axis=-1)
        loss = np.minimum(np.maximum(0.0, 1 - u), 1 - self.truncation)
        value = (self.costs[rows] * loss).sum(axis=1) + self.space.norm(self._A[rows])
        capped = (u < self.truncation) & (self.costs[rows] > 0)
        return value, np.where(capped, scores.argmax(axis=-1), -1)

    def _step(self, rows: NDArray[np.intp], deadline: float | None) -> None:
        costs, capped = self.costs[rows], self._capped[rows]
        weights = np.zeros((*capped.shape, len(self.space.Q)))
        np.put_along_axis(weights, np.maximum(capped, 0)[..., None], 1.0, -1)
        weights *= (costs * (capped >= 0))[..., None]
        slopes = -slope_of(self.space, weights, self.space.y)
        self._A[rows] = hinge_batch(self.space, costs, slopes, self._A[rows], deadline=deadline)
        values, now = self._look(rows)
        before = self._values[rows]
        same = (now == capped).all(axis=1)
        self._values[rows], self._capped[rows] = values, now
        for row, value in zip(rows.tolist(), values.tolist(), strict=True):
            self._traces[row].append(value)
        better = values < self.best_values[rows]
        self.best[rows[better]] = self._A[rows[better]]
        self.best_values[rows[better]] = values[better]
        ended = same | (values >= before - STILL * np.abs(before))
        self._converged[rows] = ended & (values <= before + STILL * np.abs(before))
        self._over[rows] = ended


def _over(deadline: float | None) -> bool:
    return deadline is not None and time.perf_counter() > deadline
