"""The ramp loss with the l1 norm once more: by every set of points charged 2 C, and relaxed."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import linprog

from tests.references.strengthened_sdp import rows_of
from tightmargin.formulations import TrainingData


def _least(
    data: TrainingData, mode: str, blocks: list[tuple[float, np.ndarray, float | None]]
) -> float:
    """Least l1 norm + <cost, slack> with u_i + sum of slope slack_i >= 1, by scipy.

    Each block is n slacks: their slope, their costs and what they are at most.
    """
    rows, n = rows_of(data, mode), data.n
    k = rows.shape[1]
    price = np.ones(2 * k)
    if mode == "free":
        price[[k - 1, 2 * k - 1]] = 0.0
    A = -np.hstack([rows, -rows, *(slope * np.eye(n) for slope, _, _ in blocks)])
    costs = np.concatenate([price, *(cost for _, cost, _ in blocks)])
    bounds = [(0, None)] * (2 * k) + [(0, most) for _, _, most in blocks for _ in range(n)]
    found = linprog(costs, A_ub=A, b_ub=-np.ones(n), bounds=bounds)
    assert found.status == 0, found.message
    return float(found.fun)


def ramp_l1_optimum(data: TrainingData, mode: str, C: float) -> float:
    """Least norm + C sum min(2, [1 - u_i]_+) by trying every set of points that pay 2 C."""
    best = np.inf
    for each in itertools.product((0, 1), repeat=data.n):
        paid = np.array(each)
        lost = 2 * C * float(data.multiplicity @ paid)
        if lost < best:
            charged = C * data.multiplicity * (1 - paid)
            best = min(best, lost + _least(data, mode, [(1.0, charged, None)]))
    return best


def ramp_l1_relaxation(data: TrainingData, mode: str, C: float, big_m: float) -> float:
    """The same with 0 <= xi <= 2 at the price C and M z, 0 <= z <= 1, at 2 C."""
    cost = C * data.multiplicity
    return _least(data, mode, [(1.0, cost, 2.0), (big_m, 2 * cost, 1.0)])
