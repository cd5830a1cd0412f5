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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array

ELIMINATED = 12  # unknowns up to which elimination is the faster way
PRIME = 2**31 - 1
HALF = 16  # bits of a part of a residue
SHORT = 256  # binary digits of a proven end: far more than a constant beside it can take
LIMB = 20  # bits of a part of a coefficient: 2,000 products of such parts add up exactly


@dataclass(frozen=True)
class Dyadic:
    """Finite floats: number k is integers[k] * 2**exponent."""

    integers: list[int]
    exponent: int

    def fraction(self, k: int) -> Fraction:
        """Number k."""
        return scaled(self.integers[k], self.exponent)


def dyadic(values: Array) -> Dyadic:
    """Exact integers of finite floats; ValueError for others."""
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


def rounded_up(number: Fraction) -> float:
    """The smallest float that is not below a rational number; infinity where none is."""
    return -rounded_down(-number)


def shortened_down(number: Fraction) -> Fraction:
    """A number of at most SHORT binary digits that is not above a rational one, and near it."""
    size = number.numerator.bit_length() - number.denominator.bit_length()
    if number.denominator.bit_count() == 1 and number.numerator.bit_length() <= SHORT:
        return number
    step = size - SHORT + 2
    return math.floor(number / scaled(1, step)) * scaled(1, step)


def shortened_up(number: Fraction) -> Fraction:
    """The same from above."""
    return -shortened_down(-number)


def dot_integers(a: Iterable[int], b: Iterable[int]) -> int:
    """Sum of products."""
    return sum(map(mul, a, b))


def solve_exactly(
    matrix: Sequence[Sequence[int]], right: Sequence[Fraction]
) -> list[Fraction] | None:
    """Solution of an integer system with at least as many equations as unknowns.

    Larger systems are solved modulo powers of a prime: O(k^3) small operations for k unknowns.
    None without a unique solution, and once in 2^31 where the prime divides a determinant.
    """
    common = math.lcm(*(b.denominator for b in right))
    whole = [int(b * common) for b in right]
    unknowns = len(matrix[0]) if matrix else 0
    way = _by_lifting if unknowns > ELIMINATED else _by_elimination
    solution = way(matrix, whole)
    if solution is None:
        return None
    numerators, denominator = solution
    return [Fraction(x, denominator * common) for x in numerators]


def _by_elimination(
    matrix: Sequence[Sequence[int]], right: Sequence[int]
) -> tuple[list[int], int] | None:
    """Numerators and their denominator, by fraction-free elimination.

    Bareiss, Sylvester's identity and multistep integer-preserving Gaussian elimination,
    Mathematics of Computation 22 (1968).
    """
    rows = [[*line, b] for line, b in zip(matrix, right, strict=True)]
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
    return [rows[k][-1] for k in range(unknowns)], previous


def _by_lifting(
    matrix: Sequence[Sequence[int]], right: Sequence[int]
) -> tuple[list[int], int] | None:
    """Numerators and their denominator, lifted modulo powers of a prime; all equations are checked.

    Dixon, Exact solution of linear equations using p-adic expansions, Numerische Mathematik 40
    (1982).
    """
    modular = _inverse_modulo(matrix)
    if modular is None:
        return None
    chosen, inverse = modular
    rows = [matrix[i] for i in chosen]
    rest = np.array([right[i] for i in chosen], dtype=object)
    # Hadamard's bounds on determinants: of the denominator, and of every numerator.
    lines = sum((dot_integers(line, line).bit_length() + 1) // 2 for line in rows)
    columns = sum((dot_integers(c, c).bit_length() + 1) // 2 for c in zip(*rows, strict=True))
    of_right = (dot_integers(rest, rest).bit_length() + 1) // 2
    largest = 1 << (columns + of_right)
    steps = (columns + of_right + min(lines, columns) + 2) // (PRIME.bit_length() - 1) + 1
    size = len(rows)
    limbs = np.concatenate(_limbs(rows)).astype(np.float64)
    halves = np.concatenate([inverse & (1 << HALF) - 1, inverse >> HALF]).astype(np.float64)
    digits = []
    for _ in range(steps):
        parts = _product(halves, (rest % PRIME).astype(np.int64)).reshape(2, size, 2)
        upper = parts[0, :, 1] + parts[1, :, 0] + (parts[1, :, 1] << HALF)
        x = ((upper % PRIME << HALF) + parts[0, :, 0]) % PRIME
        digits.append(x.astype(object))
        sums = _product(limbs, x).reshape(-1, size, 2)
        of_limbs = (sums[:, :, 0] + (sums[:, :, 1] << HALF)).astype(object)
        product = sum(part << (LIMB * k) for k, part in enumerate(of_limbs))
        rest = (rest - product) // PRIME
    residues, modulus = _joined(digits)
    denominator = 1
    for residue in residues:
        denominator *= _denominator(residue * denominator % modulus, modulus, largest)
    numerators = [
        x - modulus if 2 * x > modulus else x for x in (r * denominator % modulus for r in residues)
    ]
    exact = all(
        dot_integers(line, numerators) == b * denominator
        for line, b in zip(matrix, right, strict=True)
    )
    return (numerators, denominator) if exact else None


def _inverse_modulo(
    matrix: Sequence[Sequence[int]],
) -> tuple[list[int], NDArray[np.int64]] | None:
    """As many rows as there are columns, and the inverse of these rows modulo the prime."""
    count, size = len(matrix), len(matrix[0])
    table = np.zeros((count, size + count), dtype=np.int64)
    table[:, :size] = [[a % PRIME for a in line] for line in matrix]
    table[:, size:] = np.eye(count, dtype=np.int64)
    order = list(range(count))
    for k in range(size):
        below = np.flatnonzero(table[k:, k])
        if not below.size:
            return None
        pivot = k + int(below[0])
        table[[k, pivot]] = table[[pivot, k]]
        order[k], order[pivot] = order[pivot], order[k]
        table[k] = table[k] * pow(int(table[k, k]), -1, PRIME) % PRIME
        factors = table[:, k].copy()
        factors[k] = 0
        table = (table - factors[:, None] * table[k]) % PRIME
    return order[:size], table[:size, size:][:, order[:size]]


def _product(matrix: Array, residues: NDArray[np.int64]) -> NDArray[np.int64]:
    """Products with the low and the high halves of residues, exact below 2^53."""
    halves = np.column_stack([residues & (1 << HALF) - 1, residues >> HALF])
    return (matrix @ halves.astype(np.float64)).astype(np.int64)


def _limbs(rows: Sequence[Sequence[int]]) -> list[NDArray[np.int64]]:
    """Matrices of LIMB bits each, lowest first, the last one with the sign."""
    rest = np.array([list(line) for line in rows], dtype=object)
    limbs: list[NDArray[np.int64]] = []
    while True:
        if int(np.abs(rest).max()) < 1 << LIMB:
            return [*limbs, rest.astype(np.int64)]
        limbs.append((rest & ((1 << LIMB) - 1)).astype(np.int64))
        rest = rest >> LIMB


def _joined(digits: list[NDArray[Any]]) -> tuple[list[int], int]:
    """Numbers with these digits to the base of the prime, lowest first, and the base's power."""
    base = PRIME
    count = len(digits)
    while len(digits) > 1:
        if len(digits) % 2:
            digits.append(0 * digits[0])
        digits = [a + b * base for a, b in zip(digits[::2], digits[1::2], strict=True)]
        base = base * base
    return digits[0].tolist(), PRIME**count


def _denominator(residue: int, modulus: int, largest: int) -> int:
    """Least q > 0 for which q times a residue is at most `largest` in size, by Euclid's steps."""
    r, s, q, t = modulus, min(residue, modulus - residue), 0, 1
    while s > largest:
        factor = r // s
        r, s = s, r - factor * s
        q, t = t, q - factor * t
    return abs(t)


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
