"""Branch and bound for the truncated hinge loss of several classes, and the bounds it uses."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightmargin as tm
from tests.formulations.multiclass.test_big_m import brute_force, drawn
from tests.inside.formulations import truncated_objective
from tests.inside.solvers import StopReason, hinge_bounds, hinge_multipliers
from tests.inside.solvers import branch_and_bound as searching
from tests.inside.solvers import multiclass_machine_space as machine_space
from tests.references.multiclass import Machine, class_points
from tests.references.reference_solutions import INTERCEPTS
from tightmargin.solvers import truncated_search

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


@functools.cache
def proven() -> Any:
    return truncated_search(FIFTEEN, **WORDS)


def test_a_search_that_is_stopped_has_a_bound_and_a_point(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = proven()
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
