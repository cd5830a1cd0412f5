"""Sums and rows as a line of mathematics."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tightmargin.number_words import number_text

TERMS = 12  # of a sum that is printed whole

Term = tuple[float, str]


def sum_text(terms: Sequence[Term], limit: int = TERMS) -> str:
    """Sum of coefficients times names; a term without a name is a constant."""
    used = [(a, name) for a, name in terms if a]
    parts = [_term(a, name, first=not k) for k, (a, name) in enumerate(used[:limit])]
    if len(used) > limit:
        parts.append(f"+ ... ({len(used)} terms)")
    return " ".join(parts) or "0"


def between_text(low: float, body: str, high: float) -> str:
    """A body between its sides."""
    if low == high:
        return f"{body} = {number_text(low)}"
    if math.isinf(low) and math.isinf(high):
        return f"{body} is free"
    if math.isinf(low):
        return f"{body} <= {number_text(high)}"
    if math.isinf(high):
        return f"{body} >= {number_text(low)}"
    return f"{number_text(low)} <= {body} <= {number_text(high)}"


def _term(a: float, name: str, *, first: bool) -> str:
    sign = ("-" if a < 0 else "") if first else ("- " if a < 0 else "+ ")
    size = "" if abs(a) == 1 and name else number_text(abs(a))
    return sign + " ".join(filter(None, (size, name)))
