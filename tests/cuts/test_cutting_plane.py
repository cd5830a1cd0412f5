"""The cutting-plane loop: its cuts and their files, what a cut removes, proofs and every stop."""

from __future__ import annotations

import functools
import itertools
import json
import signal
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside import cuts as inner
from tests.inside.formulations import support_value
from tests.inside.solvers import StopReason
from tests.references.polytope_corners import corners, gauss, levels
from tests.support.covering import FULL, in_turn
from tests.support.point_clouds import below_nu_bar
from tightmargin.solvers import LiveLP, Status, solve

DATA = gauss(26, 18, 3)
NU = below_nu_bar(DATA, 0.3)
WAYS: dict[str, dict[str, str]] = {
    "projected": {},
    "lifted": {"space": "lifted"},
    "literal": {"strategy": "literal"},
}


@functools.cache
def loop(way: str) -> inner.CuttingPlaneResult:
    return tm.cuts.cutting_plane(DATA, nu=NU, starts=1, **WAYS[way])


def origin(vertex: Any = (1.0, 0.0)) -> inner.CutOrigin:
    v = np.array(vertex)
    return inner.CutOrigin("x", "projected", v, np.eye(len(v)), np.array([1.0, np.inf]), 2.0, 0.1)


def test_a_cut_is_scaled_to_a_largest_coefficient_of_1() -> None:
    cut = inner.scaled_cut(inner.Kind.CONCAVITY, {"w": np.array([2e7, -4e7])}, 1e8, origin())
    assert cut.coefficients["w"].tolist() == [0.5, -1.0]
    assert cut.rhs == 2.5
    assert cut.violation({"w": [2.0, -3.0]}) == pytest.approx(1.5)
    assert cut.violation({"w": [2.0, -1.0], "b": 7.0}) == pytest.approx(-0.5)


@pytest.mark.parametrize("way", WAYS)
def test_cuts_read_back_are_the_cuts_written_and_follow_from_their_origin(
    way: str, tmp_path: Path
) -> None:
    found = loop(way)
    assert found.proven
    assert len(found.cuts) > 10
    assert (way == "literal") == any(cut.kind is inner.Kind.FACIAL for cut in found.cuts)
    read = tm.cuts.load_cuts(tm.cuts.save_cuts(found.cuts, tmp_path / "cuts.json"))
    assert [cut.to_json() for cut in read] == [cut.to_json() for cut in found.cuts]
    assert (read[0].origin.theta == found.cuts[0].origin.theta).all(), "infinities included"
    for cut in read if FULL else read[::4]:
        tm.cuts.verify_cut(cut, found.problem, read)
        if cut.kind is inner.Kind.CONCAVITY:
            tm.cuts.verify_cut(cut)
        else:
            with pytest.raises(ValueError, match="give problem"):
                tm.cuts.verify_cut(cut)
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
    path = tm.cuts.save_cuts(loop("projected").cuts[:3], tmp_path / "cuts.json")
    path.write_text(damage(path.read_text()))
    with pytest.raises(ValueError, match="not a readable list of cuts"):
        tm.cuts.load_cuts(path)


@pytest.mark.parametrize(("build", "scale"), [
    (tm.extended_nu_svc, "takeda"), (tm.extended_nu_svc_reverse, "perez_cruz"),
    (tm.extended_nu_svc_polar, "takeda"), (tm.extended_nu_svc_polar, "perez_cruz"),
])  # fmt: skip
def test_a_pasted_cut_is_the_cut_and_keeps_the_optimum_in_every_model(
    build: Any, scale: str
) -> None:
    """At the optimal point, in each model's own normalisation, no pasted row is violated."""
    for way in WAYS:
        model, problem = build(DATA, nu=NU, scale=scale), loop(way).problem
        corner = problem.onto_boundary(known_weight())
        level = problem.value(known_weight()) * (np.sqrt(2.0) if scale == "perez_cruz" else 1.0)
        if build is tm.extended_nu_svc_polar:
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
            point = problem.point(corner)
            size = cut.size_at(point)
            assert excess == pytest.approx(level * cut.violation(point), abs=1e-9 * level * size)
            if cut.origin.gamma < np.linalg.norm(corner) * (1 - 1e-5):
                kept += 1
                assert excess <= 1e-7 * level * size
        assert kept > 0


@functools.cache
def known_weight() -> np.ndarray:
    return solve(tm.extended_nu_svc(DATA, nu=NU), "scip").values["w"]


def test_a_row_that_is_none_of_the_problem_is_refused_only_with_the_problem() -> None:
    """Valid where its rows are, and these are of other data."""
    stretched = DATA.X * 0.99  # a smaller U, which a point on the boundary of U is not in
    other = tm.cuts.cutting_plane(replace(DATA, X=stretched), nu=NU, round_limit=0).problem
    for way, why in (
        ("projected", "neither one of P nor that of a parent"), ("lifted", "about other variables"),
    ):  # fmt: skip
        cut = next(cut for cut in loop(way).cuts if not cut.origin.parents)
        foreign = replace(cut, origin=replace(cut.origin, problem=other.fingerprint))
        tm.cuts.verify_cut(foreign)
        with pytest.raises(tm.cuts.InvalidCutError, match=why):
            tm.cuts.verify_cut(foreign, other)


@pytest.mark.parametrize("way", ["projected", "lifted"])
def test_a_cut_does_not_follow_from_other_rows(way: str) -> None:
    cut = loop(way).cuts[0]
    origin = cut.origin
    forged = [
        (origin.cone, origin.sides * 1.1 + 0.1),
        (np.zeros((0, origin.cone.shape[1])), np.zeros(0)),
        (origin.cone[:, :-1], origin.sides),
        (origin.cone * 0.0, origin.sides),
    ]
    # What is left of more rows than dimensions may still do.
    if way == "lifted" or len(origin.cone) == len(origin.vertex):
        forged.append((origin.cone[:-1], origin.sides[:-1]))
    for cone, sides in forged:
        with pytest.raises(tm.cuts.InvalidCutError):
            tm.cuts.verify_cut(replace(cut, origin=replace(origin, cone=cone, sides=sides)))


def tampered(cut: tm.cuts.Cut) -> dict[str, tm.cuts.Cut]:
    """Copies that remove more than they may, or claim to come from elsewhere."""
    moved, vertex = dict(cut.coefficients), cut.origin.vertex
    size = cut.size_at(loop("projected").problem.point(vertex))
    theta, rays = cut.origin.theta, cut.origin.rays
    ends = [vertex + t * ray for t, ray in zip(theta, rays, strict=True) if np.isfinite(t)]
    # The end of a ray that the cut just keeps is removed by turning the row towards it.
    values = [abs(float(moved["w"] @ end) - cut.rhs) for end in ends]
    end = ends[int(np.argmin(values))] if ends else np.ones(len(vertex))
    moved["w"] = moved["w"] + 0.02 * end / float(end @ end) * size
    return {
        "deeper": replace(cut, rhs=cut.rhs - 1e-3 * size),
        "turned": replace(cut, coefficients=moved),
        "smaller gamma": replace(cut, origin=replace(cut.origin, gamma=0.9 * cut.origin.gamma)),
        "another vertex": replace(cut, origin=replace(cut.origin, vertex=vertex * 1.001)),
    }


@pytest.mark.parametrize("way", WAYS)
def test_a_tampered_cut_does_not_follow(way: str) -> None:
    found = loop(way)
    facial = [cut for cut in found.cuts if cut.kind is inner.Kind.FACIAL][:3]
    concave = [cut for cut in found.cuts if cut.kind is inner.Kind.CONCAVITY][:3]
    for cut in facial + concave:
        for what, wrong in tampered(cut).items():
            if cut in facial and what in ("smaller gamma", "another vertex"):
                continue  # neither enters the row of a facial cut
            for given in ((found.problem, found.cuts), *([] if cut in facial else [()])):
                with pytest.raises(tm.cuts.InvalidCutError):
                    tm.cuts.verify_cut(wrong, *given)


def test_a_cut_needs_the_cuts_it_was_made_from_and_its_own_problem() -> None:
    found = loop("projected")
    later = next(cut for cut in found.cuts if cut.origin.parents)
    with pytest.raises(tm.cuts.InvalidCutError, match="were not given"):
        tm.cuts.verify_cut(later, found.problem, ())
    with pytest.raises(tm.cuts.InvalidCutError, match="later cut"):
        tm.cuts.verify_cut(replace(later, number=0), found.problem, found.cuts)
    other = tm.cuts.cutting_plane(DATA, nu=NU * 1.01, round_limit=0).problem
    with pytest.raises(tm.cuts.InvalidCutError, match="other data"):
        tm.cuts.verify_cut(later, other, found.cuts)


ROUNDING = 1e-9
INSTANCES = [(7, 24, 2, 0.5), (5, 20, 2, 0.9), (1, 20, 2, 0.1), (2, 18, 3, 0.3)]


@functools.cache
def instance(seed: int, n: int, d: int, share: float) -> tuple[tm.TrainingData, float, np.ndarray]:
    data = gauss(seed, n, d)
    nu = below_nu_bar(data, share)
    return data, nu, corners(data, nu, np.full(n, 1 / n))


@functools.cache
def with_corners(seed: int, n: int, d: int, share: float, way: str) -> inner.CuttingPlaneResult:
    data, nu, every = instance(seed, n, d, share)
    return tm.cuts.cutting_plane(data, nu=nu, starts=1, debug_solution=every, **WAYS[way])


def removed(cut: tm.cuts.Cut, problem: inner.PolarProblem, weights: np.ndarray) -> np.ndarray:
    """Which weights a cut removes, with the b, rho and xi that are best for them."""
    points = [problem.point(w) for w in weights]
    return np.array([cut.violation(p) > ROUNDING * cut.size_at(p) for p in points], dtype=bool)


@pytest.mark.parametrize(
    ("case", "way"),
    in_turn(INSTANCES, ("projected", "lifted")) + [(case, "literal") for case in INSTANCES],
)
def test_no_cut_of_a_loop_removes_a_corner_longer_than_its_gamma(
    case: tuple[int, int, int, float], way: str
) -> None:
    """At vertices that earlier cuts made as well; and the longest corner is what comes out."""
    _, _, every = instance(*case)
    found = with_corners(*case, way)
    assert found.proven, found.message
    assert found.best.objective == pytest.approx(1 / np.linalg.norm(every, axis=1).max(), rel=1e-9)
    length = np.linalg.norm(every, axis=1)
    gone = {cut.number: removed(cut, found.problem, every) for cut in found.cuts}
    for cut in found.cuts:
        own = gone[cut.number]
        assert not own[length > cut.origin.gamma * (1 + ROUNDING)].any()
        if cut.kind is inner.Kind.FACIAL:  # nor one that the cuts before it have left
            left = ~np.any([gone[number] for number in cut.origin.parents], axis=0)
            assert left.any()
            assert not own[left].any()


@pytest.mark.parametrize("depth", [-1e-9, 5e-7, np.inf, 2e-6])
def test_a_facial_cut_is_refused_where_its_depth_is_below_1e_6_or_unknown(
    depth: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, nu, every = instance(*INSTANCES[3])
    problem = inner.polar_problem(data, nu=nu)
    program = inner.FaceProgram(inner.Relaxation(problem, 1.0, "primal", rebuilds=False))
    face = inner.face_through(problem, problem.onto_boundary(np.array([0.3, -0.8, 0.5])))
    assert not face.corner
    monkeypatch.setattr(inner.facial, "facial_depth", lambda *_: depth)
    cut = tm.cuts.facial_cut(program, face, (), 1.0)
    assert (cut is None) == (depth != 2e-6)
    corner = inner.face_through(problem, every[0])
    assert corner.corner
    assert tm.cuts.facial_cut(program, corner, (), 1.0) is None


PLANE = gauss(7, 24, 2)
PLANE_NU = below_nu_bar(PLANE, 0.5)


@functools.cache
def looped(way: str) -> inner.CuttingPlaneResult:
    return tm.cuts.cutting_plane(PLANE, nu=PLANE_NU, **WAYS[way])


LONG = gauss(7, 60, 5)
LONG_NU = below_nu_bar(LONG, 0.5)


def assert_ended(found: inner.CuttingPlaneResult, stop: StopReason) -> None:
    assert found.stop is stop, found.message
    assert not found.proven
    assert found.proof == ""
    assert 0 < found.bound < found.best.objective
    (level,) = levels(LONG, LONG_NU, np.full(60, 1 / 60), found.best.weight[None, :])
    assert level == pytest.approx(found.best.objective)
    assert max(entry.lower for entry in found.trace) <= found.best.objective


@pytest.mark.parametrize("end", ["ctrl-c", "interrupted", "late"])
def test_an_early_end_keeps_the_best_point_and_the_bound(
    end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the seventieth program Ctrl-C is pressed, or it is interrupted, or the clock jumps."""
    before = signal.getsignal(signal.SIGINT)
    resolve, solves, late = LiveLP.resolve, itertools.count(1), [0.0]

    def short(live: LiveLP, limit: float | None = None) -> Any:
        answer = resolve(live, limit)
        if next(solves) != 70:
            return answer
        if end == "ctrl-c":
            signal.raise_signal(signal.SIGINT)
            return answer
        late[0] = 1e6 * (end == "late")
        status = Status.LIMIT_NO_SOLUTION if end == "late" else Status.INTERRUPTED
        return replace(answer, status=status)

    monkeypatch.setattr(LiveLP, "resolve", short)
    clock = SimpleNamespace(perf_counter=lambda: time.perf_counter() + late[0])
    monkeypatch.setattr(f"{inner.Relaxation.__module__}.time", clock)
    found = tm.cuts.cutting_plane(LONG, nu=LONG_NU, time_limit=1e5)
    assert_ended(found, StopReason.TIME_LIMIT if end == "late" else StopReason.INTERRUPTED)
    assert signal.getsignal(signal.SIGINT) is before


def test_an_empty_relaxation_that_nothing_confirms_is_no_proof(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    longest = inner.Relaxation.longest

    def empty_after(relaxation: inner.Relaxation, direction: np.ndarray) -> inner.Found | None:
        return None if relaxation.solves > 60 else longest(relaxation, direction)

    monkeypatch.setattr(inner.Relaxation, "longest", empty_after)
    data = gauss(7, 24, 3)
    nu = below_nu_bar(data, 0.5)
    found = tm.cuts.cutting_plane(data, nu=nu)
    assert "no multipliers prove that; branch and cut went on" in found.message
    assert found.nodes > 1
    assert "branch and cut over boxes" in found.proof
    assert found.proven
    expected = tm.cuts.hull_search(data, nu=nu).objective
    assert found.best.objective == pytest.approx(expected, rel=1e-9)
    # Boxes end by a limit, with the bound that they have.
    close = inner.run.close_gap
    late_close = lambda *args, **words: close(*args, **words | {"time_limit": 1e-9})  # noqa: E731
    monkeypatch.setattr(inner.run, "close_gap", late_close)
    late = tm.cuts.cutting_plane(LONG, nu=LONG_NU)
    assert (late.stop, late.proof) == (StopReason.TIME_LIMIT, "")
    assert 0 <= late.bound < late.best.objective * 0.99


def test_emptiness_is_proven_only_where_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    found = looped("projected")
    relaxation = inner.Relaxation(found.problem, found.best.objective)
    cuts, gamma = list(found.cuts), (1 + found.tolerance) / found.best.objective
    assert inner.emptiness.emptiness(relaxation, [], gamma) == ""
    assert "exact rational" in inner.emptiness.emptiness(relaxation, cuts, gamma)
    # Without its last cut the polytope still had the vertex that it removed.
    assert inner.emptiness.emptiness(relaxation, cuts[:-1], gamma) == ""
    # Next to the best weight the objective is 0.97 or more, and up to 1 there is something left.
    near = -found.best.weight
    origin, length = found.cuts[0].origin, 1 / found.best.objective
    for share, left in ((0.97, True), (1.001, False)):
        tip = inner.scaled_cut(inner.Kind.CONCAVITY, {"w": near}, -share * length, origin)
        assert (inner.emptiness.emptiness(relaxation, [tip], gamma) == "") is left
    # So is it by the sphere alone.
    monkeypatch.setattr(inner.emptiness, "_least_objective", lambda *_: None)
    assert inner.emptiness.emptiness(relaxation, cuts, gamma)
    for k in range(len(cuts)):
        fewer = cuts[:k] + cuts[k + 1 :]
        left = relaxation_of(found.problem, fewer).longest(found.best.weight) is not None
        assert (inner.emptiness.emptiness(relaxation, fewer, gamma) == "") or not left
    assert inner.emptiness.emptiness(relaxation, cuts[:-1], gamma) == ""


@pytest.mark.parametrize("way", WAYS)
def test_each_proof_stands_in_for_the_one_before(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = looped(way)
    assert "exact rational bound" in plain.proof
    monkeypatch.setattr(inner.emptiness, "_least_objective", lambda *_: None)
    on_sphere = tm.cuts.cutting_plane(PLANE, nu=PLANE_NU, **WAYS[way])
    if way != "lifted":  # its rows are not over weights alone
        assert "lowered by more than all roundings: no w of norm 1" in on_sphere.proof
        assert on_sphere.nodes == 0
    monkeypatch.setattr(inner.emptiness, "_on_sphere", lambda *_: "")
    by_boxes = tm.cuts.cutting_plane(PLANE, nu=PLANE_NU, **WAYS[way])
    assert by_boxes.nodes > 0 or by_boxes.proof == inner.BOX
    for found in (on_sphere, by_boxes):
        assert found.proven
        assert found.best.objective == pytest.approx(plain.best.objective, rel=1e-12)
        assert found.gap <= found.tolerance * (1 + 1e-9)


def relaxation_of(problem: inner.PolarProblem, cuts: list[Any]) -> inner.Relaxation:
    found = inner.Relaxation(problem, 0.25)
    for cut in cuts:
        found.add(cut)
    return found


@pytest.mark.parametrize("way", WAYS)
def test_a_needle_is_solved(way: str) -> None:
    """Features of very different size: a polytope a thousand times as long as it is wide."""
    base = gauss(2, 14, 3)
    data = tm.TrainingData(base.X * np.array([1e-3, 1.0, 1e2]), base.y)
    nu = below_nu_bar(data, 0.3)
    longest = np.linalg.norm(corners(data, nu, np.full(14, 1 / 14)), axis=1).max()
    found = tm.cuts.cutting_plane(data, nu=nu, **WAYS[way])
    assert found.proven
    assert found.best.objective == pytest.approx(1 / longest, rel=1e-7)


@pytest.mark.parametrize("way", WAYS)
def test_a_weight_with_objective_0_is_optimal(way: str) -> None:
    """Points of both classes on a line that else separates them: h = 0 there, below nu_bar too."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.0], [0.0, 1.0], [2.0, 1.5], [1.0, -1.0]])
    data = tm.TrainingData(X, np.array([1.0, 1.0, -1.0, 1.0, 1.0, -1.0]))
    found = tm.cuts.cutting_plane(data, nu=below_nu_bar(data, 0.5), **WAYS[way])
    assert found.proven
    assert found.best.objective == found.bound == found.gap == 0.0
    assert abs(found.best.weight[0]) < 1e-6


def test_a_coefficient_that_the_program_would_lose_costs_the_side() -> None:
    relaxation = inner.Relaxation(inner.polar_problem(PLANE, nu=PLANE_NU), 0.25)
    origin = looped("projected").cuts[0].origin
    cut = inner.scaled_cut(inner.Kind.CONCAVITY, {"w": np.array([1.0, -1.5e-9])}, 3.0, origin)
    with pytest.raises(inner.LostNumbersError, match="drop"):
        relaxation.add(replace(cut, coefficients={"w": np.array([1.0, -5e-10])}))
    relaxation.most = {"w": np.array(40.0)}
    row, side = relaxation.inner_row(cut)
    assert row["w"].tolist() == [1.0, 0.0]
    # In units of 0.25 the weight is a quarter of what it is in the data's, and so is the row.
    assert side == pytest.approx(3.0 * 0.25 + 1.5e-9 * 40.0, abs=1e-15)


def test_the_pool_takes_no_cut_twice_and_drops_what_a_parallel_one_implies() -> None:
    found = looped("projected")
    pool = inner.Pool(inner.Relaxation(found.problem, found.best.objective))
    first = found.cuts[0]
    weaker = replace(first, rhs=first.rhs * 1.01, number=50)
    assert pool.add(weaker)
    assert pool.add(first), "a parallel cut that goes further is taken"
    assert [cut.number for cut in pool.active] == [first.number]
    assert not pool.add(replace(first, number=51)), "the same again is not"
    assert not pool.add(replace(weaker, number=52)), "nor what is implied"
    assert pool.dropped == 1


def test_pruning_leaves_the_polytope_as_it_is() -> None:
    data = gauss(8, 18, 3)
    found = tm.cuts.cutting_plane(data, nu=below_nu_bar(data, 0.6), round_limit=25)
    relaxation = inner.Relaxation(found.problem, found.best.objective)
    pool = inner.Pool(relaxation)
    for cut in found.cuts:
        pool.add(cut)
    directions = np.random.default_rng(0).standard_normal((20, 3))
    reach = lambda: [v @ relaxation.longest(v).weight for v in directions]  # noqa: E731
    before, count = reach(), len(pool.active)
    pool.prune(1000)
    assert pool.dropped == count - len(pool.active) > 0
    assert reach() == pytest.approx(before, rel=1e-7)


def keeps(cuts: list[tm.cuts.Cut], problem: inner.PolarProblem, weight: np.ndarray) -> bool:
    values = problem.split(weight)
    return all(cut.violation(values) <= -1e-9 * cut.size_at(values) for cut in cuts)


@pytest.mark.parametrize("case", INSTANCES)
def test_at_the_literal_stop_no_corner_and_no_boundary_point_keeps_the_cuts(
    case: tuple[int, int, int, float],
) -> None:
    (data, _, every), found = instance(*case), with_corners(*case, "literal")
    stop = found.no_face_left
    assert found.proven
    assert stop is not None
    assert stop.round <= len(found.cuts)
    assert stop.lp_solves <= found.lp_solves
    cuts, problem = list(found.cuts[: stop.round]), found.problem
    assert not any(keeps(cuts, problem, corner) for corner in every)
    directions = np.random.default_rng(0).standard_normal((1000, data.d))
    assert not any(keeps(cuts, problem, problem.onto_boundary(w)) for w in directions)
    facial_rounds = [face.round for face in found.faces if face.cut == "facial"]
    assert facial_rounds == [cut.number for cut in found.cuts if cut.kind is inner.Kind.FACIAL]
    assert found.to_json()["faces"][0]["rows"]
    assert looped("projected").no_face_left is None  # the usual stop is another one


def square(half: float, sides: int = 4) -> list[tm.cuts.Cut]:
    origin = looped("literal").cuts[0].origin
    rows = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])[:sides]
    cuts = (inner.scaled_cut(inner.Kind.CONCAVITY, {"w": row}, half, origin) for row in rows)
    return [cut.numbered(i, i) for i, cut in enumerate(cuts)]


def test_a_polytope_of_cuts_inside_of_p_leaves_no_face() -> None:
    problem = looped("literal").problem
    every = itertools.product((1.0, -1.0), repeat=2)
    reach = max(support_value(problem.hulls, np.array(corner)) for corner in every)
    inside, unit = np.zeros(2), 1 / reach
    assert inner.weight_on_a_face(problem, square(0.999 / reach), inside, unit) is None
    for half, sides in ((1.001 / reach, 4), (0.5 / reach, 3), (0.5 / reach, 2), (0.5 / reach, 1)):
        cuts = square(half, sides)
        left = inner.weight_on_a_face(problem, cuts, inside, unit)
        assert left is not None
        assert support_value(problem.hulls, left) == pytest.approx(1.0, abs=1e-9)
        values = problem.split(left)
        assert all(cut.violation(values) <= 1e-9 * cut.size_at(values) for cut in cuts)
    assert inner.weight_on_a_face(problem, [], inside, unit) is not None
