"""Foreign models with rational optima: planted, of all vertices, of all points of a box.

A quadratic program is built backwards from a point x, active rows with multipliers y >= 0 and a
matrix P = L'L of integers: with q = A'y - P x the conditions of optimality hold exactly, and the
optimum is 1/2 x'Px + q'x. Infeasible ones carry Farkas multipliers, unbounded ones a ray. Units of
variables, rows and the objective are then powers of two, which rounds nothing.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.gdp import Disjunction

from tests.conformance.problems import model, whole
from tests.soundness.asking import solving, some_solver
from tests.soundness.exact import fractions, least_linear
from tests.soundness.judge import Case, Truth, infeasible, optimum, unbounded

UNITS = (0, 0, 0, 0, 3, -3, 10, -10, 20, -20)


@dataclass(frozen=True)
class Program:
    """min 1/2 x'Px + q'x with A x >= b, of Python integers."""

    P: np.ndarray
    q: np.ndarray
    A: np.ndarray
    b: np.ndarray

    def value(self, x: np.ndarray) -> Fraction:
        return Fraction(int(x @ self.P @ x), 2) + int(self.q @ x)


@dataclass(frozen=True)
class Units:
    """Powers of two: of each variable, each row, the objective; and what is added to it."""

    columns: np.ndarray
    rows: np.ndarray
    objective: int
    constant: float
    sense: int

    def truth(self, value: Fraction, size: int) -> Truth:
        factor = self.sense * Fraction(2) ** self.objective
        value = factor * value + Fraction(self.constant)
        return optimum(value, size=size * abs(factor), sense=self.sense)


def integers(rng: np.random.Generator, low: int, high: int, size: Any) -> np.ndarray:
    return rng.integers(low, high + 1, size=size)


def some_units(rng: np.random.Generator, n: int, m: int) -> Units:
    uneven = rng.random() < 0.4
    return Units(
        rng.choice(UNITS, size=n) if uneven else np.full(n, rng.choice(UNITS)),
        rng.choice(UNITS, size=m) if uneven else np.zeros(m, dtype=int),
        int(rng.choice(UNITS)),
        float(rng.choice([0, 0, 0, 0, 1e3, -1e6, 1e9])),
        int(rng.choice([1, -1])),
    )


def built(rng: np.random.Generator, program: Program, units: Units) -> pyo.ConcreteModel:
    """A Pyomo model in the units; a row may be given by a bound, an equation or from above.

    Where the objective is maximised it is the negative one that is minimised.
    """
    m = pyo.ConcreteModel()
    n = len(program.q)
    m.x = pyo.Var(range(n))
    # x = 2^k x' for the model's variable x'.
    x = [float(2.0 ** units.columns[j]) * m.x[j] for j in range(n)]
    m.rows = pyo.ConstraintList()
    for i, (a, right) in enumerate(zip(program.A, program.b, strict=True)):
        own = np.flatnonzero(a)
        if not len(own):
            continue  # 0 >= b_i with b_i <= 0
        if len(own) == 1 and rng.random() < 0.7:
            j = int(own[0])
            limit = float(Fraction(int(right), int(a[j])) / Fraction(2) ** int(units.columns[j]))
            if Fraction(limit) * Fraction(2) ** int(units.columns[j]) * int(a[j]) == int(right):
                low, high = (end if end is not None else limit for end in m.x[j].bounds)
                if a[j] > 0:
                    m.x[j].setlb(max(low, limit))
                else:
                    m.x[j].setub(min(high, limit))
                continue
        f = float(2.0 ** units.rows[i])
        body = sum(f * float(a[j]) * x[j] for j in own)
        if rng.random() < 0.5:
            m.rows.add(body >= f * float(right))
        else:
            m.rows.add(-body <= -f * float(right))
    cost = sum(float(program.q[j]) * x[j] for j in range(n))
    cost += sum(float(program.P[i, j]) / 2 * x[i] * x[j] for i, j in np.argwhere(program.P))
    factor = units.sense * 2.0**units.objective
    m.objective = pyo.Objective(expr=factor * cost + units.constant, sense=units.sense)
    return m


def planted(rng: np.random.Generator, linear: bool) -> tuple[Program, np.ndarray]:
    """A program and its optimal point."""
    n, m = int(rng.integers(1, 6)), int(rng.integers(1, 8))
    A = integers(rng, -3, 3, (m, n))
    single = rng.random(m) < 0.4
    A[single] = np.eye(n, dtype=int)[rng.integers(n, size=int(single.sum()))]
    A[single] *= rng.choice([-1, 1], size=(int(single.sum()), 1))
    x = integers(rng, -6, 6, n)
    active = rng.random(m) < 0.6
    y = np.where(active, integers(rng, 0, 5, m), 0)
    b = A @ x - np.where(active, 0, integers(rng, 0, 8, m))
    if linear:
        P = np.zeros((n, n), dtype=int)
    else:
        L = integers(rng, -3, 3, (int(rng.integers(1, n + 1)), n))
        P = L.T @ L
    return Program(P, A.T @ y - P @ x, A, b), x


def optimal_case(rng: np.random.Generator, index: int) -> Case:
    """LP or QP with a known optimum; a variable may be fixed where the optimum has it."""
    linear = index % 2 == 0
    program, x = planted(rng, linear)
    units = some_units(rng, len(x), len(program.b))
    m = built(rng, program, units)
    if rng.random() < 0.2:
        j = int(rng.integers(len(x)))
        m.x[j].fix(float(x[j]) / 2.0 ** units.columns[j])
    value = program.value(x)
    size = int(np.abs(x) @ np.abs(program.P) @ np.abs(x) + np.abs(program.q) @ np.abs(x)) + 1
    kind = "LP" if linear else "QP"
    words = f"planted {kind} {len(x)}x{len(program.b)} {_words(units)}"
    return solving(words, m, units.truth(value, size), some_solver(rng, kind))


def infeasible_case(rng: np.random.Generator, index: int) -> Case:
    """Rows A x >= b and the negative of their sum with y > 0, which ask for y'b - delta <= 0."""
    n, m = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    A, y = integers(rng, -3, 3, (m, n)), integers(rng, 1, 3, m)
    if not (y @ A).any():
        A[0, 0] += 1
    b = A @ integers(rng, -4, 4, n)
    A, b = np.vstack([A, -(y @ A)]), np.r_[b, -(y @ b) + int(rng.integers(1, 4))]
    L = integers(rng, -2, 2, (2, n)) if index % 2 else np.zeros((1, n), dtype=int)
    program = Program(L.T @ L, integers(rng, -3, 3, n), A, b)
    units = some_units(rng, n, len(b))
    words, m = f"planted infeasible {n}x{len(b)} {_words(units)}", built(rng, program, units)
    solver = some_solver(rng, "QP" if index % 2 else "LP")
    return solving(words, m, infeasible(sense=units.sense), solver)


def unbounded_case(rng: np.random.Generator, index: int) -> Case:
    """P r = 0, A r >= 0 and q'r < 0 for a ray r of integers, from a feasible point."""
    n, m = int(rng.integers(1, 6)), int(rng.integers(0, 6))
    r = integers(rng, -2, 2, n)
    r[0] = 1
    A = integers(rng, -3, 3, (m, n))
    A[A @ r < 0] *= -1
    b = A @ integers(rng, -4, 4, n) - integers(rng, 0, 3, m)
    L = integers(rng, -3, 3, (int(rng.integers(1, n + 1)), n))
    L[:, 0] -= L @ r  # r[0] = 1, so that L r = 0
    if index % 2 == 0:
        L[:] = 0
    q = integers(rng, -4, 4, n)
    q[0] -= q @ r + int(rng.integers(1, 4))
    units = some_units(rng, n, m)
    unbounded_model = built(rng, Program(L.T @ L, q, A, b), units)
    solver, truth = some_solver(rng, "QP" if index % 2 else "LP"), unbounded(sense=units.sense)
    return solving(f"planted unbounded {n}x{m} {_words(units)}", unbounded_model, truth, solver)


DECIMALS = (0.1, -0.3, 0.7, 1e-3, -1e-3, 1e-7, 1e-9, 1e3, -1e5, 1 / 3, 1.0, -1.0, 0.0)


def vertex_case(rng: np.random.Generator, index: int) -> Case:
    """An LP in a box with decimal coefficients: every vertex, in the rationals that doubles are."""
    n, m = int(rng.integers(1, 4)), int(rng.integers(0, 4))
    A, b = rng.choice(DECIMALS, size=(m, n)), rng.choice(DECIMALS, size=m)
    b = np.where(A.any(axis=1), b, -1.0)
    cost = rng.choice(DECIMALS, size=n)
    low = rng.choice([0.0, 0.1, -1.0, -1e3, 1e6], size=n)
    high = low + rng.choice([0.5, 1.0, 1e3], size=n)
    rows = [fractions(row) for row in [*A, *np.eye(n), *-np.eye(n)]]
    value = least_linear(fractions(cost), rows, fractions([*b, *low, *-high]))
    sense = int(rng.choice([1, -1]))
    lp = pyo.ConcreteModel()
    lp.x = pyo.Var(range(n), bounds=lambda lp, j: (low[j], high[j]))
    lp.rows = pyo.ConstraintList()
    for a, right in zip(A, b, strict=True):
        if a.any():
            lp.rows.add(sum(float(a[j]) * lp.x[j] for j in np.flatnonzero(a)) >= float(right))
    goal = sum(sense * float(cost[j]) * lp.x[j] for j in range(n))
    lp.objective = pyo.Objective(expr=goal, sense=sense)
    size = fractions([np.abs(cost) @ np.maximum(np.abs(low), np.abs(high)) + 1e-9])[0]
    truth = infeasible(sense=sense)
    if value is not None:
        truth = optimum(sense * value, size=size, sense=sense)
    words = f"vertices {n}x{m} rows {A.tolist()} >= {b.tolist()} cost {cost.tolist()}"
    words += f" box {low.tolist()} {high.tolist()} sense {sense}"
    return solving(words, lp, truth, some_solver(rng, "LP"))


def _words(units: Units) -> str:
    return (
        f"columns 2^{sorted(set(units.columns.tolist()))} rows 2^{sorted(set(units.rows.tolist()))}"
        f" objective {'+' if units.sense > 0 else '-'}2^{units.objective} + {units.constant:g}"
    )


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

    box = itertools.product(range(top + 1), repeat=n)
    values = [cost(u) for u in box if (A @ np.array(u) >= b).all()]
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
    even = 2 * int(rng.integers(0, 2))
    m = model(  # a and c are powers of two: times unit they are not rounded
        x=whole(far, far + 50), y=whole(0, 4 * far + 200), goal=lambda m: m.x,
        row=lambda m: unit * (a * m.x - c * m.y) == unit * (even + odd),
    )()  # fmt: skip
    p, q, right = Fraction(unit * a), Fraction(unit * c), Fraction(unit * (even + odd))
    found = {x: (p * x - right) / q for x in range(far, far + 51)}
    points = [x for x, y in found.items() if y.denominator == 1 and 0 <= y <= 4 * far + 200]
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
    if square:
        parts = {"goal": lambda m: (m.x - float(target)) ** 2}
        truth = optimum(min((v - target) ** 2 for v in kept), size=16)
    else:
        parts = {"row": lambda m: m.x >= float(target / 4), "goal": lambda m: m.x}
        truth = optimum(min(kept), size=1) if kept else infeasible()
    m = model(x=(None, None, domain), **parts)()
    words = f"domain {domain} members {list(members)[:5]} target {float(target)} square {square}"
    return solving(words, m, truth, some_solver(rng, "MIQP"))


def disjunctive_case(rng: np.random.Generator, index: int) -> Case:
    """The nearest point of two or three boxes, as disjunctions."""
    ends = [sorted(rng.integers(-6, 7, size=2).tolist()) for _ in range(int(rng.integers(2, 4)))]
    target, top = int(rng.integers(-9, 10)), int(rng.choice([7, 100, 10**4]))
    linear = index % 2 == 0
    goal = {"goal": lambda m: (m.x - target) ** 2}
    if linear:
        goal = {"t": (0, 3 * top), "above": lambda m: m.t >= m.x - target,
                "below": lambda m: m.t >= target - m.x, "goal": lambda m: m.t}  # fmt: skip
    m = model(x=(-top, top), **goal)()
    boxes = [[m.x >= low, m.x <= high] for low, high in ends]
    m.either = Disjunction(expr=boxes, xor=len(set(map(tuple, ends))) < 2)
    off = min(max(low - target, target - high, 0) for low, high in ends)
    truth = optimum(off if linear else off**2, size=10)
    return solving(f"disjunction of {ends} near {target}, |x| <= {top}", m, truth)


def beside_psd_case(rng: np.random.Generator, index: int) -> Case:
    """Least integer x with x >= y^2, as a matrix that is semidefinite, and y >= c / 4."""
    c, unit = int(rng.integers(1, 30)), int(rng.choice([1, 1, 16]))
    m = model(x=whole(0, 10**6), y=(c / 4, None), goal=lambda m: m.x,
              matrix=lambda m: [[m.x], [unit * m.y, unit**2]])()  # fmt: skip
    least = -(-(c * c) // 16)
    return solving(f"integer x >= (y)^2, y >= {c / 4}", m, optimum(least), "auto")
