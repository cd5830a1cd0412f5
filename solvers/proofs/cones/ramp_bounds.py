"""Lower bounds on the ramp loss in cells; the notation is that of cell_bounds.py.

The loss of point i is at least l(t U_i), l(u) = min(2, max(0, 1 - u)), so that the cost is at least
the least over t >= 0 of  m t^2 + sum prices_i l(t U_i).  Between two of the 1 / |U_i| the sum is
linear in t: l is 1 - u for |u| <= 1, 0 above and 2 below, and points with |U_i| < 1 / t are on
their slope. Each piece is a convex parabola on an interval, less what side rows leave of t.

Around an optimum the objective is smooth, and boxes alone would have to be as small as the square
root of the gap. What is known of one set of caps S (conflict.py: `value` bounds the cost where S
and nothing else is capped) then says more. With L_i the least <a_i, r> of the box, the loss differs
from that of these caps by at most

    prices_i max(0, -1 - t L_i)  for i not in S,      prices_i (2 - l(t U_i))  for i in S,

so that the cost is at least `value` less their sum, taken over the t at which the first bound is
below the ceiling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.proofs.cones.conflict import ProvenCaps
from tightmargin.solvers.proofs.cones.problem import DOWN, EPS, LARGEST, ConeProblem

WIDER = 1e-9  # relative, of intervals of t that roots of parabolas end


@dataclass(frozen=True, eq=False)
class _Pieces:
    """m t^2 + slope t + constant on [start, stop], pieces (B, n + 1)."""

    m: Array
    slope: Array
    constant: Array
    start: Array
    stop: Array

    def least(self) -> Array:
        """The least value (B,)."""
        turn = np.where(self.slope < 0, self.stop, self.start)
        turn = np.where(self.m > 0, -self.slope / (2 * self.m), turn)
        t = np.maximum(np.minimum(turn, self.stop), self.start)
        endless = np.where(self.slope < 0, -np.inf, 0.0)
        linear = np.where(np.isfinite(t), self.slope * t, endless)
        beyond = np.where(self.m > 0, np.inf, 0.0)
        square = np.where(np.isfinite(t), self.m * t * t, beyond)
        there = (self.start < np.inf) & (self.start <= self.stop)
        value = np.where(there, square + linear + self.constant, np.inf)
        return np.asarray(value.min(axis=1))

    def below(self, ceiling: float) -> tuple[Array, Array]:
        """An interval (B,), (B,) that holds all t with a value below a ceiling."""
        over = self.constant - ceiling
        size = self.slope * self.slope + 4 * self.m * np.abs(over)
        root = np.sqrt(np.maximum(self.slope * self.slope - 4 * self.m * over, 0.0) + WIDER * size)
        # A line has no roots to look for: all of its interval counts, wherever it ends.
        square = np.where(self.m > 0, self.m * self.stop * self.stop, 0.0)
        flat = square <= WIDER * np.abs(over)
        low = np.where(flat, 0.0, (-self.slope - root) / (2 * self.m))
        high = np.where(flat, np.inf, (-self.slope + root) / (2 * self.m))
        low = np.maximum(low * np.where(low > 0, 1 - WIDER, 1 + WIDER), self.start)
        high = np.minimum(high * (1 + WIDER), self.stop)
        above = (self.m == 0) & (self.slope == 0) & (over > 0)
        there = (low <= high) & ~above
        return np.where(there, low, np.inf).min(axis=1), np.where(there, high, 0.0).max(axis=1)


def ramp_bounds(
    problem: ConeProblem,
    boxes: tuple[Array, Array],
    U: Array,
    m: Array,
    factors: tuple[Array, Array],
    ceiling: float,
    known: Sequence[ProvenCaps],
) -> Array:
    """Lower bounds (B,) for boxes with largest products U (B, n) and least squares m (B,).

    Infinite where the factors t that side rows leave are none; `factors` are their ends (B,).
    """
    none = (factors[0] > factors[1]) | (factors[0] == np.inf)
    pieces = _pieces(problem, U, m, factors)
    n, total = U.shape[1], float(problem.prices.sum())
    # |slope| t is at most the sum of the prices, so that sums are off by no more than this.
    off = EPS * (4 * n + 64) * total
    found = np.maximum(pieces.least() * DOWN - off, 0.0)
    found = np.minimum(found, min(ceiling, LARGEST))
    found[none] = np.inf
    weak = np.flatnonzero(found < ceiling)
    if not (len(known) and len(weak) and ceiling < LARGEST):
        return found
    # The first bound may be off by so much where it decides which t are left.
    some = _pieces(problem, U[weak], m[weak], (factors[0][weak], factors[1][weak]))
    low, high = some.below(ceiling * (1 + 32 * EPS) + 2 * off)
    centre, half = (part[weak] for part in boxes)
    L = centre @ problem.points.T - half @ problem.sizes.T - problem.blur
    for caps in known:
        uncapped = np.maximum(-1 - high[:, None] * np.where(L < 0, L, 0.0), 0.0)
        t = np.where(U[weak] < 0, low[:, None], high[:, None])
        missed = np.clip(1 + t * U[weak], 0.0, 2.0)
        lost = np.where(caps.capped, missed, uncapped) @ problem.prices
        value = caps.value - lost * (1 + 8 * EPS * (n + 8)) - off
        value = np.where(np.isfinite(value), value, 0.0)
        found[weak] = np.maximum(found[weak], np.minimum(value, ceiling))
    return found


def _pieces(problem: ConeProblem, U: Array, m: Array, factors: tuple[Array, Array]) -> _Pieces:
    order = np.argsort(np.abs(U), axis=1)
    U, prices = np.take_along_axis(U, order, axis=1), problem.prices[order]
    zero = np.zeros((len(U), 1))
    before = np.hstack([zero, np.cumsum(prices, axis=1)])
    capped = np.where(U < 0, 2 * prices, 0.0)
    behind = np.hstack([np.cumsum(capped[:, ::-1], axis=1)[:, ::-1], zero])
    slope = -np.hstack([zero, np.cumsum(prices * U, axis=1)])
    # Of piece j the j smallest |U| are on their slope.
    ends = np.where(U != 0, 1 / np.abs(U), np.inf)
    start, stop = np.hstack([ends, zero]), np.hstack([np.full_like(zero, np.inf), ends])
    low, high = (end[:, None] for end in factors)
    start, stop = np.maximum(start, low), np.minimum(stop, high)
    return _Pieces(m[:, None], slope, before + behind, start, stop)
