"""Searches with kernels that numba compiles find the optimum, and compile nothing themselves.

Compiling takes longer than all that is computed here: these are the only tests that do it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.inside.solvers import (
    Nodes,
    StopReason,
    bounded,
    cones_run,
    conflict_search_parts,
    refreshed,
)
from tests.inside.solvers import signed_points_signed_points as signed_points
from tests.references.brute_force import zero_one_optima
from tests.solvers.zero_one.clouds import INTERCEPTS
from tightmargin.formulations import TrainingData
from tightmargin.solvers import cone_search, conflict_search

SLOW = pytest.mark.slow("numba compiles the kernels of this process")


@pytest.fixture
def no_way_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that would go on by numpy ends instead."""
    for module in (cones_run, conflict_search_parts):
        monkeypatch.setattr(module, "NotCompiledError", KeyError)


@SLOW
@pytest.mark.usefixtures("no_way_back")
@pytest.mark.parametrize("search", [cone_search, conflict_search])
def test_a_search_finds_the_optimum_of_brute_force(search: Any) -> None:
    """From w = 0, so that a bound that is too high would prune the optimum."""
    pytest.importorskip("numba")
    rng = np.random.default_rng(8)
    for intercept in INTERCEPTS:
        X = rng.integers(-3, 4, size=(8, 2)).astype(float)
        data = TrainingData(X, np.where(np.arange(8) < 4, 1.0, -1.0))
        words = {"penalty": 0.9, "intercept": intercept, "incumbent": (np.zeros(2), 0.0)}
        found = search(data, compiled=True, **words)
        (optimum,) = zero_one_optima(data, (0.9,), intercept)
        assert found.stop is StopReason.PROVEN
        assert found.objective == pytest.approx(optimum, rel=2e-6)
        assert found.bound <= optimum * (1 + 1e-9)


@SLOW
@pytest.mark.usefixtures("no_way_back")
def test_the_cone_search_has_the_bits_of_numpy() -> None:
    """Free intercepts, weights and ties; the compiled cells are those of the whole search."""
    pytest.importorskip("numba")
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n, d = 24 + 6 * seed, 2 + seed % 3
        y = np.where(np.arange(n) % (2 + seed % 2) == 0, 1.0, -1.0)
        X = rng.normal(size=(n, d)) + 0.4 * y[:, None]
        weights = rng.integers(1, 4, size=n).astype(float) if seed % 2 else np.ones(n)
        data = TrainingData(np.round(X, seed), y, sample_weight=weights)
        words: dict[str, Any] = {"penalty": 0.7, "intercept": "free", "cell_limit": 20_000}
        numpy, numba = (cone_search(data, compiled=which, **words) for which in (False, True))
        for name in ("objective", "bound", "cells", "b", "stop"):
            assert getattr(numpy, name) == getattr(numba, name), name
        assert [(p.objective, p.bound) for p in numpy.trace] == [
            (p.objective, p.bound) for p in numba.trace
        ]
        assert np.array_equal(numpy.w, numba.w)
        assert np.array_equal(numpy.cover.bits, numba.cover.bits)


ALONE = """
import tightmargin as tm
from tightmargin.solvers.zero_one import cones, conflicts
conflicts.COMPILED_AFTER, cones.COMPILED_AFTER = 20, 1000.0
data = tm.data.outlier_data("clustered", n=40, d=4, sigma=0.5, seed=1)
for search, effort in ((tm.search.conflict_search, "steps"), (tm.search.cone_search, "cells")):
    own, numpy = (search(data, penalty=1.0, intercept="free", compiled=c) for c in (None, False))
    assert (own.bound, getattr(own, effort)) == (numpy.bound, getattr(numpy, effort))
from tightmargin.solvers.zero_one import compiled  # which both have asked
assert not compiled.bounded_nodes.signatures and not compiled._cheapest.signatures
"""


def test_a_search_compiles_nothing_and_goes_on_by_numpy(tmp_path: Path) -> None:
    """With an empty cache, beyond the nodes and cells from which on compiled code is asked."""
    pytest.importorskip("numba")
    apart = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", ALONE], env=apart, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.rglob("*.nbc"))


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


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=SLOW)])
def test_rows_that_nobody_meets_are_proven_so_if_members_nearly_depend(compiled: bool) -> None:
    bounds = bounded
    if compiled:
        pytest.importorskip("numba")
        from tests.inside.solvers import nodes as compiled_nodes

        compiled_nodes.compile_nodes()
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
        found = bounds(points, nodes, penalty=1.0, target=1e12, suspects=~kept)
        assert np.isinf(found.bound[0])
