"""Theorem 1 for a general Q: linear costs over the hull have the optimum that z in {0, 1} has."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import tightmargin as tm
from tests.references.reference_solutions import points
from tests.support.covering import FULL
from tightmargin.formulations import conic_hull
from tightmargin.solvers import Verdict

DATA = points("overlapping", 3, n=6)


def definite(rng: np.random.Generator, k: int) -> np.ndarray:
    A = rng.standard_normal((k, k + 1))
    return A @ A.T + 0.1 * np.eye(k)


def by_both_choices(x: Any, y: float, Q: Any, g: Any, penalty: float) -> float:
    """min w'Qw + g'w + penalty z over W_Q: one quadratic program for each z."""
    values = []
    for z in (0, 1):
        w = cp.Variable(len(x))
        u = y * (x @ w)
        cost = cp.quad_form(w, cp.psd_wrap(Q)) + g @ w
        problem = cp.Problem(cp.Minimize(cost), [u >= 1 if z == 0 else u <= 1])
        values.append(float(problem.solve(solver=cp.CLARABEL)) + penalty * z)
    return min(values)


@pytest.mark.parametrize("seed", range(8 if FULL else 4))
def test_the_hull_has_the_optimum_of_the_binary_problem(seed: int) -> None:
    rng = np.random.default_rng(seed)
    intercept = "penalised" if seed % 2 else "none"
    k = DATA.d + seed % 2
    Q, g, point = definite(rng, k), 2 * rng.standard_normal(k), int(rng.integers(DATA.n))
    penalty = float(rng.uniform(0.05, 2))
    model = conic_hull(DATA, penalty=penalty, quadratic=Q, point=point, intercept=intercept)
    weight = [*model.w.values()] + ([model.b] if seed % 2 else [])
    model.objective.expr += sum(float(a) * entry for a, entry in zip(g, weight, strict=True))
    found = tm.solve(model, absolute_gap=1e-6)
    x = np.append(DATA.X[point], 1.0)[:k]
    expected = by_both_choices(x, float(DATA.y[point]), Q, g, penalty)
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.objective == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("penalty", "given_up"), [(0.01, True), (50.0, False)])
def test_without_a_cost_it_is_the_smaller_price(penalty: float, given_up: bool) -> None:
    Q = definite(np.random.default_rng(9), 3)
    found = tm.solve(conic_hull(DATA, penalty=penalty, quadratic=Q, point=2))
    x = np.append(DATA.X[2], 1.0)
    gamma = 1 / float(x @ np.linalg.solve(Q, x))
    assert (penalty < gamma) is given_up
    assert found.objective == pytest.approx(min(penalty, gamma), rel=1e-6)
