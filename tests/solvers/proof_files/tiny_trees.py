"""Mixed-integer models so small that all their integers can be enumerated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyomo.environ as pyo

Builder = Callable[[], pyo.ConcreteModel]


def model(
    whole: dict[str, tuple[float | None, float | None]],
    rest: dict[str, tuple[float | None, float | None]] | None = None,
) -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    for names, domain in ((whole, pyo.Integers), (rest or {}, pyo.Reals)):
        for name, pair in names.items():
            m.add_component(name, pyo.Var(bounds=pair, domain=domain))
    return m


def knapsack() -> pyo.ConcreteModel:
    """Prices that are whole multiples of 1/2."""
    m = model({f"z{k}": (0, 1) for k in range(5)})
    z = [m.z0, m.z1, m.z2, m.z3, m.z4]
    m.goal = pyo.Objective(expr=sum(p * v for p, v in zip((3, 4.5, 5, 2.5, 6), z, strict=True)))
    m.cover = pyo.Constraint(
        expr=sum(a * v for a, v in zip((2.1, 3, 3.7, 1.4, 4.2), z, strict=True)) >= 7
    )
    return m


def miqp() -> pyo.ConcreteModel:
    """A form that connects free integers."""
    m = model({"x": (None, None), "y": (None, None)})
    m.goal = pyo.Objective(expr=(m.x - 0.4) ** 2 + (m.y - 2.6) ** 2 + 0.75 * m.x * m.y)
    m.row = pyo.Constraint(expr=m.x + m.y >= 1.5)
    return m


def mixed_quadratic() -> pyo.ConcreteModel:
    """A free continuous column between an integer and a row."""
    m = model({"x": (-3, 3)}, {"t": (None, None)})
    m.goal = pyo.Objective(expr=(m.t - 1.3) ** 2 + 0.5 * m.x + (m.x - m.t) ** 2)
    m.row = pyo.Constraint(expr=m.x + m.t <= 1.9)
    return m


def cone() -> pyo.ConcreteModel:
    """A norm over whole numbers."""
    m = model({"x": (-2, 2), "y": (-2, 2)}, {"t": (0, None)})
    m.goal = pyo.Objective(expr=m.t - 0.3 * m.x)
    m.cone = pyo.Constraint(expr=m.x**2 + m.y**2 <= m.t**2)
    m.row = pyo.Constraint(expr=m.x + 3 * m.y >= 4.2)
    return m


def discs() -> pyo.ConcreteModel:
    """Two discs without a whole point in common."""
    m = model({"x": (-3, 3), "y": (-3, 3)})
    m.goal = pyo.Objective(expr=m.x)
    m.one = pyo.Constraint(expr=(m.x + 0.5) ** 2 + m.y**2 <= 1)
    m.two = pyo.Constraint(expr=(m.x - 0.5) ** 2 + (m.y - 0.5) ** 2 <= 1.5)
    m.row = pyo.Constraint(expr=m.x - 3 * m.y >= 0.5)
    return m


def equation() -> pyo.ConcreteModel:
    """An absolute value of what an equation leaves over, free columns in both."""
    m = model({"x": (-4, 4), "y": (-4, 4)}, {"s": (None, None), "t": (None, None)})
    m.goal = pyo.Objective(expr=m.t)
    m.rest = pyo.Constraint(expr=3 * m.x + 5 * m.y + m.s == 7.25)
    m.up = pyo.Constraint(expr=m.t >= m.s)
    m.down = pyo.Constraint(expr=m.t >= -m.s)
    m.apart = pyo.Constraint(expr=m.x - m.y >= 3)
    return m


def big_m() -> pyo.ConcreteModel:
    """A line through points of two classes of which not all can be right."""
    m = model({f"z{k}": (0, 1) for k in range(4)}, {"w": (None, None), "b": (None, None)})
    m.goal = pyo.Objective(expr=0.5 * m.w**2 + m.z0 + 1.5 * m.z1 + m.z2 + m.z3)
    z = [m.z0, m.z1, m.z2, m.z3]
    for k, (place, label) in enumerate(((-1, 1), (0.25, -1), (1, 1), (2, -1))):
        row = label * (place * m.w + m.b) >= 1 - 50 * z[k]
        m.add_component(f"row{k}", pyo.Constraint(expr=row))
    return m


def lattice() -> pyo.ConcreteModel:
    """Even prices, and a continuous column that costs nothing."""
    m = model({"x": (0, 4), "y": (0, 4)}, {"s": (0, 9)})
    m.goal = pyo.Objective(expr=4 * m.x + 6 * m.y)
    m.cover = pyo.Constraint(expr=7 * m.x + 5 * m.y + m.s >= 20.5)
    m.most = pyo.Constraint(expr=m.s <= m.x + 1)
    return m


def maximised() -> pyo.ConcreteModel:
    """With a constant, and a row of both sides."""
    m = model({"x": (0, 4), "y": (0, 4)})
    m.goal = pyo.Objective(expr=3 * m.x + 5 * m.y + 7, sense=pyo.maximize)
    m.row = pyo.Constraint(expr=(1.5, 2 * m.x + 3 * m.y, 10.7))
    return m


ALL: tuple[Builder, ...] = (
    knapsack, miqp, mixed_quadratic, cone, discs, equation, big_m, lattice, maximised,
)  # fmt: skip
INFEASIBLE: tuple[Builder, ...] = (discs,)


def integers_apart() -> pyo.ConcreteModel:
    """x + 2 y over x + y >= 1 and 2 x >= 3, x whole: 2 at (2, 0), and 1 without the last row."""
    m = model({"x": (0, None)}, {"y": (0, None)})
    m.goal = pyo.Objective(expr=m.x + 2 * m.y)
    m.sum = pyo.Constraint(expr=m.x + m.y >= 1)
    m.half = pyo.Constraint(expr=2 * m.x >= 3)
    return m


def drawn(seed: int) -> pyo.ConcreteModel:
    """A model of three integers and perhaps more, every second one quadratic."""
    rng = np.random.default_rng(seed)
    whole = {f"x{k}": (-2, 2) if k == 0 else (0, 1 + seed % 3) for k in range(3)}
    m = model(whole, {"s": (None, None)} if seed % 3 == 0 else {})
    columns = [*m.component_data_objects(pyo.Var)]
    goal = sum(
        float(c) * v
        for c, v in zip(rng.integers(-9, 10, len(columns)).tolist(), columns, strict=True)
    )
    for v in columns if seed % 2 else columns[3:]:
        goal = goal + float(rng.integers(1, 5)) / 2 * (v - float(rng.normal())) ** 2
    m.goal = pyo.Objective(expr=goal)
    m.rows = pyo.ConstraintList()
    for _ in range(3):
        a = rng.integers(-7, 8, len(columns)).tolist()
        row = sum(float(c) * v for c, v in zip(a, columns, strict=True))
        m.rows.add((None, row, float(rng.integers(-3, 9)) + 0.5))
    return m
