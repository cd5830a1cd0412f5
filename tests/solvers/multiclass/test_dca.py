"""The truncated hinge loss of several classes: its d.c. algorithm, its search and its bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightmargin as tm
from tests.formulations.multiclass.test_big_m import brute_force, drawn
from tests.inside.formulations import truncated_objective
from tests.inside.solvers import DcaBatch, StopReason, hinge_bounds, hinge_multipliers
from tests.inside.solvers import branch_and_bound as searching
from tests.inside.solvers import dca as module
from tests.inside.solvers import multiclass_space_machine_space as machine_space
from tests.references.multiclass import Machine, class_points, truncated_by_sets
from tests.references.reference_solutions import INTERCEPTS
from tightmargin.formulations import MulticlassData
from tightmargin.solvers import (
    SolveResult,
    Verdict,
    build,
    truncated_dca,
    truncated_search,
)

MODES = ("free", "penalised", "none")
MISSED = 59  # the seed of wrong_labels at which the hinge start misses the optimum the furthest


def wrong_labels(seed: int) -> MulticlassData:
    """15 points of 3 classes in the plane, three of them with the label of another class."""
    rng = np.random.default_rng(seed)
    centres, y = 2 * rng.standard_normal((3, 2)), np.arange(15) % 3
    X = centres[y] + rng.standard_normal((15, 2))
    return MulticlassData(X, np.where(np.arange(15) >= 12, (y + 1) % 3, y))


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
    one = tm.search.certified_gap(truncated_dca(data, **words), proven)
    many = tm.search.certified_gap(truncated_dca(data, **words, starts=40), proven)
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
            tm.search.certified_gap(replace(found, **change), proven)
    with pytest.raises(ValueError, match="multiclass_truncated"):
        tm.search.certified_gap(found, replace(proven, formulation="multiclass_hinge"))
    open_gap = tm.search.certified_gap(found, replace(proven, bound=None))
    assert open_gap.gap is None
    assert open_gap.hinge_excess is not None


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


FIFTEEN = class_points(27, n=15)
WORDS: dict[str, Any] = {"ridge": 0.02, "truncation": -0.5}


@settings(max_examples=10)
@given(seed=st.integers(0, 2**31))
def test_the_search_encloses_the_optimum_of_brute_force(seed: int) -> None:
    data, words = drawn(seed)
    value, _ = brute_force(data, words)
    found = truncated_search(data, **words)
    assert found.stop is StopReason.PROVEN
    assert found.objective == pytest.approx(value, rel=1e-6, abs=1e-9)
    assert found.bound <= value * (1 + 1e-8) + 1e-10
    assert found.bound >= value * (1 - 1e-6) - 1e-9
    assert found.objective == truncated_objective(data, found.B, found.b, **words)


@settings(max_examples=10)
@given(seed=st.integers(0, 2**31), mode=st.sampled_from(INTERCEPTS))
def test_any_multipliers_give_a_bound(seed: int, mode: str) -> None:
    """Noise, infinities and negative numbers included; those of the method give the optimum."""
    rng = np.random.default_rng(seed)
    data = class_points(seed % 7, n=8)
    ridge = float(rng.choice([0.01, 0.3]))
    costs = rng.random((1, 8)) * (rng.random((1, 8)) < 0.8) / 8
    machine = Machine(data, mode, ridge, top=50.0)
    value = machine.value(costs[0])
    space = machine_space(data, ridge, mode)
    centre = np.zeros((1, 2, 2 if mode == "none" else 3))
    multipliers = hinge_multipliers(space, costs, centre)[1]
    reach = 50.0 * np.sqrt(3)
    best = hinge_bounds(space, costs, multipliers, reach)[0]
    assert best <= value + 1e-8
    assert best >= value - 1e-4 * max(value, 0.01)
    noise = multipliers * rng.lognormal(0, 2, multipliers.shape) + rng.normal(size=(1, 8, 3)) * 0.05
    noise[0, 0, 0] = np.inf
    assert hinge_bounds(space, costs, noise, reach)[0] <= value + 1e-8


def test_a_search_that_is_stopped_has_a_bound_and_a_point(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = truncated_search(FIFTEEN, **WORDS)
    few = truncated_search(FIFTEEN, **WORDS, node_limit=9)
    assert few.stop is StopReason.NODE_LIMIT
    assert 0 < few.bound < whole.bound
    assert few.objective >= whole.objective - 1e-12
    none = truncated_search(FIFTEEN, **WORDS, time_limit=0.0)
    assert none.stop is StopReason.TIME_LIMIT
    assert 0 < none.bound <= few.bound + 1e-12
    solve, count = searching._TruncatedSearch._solve, iter(range(100))

    def interrupted(*arguments: Any) -> None:
        if next(count) == 3:
            raise KeyboardInterrupt
        solve(*arguments)

    monkeypatch.setattr(searching._TruncatedSearch, "_solve", interrupted)
    broken = truncated_search(FIFTEEN, **WORDS)
    assert broken.stop is StopReason.INTERRUPTED
    assert 0 < broken.bound <= whole.objective


def test_multipliers_that_cannot_be_balanced_pay_for_the_intercepts() -> None:
    """A chain from class 0 to 1 to 2 and nothing back: without that price it proves too much."""
    data = tm.MulticlassData([[0.34558419], [0.82161814], [0.33043708]], [0, 1, 2])
    costs, chain = np.array([[1.0, 1.0, 0.0]]), np.zeros((1, 3, 3))
    chain[0, 0, 1] = chain[0, 1, 2] = 1.0
    value = Machine(data, "free", 0.3, top=50.0).value(costs[0])
    space = machine_space(data, 0.3)
    assert hinge_bounds(space, costs, chain, 0.0)[0] > value + 0.05
    assert hinge_bounds(space, costs, chain, 50 * np.sqrt(3))[0] <= value
