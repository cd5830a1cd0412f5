"""The conflict search against enumeration and brute force over kept points, and its parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.inside.formulations import margins, zero_one_objective
from tests.inside.solvers import (
    ConflictSearch,
    StopReason,
    Tree,
    certified_norm2,
    dual_active_set,
    empty_sets,
    grow,
    hyperplane,
    incumbents,
    kept_gram,
    probed_norm2,
    probing,
    zero_one_enumeration,
)
from tests.inside.solvers import node_bounds_packed as packed
from tests.inside.solvers import signed_points_signed_points as signed_points
from tests.inside.solvers import tree as growing
from tests.references.brute_force import zero_one_optima
from tests.solvers.zero_one.clouds import INTERCEPTS, clustered, least_norm2, overlapping
from tightmargin.formulations import TrainingData
from tightmargin.solvers import conflict_search


def from_scratch(
    data: TrainingData, penalty: float, intercept: str, **words: Any
) -> ConflictSearch:
    """A search that has to find the optimum itself: a bound that is too high would prune it."""
    nothing = (np.zeros(data.d), 0.0)
    return conflict_search(data, penalty=penalty, intercept=intercept, incumbent=nothing, **words)


def check_result(data: TrainingData, penalty: float, intercept: str, found: ConflictSearch) -> None:
    """The result's own numbers agree with each other."""
    value = zero_one_objective(data, found.w, found.b, penalty=penalty, intercept=intercept)
    assert found.objective == value
    assert found.bound <= found.objective
    for name in ("seconds", "bound"):
        numbers = [getattr(point, name) for point in found.trace]
        assert numbers == sorted(numbers)


# --- against other ways --------------------------------------------------------------------------


class Liar:
    """kept_gram with noise, so that every step and every multiplier is wrong."""

    def __init__(self, noise: float) -> None:
        self.noise, self.calls = noise, 0
        self.rng = np.random.default_rng(0)

    def __call__(self, *given: Any) -> NDArray[np.float64]:
        self.calls += 1
        true = kept_gram(*given)
        return true * np.exp(self.noise * self.rng.normal(size=true.shape))


@pytest.mark.parametrize(
    ("noise", "intercept"), [(1e-6, "free"), (0.01, "penalised"), (1.0, "none"), (1.0, "free")]
)
def test_wrong_multipliers_prove_no_more(noise: float, intercept: str, monkeypatch: Any) -> None:
    """Whatever multipliers come out of a numeric core that lies, no bound is too high."""
    data = overlapping(9, 2, 7)
    penalties = (0.3, 5.0)
    optima = zero_one_optima(data, penalties, intercept)
    for penalty, optimum in zip(penalties, optima, strict=True):
        liar = Liar(noise)
        for module in (dual_active_set, probing):
            monkeypatch.setattr(module, "kept_gram", liar)
        found = from_scratch(data, penalty, intercept, step_limit=5_000, compiled=False)
        assert liar.calls > 0
        assert found.bound <= optimum * (1 + 1e-9)
        check_result(data, penalty, intercept, found)
        assert found.objective >= optimum * (1 - 1e-9)


# --- limits --------------------------------------------------------------------------------------


def test_a_bound_that_rounding_keeps_open_is_not_called_proven(monkeypatch: Any) -> None:
    monkeypatch.setattr(incumbents, "NEAR", -1.0)  # no hyperplane of the search's is ever taken
    data = overlapping(16, 2, 15)
    found = conflict_search(data, penalty=1.0, intercept="free", incumbent=(np.zeros(2), 1.0))
    assert found.stop is StopReason.NUMERICAL
    assert found.bound <= zero_one_enumeration(data, penalty=1.0, intercept="free").objective


# --- parts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_any_multipliers_prove_no_more_than_the_least_norm(intercept: str) -> None:
    data = overlapping(12, 3, 22)
    points = signed_points(data, intercept=intercept)
    rng, best, used = np.random.default_rng(1), 0.0, 0
    sense = np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    for _ in range(30):
        members = rng.permutation(12)[:5]
        expected = least_norm2(data, members[:4].tolist(), [], intercept)
        proven = float(certified_norm2(points, members[:4], rng.normal(size=4)))
        assert proven <= expected * (1 + 1e-6)
        best = max(best, proven / expected)
        expected = least_norm2(data, members[:3].tolist(), members[3:].tolist(), intercept)
        alpha = rng.normal(size=5)
        proven = float(certified_norm2(points, members, alpha, sense))
        assert proven <= expected * (1 + 1e-6)
        used += proven > 0 and bool((alpha[3:] < 0).any())
        right = np.where(alpha * sense > 0, alpha, 0.0)  # those of the wrong sign do not count
        assert proven == float(certified_norm2(points, members, right, sense))
    assert best > 0.5  # the bound is not trivial
    assert used


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_probing_proves_no_more_than_the_least_norm_with_the_point(intercept: str) -> None:
    data = overlapping(14, 3, 13)
    points = signed_points(data, intercept=intercept)
    kept = np.zeros((1, 14), bool)
    kept[0, :4] = True
    sets = grow(points, empty_sets(points, 1), kept, np.full(1, 1e6)).sets
    proven = probed_norm2(points, sets)[0]
    own = least_norm2(data, range(4), [], intercept)
    for i in range(4, 14):
        assert proven[i] <= least_norm2(data, [0, 1, 2, 3, i], [], intercept) * (1 + 1e-6)
    assert (proven[4:] > own * 1.01).any()
    plane = hyperplane(points, np.array([0, 1, 2]))
    assert margins(data, *plane)[:3] == pytest.approx(np.ones(3), abs=1e-9)
    assert hyperplane(points, np.array([], dtype=np.intp)) is None


@given(
    heights=st.lists(st.floats(0, 20), min_size=0, max_size=6),
    own=st.floats(0, 10),
    penalty=st.floats(0.1, 5),
)
@settings(max_examples=50)
def test_the_packing_bound_is_the_least_objective_the_heights_allow(
    heights: list[float], own: float, penalty: float
) -> None:
    """By trying every norm2: a hyperplane keeps whole the sets whose height is not above it."""
    levels = [norm2 for norm2 in (own, *heights) if norm2 >= own]
    expected = min(norm2 + penalty * sum(h > norm2 for h in heights) for norm2 in levels)
    assert packed(np.array(heights), own, penalty) == pytest.approx(max(own, expected))


# --- looks around good hyperplanes ---------------------------------------------------------------


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Looks from the first node on, with few points free; how many points were decided in each."""
    for name, value in {"FIRST_LOOK": 1, "NEAREST": 4, "MORE": 1, "AGAIN": 2}.items():
        monkeypatch.setattr(growing, name, value)
    decided: list[int] = []
    real = Tree.root

    def counted(tree: Tree) -> None:
        (root,) = tree.cover.taken
        kept, given_up = tree.cover.masks([root])
        decided.append(int((kept | given_up)[0, : tree.data.n].sum()))
        real(tree)

    monkeypatch.setattr(Tree, "root", counted)
    return decided


@pytest.mark.parametrize(("seed", "intercept"), list(enumerate(INTERCEPTS)))
def test_looks_leave_the_enumerated_optimum(seed: int, intercept: str, early: list[int]) -> None:
    data = clustered(36, 3, seed, ties=seed == 1)
    exact = zero_one_enumeration(data, penalty=1.0, intercept=intercept).objective
    poor = np.random.default_rng(seed).normal(size=3), 0.0
    found = conflict_search(data, penalty=1.0, intercept=intercept, incumbent=poor)
    assert max(early[1:]) >= 30
    assert found.stop is StopReason.PROVEN
    assert found.objective == pytest.approx(exact, rel=2e-6)
    assert found.bound <= exact * (1 + 1e-12)
