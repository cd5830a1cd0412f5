"""Lower bounds on hinge machines of several classes by weak duality, from any multipliers.

    min  ridge N + sum_i c_i max(0, max_k 1 - f_{y_i}(x_i) + f_k(x_i)),      N = sum_k ||B_k||^2

is at least  sum a_ik - ||pull||^2 / (4 ridge) - ||pull on b|| reach  for a_ik >= 0 with sum over k
other than y_i of a_ik <= c_i, where pull = sum a_ik (gradient of f_{y_i}(x_i) - f_k(x_i)) and
reach bounds ||b|| at an optimum; with a penalised or no intercept the last term is not there.
"""

from __future__ import annotations

import math

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.zero_one.loss import EPS
from tightmargin.solvers.hinge_batch.multiclass import Space, slope_of


def intercept_reach(space: Space, ridge: float, truncation: float, known: float) -> float:
    """Bound on ||b|| at the optimum that multiclass_big_m keeps, from a known objective.

    There every class a has a point j at which f_a - f_k >= min(s, -1) for all k (its own kept
    point, or the one where it would begin to cost something), so b_a - b_k >= min(s, -1) -
    sqrt(2 known / ridge) max ||x||, for every pair; and b sums to zero.
    """
    points = space.X * space.unit
    if space.intercept != "none":
        points = points[:, :-1]
    farthest = float(np.sqrt((points**2).sum(axis=1).max()))
    most = max(1.0, -truncation) + math.sqrt(2 * known / ridge) * farthest
    return math.sqrt(len(space.Q)) * most * (1 + 1e-9)


def hinge_bounds(space: Space, costs: Array, multipliers: Array, reach: float) -> Array:
    """Proven lower bounds (B,) of the machines with costs (B, n); multipliers (B, n, K)."""
    a = _into_box(space, costs, multipliers)
    free = space.price == 0
    if free.any():
        a = _balanced(space, a)
    pull = slope_of(space, a, space.y)
    total = a.sum(axis=(1, 2))
    # Each entry of pull is a sum of n K products, with |x| and twice the multipliers in them.
    size = 2 * a.sum(axis=2) @ np.abs(space.X)
    error = 8 * (costs.shape[1] * len(space.Q) + 16) * EPS * size
    priced, width = ~free, np.abs(pull).max(axis=1) + error
    count = space.Q.shape[1]
    square = (pull[:, :, priced] ** 2 / (4 * space.price[priced])).sum(axis=(1, 2))
    slack = count * (width[:, priced] * error[:, priced] / space.price[priced]).sum(axis=1)
    lower: Array = total * (1 - 8 * costs.shape[1] * EPS) - square * (1 + 64 * EPS) - slack
    if free.any():
        left = np.sqrt((pull[:, :, free] ** 2).sum(axis=(1, 2))) + count * error[:, free].sum(
            axis=1
        )
        lower = lower - left * reach
    return lower


def _into_box(space: Space, costs: Array, multipliers: Array) -> Array:
    """Multipliers of the other classes, at least 0 and with a sum of at most the cost."""
    a = np.maximum(np.where(np.isfinite(multipliers), multipliers, 0.0), 0.0)
    a[:, np.arange(len(space.y)), space.y] = 0.0
    total = a.sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(total > costs, costs / total, 1.0)
    return a * np.where(np.isfinite(factor), factor, 0.0)[:, :, None]


def _balanced(space: Space, a: Array) -> Array:
    """Smaller multipliers by which each class gives as much as it takes, as far as that goes.

    What class k gives to another is the sum of its a_i,other over the points i of k. Where k gives
    too much and the other takes too much, less goes there.
    """
    K = len(space.Q)
    members = (space.y[:, None] == np.arange(K)).astype(float)
    flow = np.einsum("ik,bil->bkl", members, a)
    excess = flow.sum(axis=2) - flow.sum(axis=1)
    factor = np.ones(flow.shape)
    for k in range(K):
        for other in range(K):
            most = flow[:, k, other]
            less = np.clip(np.minimum(excess[:, k], -excess[:, other]), 0.0, most)
            with np.errstate(divide="ignore", invalid="ignore"):
                factor[:, k, other] = np.where(most > 0, 1 - less / most, 1.0)
            excess[:, k] -= less
            excess[:, other] += less
    return a * factor[:, space.y, :]
