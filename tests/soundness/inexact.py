"""Models whose numbers are no doubles, with their optima in rational numbers.

Each number is written in a way that a reader may round: as a sum, a product of Params, a quotient,
times a fixed variable, beside terms that cancel, or as an integer beyond 2^53. The truth is the
best vertex or the best point of a box in rational numbers; an end that is beyond it by one unit in
the last place is false. Least squares are in fits.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from operator import mul
from typing import Any

import numpy as np
import pyomo.environ as pyo

import tightmargin as tm
from tests.soundness.asking import SECONDS, said_by
from tests.soundness.judge import Answer, Case, Truth, infeasible, optimum

F = Fraction
Row = tuple[list[Fraction], Fraction | None, Fraction | None]
DECIMALS = (0.1, 0.2, 0.3, 0.7, 1.1, 2.3, 1 / 3, 1e-3, 12.7)
HALF_BOX = 4


class _Numbers:
    """Numbers times variables, as a user may write them, and what they are."""

    def __init__(self, rng: np.random.Generator, m: pyo.ConcreteModel) -> None:
        self.rng, self.m = rng, m
        m.held = pyo.VarList()
        m.given = pyo.Param(pyo.NonNegativeIntegers, mutable=True)
        m.named = pyo.Expression(pyo.Any)
        self.count = 0

    def decimal(self) -> float:
        return float(self.rng.choice(DECIMALS)) * float(self.rng.choice([1, -1]))

    def param(self, value: float) -> Any:
        self.count += 1
        self.m.given[self.count] = value
        return self.m.given[self.count]

    def fixed(self, value: float) -> Any:
        variable = self.m.held.add()
        variable.fix(value)
        return variable

    def times(self, x: Any) -> tuple[Any, Fraction]:
        """A number times a variable, or times 1."""
        a, b, c = (self.decimal() for _ in range(3))
        huge = 2**53 + int(self.rng.integers(1, 9))
        self.count += 1
        ways: list[Callable[[], tuple[Any, Fraction]]] = [
            lambda: (a * x, F(a)),
            lambda: (a * x + b * x, F(a) + F(b)),
            lambda: (self.param(a) * self.param(b) * x, F(a) * F(b)),
            lambda: (2.0**40 * (self.param(a) * self.param(b) * x - a * b * x),
                     2**40 * (F(a) * F(b) - F(a * b))),
            lambda: (huge * x - 2**53 * x, F(huge - 2**53)),
            lambda: (self.fixed(a) * x * b, F(a) * F(b)),
            lambda: (x / self.param(a), 1 / F(a)),
            lambda: (a * (self.param(b) * (x * c + x)), F(a) * F(b) * (F(c) + 1)),
            lambda: (1e16 * x + a * x - 1e16 * x, F(a)),
            lambda: (self.expression(a * x + self.param(b) * x) * self.param(c),
                     (F(a) + F(b)) * F(c)),
            lambda: ((self.param(a) + self.param(b)) * x, F(a) + F(b)),
            lambda: (self.param(a) ** 2 * x, F(a) ** 2),
        ]  # fmt: skip
        return ways[int(self.rng.integers(len(ways)))]()

    def expression(self, e: Any) -> Any:
        self.m.named[self.count] = e
        return self.m.named[self.count]

    def alone(self) -> tuple[Any, Fraction]:
        """A number by itself, that Python does not fold."""
        return self.times(self.fixed(1.0))


def linear_case(rng: np.random.Generator, index: int) -> Case:
    """A linear program over a box that bounds or rows state, or over its whole numbers."""
    m, n = pyo.ConcreteModel(), int(rng.integers(1, 3))
    whole, stated = index % 3 == 2, rng.random() < 0.6
    low, high = [(-HALF_BOX, HALF_BOX), (0, HALF_BOX), (-HALF_BOX, 0)][int(rng.integers(3))]
    m.x = pyo.Var(range(n), within=pyo.Integers if whole else pyo.Reals)
    m.rows = pyo.ConstraintList()
    rows: list[Row] = []
    for j in range(n):
        if stated or whole:
            m.x[j].setlb(low)
            m.x[j].setub(high)
        else:
            m.rows.add((low, m.x[j], high))
        rows.append(([F(int(i == j)) for i in range(n)], F(low), F(high)))
    numbers = _Numbers(rng, m)
    for _ in range(int(rng.integers(1, 4))):
        body, row = _sum(numbers, [m.x[j] for j in range(n)])
        (left, shift), (right, side) = numbers.alone(), numbers.alone()
        if rng.random() < 0.5:
            right = numbers.decimal()
            side = F(right)
        way = rng.choice(["<=", ">=", "=="], p=[0.4, 0.4, 0.2])
        ways = {"<=": body + left <= right, ">=": body + left >= right, "==": body + left == right}
        m.rows.add(ways[str(way)])
        end = side - shift
        rows.append((row, None if way == "<=" else end, None if way == ">=" else end))
    cost, slopes = _sum(numbers, [m.x[j] for j in range(n)])
    extra, constant = numbers.alone()
    sense = int(rng.choice([1, -1]))
    m.o = pyo.Objective(expr=cost + extra, sense=sense)
    points = _box(low, high, n) if whole else _vertices(rows, n)
    values = [sum(map(mul, slopes, at), constant) for at in points if _meets(rows, at)]
    truth = infeasible(sense=sense)
    if values:
        truth = optimum(min(values) if sense == 1 else max(values), sense=sense, size=1e3)
    return _asked(f"{'whole' if whole else 'linear'} {n}", m, truth)


def excluded_case(rng: np.random.Generator, index: int) -> Case:
    """A variable that may not be 0, alone or beside a row that asks for 0."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(within=pyo.PositiveReals if index % 2 else pyo.NegativeReals)
    m.y = pyo.Var(bounds=(0, 1))
    sign = 1 if index % 2 else -1
    held = rng.random() < 0.5
    numbers = _Numbers(rng, m)
    extra, constant = numbers.alone()
    m.c = pyo.Constraint(expr=m.x == 0 if held else sign * m.x + m.y <= 1)
    m.o = pyo.Objective(expr=sign * m.x + m.y + extra)
    truth = infeasible() if held else optimum(constant, size=1, attained=False)
    return _asked(f"excluded 0, {'held there' if held else 'open'}", m, truth)


CASES = (linear_case, linear_case, linear_case, excluded_case)


def inexact_case(rng: np.random.Generator, index: int) -> Case:
    """One of these kinds."""
    return CASES[int(rng.integers(len(CASES)))](rng, index)


def _sum(numbers: _Numbers, variables: Sequence[Any]) -> tuple[Any, list[Fraction]]:
    pairs = [numbers.times(x) for x in variables]
    return sum((e for e, _ in pairs), start=0.0), [value for _, value in pairs]


def _meets(rows: Sequence[Row], at: Sequence[Fraction]) -> bool:
    return all(
        (low is None or sum(map(mul, a, at)) >= low)
        and (high is None or sum(map(mul, a, at)) <= high)
        for a, low, high in rows
    )


def _box(low: int, high: int, n: int) -> list[tuple[Fraction, ...]]:
    return list(itertools.product(map(F, range(low, high + 1)), repeat=n))


def _vertices(rows: Sequence[Row], n: int) -> list[tuple[Fraction, ...]]:
    lines = [(a, end) for a, *ends in rows for end in ends if end is not None]
    if n == 1:
        return [(end / a[0],) for a, end in lines if a[0]]
    found = []
    for (a, e), (b, f) in itertools.combinations(lines, 2):
        determinant = a[0] * b[1] - a[1] * b[0]
        if determinant:
            found.append(((e * b[1] - a[1] * f) / determinant, (a[0] * f - e * b[0]) / determinant))
    return found


def _asked(name: str, model: pyo.ConcreteModel, truth: Truth) -> Case:
    def ask() -> list[Answer]:
        result = tm.solve(model, time_limit=SECONDS)
        return [Answer(name, said_by(result), truth, _beyond(result.certificate, truth))]

    return Case(name, ask)


def _beyond(certificate: Any, truth: Truth) -> str:
    """An end of the proven interval on the wrong side of the truth, by however little."""
    if truth.kind.value != "optimum":
        return ""
    value = F(truth.value) * truth.sense
    bound, upper = certificate.bound, certificate.upper
    if bound is not None and F(bound) * truth.sense > value:
        return f"the bound {bound!r} is beyond {float(truth.value)!r}"
    if upper is not None and F(upper) * truth.sense < value:
        return f"the upper end {upper!r} is better than {float(truth.value)!r}"
    return ""
