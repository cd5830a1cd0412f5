"""What rounding may have taken off scores, hinge losses and squared norms, from their terms.

Each error is an a-priori bound: growth(m) times the sum of the sizes of the terms, for m roundings
(Higham, Accuracy and stability of numerical algorithms, 2002, section 3.1), in whatever order the
terms were added up. The numbers of the data, of the hyperplane and of the costs are the doubles
that they are.
"""

from __future__ import annotations

import numpy as np

from tightmargin.formulations.common.least_eigenvalue import (
    OUTWARD,
    ROUNDOFF,
    UNDERFLOW,
    growth,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.sparse_points import Points


def score_errors(points: Points, w: Array, b: float) -> Array:
    """How far <w, x_i> + b (n,) may be off, the points being rounded once each or not at all."""
    k = len(w)
    sizes = abs(points) @ np.abs(w) + abs(b)
    return OUTWARD * (growth(k + 4) * sizes + (k + 2) * UNDERFLOW)


def most_hinge(scores: Array, errors: Array, level: float = 1.0) -> Array:
    """Numbers (n,) that max(0, level - score_i) does not exceed; 0 where it is proven to be 0."""
    short = level - scores
    # A difference of two doubles is 0 where it is computed as 0, and has the computed sign.
    off = errors * OUTWARD + 4 * ROUNDOFF * np.abs(short)
    return np.where(short + off <= 0, 0.0, np.maximum(short, 0.0) + OUTWARD * off)


def summed_up(costs: Array, losses: Array) -> float:
    """A number that sum_i c_i l_i does not exceed, for c_i, l_i >= 0; 0 where all terms are 0."""
    total = float(costs @ losses)
    if not (losses[costs > 0] > 0).any():
        return 0.0
    return OUTWARD * len(losses) * UNDERFLOW + total * (1 + OUTWARD * growth(len(losses) + 6))


def most_squares(numbers: Array) -> float:
    """A number that the sum of the squares does not exceed; 0 where all numbers are 0."""
    flat = np.ravel(numbers)
    if not flat.any():
        return 0.0
    total = float(flat @ flat)
    return OUTWARD * len(flat) * UNDERFLOW + total * (1 + OUTWARD * growth(len(flat) + 6))


def excess(most: float, value: float) -> float:
    """What an upper end says beyond a value as computed, rounded up and at least 0."""
    difference = most - value
    return float(np.nextafter(difference, np.inf)) if difference > 0 else 0.0
