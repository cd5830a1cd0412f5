"""A proven lower bound on the eigenvalues of a symmetric matrix that was computed with rounding.

Where the Cholesky factorisation of A - s I runs to its end in floating point, the product of its
factors differs from A - s I by at most g / (1 - g) trace(A - s I) in norm, with g = (k + 1) u /
(1 - (k + 1) u) and the unit roundoff u (Higham, Accuracy and stability of numerical algorithms,
2002, theorem 10.3; Rump, Verification of positive definiteness, BIT 46, 2006). So

    least eigenvalue of A  >=  s - g / (1 - g) trace(A - s I).
"""

from __future__ import annotations

import numpy as np

from tightmargin.formulations.data.arrays import Array

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
