"""The conflict search around good hyperplanes: better points, the same optimum."""

from __future__ import annotations

import numpy as np
import pytest

from tests.inside.solvers import StopReason, Tree, zero_one_enumeration
from tests.inside.solvers import tree as trees
from tests.solvers.zero_one.clouds import INTERCEPTS, clustered
from tightmargin.solvers import conflict_search


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Looks from the first node on, with few points free; how many points were decided in each."""
    for name, value in {"FIRST_LOOK": 1, "NEAREST": 4, "MORE": 1, "AGAIN": 2}.items():
        monkeypatch.setattr(trees, name, value)
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


@pytest.mark.parametrize("what", [StopReason.INTERRUPTED, StopReason.TIME_LIMIT])
def test_a_look_that_is_stopped_leaves_the_bound_and_the_best_hyperplane(
    what: StopReason, early: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = clustered(36, 3, 0)
    exact = zero_one_enumeration(data, penalty=1.0, intercept="free").objective
    real = Tree.expand

    def stopped(tree: Tree) -> None:
        if len(early) > 1:
            if what is StopReason.INTERRUPTED:
                raise KeyboardInterrupt
            tree.until = 0.0
        real(tree)

    monkeypatch.setattr(Tree, "expand", stopped)
    found = conflict_search(data, penalty=1.0, intercept="free")
    assert found.stop is what
    assert 0 < found.bound <= exact * (1 + 1e-12)
    assert exact * (1 - 1e-12) <= found.objective <= 36.0
