"""Numbers and counts in words; what is proven is rounded to the side on which it stays true.

And numbers that are read from files of others, where Python alone takes more for a number.
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

import numpy as np

CELL = 30  # characters of a cell
DIGITS, BOUND_DIGITS = 15, 9  # at most, to tell two proven ends apart; of a bound by itself
_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE
)


def number_in(text: str) -> float | None:
    """The number that a word of a file is; None for any other, as 1_000 or digits beyond 0 to 9."""
    return float(text) if _NUMBER.fullmatch(text.strip()) else None


def number_text(value: Any) -> str:
    """A number to six digits; whole ones with all of theirs."""
    return str(int(value)) if isinstance(value, int | np.integer) else f"{value:.6g}"


def proven_ends(low: float, high: float) -> tuple[str, str]:
    """Two ends of a proven interval as decimals, rounded outwards and told apart."""
    scale, width = max(abs(low), abs(high)), high - low
    digits = DIGITS
    if 0 < width < math.inf and scale:
        digits = min(DIGITS, max(6, 2 - math.floor(math.log10(width / scale))))
    ends = ((low, ROUND_FLOOR), (high, ROUND_CEILING))
    below, above = (Context(digits, way).create_decimal(end) for end, way in ends)
    return decimal_text(below), decimal_text(above)


def bound_text(bound: float, objective: float | None = None) -> str:
    """A proven bound, rounded away from the objective; with all its digits where there is none."""
    if objective is None:
        return repr(bound)
    way = ROUND_FLOOR if bound <= objective else ROUND_CEILING
    return decimal_text(Context(BOUND_DIGITS, way).create_decimal(bound))


def with_bound(objective: float, bound: float | None) -> str:
    """An objective beside its proven bound."""
    if bound is None or not math.isfinite(bound):
        return f"{number_text(objective)}, no proven bound"
    gap = abs(objective - bound)
    share = f", {100 * gap / abs(objective):.2g} % away" if objective else ""
    return f"{number_text(objective)}, proven bound {bound_text(bound, objective)}{share}"


def decimal_text(value: Decimal) -> str:
    """A decimal without an exponent, where that is short."""
    if value.is_nan():
        return "nan"
    if not value.is_finite():
        return "-inf" if value < 0 else "inf"
    plain = -5 < value.adjusted() < DIGITS
    if not plain:
        return f"{value.normalize():e}"
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def count_text(count: int, word: str, words: str = "") -> str:
    """`1 point`, `2 points`."""
    return f"{count} {word if count == 1 else words or word + 's'}"


def short(text: str, width: int = CELL) -> str:
    """A text on one line, cut where it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 3].rstrip() + "..."
