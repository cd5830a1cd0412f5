"""What multipliers of a box cut off from it: pieces in which nothing better can be.

The bound of a box is a constant and a term t_j z_j - P_j z_j^2 for each direction, so that where
one term is larger by what the bound lacks of the target, nothing of interest is left. Where the
term is concave that is an interval of z_j: it may reach an end of the box, which shrinks then, or
lie inside, where it parts two boxes. Where it is convex that is all outside of an interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tightmargin.cuts.concave.node_program import Prices
from tightmargin.formulations.data.arrays import Array


@dataclass(frozen=True)
class Piece:
    """An interval of one direction where the multipliers close the box."""

    axis: int
    start: float
    end: float


def pieces(prices: Prices, low: Array, high: Array, target: float) -> list[Piece]:
    """At most one interval for each direction, inside the box, or two at its ends.

    prices: with a bound below the target on the box.
    """
    if prices.mu == 0 or not math.isfinite(prices.constant):
        return []
    terms = prices.terms(low, high)
    lacks = target - prices.constant - float(terms.sum())
    found = []
    for j in np.flatnonzero(high > low).tolist():
        t, P, level = float(prices.t[j]), float(prices.weights[j]), float(terms[j]) + lacks
        ends = float(low[j]), float(high[j])
        for start, end in _above(t, P, level, *ends):
            start, end = max(start, ends[0]), min(end, ends[1])
            if start < end:
                found.append(Piece(j, start, end))
    return found


def _above(t: float, P: float, level: float, low: float, high: float) -> list[tuple[float, float]]:
    """Where t z - P z^2 >= level between two ends."""
    if P == 0:
        if t == 0:
            return []
        return [(level / t, high)] if t > 0 else [(low, level / t)]
    # Around the top of the parabola, so that no root is a difference of large numbers.
    top = t / (2 * P)
    height = (t * top - P * top * top - level) / P
    if height <= 0:
        return []
    half = math.sqrt(height)
    if P > 0:
        return [(top - half, top + half)]
    return [(low, top - half), (top + half, high)]
