"""The direct scheme: its triangulation, what exact labels give, and machines fitted to points.

Witnesses: probabilities that are known because the labels are made from them, machines of
tests/references/multiclass.py in another modelling layer, Gaussian classes with their true
probabilities.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.inside.experiments import save_simplex, simplex_figure
from tests.inside.formulations import smallest_leads
from tests.inside.solvers import (
    DcaBatch,
    SimplexGrid,
    StopReason,
    border_weights,
    probabilities_at,
    probability_intervals,
    rainbow_cells,
    simplex_grid,
)
from tests.inside.solvers import multiclass as module
from tests.references.multiclass import class_points, truncated_by_sets
from tightmargin.formulations import MulticlassData
from tightmargin.solvers import direct_probabilities

Array = NDArray[np.float64]


def bayes_labels(grid: SimplexGrid, p: Array) -> NDArray[np.int64]:
    """argmax_k pi_k p_k of every grid weight, (m, W); a product of 0 is never the largest."""
    return (grid.weights[None] * p[:, None, :]).argmax(axis=2)


def gaussians(seed: int, n: int, m: int = 200) -> tuple[MulticlassData, Array, Array]:
    """n points of three Gaussian classes, m new ones and their true probabilities."""
    rng = np.random.default_rng(seed)
    angles = 2 * np.pi * np.arange(3) / 3
    centres = 1.2 * np.column_stack([np.cos(angles), np.sin(angles)])
    y = np.arange(n) % 3
    new = centres[np.arange(m) % 3] + rng.standard_normal((m, 2))
    likelihood = np.exp(-((new[:, None, :] - centres) ** 2).sum(axis=2) / 2)
    truth = likelihood / likelihood.sum(axis=1, keepdims=True)
    return MulticlassData(centres[y] + rng.standard_normal((n, 2)), y), new, truth


@pytest.mark.parametrize(("K", "N"), [(2, 5), (3, 4), (5, 5)])
def test_the_cells_fill_the_simplex_once(K: int, N: int) -> None:
    grid = simplex_grid(K, N)
    every = {a for a in itertools.product(range(N + 1), repeat=K) if sum(a) == N}
    assert {tuple(row) for row in grid.counts.tolist()} == every
    assert len(grid.counts) == len(every)
    corners = grid.counts[grid.cells]
    volumes = np.linalg.det((corners[:, 1:] - corners[:, :1])[:, :, :-1])
    np.testing.assert_allclose(np.abs(volumes), 1.0)
    assert len(grid.cells) == N ** (K - 1)
    apart = np.abs(corners[:, :, None, :] - corners[:, None, :, :])
    assert apart.max() == 1
    assert np.sqrt((apart**2).sum(-1)).max() / N == pytest.approx(grid.diameter, rel=1e-12)
    for p in np.random.default_rng(K).dirichlet(np.ones(K), size=20):
        right = np.broadcast_to(p * N, (len(corners), K))[..., None]
        inside = np.linalg.solve(np.swapaxes(corners, 1, 2).astype(float), right)[..., 0]
        assert ((inside > 0).all(axis=1)).sum() == 1


@given(
    K=st.integers(2, 4), N=st.integers(4, 20), seed=st.integers(0, 10**6), even=st.floats(0.3, 5)
)
@settings(max_examples=30)
def test_the_intervals_hold_the_probabilities_that_made_the_labels(
    K: int, N: int, seed: int, even: float
) -> None:
    grid = simplex_grid(K, N)
    truth = np.random.default_rng(seed).dirichlet(np.full(K, even), size=10)
    labels = bayes_labels(grid, truth)
    rainbow = rainbow_cells(grid, labels)
    assert (rainbow.sum(axis=1) == 1).all()
    low, high = probability_intervals(grid, labels, rainbow)
    assert ((low <= truth + 1e-12) & (truth <= high + 1e-12)).all()
    p = probabilities_at(border_weights(grid, rainbow))
    assert ((low <= p + 1e-12) & (p <= high + 1e-12)).all()


def test_exact_machines_are_those_of_brute_force() -> None:
    data = class_points(4, n=7)
    words: dict[str, Any] = {"ridge": 0.02, "grid": 3, "truncation": -0.5}
    exact = direct_probabilities(data, machine="exact", **words)
    local = direct_probabilities(data, **words)
    assert exact.complete
    assert exact.gaps.max() < 1e-6
    assert local.gaps is None
    improved = 0
    for counts in ([1, 1, 1], [0, 1, 2], [2, 0, 1]):
        place = exact.grid.counts.tolist().index(counts)
        positive = np.flatnonzero(counts)
        mine = np.isin(data.y, positive)
        part = MulticlassData(data.X[mine], np.searchsorted(positive, data.y[mine]))
        costs = np.array(counts)[positive][part.y] / 3 / data.n
        values = []
        for fit in (exact, local):
            B, b = fit.B[place], fit.b[place]
            u = smallest_leads(part, B[positive], b[positive])
            cut = np.minimum(np.maximum(0.0, 1 - u), 1.5)
            values.append(0.02 * (B**2).sum() + costs @ cut)
        optimum, _ = truncated_by_sets(part, "free", 0.02, 1.5, costs)
        assert values[0] == pytest.approx(optimum, rel=1e-5)
        improved += values[1] > values[0] * 1.01
    assert improved


def test_proofs_that_are_cut_short_keep_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    data = class_points(2, n=9)
    local = direct_probabilities(data, ridge=0.02, grid=3)
    search, calls = module.truncated_search, []

    def pressed(*args: Any, **words: Any) -> Any:
        calls.append(1)
        return replace(search(*args, **words), stop=StopReason.INTERRUPTED)

    monkeypatch.setattr(module, "truncated_search", pressed)
    fit = direct_probabilities(data, ridge=0.02, grid=3, machine="exact", time_limit=100.0)
    assert len(calls) == 1
    assert not fit.complete
    assert (fit.gaps[fit.grid.counts.max(axis=1) == 3] == 0).all()
    assert (fit.gaps == 1).sum() == 6
    np.testing.assert_array_equal(fit.B[fit.gaps == 1], local.B[fit.gaps == 1])


def test_ctrl_c_in_the_searches_keeps_the_hinge_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*args: Any, **words: Any) -> None:
        raise KeyboardInterrupt

    data, words = class_points(2, n=15), {"ridge": 0.02, "grid": 4}
    hinge = direct_probabilities(data, machine="hinge", **words)
    monkeypatch.setattr(DcaBatch, "run", pressed)
    fit = direct_probabilities(data, **words)
    assert (fit.complete, fit.converged) == (False, False)
    np.testing.assert_allclose(fit.B, hinge.B)
    monkeypatch.setattr(module, "hinge_batch", pressed)
    with pytest.raises(KeyboardInterrupt):
        direct_probabilities(data, **words)


def test_a_time_limit_ends_the_searches_or_says_what_is_missing(monkeypatch: Any) -> None:
    data, new, _ = gaussians(1, 60)
    with pytest.raises(TimeoutError, match=r"time_limit: 0 of \d+ hinge machines"):
        direct_probabilities(data, ridge=0.01, grid=8, time_limit=1e-6)
    original, seen = DcaBatch.run, []

    def late(self: DcaBatch, deadline: float | None = None, iterations: int = 100) -> None:
        seen.append(deadline)
        original(self, 0.0, iterations)

    monkeypatch.setattr(DcaBatch, "run", late)
    fit = direct_probabilities(data, ridge=0.01, grid=8, time_limit=500.0)
    assert not fit.complete
    assert not fit.converged
    assert None not in seen
    assert (fit.rainbow_cells(new) % 2 == 1).all()


def test_the_picture_shows_every_weight_with_its_label_and_the_cells(tmp_path: Path) -> None:
    data, new, truth = gaussians(0, 60)
    fit = direct_probabilities(data, ridge=0.01, grid=6, machine="hinge")
    axes = simplex_figure(fit, new[0], truth[0]).axes[0]
    shown = {line.get_label(): len(line.get_xdata()) for line in axes.lines}
    labels = fit.grid_labels(new[:1])[0]
    assert [shown[name] for name in fit.classes] == [int((labels == k).sum()) for k in range(3)]
    assert len(axes.patches) == fit.rainbow_cells(new[:1])[0]
    save_simplex(fit, new[0], tmp_path / "simplex.png")
    assert (tmp_path / "simplex.png").stat().st_size > 10_000
