"""Cepeda, Gomez & Han 2024, by brute force: hulls, losses, and what a result says.

Optima of the forms themselves, once for each entry and intercept: the suite over the catalogue.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import tightmargin as tm
from tests.inside.experiments import decision_values
from tests.inside.formulations import (
    budget_grid,
    conic_loss,
    fit_kernel_pca,
    gram_data,
    hull_loss,
    least_indicator,
    primal_point,
    strengthening_values,
)
from tests.references import reference_solutions
from tests.references.reference_solutions import points
from tests.support.certified import certified
from tests.support.command_line import run, write_csv
from tests.support.covering import FULL
from tightmargin.formulations import TrainingData, conic_hull
from tightmargin.solvers import SolveResult, Verdict

PENALTY = 1.3
FEW = points("overlapping", 3, n=6)

# --- Theorem 1 and Proposition 1 -----------------------------------------------------------------


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
    k = FEW.d + seed % 2
    Q, g, point = definite(rng, k), 2 * rng.standard_normal(k), int(rng.integers(FEW.n))
    penalty = float(rng.uniform(0.05, 2))
    model = conic_hull(FEW, penalty=penalty, quadratic=Q, point=point, intercept=intercept)
    weight = [*model.w.values()] + ([model.b] if seed % 2 else [])
    model.objective.expr += sum(float(a) * entry for a, entry in zip(g, weight, strict=True))
    found = tm.solve(model, absolute_gap=1e-6)
    x = np.append(FEW.X[point], 1.0)[:k]
    expected = by_both_choices(x, float(FEW.y[point]), Q, g, penalty)
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.objective == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(v=st.floats(-3, 3), gamma=st.floats(1e-3, 10), penalty=st.floats(1e-2, 10))
@settings(max_examples=150 if FULL else 40)
def test_proposition_1_is_the_least_cost_over_z(v: float, gamma: float, penalty: float) -> None:
    """The proof prints -v^2 for the last term of the loss, without its gamma."""

    def cost(z: Any) -> Any:
        inside, beyond = gamma * max(v, 0) ** 2 / z, gamma * max(-v, 0) ** 2 / (1 - z)
        return penalty * z - gamma * v**2 + inside + beyond

    def ours(z: float) -> float:
        return penalty * z + float(hull_loss(v, z, gamma))

    inner = np.linspace(1e-9, 1 - 1e-9, 2001)
    best = float(inner[np.argmin(cost(inner))])
    span = (max(1e-12, best - 1e-3), min(1 - 1e-12, best + 1e-3))
    found = minimize_scalar(cost, bounds=span, method="bounded", options={"xatol": 1e-13})
    expected = min(float(found.fun), float(cost(best)))
    assert conic_loss(v, gamma, penalty) == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert ours(best) == pytest.approx(float(cost(best)), rel=1e-12)
    z = float(least_indicator(v, gamma, penalty))
    assert ours(z) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_the_ends_of_z_are_limits() -> None:
    """z = 0 keeps the point, u >= 1; z = 1 violates it, u <= 1: (5b), which nobody needs."""
    v = np.array([-0.5, 0.0, 0.5])
    np.testing.assert_array_equal(np.isfinite(hull_loss(v, 0.0, 1.0)), [True, True, False])
    np.testing.assert_array_equal(np.isfinite(hull_loss(v, 1.0, 1.0)), [False, True, True])
    np.testing.assert_array_equal(hull_loss(0.0, [0.0, 0.3, 1.0], 2.0), np.zeros(3))
    np.testing.assert_array_equal(conic_loss(v, 0.0, 4.0), np.zeros(3))


def test_named_strengthenings_are_convex() -> None:
    data = points("unbalanced", 4, n=12)
    columns = np.hstack([data.X, np.ones((data.n, 1))])
    norms = (columns**2).sum(axis=1)

    def largest(gamma: np.ndarray) -> float:
        return float(np.linalg.eigvalsh(columns.T @ (gamma[:, None] * columns))[-1])

    equal, scaled = (strengthening_values(columns, word) for word in ("equal", "scaled"))
    assert np.ptp(equal) == 0
    assert np.ptp(scaled * norms) <= 1e-12
    assert largest(equal) == pytest.approx(1, rel=1e-6)
    assert largest(scaled) == pytest.approx(1, rel=1e-6)
    found = strengthening_values(columns, "inverse_norm")
    np.testing.assert_allclose(found, 1 / (data.n * norms), rtol=1e-6)


# --- kernels, the dual, a budget -----------------------------------------------------------------


def test_a_truncated_factor_is_above_the_kernel_and_refused_as_a_bound() -> None:
    data = gram_data(points("overlapping", 0, n=12), kernel="rbf", width=0.5)
    signed = np.outer(data.y, data.y) * (data.gram + 1.0)
    expected = reference_solutions.kernel_theorem_2(signed, PENALTY)
    words = {"penalty": PENALTY, "intercept": "penalised"}
    model = tm.conic_sdp(TrainingData(data.factor[:, -4:], data.y), **words)
    assert certified(model).objective > expected + 0.1
    exact = tm.solve(tm.zero_one_big_m(data, big_m="derived", **words))
    with pytest.raises(ValueError, match=r"other data \(n=12, d=4\).*fewer columns than its rank"):
        tm.compare(None, [model], exact=exact)
    components = fit_kernel_pca(data, keep=4).data
    with pytest.raises(ValueError, match=r"other data \(n=12, d=4\).*fewer columns than its rank"):
        tm.compare(components, ["conic_sdp"], exact=exact, parameters=words)
    saved = replace(exact, normalisation={"kernel": "rbf"}, data={**exact.data, "sha256": "raw"})
    for known in (exact, saved):
        row = tm.compare(data, ["conic_sdp"], exact=known, parameters=words).rows[0]
        assert row.bound == pytest.approx(expected, rel=1e-6)


def test_the_point_of_the_dual_needs_its_multiplier() -> None:
    data = points("overlapping", 0, n=12)
    result = tm.solve(tm.conic_sdp_dual(data, penalty=PENALTY))
    for duals in ({}, {"outer": -result.duals["outer"]}):
        with pytest.raises(ValueError, match=r"in the multiplier of outer.*with clarabel"):
            primal_point(data, result.values, duals, penalty=PENALTY, intercept="penalised")


def test_the_grid_of_budgets_ends_at_a_half_and_leaves_zero_out() -> None:
    grid = budget_grid()
    assert len(grid) == 100
    assert (grid[0], grid[-1]) == (0.005, 0.5)
    assert np.allclose(np.diff(grid), 0.005)
    assert budget_grid(2).tolist() == [0.25, 0.5]
    for count in (0, -1, 2.5, True, "many"):
        with pytest.raises(ValueError, match="count must be a whole number"):
            budget_grid(count)  # type: ignore[arg-type]


# --- what a result says --------------------------------------------------------------------------


def test_a_score_of_zero_is_labelled_minus_one_and_is_an_error_of_a_result(tmp_path: Path) -> None:
    """Every point carries both labels: nothing can be learnt."""
    places = np.random.default_rng(0).standard_normal((6, 2))
    both = TrainingData(np.repeat(places, 2, axis=0), np.tile([1, -1], 6))
    out, file = tmp_path / "fit.json", write_csv(tmp_path / "both.csv", both)
    words = ("--set", "penalty=0.05", "big_m=derived", "intercept=none")
    assert run("solve", "zero_one_big_m", "--data", file, *words, "--out", out).code == 0
    saved = SolveResult.load(out)
    assert saved.certificate.facts["errors"] == both.n
    assert not decision_values(saved, both.X).any()
    answer = run("predict", out, "--data", file, "--json")
    assert answer.json["labels"] == [-1] * both.n
    assert answer.json["errors"] == both.n_pos
