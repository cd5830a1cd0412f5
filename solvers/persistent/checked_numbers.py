"""Numbers a live program takes: finite, and none that HiGHS would read as another."""

from __future__ import annotations

import math
from typing import Any

from tightmargin.solvers.backends.base import INFINITE
from tightmargin.solvers.errors import NumberError
from tightmargin.solvers.standard_form.columns import side


def finite(number: Any, owner: str) -> float:
    """A number that is neither NaN nor infinite."""
    value = float(number)
    if not math.isfinite(value):
        raise NumberError(f"{owner} is {value}")
    return value


def within(number: float, owner: str) -> float:
    """A side, bound or cost that HiGHS does not read as infinite unless it is."""
    if math.isfinite(number) and abs(number) >= INFINITE:
        raise NumberError(f"{owner}: highs would read {number:g} as infinite")
    return number


def interval(lower: Any, upper: Any, owner: str, factor: float = 1.0) -> tuple[float, float]:
    """Two sides or bounds times a factor, None being none."""
    low = factor * side(lower, -math.inf, f"lower {owner}")
    high = factor * side(upper, math.inf, f"upper {owner}")
    return within(low, f"lower {owner}"), within(high, f"upper {owner}")


def coefficient(number: Any, factor: float, owner: str) -> float:
    """A coefficient times a factor, refused where HiGHS would drop or reject it."""
    value = factor * finite(number, f"{owner}: a coefficient")
    if value and not 1e-9 < abs(value) < 1e15:
        raise NumberError(
            f"{owner}: highs keeps coefficients between 1e-9 and 1e15, not {value:.3g}"
        )
    return value
