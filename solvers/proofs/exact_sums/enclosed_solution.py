"""A box that is proven to hold the solution of a square system, in floating point.

For B s = r with B in doubles, any R and any s^, let E = |I - R B|. Where its largest row sum beta
is below 1, B is regular, and with the residual p = r - B s^ the error e = B^-1 p solves
(I - (I - R B)) e = R p, so that

    |s - s^|  <=  |R p| + beta / (1 - beta) max |R p|.

(Rump, Verification methods: rigorous results using floating-point arithmetic, Acta Numerica 19,
2010, sec. 10). The residual is taken in whole numbers, so that only the last place of s^ counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.common.least_eigenvalue import OUTWARD, UNDERFLOW, growth
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.exact_arithmetic import scaled
from tightmargin.solvers.proofs.exact_sums.exact_products import exact_products

CONTRACTION = 0.5  # of the row sums: near 1 the box is too wide to be of use
LARGEST = 1e60  # of all numbers: products of a few stay far from the largest double


def enclosed_solution(
    matrix: Array, right: Sequence[Fraction], spread: Array
) -> tuple[Array, Array] | None:
    """The solution of a square system to within a proven radius, entry by entry.

    Parameters
    ----------
    matrix : array (k, k)
        Its entries are taken as the exact numbers that doubles are.
    right : sequence of Fraction (k,)
    spread : array (k,)
        How far the right side may be off: the solution for every one of them is in the box.

    Returns
    -------
    (array, array) or None
        Middle and radius. None where the matrix is not proven to be regular, or where numbers are
        too far apart.
    """
    k = len(matrix)
    sizes = max((abs(b) for b in right), default=Fraction(0))
    if matrix.shape != (k, k) or len(right) != k or sizes > LARGEST:
        return None
    if not ((spread >= 0) & (spread <= LARGEST)).all():
        return None
    if not np.isfinite(matrix).all() or float(np.abs(matrix).max(initial=0.0)) > LARGEST:
        return None
    try:
        inverse = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(inverse).all() or float(np.abs(inverse).max(initial=0.0)) > LARGEST:
        return None
    share = _distance_from_inverse(inverse, matrix)
    if share is None:
        return None
    middle = inverse @ np.array([float(b) for b in right])
    left = _residual(matrix, middle, right)
    if left is None:
        return None
    middle = middle + inverse @ left  # right to a rounding or so
    left = _residual(matrix, middle, right)
    if left is None:
        return None
    # One rounding of each entry of the residual, and those of the product.
    sizes_of_rows = np.abs(inverse).sum(axis=1) + k + 1
    lost = growth(k + 2) * (np.abs(inverse) @ np.abs(left)) + sizes_of_rows * UNDERFLOW
    lost = lost + np.abs(inverse) @ spread
    moved = (np.abs(inverse @ left) + lost) * OUTWARD
    radius = (moved + share / (1 - share) * moved.max(initial=0.0)) * OUTWARD
    return (middle, radius) if np.isfinite(radius).all() else None


def _distance_from_inverse(inverse: Array, matrix: Array) -> float | None:
    """Largest row sum of |I - R B|, rounded up; None where it is not small."""
    k = len(matrix)
    off = np.abs(np.eye(k) - inverse @ matrix)
    lost = growth(k + 2) * (np.abs(inverse) @ np.abs(matrix) + 1) + (k + 1) * UNDERFLOW
    share = float(((off + lost) * OUTWARD).sum(axis=1).max(initial=0.0)) * OUTWARD
    return share if share <= CONTRACTION else None


def _residual(matrix: Array, x: Array, right: Sequence[Fraction]) -> Array | None:
    """What a point leaves of the right side, to the nearest doubles."""
    found = exact_products(sp.csr_matrix(matrix), x) if np.isfinite(x).all() else None
    if found is None:
        return None
    products, exponent = found
    rest = [b - scaled(a, exponent) for a, b in zip(products, right, strict=True)]
    return np.array([float(number) for number in rest])
