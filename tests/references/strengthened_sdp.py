"""The strengthened SDP once more, in cvxpy, with every number from a loop over its formula."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from tests.references import reference_solutions
from tests.references.reference_solutions import _signed as rows_of
from tightmargin.formulations import TrainingData

Array = NDArray[np.float64]


class Limits(NamedTuple):
    """Bounds of v, the norm and b, conflicts, and the objective they start from."""

    lower: Array
    upper: Array
    norm2: float
    b: tuple[float, float]
    conflicts: list[tuple[int, ...]]
    cutoff: float


def known_objective(data: TrainingData, mode: str, penalty: float) -> float:
    """Best objective with w = 0."""
    fewer = min((data.y > 0).sum(), (data.y < 0).sum())
    return {"none": penalty * data.n, "free": penalty * fewer}.get(
        mode, min(penalty * data.n, 1 + penalty * fewer)
    )


def closed_limits(
    data: TrainingData, mode: str, penalty: float, cutoff: float, pairs: bool = False
) -> Limits:
    """Formulas of slack_bounds.py, point by point."""
    rows = rows_of(data, mode)
    conflicts = conflicts_below(data, mode, cutoff) if pairs else []
    sure = {i for i in range(data.n) if _span(data, mode, rows, i, cutoff, penalty)[0] > 0}
    sure |= {s[0] for s in conflicts if len(s) == 1}
    taken, disjoint = set(sure), len(sure)
    for pair in conflicts:
        if taken.isdisjoint(pair):
            taken |= set(pair)
            disjoint += 1
    norm2 = cutoff - penalty * disjoint
    lower, upper = np.empty(data.n), np.empty(data.n)
    for i in range(data.n):
        first = _span(data, mode, rows, i, cutoff, penalty)
        second = _span(data, mode, rows, i, norm2, 0.0)
        lower[i], upper[i] = max(first[0], second[0]), min(first[1], second[1])
        if i in sure:
            lower[i] = max(lower[i], 0.0)
    limit = np.sqrt(norm2) if mode == "penalised" else 0.0
    if mode == "free":
        limit = max(1.0, np.sqrt(norm2) * np.linalg.norm(data.X, axis=1).max() - 1)
    return Limits(lower, upper, norm2, (-limit, limit), conflicts, cutoff)


def _span(
    data: TrainingData, mode: str, rows: Array, i: int, norm2: float, paid: float
) -> tuple[float, float]:
    """v_i where the norm is at most norm2, and at most norm2 - paid where i is violated."""
    most = np.sqrt(max(norm2 - paid, 0.0))
    if mode != "free":
        size = np.linalg.norm(rows[i])
        return 1 - size * np.sqrt(norm2), 1 + size * most
    reach = {True: 0.0, False: 0.0}
    for k in range(data.n):
        same = bool(data.y[k] == data.y[i])
        reach[same] = max(reach[same], np.linalg.norm(data.X[i] - data.X[k]))
    return min(0.0, 2 - np.sqrt(norm2) * reach[False]), max(2.0, most * reach[True])


def conflicts_below(data: TrainingData, mode: str, cutoff: float) -> list[tuple[int, ...]]:
    """Singles, then pairs of others, that the least norm by nnls puts above the cutoff."""
    rows, free = rows_of(data, mode), mode == "free"
    found: list[tuple[int, ...]] = []
    for size in (1, 2):
        alone = {s[0] for s in found if len(s) == 1}
        rest = [i for i in range(data.n) if i not in alone]
        found += [
            s for s in itertools.combinations(rest, size)
            if reference_solutions.least_norm(rows[list(s)], free) > cutoff
        ]  # fmt: skip
    return found


def strengthened(
    data: TrainingData, mode: str, penalty: float, limits: Limits, products: str = "none"
) -> float:
    """Value of the SDP with secant, norm and conflict rows, and products of z up to a kind."""
    rows = rows_of(data, mode)
    n, k = rows.shape
    counted = k - 1 if mode == "free" else k
    lifted, z = cp.Variable((k + 1, k + 1), PSD=True), cp.Variable(n)
    W, weight = lifted[:k, :k], lifted[:k, k]
    p, q, s, r = (cp.Variable(n, nonneg=True) for _ in range(4))
    norm = sum(W[j, j] for j in range(counted))
    low, high = limits.lower, limits.upper
    held = [lifted[k, k] == 1, z >= 0, z <= 1, norm <= limits.norm2]
    held += [sum(z[i] for i in S) >= 1 for S in limits.conflicts]
    if mode != "none":
        a, b = limits.b
        held.append(W[k - 1, k - 1] <= (a + b) * weight[k - 1] - a * b)
    decided = [i for i in range(n) if low[i] > 0 or high[i] <= 0 or (i,) in limits.conflicts]
    open_points = [i for i in range(n) if i not in decided]
    for i in range(n):
        v = 1 - rows[i] @ weight
        T = cp.sum(cp.multiply(np.outer(rows[i], rows[i]), W)) - 2 * (rows[i] @ weight) + 1
        if i in decided:
            held += [z[i] == (0 if high[i] <= 0 else 1), v >= low[i], v <= high[i]]
            held.append((low[i] + high[i]) * v - low[i] * high[i] >= T)
            continue
        far, near = high[i], -low[i]
        held += [v == p[i] - q[i], s[i] + r[i] == T, s[i] <= far * p[i], r[i] <= near * q[i]]
        held += [p[i] <= far * z[i], q[i] <= near * (1 - z[i])]
        held += [cp.quad_over_lin(p[i], z[i]) <= s[i], cp.quad_over_lin(q[i], 1 - z[i]) <= r[i]]
    goal = norm + penalty * cp.sum(z)
    half = _Products(rows, penalty, limits, weight, z, p, q, norm, counted)
    if products != "none":
        for i in open_points:
            held += half.of_boxes(i, mode) + half.of_conflicts(i, open_points)
            for j in open_points:
                held += half.of_pair(i, j)
            for j in decided:
                held += half.of_decided(i, j)
            if products != "linear":
                held += half.of_norm(i, open_points, cutoff=products == "cutoff")
    return reference_solutions._minimum(goal, held)


class _Products:
    """Every row times z_i and times 1 - z_i, one at a time."""

    def __init__(
        self, rows: Array, penalty: float, limits: Limits, weight: Any, z: Any, p: Any, q: Any,
        norm: Any, counted: int,
    ) -> None:  # fmt: skip
        self.rows, self.penalty, self.limits, self.counted = rows, penalty, limits, counted
        self.weight, self.z, self.p, self.q, self.norm = weight, z, p, q, norm
        self.Y = cp.Variable(rows.shape)
        self.Z: dict[tuple[int, int], cp.Variable] = {}

    def both(self, i: int, j: int) -> Any:
        if i == j:
            return self.z[i]
        return self.Z.setdefault((min(i, j), max(i, j)), cp.Variable(nonneg=True))

    def zv(self, i: int, j: int) -> Any:
        return self.z[i] - self.rows[j] @ self.Y[i]

    def of_pair(self, i: int, j: int) -> list[Any]:
        if i == j:
            return [self.zv(i, i) == self.p[i]]
        z, p, q, both = self.z, self.p, self.q, self.both(i, j)
        far, near = self.limits.upper[j], -self.limits.lower[j]
        part_p, part_q = cp.Variable(nonneg=True), cp.Variable(nonneg=True)
        return [
            part_p - part_q == self.zv(i, j), part_p <= p[j], part_q <= q[j],
            part_p <= far * both, part_q <= near * (z[i] - both), both <= z[i],
            p[j] - part_p <= far * (z[j] - both), both >= z[i] + z[j] - 1,
            q[j] - part_q <= near * (1 - z[i] - z[j] + both),
        ]  # fmt: skip

    def of_decided(self, i: int, j: int) -> list[Any]:
        zv, rest = self.zv(i, j), 1 - self.z[i]
        other = 1 - self.rows[j] @ self.weight - zv
        low, high = self.limits.lower[j], self.limits.upper[j]
        return [
            zv <= high * self.z[i], zv >= low * self.z[i], other <= high * rest, other >= low * rest
        ]  # fmt: skip

    def of_boxes(self, i: int, mode: str) -> list[Any]:
        radius = np.sqrt(self.limits.norm2)
        box = [(-radius, radius)] * self.rows.shape[1]
        if mode != "none":
            box[-1] = self.limits.b
        held = []
        for c, (a, b) in enumerate(box):
            part, rest = self.Y[i, c], 1 - self.z[i]
            held += [part <= b * self.z[i], part >= a * self.z[i]]
            held += [self.weight[c] - part <= b * rest, self.weight[c] - part >= a * rest]
        return held

    def of_conflicts(self, i: int, open_points: list[int]) -> list[Any]:
        held = []
        for S in self.limits.conflicts:
            if i in S and not any(self.limits.lower[j] > 0 for j in S):
                others = [j for j in S if j != i and j in open_points]
                held.append(sum(self.z[j] - self.both(i, j) for j in others) >= 1 - self.z[i])
        return held

    def of_norm(self, i: int, open_points: list[int], cutoff: bool) -> list[Any]:
        z, own, k = self.z, self.Y[i, : self.counted], self.counted
        t, kept = cp.Variable(nonneg=True), cp.Variable(nonneg=True)
        held = [
            t + kept == self.norm, t <= self.limits.norm2 * z[i],
            kept <= self.limits.norm2 * (1 - z[i]), cp.quad_over_lin(own, z[i]) <= t,
            cp.quad_over_lin(self.weight[:k] - own, 1 - z[i]) <= kept,
        ]  # fmt: skip
        if cutoff:
            sure = sum(
                j not in open_points and self.limits.upper[j] > 0 for j in range(len(self.rows))
            )
            left = self.limits.cutoff - self.penalty * sure
            spent = sum(self.both(i, j) for j in open_points)
            rest = sum(z[j] - self.both(i, j) for j in open_points)
            held.append(t + self.penalty * spent <= left * z[i])
            held.append(kept + self.penalty * rest <= left * (1 - z[i]))
        return held
