"""What a Pyomo domain says of a variable: any number of an interval, its integers, or neither."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from pyomo.core.base.range import NumericRange


def is_integer(domain: Any) -> bool | None:
    """Whether a domain holds the integers of an interval, or all its numbers; None if neither.

    Set([0, 2, 5]), RangeSet(0, 10, 2) and the union of two intervals are neither, and Pyomo's own
    `is_integer` calls them continuous.
    """
    low, high, step = domain.get_interval()
    if step == 0:
        return False
    whole = step == 1 and all(end is None or end == int(end) for end in (low, high))
    return True if whole else None


def is_choice(domain: Any) -> bool:
    """Whether a domain with gaps holds a few numbers, or numbers at equal distances from one."""
    start, _, step = domain.get_interval()
    if step and start is not None:
        return True
    return bool(domain.isfinite()) and len(domain) > 0 and all(map(_is_number, domain))


def what_to_say(domain: Any) -> str:
    """What to write in the place of a domain that `is_integer` knows nothing of."""
    if is_choice(domain):
        return "write the choice with binaries, or call tightmargin.solve, which does"
    if domain.isfinite():
        other = next((value for value in domain if not _is_number(value)), None)
        return "it is empty" if other is None else f"it holds {other!r}, which is no number"
    if not any(isinstance(part, NumericRange) for part in domain.ranges()):
        return "say within=pyo.Reals, pyo.Integers or another set of numbers"
    return "write with binaries in which of its parts the variable lies"


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and math.isfinite(value)
