"""Rows 22 to 24: cuts of any scale count, invalid ones are caught, and a loop that stalls says why.

Every family of cuts is made wrong in turn. Without a known point the loop believes the wrong cut
and calls a worse point optimal: that is what the check is for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
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
from tests.support.covering import in_turn
from tightmargin.cuts import InvalidCutError, cutting_plane
from tightmargin.solvers import LiveLP, NumberError, Status, nu_range


def box() -> pyo.ConcreteModel:
    """min -x_0 - x_1 over [0, 10]^2 and x_0 + 2 x_1 <= 24: -17 at (10, 7)."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(0, 10))
    m.row = pyo.Constraint(expr=m.x[0] + 2 * m.x[1] <= 24)
    m.objective = pyo.Objective(expr=-m.x[0] - m.x[1])
    return m


@pytest.mark.parametrize(
    ("scale", "form"), in_turn((1e-14, 1e-10, 1e-8, 1.0, 1e6, 1e14, 2e15, 1e18), ("primal", "dual"))
)
def test_row_22_the_same_cut_has_the_same_effect_at_every_scale(scale: float, form: str) -> None:
    """HiGHS drops 1e-10 in silence and never adds 2e15: numbers are divided by the largest."""
    live = LiveLP(box(), form=form)
    assert live.resolve().objective == pytest.approx(-17.0)
    number = live.add_cut({"x": np.full(2, scale)}, upper=1.5 * scale)
    found = live.resolve()
    assert found.objective == pytest.approx(-1.5, rel=1e-9)
    assert found.status is Status.OPTIMAL
    assert live.proven_bound() == pytest.approx(-1.5, rel=1e-9)
    live.remove_cut(number)
    assert live.resolve().objective == pytest.approx(-17.0)


@pytest.mark.parametrize(("form", "ratio"), [("primal", 1e-9), ("dual", 1e-16)])
def test_row_22_a_coefficient_that_vanishes_beside_another_is_refused(
    form: str, ratio: float
) -> None:
    """x_0 <= 1e-3 / ratio would hold nothing back once the coefficient is dropped."""
    live = LiveLP(box(), form=form)
    before = live.resolve()
    with pytest.raises(NumberError, match=r"x\[1\]"):
        live.add_cut({"x": np.array([1.0, ratio])}, upper=5.0)
    after = live.resolve()
    assert after.objective == before.objective
    assert after.iterations == 0, "the program was left alone"


# --- row 23: a cut that removes what it must keep -------------------------------------------------

FAR = 4
FAMILIES: dict[str, dict[str, str]] = {
    "concavity": {},
    "lifted": {"space": "lifted"},
    "facial": {"strategy": "literal"},
}
PLANE = gauss(7, 24, 2)
HALF = 0.5 * nu_range(PLANE).nu_bar
SPACE = gauss(26, 12, 3)


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
    data, share = (SPACE, 0.4) if family == "facial" else (PLANE, 0.3)
    nu = share * nu_range(data).nu_bar
    known = corners(data, nu, np.full(data.n, 1 / data.n))
    words: dict[str, Any] = {"nu": nu, "starts": 1, "debug_solution": known} | FAMILIES[family]
    honest = cutting_plane(data, **words)
    assert honest.proven
    spoil(family, monkeypatch)
    name = "facial_cut" if family == "facial" else "concavity_cut"
    with pytest.raises(InvalidCutError, match=rf"{name}_\d+ .*removes a known point: w = \["):
        cutting_plane(data, **words)


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
    found = cutting_plane(PLANE, nu=HALF)
    assert "does not remove its own vertex: no progress; branch and cut" in found.message
    assert found.cuts == ()
    assert found.nodes > 0
    assert found.proven


# --- row 24: a loop without progress says why and proves no more than it has ----------------------


def assert_stalled(found: CuttingPlaneResult, words: str) -> None:
    """The loop says why it stalls, and boxes prove what it leaves; cuts have no part in that."""
    at = corners(PLANE, HALF, np.full(PLANE.n, 1 / PLANE.n))
    expected = 1 / float(np.linalg.norm(at, axis=1).max())
    assert words in found.message
    assert "no progress; branch and cut went on" in found.message
    assert found.nodes > 0
    assert found.proven
    assert "branch and cut over boxes" in found.proof
    assert 0 < found.bound <= expected * (1 + 1e-9)
    assert found.best.objective == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("way", ["concavity", "lifted", "facial"])
def test_row_24_cuts_too_shallow_to_count_end_the_loop(way: str) -> None:
    found = cutting_plane(PLANE, nu=HALF, least_depth=0.9, **FAMILIES[way])
    assert_stalled(found, "a cut of depth")


def test_row_24_a_cut_that_repeats_another_ends_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The relaxation loses every cut, and its vertex comes back."""
    monkeypatch.setattr(Relaxation, "add", lambda *_: None)
    found = cutting_plane(PLANE, nu=HALF)
    assert_stalled(found, "says what an earlier cut says")
    assert len(found.cuts) < 20
