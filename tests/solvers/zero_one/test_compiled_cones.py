"""Compiled bounds of cells are those of numpy, and what they find is what enumeration finds."""

from __future__ import annotations

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.solvers import (
    Count,
    SideRows,
    StopReason,
    cell_bounds,
    cone_problem,
    conflict_of,
    faces,
    proven,
    zero_one_enumeration,
)
from tests.inside.solvers import cones_run as run
from tests.inside.solvers import halved_boxes_halves as halves
from tightmargin.formulations import TrainingData
from tightmargin.solvers import cone_search


def test_compiled_bounds_are_those_of_numpy() -> None:
    pytest.importorskip("numba")
    from tests.inside.solvers import compiled_levels

    compared = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        data = tm.data.outlier_data("clustered", n=24, d=2, sigma=0.5, seed=seed)
        sides = SideRows(
            rng.normal(size=(1, 2)), np.zeros(1), rng.normal(size=1), np.zeros(24, dtype=bool),
            np.arange(24) == 3, (Count(np.ones(24, dtype=bool), 9),), np.zeros(24),
        )  # fmt: skip
        problem = cone_problem(
            data.X, data.y, np.full(24, 0.7), intercept="free", sides=sides if seed % 2 else None
        )
        best = zero_one_enumeration(data, penalty=0.7, intercept="free")
        known = proven(problem, [c for c in [conflict_of(problem, best.w, best.b)] if c])
        centre, half = faces(problem.k)
        for _ in range(7):
            centre, half = halves(centre, half)
            for ceiling in (3.0, 1e300):
                for conflicts in ((), known):
                    words = (problem, centre, half, ceiling, conflicts)
                    own = cell_bounds(*words)
                    other = cell_bounds(*words, compiled_levels.cheapest_levels)
                    np.testing.assert_allclose(other, own, rtol=1e-13)
                    compared += int((own < ceiling).sum())
    assert compared > 1000


def test_a_compiled_search_finds_the_optimum() -> None:
    pytest.importorskip("numba")
    for seed in range(5):
        data = tm.data.outlier_data("clustered", n=14, d=2, sigma=0.5, seed=seed)
        data = TrainingData(np.round(2 * data.X), data.y)
        exact = zero_one_enumeration(data, penalty=0.9, intercept="free")
        found = cone_search(data, penalty=0.9, intercept="free", compiled=True)
        assert found.stop is StopReason.PROVEN
        assert found.bound <= exact.objective * (1 + 1e-12)
        assert found.objective == pytest.approx(exact.objective, rel=1e-6)


def test_compiling_without_numba_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "find_spec", lambda name: None)
    data = tm.data.outlier_data("clustered", n=8, d=2, sigma=0.5, seed=1)
    with pytest.raises(ValueError, match="numba"):
        cone_search(data, penalty=1.0, intercept="free", compiled=True)
    assert cone_search(data, penalty=1.0, intercept="free").stop is StopReason.PROVEN
