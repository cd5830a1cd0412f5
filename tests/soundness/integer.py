"""Foreign models with integers: every point of the box is tried, in rational numbers."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.gdp import Disjunction

from tests.soundness.asking import solving, some_solver
from tests.soundness.judge import Case, infeasible, optimum
from tightmargin.formulations import psd

FAR = (0, 0, 0, 100, -1000, 10**6, 10**7)


def box_case(rng: np.random.Generator, index: int) -> Case:
    """Linear or quadratic cost and a few rows over a box of integers, near 0 or far from it."""
    n, convex = int(rng.integers(1, 4)), index % 2 == 1
    top = int(rng.integers(1, 6))
    shift = rng.choice(FAR, size=n) if rng.random() < 0.5 else np.zeros(n, dtype=int)
    A = rng.integers(-3, 4, size=(int(rng.integers(0, 4)), n))
    b = rng.integers(-8, 3, size=len(A))
    L = rng.integers(-2, 3, size=(n, n)) if convex else np.zeros((n, n), dtype=int)
    q, unit = rng.integers(-5, 6, size=n), float(2.0 ** rng.choice([0, 0, 0, -10, 10, 20]))
    sense = int(rng.choice([1, -1]))
    constant = float(rng.choice([0, 0, 0, 1e6, -1e9]))

    def cost(u: Any) -> Fraction:
        Lu = L @ np.array(u)
        return Fraction(int(Lu @ Lu), 2) + int(q @ np.array(u))

    values = [
        cost(u) for u in itertools.product(range(top + 1), repeat=n) if (A @ np.array(u) >= b).all()
    ]
    m = pyo.ConcreteModel()
    kind = pyo.Integers if top > 1 or shift.any() else pyo.Binary
    m.x = pyo.Var(range(n), within=kind, bounds=lambda m, j: (int(shift[j]), int(shift[j]) + top))
    u = [m.x[j] - int(shift[j]) for j in range(n)]
    m.rows = pyo.ConstraintList()
    for a, right in zip(A, b, strict=True):
        if a.any():
            m.rows.add(sum(int(a[j]) * u[j] for j in range(n)) >= int(right))
        elif right > 0:
            values = []
            m.rows.add(0 * m.x[0] + m.x[0] >= int(shift[0]) + top + 1)
    Lu = [sum(int(L[i, j]) * u[j] for j in range(n)) for i in range(n)]
    expression = sum(int(q[j]) * u[j] for j in range(n)) + 0.5 * sum(v**2 for v in Lu)
    factor = sense * unit
    m.objective = pyo.Objective(expr=factor * expression + constant, sense=sense)
    words = f"{n} integers 0..{top} + {shift.tolist()} unit {factor:g} + {constant:g}"
    truth = infeasible(sense=sense)
    if values:
        least = Fraction(factor) * min(values) + Fraction(constant)
        truth = optimum(least, size=unit * 50, sense=sense)
    return solving(words, m, truth, some_solver(rng, "MIQP" if convex else "MILP"))


def parity_case(rng: np.random.Generator, index: int) -> Case:
    """An equation of integers that only a fraction solves, or one that an integer does."""
    far = int(rng.choice([0, 10, 1000, 10**6, 10**7]))
    unit = float(rng.choice([1.0, 0.5, 2e-7, 1e-3, 1e3]))
    a, c = int(rng.choice([2, 4])), int(rng.choice([2, 4, 8]))
    odd = index % 2
    m = pyo.ConcreteModel()
    m.x = pyo.Var(within=pyo.Integers, bounds=(far, far + 50))
    m.y = pyo.Var(within=pyo.Integers, bounds=(0, 4 * far + 200))
    even = 2 * int(rng.integers(0, 2))
    # a and c are powers of two: times unit they are not rounded.
    m.row = pyo.Constraint(expr=unit * (a * m.x - c * m.y) == unit * (even + odd))
    m.objective = pyo.Objective(expr=m.x)
    coefficients = [Fraction(unit * a), Fraction(unit * c), Fraction(unit * (even + odd))]
    points = [
        x
        for x in range(far, far + 51)
        if ((coefficients[0] * x - coefficients[2]) / coefficients[1]).denominator == 1
        and 0 <= (coefficients[0] * x - coefficients[2]) / coefficients[1] <= 4 * far + 200
    ]
    truth = optimum(min(points), size=1) if points else infeasible()
    words = f"{unit:g} ({a} x - {c} y) = {unit:g} * {even + odd}, x >= {far}"
    return solving(words, m, truth, some_solver(rng, "MILP"))


def domain_case(rng: np.random.Generator, index: int) -> Case:
    """Domains that are no interval, or intervals under another name."""
    numbers = sorted({int(v) for v in rng.integers(-4, 12, size=int(rng.integers(1, 5)))})
    step, start = int(rng.integers(1, 4)), int(rng.integers(-3, 3))
    choices = [
        (pyo.Set(initialize=numbers), numbers),
        (pyo.RangeSet(start, start + 9, step), list(range(start, start + 10, step))),
        (pyo.Set(initialize=[v + 0.5 for v in numbers]), [Fraction(2 * v + 1, 2) for v in numbers]),
        (pyo.NonNegativeIntegers, range(40)),
        (pyo.NonPositiveIntegers, range(-40, 1)),
        (pyo.NegativeIntegers, range(-40, 0)),
        (pyo.Binary, (0, 1)),
        (pyo.Boolean, (0, 1)),
    ]
    domain, members = choices[index % len(choices)]
    target = Fraction(int(rng.integers(-20, 48)), 4)
    square = rng.random() < 0.7
    # The least of (x - t)^2, or of x where x >= t / 4 besides.
    kept = [Fraction(v) for v in members if square or v >= target / 4]
    m = pyo.ConcreteModel()
    m.x = pyo.Var(within=domain)
    if square:
        m.objective = pyo.Objective(expr=(m.x - float(target)) ** 2)
        truth = optimum(min((v - target) ** 2 for v in kept), size=16)
    else:
        m.row = pyo.Constraint(expr=m.x >= float(target / 4))
        m.objective = pyo.Objective(expr=m.x)
        truth = optimum(min(kept), size=1) if kept else infeasible()
    words = f"domain {domain} members {list(members)[:5]} target {float(target)} square {square}"
    return solving(words, m, truth, some_solver(rng, "MIQP"))


def disjunctive_case(rng: np.random.Generator, index: int) -> Case:
    """The nearest point of two or three boxes, as disjunctions."""
    ends = [sorted(rng.integers(-6, 7, size=2).tolist()) for _ in range(int(rng.integers(2, 4)))]
    target, top = int(rng.integers(-9, 10)), int(rng.choice([7, 100, 10**4]))
    linear = index % 2 == 0
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(-top, top))
    m.either = Disjunction(
        expr=[[m.x >= low, m.x <= high] for low, high in ends], xor=len(set(map(tuple, ends))) < 2
    )
    if linear:
        m.t = pyo.Var(bounds=(0, 3 * top))
        m.above = pyo.Constraint(expr=m.t >= m.x - target)
        m.below = pyo.Constraint(expr=m.t >= target - m.x)
        m.objective = pyo.Objective(expr=m.t)
    else:
        m.objective = pyo.Objective(expr=(m.x - target) ** 2)
    off = min(max(low - target, target - high, 0) for low, high in ends)
    truth = optimum(off if linear else off**2, size=10)
    return solving(f"disjunction of {ends} near {target}, |x| <= {top}", m, truth)


def beside_psd_case(rng: np.random.Generator, index: int) -> Case:
    """Least integer x with x >= y^2, as a matrix that is semidefinite, and y >= c / 4."""
    c, unit = int(rng.integers(1, 30)), int(rng.choice([1, 1, 16]))
    m = pyo.ConcreteModel()
    m.x = pyo.Var(within=pyo.Integers, bounds=(0, 10**6))
    m.y = pyo.Var(bounds=(c / 4, None))
    psd(m, "matrix", [[m.x], [unit * m.y, unit**2]])
    m.objective = pyo.Objective(expr=m.x)
    least = -(-(c * c) // 16)
    return solving(f"integer x >= (y)^2, y >= {c / 4}", m, optimum(least), "auto")
