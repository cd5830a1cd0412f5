"""Many hinge-loss machines on the same few features at once, each with a proven lower bound.

    F(c) = min_v  1/2 v'Pv + sum_i c_i max(0, 1 - g_i'v),      g_i = y_i (x_i, 1) or y_i x_i

for many rows c >= 0 of costs. P is diagonal with entries 1, and 0 for a free intercept. A
primal-dual interior point method keeps one small matrix P + G'TG for each of them; whatever it ends
with, its multipliers a are put into their box and, for a free intercept, rescaled to sum y_i a_i =
0, and weak duality gives

    F(c) >= sum a_i - 1/2 ||(sum a_i g_i) on the priced columns||^2 - |sum y_i a_i| B,

with |b| <= B at an optimum: the last term is what rounding leaves of the balance.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.common.rounding import OUTWARD, UNDERFLOW
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.lemma import Lemma
from tightmargin.formulations.zero_one.loss import EPS

STEPS = 80
CLOSE = 1e-10  # of the objective: gap at which a machine is done
PATIENCE = 12  # steps without halving the gap after which it is left as it is
TO_BOUNDARY = 0.99
WEAK_DUALITY = "weak duality at multipliers put into their box"


class Machines(NamedTuple):
    """Solutions v (B, k) of B problems, and what proves a lower bound of the value of each."""

    v: Array
    lemmas: list[Lemma]

    @property
    def lower(self) -> Array:
        """The bounds (B,)."""
        return np.array([lemma.value for lemma in self.lemmas])


def hinge_machines(
    G: Array, price: Array, costs: Array, reach: float, deadline: float | None = None
) -> Machines:
    """Solve F(c) for every row of costs.

    G (n, k): rows g_i; the last column is y when the intercept is free.
    price (k,): diagonal of P.
    costs (B, n): c_i >= 0; 0 leaves the point out.
    reach: B, a bound on |b| at an optimum; of no meaning when every column is priced.
    deadline: of time.perf_counter(): the machines are left as they are then.
    """
    # Columns of length 1: P is no identity then, and no number is far from the others.
    unit = np.sqrt((G**2).max(axis=0))
    unit[unit == 0] = 1.0
    scaled, P = G / unit, price / unit**2
    v, alpha = _interior_point(scaled, P, costs, reach * unit[-1], deadline)
    return Machines(v / unit, bounding_lemmas(scaled, P, costs, alpha, reach * unit[-1]))


def _value(G: Array, P: Array, costs: Array, v: Array) -> Array:
    loss = (costs * np.maximum(0.0, 1 - v @ G.T)).sum(axis=1)
    value: Array = 0.5 * (v * v) @ P + loss
    return value


def proven_bounds(G: Array, P: Array, costs: Array, alpha: Array, reach: float) -> Array:
    """The values (B,) of `bounding_lemmas`."""
    return _weak_duality(G, P, _repaired(G, P, costs, alpha), reach)


def bounding_lemmas(G: Array, P: Array, costs: Array, alpha: Array, reach: float) -> list[Lemma]:
    """Lower bounds (B,) of F by weak duality, at multipliers (B, n) put into box and balance.

    The other arguments are those of `hinge_machines`, with P for price. Rows and prices may have
    been divided by the same unit, rounded once.
    """
    alpha = _repaired(G, P, costs, alpha)
    lower = _weak_duality(G, P, alpha, reach)
    boxed = np.atleast_1d((alpha >= 0).all(axis=1) & (alpha <= costs).all(axis=1))
    priced = bool((P >= 0).all())
    return [
        Lemma(
            float(value),
            WEAK_DUALITY,
            {
                "0 <= alpha_i <= c_i": bool(inside),
                "no price of a column is negative": priced,
                "the rest of y'alpha is priced by a bound on b": math.isfinite(reach),
            },
        )
        for value, inside in zip(lower, boxed, strict=True)
    ]


def _repaired(G: Array, P: Array, costs: Array, alpha: Array) -> Array:
    """Multipliers in their box, those of the heavier class scaled down to the lighter one."""
    found: Array = np.clip(alpha, 0.0, costs)
    if (P > 0).all():
        return found
    y = np.sign(G[:, -1])
    plus, minus = found @ (y > 0), found @ (y < 0)
    less = np.minimum(plus, minus)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(y > 0, (less / plus)[:, None], (less / minus)[:, None])
    return found * np.where(np.isfinite(factor), np.minimum(factor, 1.0), 0.0)


def _weak_duality(G: Array, P: Array, alpha: Array, reach: float) -> Array:
    """The formula of the module's docstring (B,), rounded down."""
    priced, left = P > 0, np.zeros(len(alpha))
    if not priced.all():
        one = np.abs(G[:, -1])  # 1 / unit, for a label
        left = np.abs(alpha @ G[:, -1]) + 4 * len(G) * EPS * (alpha @ one)
    total = alpha.sum(axis=1)
    along, size = alpha @ G[:, priced], alpha @ np.abs(G[:, priced])
    # The true sum may be as long as the computed one and its rounding together.
    terms = len(G) + 8
    widest = np.abs(along) + terms * EPS * size + terms * UNDERFLOW
    quadratic = 0.5 * (widest**2 / P[priced]).sum(axis=1)
    rounding = (terms + G.shape[1]) * EPS * (total + quadratic + left * reach)
    lower: Array = total - quadratic - left * reach - OUTWARD * rounding
    return lower


def _interior_point(
    G: Array, price: Array, costs: Array, reach: float, deadline: float | None
) -> tuple[Array, Array]:
    """Points v (B, k), and the multipliers (B, n) of the best bounds.

    Steps towards  G v + xi - s = 1,  alpha s = (c - alpha) xi = mu -> 0; the best of them all.

    Each step has a point v and, from its multipliers, a proven bound; a machine is done when the
    two meet, or when neither has improved for a while.
    """
    B, (n, k) = len(costs), G.shape
    on = costs > 0
    count = np.maximum(on.sum(axis=1), 1)
    v, alpha = np.zeros((B, k)), np.where(on, costs / 2, 1.0)
    beta, s, xi = alpha.copy(), np.ones((B, n)), np.full((B, n), 2.0)
    best, upper, lower = v.copy(), np.full(B, np.inf), np.full(B, -np.inf)
    centring, idle, w = np.full(B, 0.3), np.zeros(B, dtype=int), np.arange(B)
    proof = np.zeros((B, n))
    halved = np.full(B, np.inf)  # gap when it had last become half of what it was
    for _ in range(STEPS):
        if deadline is not None and time.perf_counter() > deadline:
            break
        value = _value(G, price, costs[w], v[w])
        here = np.where(on[w], alpha[w], 0.0)
        repaired = _repaired(G, price, costs[w], here)
        bound = _weak_duality(G, price, repaired, reach)
        higher = bound > lower[w]
        proof[w[higher]] = repaired[higher]
        better = value < upper[w]
        best[w[better]] = v[w[better]]
        upper[w], lower[w] = np.fmin(upper[w], value), np.fmax(lower[w], bound)
        gap = upper[w] - lower[w]
        idle[w] = np.where(gap < halved[w] / 2, 0, idle[w] + 1)
        halved[w] = np.where(idle[w] == 0, gap, halved[w])
        w = w[(gap > CLOSE * upper[w]) & (idle[w] < PATIENCE)]
        if not w.size:
            break
        mu = centring[w] * ((alpha[w] * s[w] + beta[w] * xi[w]) * on[w]).sum(axis=1)
        state = (alpha[w], beta[w], s[w], xi[w])
        step = _direction(G, np.diag(price), v[w], *state, on[w], mu / (2 * count[w]))
        dv, changes = step[0], (step[1], -step[1], *step[2:])
        length = np.ones(len(w))
        for numbers, change in zip(state, changes, strict=True):
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(on[w] & (change < 0), -numbers / change, np.inf)
            length = np.minimum(length, TO_BOUNDARY * room.min(axis=1))
        # Short steps ask for the middle first, long ones may aim at the end.
        centring[w] = np.clip((1 - length) ** 2, 0.05, 0.8)
        t = length[:, None]
        v[w] += t * dv
        for numbers, change in zip((alpha, beta, s, xi), changes, strict=True):
            numbers[w] += np.where(on[w], t * change, 0.0)
    return best, proof


def _direction(
    G: Array, P: Array, v: Array, alpha: Array, beta: Array, s: Array, xi: Array,
    on: NDArray[np.bool_], mu: Array,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Newton's step towards complementarity mu."""
    m = mu[:, None]
    short = 1 - v @ G.T - xi + s
    theta = np.where(on, 1 / (xi / beta + s / alpha), 0.0)
    h = short - m / beta + xi + m / alpha - s
    matrix = P + np.einsum("bn,nk,nl->bkl", theta, G, G, optimize=True)
    matrix += 1e-14 * np.einsum("bkk->b", matrix)[:, None, None] * np.eye(len(P))
    right = (theta * h + np.where(on, alpha, 0.0)) @ G - v @ P
    dv = np.linalg.solve(matrix, right[:, :, None])[:, :, 0]
    dalpha = theta * (h - dv @ G.T)
    ds = (m - alpha * s - s * dalpha) / alpha
    dxi = (m - beta * xi + xi * dalpha) / beta
    return dv, dalpha, ds, dxi
