"""Steps that narrow intervals of columns, each outward by more than what it may have rounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.common.least_eigenvalue import ROUNDOFF as UNIT
from tightmargin.formulations.data.arrays import Array

BLOCK = 2**15  # entries of rows that are worked on together: they stay in the processor's cache
OUTWARD = 1e-12
LEAST = 1e-90  # of the size of a number of a model, and of a limit that is not 0


@dataclass
class Limits:
    """Intervals of the columns, narrowed step by step."""

    low: Array
    high: Array

    def rows(self, A: sp.csr_matrix) -> tuple[Array, Array]:
        """Least and largest value of A x, outwards; infinite where a column without a limit is."""
        up, down = A.maximum(0), A.minimum(0)
        low, pad = _product(up, self.low, down, self.high)
        high, room = _product(up, self.high, down, self.low)
        return low - pad, high + room

    def narrow(self, columns: NDArray[Any], low: Array, high: Array) -> None:
        """Intersect, a little outwards."""
        with np.errstate(invalid="ignore"):
            low, high = low - OUTWARD * np.abs(low), high + OUTWARD * np.abs(high)
        # So that no later product of three underflows.
        low = np.where((np.abs(low) < LEAST) & (low != 0), -LEAST, low)
        high = np.where((np.abs(high) < LEAST) & (high != 0), LEAST, high)
        np.maximum.at(self.low, columns, np.where(np.isfinite(low), low, -np.inf))
        np.minimum.at(self.high, columns, np.where(np.isfinite(high), high, np.inf))


def _product(A: sp.csr_matrix, x: Array, B: sp.csr_matrix, y: Array) -> tuple[Array, Array]:
    """A x + B y, where infinite entries count only in columns that occur, and its rounding."""
    total, size, endless = np.zeros(A.shape[0]), np.zeros(A.shape[0]), np.zeros(A.shape[0])
    for M, v in ((A, x), (B, y)):
        finite = np.where(np.isfinite(v), v, 0.0)
        total += M @ finite
        size += abs(M) @ np.abs(finite)
        endless += M @ np.where(np.isfinite(v), 0.0, np.sign(v))
    count = np.diff(A.indptr) + np.diff(B.indptr)
    total = np.where(endless != 0, np.copysign(np.inf, endless), total)
    return total, (count + 8) * 4 * UNIT * size


def by_rows(A: sp.csr_matrix, lower: Array, upper: Array, limits: Limits) -> None:
    """a_j x_j <= side - the least of the other terms, and the other way round."""
    ends = np.searchsorted(A.indptr, np.arange(BLOCK, A.nnz, BLOCK))
    cuts = np.unique(np.r_[0, ends, A.shape[0]])
    for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        _by_few_rows(A, first, last, (lower, upper), limits)


def _by_few_rows(
    A: sp.csr_matrix, first: int, last: int, sides: tuple[Array, Array], limits: Limits
) -> None:
    """The same of rows that follow one another."""
    lower, upper = (side[first:last] for side in sides)
    part = slice(A.indptr[first], A.indptr[last])
    counts = np.diff(A.indptr[first : last + 1])
    i = np.repeat(np.arange(last - first), counts)
    j, a, count = A.indices[part], A.data[part], counts[i]
    with np.errstate(invalid="ignore", over="ignore"):
        least = np.where(a > 0, a * limits.low[j], a * limits.high[j])
        most = np.where(a > 0, a * limits.high[j], a * limits.low[j])
        low_rest, low_pad = _others(least, i, last - first, -np.inf)
        high_rest, high_pad = _others(most, i, last - first, np.inf)
        rounding = (count + 8) * 4 * UNIT
        above, below = upper[i] - low_rest, lower[i] - high_rest
        above = above + rounding * (low_pad + np.abs(upper[i]))
        below = below - rounding * (high_pad + np.abs(lower[i]))
        limits.narrow(
            j, np.where(a > 0, below / a, above / a), np.where(a > 0, above / a, below / a)
        )


def _others(terms: Array, rows: NDArray[Any], height: int, endless: float) -> tuple[Array, Array]:
    """Sum of the other terms of each term's row, and of their sizes; `endless` when one is."""
    open_terms = ~np.isfinite(terms)
    finite = np.where(open_terms, 0.0, terms)
    sums = np.bincount(rows, finite, height)
    sizes = np.bincount(rows, np.abs(finite), height)
    if not open_terms.any():
        return sums[rows] - finite, sizes[rows]
    several = np.bincount(rows[open_terms], minlength=height)[rows] > open_terms
    return np.where(several, endless, sums[rows] - finite), sizes[rows]


def by_terms(columns: NDArray[Any], curved: Array, a: Array, most: float, limits: Limits) -> None:
    """Each term c x^2 + a x is what a sum of at most `most` leaves beside the least of the others.

    Parameters
    ----------
    columns : array (k,)
        Of the terms; none twice.
    curved, a : arrays (k,)
        c and a.
    """
    low, high = limits.low[columns], limits.high[columns]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        least = np.where(a > 0, a * low, np.where(a < 0, a * high, 0.0))
        # Where rounding may have bent the form the wrong way, that is the least.
        size = np.where(curved < 0, np.maximum(np.abs(low), np.abs(high)), 0.0)
        least = least + np.where(curved < 0, curved * size**2, 0.0)
        bend = np.where(curved > 0, curved, 1.0)
        best = np.clip(-a / (2 * bend), low, high)
        least = np.where(curved > 0, (curved * best + a) * best, least)
        # (c x + a) x at its minimum rounds by far less than this share of a^2 / c.
        sizes = np.where(curved > 0, curved * best**2 + np.abs(a * best), np.abs(least))
    finite = np.where(np.isfinite(least), least, 0.0)
    endless = ~np.isfinite(least)
    if endless.sum() > 1:
        return
    pad = (len(a) + 8) * 4 * UNIT * (float(sizes[~endless].sum()) + abs(most))
    room = most - (float(finite.sum()) - finite) + pad
    if endless.any():
        room = np.where(endless, room, np.inf)
    used = np.flatnonzero((a != 0) | (curved > 0))
    room, a, curved = room[used], a[used], curved[used]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        square, rest = a * a, 4 * bend[used] * room
        square = square + rest + 8 * UNIT * (square + np.abs(rest))
        root = np.sqrt(np.maximum(square, 0.0)) * (1 + 8 * UNIT)
        reach = (np.abs(a) + root) * (8 * UNIT)
        straight = room / a
        top = np.where(
            curved > 0, (-a + root + reach) / (2 * bend[used]),
            np.where((a > 0) & (curved == 0), straight, np.inf),
        )  # fmt: skip
        bottom = np.where(
            curved > 0, (-a - root - reach) / (2 * bend[used]),
            np.where((a < 0) & (curved == 0), straight, -np.inf),
        )  # fmt: skip
        limits.narrow(columns[used], bottom, top)
