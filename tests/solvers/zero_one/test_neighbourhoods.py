"""The conflict search around good hyperplanes: better points, the same optimum."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tightmargin as tm
from benchmarks.bks.instances import INSTANCES
from benchmarks.bks.rows import STORE, published
from tests.inside.solvers import SideRows, StopReason, Tree, zero_one_enumeration
from tests.inside.solvers import tree as trees
from tests.support.side_edits import side_edit
from tightmargin.formulations import TrainingData
from tightmargin.solvers import conflict_search

INTERCEPTS = ("free", "penalised", "none")


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


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("seed", range(4))
def test_looks_leave_the_optimum_of_enumeration(
    seed: int, intercept: str, early: list[int]
) -> None:
    data = tm.data.outlier_data("clustered", n=36, d=3, sigma=0.5, seed=seed)
    if seed == 1:  # ties, and points that are there twice
        X = np.round(2 * data.X) / 2
        X[-6:] = X[:6]
        data = TrainingData(X, data.y)
    exact = zero_one_enumeration(data, penalty=1.0, intercept=intercept).objective
    poor = np.random.default_rng(seed).normal(size=3), 0.0
    found = conflict_search(data, penalty=1.0, intercept=intercept, incumbent=poor)
    assert max(early[1:]) >= 30
    assert found.stop is StopReason.PROVEN
    assert found.objective == pytest.approx(exact, rel=2e-6)
    assert found.bound <= exact * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_looks_beside_rows_of_an_edit_leave_the_optimum_of_brute_force(
    seed: int, early: list[int]
) -> None:
    edit = side_edit(seed)
    optimum, found = edit.optimum(), tm.solve(edit.model(), method="conflict-search")
    if np.isinf(optimum):
        assert found.objective is None
    else:
        assert found.objective == pytest.approx(optimum, rel=2e-6, abs=1e-7)
        assert found.certificate.verdict.closed
    assert len(early) <= 1 or max(early[1:]) < edit.data.n


def test_a_published_objective_is_met_from_a_worse_hyperplane(data_folder: Path) -> None:
    """n200d10ATj3 with C = 100, which the heuristic leaves .3 % above it."""
    name, C = "n200d10ATj3", 100.0
    best = published(INSTANCES[name], C)
    assert best is not None
    rows = [json.loads(line) for line in STORE.read_text(encoding="utf-8").splitlines()]
    worse = next(
        row for row in rows
        if (row["instance"], row["C"]) == (name, C) and row["objective"] > 1.002 * best[0]
    )  # fmt: skip
    data = INSTANCES[name].data()
    tree = Tree(data, 2 * C, "free", 1e-6, SideRows.nothing(data.n, data.d))
    tree.start((np.array(worse["w"]), worse["b"]))
    tree.root()
    assert tree.objective > 1.002 * 2 * best[0]
    bound, waiting = tree.bound, tree.cover.waiting
    tree.look_elsewhere()
    assert tree.objective / 2 == pytest.approx(best[0], rel=1e-6)
    assert (tree.bound, tree.cover.waiting) == (bound, waiting)


@pytest.mark.parametrize("what", ["Ctrl-C", "time"])
def test_a_look_that_is_stopped_leaves_the_bound_and_the_best_hyperplane(
    what: str, early: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tm.data.outlier_data("clustered", n=36, d=3, sigma=0.5, seed=0)
    exact = zero_one_enumeration(data, penalty=1.0, intercept="free").objective
    real = Tree.expand

    def stopped(tree: Tree) -> None:
        if len(early) > 1:
            if what == "Ctrl-C":
                raise KeyboardInterrupt
            tree.until = 0.0
        real(tree)

    monkeypatch.setattr(Tree, "expand", stopped)
    found = conflict_search(data, penalty=1.0, intercept="free")
    assert found.stop is (StopReason.INTERRUPTED if what == "Ctrl-C" else StopReason.TIME_LIMIT)
    assert 0 < found.bound <= exact * (1 + 1e-12)
    assert exact * (1 - 1e-12) <= found.objective <= 36.0
