"""That rows and cones leave no point is proven, and never where they leave one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import tightmargin as tm
from tests.inside.experiments import outlier_data
from tests.inside.solvers import (
    SOLVERS,
    Limits,
    Subject,
    clarabel,
    elastic_form,
    highs,
    infeasibility_proof,
    proven_empty,
    standard_form,
)
from tests.references.reference_solutions import points
from tests.support.both_checkers import accepted, refused
from tests.support.covering import FULL, covering
from tightmargin.formulations import psd
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
    assert result.objective is result.bound is None


def test_the_least_violation_is_that_of_linprog() -> None:
    """Sum of the hinge losses at margin 1, by another solver and another formulation."""
    data = OVERLAPPING
    hard = standard_form(tm.hard_margin_svc(data))
    form = elastic_form(hard)
    rows = data.y[:, None] * np.hstack([data.X, np.ones((data.n, 1))])
    k = rows.shape[1]
    bounds = [(None, None)] * k + [(0, None)] * data.n
    A = np.hstack([-rows, -np.eye(data.n)])
    found = linprog(np.r_[np.zeros(k), np.ones(data.n)], A, -np.ones(data.n), bounds=bounds)
    claim = highs.run(form, None, Limits())
    assert form.objective.at(claim.x) == pytest.approx(found.fun, abs=1e-8)
    proof = infeasibility_proof(hard, Limits())
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
    assert tm.solve(m).certificate.verdict is Verdict.CERTIFIED


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


@pytest.mark.parametrize("how", ["rows", "bounds", "a fixed variable"])
def test_what_rounding_may_have_done_is_no_proof(how: str) -> None:
    """A violation of 1e-12 of the side stays the solver's word, one of 1e-6 is proven."""
    for gap, proven in ((1e-12, False), (1e-6, True)):
        m = pyo.ConcreteModel()
        m.x, m.f = pyo.Var(), pyo.Var(initialize=1e6)
        m.objective = pyo.Objective(expr=m.x)
        if how == "bounds":
            m.x.setlb(1.0 + gap)
            m.x.setub(1.0)
        else:
            m.f.fix()
            side = m.f if how == "a fixed variable" else 1e6
            m.low = pyo.Constraint(expr=m.x - (1 + gap) * side >= 0)
            m.high = pyo.Constraint(expr=m.x - side <= 0)
        assert bool(infeasibility_proof(standard_form(m), Limits())) is proven


# --- cones ---------------------------------------------------------------------------------------

DATA = outlier_data("clustered", n=12, d=3, sigma=0.4, seed=1)


def bodies(apart: float, k: int, scale: float, seed: int, second: str) -> pyo.ConcreteModel:
    """A ball and another one, or a half-space, that is `apart` times their radius away."""
    rng = np.random.default_rng(seed)
    towards = rng.normal(size=k)
    towards /= np.linalg.norm(towards)
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(k))
    x = np.array(list(m.x.values())) - rng.normal(size=k) * scale
    m.goal = pyo.Objective(expr=sum(m.x.values()))
    m.first = pyo.Constraint(expr=sum(x**2) <= scale**2)
    if second == "ball":
        m.second = pyo.Constraint(expr=sum((x - (2 + apart) * scale * towards) ** 2) <= scale**2)
    else:
        m.second = pyo.Constraint(expr=towards @ x >= (1 + apart) * scale)
    return m


def matrix(apart: float, k: int, scale: float) -> pyo.ConcreteModel:
    """A correlation of 1 + apart."""
    m = pyo.ConcreteModel()
    m.X = pyo.Var([(0, 0), (1, 0), (1, 1)])
    m.goal = pyo.Objective(expr=m.X[0, 0] + k * m.X[1, 1])
    m.low = pyo.Constraint(expr=m.X[1, 0] >= (1 + apart) * scale)
    m.cap = pyo.Constraint([0, 1], rule=lambda m, i: m.X[i, i] <= scale)
    psd(m, "cone", [[m.X[0, 0]], [m.X[1, 0], m.X[1, 1]]])
    return m


def built(name: str, apart: float, k: int = 3, scale: float = 1.0, seed: int = 0) -> Any:
    return matrix(apart, k, scale) if name == "matrix" else bodies(apart, k, scale, seed, name)


BUILDERS = ("ball", "half-space", "matrix")
SCALES = (2.0**-12, 1.0, 2.0**12)
CASES = covering(BUILDERS, SCALES) if FULL else [*zip(BUILDERS, SCALES, strict=True)]


@pytest.mark.parametrize(("name", "scale"), CASES)
def test_what_is_apart_is_proven_and_what_touches_is_not(name: str, scale: float) -> None:
    for seed, apart in enumerate((1.0, 1e-1, 1e-2, 1e-3) if FULL else (1.0, 1e-3)):
        result = tm.solve(built(name, apart, scale=scale, seed=seed))
        assert result.status is Status.INFEASIBLE, (apart, result)
        assert result.certificate.verdict is Verdict.CERTIFIED, (apart, result.certificate)
    for seed, apart in enumerate((0.0, -1e-9, -1e-7, -1e-3, -0.1) if FULL else (0.0, -1e-7)):
        result = tm.solve(built(name, apart - 1e-12, scale=scale, seed=seed))
        empty = result.status is Status.INFEASIBLE
        assert not (empty and result.certificate.verdict is Verdict.CERTIFIED), (apart, result)


def test_no_multipliers_prove_that_of_a_model_with_a_point() -> None:
    rng = np.random.default_rng(5)
    models = [built(name, -0.05, k=k, seed=k) for name in BUILDERS for k in (2, 4)]
    models += [tm.rsvm(DATA, norm_bound=0.05), tm.conic_sdp_budget(DATA, budget=0.1)]
    for model in models:
        subject = Subject(standard_form(model))
        size = len(subject.conic.b)
        for _ in range(200 if FULL else 25):
            z = rng.normal(size=size) * 10.0 ** rng.integers(-8, 9, size=size)
            z *= rng.random(size) < rng.random()
            assert proven_empty(subject, z) is None
        for z in (np.zeros(size), np.full(size, np.nan), np.full(size, np.inf), np.ones(size + 1)):
            assert proven_empty(subject, z) is None


@pytest.mark.parametrize("name", BUILDERS)
def test_a_file_proves_it_too(name: str, tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    result = tm.solve(built(name, 1e-3), proof=file)
    assert f"the proof is in {file}" in result.message
    document = json.loads(file.read_text())
    proof = accepted(document)
    assert proof.kind == "infeasible"
    for row in document["model"]["quadratic"]:  # with a larger radius there are points
        row["upper"] = (4 * float.fromhex(row["upper"])).hex()
    for part in document["model"]["rows"]:
        if part["upper"] is not None:
            part["upper"] = (4 * float.fromhex(part["upper"])).hex()
    refused(document, ".")
