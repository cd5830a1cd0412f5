"""Exact arithmetic on floating-point numbers: every float is an integer times a power of two.

Sums of products are taken in Python's integers, which is some hundred times faster than one
Fraction a product; Fractions are left for the few numbers that are no floats.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import lshift, mul

import numpy as np

from tightmargin.formulations.data.arrays import Array


@dataclass(frozen=True)
class Dyadic:
    """Finite floats as integers times one power of two.

    Attributes
    ----------
    integers : list of int
    exponent : int
        Number k is integers[k] * 2**exponent.
    """

    integers: list[int]
    exponent: int

    def fraction(self, k: int) -> Fraction:
        """Number k."""
        return scaled(self.integers[k], self.exponent)


def dyadic(values: Array) -> Dyadic:
    """Exact integers of finite floats.

    Raises
    ------
    ValueError
        A number is NaN or infinite.
    """
    values = np.asarray(values, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("only finite numbers have an exact value")
    mantissa, power = np.frexp(values)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    nonzero = whole != 0
    if not nonzero.any():
        return Dyadic([0] * len(values), 0)
    least = int(power[nonzero].min())
    shifts = np.where(nonzero, power - least, 0)
    if not shifts.any():
        return Dyadic(whole.tolist(), least - 53)
    return Dyadic(list(map(lshift, whole.tolist(), shifts.tolist())), least - 53)


def scaled(integer: int, exponent: int) -> Fraction:
    """integer * 2**exponent."""
    return Fraction(integer << exponent) if exponent >= 0 else Fraction(integer, 1 << -exponent)


def rounded_down(number: Fraction) -> float:
    """The largest float that is not above a rational number; minus infinity where none is."""
    try:
        value = float(number)
    except OverflowError:
        return math.nextafter(math.inf, 0.0) if number > 0 else -math.inf
    return value if Fraction(value) <= number else math.nextafter(value, -math.inf)


def dot_integers(a: Iterable[int], b: Iterable[int]) -> int:
    """Sum of products."""
    return sum(map(mul, a, b))


def solve_exactly(
    matrix: Sequence[Sequence[int]], right: Sequence[Fraction]
) -> list[Fraction] | None:
    """Solution of an integer system with at least as many equations as unknowns.

    Fraction-free Gauss-Jordan elimination: every division is exact (Bareiss, Sylvester's identity
    and multistep integer-preserving Gaussian elimination, Mathematics of Computation 22, 1968).

    Returns
    -------
    list of Fraction or None
        None when the unknowns are not determined or the equations contradict one another.
    """
    common = math.lcm(*(b.denominator for b in right))
    rows = [[*line, int(b * common)] for line, b in zip(matrix, right, strict=True)]
    unknowns = len(matrix[0]) if matrix else 0
    previous = 1
    for k in range(unknowns):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        lead, p = rows[k], rows[k][k]
        for i, line in enumerate(rows):
            if i != k:
                q = line[k]
                rows[i] = [(p * a - q * b) // previous for a, b in zip(line, lead, strict=True)]
        previous = p
    if any(line[-1] for line in rows[unknowns:]):
        return None
    return [Fraction(rows[k][-1], rows[k][k] * common) for k in range(unknowns)]


def is_semidefinite(matrix: list[list[Fraction]]) -> bool:
    """Whether a symmetric rational matrix is semidefinite, by elimination without rounding."""
    rows = [list(line) for line in matrix]
    for k in range(len(rows)):
        pivot = rows[k][k]
        if pivot < 0 or (pivot == 0 and any(rows[k][k + 1 :])):
            return False
        if pivot == 0:
            continue
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / pivot
            if factor:
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return True
