"""When a lower bound closes the gap to an objective: one unit for every verdict."""

from __future__ import annotations

import math
from fractions import Fraction

# A minimum is proven when bound and objective agree to this share of the unit below.
CLOSED = 1e-6

Number = float | Fraction


def exact_unit(objective: Fraction, bound: Fraction, constant: Fraction) -> Fraction:
    """min(max(|objective|, |bound|), max(|objective - k|, |bound - k|)), k being the constant.

    k is the constant of the objective once everything is expanded and fixed columns are put in.
    Either one of the two alone can be inflated: a constant that somebody adds makes the first one
    large, and squares leave a constant behind that makes the second one large. Nothing that depends
    on the matrix, the rows or the size of single terms enters, since those change with the units of
    the data while the gap does not.
    """
    whole = max(abs(objective), abs(bound))
    return min(whole, max(abs(objective - constant), abs(bound - constant)))


def unit(objective: Number, bound: Number, constant: Number = 0) -> float:
    """The same of floats, to the nearest one; infinity where one of them is no finite number."""
    numbers = objective, bound, constant
    if not all(map(math.isfinite, numbers)):
        return math.inf
    return float(exact_unit(Fraction(objective), Fraction(bound), Fraction(constant)))


def closes(objective: Number, bound: Number | None, constant: Number = 0) -> bool:
    """Whether |objective - bound| <= 1e-6 * unit(objective, bound, constant), compared exactly.

    A bound above the objective by more than that is a contradiction, not a proof: one of the two
    numbers is wrong, and it is not known which. A value or bound that is no finite number closes
    nothing. Where the unit is 0 both numbers must agree exactly.
    """
    if bound is None or not math.isfinite(objective) or not math.isfinite(bound):
        return False
    alpha, beta, k = Fraction(objective), Fraction(bound), Fraction(constant)
    return abs(alpha - beta) <= Fraction(CLOSED) * exact_unit(alpha, beta, k)
