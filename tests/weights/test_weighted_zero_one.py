"""The weighted 0-1 loss against all sets of points that a hyperplane can keep, solved elsewhere.

The truth is made here: the least norm that keeps a set is a small quadratic program for CVXPY, and
what is not kept pays its weight. No bound of ours may lie above it.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import tightmargin as tm
from tests.inside.formulations import SlackBounds, closed_slack_bounds, least_paid, with_rows
from tests.inside.solvers import zero_one_incumbent
from tests.references.active_sets import zero_one_by_sets
from tests.support.covering import in_turn
from tightmargin.solvers import Verdict

MODES = ("penalised", "free", "none")
SIZES = (0.1, 0.25, 1.0, 2.0, 3.0, 7.3)
CLOSE = 1e-5  # of what the other solver leaves open


def least_norm(X: Any, y: Any, kept: Any, mode: str) -> float:
    """Least norm2 of a hyperplane that keeps some points; infinite where none does."""
    w = cp.Variable(X.shape[1])
    b = 0.0 if mode == "none" else cp.Variable()
    norm2 = cp.sum_squares(w) + (cp.square(b) if mode == "penalised" else 0.0)
    rows = [cp.multiply(y[kept], X[kept] @ w + b) >= 1] if len(kept) else []
    problem = cp.Problem(cp.Minimize(norm2), rows)
    problem.solve(solver="CLARABEL")
    return float(problem.value) if problem.status == "optimal" else np.inf


@functools.cache
def truth(seed: int, mode: str, *, whole: bool = False) -> float:
    """The 0-1 optimum of a case, by all sets of violated points in order of what they cost."""
    data, penalty = case(seed, whole=whole)
    sets = [np.array(bits, dtype=bool) for bits in itertools.product((0, 1), repeat=data.n)]
    costs = [penalty * float(data.multiplicity[violated].sum()) for violated in sets]
    best = np.inf
    for k in np.argsort(costs, kind="stable").tolist():
        if costs[k] >= best:
            break
        best = min(best, costs[k] + least_norm(data.X, data.y, np.flatnonzero(~sets[k]), mode))
    return best


def case(seed: int, *, whole: bool = False) -> tuple[tm.TrainingData, float]:
    """A few weighted points that overlap, and a penalty."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 8))
    X, y = np.round(2 * rng.standard_normal((n, 2)), 2), rng.choice([-1.0, 1.0], n)
    y[:2] = 1, -1
    weights = rng.integers(1, 4, n).astype(float) if whole else rng.choice(SIZES, n)
    return tm.TrainingData(X, y, sample_weight=weights), float(rng.choice([0.05, 0.3, 1.0, 4.0]))


def test_weighted_points_in_many_features_are_closed_by_a_short_branch_and_bound() -> None:
    """Behind a solver, where cones of directions take too long and conflicts take no weights."""
    rng = np.random.default_rng(5)
    X, y = np.round(rng.normal(size=(12, 7)), 2), np.where(np.arange(12) % 2 == 0, 1.0, -1.0)
    data = tm.TrainingData(X, y, sample_weight=rng.integers(1, 4, 12).astype(float))
    optimum = zero_one_by_sets(data, penalty=0.3, intercept="free").objective
    result = tm.solve(tm.zero_one_big_m(data, penalty=0.3, big_m="derived", intercept="free"),
                      "scip", prove=False)  # fmt: skip
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert "branch and bound" in result.certificate.bound_method
    assert result.bound <= optimum * (1 + 1e-9)
    assert result.objective == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize(("seed", "mode"), in_turn(range(3), MODES))
def test_relaxations_and_bounds_stay_below_the_optimum(seed: int, mode: str) -> None:
    data, penalty = case(seed)
    expected = truth(seed, mode)
    limit: dict[str, Any] = {"intercept_bound": "derived"} if mode == "free" else {}
    for name, words in (
        ("conic_sdp", limit),
        ("conic_sdp_strengthened", {"conflicts": "pairs", "products": "cutoff"}),
    ):
        result = tm.solve(tm.build(name, data, penalty=penalty, intercept=mode, **words))
        assert result.bound is not None
        assert result.bound <= expected * (1 + CLOSE)
    found = zero_one_by_sets(data, penalty=penalty, intercept=mode)
    assert found.objective == pytest.approx(expected, rel=CLOSE)
    known = zero_one_incumbent(data, penalty=penalty, intercept=mode)
    assert known.objective >= expected * (1 - CLOSE)


@pytest.mark.parametrize(("seed", "mode"), in_turn(range(6), MODES))
def test_tightened_bounds_and_conflicts_keep_an_optimum(seed: int, mode: str) -> None:
    whole = seed > 2
    data, penalty = case(seed, whole=whole)
    expected = truth(seed, mode, whole=whole)
    words: dict[str, Any] = {"penalty": penalty, "intercept": mode}
    found = tm.tighten(data, **words)
    assert found.bound <= expected * (1 + CLOSE)
    assert found.objective >= expected * (1 - CLOSE)
    assert isinstance(found.count, int) or not whole
    grown = tm.cuts.with_conflicts(closed_slack_bounds(data, **words), data, **words)
    for bounds in (found.bounds, grown):
        model = tm.zero_one_big_m(data, big_m="derived", slack_bounds=bounds, **words)
        result = tm.solve(model)
        # Where w = 0 is best and every z is decided, the optimum is the constant of the objective,
        # and both ends would have to be that number.
        decided = result.interval[1] - float(np.sum(penalty * data.weights * result.values["z"]))
        assert result.certificate.verdict is Verdict.CERTIFIED or decided <= 1e-8 * expected
        assert result.absolute_gap <= 1e-6 * expected
        assert result.objective == pytest.approx(expected, rel=CLOSE)


def test_disjoint_conflicts_pay_for_their_lightest_point() -> None:
    weights = np.array([0.5, 2.0, 0.1, 3.0, 1.0])
    assert least_paid(((0, 1), (3, 4), (1, 2)), weights) == 1.5
    bounds = SlackBounds(np.full(5, -9.0), np.full(5, 9.0), 10.0, (0.0, 0.0), 10.0, "test")
    assert with_rows(bounds, ((0, 1), (3, 4)), 2 * weights).norm2 == pytest.approx(7.0, rel=1e-9)


def test_statements_for_other_weights_are_not_believed() -> None:
    """Bounds that were derived with heavier points say too much of lighter ones."""
    data, penalty = case(1, whole=True)
    heavy = dataclasses.replace(data, sample_weight=50 * data.multiplicity)
    words: dict[str, Any] = {"penalty": penalty, "intercept": "penalised"}
    bounds = tm.tighten(heavy, **words).bounds
    lowered = dataclasses.replace(bounds, cutoff=closed_slack_bounds(data, **words).cutoff)
    result = tm.solve(tm.conic_sdp_strengthened(data, slack_bounds=lowered, **words))
    assert "slack_bounds" in result.certificate.unproven


@pytest.mark.parametrize("name", ["conic_sdp", "conic_sdp_dual", "conic_sdp_budget"])
def test_facts_of_the_relaxations_are_those_of_all_copies(name: str) -> None:
    data, penalty = case(5, whole=True)
    times = data.multiplicity.astype(int)
    copies = tm.TrainingData(data.X.repeat(times, axis=0), data.y.repeat(times))
    words = {"budget": 0.3} if name.endswith("budget") else {"penalty": penalty}
    one, other = (tm.solve(tm.build(name, points, **words)) for points in (data, copies))
    assert one.objective == pytest.approx(other.objective, rel=1e-6)
    gamma = np.add.reduceat(other.certificate.facts["strengthening"], np.cumsum(times) - times)
    assert np.allclose(one.certificate.facts["strengthening"], gamma, atol=1e-3 * gamma.max())
