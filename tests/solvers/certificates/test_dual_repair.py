"""Lower bounds from approximate multipliers: never above the optimum, whoever made them up."""

from __future__ import annotations

import functools
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
    StandardForm,
    clarabel,
    classify,
    conic_form,
    conic_multipliers,
    standard_form,
)
from tests.references import reference_solutions
from tests.references.reference_solutions import points
from tests.support.bounds import best_bound, lp_bound
from tests.support.covering import FULL
from tightmargin.formulations import c_svc, conic_sdp, max_margin_svc


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
    return Solved(form, conic, claim.x, conic_multipliers(conic, claim.duals), optimum)


@functools.cache
def program(kind: str, seed: int) -> Solved:
    data = points("overlapping", seed, n=10)
    match kind:
        case "LP":
            return solved(*random_lp(seed))
        case "QP":
            value = reference_solutions.hinge(data, "free", 0.5, 0.7).value
            return solved(c_svc(data, C=0.7), value)
        case "SOCP":
            far = points("separable", seed, n=10)
            return solved(max_margin_svc(far), reference_solutions.max_margin(far, "free").value)
        case "SDP":
            value = reference_solutions.theorem_2(data, "penalised", penalty=1.3).value
            return solved(conic_sdp(data, penalty=1.3), value)
    raise AssertionError(kind)


KINDS = ("LP", "QP", "SOCP", "SDP")


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


SEEDS = range(3 if FULL else 1)


@given(
    kind=st.sampled_from(KINDS),
    seed=st.sampled_from(SEEDS),
    size=st.sampled_from([1e-12, 1e-9, 1e-7, 1e-5, 1e-3, 0.1, 1.0, 30.0]),
    nowhere=st.booleans(),
    dice=st.integers(0, 2**32),
)
@settings(max_examples=250 if FULL else 20)
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
