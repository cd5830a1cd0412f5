"""Reduced hulls: distances and what a check proves, the best value of a fixed w, its b and rho."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import tightmargin as tm
from tests.inside.formulations import (
    MEET,
    SORT_BELOW,
    Group,
    edges,
    gram_data,
    is_corner,
    loss_weights,
    lowest,
    nu_max,
    proven_slope,
    reduced_hulls,
    support_value,
    ties_at,
)
from tests.references import reference_solutions
from tests.references.reduced_hulls import level_by_lp
from tests.references.reference_solutions import INTERCEPTS, points
from tests.support.certified import checked
from tests.support.covering import FULL
from tightmargin.formulations import TrainingData
from tightmargin.solvers import SolveResult, Verdict


def certified(model: Any, **words: Any) -> SolveResult:
    result = tm.solve(model, **{"absolute_gap": 1e-7} | words)  # where the hulls meet it is 0
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate
    return result


def test_a_kernel_matrix_is_taken() -> None:
    gram = gram_data(points("overlapping", 3, n=20), kernel="rbf", width=0.8)
    for bound, cap in ((0.15, 0.15), ("none", 1.0)):
        result = certified(tm.reduced_hull_svc(gram, hull_bound=bound))
        expected = reference_solutions.hull_distance(gram.gram, gram.y, cap, "free")
        assert result.objective == pytest.approx(expected, rel=1e-6)
        assert "degenerate" not in result.certificate.facts, "rbf separates distinct points"


@pytest.mark.parametrize(("apart", "meet"), [(4e-5, True), (1e-2, False)])
def test_what_counts_as_meeting_is_a_share_of_the_spread_wherever_the_points_lie(
    apart: float, meet: bool
) -> None:
    """Two means `apart` from each other, of segments of length 2 that overlap."""
    X = 1e6 + np.array([[-1.0], [1.0 + 2 * apart], [-1.0], [1.0]])
    model = tm.reduced_hull_svc(tm.TrainingData(X, [1, 1, -1, -1]), hull_bound="none")
    facts = checked(model, alpha=np.full(4, 0.5)).facts
    assert facts["hull_distance"] == pytest.approx(apart, rel=1e-4)
    assert (facts.get("degenerate") == MEET) == meet


@given(
    seed=st.integers(0, 10**6),
    share=st.floats(0.0, 1.0),
    mode=st.sampled_from(INTERCEPTS),
    kind=st.sampled_from(["separable", "overlapping", "unbalanced"]),
)
@settings(max_examples=30 if FULL else 12)
def test_any_weights_give_a_distance_above_and_a_bound_below_the_optimum(
    seed: int, share: float, mode: str, kind: str
) -> None:
    rng, data = np.random.default_rng(seed), points(kind, seed % 5, n=10)
    least = 1 / min(data.n_pos, data.n_neg)
    cap = least + share * (1 - least)
    expected = reference_solutions.hull_distance(data.X @ data.X.T, data.y, cap, mode)
    model = tm.reduced_hull_svc(data, hull_bound=cap, intercept=mode)
    found = checked(model, alpha=rng.uniform(-0.3, 0.6, data.n))
    assert found.bound.value <= expected + 1e-9 <= found.objective + 2e-9
    alpha = found.repaired["alpha"]
    assert -1e-15 <= alpha.min() <= alpha.max() <= cap * (1 + 1e-12)
    sums = [alpha[data.y > 0].sum(), alpha[data.y < 0].sum()]
    assert sum(sums) == pytest.approx(2.0)
    assert mode != "free" or sums == pytest.approx([1.0, 1.0])


def test_at_the_end_of_the_range_the_smaller_class_is_its_mean() -> None:
    data = points("unbalanced", 1, n=14)
    result = certified(tm.reduced_hull_svc(data, hull_bound=1 / 4))
    np.testing.assert_allclose(result.values["alpha"][data.y > 0], 0.25, atol=1e-9)


# --- the optimum for a fixed w by sorting, against linear programs --------------------------------


@given(
    seed=st.integers(0, 10**6), mode=st.sampled_from(INTERCEPTS), whole=st.booleans(),
    kind=st.sampled_from(["uniform", "balanced", "given"]),
    share=st.sampled_from([1.0, 1e-6]) | st.floats(0.01, 1.0),
)  # fmt: skip
@settings(max_examples=150 if FULL else 50)
def test_value_is_that_of_the_linear_program(
    seed: int, mode: str, whole: bool, kind: str, share: float
) -> None:
    """Data with many ties and duplicates or none, weights of every kind, nu up to both ends."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 10)), int(rng.integers(1, 4))
    k = d + (mode == "penalised")
    X = rng.integers(-2, 3, (n, d)) if whole else rng.standard_normal((n, d))
    w = rng.integers(-2, 3, k).astype(float) if whole else rng.standard_normal(k)
    data = TrainingData(X, np.where(rng.permutation(n) < rng.integers(1, n), 1.0, -1.0))
    given_out = rng.uniform(0.05, 1.0, n)
    weights: Any = given_out / given_out.sum() if kind == "given" else kind
    nu = share * nu_max(data, weights, mode)
    hulls = reduced_hulls(data, nu=nu, class_balance=weights, intercept=mode)
    expected = level_by_lp(data, mode, nu, loss_weights(data, weights), w)
    assert support_value(hulls, w) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("mass", [1e-9, 0.1, 0.5, 1.0])
def test_partial_sort_takes_what_a_full_sort_takes(mass: float, equal: bool) -> None:
    rng = np.random.default_rng(4)
    n = 9 * SORT_BELOW + 5
    scores = rng.standard_normal(n)
    caps = np.full(n, 1 / n) if equal else rng.uniform(0.1, 1.0, n)
    caps = caps / caps.sum()
    taken, weights = lowest(scores, Group(np.arange(n), caps, mass, equal))
    order = np.argsort(scores)
    expected = np.clip(mass - np.r_[0.0, np.cumsum(caps[order])[:-1]], 0.0, caps[order])
    given_out = np.zeros(n)
    given_out[taken] = weights
    assert given_out[order] == pytest.approx(expected, abs=1e-13)
    assert scores[taken].max() == scores[taken[-1]]


def test_what_the_sort_leaves_out_of_unequal_prices_is_counted() -> None:
    """The two lowest scores, 0, have all of nu = 1/2 but 2^-41, which the third, 1, has."""
    left = 2.0**-41
    data = TrainingData([[0.0], [0.0], [1.0]], [1, -1, 1])
    words = {"nu": 0.5, "class_balance": [0.25, 0.25 - left, 0.5 + left], "intercept": "none"}
    found = checked(tm.extended_nu_svc(data, **words), w=[1.0])
    assert abs(found.objective - -left) <= found.error <= 1e-11


def test_equal_points_are_no_general_position() -> None:
    data = TrainingData(
        [[0, 0], [1, 0], [1, 0], [2, 1], [4, 0], [3, 2], [0.5, 5], [-2, 1]],
        [1, 1, 1, 1, -1, -1, -1, -1],
    )
    hulls = reduced_hulls(data, nu=3 / 8)
    w = np.array([1.0, 0.3])
    ties = ties_at(hulls, w)
    assert is_corner(hulls, ties)
    assert edges(hulls, w, ties) is None


@pytest.mark.parametrize(("mode", "nu"), [("none", 0.3), ("free", 0.39)])
def test_slope_is_below_the_optimum_of_every_direction(nu: float, mode: str) -> None:
    data = points("overlapping", 1, n=10)
    costs = np.full(data.n, 1 / data.n)
    truth = reference_solutions.nu_risk_on_circle(data, mode, nu, costs)
    hulls = reduced_hulls(data, nu=nu, intercept=mode)
    found = proven_slope(hulls, truth.w)
    assert found <= truth.value
    if truth.value < 0:
        assert found == pytest.approx(truth.value, abs=1e-8)
    else:
        assert found > 0


def test_no_slope_is_claimed_on_the_boundary() -> None:
    """Two equal points with both labels: U holds 0 on its boundary for every nu."""
    data = TrainingData([[0.0], [0.0]], [1, -1])
    assert proven_slope(reduced_hulls(data, nu=1.0), np.ones(1)) is None
    flat = TrainingData([[1, 0], [-1, 0], [1, 0], [-1, 0]], [1, 1, -1, -1])
    assert proven_slope(reduced_hulls(flat, nu=0.5), np.ones(2)) is None


# --- b and rho of Perez-Cruz et al. (21)-(22) beside the best ones --------------------------------


def best_pairs(scores: np.ndarray, y: np.ndarray, nu: float) -> tuple[float, np.ndarray]:
    """Optimum over (b, rho, xi) for given scores, and the ends of b and rho among the optimal."""
    n = len(y)
    cost = np.r_[0.0, -nu, np.full(n, 1 / n)]
    A = np.column_stack([-y, np.ones(n), -np.eye(n)])
    bounds = [(None, None)] * 2 + [(0, None)] * n
    first = linprog(cost, A_ub=A, b_ub=y * scores, bounds=bounds)
    assert first.status == 0
    ends = []
    for k in (0, 1):
        for sign in (1.0, -1.0):
            unit = np.zeros(n + 2)
            unit[k] = sign
            within = np.vstack([A, cost])
            side = np.r_[y * scores, first.fun + 1e-10]
            found = linprog(unit, A_ub=within, b_ub=side, bounds=bounds)
            ends.append(sign * found.fun)
    return float(first.fun), np.array(ends)


@pytest.mark.parametrize("seed", range(4 if FULL else 2))
def test_at_a_solution_both_are_the_best_pair(seed: int) -> None:
    data, nu = points("overlapping", seed, n=20), 0.63
    alpha = tm.solve(tm.nu_svc_dual(data, nu=nu)).values["alpha"]
    found = tm.theory.nu_levels(data, alpha)
    scores = data.X @ (data.X.T @ (data.y * alpha))
    _, (b_low, b_high, rho_low, rho_high) = best_pairs(scores, data.y, nu)
    assert found.averaged_of >= 1
    assert found.spread < 1e-5
    assert found.b_interval == pytest.approx((b_low, b_high), abs=1e-6)
    assert found.rho_interval == pytest.approx((rho_low, rho_high), abs=1e-6)
    for b, rho in ((found.averaged_b, found.averaged_rho), (found.sorted_b, found.sorted_rho)):
        assert b_low - 1e-5 <= b <= b_high + 1e-5
        assert rho_low - 1e-5 <= rho <= rho_high + 1e-5
    machine = tm.solve(tm.nu_svc(data, nu=nu))
    assert (found.averaged_b, found.averaged_rho) == pytest.approx(
        (float(machine.values["b"]), float(machine.values["rho"])), abs=1e-4
    )


def test_without_inner_multipliers_they_are_an_end_and_the_middle() -> None:
    """At nu = 1 of balanced classes every multiplier is 1 / n: rho - b may be anything above."""
    data = tm.TrainingData([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1])
    alpha = np.array([0.0, 0.25, 0.25, 0.0])  # nu = 1/2: w = 1/2, scores 0, .5, 1.5, 2
    found = tm.theory.nu_levels(data, alpha)
    assert found.averaged_of == 0
    # Positive scores 1.5 and 2: rho - b in [1.5, 2]... of which b + score >= rho holds the lowest.
    assert found.rho_interval == pytest.approx(((1.5 - 0.5) / 2, (2.0 - 0.0) / 2))
    assert found.b_interval == pytest.approx(((-0.5 - 2.0) / 2, (0.0 - 1.5) / 2))
    assert (found.averaged_b, found.averaged_rho) == pytest.approx((-1.0, 0.5))
    assert (found.sorted_b, found.sorted_rho) == pytest.approx((-1.0, 0.75))
    scores = np.array([0.0, 0.5, 1.5, 2.0])
    value, ends = best_pairs(scores, data.y, 0.5)
    assert ends == pytest.approx([*found.b_interval, *found.rho_interval], abs=1e-6)
    slack = np.maximum(0, 0.5 - data.y * (scores - 1.0))
    assert -0.5 * 0.5 + slack.mean() == pytest.approx(value, abs=1e-9)  # the end is best as well


def test_off_a_solution_the_average_is_worse_and_the_spread_says_so() -> None:
    data, nu = points("overlapping", 3, n=20), 0.6
    alpha = np.where(data.y > 0, nu / 2 / data.n_pos, nu / 2 / data.n_neg)
    found = tm.theory.nu_levels(data, alpha)
    scores = data.X @ (data.X.T @ (data.y * alpha))

    def value(b: float, rho: float) -> float:
        return -nu * rho + np.maximum(0, rho - data.y * (scores + b)).mean()

    best, _ = best_pairs(scores, data.y, nu)
    assert found.spread > 0.1
    assert value(found.sorted_b, found.sorted_rho) == pytest.approx(best, abs=1e-9)
    assert value(found.averaged_b, found.averaged_rho) > best + 1e-3
