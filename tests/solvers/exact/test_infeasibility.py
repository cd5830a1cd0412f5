"""That a model has no point is proven, or it stays the solver's word."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import tightmargin as tm
from tests.inside.solvers import (
    SOLVERS,
    Limits,
    clarabel,
    elastic_form,
    highs,
    infeasibility_proof,
    standard_form,
)
from tests.references.reference_solutions import points
from tests.support.covering import FULL
from tightmargin.solvers import Claim, Status, Verdict

OVERLAPPING = points("overlapping", 3)


EVERYONE = ["auto", "highs", "clarabel", "scip", "gurobi", "scs"]


@pytest.mark.parametrize("solver", EVERYONE if FULL else ["auto", "scip"])
def test_a_hard_margin_between_overlapping_classes_is_proven_impossible(solver: str) -> None:
    if solver != "auto" and not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is an extra")
    result = tm.solve(tm.hard_margin_svc(OVERLAPPING), solver)
    assert result.status is Status.INFEASIBLE
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate
    assert "exact rational Farkas bound" in result.certificate.bound_method
    assert result.objective is None
    assert result.bound is None


def test_the_least_violation_is_that_of_linprog() -> None:
    """Sum of the hinge losses at margin 1, by another solver and another formulation."""
    data = OVERLAPPING
    form = elastic_form(standard_form(tm.hard_margin_svc(data)))
    rows = data.y[:, None] * np.hstack([data.X, np.ones((data.n, 1))])
    k = rows.shape[1]
    cost = np.concatenate([np.zeros(k), np.ones(data.n)])
    bounds = [(None, None)] * k + [(0, None)] * data.n
    found = linprog(
        cost, A_ub=np.hstack([-rows, -np.eye(data.n)]), b_ub=-np.ones(data.n), bounds=bounds
    )
    claim = highs.run(form, None, Limits())
    assert form.objective.at(claim.x) == pytest.approx(found.fun, abs=1e-8)
    proof = infeasibility_proof(standard_form(tm.hard_margin_svc(data)), Limits())
    assert float(proof.split("violated by ")[1].split()[0]) == pytest.approx(found.fun, rel=5e-3)


SMALL = st.integers(-3, 3)


@given(data=st.data(), n=st.integers(1, 3), m=st.integers(1, 5))
@settings(max_examples=80 if FULL else 25)
def test_a_proof_is_found_exactly_when_linprog_finds_no_point(
    data: st.DataObject, n: int, m: int
) -> None:
    """Whole numbers, so that infeasible programs are so by far."""
    A = np.array([[data.draw(SMALL) for _ in range(n)] for _ in range(m)], dtype=float)
    low = np.array([data.draw(SMALL) for _ in range(m)], dtype=float)
    high = low + data.draw(st.sampled_from([0.0, 1.0, np.inf]))
    bounded = data.draw(st.booleans())
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(n), bounds=(-1, 1) if bounded else (None, None))
    model.row = pyo.ConstraintList()
    kept = [i for i in range(m) if A[i].any()]
    for i in kept:
        body = sum(A[i, j].item() * model.x[j] for j in range(n))
        model.row.add((low[i].item(), body, None if np.isinf(high[i]) else high[i].item()))
    if not kept:
        return
    rows, sides = np.vstack([-A[kept], A[kept]]), np.r_[-low[kept], high[kept]]
    finite, box = np.isfinite(sides), (-1, 1) if bounded else (None, None)
    found = linprog(np.zeros(n), A_ub=rows[finite], b_ub=sides[finite], bounds=box)
    proof = infeasibility_proof(standard_form(model), Limits())
    assert bool(proof) == (found.status == 2)


def test_what_only_integrality_forbids_is_the_solvers_word_until_it_is_proven() -> None:
    m = pyo.ConcreteModel()
    m.z = pyo.Var([0, 1], within=pyo.Binary)
    m.row = pyo.Constraint(expr=2 * m.z[0] + 2 * m.z[1] == 1)
    m.goal = pyo.Objective(expr=m.z[0])
    result = tm.solve(m, prove=False)
    assert result.status is Status.INFEASIBLE
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert "the solver's word" in result.certificate.reason
    proven = tm.solve(m)
    assert proven.status is Status.INFEASIBLE
    assert proven.certificate.verdict is Verdict.CERTIFIED


@pytest.mark.parametrize("status", [Status.INFEASIBLE, Status.INFEASIBLE_OR_UNBOUNDED])
def test_a_solver_that_denies_a_point_is_not_believed(
    monkeypatch: pytest.MonkeyPatch, status: Status
) -> None:
    """Nor in scaled numbers, which it is asked for as well."""
    monkeypatch.setattr(clarabel, "run", lambda *_: Claim(status, message="no point"))
    result = tm.solve(tm.c_svc(OVERLAPPING, C=1.0), "clarabel")
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert "after scaling" in result.message
    monkeypatch.setattr(clarabel, "run_scaled", lambda *_: Claim(status, message="no point"))
    result = tm.solve(tm.c_svc(OVERLAPPING, C=1.0), "clarabel")
    assert result.status is status
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert result.certificate.reason == "the solver's word: no point"


@pytest.mark.parametrize(
    ("how", "side"), [("rows", 1e6), ("bounds", 1.0), ("a fixed variable", 1e6)]
)
def test_what_rounding_may_have_done_is_no_proof(how: str, side: float) -> None:
    """A violation of 1e-12 of the side stays the solver's word, one of 1e-6 is proven."""

    def model(gap: float) -> pyo.ConcreteModel:
        m = pyo.ConcreteModel()
        m.x, m.f = pyo.Var(), pyo.Var(initialize=side)
        m.objective = pyo.Objective(expr=m.x)
        if how == "rows":
            m.low = pyo.Constraint(expr=m.x >= side + gap * side)
            m.high = pyo.Constraint(expr=m.x <= side)
        elif how == "bounds":
            m.x.setlb(side + gap * side)
            m.x.setub(side)
        else:
            m.f.fix()
            m.low = pyo.Constraint(expr=m.x - (1 + gap) * m.f >= 0)
            m.high = pyo.Constraint(expr=m.x - m.f <= 0)
        return m

    assert infeasibility_proof(standard_form(model(1e-12)), Limits()) == ""
    assert infeasibility_proof(standard_form(model(1e-6)), Limits())
