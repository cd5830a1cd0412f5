"""The alternating heuristic for matrices of bounded rank: never below the optimum, never rising."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.solvers import MatrixStart, alternating
from tests.references.matrix import matrix_points, rank_one_on_circle
from tests.references.reference_solutions import INTERCEPTS
from tightmargin.solvers import matrix_alternating

RIDGE = 0.5
DATA = matrix_points(1, n=10, shape=(2, 3))


def objective(w: np.ndarray, b: float, mode: str, data: tm.TrainingData = DATA) -> float:
    losses = np.maximum(0, 1 - data.y * (data.X @ w + b))
    return float(losses.sum() + RIDGE / 2 * (w @ w + (b * b if mode == "penalised" else 0)))


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_every_start_ends_above_the_optimum_and_never_rises(mode: str) -> None:
    found = matrix_alternating(DATA, ridge=RIDGE, shape="2x3", rank=1, starts=4, intercept=mode)
    best = rank_one_on_circle(DATA, 3, mode, RIDGE)
    assert len(found.solutions) == 4
    assert found.stop == "finished"
    for each in found.solutions:
        assert each.objective >= best - 1e-7
        assert np.diff(each.trace).max() <= 0
        assert each.objective == pytest.approx(objective(each.w, each.b, mode), rel=1e-9)
        assert each.objective == pytest.approx(each.trace[-1], rel=1e-9)
        assert np.linalg.matrix_rank(each.w.reshape(2, 3), tol=1e-9) == 1
        assert each.b == 0 or mode != "none"
        assert each.converged == (len(each.trace) < 2 * alternating.SWEEPS + 1)
    assert found.objective == min(each.objective for each in found.solutions)
    assert found.objective <= best * 1.05, "four starts are near it"


def test_ctrl_c_keeps_the_starts_that_are_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, whole = [], alternating._Alternation.from_factor

    def pressed(self: Any, factor: np.ndarray) -> MatrixStart:
        calls.append(factor)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return whole(self, factor)

    monkeypatch.setattr(alternating._Alternation, "from_factor", pressed)
    found = matrix_alternating(DATA, ridge=RIDGE, shape="2x3", rank=1, starts=5)
    assert (found.stop, len(found.solutions)) == ("interrupted", 2)
    calls.extend([calls[0]] * 2)
    calls[:] = calls[:2]
    with pytest.raises(KeyboardInterrupt):
        matrix_alternating(DATA, ridge=RIDGE, shape="2x3", rank=1, starts=5)


def test_the_clock_keeps_the_best_point_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: float(next(ticks)))
    monkeypatch.setattr(alternating, "time", clock)
    data = matrix_points(11)
    found = matrix_alternating(data, ridge=RIDGE, shape="3x3", rank=1, starts=500, time_limit=9.0)
    assert found.stop == "time_limit"
    assert 1 <= len(found.solutions) < 500
    assert found.objective == pytest.approx(objective(found.w, found.b, "free", data), rel=1e-9)
