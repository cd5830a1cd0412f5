"""Bounds by weak duality: their parts beside rational arithmetic, and whatever they are handed.

The optima are known by hand. Scales reach down to where products underflow.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

from tests.inside.solvers import (
    Factors,
    Limits,
    Subject,
    clarabel,
    classify,
    complete_squares,
    conic_multipliers,
    curvature,
    dual_centre,
    exact_lp_bound,
    exact_qp_bound,
    is_semidefinite,
    limits_of_variables,
    pack,
    proven_bound,
    standard_form,
)
from tests.soundness.exact import dot, fractions
from tests.support.covering import FULL, covering
from tightmargin.formulations import psd

Array = NDArray[np.float64]
SEEDS = st.integers(0, 2**32 - 1)


def gram(seed: int, k: int, rank: int, power: int) -> Array:
    """A rounded Gram matrix whose rank is less than its order, at any scale."""
    half = np.random.default_rng(seed).normal(size=(rank, k)) * 2.0**power
    return half.T @ half


@given(seed=SEEDS, k=st.integers(2, 6), rank=st.integers(1, 6), power=st.integers(-40, 40))
@settings(max_examples=80 if FULL else 25)
def test_what_curvature_states_holds_in_rational_numbers(
    seed: int, k: int, rank: int, power: int
) -> None:
    Q = gram(seed, k, rank, power)
    found = curvature(sp.csr_matrix(Q))
    assert found.convex
    assert found.least is not None
    shifted = [fractions(line) for line in Q]
    for j, c in enumerate(fractions(found.least)):
        shifted[j][j] -= c
    assert is_semidefinite(shifted)
    if rank < k:
        size = np.abs(Q).max()
        assert (found.least >= -1e-10 * size).all()
        assert not curvature(sp.csr_matrix(Q - 1e-8 * size * np.eye(k))).convex


@given(seed=SEEDS, k=st.integers(1, 5), rank=st.integers(1, 5), power=st.integers(-20, 20))
@settings(max_examples=80 if FULL else 30)
def test_squares_are_the_function_up_to_their_excess(
    seed: int, k: int, rank: int, power: int
) -> None:
    rng = np.random.default_rng(seed)
    q = gram(seed, k, rank, power)
    a = 2 * q @ rng.normal(size=k)  # in the range of q, but for rounding
    found = complete_squares(q, a)
    if found is None:  # the rounding of a has left the range: refused, not approximated
        assert rank < k
        return
    x = fractions(rng.normal(size=k))
    absolute = [abs(y) for y in x]
    value = dot(fractions(a), x) + dot(x, [dot(fractions(line), x) for line in q])
    shift = fractions(found.shift)
    parts = [dot(fractions(line), x) + e for line, e in zip(found.root, shift, strict=True)]
    squares = dot(parts, parts) - found.rest
    e = found.excess
    excess = Fraction(0) if e is None else Fraction(e.constant)
    if e is not None:
        excess += Fraction(e.squares) * dot(x, x) + Fraction(e.linear) * sum(absolute)
    # Entries are right to a few units in their last place.
    sizes = [dot(fractions(np.abs(line)), absolute) for line in found.root]
    sizes = [size + abs(e) for size, e in zip(sizes, shift, strict=True)]
    assert value - squares <= excess + Fraction(2.0**-46) * dot(sizes, sizes)


def test_perfect_squares_are_exact_and_others_say_that_they_round() -> None:
    assert complete_squares(np.diag([1.0, 0.25]), np.zeros(2)).exact  # type: ignore[union-attr]
    assert not complete_squares(np.diag([2.0]), np.zeros(1)).exact  # type: ignore[union-attr]
    assert complete_squares(np.diag([1.0, 0.0]), np.array([0.0, 1.0])) is None
    assert complete_squares(np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([1.0, 2.0])) is None


# --- limits and centres --------------------------------------------------------------------------


def limits_by_name(model: pyo.ConcreteModel, known: float) -> dict[str, float]:
    form = standard_form(model)
    found = limits_of_variables(form, classify(form), known - form.objective.constant).size()
    return {form.columns.name(k): float(found[k]) for k in range(form.n)}


def test_limits_pass_through_rows_and_cones() -> None:
    """X <= 4 by the objective, y = 2 x - 1, |z| <= y, v^2 <= x y: limits 4, 7, 7, 28^(1/2)."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(0, None))
    m.z, m.v = pyo.Var(), pyo.Var()
    psd(m, "matrix", [[m.x], [m.v, m.y]])
    m.row = pyo.Constraint(expr=m.y - 2 * m.x == -1)
    m.cone = pyo.Constraint(expr=m.z**2 <= m.y**2)
    m.objective = pyo.Objective(expr=m.x)
    found = limits_by_name(m, 4.0)
    assert found == pytest.approx({"x": 4.0, "y": 7.0, "z": 7.0, "v": 28**0.5}, rel=1e-9)
    free = pyo.ConcreteModel()
    free.x, free.y = pyo.Var(), pyo.Var(bounds=(0, 1))
    free.objective = pyo.Objective(expr=free.x + free.y)
    assert limits_by_name(free, 5.0) == {"x": np.inf, "y": 1.0}


@pytest.mark.parametrize("seed", range(20 if FULL else 4))
def test_rows_of_squares_limit_their_columns_whatever_the_objective(seed: int) -> None:
    """An ellipsoid with its axes along the columns: centre and half-widths in closed form."""
    dice = np.random.default_rng(seed)
    c, centre = 10.0 ** dice.uniform(-3, 3, size=3), dice.normal(size=3)
    size, sign = 10.0 ** dice.uniform(-6, 3), 1 if seed % 2 else -1
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(3))
    m.y = pyo.Var(bounds=(0.25, None))
    body = sum(c[j] * m.x[j] ** 2 - 2 * c[j] * centre[j] * m.x[j] for j in range(3)) + m.y
    end = size - float(c @ centre**2) + 0.25
    m.row = pyo.Constraint(expr=sign * body <= sign * end if sign == 1 else sign * body >= -end)
    m.objective = pyo.Objective(expr=m.x[0])
    form = standard_form(m)
    found = limits_of_variables(form, classify(form), np.inf)
    half = np.sqrt(size / c)
    x, (y,) = (form.columns.of(m.find_component(name))[0] for name in "xy")
    slack = 1e-6 * half + 1e-4 * np.sqrt((np.abs(centre) + c @ centre**2) / c)
    assert (found.low[x] <= centre - half * (1 - 1e-7)).all()
    assert (found.high[x] >= centre + half * (1 - 1e-7)).all()
    assert (found.low[x] >= centre - half - slack).all()
    assert (found.high[x] <= centre + half + slack).all()
    assert size + 0.25 <= found.high[y] * (1 + 1e-9)
    own = Subject(form).reach(None)  # without the objective, as bounds ask for it first
    assert np.isfinite(own.low[x]).all()


def test_limits_on_one_side_are_passed_on_from_row_to_row() -> None:
    """3 = x_0 <= x_1 <= x_2 <= x_3, and nothing limits them from above."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(4))
    m.x[0].setlb(3)
    m.rows = pyo.Constraint(range(3), rule=lambda m, j: m.x[j + 1] - m.x[j] >= 0)
    m.objective = pyo.Objective(expr=m.x[3])
    reach = Subject(standard_form(m)).reach(np.inf)
    assert reach.low == pytest.approx([3.0] * 4)
    assert (reach.high == np.inf).all()


@given(seed=SEEDS, m=st.integers(2, 8), f=st.integers(1, 2))
@settings(max_examples=40 if FULL else 12)
def test_a_dual_centre_is_inside_and_stationary(seed: int, m: int, f: int) -> None:
    rng = np.random.default_rng(seed)
    A, inside = rng.normal(size=(f, m)), rng.uniform(0.2, 0.8, m)
    found: Any = dual_centre(A, A @ inside, np.zeros(m), np.ones(m), 1.0)
    assert ((found > 0) & (found < 1)).all()
    assert A @ found == pytest.approx(A @ inside, abs=1e-8)
    assert dual_centre(A, A @ (5 * np.sign(A[0])), np.zeros(m), np.ones(m), 1.0) is None


# --- lies about models whose optimum is known by hand ---------------------------------------------


def linear(u: float) -> tuple[pyo.ConcreteModel, float]:
    """min x + y, x + 2 y >= 2 u, x, y >= 0, and a free z = x - y: u at (0, u)."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(0, None))
    m.z = pyo.Var()
    m.row = pyo.Constraint(expr=m.x + 2 * m.y >= 2 * u)
    m.same = pyo.Constraint(expr=m.z == m.x - m.y)
    m.cost = pyo.Objective(expr=m.x + m.y)
    return m, u


def quadratic(u: float) -> tuple[pyo.ConcreteModel, float]:
    """min x^2 + y^2 - 2 u x, x + y >= 3 u: u^2 (2 - 1) at (2 u, u)."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    m.row = pyo.Constraint(expr=m.x + m.y >= 3 * u)
    m.cost = pyo.Objective(expr=m.x**2 + m.y**2 - 2 * u * m.x)
    return m, u * u


def conic(u: float) -> tuple[pyo.ConcreteModel, float]:
    """The distance of (3 u, 4 u) from the quadrant x, y <= 0 is 5 u."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(None, 0)), pyo.Var(bounds=(None, 0))
    m.p, m.q, m.t = pyo.Var(), pyo.Var(), pyo.Var(bounds=(0, None))
    m.first = pyo.Constraint(expr=m.p == m.x - 3 * u)
    m.second = pyo.Constraint(expr=m.q == m.y - 4 * u)
    m.cone = pyo.Constraint(expr=m.p**2 + m.q**2 <= m.t**2)
    m.cost = pyo.Objective(expr=m.t)
    return m, 5 * u


def matrix(u: float) -> tuple[pyo.ConcreteModel, float]:
    """A matrix [[a, c], [c, b]] with c >= u has a trace of 2 u or more."""
    m = pyo.ConcreteModel()
    m.a, m.b, m.c = pyo.Var(), pyo.Var(), pyo.Var()
    psd(m, "matrix", [[m.a], [m.c, m.b]])
    m.row = pyo.Constraint(expr=m.c >= u)
    m.cost = pyo.Objective(expr=m.a + m.b)
    return m, 2 * u


MODELS = {"LP": linear, "QP": quadratic, "SOCP": conic, "SDP": matrix}
SCALES = {"tiny": 2.0**-520, "small": 2.0**-40, "one": 1.0, "large": 2.0**40}


def lies(z: Array, rng: np.random.Generator) -> Iterator[Array]:
    """Multipliers that are true, nearly true, of other units, no numbers, or of nobody."""
    yield z
    for factor in (0.0, -1.0, 1 - 1e-9, 1 + 1e-9, 2.0**-30, 2.0**30, 1e200, 1e-200):
        yield factor * z
    for noise in (1e-16, 1e-12, 1e-6, 1e-1, 10.0):
        yield z * (1 + noise * rng.normal(size=len(z)))
        yield z + noise * rng.normal(size=len(z))
    for wrong in (np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324):
        other = z.copy()
        other[rng.integers(len(z))] = wrong
        yield other
    yield rng.permutation(z)
    yield rng.normal(size=len(z)) * 10.0 ** rng.integers(-300, 300, size=len(z))
    yield rng.normal(size=len(z) + 1)


def points(x: Array, rng: np.random.Generator) -> Iterator[Array]:
    """Points that are optimal, beside it, far away, or none."""
    yield x
    yield np.zeros_like(x)
    yield x * (1 + 1e-3 * rng.normal(size=len(x)))
    yield rng.normal(size=len(x)) * 10.0 ** rng.integers(-200, 150, size=len(x))
    yield np.full_like(x, np.nan)
    yield np.full_like(x, 1e308)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
@pytest.mark.parametrize(("name", "scale"), covering(MODELS, SCALES))
def test_no_multipliers_prove_too_much(name: str, scale: str) -> None:
    build: Callable[[float], tuple[pyo.ConcreteModel, float]] = MODELS[name]
    model, optimum = build(SCALES[scale])
    subject = Subject(standard_form(model))
    near = Subject(standard_form(build(1.0)[0]))
    claim = clarabel.run(near.form, near.classification, Limits())
    assert claim.x is not None
    assert claim.duals is not None
    x = SCALES[scale] * claim.x
    z = conic_multipliers(near.conic, claim.duals) * (SCALES[scale] if name == "QP" else 1.0)
    rng = np.random.default_rng(7)
    proven = []
    tried = itertools.product(lies(z, rng), points(x, rng), (None, 2 * optimum, -optimum))
    for k, (multipliers, point, cutoff) in enumerate(tried):
        if FULL or k < 18 or k % 5 == 0:  # the true multipliers everywhere
            found = proven_bound(subject, point, multipliers, cutoff)
            if found is not None:
                proven.append(found.varying)
                assert found.varying <= optimum
    if scale != "tiny":  # where products underflow it may be that nothing is proven
        assert len(proven) > 30
        assert max(proven) >= optimum * (1 - 1e-6), "the true ones prove it"


def test_a_matrix_out_of_the_cone_is_lifted_into_it() -> None:
    """a + b in [[a, 1], [1, b]]: 2. A matrix of 2.01 and -0.01 is lifted by 0.01, of a, b <= 4."""
    m = pyo.ConcreteModel()
    m.a, m.b = pyo.Var(bounds=(0, 4)), pyo.Var(bounds=(0, 4))
    psd(m, "matrix", [[m.a], [1.0, m.b]])
    m.cost = pyo.Objective(expr=m.a + m.b)
    subject = Subject(standard_form(m))
    z = np.zeros(len(subject.conic.b))
    z[-3:] = pack(np.array([[1.0, -1.01], [-1.01, 1.0]]))
    assert 2 - 0.08 <= proven_bound(subject, np.zeros(2), z, None).varying <= 2


@pytest.mark.parametrize("u", [1.0, 2.0**-30])
def test_a_cone_whose_sum_lost_one_end_is_not_scaled(u: float) -> None:
    """h^2 <= (s + 1) (t + u^2), s <= 1 and t <= u^2: h <= 2 u, and 1 + u^2 is 1."""
    m = pyo.ConcreteModel()
    m.h, m.s, m.t = pyo.Var(), pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0, u * u))
    m.cone = pyo.Constraint(expr=m.h**2 <= m.s * m.t + u * u * m.s + m.t + u * u)
    m.cost = pyo.Objective(expr=-m.h)
    subject = Subject(standard_form(m))
    z = np.r_[np.zeros(len(subject.conic.b) - 3), 0.5, 0.0, -0.5]
    factors = Factors(np.array([u, 1.0, u * u]), np.ones(0), (), u)
    found = proven_bound(subject, np.zeros(3), z, None, factors=factors)
    assert found is None if u < 1 else -2.000001 <= found.varying <= -2


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("scale", SCALES)
def test_no_multipliers_prove_too_much_in_rational_arithmetic(scale: str) -> None:
    model, optimum = linear(SCALES[scale])
    form = standard_form(model)
    rng = np.random.default_rng(8)
    names = [form.rows.name(k) for k in range(len(form.rows))]
    true = np.array([0.5 if name == "row" else 0.0 for name in names])
    found = [exact_lp_bound(Subject(form), y) for y in lies(true, rng)]
    proven = [bound.varying for bound in found if bound is not None]
    assert max(proven) == optimum
    assert len(proven) > 15


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("seed", range(200 if FULL else 20))
def test_bounds_with_free_columns_stay_below_the_optimum_of_another_solver(seed: int) -> None:
    """Of eighths in units of powers of two, so that the rows hold exactly at x0."""
    rng = np.random.default_rng(seed)
    n, rows = (int(size) for size in rng.integers(2, 9, size=2))
    A = np.round(8 * rng.normal(size=(rows, n))) / 8
    x0, cost = np.round(8 * rng.normal(size=n)) / 8, A.T @ rng.normal(size=rows)
    low = np.where(rng.random(n) < 0.5, -np.inf, x0 - 1)
    equal, unit = rng.random(rows) < 0.5, 2.0 ** int(rng.integers(-27, 28))
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(n), bounds=lambda _, j: (float(low[j]), None))
    m.row = pyo.Constraint(range(rows), rule=lambda m, i: (
        float(unit * A[i] @ x0), sum(float(unit * a) * m.x[j] for j, a in enumerate(A[i])),
        float(unit * A[i] @ x0) if equal[i] else None,
    ))  # fmt: skip
    m.cost = pyo.Objective(expr=sum(float(c) * m.x[j] for j, c in enumerate(cost)) + 1e6)
    subject = Subject(standard_form(m))
    box = list(zip(low, np.full(n, np.inf), strict=True))
    best = linprog(cost, -A[~equal], -A[~equal] @ x0, A[equal], A[equal] @ x0, box)
    y = np.zeros(rows)
    if best.status == 0:
        y[~equal], y[equal] = -best.ineqlin.marginals / unit, best.eqlin.marginals / unit
    found = [exact_lp_bound(subject, part) for part in (y, *lies(y, rng))]
    proven = [bound.varying for bound in found if bound is not None]
    assert best.status == 0 or not proven, "there is no least value"
    if best.status == 0:
        assert max(proven, default=-np.inf) <= best.fun + 1e-9 * max(1, abs(best.fun))
        # Where no exact multipliers are stationary, as with fewer of them than columns, none prove.
        many = np.count_nonzero(y) >= n
        assert found[0] is not None or not many
        assert not many or found[0].varying == pytest.approx(best.fun, rel=1e-9, abs=1e-9)


def test_no_rational_numbers_prove_too_much_of_a_quadratic_program() -> None:
    m, optimum = quadratic(1.0)
    m.y.setlb(0.0)
    subject, rng, found = Subject(standard_form(m)), np.random.default_rng(9), []
    best = {"x": 2.0, "y": 1.0}
    x = np.array([best[subject.form.columns.name(j)] for j in range(2)])
    for size in (0.0, *np.geomspace(1e-12, 100, 200 if FULL else 60)):
        near, price = x + size * rng.normal(size=2), 2.0 + size * rng.normal()
        at = dict(enumerate(fractions(near)))
        found.append(exact_qp_bound(subject, at, {0: Fraction(float(price))}))
    proven = [bound.varying for bound in found if bound is not None]
    assert proven[0] == optimum == max(proven)
    assert 30 < len(proven) < len(found), "a price of less than 0 proves nothing"
