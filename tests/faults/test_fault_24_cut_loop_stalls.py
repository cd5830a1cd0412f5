"""Row 24: a loop that makes no progress stops, says why, and proves no more than it has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.inside.cuts import CuttingPlaneResult, Relaxation, separation
from tests.references.polytope_corners import corners, gauss
from tightmargin.cuts import cutting_plane
from tightmargin.formulations import TrainingData
from tightmargin.solvers import nu_range

DATA = gauss(7, 24, 2)
NU = 0.5 * nu_range(DATA).nu_bar
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
    found = cutting_plane(DATA, nu=NU, least_depth=0.9, **WAYS[way])
    assert_stalled(found, "a cut of depth", optimum(DATA, NU))


def test_row_24_a_cut_that_repeats_another_ends_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once made so, and once because the relaxation loses every cut and its vertex comes back."""
    make, kept = separation.concavity_cut, []

    def again(*words: Any) -> Any:
        kept.append(make(*words))
        return kept[min(len(kept) - 1, 2)]

    with monkeypatch.context() as patch:
        patch.setattr(separation, "concavity_cut", again)
        found = cutting_plane(DATA, nu=NU)
    assert_stalled(found, "says what an earlier cut says", optimum(DATA, NU))
    assert len(found.cuts) == 3
    monkeypatch.setattr(Relaxation, "add", lambda *_: None)
    found = cutting_plane(DATA, nu=NU)
    assert_stalled(found, "says what an earlier cut says", optimum(DATA, NU))
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
