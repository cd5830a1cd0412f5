"""Models whose numbers are no doubles, and least squares far from 0: optima in rational numbers.

Each number is written in a way that a reader may round; the truth is the best vertex, point of a
box or solution of normal equations, and an end beyond it by one unit in the last place is false.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from typing import Any

import numpy as np
import pyomo.environ as pyo

import tightmargin as tm
from tests.conformance.problems import model
from tests.soundness.asking import SECONDS, said_by, some_solver
from tests.soundness.exact import fractions, solution
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
            m.x[j].bounds = (low, high)
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
    box = itertools.product(map(F, range(low, high + 1)), repeat=n)
    points = box if whole else _vertices(rows, n)
    values = [sum(map(mul, slopes, at), constant) for at in points if _meets(rows, at)]
    truth = infeasible(sense=sense)
    if values:
        truth = optimum(min(values) if sense == 1 else max(values), sense=sense, size=1e3)
    return _asked(f"{'whole' if whole else 'linear'} {n}", m, truth)


def excluded_case(rng: np.random.Generator, index: int) -> Case:
    """A variable that may not be 0, alone or beside a row that asks for 0."""
    sign, domain = (1, pyo.PositiveReals) if index % 2 else (-1, pyo.NegativeReals)
    m = model(x=(None, None, domain), y=(0, 1))()
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


def _vertices(rows: Sequence[Row], n: int) -> list[tuple[Fraction, ...]]:
    lines = [(a, end) for a, *ends in rows for end in ends if end is not None]
    chosen = itertools.combinations(lines, n)
    found = (solution([a for a, _ in own], [end for _, end in own]) for own in chosen)
    return [tuple(x) for x in found if x is not None]


def _asked(name: str, m: pyo.ConcreteModel, truth: Truth) -> Case:
    def ask() -> list[Answer]:
        result = tm.solve(m, time_limit=SECONDS)
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


LEVELS = (1.0, 10.0, 1e3, 1013.25, 1e4, 1e5, 1e6, 1e7, 1e8)
CONSTANTS = (0.0, 0.0, 0.0, 1e3, -1e6, 0.1, 1e10, 1e13, -1e13)
CLOSED = Fraction(1, 10**6)
Box = list[tuple[Fraction | None, Fraction | None]]


@dataclass(frozen=True)
class Fit:
    """min sum_i w_i (u_i'x - v_i)^2 + ridge |x|^2 + constant, within limits and at most one row."""

    U: list[list[Fraction]]
    v: list[Fraction]
    w: list[Fraction]
    ridge: Fraction
    constant: Fraction
    box: Box
    row: tuple[list[Fraction], Fraction, bool] | None = None  # a'x = side, or a'x >= side

    def at(self, x: list[Fraction]) -> Fraction:
        rest = [sum(a * b for a, b in zip(u, x, strict=True)) - v
                for u, v in zip(self.U, self.v, strict=True)]  # fmt: skip
        squares = sum((w * r * r for w, r in zip(self.w, rest, strict=True)), Fraction(0))
        return squares + self.ridge * sum(b * b for b in x) + self.constant

    def k(self) -> Fraction:
        """The constant once columns with equal limits are put in."""
        return self.at([low if low is not None and low == high else Fraction(0)
                        for low, high in self.box])  # fmt: skip

    def least(self) -> Fraction | None:
        """The best stationary point of all faces; None without any."""
        n = len(self.box)
        H = [[2 * sum(w * u[i] * u[j] for w, u in zip(self.w, self.U, strict=True))
              + 2 * self.ridge * (i == j) for j in range(n)] for i in range(n)]  # fmt: skip
        q = [2 * sum(w * u[i] * v for w, u, v in zip(self.w, self.U, self.v, strict=True))
             for i in range(n)]  # fmt: skip
        ends = [[None, *{end for end in pair if end is not None}] for pair in self.box]
        tight = [False] if self.row is None else [False, True]
        found = []
        for held, with_row in itertools.product(itertools.product(*ends), tight):
            rows = [([Fraction(i == j) for i in range(n)], end)
                    for j, end in enumerate(held) if end is not None]  # fmt: skip
            if with_row:
                assert self.row is not None
                rows.append(self.row[:2])
            A = [[*H[i], *(-row[i] for row, _ in rows)] for i in range(n)]
            A += [[*row, *[Fraction(0)] * len(rows)] for row, _ in rows]
            x = solution(A, [*q, *(side for _, side in rows)])
            if x is not None and self.holds(x[:n]):
                found.append(self.at(x[:n]))
        return min(found, default=None)

    def holds(self, x: list[Fraction]) -> bool:
        inside = all((low is None or low <= b) and (high is None or b <= high)
                     for b, (low, high) in zip(x, self.box, strict=True))  # fmt: skip
        if self.row is None or not inside:
            return inside
        a, side, equation = self.row
        body = sum(p * b for p, b in zip(a, x, strict=True))
        return body == side if equation else body >= side


STYLES = ("squares", "products", "named", "expanded", "quicksum", "mean")


def fit_case(rng: np.random.Generator, index: int) -> Case:
    """One fit, in one of the ways to write it, by one of the solvers that take it."""
    style = STYLES[index % len(STYLES)]
    level = float(LEVELS[index % len(LEVELS)])
    n, features = int(rng.integers(4, 31)), 0 if style == "mean" else int(rng.integers(1, 3))
    whole = style == "expanded"
    U = [[1.0] * n] + [_feature(rng, n, whole, number=k) for k in range(features)]
    noise = float(rng.choice([1e-2, 0.1, 0.5, 3.0]))
    v = level + 0.3 * (U[-1] if features else np.zeros(n)) + noise * rng.normal(size=n)
    v = np.round(np.minimum(v, 1e6)) if whole else np.round(v, int(rng.integers(1, 7)))
    weighted = not whole and rng.random() < 0.3
    w = np.round(rng.uniform(0.1, 3.0, n), 2) if weighted else np.ones(n)
    ridge = float(rng.choice([0, 0, 0, 0.1, 1.0])) if not whole else 0.0
    constant, sense = float(rng.choice(CONSTANTS)), int(rng.choice([1, 1, 1, -1]))
    constant = float(round(constant)) if whole else constant
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(features + 1))
    box: Box = [(None, None)] * (features + 1)
    for j in range(features + 1):
        kind = rng.random()
        near = float(np.round(level if j == 0 else 0.3, 2))
        if kind < 0.2 and j < features:
            if kind < 0.1 and whole:
                near = float(round(near))
                m.x[j].fix(near)
            m.x[j].bounds = (near, near)
            box[j] = (Fraction(near),) * 2
        elif kind < 0.4:
            low = float(np.round(near + rng.choice([-1, 1]) * noise, 3))
            m.x[j].setlb(low)
            box[j] = (Fraction(low), None)
    row = None
    if features and rng.random() < 0.2:
        side, equation = float(np.round(level, 2)), bool(rng.random() < 0.5)
        body = m.x[0] + 2 * m.x[1]
        m.row = pyo.Constraint(expr=body == side if equation else body >= side)
        a = [Fraction(1), Fraction(2), *[Fraction(0)] * (features - 1)]
        row = (a, Fraction(side), equation)
    rows = [[float(u[i]) for u in U] for i in range(n)]
    fit = Fit([fractions(r) for r in rows], fractions(v), fractions(w), Fraction(ridge),
              Fraction(constant), box, row)  # fmt: skip
    text = _written(m, style, rows, v.tolist(), w.tolist())
    text += ridge * sum(b**2 for b in m.x.values()) if ridge else 0
    text += constant
    m.goal = pyo.Objective(expr=sense * text, sense=sense)
    solver = some_solver(rng, "QP")
    words = f"{style} n={n} d={features} level {level:g} + {constant:g} by {solver}"
    least = fit.least()

    def ask() -> list[Answer]:
        limit = None if solver == "piqp" else SECONDS  # it cannot be stopped by the clock
        result = tm.solve(m, solver, time_limit=limit)
        if least is None:  # an equation that fixed columns do not meet
            return [Answer(words, said_by(result), infeasible())]
        truth = optimum(sense * least, constant=sense * fit.k(), sense=sense)
        return [Answer(words, said_by(result), truth, _untrue(result, fit, least, sense))]

    return Case(words, ask)


def _feature(rng: np.random.Generator, n: int, whole: bool, *, number: int) -> np.ndarray:
    """Years or a clock, and then decimals or a curve: no two are the same up to a line."""
    match 2 * number + int(rng.integers(2)):
        case 0:
            return np.arange(2000.0, 2000.0 + n)
        case 1:
            return np.arange(n) * 1.0
        case 2 if not whole:
            return np.round(rng.normal(size=n), 3)
        case _:
            return (np.arange(n) - n // 2) ** 2.0 + rng.integers(0, 3, n)


def _written(m: Any, style: str, rows: Any, v: list[float], w: list[float]) -> Any:
    """The sum of squares in one of the ways to write it."""
    x = list(m.x.values())
    bases = [sum((a * b for a, b in zip(u[1:], x[1:], strict=True)), x[0]) - t
             for u, t in zip(rows, v, strict=True)]  # fmt: skip
    if style == "expanded":
        total: Any = sum(t * t for t in v)
        for i, j in itertools.product(range(len(x)), repeat=2):
            total += sum(u[i] * u[j] for u in rows) * x[i] * x[j]
        for i in range(len(x)):
            total += -2 * sum(u[i] * t for u, t in zip(rows, v, strict=True)) * x[i]
        return total
    if style == "named":
        m.rest = pyo.Expression(range(len(v)), rule=lambda m, i: bases[i])
        bases = list(m.rest.values())
    squares = [base * base if style == "products" else base**2 for base in bases]
    terms = [p * square for p, square in zip(w, squares, strict=True)]
    return pyo.quicksum(terms) if style == "quicksum" else sum(terms)


def _untrue(result: Any, fit: Fit, least: Fraction, sense: int) -> str:
    """What of the ends and of the verdict contradicts the definition; empty if nothing does."""
    certificate, facts = result.certificate, result.certificate.facts

    def end(name: str, rounded: float | None) -> Fraction | None:
        return None if rounded is None else sense * Fraction(facts.get(name, rounded))

    alpha, beta = end("exact_upper", certificate.upper), end("exact_bound", certificate.bound)
    wrong = []
    if beta is not None and (beta > least or sense * Fraction(certificate.bound) > least):
        wrong.append(f"bound {float(beta)!r} above {float(least)!r}")
    if alpha is not None and (alpha < least or sense * Fraction(certificate.upper) < least):
        wrong.append(f"upper end {float(alpha)!r} below {float(least)!r}")
    if certificate.verdict.value == "CERTIFIED":
        if alpha is None or beta is None or result.objective != certificate.upper:
            return "CERTIFIED without two ends, or with another objective"
        k = fit.k()
        unit = min(max(abs(alpha), abs(beta)), max(abs(alpha - k), abs(beta - k)))
        if alpha - beta > CLOSED * unit:
            wrong.append(f"a gap of {float(alpha - beta):.3g}, its unit is {float(unit):.3g}")
    return "; ".join(wrong)
