"""Models with exp and log in convex places, and what is known of them in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pyomo.environ import exp, log

from tests.conformance.problems import FREE, Build, model

LOG_2 = math.log(2.0)


def two(**parts: Callable[[Any], Any]) -> Build:
    return model(x=FREE, y=FREE, **parts)


OPTIMA: dict[str, tuple[Build, float]] = {
    "exp": (two(goal=lambda m: exp(m.x) + exp(-m.x)), 2.0),
    "log": (
        two(gain=lambda m: log(m.x) + log(m.y), row=lambda m: m.x + 2 * m.y <= 4), -LOG_2
    ),
    "entropy": (
        two(goal=lambda m: 2 * m.x * log(m.x) + 2 * m.y * log(m.y), row=lambda m: m.x + m.y == 1),
        -2 * LOG_2,
    ),
    "sum": (
        two(goal=lambda m: log(exp(m.x) + exp(m.y) + 3 * exp(m.x)), row=lambda m: m.x + m.y >= 1),
        0.5 + log(4.0),
    ),
    "row": (
        two(goal=lambda m: m.x + m.y**2, row=lambda m: 2 * log(m.x / 2) >= 1), 2 * math.exp(0.5)
    ),
    "square": (two(goal=lambda m: exp(m.x) - 2 * m.x + (m.y - m.x) ** 2), 2 - 2 * LOG_2),
}  # fmt: skip
INFEASIBLE = {
    "exp": two(goal=lambda m: m.x, a=lambda m: exp(m.x) <= m.y, b=lambda m: m.y <= m.x + 0.5),
    "log": two(goal=lambda m: m.y, a=lambda m: log(m.x) >= m.y, b=lambda m: m.y >= m.x - 0.9),
    "domain": two(goal=lambda m: -log(m.x), a=lambda m: m.x + m.y**2 <= -1),
    "entropy": two(goal=lambda m: m.y, a=lambda m: m.x * log(m.x) <= -0.4),
    "sum": two(
        goal=lambda m: m.y, a=lambda m: log(exp(m.x) + exp(m.y)) <= 0, b=lambda m: m.x + m.y >= -1.3
    ),
}
UNBOUNDED = {
    "exp": two(goal=lambda m: exp(m.x) + m.y),
    "log": two(goal=lambda m: -log(m.x) - m.y, a=lambda m: m.y <= 0.1 * m.x + log(m.x + 3)),
    "sum": two(goal=lambda m: log(exp(m.x) + exp(m.y))),
    "row": two(goal=lambda m: -m.x, a=lambda m: exp(m.y - 2 * m.x) + m.x / 3 <= m.y),
}
