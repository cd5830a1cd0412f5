"""Cepeda, Gomez & Han 2024, checked by brute force, and four roads to one semidefinite value."""

from __future__ import annotations

import functools
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
    hull_loss,
    least_indicator,
    primal_point,
    strengthening_values,
)
from tests.references import reference_solutions
from tests.references.reference_solutions import INTERCEPTS, points
from tests.support.certified import certified
from tests.support.command_line import run, write_csv
from tests.support.covering import FULL
from tightmargin.formulations import TrainingData
from tightmargin.solvers import SolveResult, solve

PENALTY = 1.3
BOUND_ON_B = 2.0


def bounded(mode: str, bound: float = BOUND_ON_B) -> dict[str, Any]:
    """The extra hyperparameter of a free intercept."""
    return {"intercept": mode} | ({"intercept_bound": bound} if mode == "free" else {})


@functools.cache
def theorem_2(seed: int, mode: str, n: int = 12, penalty: float = PENALTY) -> float:
    bound = BOUND_ON_B if mode == "free" else None
    data = points("overlapping", seed, n=n)
    return reference_solutions.theorem_2(data, mode, penalty=penalty, bound_on_b=bound).value


# --- Theorem 1 and Proposition 1 -----------------------------------------------------------------


def hull_value(Q: np.ndarray, a: np.ndarray, w: np.ndarray, z: float) -> float:
    """Least t in the closed convex hull of {t >= w'Qw, z in {0, 1}, a'w >= 1 if z = 0, <= 1 if 1}.

    By definition: the cheapest way to write w as (1 - z) w_0 + z w_1 with w_0 and w_1 in the two
    pieces. With s_k the scaled points both products are perspectives.
    """
    s0, s1 = cp.Variable(len(w)), cp.Variable(len(w))
    root = np.linalg.cholesky(Q).T
    cost = cp.quad_over_lin(root @ s0, 1 - z) + cp.quad_over_lin(root @ s1, z)
    rows = [s0 + s1 == w, a @ s0 >= 1 - z, a @ s1 <= z]
    problem = cp.Problem(cp.Minimize(cost), rows)
    problem.solve(solver=cp.CLARABEL)
    assert problem.status == cp.OPTIMAL
    return float(problem.value)


def random_case(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 5))
    half = rng.standard_normal((k, k))
    Q = half @ half.T + 0.3 * np.eye(k)
    return Q, rng.standard_normal(k), 2 * rng.standard_normal(k), float(rng.uniform(0.02, 0.98))


@pytest.mark.parametrize("seed", range(25 if FULL else 8))
def test_theorem_1_describes_the_convex_hull(seed: int) -> None:
    Q, a, w, z = random_case(seed)
    gamma = 1 / (a @ np.linalg.solve(Q, a))
    value = w @ Q @ w + float(hull_loss(1 - a @ w, z, gamma))
    assert value == pytest.approx(hull_value(Q, a, w, z), rel=1e-6, abs=1e-7)


@given(
    v=st.floats(-3, 3), gamma=st.floats(1e-3, 10), penalty=st.floats(1e-2, 10)
)  # fmt: skip
@settings(max_examples=150 if FULL else 40)
def test_proposition_1_is_the_least_cost_over_z(v: float, gamma: float, penalty: float) -> None:
    def cost(z: np.ndarray | float) -> Any:
        return (
            penalty * z
            - gamma * v**2
            + gamma * max(v, 0) ** 2 / z
            + gamma * max(-v, 0) ** 2 / (1 - z)
        )

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


def test_loss_is_zero_then_rises_to_the_penalty_and_stays() -> None:
    v = np.array([-5.0, 0.0, 0.25, 2.0, 2.5, 100.0])
    # sqrt(penalty / gamma) = 2; at v = 1/4 the parabola 2 * 2 * v - v^2 is 1 - 1/16.
    np.testing.assert_allclose(conic_loss(v, 1.0, 4.0), [0, 0, 15 / 16, 4, 4, 4], atol=1e-14)
    np.testing.assert_array_equal(conic_loss(v, 0.0, 4.0), np.zeros(6))


# --- four ways to the same value -----------------------------------------------------------------


@pytest.mark.parametrize(("mode", "seed"), [("free", 0), ("penalised", 1), ("none", 2)])
def test_printed_reduced_and_dual_forms_are_theorem_2(seed: int, mode: str) -> None:
    data, expected = points("overlapping", seed, n=12), theorem_2(seed, mode)
    slack = 1e-6 * max(1.0, expected)
    values = {
        build.__name__: certified(build(data, penalty=PENALTY, **bounded(mode))).objective
        for build in (tm.conic_sdp, tm.conic_sdp_literal, tm.conic_sdp_dual)
    }
    values["conic_sdp_dual"] *= -1
    assert values == {name: pytest.approx(expected, abs=slack) for name in values}


@pytest.mark.parametrize("penalty", [0.05, 30.0])
def test_forms_agree_at_small_and_large_penalties(penalty: float) -> None:
    data = points("unbalanced", 0, n=12)
    expected = reference_solutions.theorem_2(data, "penalised", penalty=penalty).value
    for build, sign in ((tm.conic_sdp, 1), (tm.conic_sdp_literal, 1), (tm.conic_sdp_dual, -1)):
        found = certified(build(data, penalty=penalty)).objective
        assert sign * found == pytest.approx(expected, rel=1e-6), build.__name__


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_redundant_parts_of_the_printed_form_are_redundant(mode: str) -> None:
    """The reduced form has no z <= 1, and needs none: z_i = v_i^2 / T_i at most."""
    data = points("overlapping", 2, n=12)
    result = certified(tm.conic_sdp(data, penalty=0.2, **bounded(mode)))
    assert result.values["z"].max() <= 1 + 1e-9
    lifted = np.block([
        [result.values["W"], np.append(result.values["w"], result.values.get("b", []))[:, None]],
        [np.append(result.values["w"], result.values.get("b", []))[None, :], np.ones((1, 1))],
    ])  # fmt: skip
    assert np.linalg.eigvalsh(lifted)[0] >= -1e-8


# --- fixed strengthening -------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "seed"), [("penalised", 0), ("none", 2)])
def test_at_the_best_strengthening_the_fixed_form_is_the_sdp(seed: int, mode: str) -> None:
    data, expected = points("overlapping", seed, n=12), theorem_2(seed, mode)
    gamma = certified(tm.conic_sdp_dual(data, penalty=PENALTY, intercept=mode)).values["gamma"]
    gamma = np.maximum(gamma, 0.0) * (1 - 1e-8)
    fixed = solve(tm.conic_fixed(data, penalty=PENALTY, strengthening=gamma, intercept=mode))
    assert fixed.objective == pytest.approx(expected, rel=1e-6)
    # Proposition 1: the same number as norm plus losses of the hyperplane alone.
    w, b = fixed.values["w"], float(fixed.values.get("b", 0.0))
    losses = conic_loss(1 - data.y * (data.X @ w + b), gamma, PENALTY)
    norm = w @ w + (b * b if mode == "penalised" else 0.0)
    assert norm + losses.sum() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("choice", "mode"), [("equal", "none"), ("inverse_norm", "penalised"), ("scaled", "none")]
)
def test_named_strengthenings_are_convex_and_give_their_own_optimum(choice: str, mode: str) -> None:
    data = points("unbalanced", 4, n=12)
    columns = data.X if mode == "none" else np.hstack([data.X, np.ones((data.n, 1))])
    gamma = strengthening_values(columns, choice)
    largest = np.linalg.eigvalsh(columns.T @ (gamma[:, None] * columns))[-1]
    norms = (columns**2).sum(axis=1)
    match choice:
        case "equal":
            assert np.ptp(gamma) == 0
            assert largest == pytest.approx(1, rel=1e-6)
        case "inverse_norm":
            np.testing.assert_allclose(gamma, 1 / (data.n * norms), rtol=1e-6)
            assert largest < 1
        case "scaled":
            assert np.ptp(gamma * norms) <= 1e-12
            assert largest == pytest.approx(1, rel=1e-6)
    expected = reference_solutions.fixed_strengthening(data, mode, PENALTY, gamma)
    found = certified(tm.conic_fixed(data, penalty=PENALTY, strengthening=choice, intercept=mode))
    assert found.objective == pytest.approx(expected, rel=1e-6)


# --- the forms, on one table ---------------------------------------------------------------------


def test_the_point_of_the_dual_needs_its_multiplier() -> None:
    data = points("overlapping", 0, n=12)
    result = tm.solve(tm.conic_sdp_dual(data, penalty=PENALTY))
    for duals in ({}, {"outer": -result.duals["outer"]}):
        with pytest.raises(ValueError, match=r"in the multiplier of outer.*with clarabel"):
            primal_point(data, result.values, duals, penalty=PENALTY, intercept="penalised")


# --- rank ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_rank_of_the_lift_counts_eigenvalues_beyond_the_stated_size(scale: float) -> None:
    """It does not depend on the units of the points."""
    data = points("overlapping", 3, n=12)
    scaled = TrainingData(scale * data.X, data.y)
    common: dict[str, Any] = {"penalty": PENALTY / scale**2, "intercept": "none"}
    result = certified(tm.conic_sdp(scaled, **common))
    facts = result.certificate.facts
    W, w = result.values["W"], result.values["w"]
    beyond = np.linalg.eigvalsh(W - np.outer(w, w)) > facts["rank_tolerance"]
    assert facts["rank_of_lift"] == beyond.sum() == 1
    assert facts["rank_tolerance"] == pytest.approx(1e-6 * result.objective, rel=1e-6)
    expected = reference_solutions.theorem_2(data, "none", penalty=PENALTY)
    lift = np.linalg.eigvalsh(expected.extra["W"] - np.outer(expected.w, expected.w))
    assert (lift > 1e-4 * lift[-1]).sum() == 1


# --- a budget ------------------------------------------------------------------------------------


def test_the_grid_of_budgets_ends_at_a_half_and_leaves_zero_out() -> None:
    grid = budget_grid()
    assert len(grid) == 100
    assert (grid[0], grid[-1]) == (0.005, 0.5)
    assert np.allclose(np.diff(grid), 0.005)
    assert budget_grid(2).tolist() == [0.25, 0.5]
    for count in (0, -1, 2.5, True, "many"):
        with pytest.raises(ValueError, match="count must be a whole number"):
            budget_grid(count)  # type: ignore[arg-type]


# --- trivial optima ------------------------------------------------------------------------------

# Every point carries both labels, -1 twice as often in the second: nothing can be learnt.
PLACES = np.random.default_rng(0).standard_normal((6, 2))
BOTH = TrainingData(np.repeat(PLACES, 2, axis=0), np.tile([1, -1], 6))


def test_a_score_of_zero_is_labelled_minus_one_and_is_an_error_of_a_result(tmp_path: Path) -> None:
    out, file = tmp_path / "fit.json", write_csv(tmp_path / "both.csv", BOTH)
    words = ("--set", "penalty=0.05", "big_m=derived", "intercept=none")
    assert run("solve", "zero_one_big_m", "--data", file, *words, "--out", out).code == 0
    saved = SolveResult.load(out)
    assert saved.certificate.facts["errors"] == BOTH.n
    assert not decision_values(saved, BOTH.X).any()
    answer = run("predict", out, "--data", file, "--json")
    assert answer.json["labels"] == [-1] * BOTH.n
    assert answer.json["errors"] == BOTH.n_pos


# --- the file ------------------------------------------------------------------------------------


def test_losses_of_a_result_are_those_of_proposition_1() -> None:
    data = points("unbalanced", 1, n=12)
    result = certified(tm.conic_fixed(data, penalty=PENALTY, strengthening="scaled"))
    facts, w, b = result.certificate.facts, result.values["w"], float(result.values["b"])
    v = 1 - data.y * (data.X @ w + b)
    assert "degenerate" not in facts
    assert facts["conic_losses"] == pytest.approx(
        conic_loss(v, facts["strengthening"], PENALTY).tolist()
    )
    assert w @ w + b * b + sum(facts["conic_losses"]) == pytest.approx(result.objective, rel=1e-9)
