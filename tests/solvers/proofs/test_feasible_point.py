"""Feasible in exact arithmetic or not: beside a slow check in rational numbers, at every scale."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.inside.solvers import (
    Coordinates,
    FeasiblePoint,
    StandardForm,
    crossing_point,
    near_point,
    proven_point,
    standard_form,
)
from tests.soundness.exact import dot, fractions
from tests.support.covering import FULL, covering
from tightmargin.formulations import psd

SCALES = (1e-6, 1.0, 1e6)
INF = math.inf


Products = dict[tuple[int, int], float]
Triangle = list[list[tuple[list[float], float]]]  # each entry (coefficients, constant)


def polynomial(products: Products, a: list[float], x: Any, kind: type = Fraction) -> Any:
    """A value at a point, or an expression of columns."""
    squares = sum(kind(v) * x[i] * x[j] for (i, j), v in products.items())
    return squares + sum(kind(c) * x[k] for k, c in enumerate(a) if c)


@dataclass
class Spec:
    """A small model: rows are (products, coefficients, lower, upper)."""

    bounds: list[tuple[float, float]]
    rows: list[tuple[Products, list[float], float, float]] = field(default_factory=list)
    matrices: list[Triangle] = field(default_factory=list)  # semidefinite
    goal: tuple[Products, list[float], float] = ({}, [], 0.0)
    whole: tuple[int, ...] = ()

    def form(self) -> StandardForm:
        m = pyo.ConcreteModel()
        m.x = pyo.Var(range(len(self.bounds)), bounds=lambda _, k: self.bounds[k])
        for k in self.whole:
            m.x[k].domain = pyo.Integers
        m.row = pyo.ConstraintList()
        for products, a, low, high in self.rows:
            m.row.add((low, polynomial(products, a, m.x, float), high))
        for number, triangle in enumerate(self.matrices):
            lines = [[polynomial({}, a, m.x, float) + g for a, g in line] for line in triangle]
            psd(m, f"matrix_{number}", lines)
        products, a, constant = self.goal
        m.goal = pyo.Objective(expr=polynomial(products, a, m.x, float) + constant)
        return standard_form(m)


def violation(value: Fraction, low: float, high: float) -> Fraction:
    short = Fraction(low) - value if low > -INF else Fraction(0)
    over = value - Fraction(high) if high < INF else Fraction(0)
    return max(short, over, Fraction(0))


def matrix(triangle: Triangle, x: list[Fraction]) -> list[list[Fraction]]:
    lower = [[polynomial({}, a, x) + Fraction(g) for a, g in line] for line in triangle]
    k = len(lower)
    return [[lower[max(i, j)][min(i, j)] for j in range(k)] for i in range(k)]


def determinant(rows: list[list[Fraction]]) -> Fraction:
    minors = ([row[:j] + row[j + 1 :] for row in rows[1:]] for j in range(len(rows)))
    parts = ((-1) ** j * rows[0][j] * determinant(minor) for j, minor in enumerate(minors))
    return sum(parts, Fraction(not rows))


def semidefinite(rows: list[list[Fraction]]) -> bool:
    """By all principal minors: their signs decide, and nothing is eliminated."""
    at = range(len(rows))
    some = (s for k in at for s in itertools.combinations(at, k + 1))
    return all(determinant([[rows[i][j] for j in s] for i in s]) >= 0 for s in some)


def feasible(spec: Spec, x: list[Fraction]) -> bool:
    if any(violation(v, *ends) for v, ends in zip(x, spec.bounds, strict=True)):
        return False
    if any(x[k].denominator != 1 for k in spec.whole):
        return False
    if any(violation(polynomial(p, a, x), low, high) for p, a, low, high in spec.rows):
        return False
    return all(semidefinite(matrix(triangle, x)) for triangle in spec.matrices)


def nudged(number: Fraction, rng: np.random.Generator) -> float:
    """A double near a rational number: that below, that above, or one or two further."""
    value = float(number)
    for _ in range(int(rng.integers(0, 3))):
        value = float(np.nextafter(value, rng.choice([-INF, INF])))
    return value


def drawn(rng: np.random.Generator, scale: float, kind: str) -> tuple[Spec, np.ndarray]:
    """A model whose rows are all tight to the last place at a point, or miss it by as little."""
    n = int(rng.integers(1, 6))
    x = rng.standard_normal(n) * scale ** rng.choice([0, 1], size=n)
    spec = Spec([(-INF, INF)] * n)
    tight = int(rng.integers(1, 3))
    for _ in range(tight):
        a = (rng.standard_normal(n) * scale ** rng.choice([0, 1], size=n)).tolist()
        products = {}
        if kind == "quadratic":
            pairs = itertools.combinations_with_replacement(range(n), 2)
            products = {p: float(rng.standard_normal()) for p in pairs if rng.random() < 0.7}
        value = polynomial(products, a, fractions(x))
        side = nudged(value, rng)
        low, high = (side, INF) if rng.random() < 0.5 else (-INF, side)
        spec.rows.append((products, a, low, high))
    if rng.random() < 0.3:
        k = int(rng.integers(n))
        spec.bounds[k] = (nudged(Fraction(float(x[k])), rng), INF)
    a, Q = rng.standard_normal(n).tolist(), {}
    if kind != "linear":
        Q = {(k, k): float(rng.random()) for k in range(n)}
    spec.goal = (Q, a, 3.0)
    if kind == "semidefinite":
        x = np.round(x / scale * 8) / 8 * 2.0 ** round(math.log2(scale))
        spec = Spec([(-INF, INF)] * n, [], [triangle(rng, x, scale)], spec.goal)
    return spec, x


def triangle(rng: np.random.Generator, x: np.ndarray, scale: float) -> Triangle:
    """V V' of low rank at x, exactly singular, or off by one unit in one place."""
    k = int(rng.integers(2, 4))
    V = rng.integers(-8, 9, size=(k, k - 1)) / 4 * 2.0 ** round(math.log2(scale))
    M = V @ V.T
    at, step = int(rng.integers(k)), int(rng.integers(-1, 2))
    lines: Triangle = [[] for _ in range(k)]
    for i in range(k):
        for j in range(i + 1):
            a = (rng.integers(-4, 5, size=len(x)) / 4).tolist()
            g = float(Fraction(float(M[i, j])) - polynomial({}, a, fractions(x)))
            if (i, j) == (at, 0) and step:
                g = float(np.nextafter(g, step * INF))
            lines[i].append((a, g))
    return lines


@pytest.mark.parametrize("kind", ["linear", "quadratic", "semidefinite"])
@pytest.mark.parametrize("scale", SCALES)
def test_a_point_is_proven_if_and_only_if_it_is_feasible(kind: str, scale: float) -> None:
    answers = []
    for seed in range(120 if FULL else 25):
        rng = np.random.default_rng([seed, SCALES.index(scale), len(kind)])
        spec, x = drawn(rng, scale, kind)
        truth = feasible(spec, fractions(x))
        found = proven_point(spec.form(), x)
        assert (found is not None) == truth, (seed, spec, x)
        answers.append(truth)
        if found is not None:
            check_objective(spec, x, found)
    assert 2 < sum(answers) < len(answers) - 2  # both answers are asked for


def check_objective(spec: Spec, x: np.ndarray, found: FeasiblePoint) -> None:
    """At least the objective without its constant, and above it by rounding only."""
    products, a, _ = spec.goal
    value = polynomial(products, a, fractions(x))
    sizes = {p: abs(v) for p, v in products.items()}, [abs(c) for c in a], fractions(np.abs(x))
    slack = Fraction(1e-11) * abs(value) + Fraction(2.0**-52) * polynomial(*sizes)
    assert value <= Fraction(found.varying) <= value + slack
    assert found.exact
    assert np.array_equal(found.x, x)


@pytest.mark.parametrize(("kind", "scale"), covering(["linear", "quadratic"], SCALES))
def test_eps_is_the_largest_violation_rounded_up(kind: str, scale: float) -> None:
    """Of rows whose largest coefficient is 1, where it is far above and far below rounding."""
    for seed in range(60 if FULL else 20):
        rng = np.random.default_rng([seed, SCALES.index(scale), 7])
        spec, x = drawn(rng, scale, kind)
        off = x + rng.standard_normal(len(x)) * 10.0 ** rng.integers(-16, 0) * np.abs(x)
        exact = fractions(off)
        shares = [violation(v, *ends) for v, ends in zip(exact, spec.bounds, strict=True)]
        for products, a, low, high in spec.rows:
            # Products stand for two halves of a matrix: the smaller size is the larger share.
            sizes = [abs(v) if i == j else abs(v) / 2 for (i, j), v in products.items()]
            size = max([*sizes, *map(abs, a)])
            shares.append(violation(polynomial(products, a, exact), low, high) / Fraction(size))
        truth = max(shares)
        found = near_point(spec.form(), off)
        assert Fraction(found.eps) >= truth
        assert Fraction(found.eps) <= truth * Fraction(1 + 1e-12)
        assert found.exact == (truth == 0)
        assert bool(found.worst) == (truth > 0)


@pytest.mark.parametrize("scale", SCALES)
def test_eps_of_a_matrix_lifts_it_to_semidefinite(scale: float) -> None:
    for seed in range(60 if FULL else 20):
        rng = np.random.default_rng([seed, SCALES.index(scale), 9])
        k = int(rng.integers(2, 5))
        V = rng.standard_normal((k, k - 1)) * scale
        M = V @ V.T - np.eye(k) * scale**2 * 10.0 ** rng.integers(-14, -1)
        lines = [[([float(i == j)], float(M[i, j])) for j in range(i + 1)] for i in range(k)]
        spec = Spec([(-INF, INF)], matrices=[lines])
        found = near_point(spec.form(), np.zeros(1))
        assert semidefinite(matrix(lines, [Fraction(found.eps)]))
        least = max(0.0, -float(np.linalg.eigvalsh((M + M.T) / 2)[0]))
        assert found.eps <= 3 * least + 1e-12 * scale**2
        assert found.worst == "row matrix_0"


def many(a: np.ndarray, q: np.ndarray, x: np.ndarray) -> tuple[FeasiblePoint, Fraction]:
    """What is proven at x of the least of sum a x + q x^2, and that sum in fractions."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(len(x)))
    squares = {(k, k): c for k, c in enumerate(q.tolist())}
    m.goal = pyo.Objective(expr=polynomial(squares, a.tolist(), m.x, float))
    return proven_point(standard_form(m), x), polynomial(squares, a.tolist(), fractions(x))


def test_objectives_of_many_terms_are_rounded_up_and_exact_where_rounding_counts() -> None:
    rng = np.random.default_rng(4)
    nothing, ones = np.zeros(201), np.ones(201)
    for count, few in ((200, True), (201, False)):
        a, x = rng.normal(size=count) + 3, rng.normal(size=count) + 3
        for found, truth in (many(a, nothing[:count], x), many(nothing[:count], a, x)):
            assert truth <= Fraction(found.varying) <= truth * Fraction(1 + 1e-11)
            assert (found.number is not None) is few
    # Terms that cancel to the last place, and those that underflow to less than they are.
    signs = np.where(np.arange(201) % 2 == 0, 1.0, -1.0)
    signs[0] = 2.0**-60
    found, truth = many(signs, nothing, ones)
    assert (found.number, found.varying) == (2.0**-60, 2.0**-60)
    found, truth = many(1.4 * 2.0**-537 * ones, nothing, 2.0**-537 * ones)
    assert Fraction(found.varying) >= truth
    found, _ = many(-ones[:2], nothing[:2], np.zeros(2))
    assert math.copysign(1.0, found.varying) == 1.0


def equation(*a: float, right: float = 1.0, **words: Any) -> Spec:
    return Spec([(-INF, INF)] * len(a), [({}, list(a), right, right)], **words)


def test_an_equation_needs_a_rational_coordinate() -> None:
    """Feasible at the solution of an equation, never at the nearest doubles that miss it."""
    missed = 0
    for seed in range(60 if FULL else 15):
        rng = np.random.default_rng(seed)
        a, x, right = rng.standard_normal(4), rng.standard_normal(4), float(rng.standard_normal())
        spec = equation(*a.tolist(), right=right)
        first = (Fraction(right) - dot(fractions(a[1:]), fractions(x[1:]))) / Fraction(a[0])
        form = spec.form()
        found = proven_point(form, x, {0: first})
        assert np.array_equal(found.x[1:], x[1:])
        assert proven_point(form, x, {0: first + Fraction(1, 10**40)}) is None
        x[0] = float(first)
        assert (proven_point(form, x) is not None) == feasible(spec, fractions(x))
        missed += not feasible(spec, fractions(x))
    assert missed > 5


def test_rational_coordinates_in_rows_of_every_kind() -> None:
    """x = 1/3 in 9 x^2 <= 1 and [[1, 3x], [3x, 1]]: tight in both, and one step off in neither."""
    lines = [[([0.0], 1.0)], [([3.0], 0.0), ([0.0], 1.0)]]
    spec = Spec([(-INF, INF)], [({(0, 0): 9.0}, [0.0], -INF, 1.0)], [lines])
    spec.goal = ({}, [3.0], 0.0)
    form = spec.form()
    third, above = Fraction(1, 3), Fraction(1, 3) + Fraction(1, 2**200)
    found = proven_point(form, np.zeros(1), {0: third})
    assert 1.0 <= found.varying <= 1.0 + 1e-11
    assert proven_point(form, np.zeros(1), {0: above}) is None
    integer = Spec([(0.0, 1.0)], whole=(0,)).form()
    assert proven_point(integer, np.zeros(1), {0: third}) is None
    bounded = Spec([(1 / 3, 1.0)]).form()  # the double is below 1/3
    assert proven_point(bounded, np.zeros(1), {0: third}) is not None
    assert proven_point(bounded, np.zeros(1), {0: Fraction(1 / 3) - Fraction(1, 2**99)}) is None


def proven(spec: Spec, *x: float) -> bool:
    return proven_point(spec.form(), np.array(x)) is not None


def test_numbers_that_are_none_whole_numbers_and_cancellation() -> None:
    free, whole = Spec([(-INF, INF)]), Spec([(0.0, 5.0)], whole=(0,))
    for spec, number in (
        (free, math.nan), (free, INF), (free, -INF), (whole, 2.0 + 1e-12), (whole, 0.5),
    ):  # fmt: skip
        assert not proven(spec, number)
        assert near_point(spec.form(), np.array([number])) is None
    assert proven(whole, 2.0)
    assert proven_point(free.form(), np.zeros(1), {0: Fraction(10) ** 400}) is None
    # 1e16 + 1 - 1e16: floating point finds 0, and the row needs 1.
    far = equation(1e16, 1.0, -1e16)
    assert proven(far, 1.0, 1.0, 1.0)
    assert not proven(far, 1.0, 0.0, 1.0)
    assert not proven(far, 1.0, 1.0 + 2.0**-52, 1.0)
    # Products of 2^-1200 and of 2^1000 are above or below 0 all the same.
    for size in (2.0**-600, 2.0**500):
        for sign in (-1, 1):
            line = Spec([(-INF, INF)] * 2, [({}, [size, 1.0], -INF, 0.0)])
            assert proven(line, size * sign, 0.0) == (sign < 0)
            square = Spec([(-INF, INF)] * 2, [({(0, 0): sign * 1.0}, [0.0, 1.0], -INF, 0.0)])
            assert proven(square, size, 0.0) == (sign < 0)
    square = ({(0, 0): 1.0, (0, 1): -2.0, (1, 1): 1.0}, [0.1, -0.1], 5.0)
    spec = Spec([(-INF, INF)] * 2, goal=square)
    assert proven_point(spec.form(), np.array([0.3, 0.3])).varying == 0.0


def test_rows_of_numbers_alone_are_met_or_no_point_is_near() -> None:
    """Fixed columns and terms that cancel leave rows that nothing can be divided by."""
    for body, side, near in (
        (lambda m: 0 * m.x + m.y, 1.0, True),
        (lambda m: 0 * m.x + m.y, 2.0, False),
        (lambda m: m.x - m.x + 0 * m.x, 1e-12, False),
    ):
        m = pyo.ConcreteModel()
        m.x, m.y = pyo.Var(bounds=(0, 1)), pyo.Var(initialize=1.0)
        m.y.fix()
        m.row = pyo.Constraint(expr=(side, body(m), None))
        m.objective = pyo.Objective(expr=m.x)
        form = standard_form(m)
        assert form.A.nnz == 0
        found = near_point(form, np.zeros(form.n))
        assert (found is not None and found.exact) is near
        assert (proven_point(form, np.zeros(form.n)) is not None) is near
    m = pyo.ConcreteModel()
    m.x = pyo.Var()
    m.cube = pyo.Constraint(expr=m.x**3 <= 1)
    assert proven_point(standard_form(m), np.zeros(1)) is None, "beyond degree two"
    assert near_point(standard_form(m), np.zeros(1)) is None


def model(**parts: Any) -> pyo.ConcreteModel:
    """x^2 + y^2 = 2 in the plane, and what is added."""
    made = pyo.ConcreteModel()
    made.x, made.y = pyo.Var(), pyo.Var()
    made.norm = pyo.Constraint(expr=made.x**2 + made.y**2 == 2)
    made.goal = pyo.Objective(expr=made.x + 2 * made.y)
    for name, expression in parts.items():
        made.add_component(name, pyo.Constraint(expr=expression(made)))
    return made


def at(*numbers: float) -> Coordinates:
    return np.array(numbers, dtype=float), {}


def form_of(**parts: Any) -> StandardForm:
    return standard_form(model(**parts))


SHORT, LONG = at(0.1, 1.4), at(0.1, 1.5)  # 1.97 and 2.26


def test_a_point_between_the_sides_of_an_equation_is_feasible() -> None:
    inside = form_of(more=lambda m: (m.y - 1.4375) ** 2 + m.x**2 <= 0.02)  # holds between its ends
    assert crossing_point(inside, SHORT, LONG) is not None
    found = crossing_point(form_of(), SHORT, LONG)
    assert found.exact
    assert found.between
    # No more than the dearer end, and so no less than the point, of y = sqrt(1.99).
    assert 0.1 + 2 * 1.99**0.5 <= found.varying == pytest.approx(3.1)
    assert "norm changes sides" in found.words


def test_ends_on_one_side_prove_nothing() -> None:
    assert crossing_point(form_of(), SHORT, SHORT) is None
    assert crossing_point(form_of(), LONG, at(3.0, 3.0)) is None
    assert crossing_point(form_of(), SHORT, at(np.nan, 1.0)) is None
    exact = (np.array([1.0, 1.0]), {0: Fraction(1), 1: Fraction(1)})
    assert crossing_point(form_of(), exact, exact) is not None  # on it


@pytest.mark.parametrize(
    "row",
    [
        lambda m: m.y <= 1.4375,  # one end misses it
        lambda m: m.x - 0.1 * m.y == -0.04,
        lambda m: m.x**2 + m.y**2 == 2.1,  # a second equation
        lambda m: (m.y - 1.4375) ** 2 >= 0.001,  # holds at both ends and not between them
    ],
)
def test_rows_that_do_not_hold_all_the_way_prove_nothing(row: Any) -> None:
    assert crossing_point(form_of(more=row), SHORT, LONG) is None


def test_whole_numbers_stay() -> None:
    made = model()
    made.k = pyo.Var(within=pyo.Integers)
    made.tie = pyo.Constraint(expr=made.k + made.x >= -5)
    form = standard_form(made)
    order = {c.name: j for j, c in enumerate(form.columns)}
    one, other = np.zeros(3), np.zeros(3)
    for end, y in ((one, 1.4), (other, 1.5)):
        end[order["x"]], end[order["y"]] = 0.1, y
    assert crossing_point(form, (one, {}), (other, {})) is not None
    other[order["k"]] = 1.0
    assert crossing_point(form, (one, {}), (other, {})) is None


def test_a_concave_objective_is_larger_between_its_ends() -> None:
    made = model()
    made.goal.deactivate()
    made.other = pyo.Objective(expr=-100 * (made.y - 1.4375) ** 2)
    found = crossing_point(standard_form(made), SHORT, LONG)
    assert found.varying >= -100 * ((1.99**0.5 - 1.4375) ** 2 - 1.4375**2)
