"""Several classes: derived M of the truncated loss keep an optimum; relations of the hinge."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightmargin as tm
from tests.inside.formulations import (
    cap_of,
    class_costs,
    class_reaches,
    confused_weights,
    derive_multiclass_big_m,
    population_risk,
)
from tests.references.multiclass import Machine, class_points, truncated_by_sets
from tests.references.reference_solutions import INTERCEPTS
from tightmargin.formulations import CATALOGUE, admissible_truncation, is_consistent
from tightmargin.solvers import Verdict

# A class of one point far away, whose weight is next to nothing: it is given up altogether.
GIVEN_UP = tm.MulticlassData(
    [[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [1.0, 3.0], [0.4, 1.4]], [0, 0, 1, 1, 2]
)
WORDS: dict[str, Any] = {"ridge": 0.02, "truncation": -0.5, "class_weight": (1.0, 1.0, 0.05)}


def drawn(seed: int) -> tuple[tm.MulticlassData, dict[str, Any]]:
    """Few points of 2 to 4 classes and a problem on them, hard ones among them."""
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 5))
    n = int(rng.integers(K, 6))
    y = np.concatenate([np.arange(K), rng.integers(K, size=n - K)])
    X = rng.standard_normal((n, int(rng.integers(1, 3)))) * rng.choice([0.5, 2, 8])
    weights = None if rng.random() < 0.3 else tuple(rng.choice([0.01, 0.3, 1.0, 3.0], size=K))
    return tm.MulticlassData(X + rng.choice([0, 5]), y), {
        "ridge": float(rng.choice([0.003, 0.03, 0.3])),
        "truncation": float(rng.choice([0, -0.2, -1 / (K - 1), -1.5])),
        "class_weight": weights,
        "intercept": str(rng.choice(["free", "free", "penalised", "none"])),
    }


def brute_force(data: tm.MulticlassData, words: dict[str, Any]) -> tuple[float, tuple[int, ...]]:
    return truncated_by_sets(
        data,
        words.get("intercept", "free"),
        words["ridge"],
        1 - words["truncation"],
        class_costs(data, words["class_weight"]),
    )


@settings(max_examples=6)
@given(seed=st.integers(0, 2**31))
def test_the_smallest_derived_m_keeps_the_optimum(seed: int) -> None:
    """From the optimum itself as the known objective, which leaves least room."""
    data, words = drawn(seed)
    value, _ = brute_force(data, words)
    known = value * (1 + 1e-6) + 1e-9
    big_m = derive_multiclass_big_m(data, **words, upper_bound=known).values
    result = tm.solve(tm.multiclass_truncated(data, **words, big_m=big_m), "scip")
    assert result.objective == pytest.approx(value, rel=2e-6, abs=1e-8)
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate


def test_a_class_that_is_given_up_altogether_is_kept_by_its_own_argument() -> None:
    """Without 2 + q D for such classes M would be the cap, and the optimum cut off."""
    value, given_up = brute_force(GIVEN_UP, WORDS)
    assert given_up == (4,)
    derived = derive_multiclass_big_m(GIVEN_UP, **WORDS, upper_bound=value * (1 + 1e-6))
    result = tm.solve(tm.multiclass_truncated(GIVEN_UP, **WORDS, big_m=derived.values), "scip")
    assert result.objective == pytest.approx(value, rel=1e-6)
    own, _ = class_reaches(GIVEN_UP)
    assert own[4] == 0.0
    without = derived.values.copy()
    without[4] = cap_of(-0.5)
    cut = tm.solve(tm.multiclass_truncated(GIVEN_UP, **WORDS, big_m=without), "scip")
    assert cut.objective is None or cut.objective > value + 1e-4
    assert cut.certificate.verdict is Verdict.NOT_CERTIFIED


def test_a_class_that_costs_exactly_the_known_objective_may_be_given_up() -> None:
    """Found by search: rounding made its loss larger than the objective that consists of it."""
    data = tm.MulticlassData([[8.7], [9.8], [14.6], [11.2]], [0, 1, 0, 0])
    words: dict[str, Any] = {"ridge": 0.003, "truncation": -0.2, "class_weight": (1.0, 0.01)}
    derived = derive_multiclass_big_m(data, **words)
    assert derived.upper_bound == pytest.approx(0.003, rel=1e-12)
    assert derived.values[1] >= 2.0
    rounded = derive_multiclass_big_m(data, **words, upper_bound=0.003 * (1 - 1e-12))
    assert rounded.values[1] >= 2.0
    result = tm.solve(tm.multiclass_truncated(data, **words, big_m="derived"))
    assert result.objective == pytest.approx(0.003, rel=1e-9)
    assert result.certificate.verdict is Verdict.CERTIFIED


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_a_small_m_cuts_the_optimum_off_and_says_so(mode: str) -> None:
    """Half of what the given-up point needs at the optimum, all others as derived."""
    data = class_points(2, n=7)
    words: dict[str, Any] = {"ridge": 0.02, "truncation": -0.5, "class_weight": None}
    value, given_up = brute_force(data, words | {"intercept": mode})
    assert given_up == (5,)
    big_m = derive_multiclass_big_m(data, **words, intercept=mode).values.copy()
    costs = np.full(data.n, 1 / data.n)
    costs[5] = 0.0
    machine = Machine(data, mode, 0.02)
    machine.value(costs)
    scores = data.X @ machine.B.value.T + machine.b.value
    own = scores[5, data.y[5]]
    scores[5, data.y[5]] = -np.inf
    violation = 1 - own + scores[5].max()
    assert 1.5 < violation <= big_m[5]
    big_m[5] = violation / 2
    model = tm.multiclass_truncated(data, **words, intercept=mode, big_m=big_m)
    cut = tm.solve(model, "scip")
    assert cut.certificate.verdict is Verdict.NOT_CERTIFIED
    assert "M[5]" in cut.certificate.unproven
    assert cut.bound is None
    assert cut.objective > value + 1e-3
    relaxed = tm.multiclass_truncated_relaxed(data, **words, intercept=mode, big_m=big_m)
    assert "M[5]" in tm.solve(relaxed).certificate.unproven


# --- the hinge loss -------------------------------------------------------------------------------

DATA = class_points(0, n=24, K=4)
WEIGHTS = (0.5, 2.0, 1.0, 0.25)


def hinge(data: tm.MulticlassData, **words: Any) -> tuple[float, np.ndarray]:
    """Optimum and B, after a tight solve that is certified."""
    tight = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    model = tm.multiclass_hinge(data, **words)
    result = tm.solve(model, "clarabel", options=tight)
    assert result.certificate.verdict is Verdict.CERTIFIED
    B, _ = CATALOGUE["multiclass_hinge"].classifier(model.origin, result.values, result.duals)
    return result.objective, B


def test_classes_places_units_and_copies_change_the_machine_as_they_must() -> None:
    """Class k is called order[k]; x -> 4 Rx + shift with 16 times the ridge; every point twice."""
    order, c, s = np.array([2, 0, 3, 1]), np.cos(0.7), np.sin(0.7)
    turn, weights = np.array([[c, -s], [s, c]]), np.empty(4)
    weights[order] = WEIGHTS
    moved = np.vstack([4 * DATA.X @ turn.T + [3.0, -20.0]] * 2)
    other = tm.MulticlassData(moved, np.tile(order[DATA.y], 2))
    value, B = hinge(DATA, ridge=0.05, class_weight=WEIGHTS)
    again, B_other = hinge(other, ridge=0.05 * 16, class_weight=tuple(weights))
    assert again == pytest.approx(value, rel=1e-8)
    np.testing.assert_allclose(4 * B_other[order], B @ turn.T, atol=1e-5)


def test_the_sum_of_zero_is_restored_and_lowers_the_norm() -> None:
    check = CATALOGUE["multiclass_hinge"].check
    origin = tm.multiclass_hinge(DATA, ridge=0.1).origin
    rng = np.random.default_rng(0)
    B, b, shift = rng.normal(size=(4, 2)), rng.normal(size=4), np.array([2.0, -1.0])
    plain = check(origin, {"B": B - B.mean(axis=0), "b": b - b.mean()})
    moved = check(origin, {"B": B + shift, "b": b + 5.0})
    assert moved.objective == pytest.approx(plain.objective, rel=1e-12)
    np.testing.assert_allclose(moved.repaired["B"].sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(moved.repaired["b"].sum(), 0, atol=1e-12)
    by_hand = 0.1 * float(((B - B.mean(axis=0)) ** 2).sum())
    for x, y in zip(DATA.X, DATA.y, strict=True):
        f = B @ x + b
        by_hand += max(0.0, *(1 - f[y] + f[k] for k in range(4) if k != y)) / DATA.n
    assert plain.objective == pytest.approx(by_hand, rel=1e-12)


# --- truncations that find the class of the largest weight, by a search over scores ---------------

LOSSES = {"hinge": lambda u: max(0.0, 1 - u), "logistic": lambda u: float(np.log1p(np.exp(-u)))}
GRID = np.arange(-8.0, 8.01, 0.5)
PLANE = np.array([(a, b, -a - b) for a, b in itertools.product(GRID, GRID)])


def risk_by_hand(loss: str, s: float, q: Any, f: Any) -> float:
    """sum_k q_k min(l(u_k), l(s)), one class after the other."""
    total = 0.0
    for k, weight in enumerate(q):
        lead = min(f[k] - f[j] for j in range(len(q)) if j != k)
        total += weight * min(LOSSES[loss](lead), LOSSES[loss](s))
    return total


def best_scores(loss: str, s: float, q: Any) -> np.ndarray:
    """Scores of the least risk on a grid of the plane f_1 + f_2 + f_3 = 0."""
    return PLANE[int(np.argmin([risk_by_hand(loss, s, q, f) for f in PLANE]))]


@pytest.mark.parametrize("K", [3, 4, 10])
def test_the_ranges_are_the_printed_ones_with_the_minus_put_right(K: int) -> None:
    assert admissible_truncation("hinge", K) == pytest.approx((-1 / (K - 1), 0.0), rel=1e-12)
    lower = -np.log(2 ** (K / (K - 1)) - 1)
    assert admissible_truncation("logistic", K) == pytest.approx((lower, 0.0), rel=1e-12)
    assert is_consistent("hinge", -1 / (K - 1), K)
    for loss in LOSSES:
        lower = admissible_truncation(loss, K)[0]
        assert is_consistent(loss, 0.99 * lower, K)
        assert is_consistent(loss, 0.0, K)
        assert not is_consistent(loss, 1.01 * lower, K)
        assert not is_consistent(loss, -np.inf, K)


@pytest.mark.parametrize(("loss", "share"), [("hinge", 1.0), ("hinge", 0.0), ("logistic", 1.0)])
def test_inside_the_range_the_best_scores_are_largest_at_the_largest_weight(
    loss: str, share: float
) -> None:
    s = share * admissible_truncation(loss, 3)[0]
    for q in ((0.3, 0.25, 0.45), (0.44, 0.16, 0.4), (0.1, 0.8, 0.1), (0.38, 0.31, 0.31)):
        f = best_scores(loss, s, q)
        assert int(np.argmax(f)) == int(np.argmax(q))
        assert np.sort(f)[-1] > np.sort(f)[-2]


@pytest.mark.parametrize(("loss", "factor"), [("hinge", 1.2), ("logistic", 3.0)])
def test_outside_the_range_there_are_weights_that_no_scores_tell_apart(
    loss: str, factor: float
) -> None:
    s = factor * admissible_truncation(loss, 3)[0]
    q = confused_weights(loss, s, 3)
    assert q.sum() == pytest.approx(1.0)
    assert q[0] > max(q[1:])
    by_hand = [risk_by_hand(loss, s, q, f) for f in PLANE[::50]]
    np.testing.assert_allclose(population_risk(loss, s, q, PLANE[::50]), by_hand, rtol=1e-12)
    np.testing.assert_allclose(best_scores(loss, s, q), 0.0)
    # With more weight on it the same loss does find the class.
    assert int(np.argmax(best_scores(loss, s, (0.7, 0.15, 0.15)))) == 0


@pytest.mark.parametrize(("loss", "s"), [("hinge", -1.0), ("logistic", -5.0)])
def test_two_classes_need_no_truncation(loss: str, s: float) -> None:
    assert admissible_truncation(loss, 2) == (-np.inf, 0.0)
    assert is_consistent(loss, s, 2)
    line = np.arange(-10.0, 10.0, 0.05)
    for q in ((0.42, 0.58), (0.6, 0.4)):
        risks = [risk_by_hand(loss, s, q, (f, -f)) for f in line]
        assert (line[int(np.argmin(risks))] > 0) == (q[0] > q[1])
