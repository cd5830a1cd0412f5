"""Sides of rows and bounds that no double is, or that no point may attain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.printing import Printed
from tightmargin.solvers.exact_arithmetic import rounded_down, rounded_up
from tightmargin.solvers.standard_form.polynomial import Number
from tightmargin.solvers.standard_form.quadratic import QuadraticRow, Sides

INSIDE = 2.0**-64  # from a bound of 0 that no point may attain


@dataclass(frozen=True, eq=False, repr=False)
class ExactEnds(Printed):
    """What the doubles of a StandardForm stand for, where it is something else.

    Attributes
    ----------
    sides : mapping of row to (Fraction or None, Fraction or None)
        Sides of linear rows; None where the double is the side.
    bounds : mapping of column to (Fraction or None, Fraction or None)
    open : mapping of column to (bool, bool)
        Columns that may not be at their lower, or their upper bound.
    scales : mapping of int to Fraction
        By what a linear row of the model is multiplied in the arrays, from 1 to 2: then its
        coefficients are doubles. The multiplier of the model's row is that of the arrays times it.
    """

    sides: Mapping[int, Sides] = field(default_factory=dict)
    bounds: Mapping[int, Sides] = field(default_factory=dict)
    open: Mapping[int, tuple[bool, bool]] = field(default_factory=dict)
    scales: Mapping[int, Fraction] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.sides or self.bounds or self.open)

    def end_of(self, column: int) -> tuple[object, ...]:
        """What is said of a column; empty where that is nothing."""
        found = self.bounds.get(column), self.open.get(column)
        return found if any(found) else ()

    def without(self, *, row: int | None = None, column: int | None = None) -> ExactEnds:
        """The same but for a row or a column that has other ends now."""
        return replace(
            self,
            sides={k: v for k, v in self.sides.items() if k != row},
            bounds={k: v for k, v in self.bounds.items() if k != column},
            open={k: v for k, v in self.open.items() if k != column},
        )

    def same_as(self, other: ExactEnds) -> bool:
        """Whether both say the same."""
        return (self.sides, self.bounds, self.open) == (other.sides, other.bounds, other.open)


def outwards(low: Number, high: Number) -> tuple[float, float, Sides]:
    """Doubles next to two sides, outwards, and the sides that they are not."""
    ends: list[float] = []
    kept: list[Fraction | None] = []
    for number, rounded in ((low, rounded_down), (high, rounded_up)):
        is_double = number.__class__ is not Fraction
        ends.append(float(number) if is_double else rounded(Fraction(number)))
        kept.append(None if is_double else Fraction(number))
    return ends[0], ends[1], (kept[0], kept[1])


def inwards(low: Array, high: Array, sides: Mapping[int, Sides]) -> tuple[Array, Array]:
    """The doubles next to what is between some sides, inwards."""
    low, high = low.copy(), high.copy()
    for k, (lower, upper) in sides.items():
        low[k] = low[k] if lower is None else rounded_up(lower)
        high[k] = high[k] if upper is None else rounded_down(upper)
    return low, high


def above(bound: float) -> float:
    """A double above a bound, where the bound itself is excluded."""
    return INSIDE if bound == 0 else math.nextafter(bound, math.inf)


def inner_row(row: QuadraticRow) -> QuadraticRow:
    """Doubles each of whose points meets the row of the model."""
    if not row.is_rounded:
        return row
    low, high = inwards(np.array([row.lower]), np.array([row.upper]), {0: row.sides})
    body = row.body if row.inside is None else row.inside
    return replace(
        row, body=body, lower=float(low[0]), upper=float(high[0]), lost={}, sides=(None, None)
    )
