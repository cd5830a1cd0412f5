"""Sums of kernel values with an error bound, block by block: no n x n matrix is kept.

    rbf      exp(-gamma ||x - x'||^2)
    poly     (gamma <x, x'> + coef0)^degree      linear is gamma = 1, coef0 = 0, degree 1

are inner products in exact arithmetic where gamma and coef0 are not negative, and a statement about
them needs no matrix to be semidefinite in floating point. What is computed differs from them by
roundings, which are counted: of distances relatively, as their terms are not negative; of inner
products against ||x|| ||x'||, which no sum of sizes exceeds.

A given matrix has no such theorem behind it. It is taken with so much added to its diagonal that a
Cholesky factorisation proves it semidefinite (see `least_eigenvalue.py`), and statements speak of
that matrix.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from tightmargin.formulations.common.least_eigenvalue import (
    OUTWARD,
    ROUNDOFF,
    UNDERFLOW,
    growth,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.hinge_duality.exponential import LOST, RELATIVE, exp_of_negative

NUMBERS = 4e5  # kernel values of a block
MOST_SHIFT = 1e-8  # of the largest diagonal entry: more is another kernel


@dataclass(frozen=True, eq=False)
class KernelValues:
    """Points with their kernel.

    Attributes
    ----------
    X : array (n, d), or (n, n)
        Points; symmetric kernel values for "precomputed".
    kind : "linear", "poly", "rbf" or "precomputed"
    gamma, coef0 : float
    degree : int
    shift : float
        Added to the diagonal of a given matrix.
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
        step = max(1, int(NUMBERS / max(len(used), 1)))
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

    Returns
    -------
    float or None
        A power of two; None where no shift up to MOST_SHIFT of the largest entry is enough.
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
