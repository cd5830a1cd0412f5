"""A matrix times a vector without any rounding, at the speed of floating-point products.

Numbers are cut into limbs of so few bits that sums of products of two limbs are whole numbers below
2^53, which floating-point arithmetic adds up without error in any order (Ozaki, Ogita, Oishi &
Rump, Error-free transformations of matrix multiplication by using fast routines of matrix
multiplication and its applications, Numerical Algorithms 59, 2012).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array

BITS = 53
MOST_LIMBS = 12  # of numbers further apart than these hold, Python's integers are the faster way
BLOCK = 2**14  # numbers that are worked on together: they stay in the processor's cache


def exact_products(M: sp.csr_matrix, v: Array) -> tuple[list[int], int] | None:
    """M v as integers times a power of two.

    Returns
    -------
    (list of int, int) or None
        Entry i is integers[i] * 2**exponent. None where the sizes of the numbers are too different.
    """
    count = int(np.diff(M.indptr).max(initial=0))
    if not count or not M.data.any() or not v.any():
        return [0] * M.shape[0], 0
    width = (BITS - count.bit_length()) // 2
    left, right = _limbs(M.data, width), _limbs(v, width)
    if left is None or right is None:
        return None
    columns = np.column_stack(right.parts)
    depth = len(left.parts) + len(right.parts) - 1
    sums = np.zeros((depth, M.shape[0]), dtype=np.int64)
    for i, part in enumerate(left.parts):
        limb = sp.csr_matrix((part, M.indices, M.indptr), shape=M.shape)
        sums[i : i + len(right.parts)] += (limb @ columns).T.astype(np.int64)
    return _joined(sums, width), left.top + right.top - (depth + 1) * width


def _joined(sums: NDArray[np.int64], width: int) -> list[int]:
    """Sum of sums[k] 2**(width (depth - 1 - k)) by columns; below 2**57 each, and changed."""
    depth = len(sums)
    for k in range(depth - 1, 0, -1):
        sums[k - 1] += sums[k] >> width
        sums[k] &= (1 << width) - 1
    total = sums[0].astype(object)
    several = 62 // width  # of what is left fit into one machine word
    for start in range(1, depth, several):
        lines = sums[start : start + several]
        word = lines[0]
        for line in lines[1:]:
            word = (word << width) | line
        total = (total << (width * len(lines))) + word
    return [int(entry) for entry in total]


@dataclass(frozen=True, eq=False)
class _Limbs:
    """Numbers as sum_k parts[k] 2**(top - (k + 1) width), parts whole and at most 2**width."""

    parts: list[Array]
    top: int


def _limbs(numbers: Array, width: int) -> _Limbs | None:
    """Numbers cut from the top; None where that needs too many cuts."""
    exponents = np.frexp(numbers)[1][numbers != 0]
    top, least = int(exponents.max()), int(exponents.min())
    if top - least + BITS > MOST_LIMBS * width:
        return None
    parts: list[Array] = []
    for start in range(0, len(numbers), BLOCK):
        rest, k = np.ldexp(numbers[start : start + BLOCK], width - top), 0
        while rest.any():
            whole = np.rint(rest)
            if k == len(parts):
                parts.append(np.zeros(len(numbers)))
            parts[k][start : start + BLOCK] = whole
            rest, k = (rest - whole) * 2.0**width, k + 1
    return _Limbs(parts, top)
