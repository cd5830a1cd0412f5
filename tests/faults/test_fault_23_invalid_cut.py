"""Rows 23 and 24: a cut that removes what it must keep is caught by a known point, and named.

Every family of cuts is made wrong in turn. Without a known point the loop believes the wrong cut
and calls a worse point optimal: that is what the check is for.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.inside.cuts import (
    CuttingPlaneResult,
    Relaxation,
    concavity,
    facial,
    lifted_concavity,
    separation,
)
from tests.references.polytope_corners import corners, gauss
from tightmargin.cuts import InvalidCutError, cutting_plane
from tightmargin.formulations import TrainingData
from tightmargin.solvers import nu_range

DATA = gauss(26, 18, 3)
NU = 0.3 * nu_range(DATA).nu_bar
FAR = 4
FAMILIES: dict[str, dict[str, str]] = {
    "concavity": {},
    "lifted": {"space": "lifted"},
    "facial": {"strategy": "literal"},
}


@functools.cache
def every_corner() -> np.ndarray:
    return corners(DATA, NU, np.full(DATA.n, 1 / DATA.n))


def spoil(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rays that go too far, or a depth that is not the least."""
    if family == "facial":
        depth = facial.facial_depth
        monkeypatch.setattr(facial, "facial_depth", lambda *words: 30 * depth(*words))
        return
    module: Any = {"concavity": concavity, "lifted": lifted_concavity}[family]
    steps = module.steps_to_norm
    monkeypatch.setattr(module, "steps_to_norm", lambda *words: FAR * steps(*words))


@pytest.mark.parametrize("family", FAMILIES)
def test_row_23_an_invalid_cut_is_caught_by_a_known_point_and_named(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = FAMILIES[family]
    honest = cutting_plane(DATA, nu=NU, starts=1, debug_solution=every_corner(), **options)
    assert honest.proven
    spoil(family, monkeypatch)
    name = "facial_cut" if family == "facial" else "concavity_cut"
    with pytest.raises(InvalidCutError, match=rf"{name}_\d+ .*removes a known point: w = \["):
        cutting_plane(DATA, nu=NU, starts=1, debug_solution=every_corner(), **options)


def test_row_23_a_cut_that_leaves_its_own_vertex_is_not_added(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make = separation.concavity_cut

    def shallow(*words: Any) -> Any:
        cut = make(*words)
        if cut is None:
            return None
        return replace(cut, rhs=cut.rhs + cut.violation({"w": cut.origin.vertex}))

    monkeypatch.setattr(separation, "concavity_cut", shallow)
    found = cutting_plane(DATA, nu=NU)
    assert "does not remove its own vertex: no progress; branch and cut" in found.message
    assert found.cuts == ()
    assert found.nodes > 0
    assert found.proven


# --- row 24: a loop without progress says why and proves no more than it has ----------------------

PLANE = gauss(7, 24, 2)
HALF = 0.5 * nu_range(PLANE).nu_bar
WAYS: dict[str, dict[str, str]] = {
    "projected": {},
    "lifted": {"space": "lifted"},
    "literal": {"strategy": "literal"},
}


def optimum(data: TrainingData, nu: float) -> float:
    return 1 / float(np.linalg.norm(corners(data, nu, np.full(data.n, 1 / data.n)), axis=1).max())


def assert_stalled(found: CuttingPlaneResult, words: str, expected: float) -> None:
    """The loop says why it stalls, and boxes prove what it leaves; cuts have no part in that."""
    assert words in found.message
    assert "no progress; branch and cut went on" in found.message
    assert found.nodes > 0
    assert found.proven
    assert "branch and cut over boxes" in found.proof
    assert 0 < found.bound <= expected * (1 + 1e-9)
    assert found.best.objective == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("way", WAYS)
def test_row_24_cuts_too_shallow_to_count_end_the_loop(way: str) -> None:
    found = cutting_plane(PLANE, nu=HALF, least_depth=0.9, **WAYS[way])
    assert_stalled(found, "a cut of depth", optimum(PLANE, HALF))


def test_row_24_a_cut_that_repeats_another_ends_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once made so, and once because the relaxation loses every cut and its vertex comes back."""
    make, kept = separation.concavity_cut, []

    def again(*words: Any) -> Any:
        kept.append(make(*words))
        return kept[min(len(kept) - 1, 2)]

    with monkeypatch.context() as patch:
        patch.setattr(separation, "concavity_cut", again)
        found = cutting_plane(PLANE, nu=HALF)
    assert_stalled(found, "says what an earlier cut says", optimum(PLANE, HALF))
    assert len(found.cuts) == 3
    monkeypatch.setattr(Relaxation, "add", lambda *_: None)
    found = cutting_plane(PLANE, nu=HALF)
    assert_stalled(found, "says what an earlier cut says", optimum(PLANE, HALF))
    assert len(found.cuts) < 20


@pytest.mark.parametrize("way", WAYS)
def test_row_24_copies_of_every_point_are_solved(way: str) -> None:
    """Up to fourteen ties where general position has two: degenerate programs at every vertex."""
    base, copies = gauss(4, 10, 2), 7
    data = TrainingData(np.tile(base.X, (copies, 1)), np.tile(base.y, copies))
    nu = 0.5 * nu_range(base).nu_bar
    found = cutting_plane(data, nu=nu, **WAYS[way])
    assert found.proven
    expected = optimum(base, nu)
    assert found.bound <= expected * (1 + 1e-9)
    assert found.best.objective == pytest.approx(expected, rel=1e-9)
