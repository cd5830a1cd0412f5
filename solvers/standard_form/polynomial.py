"""Polynomials of degree two as lists of terms, whose sums are exact and rounded once."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array

Index = NDArray[np.int64]
Key = TypeVar("Key", bound=Hashable)

SMALLEST = 2.0**-1022  # of doubles with all their digits


@dataclass
class Polynomial:
    """One expression as it is read; `read` merges duplicates.

    Attributes
    ----------
    constants : list
        Whose exact sum, rounded once, is the constant.
    index, coefficient : lists
        Linear terms.
    products : list of (column, column, coefficient)
    arrays : list of (columns, coefficients)
        Linear terms that came as arrays.
    """

    constants: list[float] = field(default_factory=list)
    index: list[int] = field(default_factory=list)
    coefficient: list[float] = field(default_factory=list)
    products: list[tuple[int, int, float]] = field(default_factory=list)
    arrays: list[tuple[Index, Array]] = field(default_factory=list)

    @property
    def constant(self) -> float:
        """The constant term."""
        return math.fsum(self.constants)

    def linear(self) -> tuple[Index, Array]:
        """All linear terms as arrays."""
        columns = np.array(self.index, dtype=np.int64)
        numbers = np.array(self.coefficient, dtype=np.float64)
        if not self.arrays:
            return columns, numbers
        return (
            np.concatenate([columns, *(at for at, _ in self.arrays)]),
            np.concatenate([numbers, *(a for _, a in self.arrays)]),
        )


def merge(found: Polynomial) -> None:
    """Add duplicates up, each sum exact and rounded once: 1e16 x - x - 1e16 x is -x."""
    index, numbers = found.linear()
    if len(np.unique(index)) < len(index):
        linear = _sums(index.tolist(), numbers.tolist())
        found.index, found.coefficient, found.arrays = list(linear), list(linear.values()), []
    if found.products:
        pairs = [(min(i, j), max(i, j)) for i, j, _ in found.products]
        total = _sums(pairs, [a for *_, a in found.products])
        found.products = [(i, j, a) for (i, j), a in total.items() if a]


def _sums(keys: Sequence[Key], numbers: Sequence[float]) -> dict[Key, float]:
    """Exact sums, rounded once, of the numbers of each key."""
    parts: dict[Key, list[float]] = {}
    for key, a in zip(keys, numbers, strict=True):
        parts.setdefault(key, []).append(a)
    return {key: math.fsum(several) for key, several in parts.items()}


def times(*factors: float) -> float:
    """A product; an ArithmeticError where it is too small to keep its digits."""
    product = math.prod(factors)
    if abs(product) < SMALLEST and all(factors) and product != math.prod(map(Fraction, factors)):
        raise ArithmeticError("a product of numbers that is too small for a double")
    return product


def quotient(factor: float, divisor: float) -> float:
    """A quotient; an ArithmeticError where it is too small to keep its digits."""
    if not math.isfinite(divisor):
        raise ArithmeticError(f"a division by {divisor}")
    found = factor / divisor
    if abs(found) < SMALLEST and factor and Fraction(found) * Fraction(divisor) != factor:
        raise ArithmeticError("a quotient of numbers that is too small for a double")
    return found


def scaled(numbers: Array, factor: float) -> Array:
    """The same as `times` for an array."""
    if abs(factor) == 1.0:
        return factor * numbers
    found = factor * numbers
    if ((np.abs(found) < SMALLEST) & (numbers != 0)).any() and factor:
        raise ArithmeticError("a product of numbers that is too small for a double")
    return np.asarray(found)
