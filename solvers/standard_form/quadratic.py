"""Quadratic functions of the columns of a model, as arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.printing import Printed
from tightmargin.solvers.exact_arithmetic import rounded_down, rounded_up
from tightmargin.solvers.standard_form.polynomial import Key, Polynomial

Sides = tuple[Fraction | None, Fraction | None]


@dataclass(frozen=True, eq=False, repr=False)
class Quadratic(Printed):
    """x'Qx + a'x + constant, with Q symmetric and both over all columns.

    Attributes
    ----------
    lost : mapping
        What a number of the model exceeds the double here by, where no double is that number. The
        doubles are chosen so that the sum of what is lost is at least 0 at every point.
    rest : Fraction
        What the constant exceeds the double by.
    """

    Q: sp.csr_matrix
    a: Array
    constant: float
    lost: Mapping[Key, Fraction] = field(default_factory=dict)
    rest: Fraction = Fraction(0)

    @property
    def exact_constant(self) -> Any:
        """The constant that proofs leave out: the double, or with what it lacks a Fraction."""
        return self.constant if not self.rest else Fraction(self.constant) + self.rest

    def at(self, x: Array) -> float:
        """Value at a point."""
        return self.varying(x) + self.constant

    def varying(self, x: Array) -> float:
        """Value at a point without the constant, beside which small numbers are lost."""
        return float(x @ (self.Q @ x)) + float(self.a @ x)


@dataclass(frozen=True, eq=False, repr=False)
class LocalQuadratic(Printed):
    """x'Qx + a'x + constant over few columns: rows are many and short.

    Attributes
    ----------
    index : array (k,)
        Columns that occur, ascending.
    i, j, v : arrays
        Entries of Q in local positions, both halves, no duplicates.
    a : array (k,)
    """

    index: Index
    i: Index
    j: Index
    v: Array
    a: Array
    constant: float

    def at(self, x: Array) -> float:
        """Value at a point of all columns."""
        y = x[self.index]
        return float(self.v @ (y[self.i] * y[self.j])) + float(self.a @ y) + self.constant

    def magnitude(self, x: Array) -> float:
        """Sum of the absolute terms at a point, the constant left out."""
        y = np.abs(x[self.index])
        return float(np.abs(self.v) @ (y[self.i] * y[self.j])) + float(np.abs(self.a) @ y)

    def shifted(self, sign: float, side: float) -> LocalQuadratic:
        """sign * (body - side)."""
        return LocalQuadratic(
            self.index, self.i, self.j, sign * self.v, sign * self.a, sign * (self.constant - side)
        )


@dataclass(frozen=True, eq=False, repr=False)
class QuadraticRow(Printed):
    """lower <= body <= upper with a quadratic body.

    Attributes
    ----------
    lost : mapping
        As of a Quadratic, by columns of the model: every point of the model's row is one of these
        doubles' row.
    sides : (Fraction or None, Fraction or None)
        Sides of the model that no double is; those here are next to them, outwards.
    inside : LocalQuadratic, optional
        A body on the other side of the model's, where `lost` says something.
    """

    body: LocalQuadratic
    lower: float
    upper: float
    data: Any
    lost: Mapping[Key, Fraction] = field(default_factory=dict)
    sides: Sides = (None, None)
    inside: LocalQuadratic | None = None

    @property
    def is_rounded(self) -> bool:
        """Whether the row of the model is another one."""
        return bool(self.lost) or self.sides != (None, None)


def lost_at(lost: Mapping[Key, Fraction], at: Callable[[int], Fraction]) -> Fraction:
    """What the numbers of a model add at a point to those of the doubles."""
    return sum((value * math.prod(map(at, key)) for key, value in lost.items()), Fraction(0))


def doubles_below(
    read: Polynomial, sign: int, low: Array, high: Array, *, squares: bool = False
) -> tuple[Polynomial, dict[Key, Fraction], list[int]]:
    """A polynomial in doubles that is nowhere above another one, or nowhere below it.

    A linear coefficient is rounded by the sign of its variable; of x_i x_j the nearest double is
    wrong by no more than d, and d |x_i x_j| <= d / 2 (x_i^2 + x_j^2), which the squares give up.

    Parameters
    ----------
    sign : int
        1 for nowhere above, -1 for nowhere below.
    low, high : arrays (n,)
        Bounds of the variables.
    squares : bool
        Whether the constant gives up what the coefficient of a variable that has a bound is wrong
        by there, and with a square the two together: d |x| <= d (t x^2 + 1 / (4 t)).

    Returns
    -------
    doubles : Polynomial
    lost : mapping
        What the former exceeds it by.
    stuck : list of int
        Columns of linear terms whose sign is not known.
    """
    down, up = (rounded_down, rounded_up) if sign > 0 else (rounded_up, rounded_down)
    numbers = read.numbers()
    doubles, taken = dict.fromkeys(numbers, 0.0), dict[int, Fraction]()
    stuck: list[int] = []
    beside = Fraction(0)
    for key, value in numbers.items():
        doubles[key] = float(value)
        if key not in read.exact:
            continue
        signs = [1 if low[j] >= 0 else -1 if high[j] <= 0 else 0 for j in key]
        if len(key) == 1 and not signs[0]:
            j, square = key[0], abs(numbers.get((key[0], key[0]), Fraction(0)))
            end = next((end for end in (low[j], high[j]) if math.isfinite(end)), None)
            if not squares or (end is None and not square):
                stuck.append(j)
            elif end is not None:
                doubles[key] = down(value) if end == low[j] else up(value)
                beside += abs((value - Fraction(doubles[key])) * Fraction(float(end)))
            else:
                off, t = abs(value - Fraction(doubles[key])), square / abs(value)
                taken[j] = taken.get(j, Fraction(0)) + off * t
                beside += off / (4 * t)
            continue
        if (
            len(key) == 2
            and key[0] != key[1]
            and not (all(signs) and any((j, j) not in numbers for j in key))
        ):
            for j in key:
                taken[j] = taken.get(j, Fraction(0)) + abs(value - Fraction(doubles[key])) / 2
        else:
            doubles[key] = down(value) if math.prod(signs) >= 0 else up(value)
    for j, short in taken.items():
        doubles[(j, j)] = down(numbers.get((j, j), Fraction(0)) - sign * short)
    if beside:  # else the constant is exact with what it lost
        doubles[()] = down(numbers.get((), Fraction(0)) - sign * beside)
    lost = {key: numbers.get(key, Fraction(0)) - Fraction(a) for key, a in doubles.items()}
    return Polynomial.of(doubles), {key: value for key, value in lost.items() if value}, stuck
