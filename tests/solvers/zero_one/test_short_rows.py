"""Points given up as rows of the conflict search, its compiled twin, points along directions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.inside.formulations import zero_one_objective
from tests.inside.solvers import (
    Count,
    Nodes,
    PackingProblem,
    SideRows,
    SignedPoints,
    StopReason,
    bounded,
    certified_norm2,
    empty_sets,
    grow,
    refreshed,
    values_along,
)
from tests.inside.solvers import conflict_search_search as searching
from tests.inside.solvers import signed_points_signed_points as signed_points
from tests.references.brute_force import zero_one_optima
from tightmargin.formulations import TrainingData
from tightmargin.solvers import conflict_search

INTERCEPTS = ("free", "penalised", "none")
COORDINATES = PackingProblem.coordinates
GAP = 1e-6


def overlapping(n: int, d: int, seed: int) -> TrainingData:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return TrainingData(rng.normal(size=(n, d)) + 0.4 * y[:, None], y)


def least_norm2(data: TrainingData, kept: list[int], short: list[int], intercept: str) -> float:
    """Least norm2 with margins of at least 1 on some points and at most 1 on others, by SLSQP."""
    d = data.d + (intercept == "penalised")
    X = data.X if intercept == "none" else np.hstack([data.X, np.ones((data.n, 1))])
    rows = data.y[:, None] * X
    A = np.vstack([rows[kept], -rows[short]])
    right = np.r_[np.ones(len(kept)), -np.ones(len(short))]
    found = minimize(
        lambda v: v[:d] @ v[:d],
        np.zeros(X.shape[1]),
        jac=lambda v: np.r_[2 * v[:d], np.zeros(X.shape[1] - d)],
        constraints={"type": "ineq", "fun": lambda v: A @ v - right, "jac": lambda v: A},
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return float(found.fun) if found.success else np.inf


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_growing_with_short_points_ends_at_the_least_norm_of_another_solver(
    intercept: str,
) -> None:
    data = overlapping(12, 3, 21)
    points = signed_points(data, intercept=intercept)
    rng = np.random.default_rng(0)
    places = np.array([rng.permutation(12) for _ in range(8)])
    kept, short = places < 4, (places >= 4) & (places < 8)
    found = grow(points, empty_sets(points, 8), kept, np.full(8, 1e6), short=short)
    raised = 0
    for k in range(8):
        some, others = (np.flatnonzero(mask[k]).tolist() for mask in (kept, short))
        expected = least_norm2(data, some, others, intercept)
        if found.finished[k]:
            assert found.norm2[k] == pytest.approx(expected, rel=1e-4)
            assert found.norm2[k] <= expected * (1 + 1e-6)
            raised += expected > 1.01 * least_norm2(data, some, [], intercept)
        else:
            assert expected == np.inf
    assert raised


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_multipliers_of_both_signs_prove_no_more_than_the_least_norm(intercept: str) -> None:
    data = overlapping(12, 3, 22)
    points = signed_points(data, intercept=intercept)
    rng = np.random.default_rng(1)
    sense = np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    used = 0
    for _ in range(60):
        members = rng.permutation(12)[:5]
        kept, short = members[:3].tolist(), members[3:].tolist()
        expected = least_norm2(data, kept, short, intercept)
        alpha = rng.normal(size=5)
        proven = float(certified_norm2(points, members, alpha, sense))
        assert proven <= expected * (1 + 1e-6)
        used += proven > 0 and bool((alpha[3:] < 0).any())
        wrong = np.where(alpha * sense > 0, alpha, 0.0)
        assert proven == float(certified_norm2(points, members, wrong, sense))
    assert used


def without_short_rows(*args: Any) -> SignedPoints:
    points = COORDINATES(*args)
    return replace(points, loose=np.ones_like(points.loose))


def test_rows_of_points_given_up_leave_fewer_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    data = TrainingData(rng.normal(size=(40, 4)), np.where(np.arange(40) % 2 == 0, 1.0, -1.0))
    words: dict[str, Any] = {"penalty": 10.0, "intercept": "free", "compiled": False}
    words["incumbent"] = (np.zeros(4), 1.0)  # spares the heuristic
    own = conflict_search(data, **words)
    monkeypatch.setattr(PackingProblem, "coordinates", without_short_rows)
    other = conflict_search(data, **words)
    assert own.stop is other.stop is StopReason.PROVEN
    assert own.objective == pytest.approx(other.objective, rel=2 * GAP)
    assert own.nodes < 0.6 * other.nodes


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_paid_points_are_not_asked_to_be_short(intercept: str) -> None:
    """z_i = 1 pays for a point, which may be kept all the same."""
    data = overlapping(9, 2, 5)
    for i in (0, 3, 8):
        side = replace(SideRows.nothing(9, 2), paid=np.arange(9) == i)
        found = conflict_search(data, penalty=0.7, intercept=intercept, side=side)
        others = np.arange(9) != i
        rest = TrainingData(data.X[others], data.y[others])
        (optimum,) = zero_one_optima(rest, (0.7,), intercept)
        assert found.objective == pytest.approx(0.7 + optimum, rel=2 * GAP)
        assert found.bound <= 0.7 + optimum


# --- the best point along a direction ------------------------------------------------------------


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_no_multiple_of_a_direction_is_better_than_its_value(intercept: str) -> None:
    """Every b, and every length, at which some point is on the margin."""
    data = TrainingData(np.round(overlapping(9, 2, 6).X * 2), overlapping(9, 2, 6).y)
    points = signed_points(data, intercept=intercept)
    rng = np.random.default_rng(2)
    directions = rng.normal(size=(6, points.rows.shape[1]))
    values = values_along(points, directions, 0.8, np.inf)
    for v, value in zip(directions, values, strict=True):
        w = v[:2] / points.scale
        scores = data.X @ w
        trials = [(w * t, b) for t, b in planes_along(data, scores, v, points, intercept)]
        best = min(
            zero_one_objective(
                data, w * (1 + 1e-12), b * (1 + 1e-12), penalty=0.8, intercept=intercept
            )
            for w, b in trials
        )
        assert value == pytest.approx(best, rel=1e-9)
        least = values_along(points, v[None, :], 0.8, value * 1.01)
        assert least[0] == pytest.approx(value, rel=1e-12)


def planes_along(
    data: TrainingData, scores: np.ndarray, v: np.ndarray, points: SignedPoints, intercept: str
) -> list[tuple[float, float]]:
    if intercept == "free":
        pairs = [
            (2 / (scores[i] - scores[j]), -(scores[i] + scores[j]) / (scores[i] - scores[j]))
            for i in np.flatnonzero(data.y > 0)
            for j in np.flatnonzero(data.y < 0)
            if scores[i] > scores[j]
        ]
        return pairs or [(0.0, 0.0)]
    b = float(v[-1]) / points.scale if intercept == "penalised" else 0.0
    margins = data.y * (scores + b)
    return [(1 / u, b / u) for u in margins[margins > 0].tolist()]


def nearly_dependent(seed: int) -> tuple[TrainingData, np.ndarray]:
    """Rows that nobody meets, the last one minus a cone of all others, and which are kept.

    All but the last are met with equality, with multipliers of the right signs, by one v; one of
    them depends on the rest but for a thousandth, and the cone is long in that direction.
    """
    rng = np.random.default_rng(seed)
    d = 10
    y = np.where(np.arange(d + 1) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(d + 1, d))
    share = rng.normal(size=d)
    X[d] = share / share.sum() @ X[:d] + 1e-3 * rng.normal(size=d)
    points = signed_points(TrainingData(X, y), intercept="free")
    alpha = np.linalg.solve(points.rows.T, np.linalg.solve(points.rows, np.ones(d + 1)))
    senses = np.sign(alpha)
    cone = 3e3 * alpha / np.abs(alpha).max() + rng.uniform(0.5, 1.0, size=d + 1) * senses
    pull = float(cone @ y)
    label = -np.sign(pull)
    last = -label * (cone * y) @ X / abs(pull)
    assert cone.sum() / abs(pull) + 1 > 0  # or somebody would meet them all
    data = TrainingData(np.vstack([X, last]), np.r_[y, label])
    return data, np.r_[senses > 0, True]


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow("REASON"))])
def test_rows_that_nobody_meets_are_proven_so_beside_members_that_nearly_depend(
    compiled: bool,
) -> None:
    bounds = bounded
    if compiled:
        pytest.importorskip("numba")
        from tests.inside.solvers import nodes as compiled_nodes

        bounds = compiled_nodes.bounded
    for seed in range(8):
        data, kept = nearly_dependent(seed)
        points = signed_points(data, intercept="free")
        start = np.zeros((1, points.largest), np.intp)
        start[0, :11] = np.arange(11)
        senses = np.ones((1, points.largest))
        senses[0, :11] = np.where(kept[:11], 1.0, -1.0)
        sets = refreshed(points, start, np.array([11]), senses)
        nodes = Nodes(kept[None], ~kept[None], sets)
        target = 1e12
        found = bounds(points, nodes, penalty=1.0, target=target, suspects=~kept)
        assert np.isinf(found.bound[0])


# --- compiled ------------------------------------------------------------------------------------


def random_nodes(points: SignedPoints, rng: np.random.Generator, rows: int) -> Nodes:
    places = np.array([rng.permutation(points.n) for _ in range(rows)])
    side = np.zeros((rows, len(points.right) - points.n), dtype=bool)
    return Nodes(
        np.hstack([places < 2, ~side]),
        np.hstack([(places >= 2) & (places < 6), side]),
        empty_sets(points, rows),
    )


@pytest.mark.slow("REASON")
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_compiled_bounds_are_those_of_numpy(intercept: str) -> None:
    pytest.importorskip("numba")
    from tests.inside.solvers import nodes as compiled_nodes

    data = overlapping(30, 4, 7)
    side = replace(
        SideRows.nothing(30, 4), weights=np.array([[1.0, 0.5, 0.0, 0.0]]), of_b=np.zeros(1),
        most=np.array([0.4]), paid=np.arange(30) == 4,
        counts=(Count(np.ones(30, dtype=bool), 12), Count(np.arange(30) < 9, 4)),
    )  # fmt: skip
    points = signed_points(data, intercept=intercept, side=side)
    nodes = random_nodes(points, np.random.default_rng(3), 40)
    suspects = np.r_[np.arange(30) % 3 == 0, np.zeros(1, dtype=bool)]
    words: dict[str, Any] = {"penalty": 1.0, "target": 18.0, "suspects": suspects}
    own, other = bounded(points, nodes, **words), compiled_nodes.bounded(points, nodes, **words)
    open_ones = np.flatnonzero(np.isfinite(own.bound))
    assert 5 < len(open_ones) < 40
    with np.errstate(invalid="ignore"):
        same = (own.bound == other.bound) | (np.abs(own.bound - other.bound) < 1e-7 * own.bound)
    same &= np.isinf(own.bound) | (own.branch == other.branch)
    for mask in ("kept", "violated"):
        equal = getattr(own.nodes, mask) == getattr(other.nodes, mask)
        same &= np.isinf(own.bound) | equal.all(axis=1)
    # A multiplier of 0 or of 1e-17 sends the packing of a few nodes another way.
    assert same.mean() >= 0.9
    assert other.steps == pytest.approx(own.steps, rel=0.05)


@pytest.mark.slow("REASON")
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_a_compiled_search_finds_the_optimum_of_brute_force(intercept: str) -> None:
    pytest.importorskip("numba")
    rng = np.random.default_rng(8)
    for _ in range(15):
        X = rng.integers(-3, 4, size=(8, 2)).astype(float)
        data = TrainingData(X, np.where(np.arange(8) < 4, 1.0, -1.0))
        nothing = (np.zeros(2), 0.0)
        found = conflict_search(
            data, penalty=0.9, intercept=intercept, incumbent=nothing, compiled=True
        )
        (optimum,) = zero_one_optima(data, (0.9,), intercept)
        assert found.objective == pytest.approx(optimum, rel=2 * GAP)
        assert found.bound <= optimum * (1 + 1e-9)


def test_compiling_without_numba_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="numba"):
        conflict_search(overlapping(10, 2, 0), penalty=1.0, intercept="free", compiled=True)
