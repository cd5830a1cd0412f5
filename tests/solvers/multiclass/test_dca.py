"""The d.c. algorithm for the truncated hinge loss: never below the optimum, never upwards.

Witnesses: the hinge machines of tests/references/multiclass.py in another modelling layer, brute
force over all sets of points whose loss is cut off, and the exact model where it is proven.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tightmargin as tm
from tests.inside.solvers import DcaBatch
from tests.inside.solvers import dca as module
from tests.inside.solvers import multiclass_space_machine_space as machine_space
from tests.references.multiclass import class_points, truncated_by_sets
from tightmargin.formulations import MulticlassData
from tightmargin.solvers import SolveResult, Verdict, build, certified_gap, truncated_dca

Array = NDArray[np.float64]

MODES = ("free", "penalised", "none")
MISSED = 59  # the seed of wrong_labels at which the hinge start misses the optimum the furthest


def wrong_labels(seed: int) -> MulticlassData:
    """15 points of 3 classes in the plane, three of them with the label of another class."""
    rng = np.random.default_rng(seed)
    centres, y = 2 * rng.standard_normal((3, 2)), np.arange(15) % 3
    X = centres[y] + rng.standard_normal((15, 2))
    return MulticlassData(X, np.where(np.arange(15) >= 12, (y + 1) % 3, y))


def value_by_hand(
    data: MulticlassData, B: Array, b: Array, ridge: float, s: float, mode: str, c: Any
) -> float:
    """Objective of the paper, one point after the other."""
    total = ridge * float((B**2).sum() + ((b**2).sum() if mode == "penalised" else 0.0))
    for x, k in zip(data.X, data.y.tolist(), strict=True):
        scores = B @ x + b
        lead = min(scores[k] - scores[j] for j in range(data.n_classes) if j != k)
        total += c[k] * min(max(0.0, 1 - lead), 1 - s) / data.n
    return total


def test_coordinates_and_machines_are_one_another_s_inverse() -> None:
    data = class_points(7)
    for mode in MODES:
        space = machine_space(data, 0.1, mode)
        A = np.random.default_rng(1).standard_normal((4, *space.coordinates(
            np.zeros((3, 2)), np.zeros(3)).shape))  # fmt: skip
        B, b = space.machine(A)
        np.testing.assert_allclose(space.coordinates(B, b), A, atol=1e-12)
        scores = np.einsum("nd,mkd->mnk", data.X, B) + b[:, None, :]
        np.testing.assert_allclose(space.scores(A), scores, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_many_starts_reach_what_brute_force_finds_and_none_goes_below(mode: str) -> None:
    data = class_points(4, n=7)
    optimum, _ = truncated_by_sets(data, mode, 0.02, 1.5)
    found = truncated_dca(data, ridge=0.02, truncation=-0.5, intercept=mode, starts=100)
    assert min(run.objective for run in found.runs) >= optimum * (1 - 1e-6)
    assert found.objective == pytest.approx(optimum, rel=1e-5)


@pytest.fixture(scope="module")
def proven() -> SolveResult:
    """The exact machine on the points where the hinge start goes wrong, by a free solver."""
    return tm.solve(
        build(
            "multiclass_truncated", wrong_labels(MISSED), ridge=0.01, truncation=-0.5,
            big_m="derived",
        ),
        solver="scip",
    )  # fmt: skip


def test_the_hinge_start_misses_the_proven_optimum_by_5_percent(proven: SolveResult) -> None:
    data = wrong_labels(MISSED)
    assert proven.certificate.verdict is Verdict.CERTIFIED
    words: dict[str, Any] = {"ridge": 0.01, "truncation": -0.5}
    one = certified_gap(truncated_dca(data, **words), proven)
    many = certified_gap(truncated_dca(data, **words, starts=40), proven)
    assert one.hinge_excess > 0.05
    assert one.gap > 0.05
    # One is V of (B, b) point by point, the other V in the coordinates of the search.
    assert one.upper == pytest.approx(many.hinge_start, rel=1e-12)
    assert many.upper < one.upper
    assert 0 <= many.gap < 1e-5
    assert many.excess == pytest.approx(0.0, abs=1e-5)


def test_a_gap_to_another_machine_is_refused(proven: SolveResult) -> None:
    data = wrong_labels(MISSED)
    found = truncated_dca(data, ridge=0.01, truncation=-0.5)
    for change, word in (
        ({"ridge": 0.02}, "ridge"),
        ({"truncation": -0.4}, "truncation"),
        ({"intercept": "none"}, "intercept"),
        ({"class_weight": (1.0, 2.0, 1.0)}, "class_weight"),
        ({"data": wrong_labels(1)}, "other data"),
        ({"objective": 0.1}, "exceeds the value"),
    ):
        with pytest.raises(ValueError, match=word):
            certified_gap(replace(found, **change), proven)
    with pytest.raises(ValueError, match="multiclass_truncated"):
        certified_gap(found, replace(proven, formulation="multiclass_hinge"))
    open_gap = certified_gap(found, replace(proven, bound=None))
    assert open_gap.gap is None
    assert open_gap.hinge_excess is not None


def test_a_time_limit_keeps_what_was_found() -> None:
    data = class_points(9, n=60)
    found = truncated_dca(data, ridge=1e-3, truncation=-0.5, starts=10**6, time_limit=0.05)
    assert found.seconds < 60, "all starts would take hours"
    assert 1 <= found.starts < 10**6
    assert not found.complete
    assert not found.interrupted
    by_hand = value_by_hand(data, found.B, found.b, 1e-3, -0.5, "free", [1] * 3)
    assert found.objective == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("after", [0, 2])
def test_ctrl_c_keeps_the_runs_so_far(after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, step = [], DcaBatch._step

    def pressed(self: DcaBatch, *args: Any) -> None:
        calls.append(1)
        if len(calls) > after:
            raise KeyboardInterrupt
        step(self, *args)

    monkeypatch.setattr(DcaBatch, "_step", pressed)
    found = truncated_dca(wrong_labels(12), ridge=0.01, truncation=-0.5, starts=40)
    assert found.interrupted
    assert not found.complete
    assert found.iterations == after
    assert found.objective <= found.runs[0].trace[0] * (1 + 1e-12)


def test_ctrl_c_before_the_first_machine_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "start_batches", pressed)
    with pytest.raises(KeyboardInterrupt):
        truncated_dca(wrong_labels(12), ridge=0.01, truncation=-0.5)
