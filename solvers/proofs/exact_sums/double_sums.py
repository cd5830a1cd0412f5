"""Sums in twice the precision, with a radius that is measured and no estimate.

Terms are added in pairs, and what each addition loses is kept (Ogita, Rump & Oishi, Accurate sum
and dot product, SIAM Journal on Scientific Computing 26, 2005). What is kept is itself summed with
rounding, which the sizes of its terms bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.common.least_eigenvalue import OUTWARD, ROUNDOFF, UNDERFLOW
from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.proofs.exact_sums.exact_products import BLOCK

# Within these a product of two doubles is exactly a sum of two.
SMALLEST, LARGEST = 1e-230, 1e100
SPLIT = 2.0**27 + 1


@dataclass(frozen=True, eq=False)
class DoubleSums:
    """Sums s with |s - high - low| <= radius, where high is s to about one rounding."""

    high: Array
    low: Array
    radius: Array

    def less(self, side: Array) -> tuple[Array, Array]:
        """The sums less a finite number each, and how far that may be off."""
        high, lost = two_sum(self.high, -side)
        low = self.low + lost
        value = high + low
        return value, OUTWARD * (self.radius + 2 * ROUNDOFF * (np.abs(low) + np.abs(value)))

    def plus(
        self, owner: NDArray[np.int64], more: Array, sizes: Array, least: float = UNDERFLOW
    ) -> DoubleSums:
        """The sums with small terms added that are known to a few roundings.

        Parameters
        ----------
        owner : array
            Sum that each of them belongs to.
        sizes : array
            Each term is known to 4 roundings of itself, and to 4 squares of one of its size.
        least : float
            And to so much, where products underflow.
        """
        height = len(self.high)
        off = 4 * ROUNDOFF * np.abs(more) + 4 * ROUNDOFF**2 * sizes + least
        radius = self.radius + np.bincount(owner, off, height)
        added = np.bincount(owner, more, height)
        count = np.bincount(owner, minlength=height)
        radius += roundings(count + 2) * np.bincount(owner, np.abs(more), height)
        low = self.low + added
        return DoubleSums(self.high, low, OUTWARD * (radius + 2 * ROUNDOFF * np.abs(low)))

    def outside(self, lower: Array, upper: Array) -> tuple[Array, NDArray[np.bool_]]:
        """By how much the sums are outside two sides each, rounded up, where that is decided.

        Returns
        -------
        array, array of bool
            0 inside; and which of them are decided.
        """
        found, decided = np.zeros(len(self.high)), np.isfinite(self.high + self.radius)
        for side, sign in ((lower, 1.0), (upper, -1.0)):
            finite = np.isfinite(side)
            with np.errstate(over="ignore", invalid="ignore"):
                value, radius = self.less(np.where(finite, side, 0.0))
                inside, missed = sign * value >= radius, sign * value < -radius
                excess = np.nextafter((radius - sign * value) * (1 + 4 * ROUNDOFF), np.inf)
            found = np.where(finite & missed, np.maximum(found, excess), found)
            decided &= ~finite | inside | missed
        return found, decided


def double_sums(terms: Array, lost: Array, indptr: NDArray[np.int64]) -> DoubleSums:
    """Sums over the rows of a compressed matrix, of terms and of what their rounding has lost.

    Nothing may over- or underflow: sums of doubles never do the latter.
    """
    count = np.diff(indptr)
    high, low, radius = (np.zeros(len(count)) for _ in range(3))
    shares = np.frexp(np.maximum(count, 1) - 0.5)[1]  # rows of 2^(k - 1) + 1 to 2^k terms
    for share in np.unique(shares[count > 0]).tolist():
        alike, size = np.flatnonzero((shares == share) & (count > 0)), 1 << share
        step = max(BLOCK // size, 1)
        for start in range(0, len(alike), step):
            rows = alike[start : start + step]
            inside = np.arange(size)[:, None] < count[rows]
            at = np.where(inside, indptr[rows] + np.arange(size)[:, None], 0)
            found = _in_pairs(np.where(inside, terms[at], 0.0), np.where(inside, lost[at], 0.0))
            high[rows], low[rows], radius[rows] = found
    return DoubleSums(high, low, radius)


def _in_pairs(terms: Array, lost: Array) -> tuple[Array, Array, Array]:
    """Sums of the columns of an array with a power of two of rows, added in halves."""
    sizes, additions = np.abs(lost), 1
    while len(terms) > 1:
        half = len(terms) // 2
        terms, errors = two_sum(terms[:half], terms[half:])
        lost = (lost[:half] + lost[half:]) + errors
        sizes = (sizes[:half] + sizes[half:]) + np.abs(errors)
        additions += 2
    return terms[0], lost[0], 2 * additions * ROUNDOFF * OUTWARD * sizes[0]


def two_products(a: Array, b: Array) -> tuple[Array, Array]:
    """Rounded products and what they lack, without a fused multiply-add.

    After Dekker, A floating-point technique for extending the available precision, Numerische
    Mathematik 18, 1971; exact where nothing over- or underflows.
    """
    product, lost = np.empty_like(a), np.empty_like(a)
    for start in range(0, len(a), BLOCK):
        part = slice(start, start + BLOCK)
        product[part], lost[part] = two_product(a[part], b[part])
    return product, lost


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """`two_products` of a few numbers."""
    product = a * b
    a_high, b_high = _upper_half(a), _upper_half(b)
    a_low, b_low = a - a_high, b - b_high
    return product, a_low * b_low - (
        ((product - a_high * b_high) - a_low * b_high) - a_high * b_low
    )


def _upper_half(a: Array) -> Array:
    far = SPLIT * a
    return far - (far - a)


def in_range(a: Array, b: Array, products: Array) -> NDArray[np.bool_]:
    """Which products lose nothing to over- or underflow."""
    sizes = np.abs(products)
    inside = (np.abs(a) <= LARGEST) & (np.abs(b) <= LARGEST) & (sizes >= SMALLEST)
    found: NDArray[np.bool_] = inside | (a == 0) | (b == 0)
    return found


def roundings(terms: NDArray[np.int64]) -> Array:
    """g with |computed sum of products - true one| <= g sum |products|, for so many roundings."""
    product = terms * ROUNDOFF
    return product / (1 - product)


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Rounded sums and what they lack."""
    total = a + b
    back = total - a
    return total, (a - (total - back)) + (b - back)
