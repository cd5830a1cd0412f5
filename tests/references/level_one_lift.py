"""The level-1 lift written once more, in cvxpy and without units or outcomes: for tests only."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

from tests.inside.formulations import SlackBounds, closed_slack_bounds
from tests.references.reference_solutions import _minimum
from tightmargin.formulations import TrainingData

Array = NDArray[np.float64]
ROOM = 1e-4  # above the cutoff, in its rows
SHARE = 0.01  # of the wider side, which the narrower one has at least


class _Told(NamedTuple):
    """What both hands are told, with v_i = <a_i, (w~, 1)>."""

    a: Array
    mode: str
    penalty: float
    bounds: SlackBounds
    sure: dict[int, float]

    @property
    def k(self) -> int:
        """Number of weights, the intercept included."""
        return self.a.shape[1] - 1

    @property
    def counted(self) -> int:
        """Number of weights in the norm."""
        return self.k - (self.mode == "free")

    def known(self, m: Any, weight: Any, count: Any) -> list[Any]:
        """Rows of the whole problem at a weight; `count` is sum_j z_j at that weight."""
        bounds, k = self.bounds, self.k
        norm = cp.trace(m[: self.counted, : self.counted])
        cutoff = bounds.cutoff * (1 + ROOM) * weight
        found = [m >> 0, norm <= bounds.norm2 * weight, norm + self.penalty * count <= cutoff]
        if self.mode != "none":
            low, high = bounds.intercept
            found.append(m[k - 1, k - 1] <= (low + high) * m[k - 1, k] - low * high * weight)
        for j in self.sure:
            v, low, high = self.a[j] @ m[:, k], bounds.lower[j], bounds.upper[j]
            found.append(self.a[j] @ m @ self.a[j] <= (low + high) * v - low * high * weight)
        return found

    def sides(self, m: Any, weight: Any, j: int, zj: Any, pj: Any, sj: Any) -> list[Any]:
        """Rows of an unsure point at a weight, in its own units."""
        low, high = self.bounds.lower[j], self.bounds.upper[j]
        far, near = max(high, -SHARE * low), max(-low, SHARE * high)
        qj, rj = pj - self.a[j] @ m[:, self.k], self.a[j] @ m @ self.a[j] - sj
        kept = weight - zj
        return [
            cp.SOC(sj + zj, cp.hstack([sj - zj, 2 * pj])), sj <= far * pj,
            cp.SOC(rj + kept, cp.hstack([rj - kept, 2 * qj])), rj <= near * qj,
            pj <= far * zj, qj <= near * kept,
        ]  # fmt: skip


def derived_lift(data: TrainingData, mode: str, penalty: float, known: Any = None) -> float:
    """Value at the closed-form bounds from a known hyperplane, no pair crossed."""
    bounds = closed_slack_bounds(data, penalty=penalty, intercept=mode, incumbent=known)
    return lift_value(data, mode, penalty, bounds, ())


def lift_value(
    data: TrainingData,
    mode: str,
    penalty: float,
    bounds: SlackBounds,
    crossed: Collection[tuple[int, int]],
) -> float:
    """Optimum over a moment matrix for each weight 1 and z_i.

    Parameters
    ----------
    crossed : collection of pairs (i, j), i < j
        Pairs whose moments are tied together; the others share z_i z_j only.
    """
    n = data.n
    x = data.X if mode == "none" else np.column_stack([data.X, np.ones(n)])
    sure = {i: 0.0 for i in np.flatnonzero(bounds.upper <= 0).tolist()}
    sure |= {i: 1.0 for i in np.flatnonzero(bounds.lower > 0).tolist()}
    a = np.column_stack([-data.y[:, None] * x, np.ones(n)])
    told = _Told(a, mode, penalty, bounds, sure)
    unsure = [i for i in range(n) if i not in sure]
    M = cp.Variable((told.k + 1, told.k + 1), symmetric=True)
    each = {i: cp.Variable((told.k + 1, told.k + 1), symmetric=True) for i in unsure}
    both = cp.Variable((n, n), symmetric=True)  # z_i z_j
    p, s = cp.Variable(n), cp.Variable(n)
    P, S = cp.Variable((n, n)), cp.Variable((n, n))  # row i: at the weight z_i
    z = cp.diag(both)
    rows: list[Any] = [M[told.k, told.k] == 1, *told.known(M, 1, cp.sum(z))]
    for i, value in sure.items():
        rows += [both[i, j] == value * (value if j == i else z[j]) for j in range(n)]
    for j in unsure:
        rows += told.sides(M, 1, j, z[j], p[j], s[j])
        rows += [p[j] == a[j] @ each[j][:, told.k], s[j] == a[j] @ each[j] @ a[j]]
    for i in unsure:
        rows += [each[i][told.k, told.k] == z[i]]
        rows += told.known(each[i], z[i], cp.sum(both[i, :]))
        rows += told.known(M - each[i], 1 - z[i], cp.sum(z) - cp.sum(both[i, :]))
        for members in bounds.conflicts:
            rows += [
                sum(both[i, j] for j in members) >= z[i],
                sum(z[j] - both[i, j] for j in members) >= 1 - z[i],
            ]
        for j in unsure:
            if i != j:
                rows += [both[i, j] >= 0, both[i, j] <= z[i], 1 - z[i] - z[j] + both[i, j] >= 0]
            if (min(i, j), max(i, j)) in crossed:
                rows += told.sides(each[i], z[i], j, both[i, j], P[i, j], S[i, j])
                rest = (z[j] - both[i, j], p[j] - P[i, j], s[j] - S[i, j])
                rows += told.sides(M - each[i], 1 - z[i], j, *rest)
    norm = cp.trace(M[: told.counted, : told.counted])
    return _minimum(norm + penalty * cp.sum(z), rows)
