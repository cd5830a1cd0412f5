"""Moves of a few numbers that solve equations: rational ones, or each within a proven radius."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr

from tightmargin.formulations.common.least_eigenvalue import OUTWARD, UNDERFLOW, growth
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.exact import dyadic, scaled, solve_exactly
from tightmargin.solvers.kernel.sums import exact_products

# --- A box that is proven to hold the solution of a square system, in floating point -------------
# For B s = r with B in doubles, any R and any s^, let E = |I - R B|. Where its largest row sum
# beta is below 1, B is regular, and with the residual p = r - B s^ the error e = B^-1 p solves (I
# - (I - R B)) e = R p, so that
#     |s - s^|  <=  |R p| + beta / (1 - beta) max |R p|.
# (Rump, Verification methods: rigorous results using floating-point arithmetic, Acta Numerica 19,
# 2010, sec. 10). The residual is taken in whole numbers, so that only the last place of s^ counts.


CONTRACTION = 0.5  # of the row sums: near 1 the box is too wide to be of use
LARGEST = 1e60  # of all numbers: products of a few stay far from the largest double


def enclosed_solution(
    matrix: Array, right: Sequence[Fraction], spread: Array
) -> tuple[Array, Array] | None:
    """The solution of a square system to within a proven radius, entry by entry.

    matrix (k, k): its entries are taken as the exact numbers that doubles are.
    right (k,).
    spread (k,): how far the right side may be off: the solution for every one of them is in the
        box.
    Returns: middle and radius. None where the matrix is not proven to be regular, or where numbers
        are too far apart.
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


# Equations that are solved in whole numbers; beyond that in floating point, up to those that take a
# few tenths of a second.
FREE_LIMIT, ENCLOSED_LIMIT = 24, 1000
# Moves of another size lose more than their last places.
TINY, HUGE = Fraction(2) ** -900, Fraction(2) ** 900


@dataclass(frozen=True, eq=False)
class Step:
    """Moves by number of the mover, each within its radius of one that solves the equations.

    radius: 0 where the moves are a solution themselves.
    """

    moves: dict[int, Fraction]
    radius: Array

    def floats(self) -> Array | None:
        """The moves to the nearest floats; None where one is too small or large to be near."""
        if any(delta and not TINY <= abs(delta) <= HUGE for delta in self.moves.values()):
            return None
        return np.array([float(delta) for delta in self.moves.values()])


def step_of(
    block: Array,
    weights: Array,
    numbers: NDArray[np.intp],
    right: Sequence[Fraction],
    spread: Array | None = None,
    limit: int = FREE_LIMIT,
) -> Step | None:
    """Steps of the movers with the largest weights that solve the equations; None without any.

    block (movers, equations): coefficients, doubles as they stand.
    weights (movers,): 0 stands for one like the largest, and for a mover whose step is to be known
        exactly.
    numbers (movers,): what the movers are called.
    right (equations,).
    spread (equations,): how far the right side may be off: the step is then enclosed, as it is
        where there are more equations than whole numbers solve quickly.
    limit: so many they may be.
    """
    chosen = independent_movers(block, weights)
    rank = len(chosen)
    if not rank:
        return None
    places = [int(numbers[k]) for k in chosen]
    if spread is not None or len(right) > limit:
        off = np.zeros(len(right)) if spread is None else spread
        enclosed = rank == len(right) and (weights[chosen] > 0).all()
        near = enclosed_solution(block[chosen].T, right, off) if enclosed else None
        if near is None:
            return None
        middle, radius = near
        return Step(dict(zip(places, map(Fraction, middle.tolist()), strict=True)), radius)
    exact = rational_moves(block[chosen], right)
    return None if exact is None else Step(dict(zip(places, exact, strict=True)), np.zeros(rank))


def independent_movers(block: Array, weights: Array) -> NDArray[np.intp]:
    """Places of as many movers as are independent, those of large weights first.

    Equations count alike, whatever the size of their coefficients.

    block, weights (movers, equations) (movers,): as for `step_of`.
    """
    if not len(block):
        return np.zeros(0, dtype=np.intp)
    weighted = block * np.where(weights > 0, weights, 1.0)[:, None]
    straight, bent = (
        np.abs(weighted[part]).max(initial=0.0) for part in (weights > 0, weights == 0)
    )
    if bent > 0:
        weighted[weights == 0] *= (straight or 1.0) / bent
    if not np.isfinite(weighted).all():
        return np.zeros(0, dtype=np.intp)
    weighted /= np.maximum(np.abs(weighted).max(axis=0, initial=0.0), 1e-300)
    r, pivots = qr(weighted.T, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(r))
    rank = int((diagonal > 1e-11 * diagonal.max(initial=0.0)).sum())
    return np.asarray(pivots[:rank], dtype=np.intp)


def rational_moves(movers: Array, right: Sequence[Fraction]) -> list[Fraction] | None:
    """Moves of independent movers (rank, equations) that solve the equations; None without any."""
    rank = len(movers)
    exact = dyadic(movers.T.ravel())
    lines = [exact.integers[k * rank : (k + 1) * rank] for k in range(len(right))]
    found = solve_exactly(lines, right)
    if found is None:
        return None
    unit = scaled(1, -exact.exponent)
    return [delta * unit for delta in found]
