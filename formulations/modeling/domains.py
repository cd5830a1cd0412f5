"""What a Pyomo domain says of a variable: any number of an interval, its integers, or neither."""

from __future__ import annotations

from typing import Any


def is_integer(domain: Any) -> bool | None:
    """Whether a domain holds the integers of an interval, or all its numbers; None if neither.

    Set([0, 2, 5]), RangeSet(0, 10, 2) and the union of two intervals are neither, and Pyomo's own
    `is_integer` calls them continuous.
    """
    low, high, step = domain.get_interval()
    if step == 0:
        return False
    whole = all(end is None or end == int(end) for end in (low, high))
    return True if step == 1 and whole else None
