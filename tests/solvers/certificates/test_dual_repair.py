"""Lower bounds from approximate multipliers: never above the optimum, whoever made them up."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tests.inside.solvers import (
    ConicForm,
    Limits,
    Multipliers,
    StandardForm,
    clarabel,
    classify,
    conic_form,
    conic_multipliers,
    multipliers,
    repaired,
    standard_form,
    unpack,
)
from tests.references import reference_solutions
from tests.references.reference_solutions import points
from tests.soundness.exact import fractions, least_linear
from tests.support.bounds import best_bound, lp_bound
from tests.support.covering import FULL
from tightmargin.formulations import c_svc, conic_sdp, max_margin_svc, nu_svc
from tightmargin.solvers import Verdict, solve


class Solved(NamedTuple):
    """A conic program with a solver's point and multipliers, and its optimum from elsewhere."""

    form: StandardForm
    conic: ConicForm
    x: np.ndarray
    z: np.ndarray
    optimum: float


def solved(model: pyo.ConcreteModel, optimum: float) -> Solved:
    form = standard_form(model)
    conic = conic_form(form, classify(form))
    claim = clarabel.run_conic(conic, len(form.rows), Limits())
    assert claim.x is not None
    assert claim.duals is not None
    return Solved(form, conic, claim.x, conic_multipliers(conic, claim.duals), optimum)


@functools.cache
def program(kind: str, seed: int) -> Solved:
    data = points("overlapping", seed, n=10)
    match kind:
        case "LP":
            return solved(*random_lp(seed))
        case "QP":
            return solved(
                c_svc(data, C=0.7), reference_solutions.hinge(data, "free", 0.5, 0.7).value
            )
        case "QP in the range of nu":
            costs = np.full(data.n, 1 / data.n)
            return solved(
                nu_svc(data, nu=0.7), reference_solutions.nu_machine(data, "free", 0.7, costs).value
            )
        case "SOCP":
            far = points("separable", seed, n=10)
            return solved(max_margin_svc(far), reference_solutions.max_margin(far, "free").value)
        case "SDP":
            value = reference_solutions.theorem_2(data, "penalised", penalty=1.3).value
            return solved(conic_sdp(data, penalty=1.3), value)
    raise AssertionError(kind)


KINDS = ("LP", "QP", "QP in the range of nu", "SOCP", "SDP")


def random_lp(seed: int, rows: int = 12, free: int = 3, boxed: int = 5) -> tuple[Any, float]:
    """A feasible bounded LP with free variables, as Pyomo model and by linprog."""
    rng = np.random.default_rng([seed, rows, free, boxed])
    n = free + boxed
    A, inside = rng.standard_normal((rows, n)), rng.uniform(0.1, 0.9, n)
    high = A @ inside + rng.uniform(0.0, 1.0, rows)
    # A cost in the cone of the rows keeps the free variables from running away.
    c = -A.T @ rng.uniform(0.1, 1.0, rows)
    c[free:] += rng.standard_normal(boxed)
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(n))
    for j in range(free, n):
        m.x[j].setlb(0)
        m.x[j].setub(1)
    m.row = pyo.Constraint(
        range(rows),
        rule=lambda m, i: sum(A[i, j].item() * m.x[j] for j in range(n)) <= high[i].item(),
    )
    m.objective = pyo.Objective(expr=sum(c[j].item() * m.x[j] for j in range(n)) + 2.5)
    bounds = [(None, None)] * free + [(0, 1)] * boxed
    answer = linprog(c, A_ub=A, b_ub=high, bounds=bounds, method="highs")
    assert answer.status == 0
    return m, float(answer.fun) + 2.5


# --- double precision ----------------------------------------------------------------------------


SEEDS = range(3 if FULL else 1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_bound_is_tight_at_a_solvers_multipliers(kind: str, seed: int) -> None:
    p = program(kind, seed)
    value, reason = best_bound(p.form, p.x, p.z)
    assert value is not None, reason
    assert value <= p.optimum + 1e-8
    assert value == pytest.approx(p.optimum, abs=2e-6 * max(1.0, abs(p.optimum)))


@given(
    kind=st.sampled_from(KINDS),
    seed=st.sampled_from(SEEDS),
    size=st.sampled_from([1e-12, 1e-9, 1e-7, 1e-5, 1e-3, 0.1, 1.0, 30.0]),
    nowhere=st.booleans(),
    dice=st.integers(0, 2**32),
)
@settings(max_examples=250 if FULL else 80)
def test_bound_holds_for_disturbed_multipliers_and_those_out_of_nowhere(
    kind: str, seed: int, size: float, nowhere: bool, dice: int
) -> None:
    p, rng = program(kind, seed), np.random.default_rng(dice)
    z = (not nowhere) * p.z + size * rng.standard_normal(len(p.z))
    x = (not nowhere) * p.x + size * rng.standard_normal(len(p.x))
    value, reason = best_bound(p.form, x, z)
    if value is None:
        assert reason
    else:
        assert value <= p.optimum + 1e-7 * max(1.0, abs(p.optimum))


@pytest.mark.parametrize("kind", KINDS)
def test_repaired_multipliers_prove_the_bound_by_themselves(kind: str) -> None:
    """Weak duality written out: z in the dual cone, stationarity to rounding, the same value."""
    p = program(kind, 0)
    found = repaired(p.conic, p.x, p.z + 1e-6)
    assert not found.reason
    z = found.z
    for block in p.conic.blocks:
        part = z[block.rows]
        match block.kind:
            case "nonneg":
                assert part.min(initial=0.0) >= 0
            case "soc":
                assert part[0] >= np.linalg.norm(part[1:]) * (1 - 1e-15)
            case "psd":
                assert np.linalg.eigvalsh(unpack(part))[0] >= -1e-14 * np.abs(part).max()
    size = 1 + np.abs(p.conic.q).max() + np.abs(z).max() * np.abs(p.conic.A).max()
    # The P part is met by another point than x; it lies in the range of P.
    rest = p.conic.q + p.conic.A.T @ z
    if p.conic.P.nnz:
        x_hat = np.linalg.lstsq(p.conic.P.toarray(), -rest, rcond=None)[0]
        rest = rest + p.conic.P @ x_hat
        value = -0.5 * x_hat @ (p.conic.P @ x_hat) - p.conic.b @ z + p.conic.offset
    else:
        value = -p.conic.b @ z + p.conic.offset
    assert np.abs(rest).max() <= 1e-12 * size
    bound, _ = best_bound(p.form, found.x, z)
    # Limits that the variables have of the objective can only add to what stationarity proves.
    assert bound >= value - 1e-9 * max(1.0, abs(value))
    assert bound <= p.optimum + 1e-8


def test_no_bound_has_a_reason_that_names_a_variable() -> None:
    """Unbounded below: no multipliers exist, so no repair can find any."""
    m = pyo.ConcreteModel()
    m.free = pyo.Var()
    m.capped = pyo.Var(bounds=(0, 1))
    m.objective = pyo.Objective(expr=m.free + m.capped)
    m.row = pyo.Constraint(expr=m.capped <= 0.5)
    form = standard_form(m)
    conic = conic_form(form, classify(form))
    names = tuple(v.name for v in form.columns)
    found = repaired(conic, np.zeros(2), np.zeros(conic.A.shape[0]), lambda: names)
    assert "stationarity of free stays at 1" in found.reason
    value, reason = best_bound(form, np.zeros(2), np.zeros(conic.A.shape[0]))
    assert value is None
    assert reason == found.reason


@pytest.mark.parametrize("kind", KINDS)
def test_multipliers_travel_to_rows_and_back(kind: str) -> None:
    p = program(kind, 0)
    if kind == "SDP":
        assert [b.kind for b in p.conic.blocks] == ["zero", "nonneg", *["soc"] * 10, "psd"]
        assert p.conic.blocks[-1].start + p.conic.blocks[-1].size == len(p.conic.b)
    rng = np.random.default_rng(0)
    z = np.abs(rng.standard_normal(len(p.z)))
    # Both sides of one row or column share a multiplier; keep one of them active.
    both = np.isin(p.conic.high_bound, p.conic.low_bound)
    first = sum(map(len, (p.conic.equal, p.conic.low, p.conic.high, p.conic.low_bound)))
    z[first + np.flatnonzero(both)] = 0.0
    back = conic_multipliers(p.conic, multipliers(p.conic, z, len(p.form.rows)))
    np.testing.assert_allclose(back, z, atol=1e-15)


# --- exact linear programs -----------------------------------------------------------------------


def row_multipliers(form: StandardForm) -> np.ndarray:
    claim = clarabel.run(form, classify(form), Limits())
    assert isinstance(claim.duals, Multipliers)
    return claim.duals.rows


def exact_optimum(form: StandardForm) -> Fraction:
    """Optimum of the LP in exact arithmetic: the best of all vertices."""
    A, one = form.A.toarray(), np.eye(form.n)
    rows = np.vstack([A, -A, one, -one])
    sides = np.r_[form.row_lower, -form.row_upper, form.lower, -form.upper]
    kept = np.isfinite(sides)
    lines = [fractions(line) for line in rows[kept]]
    found = least_linear(fractions(form.objective.a), lines, fractions(sides[kept]))
    assert found is not None
    return found + Fraction(form.objective.constant)


@pytest.mark.parametrize("seed", range(12 if FULL else 4))
def test_exact_bound_is_below_the_exact_optimum_and_tight(seed: int) -> None:
    model, by_linprog = random_lp(seed, rows=7, free=1 + seed % 2, boxed=2)
    form = standard_form(model)
    optimum = exact_optimum(form)
    assert float(optimum) == pytest.approx(by_linprog, abs=1e-9)
    bound = lp_bound(form, row_multipliers(form))
    assert Fraction(bound) <= optimum
    assert float(optimum - Fraction(bound)) <= 1e-7 * max(1.0, abs(float(optimum)))


@given(
    seed=st.integers(0, 30 if FULL else 4),
    size=st.sampled_from([0.0, 1e-14, 1e-10, 1e-6, 1e-2, 1.0, 100.0]),
    dice=st.integers(0, 2**32),
)
@settings(max_examples=120 if FULL else 40)
def test_exact_bound_holds_for_any_multipliers(seed: int, size: float, dice: int) -> None:
    form, multiplier, optimum = lp_case(seed)
    y = multiplier + size * np.random.default_rng(dice).standard_normal(len(multiplier))
    bound = lp_bound(form, y)
    assert bound is None or (math.isfinite(bound) and Fraction(bound) <= optimum)


@functools.cache
def lp_case(seed: int) -> tuple[StandardForm, np.ndarray, Fraction]:
    model, _ = random_lp(seed, rows=6, free=1, boxed=2)
    form = standard_form(model)
    return form, row_multipliers(form), exact_optimum(form)


def hinge_lp(seed: int, scale: float = 1.0, copies: int = 1) -> tuple[Any, float]:
    """Least sum of hinge losses with |w_j| <= 1: free b, slack columns, many ties."""
    data = points("overlapping", seed, n=12)
    X, y = np.tile(data.X, (copies, 1)) * scale, np.tile(data.y, copies)
    n = len(y)
    m = pyo.ConcreteModel()
    m.w = pyo.Var(range(2), bounds=(-1 / scale, 1 / scale))
    m.b = pyo.Var()
    m.xi = pyo.Var(range(n), within=pyo.NonNegativeReals)
    m.row = pyo.Constraint(
        range(n),
        rule=lambda m, i: y[i].item() * (X[i, 0].item() * m.w[0] + X[i, 1].item() * m.w[1] + m.b)
        + m.xi[i] >= 1,
    )  # fmt: skip
    m.objective = pyo.Objective(expr=sum(m.xi.values()) / n)
    rows = np.hstack([data.y[:, None] * np.hstack([data.X, np.ones((12, 1))]), np.eye(12)])
    answer = linprog(
        np.r_[np.zeros(3), np.full(12, 1 / 12)], A_ub=-rows, b_ub=-np.ones(12),
        bounds=[(-1, 1)] * 2 + [(None, None)] + [(0, None)] * 12,
    )  # fmt: skip
    assert answer.status == 0
    return m, float(answer.fun)


@pytest.mark.parametrize(("seed", "scale", "copies"), [(0, 1.0, 3), (1, 1e6, 1), (0, 1e-6, 1)])
def test_degenerate_and_scaled_programs_are_closed_exactly(
    seed: int, scale: float, copies: int
) -> None:
    model, optimum = hinge_lp(seed, scale, copies)
    result = solve(model, "highs")
    assert result.objective == pytest.approx(optimum, abs=1e-9)
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate
    assert result.certificate.bound_method == "exact rational dual bound"
    assert optimum - 1e-9 <= result.bound <= optimum + 1e-12
    assert result.objective - result.bound <= 1e-9


@pytest.mark.parametrize(("seed", "scale"), [(0, 1e6), (1, 1e-3), (0, 1e-6), (1, 1e-6)])
def test_a_certificate_of_a_badly_scaled_program_is_true(seed: int, scale: float) -> None:
    """Clarabel says Solved 7 % above the optimum when the columns are 1e-6 in size."""
    model, optimum = hinge_lp(seed, scale)
    result = solve(model, "clarabel")
    assert result.bound is None or result.bound <= optimum + 1e-9
    if result.certificate.verdict is Verdict.CERTIFIED:
        assert result.objective == pytest.approx(optimum, abs=2e-6)
    else:
        assert scale == 1e-6


def test_hopeless_multipliers_give_no_bound_instead_of_minus_infinity() -> None:
    model, _ = random_lp(0)
    form = standard_form(model)
    assert lp_bound(form, np.zeros(len(form.rows))) is None
    m = pyo.ConcreteModel()
    m.x = pyo.Var(within=pyo.NonNegativeReals)
    m.y = pyo.Var(bounds=(0, 1))
    m.objective = pyo.Objective(expr=-m.x + m.y)
    m.row = pyo.Constraint(expr=m.x - m.y >= 0)
    assert lp_bound(standard_form(m), np.array([0.0])) is None
    form = standard_form(c_svc(points("overlapping", 0), C=1.0))  # quadratic
    assert lp_bound(form, np.zeros(len(form.rows))) is None


@pytest.mark.parametrize("power", [-60, 0, 60])
def test_multipliers_at_the_price_of_a_slack_prove_the_optimum_itself(power: int) -> None:
    """Hinge loss 2 of labels +, -, + at 0, 1, 2: at any unit of the points, without rounding."""
    m = pyo.ConcreteModel()
    m.w, m.b = pyo.Var(), pyo.Var()
    m.xi = pyo.Var([0, 1, 2], within=pyo.NonNegativeReals)
    m.objective = pyo.Objective(expr=m.xi[0] + m.xi[1] + m.xi[2])
    m.row = pyo.ConstraintList()
    for i, label in enumerate((1, -1, 1)):
        m.row.add(label * (i * 2.0**power * m.w + m.b) + m.xi[i] >= 1)
    form = standard_form(m)
    for off in (0.0, 1e-10):
        assert lp_bound(form, np.array([0.5 - off, 1.0, 0.5 + off])) == 2


# --- through solve -------------------------------------------------------------------------------


def test_integer_models_get_the_bound_of_their_relaxation() -> None:
    """A knapsack whose relaxation is 2.5: values 2 and 1 a unit of weight, room for 1.5 units."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), within=pyo.Binary)
    m.objective = pyo.Objective(expr=2 * m.x[0] + m.x[1], sense=pyo.maximize)
    m.row = pyo.Constraint(expr=m.x[0] + m.x[1] <= 1.5)
    result = solve(m, "highs")
    assert result.objective == pytest.approx(2.0)
    assert result.bound == pytest.approx(2.5, abs=1e-6)
    assert result.bound >= 2.5
    assert result.certificate.verdict is Verdict.SOLVER_BOUND
    assert (
        result.certificate.bound_method
        == "exact rational dual bound of the continuous relaxation from clarabel"
    )
