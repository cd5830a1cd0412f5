"""What rounding may have taken off scores, losses, squared norms and eigenvalues.

Where the Cholesky factorisation of A - s I runs to its end in floating point, the product of its
factors differs from A - s I by at most g / (1 - g) trace(A - s I) in norm, with g = (k + 1) u /
(1 - (k + 1) u) and the unit roundoff u (Higham, Accuracy and stability of numerical algorithms,
2002, theorem 10.3; Rump, Verification of positive definiteness, BIT 46, 2006). So

    least eigenvalue of A  >=  s - g / (1 - g) trace(A - s I).

For scores, hinge losses and squared norms each error is an a-priori bound: growth(m) times the sum
of the sizes of the terms, for m roundings (Higham, section 3.1), in whatever order the terms were
added up. The numbers of the data, of the hyperplane and of the costs are the doubles that they are.
"""

from __future__ import annotations

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.sparse_points import Points

# --- A proven lower bound on the eigenvalues of a symmetric matrix that was computed with rounding

ROUNDOFF = float(np.finfo(np.float64).eps) / 2
# Numbers this small are lost in products without a relative error.
UNDERFLOW = 1e-290
# On sums of error bounds, which are rounded themselves.
OUTWARD = 1 + 1e-6


def growth(terms: int) -> float:
    """g with |computed sum of products - true one| <= g sum |products|, for so many roundings."""
    product = terms * ROUNDOFF
    return product / (1 - product)


def least_eigenvalue(matrix: Array, error: float) -> float | None:
    """A number that no eigenvalue of any matrix near `matrix` lies below, if it is positive.

    matrix (k, k): symmetric.
    error: the true matrix differs from it by at most so much in the spectral norm.
    Returns: about half the least eigenvalue; None where nothing above 0 is proven.
    """
    if not (np.isfinite(matrix).all() and np.isfinite(error) and error >= 0):
        return None
    k = len(matrix)
    if not k:
        return 1.0
    guess = float(np.linalg.eigvalsh(matrix)[0])
    if not guess > 0:
        return None
    shift = guess / 2
    lower = matrix - shift * np.eye(k)
    try:
        np.linalg.cholesky(lower)
    except np.linalg.LinAlgError:
        return None
    g = growth(k + 1)
    diagonal = np.abs(np.diag(matrix))
    lost = g / (1 - g) * float(np.diag(lower).sum()) + 2 * ROUNDOFF * float(diagonal.max() + shift)
    proven = shift - OUTWARD * (lost + error + k * UNDERFLOW)
    return proven if proven > 0 else None


# --- What rounding may have taken off scores, hinge losses and squared norms, from their terms ---


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
