"""Cut objects: scaling, files, pasting into models, and deriving them again off line."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.inside.cuts import CutOrigin, CuttingPlaneResult, Kind, scaled_cut
from tests.inside.solvers import standard_form
from tests.references.polytope_corners import gauss
from tightmargin.cuts import (
    Cut,
    InvalidCutError,
    cutting_plane,
    load_cuts,
    save_cuts,
    verify_cut,
)
from tightmargin.formulations import (
    extended_nu_svc,
    extended_nu_svc_linearised,
    extended_nu_svc_polar,
    extended_nu_svc_reverse,
)
from tightmargin.solvers import nu_range, solve

DATA = gauss(26, 18, 3)
NU = 0.3 * nu_range(DATA).nu_bar
WAYS: dict[str, dict[str, str]] = {
    "projected": {},
    "lifted": {"space": "lifted"},
    "literal": {"strategy": "literal"},
}


@functools.cache
def loop(way: str) -> CuttingPlaneResult:
    return cutting_plane(DATA, nu=NU, starts=1, **WAYS[way])


def origin(vertex: Any = (1.0, 0.0)) -> CutOrigin:
    v = np.array(vertex)
    return CutOrigin("x", "projected", v, np.eye(len(v)), np.array([1.0, np.inf]), 2.0, 0.1)


# --- numbers -------------------------------------------------------------------------------------


def test_a_cut_is_scaled_to_a_largest_coefficient_of_1() -> None:
    cut = scaled_cut(Kind.CONCAVITY, {"w": np.array([2e7, -4e7])}, 1e8, origin())
    assert cut.coefficients["w"].tolist() == [0.5, -1.0]
    assert cut.rhs == 2.5
    assert cut.violation({"w": [2.0, -3.0]}) == pytest.approx(1.5)
    assert cut.violation({"w": [2.0, -1.0], "b": 7.0}) == pytest.approx(-0.5)


def test_a_coefficient_too_small_to_keep_is_left_out_at_the_price_of_the_right_hand_side() -> None:
    reach = {"w": np.array(50.0)}
    cut = scaled_cut(Kind.CONCAVITY, {"w": np.array([2.0, -2e-10])}, 6.0, origin(), reach)
    assert cut.coefficients["w"].tolist() == [1.0, 0.0]
    assert cut.rhs == pytest.approx(3.0 + 50e-10, abs=1e-15)
    w = np.array([3.0 + 40e-10, 45.0])  # <row, w> = 6 - 1e-9: kept before, so kept now
    assert np.array([2.0, -2e-10]) @ w <= 6.0
    assert cut.violation({"w": w}) <= 0


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_cuts_read_back_are_the_cuts_written_and_follow_from_their_origin(
    way: str, tmp_path: Path
) -> None:
    found = loop(way)
    assert found.proven
    assert len(found.cuts) > 10
    assert (way == "literal") == any(cut.kind is Kind.FACIAL for cut in found.cuts)
    read = load_cuts(save_cuts(found.cuts, tmp_path / "cuts.json"))
    assert [cut.to_json() for cut in read] == [cut.to_json() for cut in found.cuts]
    assert (read[0].origin.theta == found.cuts[0].origin.theta).all(), "infinities included"
    for cut in read:
        verify_cut(cut, found.problem, read)
        if cut.kind is Kind.CONCAVITY:
            verify_cut(cut)
        else:
            with pytest.raises(ValueError, match="give problem"):
                verify_cut(cut)
    document = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert document["stop"] == "proven"
    assert len(document["trace"]) == document["trace"][-1]["round"] + 2


@pytest.mark.parametrize(
    "damage",
    [lambda t: t[:-40], lambda t: t.replace("cuts/2", "cuts/9"), lambda t: t.replace("rhs", "rsh"),
     lambda t: t.replace('"concavity"', '"convexity"'), lambda t: "[]", lambda t: "{}",
     lambda t: t.replace('"rhs": ', '"rhs": 1e999, "spare": ')],
)  # fmt: skip
def test_a_damaged_file_gives_one_clear_error(damage: Any, tmp_path: Path) -> None:
    path = save_cuts(loop("projected").cuts[:3], tmp_path / "cuts.json")
    path.write_text(damage(path.read_text()))
    with pytest.raises(ValueError, match="not a readable list of cuts"):
        load_cuts(path)


# --- pasted into models --------------------------------------------------------------------------


@pytest.mark.parametrize(("build", "scale"), [
    (extended_nu_svc, "takeda"), (extended_nu_svc_reverse, "perez_cruz"),
    (extended_nu_svc_polar, "takeda"), (extended_nu_svc_polar, "perez_cruz"),
])  # fmt: skip
def test_a_pasted_cut_is_the_cut_and_keeps_the_optimum_in_every_model(
    build: Any, scale: str
) -> None:
    """At the optimal point, in each model's own normalisation, no pasted row is violated."""
    known = by_scip()
    for way in WAYS:
        model, problem = build(DATA, nu=NU, scale=scale), loop(way).problem
        corner = problem.onto_boundary(known)
        level = problem.value(known) * (np.sqrt(2.0) if scale == "perez_cruz" else 1.0)
        if build is extended_nu_svc_polar:
            level = 1.0 / DATA.n if scale == "perez_cruz" else 1.0
        for name, numbers in problem.point(corner * level).items():
            model.find_component(name).set_values(
                dict(enumerate(numbers.tolist())) if numbers.ndim else {None: float(numbers)}
            )
        kept = 0
        for cut in loop(way).cuts:
            row = cut.add_to(model)
            excess = pyo.value(row.body) - pyo.value(row.upper)
            # Everything in the row scales with the level, its side as well.
            at_corner, size = (
                cut.violation(problem.point(corner)),
                cut.size_at(problem.point(corner)),
            )
            assert excess == pytest.approx(level * at_corner, abs=1e-9 * level * size)
            if cut.origin.gamma < np.linalg.norm(corner) * (1 - 1e-5):
                kept += 1
                assert excess <= 1e-7 * level * size
        assert kept > 0


@functools.cache
def by_scip() -> np.ndarray:
    return solve(extended_nu_svc(DATA, nu=NU), "scip").values["w"]


def test_the_linear_program_of_the_local_search_takes_cuts() -> None:
    """Algorithm 10, step 5: with the cut, the solution of (9) is another one."""
    cut = next(cut for cut in loop("projected").cuts if not cut.origin.parents)
    direction = cut.origin.vertex / np.linalg.norm(cut.origin.vertex)
    model = extended_nu_svc_linearised(DATA, nu=NU, w_ref=direction)
    before = solve(model, "highs").objective
    cut.add_to(model)
    assert before is not None
    assert solve(model, "highs").objective > before * (1 + 1e-4)
    assert standard_form(model).A.shape[0] == DATA.n + 2


def test_a_model_of_unknown_origin_takes_the_cut_at_level_1() -> None:
    foreign = pyo.ConcreteModel()
    foreign.w = pyo.Var(range(3))
    cut = loop("projected").cuts[0]
    row = cut.add_to(foreign)
    foreign.w.set_values(dict(enumerate(cut.origin.vertex.tolist())))
    excess = pyo.value(row.body) - pyo.value(row.upper)
    assert excess == pytest.approx(cut.violation({"w": cut.origin.vertex}))
    assert excess > 0


# --- derived again -------------------------------------------------------------------------------


def test_a_row_that_is_none_of_the_problem_is_refused_only_with_the_problem() -> None:
    """Valid where its rows are, and these are of other data."""
    found = loop("projected")
    cut = next(cut for cut in found.cuts if not cut.origin.parents)
    stretched = DATA.X * 0.99  # a smaller U, which a point on the boundary of U is not in
    other = cutting_plane(replace(DATA, X=stretched), nu=NU, round_limit=0).problem
    foreign = replace(cut, origin=replace(cut.origin, problem=other.fingerprint))
    verify_cut(foreign)
    with pytest.raises(InvalidCutError, match="neither one of P nor that of a parent"):
        verify_cut(foreign, other)
    lifted = loop("lifted").cuts[0]
    foreign = replace(lifted, origin=replace(lifted.origin, problem=other.fingerprint))
    verify_cut(foreign)
    with pytest.raises(InvalidCutError, match="about other variables"):
        verify_cut(foreign, other)


@pytest.mark.parametrize("way", ["projected", "lifted"])
def test_a_cut_does_not_follow_from_other_rows(way: str) -> None:
    cut = loop(way).cuts[0]
    origin = cut.origin
    for cone, sides in (
        (origin.cone[:-1], origin.sides[:-1]),
        (origin.cone, origin.sides * 1.1 + 0.1),
        (np.zeros((0, origin.cone.shape[1])), np.zeros(0)),
        (origin.cone[:, :-1], origin.sides),
        (origin.cone * 0.0, origin.sides),
    ):
        if way == "projected" and len(cone) >= len(origin.vertex) and cone.shape == (
            len(origin.sides) - 1, origin.cone.shape[1],
        ):  # fmt: skip
            continue  # what is left of more rows than dimensions may still do
        with pytest.raises(InvalidCutError):
            verify_cut(replace(cut, origin=replace(origin, cone=cone, sides=sides)))


def tampered(cut: Cut) -> dict[str, Cut]:
    """Copies that remove more than they may, or claim to come from elsewhere."""
    moved, vertex = dict(cut.coefficients), cut.origin.vertex
    theta, rays = cut.origin.theta, cut.origin.rays
    ends = [vertex + t * ray for t, ray in zip(theta, rays, strict=True) if np.isfinite(t)]
    # The end of a ray that the cut just keeps is removed by turning the row towards it.
    values = [abs(float(moved["w"] @ end) - cut.rhs) for end in ends]
    end = ends[int(np.argmin(values))] if ends else np.ones(len(vertex))
    moved["w"] = moved["w"] + 0.02 * end / float(end @ end) * cut.size_at(at_vertex(cut))
    return {
        "deeper": replace(cut, rhs=cut.rhs - 1e-3 * cut.size_at(at_vertex(cut))),
        "turned": replace(cut, coefficients=moved),
        "smaller gamma": replace(cut, origin=replace(cut.origin, gamma=0.9 * cut.origin.gamma)),
        "another vertex": replace(cut, origin=replace(cut.origin, vertex=vertex * 1.001)),
    }


def follows(cut: Cut, found: CuttingPlaneResult | None) -> bool:
    try:
        verify_cut(cut, *(() if found is None else (found.problem, found.cuts)))
    except InvalidCutError:
        return False
    return True


def at_vertex(cut: Cut) -> dict[str, Any]:
    problem = loop("projected").problem
    return problem.point(cut.origin.vertex)


@pytest.mark.parametrize("way", WAYS)
def test_a_tampered_cut_does_not_follow(way: str) -> None:
    found = loop(way)
    for kind in Kind:
        of_kind = [cut for cut in found.cuts if cut.kind is kind]
        for cut in of_kind[:3]:
            for what, wrong in tampered(cut).items():
                if kind is Kind.FACIAL and what in ("smaller gamma", "another vertex"):
                    continue  # neither enters the row of a facial cut
                assert not follows(wrong, found), f"{cut.name} passes though {what}"
                if kind is Kind.CONCAVITY:
                    assert not follows(wrong, None), f"{cut.name} passes alone though {what}"


def test_a_cut_needs_the_cuts_it_was_made_from_and_its_own_problem() -> None:
    found = loop("projected")
    later = next(cut for cut in found.cuts if cut.origin.parents)
    with pytest.raises(InvalidCutError, match="were not given"):
        verify_cut(later, found.problem, ())
    with pytest.raises(InvalidCutError, match="later cut"):
        verify_cut(replace(later, number=0), found.problem, found.cuts)
    with pytest.raises(InvalidCutError, match="other data"):
        verify_cut(later, cutting_plane(DATA, nu=NU * 1.01, round_limit=0).problem, found.cuts)
