"""Optima that others have published or proven, by every search of the 0-1 loss."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from benchmarks.bks.instances import INSTANCES
from benchmarks.bks.rows import STORE
from benchmarks.bks.rows import published as best_published
from tests.inside.experiments import load
from tests.inside.solvers import (
    SideRows,
    StopReason,
    Tree,
    ramp_enumeration,
    zero_one_enumeration,
    zero_one_incumbent,
)
from tests.solvers.zero_one.clouds import published
from tightmargin.solvers import cone_search, conflict_search

GAP = 1e-6


@pytest.mark.parametrize(("j", "C"), [(0, 1.0), (1, 100.0), (3, 1.0)])
def test_enumeration_and_the_heuristic_reach_it(j: int, C: float, data_folder: Any) -> None:
    data, optimum = published(data_folder, f"n60d2ATj{j}", C)
    found = zero_one_enumeration(data, penalty=2 * C, intercept="free")
    assert found.objective / 2 == pytest.approx(optimum, rel=1e-6)
    assert found.bound / 2 == pytest.approx(optimum, rel=1e-6)
    point = zero_one_incumbent(data, penalty=2 * C, intercept="free")
    assert point.objective / 2 == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize(("name", "C"), [("n60d5ATj1", 1.0), ("n60d10ATj0", 100.0)])
def test_the_conflict_search_proves_it_again(name: str, C: float, data_folder: Path) -> None:
    """From nothing: a bound that is too high would prune the optimum."""
    data, optimum = published(data_folder, name, C)
    nothing = (np.zeros(data.d), 0.0)
    found = conflict_search(data, penalty=2.0 * C, intercept="free", incumbent=nothing)
    assert found.stop is StopReason.PROVEN
    assert found.objective / 2 == pytest.approx(optimum, abs=5e-6)
    assert found.gap <= 2 * GAP


def test_a_look_elsewhere_meets_one_from_a_worse_hyperplane(data_folder: Path) -> None:
    """n200d10ATj3 with C = 100, which the heuristic leaves .3 % above it."""
    name, C = "n200d10ATj3", 100.0
    best = best_published(INSTANCES[name], C)
    rows = [json.loads(line) for line in STORE.read_text(encoding="utf-8").splitlines()]
    worse = next(
        row for row in rows
        if (row["instance"], row["C"]) == (name, C) and row["objective"] > 1.002 * best[0]
    )  # fmt: skip
    data = INSTANCES[name].data()
    tree = Tree(data, 2 * C, "free", GAP, SideRows.nothing(data.n, data.d))
    tree.start((np.array(worse["w"]), worse["b"]))
    tree.root()
    assert tree.objective > 1.002 * 2 * best[0]
    bound, waiting = tree.bound, tree.cover.waiting
    tree.look_elsewhere()
    assert tree.objective / 2 == pytest.approx(best[0], rel=1e-6)
    assert (tree.bound, tree.cover.waiting) == (bound, waiting)


def test_the_clustered_instance_of_another_solver() -> None:
    """39.981219: optimum and bound of Gurobi 13.0.3 on Cepeda, Gomez & Han's instance."""
    data = tm.data.outlier_data("clustered", n=100, d=3, sigma=0.5, seed=7)
    point = zero_one_incumbent(data, penalty=1.0, intercept="penalised")
    assert point.objective == pytest.approx(39.981219, abs=1e-6)
    found = cone_search(data, penalty=1.0, intercept="penalised")
    assert found.objective == pytest.approx(39.981219, rel=GAP)
    assert found.bound == pytest.approx(39.981219, rel=2 * GAP)


def test_the_ramp_loss_of_the_design_notes(data_folder: Path) -> None:
    """n60d2ATj0 at C = 1 is 20.733906, by Gurobi in 57,900 nodes."""
    data = load(str(data_folder / "hard_margin_loss" / "n60d2ATj0"))
    found = ramp_enumeration(data, C=1.0, intercept="free")
    assert found.objective == pytest.approx(20.733906, abs=5e-7)
    assert found.bound == pytest.approx(20.733906, abs=5e-7)
