"""Mixed-integer models whose minimum is known: by all their points, or by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import pyomo.environ as pyo

Builder = Callable[[], pyo.ConcreteModel]
Ends = dict[str, tuple[float | None, float | None]]
FREE = (None, None)


def model(
    whole: Ends, rest: Ends, goal: Callable[[Any], Any], *rows: Callable[[Any], Any]
) -> pyo.ConcreteModel:
    """Integer columns, others, the objective, and rows."""
    m = pyo.ConcreteModel()
    for names, domain in ((whole, pyo.Integers), (rest, pyo.Reals)):
        for name, pair in names.items():
            m.add_component(name, pyo.Var(bounds=pair, domain=domain))
    m.goal = pyo.Objective(expr=goal(m))
    m.rows = pyo.ConstraintList()
    for row in rows:
        m.rows.add(row(m))
    return m


def knapsack() -> pyo.ConcreteModel:
    """Prices that are whole multiples of 1/2."""
    return model(
        {f"z{k}": (0, 1) for k in range(4)}, {},
        lambda m: 3 * m.z0 + 4.5 * m.z1 + 5 * m.z2 + 2.5 * m.z3,
        lambda m: 2.1 * m.z0 + 3 * m.z1 + 3.7 * m.z2 + 1.4 * m.z3 >= 6,
    )  # fmt: skip


def miqp() -> pyo.ConcreteModel:
    """A form that connects free integers."""
    return model(
        {"x": FREE, "y": FREE}, {},
        lambda m: (m.x - 0.4) ** 2 + (m.y - 2.6) ** 2 + 0.75 * m.x * m.y,
        lambda m: m.x + m.y >= 1.5,
    )  # fmt: skip


def cone() -> pyo.ConcreteModel:
    """A norm over whole numbers."""
    return model(
        {"x": (-2, 2), "y": (-2, 2)}, {"t": (0, None)}, lambda m: m.t - 0.3 * m.x,
        lambda m: m.x**2 + m.y**2 <= m.t**2, lambda m: m.x + 3 * m.y >= 4.2,
    )  # fmt: skip


def discs() -> pyo.ConcreteModel:
    """Two discs without a whole point in common."""
    return model(
        {"x": (-3, 3), "y": (-3, 3)}, {}, lambda m: m.x, lambda m: m.x - 3 * m.y >= 0.5,
        lambda m: (m.x + 0.5) ** 2 + m.y**2 <= 1,
        lambda m: (m.x - 0.5) ** 2 + (m.y - 0.5) ** 2 <= 1.5,
    )  # fmt: skip


def equation() -> pyo.ConcreteModel:
    """An absolute value of what an equation leaves over, free columns in both."""
    return model(
        {"x": (-4, 4), "y": (-4, 4)}, {"s": FREE, "t": FREE}, lambda m: m.t,
        lambda m: 3 * m.x + 5 * m.y + m.s == 7.25, lambda m: m.x - m.y >= 3,
        lambda m: m.t >= m.s, lambda m: m.t >= -m.s,
    )  # fmt: skip


def big_m() -> pyo.ConcreteModel:
    """A line through points of two classes of which not all can be right."""
    return model(
        {f"z{k}": (0, 1) for k in range(4)}, {"w": FREE, "b": FREE},
        lambda m: 0.5 * m.w**2 + m.z0 + 1.5 * m.z1 + m.z2 + m.z3,
        lambda m: -m.w + m.b >= 1 - 50 * m.z0, lambda m: -0.25 * m.w - m.b >= 1 - 50 * m.z1,
        lambda m: m.w + m.b >= 1 - 50 * m.z2, lambda m: -2 * m.w - m.b >= 1 - 50 * m.z3,
    )  # fmt: skip


def lattice() -> pyo.ConcreteModel:
    """Even prices, and a continuous column that costs nothing."""
    return model(
        {"x": (0, 4), "y": (0, 4)}, {"s": (0, 9)}, lambda m: 4 * m.x + 6 * m.y,
        lambda m: 7 * m.x + 5 * m.y + m.s >= 20.5, lambda m: m.s <= m.x + 1,
    )  # fmt: skip


def maximised() -> pyo.ConcreteModel:
    """With a constant, and a row of both sides."""
    made = model(
        {"x": (0, 4), "y": (0, 4)}, {}, lambda m: 3 * m.x + 5 * m.y + 7,
        lambda m: (1.5, 2 * m.x + 3 * m.y, 10.7),
    )  # fmt: skip
    made.goal.sense = pyo.maximize
    return made


ALL: tuple[Builder, ...] = (knapsack, miqp, cone, discs, equation, big_m, lattice, maximised)
# cone: (2, 1); equation: 3 x + 5 y = 7; big_m: both of one class are given up; lattice: (3, 0).
BY_HAND = {cone: Fraction(5**0.5 - 0.6), equation: Fraction(1, 4), big_m: 2, lattice: 12}


# --- documents, read by nothing of the project's -------------------------------------------------

REACH = 5  # of an integer column without a limit


def exact(text: str) -> Fraction:
    if "p" in text:
        return Fraction(float.fromhex(text))
    above, _, below = text.partition("/")
    return Fraction(int(above, 0), int(below or "1", 0))


def choices(written: Mapping[str, Any]) -> Iterator[dict[int, int]]:
    """Whole numbers for the integer columns; of those without a limit, the ones near 0."""
    columns, ranges = sorted(set(written["integer"])), []
    for j in columns:
        low, high = written["lower"][j], written["upper"][j]
        first = -REACH if low is None else max(-(-exact(low) // 1), -10 * REACH)
        last = REACH if high is None else min(exact(high) // 1, 10 * REACH)
        ranges.append(range(int(first), int(last) + 1))
    for whole in itertools.product(*ranges):
        yield dict(zip(columns, whole, strict=True))


def function(part: Mapping[str, Any], x: Mapping[int, int]) -> Fraction:
    total = sum((exact(c) * x[j] for j, c in part["linear"]), Fraction(0))
    total += sum((exact(c) * x[i] * x[j] for i, j, c in part.get("products", ())), Fraction(0))
    return total + exact(part.get("constant", "0"))


def is_feasible(written: Mapping[str, Any], x: Mapping[int, int]) -> bool:
    """Whether a point meets all rows, linear and quadratic, exactly."""
    return all(
        (row["lower"] is None or function(row, x) >= exact(row["lower"]))
        and (row["upper"] is None or function(row, x) <= exact(row["upper"]))
        for row in [*written["rows"], *written["quadratic"]]
    )


def enumerated(written: Mapping[str, Any]) -> Any:
    """The least objective of a model of integers alone, "infeasible" where it has no point."""
    goal, points = written["objective"], choices(written)
    values = [function(goal, x) for x in points if is_feasible(written, x)]
    return min(values, default="infeasible")
