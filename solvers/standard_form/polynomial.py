"""Polynomials of degree two as lists of terms that add up exactly.

A number is a float where one holds it exactly and a Fraction otherwise, and a product that no
double holds enters a list as two, its double and what that lacks (Dekker, Numerische Mathematik 18,
1971). `merge` adds up without rounding; what the double nearest to a sum lacks is kept beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index

Number = float | Fraction
Key = tuple[int, ...]  # () of the constant, (j,) of x_j, (i, j) with i <= j of x_i x_j

SMALLEST = 2.0**-1022  # of doubles with all their digits
LARGEST_WHOLE = 2**53  # up to which every integer is a double
SPLITTER = 2.0**27 + 1
SAFE = (2.0**-480, 2.0**480)  # factors whose product and its error are doubles
PARTS = 8  # doubles that a number is tried to be the sum of


@dataclass
class Polynomial:
    """One expression as it is read; `read` merges duplicates.

    Attributes
    ----------
    constants : list
        Whose exact sum is the constant.
    index, coefficient : lists
        Linear terms.
    products : list of (column, column, coefficient)
    arrays : list of (columns, coefficients)
        Linear terms that came as arrays.
    fractions : list of (key, Fraction)
        Terms that no few doubles add up to, such as a third.
    exact : mapping
        Coefficients that no double is, once merged: the lists have the nearest ones.
    """

    constants: list[float] = field(default_factory=list)
    index: list[int] = field(default_factory=list)
    coefficient: list[float] = field(default_factory=list)
    products: list[tuple[int, int, float]] = field(default_factory=list)
    arrays: list[tuple[Index, Array]] = field(default_factory=list)
    fractions: list[tuple[Key, Fraction]] = field(default_factory=list)
    exact: dict[Key, Fraction] = field(default_factory=dict)

    @property
    def constant(self) -> float:
        """The constant term, to the nearest double."""
        return math.fsum(self.constants)

    def numbers(self) -> dict[Key, Fraction]:
        """All coefficients other than 0, once merged."""
        index, a = self.linear()
        found: dict[Key, float] = {(): self.constant}
        found |= {(j,): v for j, v in zip(index.tolist(), a.tolist(), strict=True)}
        found |= {(i, j): v for i, j, v in self.products}
        return {key: Fraction(v) for key, v in found.items() if v} | self.exact

    @staticmethod
    def of(doubles: Mapping[Key, float]) -> Polynomial:
        """The polynomial with these coefficients."""
        found = Polynomial()
        for key, value in doubles.items():
            if value:
                found.add(key, value)
        return found

    def add(self, key: Key, value: Number) -> None:
        """Add a term."""
        if value.__class__ is not Fraction:
            self._add_float(key, value)  # type: ignore[arg-type]
            return
        for _ in range(PARTS):
            part = float(value)
            if not part or abs(part) < SMALLEST * 2.0**53:
                break
            self._add_float(key, part)
            value -= Fraction(part)
            if not value:
                return
        self.fractions.append((key, Fraction(value)))

    def _add_float(self, key: Key, value: float) -> None:
        if not key:
            if value:
                self.constants.append(value)
        elif len(key) == 1:
            self.index.append(key[0])
            self.coefficient.append(value)
        else:
            self.products.append((key[0], key[1], value))

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
    """Add duplicates up without rounding: 1e16 x - x - 1e16 x is -x."""
    index, numbers = found.linear()
    beside: dict[Key, list[Fraction]] = {}
    for key, value in found.fractions:
        beside.setdefault(key, []).append(value)
    found.fractions = []
    if len(found.constants) > 1 or () in beside:
        total = _sums([((), found.constants)], beside, found.exact)
        found.constants = [total.get((), 0.0)]
    if len(np.unique(index)) < len(index) or any(len(key) == 1 for key in beside):
        parts: dict[Key, list[float]] = {}
        for k, a in zip(index.tolist(), numbers.tolist(), strict=True):
            parts.setdefault((k,), []).append(a)
        total = _sums(parts.items(), beside, found.exact)
        found.index, found.arrays = [k for (k,) in total], []
        found.coefficient = list(total.values())
    if found.products or any(len(key) == 2 for key in beside):
        parts = {}
        for i, j, a in found.products:
            parts.setdefault((i, j) if i <= j else (j, i), []).append(a)
        total = _sums(parts.items(), beside, found.exact)
        found.products = [(*key, a) for key, a in total.items() if a]  # type: ignore[misc]


def _sums(
    parts: Iterable[tuple[Key, list[float]]],
    beside: dict[Key, list[Fraction]],
    exact: dict[Key, Fraction],
) -> dict[Key, float]:
    """Sums of the numbers of each key, to the nearest double, and the others in `exact`."""
    found = {}
    for key, several in parts:
        total = several[0] if len(several) == 1 else math.fsum(several)
        more = beside.get(key)
        if more or (len(several) > 1 and math.fsum([*several, -total]) != 0):
            whole = sum(map(Fraction, several), sum(more or (), Fraction(0)))
            total = float(whole)
            if Fraction(total) != whole:
                if abs(total) < SMALLEST:
                    raise ArithmeticError("a sum of numbers that is too small for a double")
                exact[key] = whole
        found[key] = total
    return found


def known(value: Any) -> Number:
    """A number that Python or numpy holds, exactly: integers above 2^53 too."""
    if value.__class__ is float:
        return value
    number = float(value)
    if isinstance(value, int) and abs(value) > LARGEST_WHOLE and int(number) != value:
        return Fraction(value)
    return number


def product_error(a: float, b: float, product: float) -> float | None:
    """What a product of two doubles lacks; None where that may be no double."""
    low, high = SAFE
    if not (low < abs(a) < high and low < abs(b) < high):
        return None
    t = SPLITTER * a
    a_high = t - (t - a)
    t = SPLITTER * b
    b_high = t - (t - b)
    a_low, b_low = a - a_high, b - b_high
    return a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def times(a: Number, b: Number) -> Number:
    """A product; an ArithmeticError where it is too small for a double."""
    if a.__class__ is float and b.__class__ is float:
        product: float = a * b
        if abs(a) == 1.0 or abs(b) == 1.0 or not (a and b):
            return product
        if product_error(a, b, product) == 0.0:
            return product
        if not math.isfinite(product):
            return product
    return _exactly(Fraction(a) * Fraction(b), "product")


def plus(a: Number, b: Number) -> Number:
    """A sum."""
    if a.__class__ is float and b.__class__ is float:
        total: float = a + b
        if not math.isfinite(total):
            return total
        part: float = total - a
        if (a - (total - part)) + (b - part) == 0.0:
            return total
    return _exactly(Fraction(a) + Fraction(b), "sum")


def quotient(factor: Number, divisor: Number) -> Number:
    """A quotient; an ArithmeticError where it is too small for a double."""
    if not math.isfinite(divisor):
        raise ArithmeticError(f"a division by {divisor}")
    if not math.isfinite(factor):
        return float(factor) / float(divisor)
    return _exactly(Fraction(factor) / Fraction(divisor), "quotient")


def exact_or_float(value: Fraction) -> Number:
    """A rational number as a float where that is what it is."""
    nearest = float(value)
    return nearest if Fraction(nearest) == value else value


def _exactly(value: Fraction, what: str) -> Number:
    """A number as a float where that is what it is."""
    found = exact_or_float(value)
    if found.__class__ is Fraction and abs(found) < SMALLEST:
        raise ArithmeticError(f"a {what} of numbers that is too small for a double")
    return found


def products(numbers: Array, factor: Array | float) -> tuple[Array, Array | None]:
    """Products to the nearest doubles, and what they lack; None where some of that is no double."""
    found = numbers * factor
    if (np.abs(np.frexp(factor)[0]) == 0.5).all() and _no_smaller(found, numbers):
        return found, np.zeros_like(found)
    sizes = np.abs(numbers), np.abs(np.broadcast_to(factor, found.shape))
    low, high = SAFE
    if any(((size > 0) & ((size <= low) | (size >= high))).any() for size in sizes):
        return found, None
    t = SPLITTER * numbers
    a_high = t - (t - numbers)
    u = SPLITTER * factor
    b_high = u - (u - factor)
    a_low, b_low = numbers - a_high, factor - b_high
    return found, a_low * b_low - (((found - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _no_smaller(found: Array, numbers: Array) -> bool:
    """Whether no product lost digits by being small, nor was too large."""
    size = np.abs(found)
    return not (((size < SMALLEST) & (numbers != 0)) | ~np.isfinite(size)).any()
