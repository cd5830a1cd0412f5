"""Bounds from any multipliers are never above the optimum; and equations of A'S A + C."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tests.inside.formulations import Array
from tests.inside.solvers import (
    ConicForm,
    Limits,
    NormalMatrix,
    Root,
    StandardForm,
    clarabel,
    classify,
    conic_form,
    conic_multipliers,
    normal_matrix,
    pack,
    solved,
    standard_form,
    unpack,
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


def program_of(model: pyo.ConcreteModel, optimum: float) -> Solved:
    form = standard_form(model)
    conic = conic_form(form, classify(form))
    claim = clarabel.run_conic(conic, len(form.rows), Limits())
    return Solved(form, conic, claim.x, conic_multipliers(conic, claim.duals), optimum)


@functools.cache
def program(kind: str, seed: int) -> Solved:
    data = points("overlapping", seed, n=10)
    match kind:
        case "LP":
            return program_of(*random_lp(seed))
        case "QP":
            value = reference_solutions.hinge(data, "free", 0.5, 0.7).value
            return program_of(c_svc(data, C=0.7), value)
        case "SOCP":
            far = points("separable", seed, n=10)
            return program_of(
                max_margin_svc(far), reference_solutions.max_margin(far, "free").value
            )
        case "SDP":
            value = reference_solutions.theorem_2(data, "penalised", penalty=1.3).value
            return program_of(conic_sdp(data, penalty=1.3), value)
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


def test_multipliers_of_nothing_move_nothing() -> None:
    A = sp.csc_matrix(np.random.default_rng(2).normal(size=(20, 6)))
    nothing = NormalMatrix(A, sp.csr_matrix((20, 20)), sp.csc_matrix((6, 6)))
    assert not solved(nothing, np.ones(6)).any()


def with_matrices(
    rng: np.random.Generator, k: int, *, own_entries: bool
) -> tuple[NormalMatrix, Array]:
    """A block of order k beside plain rows, and its A'S A written out with S as a matrix."""
    size, plain = k * (k + 1) // 2, 12
    columns = size + 3 if own_entries else 9
    block = -np.eye(size, columns) if own_entries else rng.normal(size=(size, columns))
    block[rng.random(block.shape) < 0.3 * (not own_entries)] = 0.0
    A = np.vstack([rng.normal(size=(plain, columns)), block])
    A[:plain] *= rng.random(A[:plain].shape) < 0.5
    half = rng.normal(size=(k, k))
    root = half @ half.T / k + np.diag(np.arange(k) % 3 * 1e-3)
    S = np.zeros((plain + size, plain + size))
    S[:plain, :plain] = np.diag(rng.random(plain) + 0.1)
    for j, unit in enumerate(np.eye(size)):
        S[plain:, plain + j] = pack(root @ unpack(unit) @ root)
    scaled = sp.csr_matrix(np.where(np.arange(len(S)) < plain, S, 0.0))
    scaled = sp.csr_matrix(sp.diags((np.arange(len(S)) < plain).astype(float)) @ scaled)
    roots = [Root(slice(plain, plain + size), root)]
    nothing = sp.csc_matrix((columns, columns))
    return NormalMatrix(sp.csc_matrix(A), scaled, nothing, roots), A.T @ S @ A


@pytest.mark.parametrize("own_entries", [True, False])
@pytest.mark.parametrize("large", [True, False])
def test_semidefinite_blocks_are_applied_as_if_they_were_written_out(
    *, own_entries: bool, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    normal, whole = with_matrices(rng, 6, own_entries=own_entries)
    if large:
        monkeypatch.setattr(normal_matrix, "DENSE_LIMIT", 0)
    assert normal.is_large is large
    wanted = rng.normal(size=len(whole))
    np.testing.assert_allclose(normal.times(wanted), whole @ wanted, rtol=1e-10, atol=1e-10)
    if own_entries:  # of single entries the diagonal is known
        np.testing.assert_allclose(normal.near_diagonal(), np.diag(whole), rtol=1e-10)
    target = whole @ wanted
    left = whole @ solved(normal, target) - target
    assert np.abs(left).max() <= 1e-6 * np.abs(target).max()
