"""Rows whose numbers no doubles are, for which a model has to be stated in other rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.standard_form.columns import Columns, side
from tightmargin.solvers.standard_form.constants import number
from tightmargin.solvers.standard_form.exact_ends import outwards
from tightmargin.solvers.standard_form.polynomial import Key, Number, Polynomial, plus

LONGEST = 4000  # bits of a common denominator
SMALLEST_SCALED, LARGEST_SCALED = Fraction(2) ** -1000, Fraction(2) ** 1000


@dataclass(frozen=True, eq=False)
class Inexact:
    """A row, or the objective, with numbers that no double is and that nothing can be charged for.

    Attributes
    ----------
    keys : set
        Of these numbers.
    """

    data: Any
    read: Polynomial
    keys: set[Key]


def scale_to_doubles(read: Polynomial, side: Number | None) -> Fraction | None:
    """A number from 1 to 2 times which all linear coefficients are doubles; None without one.

    The side of an equation, less the constant of its body, has to be one too.

    The coefficients are whole numbers without a common factor, times one number: 0.1 x + 0.3 x' of
    the doubles 0.1 and 3 is a tenth of x + 3 x', and a twelfth of a sum is a sum.
    """
    numbers = [value for key, value in read.numbers().items() if key]
    common = math.lcm(*(value.denominator for value in numbers))
    if common.bit_length() > LONGEST:
        return None
    divisor = math.gcd(*(int(value * common) for value in numbers))
    scale = Fraction(common, divisor)
    exponent = scale.denominator.bit_length() - scale.numerator.bit_length()
    scale *= Fraction(2) ** exponent
    scale *= 2 if scale < 1 else 1
    scaled = [value * scale for value in numbers]
    sizes = [abs(value) for value in scaled]
    if not SMALLEST_SCALED <= min(sizes) <= max(sizes) <= LARGEST_SCALED:
        return None
    if side is not None:
        scaled.append((Fraction(side) - read.numbers().get((), Fraction(0))) * scale)
    return scale if all(value == Fraction(float(value)) for value in scaled) else None


def sides_in_doubles(read: Polynomial, low: Any, high: Any, owner: str) -> tuple[float, float]:
    """Sides of a linear row less its constant, next to them outwards where no double is one.

    Raises
    ------
    NumberError
        A coefficient, or the side of an equation, that no double is.
    """
    constant = read.exact.get((), read.constant)
    ends: list[Number] = []
    for end, empty, word in ((low, -math.inf, "lower"), (high, math.inf, "upper")):
        given = None if end is None else number(end)
        side(given, empty, f"{owner}: {word} side")
        infinite = given is None or math.isinf(given)
        ends.append(empty if given is None or infinite else plus(given, -constant))
    below, above, exact = outwards(*ends)
    if any(read.exact) or (exact != (None, None) and ends[0] == ends[1]):
        raise NumberError(
            f"{owner} has sums or products of numbers that no double is: write one number there"
        )
    return below, above


class InexactError(NumberError):
    """Numbers that no double is, such as 0.1 + 0.2 before it is rounded.

    Attributes
    ----------
    rows : list of Inexact
    columns : Columns
        Of their polynomials.
    """

    def __init__(self, rows: Sequence[Inexact], columns: Columns) -> None:
        self.rows, self.columns = list(rows), columns
        first = self.rows[0]
        key = min(first.keys)
        names = " * ".join(columns.name(j) for j in key)
        owner = f"{'objective' if first.data.is_expression_type() else 'row'} {first.data.name}"
        near = float(first.read.exact.get(key, first.read.constant))
        what = f"the coefficient of {names}" if key else "the side"
        super().__init__(
            f"{owner}: {what} is made of numbers that come to about {near!r} and to no double: "
            "write one number there (solve takes the model as it is)"
        )
