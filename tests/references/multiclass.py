"""Answers for models of several classes that owe nothing to our code (cvxpy, brute force)."""

from __future__ import annotations

import itertools

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from tests.references.reference_solutions import _solved
from tightmargin.formulations import MulticlassData

Array = NDArray[np.float64]


def class_points(seed: int, n: int = 9, K: int = 3, d: int = 2) -> MulticlassData:
    """Random points of K classes about centres of their own; the last is deep in another class."""
    rng = np.random.default_rng([seed, n, K, d])
    centres = 2.0 * rng.standard_normal((K, d))
    y = np.arange(n) % K
    X = centres[y] + 0.7 * rng.standard_normal((n, d))
    X[-1] = centres[0] + 0.3 * rng.standard_normal(d)
    return MulticlassData(X, y)


class Machine:
    """min ridge norm + sum_i costs_i [1 - smallest lead]_+ for any costs, by cvxpy."""

    def __init__(self, data: MulticlassData, mode: str, ridge: float, top: float = np.inf) -> None:
        n, d, K = data.n, data.d, data.n_classes
        self.B, self.b = cp.Variable((K, d)), cp.Variable(K)
        self.xi, self.costs = cp.Variable(n, nonneg=True), cp.Parameter(n, nonneg=True)
        scores = data.X @ self.B.T + np.ones((n, 1)) @ cp.reshape(self.b, (1, K), order="C")
        rows = [cp.sum(self.B, axis=0) == 0, cp.sum(self.b) == 0]
        for k in range(K):
            others = np.flatnonzero(data.y != k)
            own = cp.sum(cp.multiply(scores, np.eye(K)[data.y]), axis=1)
            rows.append(own[others] - scores[others, k] + self.xi[others] >= 1)
        if mode == "none":
            rows.append(self.b == 0)
        if np.isfinite(top):
            rows.append(cp.abs(self.b) <= top)
        norm = cp.sum_squares(self.B) + (cp.sum_squares(self.b) if mode == "penalised" else 0)
        self.problem = cp.Problem(cp.Minimize(ridge * norm + self.costs @ self.xi), rows)

    def value(self, costs: Array) -> float:
        """Optimum for costs (n,)."""
        self.costs.value = np.asarray(costs, dtype=float)
        return _solved(self.problem)


def hinge_of_classes(
    data: MulticlassData, mode: str, ridge: float, costs: Array | None = None
) -> Machine:
    """The hinge machine, solved; its optimum is .problem.value."""
    machine = Machine(data, mode, ridge)
    machine.value(np.full(data.n, 1 / data.n) if costs is None else costs)
    return machine


def relaxation_of_classes(
    data: MulticlassData, mode: str, ridge: float, cap: float, big_m: Array
) -> float:
    """Every loss multiplied by cap / M, for violations that stay below their M >= cap."""
    machine = Machine(data, mode, ridge)
    value = machine.value(cap / big_m / data.n)
    assert (machine.xi.value <= big_m).all(), "another M is needed for this witness"
    return value


def truncated_by_sets(
    data: MulticlassData, mode: str, ridge: float, cap: float, costs: Array | None = None
) -> tuple[float, tuple[int, ...]]:
    """Optimum of the truncated hinge loss over all sets of points that pay the cap, and the set.

    Intercepts within 1000: where a class is given up its intercept has no least value.
    """
    prices = np.full(data.n, 1 / data.n) if costs is None else costs
    machine = Machine(data, mode, ridge, top=1000.0 if mode == "free" else np.inf)
    best: tuple[float, tuple[int, ...]] = (float(prices.sum()), ())  # B = 0, b = 0
    for size in range(data.n + 1):
        for some in itertools.combinations(range(data.n), size):
            capped = np.isin(np.arange(data.n), some)
            paid = cap * float(prices[capped].sum())
            if paid < best[0]:
                value = paid + machine.value(np.where(capped, 0.0, prices))
                if value < best[0]:
                    best = (value, some)
    return best


def matrix_machine(
    data: MulticlassData,
    mode: str,
    ridge: float,
    shape: tuple[int, int],
    *,
    rank: int = 0,
    tau: float = 0.0,
) -> float:
    """Matrices of several classes: tau times cvxpy's nuclear norms, or ranks through projections.

    One symmetric variable holds T, B' and P of a class, its parts cut out by indices.
    """
    machine = Machine(data, mode, ridge)
    mean = machine.costs @ machine.xi
    norm, rows = ridge * cp.sum_squares(machine.B), list(machine.problem.constraints)
    if mode == "penalised":
        mean += ridge * cp.sum_squares(machine.b)
    matrices = [cp.reshape(machine.B[k], shape, order="C") for k in range(data.n_classes)]
    if rank:
        norm, columns = 0.0, shape[1]
        for B in matrices:
            block = cp.Variable((sum(shape), sum(shape)), PSD=True)
            P = block[columns:, columns:]
            rows += [block[columns:, :columns] == B, np.eye(shape[0]) - P >> 0, cp.trace(P) <= rank]
            norm += ridge * cp.trace(block[:columns, :columns])
    machine.problem = cp.Problem(
        cp.Minimize(norm + tau * sum(map(cp.normNuc, matrices)) + mean), rows
    )
    return machine.value(np.full(data.n, 1 / data.n))
