"""The search over cones of directions against enumeration, brute force and another solver."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.solvers import StopReason, zero_one_enumeration, zero_one_incumbent
from tests.inside.solvers import zero_one_methods as methods
from tests.solvers.zero_one.clouds import INTERCEPTS, clustered
from tests.support.covering import FULL
from tests.support.side_edits import side_edit
from tightmargin.formulations import TrainingData
from tightmargin.solvers import Verdict, cone_search


def cloud(seed: int) -> tuple[TrainingData, float]:
    """Few points of any scale, on a grid or copied, weighted or not, and a penalty that matters."""
    rng = np.random.default_rng(seed)
    d, n, kind = int(rng.integers(1, 4)), int(rng.integers(2, 12)), int(rng.integers(4))
    X = rng.normal(size=(n, d)) if kind < 2 else rng.integers(-2, 3, size=(n, d)).astype(float)
    X = X[rng.integers(n, size=n)] if kind == 1 else X
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[0], y[-1] = 1.0, -1.0
    X = X * 10.0 ** rng.integers(-6, 7)
    size = float(np.sqrt((X * X).mean())) or 1.0
    penalty = float(10.0 ** rng.uniform(-2, 4) / size**2)
    weights = rng.integers(1, 4, size=n).astype(float) if rng.random() < 0.4 else None
    return TrainingData(X, y, sample_weight=weights), penalty


def test_the_optimum_is_that_of_enumeration() -> None:
    for seed in range(200 if FULL else 36):
        data, penalty = cloud(seed)
        intercept = INTERCEPTS[seed % 3]
        exact = zero_one_enumeration(data, penalty=penalty, intercept=intercept)
        found = cone_search(data, penalty=penalty, intercept=intercept)
        assert found.stop is StopReason.PROVEN, seed
        assert found.bound <= exact.objective * (1 + 1e-12), seed
        assert found.bound >= exact.bound * (1 - 2e-6), seed
        assert found.objective == pytest.approx(exact.objective, rel=1e-6), seed


def test_side_rows_are_kept() -> None:
    proven = 0
    for seed in range(24 if FULL else 9):
        edit = side_edit(seed)
        optimum = edit.optimum()
        found = tm.solve(edit.model(big_m=1e4), method="cone-search")
        low = found.interval[0] if found.interval else found.bound
        assert low is None or low <= optimum * (1 + 1e-9) + 1e-9, seed
        if found.objective is not None and found.certificate.verdict.closed:
            proven += 1
            assert found.objective == pytest.approx(optimum, rel=2e-6), seed
    assert proven >= 6


def test_weights_are_repeated_points() -> None:
    data = clustered(12, 2, 5)
    weights = np.random.default_rng(0).integers(1, 4, size=data.n)
    repeated = TrainingData(np.repeat(data.X, weights, axis=0), np.repeat(data.y, weights))
    weighted = TrainingData(data.X, data.y, sample_weight=weights.astype(float))
    for intercept in INTERCEPTS:
        one = cone_search(weighted, penalty=0.7, intercept=intercept)
        many = zero_one_enumeration(repeated, penalty=0.7, intercept=intercept)
        assert one.objective == pytest.approx(many.objective, rel=1e-6)


def test_limits_and_ctrl_c_keep_what_is_known() -> None:
    data, told = clustered(40, 4, 1), []

    def searched(**words: Any) -> Any:
        return cone_search(data, penalty=1.0, intercept="penalised", **words)

    def interrupt(point: object) -> None:
        told.append(point)
        if len(told) == 3:
            raise KeyboardInterrupt

    short, whole = (searched(cell_limit=limit) for limit in (500, 5_000))
    assert short.stop is StopReason.CELL_LIMIT
    assert 0 < short.bound <= whole.bound <= whole.objective <= short.objective * (1 + 1e-12)
    again = searched(cell_limit=500, incumbent=(whole.w, whole.b))
    assert again.objective <= whole.objective * (1 + 1e-12)
    assert [point.bound for point in whole.trace] == sorted(point.bound for point in whole.trace)
    stopped = searched(progress=interrupt)
    assert stopped.stop is StopReason.INTERRUPTED
    assert 0 < stopped.bound <= stopped.objective


def brute_count(X: np.ndarray, y: np.ndarray) -> int:
    """Fewest errors of lines in the plane: through two points, which may then be on any side."""
    best = int(min((y > 0).sum(), (y < 0).sum()))
    for i, j in itertools.combinations(range(len(y)), 2):
        step = X[j] - X[i]
        side = (X - X[i]) @ np.array([-step[1], step[0]])
        others = np.delete(np.arange(len(y)), [i, j])
        for sign in (1.0, -1.0):
            best = min(best, int((sign * y[others] * side[others] <= 0).sum()))
    return best


@pytest.mark.parametrize("seed", range(4 if FULL else 2))
def test_fewest_errors_and_then_the_widest_margin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(16) % 2 == 0, 1.0, -1.0)
    data = TrainingData(rng.normal(size=(16, 2)) + 0.6 * y[:, None], y)
    found = tm.search.least_errors(data, margin=1e-5)
    assert (found.errors, found.bound) == (brute_count(data.X, y),) * 2
    assert int((y * (data.X @ found.w + found.b) < 1).sum()) == found.errors
    # A dear error makes the fewest of them the cheapest, with the least norm.
    dear = zero_one_enumeration(data, penalty=1e7, intercept="free")
    assert found.margin == pytest.approx(1 / np.linalg.norm(dear.w), rel=1e-5)
    assert found.margin <= found.largest_margin * (1 + 1e-12)


def test_auto_takes_cones_and_leaves_the_rest_to_conflicts(monkeypatch: Any) -> None:
    data = clustered(30, 2, 1)
    model = tm.zero_one_big_m(data, penalty=1.0, big_m="derived", intercept="free")
    found = tm.solve(model)
    assert found.certificate.facts["engine"] == "cone-search"
    assert found.certificate.verdict is Verdict.CERTIFIED
    real = methods.by_cones
    monkeypatch.setattr(methods, "by_cones", lambda *a, **b: real(*a, **b | {"cell_limit": 1}))
    later = tm.solve(model, method="cones-then-conflicts", time_limit=600)
    assert later.certificate.facts["engine"] == "conflict-search"
    assert later.objective == pytest.approx(found.objective, rel=1e-6)


def test_auto_leaves_sizes_that_cones_refuse_to_others() -> None:
    data = clustered(12, 2, 1)
    far = TrainingData(data.X * np.array([1.0, 2.0**205]), data.y)
    model = tm.zero_one_big_m(far, penalty=1.0, big_m="derived", intercept="free")
    with pytest.raises(ValueError, match="rescale"):
        tm.solve(model, method="cone-search")
    assert tm.solve(model, time_limit=5).certificate.facts.get("engine") != "cone-search"


def test_few_points_in_many_dimensions_are_left_to_conflicts_unless_they_are_weighted() -> None:
    data = clustered(10, 6, 1)
    weighted = TrainingData(data.X, data.y, sample_weight=1.0 + np.arange(10) % 2)
    engines = [
        tm.solve(
            tm.zero_one_big_m(points, penalty=200.0, big_m="derived", intercept="free")
        ).certificate.facts["engine"]
        for points in (data, weighted)
    ]
    assert engines == ["conflict-search", "cone-search"]


def test_the_clustered_instance_of_another_solver() -> None:
    """39.981219: optimum and bound of Gurobi 13.0.3 on Cepeda, Gomez & Han's instance."""
    data = tm.data.outlier_data("clustered", n=100, d=3, sigma=0.5, seed=7)
    point = zero_one_incumbent(data, penalty=1.0, intercept="penalised")
    assert point.objective == pytest.approx(39.981219, abs=1e-6)
    found = cone_search(data, penalty=1.0, intercept="penalised")
    assert found.objective == pytest.approx(39.981219, rel=1e-6)
    assert found.bound == pytest.approx(39.981219, rel=2e-6)
