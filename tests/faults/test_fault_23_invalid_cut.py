"""Row 23: a cut that removes what it must keep is caught by a known point, and named.

Every family of cuts is made wrong in turn. Without a known point the loop believes the wrong cut
and calls a worse point optimal: that is what the check is for.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.inside.cuts import concavity, facial, lifted_concavity, separation
from tests.references.polytope_corners import corners, gauss
from tightmargin.cuts import InvalidCutError, cutting_plane
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
