"""The parts of a proven bound against rational arithmetic: curvature, squares, limits, terms."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import tightmargin as tm
from tests.inside.formulations import least_eigenvalue
from tests.inside.solvers import (
    block_curvature,
    classify,
    complete_squares,
    curvature,
    dual_centre,
    is_semidefinite,
    limits_of_variables,
    standard_form,
)
from tests.soundness.exact import dot, fractions
from tests.support.bounds import best_bound, plain_bound
from tests.support.covering import FULL
from tightmargin.formulations import psd
from tightmargin.solvers import Verdict

Array = NDArray[np.float64]
SEEDS = st.integers(0, 2**32 - 1)


def gram(seed: int, k: int, rank: int, power: int) -> Array:
    """A rounded Gram matrix whose rank is less than its order, at any scale."""
    half = np.random.default_rng(seed).normal(size=(rank, k)) * 2.0**power
    return half.T @ half


# --- curvature -----------------------------------------------------------------------------------


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
        assert (found.least >= -1e-10 * np.abs(Q).max()).all()


def test_an_eigenvalue_below_the_rounding_of_a_matrix_is_negative() -> None:
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(30, 30)))[0]
    Q = (turn * np.r_[-1e-9, np.linspace(1, 2, 29)]) @ turn.T
    assert block_curvature((Q + Q.T) / 2)[0] is None
    flat = (turn * np.r_[0.0, np.linspace(1, 2, 29)]) @ turn.T
    least = block_curvature((flat + flat.T) / 2)[0]
    assert -1e-11 < least <= 1e-14


def test_a_proven_eigenvalue_is_below_the_true_one() -> None:
    for k in (1, 3, 40):
        matrix = np.full((k, k), 1.0) + 2 * np.eye(k)  # eigenvalues 2 and k + 2
        found = least_eigenvalue(matrix, 0.0)
        assert 0.9 <= found <= (3.0 if k == 1 else 2.0)
        assert least_eigenvalue(matrix, 5.0) is None


# --- squares -------------------------------------------------------------------------------------


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
    value = dot(fractions(a), x) + sum(
        y * dot(fractions(line), x) for y, line in zip(x, q, strict=True)
    )
    shift = fractions(found.shift)
    parts = [dot(fractions(line), x) + e for line, e in zip(found.root, shift, strict=True)]
    squares = dot(parts, parts) - found.rest
    excess = Fraction(0)
    if found.excess is not None:
        e = found.excess
        excess = Fraction(e.squares) * dot(x, x) + Fraction(e.linear) * sum(absolute)
        excess += Fraction(e.constant)
    # Entries are right to a few units in their last place.
    sizes = [
        dot(fractions(np.abs(line)), absolute) + abs(e)
        for line, e in zip(found.root, shift, strict=True)
    ]
    size = dot(sizes, sizes)
    assert value - squares <= excess + Fraction(2.0**-46) * size


def test_perfect_squares_are_exact_and_others_say_that_they_round() -> None:
    assert complete_squares(np.diag([1.0, 0.25]), np.zeros(2)).exact  # type: ignore[union-attr]
    assert not complete_squares(np.diag([2.0]), np.zeros(1)).exact  # type: ignore[union-attr]
    assert complete_squares(np.diag([1.0, 0.0]), np.array([0.0, 1.0])) is None
    assert complete_squares(np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([1.0, 2.0])) is None


# --- limits --------------------------------------------------------------------------------------


@given(seed=SEEDS, power=st.integers(-20, 20))
@settings(max_examples=60 if FULL else 8)
def test_no_point_that_matters_is_outside_its_limits(seed: int, power: int) -> None:
    """Cones, a semidefinite row and a quadratic objective in units of 2^power."""
    rng, unit = np.random.default_rng(seed), 2.0**power
    a, b = float(rng.uniform(0.5, 2)), float(rng.uniform(0.5, 2))
    m = pyo.ConcreteModel()
    m.x, m.y, m.t = pyo.Var(), pyo.Var(), pyo.Var(within=pyo.NonNegativeReals)
    m.s, m.v = pyo.Var(within=pyo.NonNegativeReals), pyo.Var()
    m.cone = pyo.Constraint(expr=m.x**2 <= a * unit * m.t)
    m.norm = pyo.Constraint(expr=m.y**2 <= b * m.s**2)
    m.link = pyo.Constraint(expr=m.s <= m.t + unit)
    psd(m, "matrix", [[m.t], [m.v, m.s]])
    m.objective = pyo.Objective(expr=m.t + (m.x - unit) ** 2 / unit)
    form = standard_form(m)
    kind = classify(form)
    cutoff = float(rng.uniform(0.5, 3)) * unit - form.objective.constant
    reach = limits_of_variables(form, kind, cutoff)
    names = [form.columns.name(k) for k in range(form.n)]
    t = rng.uniform(0, 4, 4000) * unit
    x = rng.uniform(-1, 1, 4000) * np.sqrt(a * unit * t)
    s = rng.uniform(0, 1, 4000) * (t + unit)
    points = {"t": t, "x": x, "s": s, "y": rng.uniform(-1, 1, 4000) * np.sqrt(b) * s,
              "v": rng.uniform(-1, 1, 4000) * np.sqrt(t * s)}  # fmt: skip
    sample = np.column_stack([points[name] for name in names])
    value = t + (x - unit) ** 2 / unit - form.objective.constant
    kept = sample[value <= cutoff]
    assert np.isfinite(reach.size()).all()
    assert (kept >= reach.low - 1e-12 * unit).all()
    assert (kept <= reach.high + 1e-12 * unit).all()


# --- the bound -----------------------------------------------------------------------------------


def planted(seed: int, n: int, m: int, power: int) -> tuple[pyo.ConcreteModel, Fraction]:
    """A convex QP with free variables and its optimum in rational numbers, from a KKT point.

    1/2 x'Px + q'x over A x >= b with integers times 2^power: q = A'y - P x*, b = A x* - s, y's = 0.
    """
    rng, unit = np.random.default_rng(seed), 2.0**power
    half = rng.integers(-2, 3, size=(int(rng.integers(1, n + 1)), n))
    P, A = half.T @ half, rng.integers(-3, 4, size=(m, n))
    x, active = rng.integers(-4, 5, size=n), rng.random(m) < 0.6
    y = np.where(active, rng.integers(0, 4, size=m), 0)
    s = np.where(active, 0, rng.integers(0, 5, size=m))
    q, b = A.T @ y - P @ x, A @ x - s
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(n))
    model.rows = pyo.ConstraintList()
    for line, side in zip(A.tolist(), b.tolist(), strict=True):
        if any(line):
            model.rows.add(sum(a * model.x[j] for j, a in enumerate(line)) >= side)
    quadratic = sum(P[i, j].item() * model.x[i] * model.x[j] for i in range(n) for j in range(n))
    linear = sum(c * model.x[j] for j, c in enumerate(q.tolist()))
    model.objective = pyo.Objective(expr=unit * (quadratic / 2 + linear))
    return model, Fraction(unit) * (Fraction(int(x @ P @ x), 2) + int(q @ x))


@given(seed=SEEDS, n=st.integers(1, 4), m=st.integers(1, 6), power=st.integers(-40, 40))
@settings(max_examples=60 if FULL else 8)
def test_no_bound_is_above_a_rational_optimum(seed: int, n: int, m: int, power: int) -> None:
    model, optimum = planted(seed, n, m, power)
    form = standard_form(model)
    rng = np.random.default_rng(seed + 1)
    height = form.A.shape[0]
    for size in (0.0, 1.0, 1e6):
        z = size * np.abs(rng.normal(size=height))
        x = size * rng.normal(size=form.n)
        bound, _ = best_bound(form, x, z, known=abs(float(optimum)) * 3 + 1.0)
        assert bound is None or Fraction(bound) <= optimum
    result = tm.solve(model)
    if result.bound is not None:
        assert Fraction(result.bound) <= optimum
    if result.certificate.verdict is Verdict.CERTIFIED and result.objective is not None:
        assert abs(result.objective - float(optimum)) <= 1e-5 * abs(float(optimum))


def test_multipliers_that_are_no_numbers_prove_nothing() -> None:
    model, _ = planted(3, 2, 3, 0)
    form = standard_form(model)
    x, z = np.zeros(form.n), np.zeros(form.A.shape[0])
    for bad in (np.nan, np.inf, -np.inf):
        assert plain_bound(form, np.full(form.n, bad), z, 1.0) is None
        assert plain_bound(form, x, np.full(len(z), bad), 1.0) is None
    huge = plain_bound(form, x, np.full(len(z), 1e300), 1e300)
    assert huge is None or huge <= 1e300


@given(seed=SEEDS, m=st.integers(2, 8), f=st.integers(1, 2))
@settings(max_examples=40 if FULL else 12)
def test_a_dual_centre_is_inside_and_stationary(seed: int, m: int, f: int) -> None:
    rng = np.random.default_rng(seed)
    A, inside = rng.normal(size=(f, m)), rng.uniform(0.2, 0.8, m)
    found: Any = dual_centre(A, A @ inside, np.zeros(m), np.ones(m), 1.0)
    assert ((found > 0) & (found < 1)).all()
    assert A @ found == pytest.approx(A @ inside, abs=1e-8)
    assert dual_centre(A, A @ (5 * np.sign(A[0])), np.zeros(m), np.ones(m), 1.0) is None
