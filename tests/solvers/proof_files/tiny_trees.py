"""Mixed-integer models so small that all their integers can be enumerated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
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
INFEASIBLE: tuple[Builder, ...] = (discs,)


def drawn(seed: int) -> pyo.ConcreteModel:
    """Three integers and perhaps more, every second one quadratic."""
    rng = np.random.default_rng(seed)
    whole: Ends = {f"x{k}": (-2, 2) if k == 0 else (0, 1 + seed % 3) for k in range(3)}
    made = model(whole, {"s": FREE} if seed % 3 == 0 else {}, lambda m: 0 * m.x0)
    columns = [*made.component_data_objects(pyo.Var)]

    def line(low: int, high: int) -> Any:
        a = rng.integers(low, high, len(columns)).tolist()
        return sum(float(c) * v for c, v in zip(a, columns, strict=True))

    made.goal.expr = line(-9, 10)
    for v in columns if seed % 2 else columns[3:]:
        made.goal.expr += float(rng.integers(1, 5)) / 2 * (v - float(rng.normal())) ** 2
    for _ in range(3):
        made.rows.add((None, line(-7, 8), float(rng.integers(-3, 9)) + 0.5))
    return made
