"""What multipliers of a box cut off from it: pieces in which nothing better can be.

The bound of a box is a constant and a term t_j z_j - P_j z_j^2 for each direction, so that where
one term is larger by what the bound lacks of the target, nothing of interest is left: an interval
of z_j, since the term is concave. It may reach an end of the box, which shrinks then, or lie
inside, where it parts two boxes.
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
    """At most one interval for each direction, inside the box.

    Parameters
    ----------
    prices : Prices
        With a bound below the target on the box.
    """
    if prices.mu == 0 or not math.isfinite(prices.constant):
        return []
    terms = prices.terms(low, high)
    lacks = target - prices.constant - float(terms.sum())
    found = []
    for j in np.flatnonzero(high > low).tolist():
        t, P, level = float(prices.t[j]), float(prices.weights[j]), float(terms[j]) + lacks
        inside = _above(t, P, level, float(low[j]), float(high[j]))
        if inside is not None:
            found.append(Piece(j, *inside))
    return found


def _above(t: float, P: float, level: float, low: float, high: float) -> tuple[float, float] | None:
    """Where t z - P z^2 >= level between two ends."""
    if P <= 0:
        if t == 0:
            return None
        start, end = (level / t, high) if t > 0 else (low, level / t)
    else:
        # Around the top of the parabola, so that no root is a difference of large numbers.
        top = t / (2 * P)
        height = t * top - P * top * top - level
        if height <= 0:
            return None
        half = math.sqrt(height / P)
        start, end = top - half, top + half
    start, end = max(start, low), min(end, high)
    return (start, end) if start < end else None
