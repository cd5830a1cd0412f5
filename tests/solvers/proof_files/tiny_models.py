"""Models of all classes that are solved by hand, in whole numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pyomo.environ as pyo

from tightmargin.formulations import psd

INFEASIBLE, UNBOUNDED = "infeasible", "unbounded"


def model(**bounds: tuple[float | None, float | None]) -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    for name, pair in bounds.items():
        m.add_component(name, pyo.Var(bounds=pair))
    return m


FREE, POSITIVE = (None, None), (0, None)


def lp() -> pyo.ConcreteModel:
    """x + 2 y over x + y >= 1, 3 x + y >= 2 and x, y >= 0: 1 at (1, 0)."""
    m = model(x=POSITIVE, y=POSITIVE)
    m.goal = pyo.Objective(expr=m.x + 2 * m.y)
    m.sum = pyo.Constraint(expr=m.x + m.y >= 1)
    m.other = pyo.Constraint(expr=3 * m.x + m.y >= 2)
    return m


def lp_free() -> pyo.ConcreteModel:
    """7 t with t >= 3 x - 1 and t >= 2 - 4 x: both meet at x = 3/7, where t is 2/7 and it is 2."""
    m = model(x=FREE, t=FREE)
    m.goal = pyo.Objective(expr=7 * m.t)
    m.up = pyo.Constraint(expr=m.t - 3 * m.x >= -1)
    m.down = pyo.Constraint(expr=m.t + 4 * m.x >= 2)
    return m


def qp() -> pyo.ConcreteModel:
    """(x - 1)^2 + (y - 2)^2 over x + y <= 2: the foot (1/2, 3/2), and 1/2."""
    m = model(x=FREE, y=FREE)
    m.goal = pyo.Objective(expr=(m.x - 1) ** 2 + (m.y - 2) ** 2)
    m.sum = pyo.Constraint(expr=m.x + m.y <= 2)
    return m


def qp_connected() -> pyo.ConcreteModel:
    """x^2 + x y + y^2 - 3 x over 0 <= x, y <= 9: (x + y/2)^2 + 3/4 y^2 - 3 x, at (3/2, 0) -9/4."""
    m = model(x=(0, 9), y=(0, 9))
    m.goal = pyo.Objective(expr=m.x**2 + m.x * m.y + m.y**2 - 3 * m.x)
    return m


def disc() -> pyo.ConcreteModel:
    """- x - y on the disc x^2 + y^2 <= 2: -2 at (1, 1)."""
    m = model(x=FREE, y=FREE)
    m.goal = pyo.Objective(expr=-m.x - m.y)
    m.disc = pyo.Constraint(expr=m.x**2 + m.y**2 <= 2)
    return m


def parabola() -> pyo.ConcreteModel:
    """t - 2 x over t >= x^2: -1 at x = 1."""
    m = model(x=FREE, t=FREE)
    m.goal = pyo.Objective(expr=m.t - 2 * m.x)
    m.above = pyo.Constraint(expr=m.x**2 - m.t <= 0)
    return m


def norm() -> pyo.ConcreteModel:
    """t >= ||(x, y)|| with x >= 3 and y >= 4: 5."""
    m = model(x=(3, None), y=(4, None), t=POSITIVE)
    m.goal = pyo.Objective(expr=m.t)
    m.cone = pyo.Constraint(expr=m.x**2 + m.y**2 <= m.t**2)
    return m


def product() -> pyo.ConcreteModel:
    """x + 4 y with z^2 <= x y and z >= 3: 2 sqrt(4 x y) >= 12, at (6, 3/2)."""
    m = model(x=POSITIVE, y=POSITIVE, z=(3, None))
    m.goal = pyo.Objective(expr=m.x + 4 * m.y)
    m.cone = pyo.Constraint(expr=m.z**2 <= m.x * m.y)
    return m


def matrix() -> pyo.ConcreteModel:
    """x + y with [[x, 2], [2, y]] semidefinite: 4 at (2, 2)."""
    m = model(x=FREE, y=FREE)
    m.goal = pyo.Objective(expr=m.x + m.y)
    psd(m, "cone", [[m.x], [2.0, m.y]])
    return m


def largest_eigenvalue() -> pyo.ConcreteModel:
    """t with t I - [[1, 2], [2, 4]] semidefinite: the larger eigenvalue, 5."""
    m = model(t=FREE)
    m.goal = pyo.Objective(expr=m.t)
    psd(m, "cone", [[m.t - 1], [-2.0, m.t - 4]])
    return m


def maximised() -> pyo.ConcreteModel:
    """Most of x + y over x + 2 y <= 4 and 3 x + y <= 6: 14/5 at (8/5, 6/5)."""
    m = model(x=POSITIVE, y=POSITIVE)
    m.goal = pyo.Objective(expr=m.x + m.y, sense=pyo.maximize)
    m.one = pyo.Constraint(expr=m.x + 2 * m.y <= 4)
    m.two = pyo.Constraint(expr=3 * m.x + m.y <= 6)
    return m


def infeasible() -> pyo.ConcreteModel:
    """x >= y and x <= 3 y - 4 leave y >= 2 and x >= 2, and x + y <= 1 does not."""
    m = model(x=FREE, y=FREE)
    m.goal = pyo.Objective(expr=m.x)
    m.one = pyo.Constraint(expr=m.x + m.y <= 1)
    m.two = pyo.Constraint(expr=m.x - m.y >= 0)
    m.three = pyo.Constraint(expr=m.x - 3 * m.y <= -4)
    return m


def infeasible_cone() -> pyo.ConcreteModel:
    """A disc beside rows that contradict one another."""
    m = infeasible()
    m.disc = pyo.Constraint(expr=m.x**2 + m.y**2 <= 2)
    return m


def unbounded() -> pyo.ConcreteModel:
    """- x - y over x - y <= 1 and x >= 0."""
    m = model(x=POSITIVE, y=FREE)
    m.goal = pyo.Objective(expr=-m.x - m.y)
    m.row = pyo.Constraint(expr=m.x - m.y <= 1)
    return m


def unbounded_parabola() -> pyo.ConcreteModel:
    """- t over t >= x^2."""
    m = model(x=FREE, t=FREE)
    m.goal = pyo.Objective(expr=-m.t)
    m.above = pyo.Constraint(expr=m.x**2 - m.t <= 0)
    return m


# The minimum of what is minimised: of a maximisation, minus its maximum.
OPTIMA: dict[Callable[[], pyo.ConcreteModel], Fraction | str] = {
    lp: Fraction(1),
    lp_free: Fraction(2),
    qp: Fraction(1, 2),
    qp_connected: Fraction(-9, 4),
    disc: Fraction(-2),
    parabola: Fraction(-1),
    norm: Fraction(5),
    product: Fraction(12),
    matrix: Fraction(4),
    largest_eigenvalue: Fraction(5),
    maximised: Fraction(-14, 5),
    infeasible: INFEASIBLE,
    infeasible_cone: INFEASIBLE,
    unbounded: UNBOUNDED,
    unbounded_parabola: UNBOUNDED,
}
