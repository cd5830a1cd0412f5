"""When a lower bound closes the gap to an objective: one unit for every verdict."""

import math

# A minimum is proven when bound and objective agree to this share of the unit below.
CLOSED = 1e-6


def unit(objective: float, bound: float, constant: float = 0.0) -> float:
    """max(|objective - k|, |bound - k|): what a gap is measured against.

    k is the additive constant of the objective. It is taken off both numbers, since a constant says
    nothing of how hard the problem is; and nothing that depends on the matrix, the rows or the size
    of single terms enters, since those change with the units of the data while the gap does not.
    """
    return max(abs(objective - constant), abs(bound - constant))


def closes(objective: float, bound: float | None, constant: float = 0.0) -> bool:
    """Whether |objective - bound| <= 1e-6 * unit(objective, bound, constant).

    A bound above the objective by more than that is a contradiction, not a proof: one of the two
    numbers is wrong, and it is not known which. A value or bound that is no finite number closes
    nothing. Where the unit is 0 both numbers must be the constant itself.
    """
    if bound is None or not math.isfinite(objective) or not math.isfinite(bound):
        return False
    return abs(objective - bound) <= CLOSED * unit(objective, bound, constant)
