"""The problems whose two ends are proven: hinge, squared hinge and nu machines with prices.

    hinge           scale min [ lam/2 norm + sum_i s_i max(0, 1 - y_i f(x_i)) ]
    squared hinge   scale min [ lam/2 norm + sum_i s_i max(0, 1 - y_i f(x_i))^2 ]
    nu              scale min [ 1/2 norm - N rho + sum_i s_i max(0, rho - y_i f(x_i)) ],  rho >= 0

with f(x) = <w, phi(x)> + b and norm = ||w||^2, plus (b / column)^2 where the intercept is penalised
as the weight of a constant column. Their duals, for multipliers 0 <= a_i <= s_i (no upper limit in
the second) and v = sum_i a_i y_i phi(x_i) with the constant column in it, are

    hinge           scale [ sum_i a_i - ||v||^2 / (2 lam) ]
    squared hinge   scale [ sum_i a_i - ||v||^2 / (2 lam) - sum_i a_i^2 / (4 s_i) ]
    nu              scale [ - ||v||^2 / 2 ]   with sum_i a_i >= N

and sum_i y_i a_i = 0 where the intercept is free.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tightmargin.formulations.common.rounding import (
    OUTWARD,
    ROUNDOFF,
    UNDERFLOW,
    growth,
    most_squares,
)
from tightmargin.formulations.data.arrays import Array

# --- exp(t) for t <= 0 from additions and multiplications alone, with a proven error -------------
# IEEE arithmetic bounds the error of those, and nobody bounds that of a library's exp. With t = k
# ln 2 + r and |r| <= 0.35, exp(r) is its Taylor polynomial of degree 14 up to 0.35^15 / 15! <
# 2e-19, and its 2 * 14 roundings in Horner's scheme cost less than 30 units of roundoff. ln 2 is
# taken as two doubles, of which the first has 21 zero bits at its end, so that k times it is
# exact; r is off by at most 4 units of roundoff of 0.35 and by 2^-80 |k|. All of it is below
# RELATIVE.


HIGH, LOW = float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")
PER_LN2 = 1 / math.log(2)
TERMS = [1 / math.factorial(k) for k in range(14, -1, -1)]
RELATIVE = 64 * ROUNDOFF
LEAST = -660.0  # exp of anything below is less than 1e-286, and is called 0
LOST = 1e-286


def exp_of_negative(t: Array) -> Array:
    """exp(t) of numbers t <= 0: off by RELATIVE of itself, or below LOST and called 0."""
    inside = np.maximum(t, LEAST)
    k = np.rint(inside * PER_LN2)
    r = (inside - k * HIGH) - k * LOW
    total = np.full_like(r, TERMS[0])
    for term in TERMS[1:]:
        total *= r
        total += term
    found: Array = np.where(t < LEAST, 0.0, np.ldexp(total, k.astype(np.int32)))
    return found


# --- Sums of kernel values with an error bound, block by block: no n x n matrix is kept ----------
#     rbf      exp(-gamma ||x - x'||^2)
#     poly     (gamma <x, x'> + coef0)^degree      linear is gamma = 1, coef0 = 0, degree 1
# are inner products in exact arithmetic where gamma and coef0 are not negative, and a statement
# about them needs no matrix to be semidefinite in floating point. What is computed differs from
# them by roundings, which are counted: of distances relatively, as their terms are not negative;
# of inner products against ||x|| ||x'||, which no sum of sizes exceeds.
# A given matrix has no such theorem behind it. It is taken with so much added to its diagonal that
# a Cholesky factorisation proves it semidefinite (see `least_eigenvalue.py`), and statements speak
# of that matrix.


KERNEL_NUMBERS = 4e5  # kernel values of a block
MOST_SHIFT = 1e-8  # of the largest diagonal entry: more is another kernel


@dataclass(frozen=True, eq=False)
class KernelValues:
    """Points with their kernel.

    X (n, d) (n, n): points; symmetric kernel values for "precomputed".
    shift: added to the diagonal of a given matrix.
    """

    X: Array
    kind: str
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 1
    shift: float = 0.0

    def sums(self, c: Array) -> tuple[Array, Array]:
        """sum_i c_ik k(x_j, x_i) (n, m) of m columns (n, m), and how far each may be off."""
        used = np.flatnonzero(c.any(axis=1))
        weights, sizes = c[used], np.abs(c[used])
        n, m = c.shape
        found, errors = np.zeros((n, m)), np.zeros((n, m))
        step = max(1, int(KERNEL_NUMBERS / max(len(used), 1)))
        for start in range(0, n, step):
            part = slice(start, min(start + step, n))
            values, magnitudes, relative = self._block(part, used)
            found[part] = values @ weights
            errors[part] = (relative + growth(len(used) + 2)) * (magnitudes @ sizes)
        found += self.shift * c
        errors += 4 * ROUNDOFF * np.abs(self.shift * c)
        lost = (LOST + UNDERFLOW) * (float(sizes.sum()) + len(used))
        return found, OUTWARD * (errors + 2 * ROUNDOFF * np.abs(found) + lost)

    def _block(self, rows: slice, used: NDArray[np.intp]) -> tuple[Array, Array, float]:
        """Kernel values, numbers that bound their sizes, and the error as a share of those."""
        if self.kind == "precomputed":
            values = (self.X[rows][:, used] + self.X[used, rows].T) / 2
            return values, np.abs(values), 2 * ROUNDOFF
        left, right = self.X[rows], self.X[used]
        d = self.X.shape[1]
        if self.kind == "rbf":
            t = -self.gamma * cdist(left, right, "sqeuclidean")
            values = exp_of_negative(t)
            # A distance that is off by a share g changes exp(t) by the factor exp(g t), and one
            # that is off by what underflows by a factor that gamma may make large.
            lost = 2 * self.gamma * d * UNDERFLOW
            sizes = values * (1 + 2 * np.minimum(-t, 1e3))
            return values, sizes, RELATIVE + 2 * growth(d + 8) + (lost if lost < 0.5 else math.inf)
        base = self.gamma * (left @ right.T) + self.coef0
        size = self.gamma * np.outer(_lengths(left), _lengths(right)) + self.coef0
        values, sizes = base, size
        for _ in range(self.degree - 1):
            values, sizes = values * base, sizes * size
        return values, sizes, OUTWARD * growth((d + 8) * self.degree)

    def squares(self, c: Array, sums: Array, errors: Array) -> float:
        """A number that ||sum_i c_i phi(x_i)||^2 does not exceed, from `sums` of c (n,)."""
        used = c != 0
        terms, sizes = c[used] * sums[used], np.abs(c[used])
        off = float(sizes @ errors[used]) + growth(len(terms) + 4) * float(np.abs(terms).sum())
        found = float(terms.sum()) + OUTWARD * (off + (len(terms) + 1) * UNDERFLOW)
        return 0.0 if found <= 0 else found  # what is no number stays none


def _lengths(points: Array) -> Array:
    """Numbers that the lengths of points do not exceed."""
    squares = np.einsum("ij,ij->i", points, points)
    found: Array = np.sqrt(squares * (1 + growth(points.shape[1] + 8)) + UNDERFLOW) * (
        1 + 4 * ROUNDOFF
    )
    return found


def proven_shift(gram: Array) -> float | None:
    """What makes a symmetric matrix semidefinite once it is added to the diagonal, by proof.

    Returns: a power of two; None where no shift up to MOST_SHIFT of the largest entry is enough.
    """
    k = len(gram)
    largest = float(np.abs(np.diag(gram)).max(initial=0.0))
    if not math.isfinite(largest):
        return None
    matrix = gram / 2 + gram.T / 2
    trace = float(np.abs(np.diag(gram)).sum())
    g = growth(k + 1)
    least = 8 * OUTWARD * (g / (1 - g) * 2 * trace + 4 * ROUNDOFF * largest + k * UNDERFLOW)
    shift = 2.0 ** math.ceil(math.log2(least))
    while shift <= max(MOST_SHIFT * largest, 2 * least):
        # Half of it is factorised, and the other half pays for what that proof is short of.
        try:
            np.linalg.cholesky(matrix + shift / 2 * np.eye(k))
        except np.linalg.LinAlgError:
            shift *= 8
            continue
        return shift
    return None


# --- Scores and weights of points, dense or sparse, with what rounding may have changed ----------
# Points are read in blocks of rows: no copy of them is made, and a sum over n points is one over a
# block and one over blocks, so that its error grows with sqrt(n) roundings and not with n of them
# (Higham, Accuracy and stability of numerical algorithms, 2002, section 4.2).


FEWEST = 256  # rows of a block
DENSE_NUMBERS = 4e6  # of a dense block at most


@dataclass(frozen=True, eq=False)
class PointRows:
    """Points (n, d) as an array or a csr matrix of doubles."""

    X: Any

    def scores(self, w: Array, b: float) -> tuple[Array, Array]:
        """<w, x_i> + b (n,), and how far they may be off."""
        n = self.X.shape[0]
        found, errors = np.empty(n), np.empty(n)
        sizes, count = np.abs(w), self._longest + 4
        for part, block in self._blocks():
            found[part] = block @ w + b
            errors[part] = growth(count) * (abs(block) @ sizes + abs(b))
        return found, OUTWARD * (errors + count * UNDERFLOW)

    def squared_weight(self, c: Array) -> float:
        """A number that ||sum_i c_i x_i||^2 does not exceed."""
        d = self.X.shape[1]
        total, sizes = np.zeros(d), np.zeros(d)
        for part, block in self._blocks():
            total += block.T @ c[part]
            sizes += abs(block).T @ np.abs(c[part])
        count = self._height + math.ceil(self.X.shape[0] / self._height) + 4
        off = OUTWARD * (growth(count) * sizes + self.X.shape[0] * UNDERFLOW)
        return most_squares(np.where(sizes == 0, 0.0, np.abs(total) + off))

    @property
    def _longest(self) -> int:
        """Most terms of a score."""
        if sp.issparse(self.X):
            return int(np.diff(self.X.indptr).max(initial=0))
        return int(self.X.shape[1])

    @property
    def _height(self) -> int:
        n, d = self.X.shape
        return max(1, min(max(FEWEST, math.isqrt(n)), math.ceil(DENSE_NUMBERS / max(d, 1))))

    def _blocks(self) -> Iterator[tuple[slice, Any]]:
        n, height = self.X.shape[0], self._height
        for start in range(0, n, height):
            part = slice(start, min(start + height, n))
            yield part, self.X[part]


HINGE, SQUARED, NU = "hinge", "squared_hinge", "nu"


@dataclass(frozen=True, eq=False)
class PricedProblem:
    """One of the problems above, its doubles taken as the exact numbers that they are.

    points: where the points are; proofs speak of these and no others.
    y (n,): labels, -1 or +1.
    prices (n,): s_i >= 0, finite.
    loss: "hinge", "squared_hinge" or "nu".
    ridge, scale: lam and scale, above 0.
    column: entry of the constant column of a penalised intercept.
    total: N, of nu alone.
    Raises ValueError: a price that is no number of at least 0, as of costs times weights beyond
        doubles.
    """

    points: PointRows | KernelValues
    y: Array
    prices: Array
    loss: str
    intercept: str
    ridge: Fraction = Fraction(1)
    scale: Fraction = Fraction(1)
    column: float = 1.0
    total: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        """Refuse what would make the problem another one."""
        bad = np.flatnonzero(~(np.isfinite(self.prices) & (self.prices >= 0)))
        if bad.size:
            raise ValueError(
                f"point {bad[0]} costs {self.prices[bad[0]]}: its cost times its weights must be "
                "finite and at least 0"
            )

    @property
    def caps(self) -> Array:
        """Upper limits (n,) of the multipliers; infinite ones of the squared hinge."""
        if self.loss == SQUARED:
            return np.where(self.prices > 0, np.inf, 0.0)
        return self.prices
