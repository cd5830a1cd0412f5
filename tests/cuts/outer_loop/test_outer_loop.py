"""The outer loop: the right optimum with its proof, honest bounds, and every way of stopping."""

from __future__ import annotations

import functools
import itertools
import signal
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.inside.cuts import (
    BOX,
    CuttingPlaneResult,
    Found,
    Kind,
    LostNumbersError,
    PolarProblem,
    Pool,
    Relaxation,
    emptiness,
    polar_problem,
    scaled_cut,
    separation,
    weight_on_a_face,
)
from tests.inside.cuts import run as outer_loop
from tests.inside.formulations import support_value
from tests.inside.solvers import StopReason
from tests.references.polytope_corners import corners, gauss, levels
from tightmargin.cuts import Cut, cutting_plane, hull_search
from tightmargin.formulations import TrainingData
from tightmargin.solvers import LiveLP, Status, nu_range

WAYS: dict[str, dict[str, str]] = {
    "projected": {},
    "lifted": {"space": "lifted"},
    "literal": {"strategy": "literal"},
}


def below(data: TrainingData, share: float) -> float:
    return share * nu_range(data).nu_bar


PLANE = gauss(7, 24, 2)
NU = below(PLANE, 0.5)


@functools.cache
def looped(way: str) -> CuttingPlaneResult:
    return cutting_plane(PLANE, nu=NU, **WAYS[way])


# --- ends ----------------------------------------------------------------------------------------

LONG = gauss(7, 60, 5)
LONG_NU = below(LONG, 0.5)


def assert_ended(found: CuttingPlaneResult, stop: StopReason) -> None:
    assert found.stop is stop, found.message
    assert not found.proven
    assert found.proof == ""
    assert 0 < found.bound < found.best.objective
    w = found.best.weight
    assert levels(LONG, LONG_NU, np.full(60, 1 / 60), w[None, :])[0] == pytest.approx(
        found.best.objective
    )
    for entry in found.trace:
        assert entry.lower <= found.best.objective


def test_ctrl_c_keeps_the_best_point_and_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = signal.getsignal(signal.SIGINT)
    cut, count = separation.concavity_cut, []

    def pressing(*words: Any) -> Any:
        count.append(1)
        if len(count) == 4:
            signal.raise_signal(signal.SIGINT)
        return cut(*words)

    monkeypatch.setattr(separation, "concavity_cut", pressing)
    found = cutting_plane(LONG, nu=LONG_NU)
    assert_ended(found, StopReason.INTERRUPTED)
    assert len(found.cuts) == 4
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("stop", [StopReason.INTERRUPTED, StopReason.TIME_LIMIT])
def test_a_program_that_is_cut_short_ends_the_loop(
    stop: StopReason, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seventieth program is interrupted, or the clock jumps inside of it."""
    resolve, solves, late = LiveLP.resolve, itertools.count(1), [0.0]

    def short(live: LiveLP, limit: float | None = None) -> Any:
        answer = resolve(live, limit)
        if next(solves) != 70:
            return answer
        if stop is StopReason.INTERRUPTED:
            return replace(answer, status=Status.INTERRUPTED)
        late[0] = 1e6
        return replace(answer, status=Status.LIMIT_NO_SOLUTION)

    monkeypatch.setattr(LiveLP, "resolve", short)
    clock = SimpleNamespace(perf_counter=lambda: time.perf_counter() + late[0])
    monkeypatch.setattr(f"{Relaxation.__module__}.time", clock)
    assert_ended(cutting_plane(LONG, nu=LONG_NU, time_limit=1e5), stop)


def test_a_second_ctrl_c_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGINT)

    def pressing(*_: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(separation, "concavity_cut", pressing)
    with pytest.raises(KeyboardInterrupt):
        cutting_plane(LONG, nu=LONG_NU)
    assert signal.getsignal(signal.SIGINT) is before


# --- proofs --------------------------------------------------------------------------------------


def test_an_empty_relaxation_that_nothing_confirms_is_no_proof(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    longest = Relaxation.longest

    def empty_after(relaxation: Relaxation, direction: np.ndarray) -> Found | None:
        return None if relaxation.solves > 60 else longest(relaxation, direction)

    monkeypatch.setattr(Relaxation, "longest", empty_after)
    data = gauss(7, 24, 3)
    nu = below(data, 0.5)
    found = cutting_plane(data, nu=nu)
    assert "no multipliers prove that; branch and cut went on" in found.message
    assert found.nodes > 1
    assert "branch and cut over boxes" in found.proof
    assert found.proven
    assert found.best.objective == pytest.approx(hull_search(data, nu=nu).objective, rel=1e-9)
    # Boxes end by a limit, with the bound that they have.
    close = functools.partial(without_time, outer_loop.close_gap)
    monkeypatch.setattr(outer_loop, "close_gap", close)
    late = cutting_plane(LONG, nu=LONG_NU)
    assert late.stop is StopReason.TIME_LIMIT
    assert late.proof == ""
    assert 0 <= late.bound < late.best.objective * 0.99


def without_time(search: Any, *args: Any, **words: Any) -> Any:
    return search(*args, **{**words, "time_limit": 1e-9})


def test_emptiness_is_proven_only_where_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    found = looped("projected")
    relaxation = Relaxation(found.problem, found.best.objective)
    cuts, gamma = list(found.cuts), (1 + found.tolerance) / found.best.objective
    assert emptiness.emptiness(relaxation, [], gamma) == ""
    assert "exact rational" in emptiness.emptiness(relaxation, cuts, gamma)
    # Without its last cut the polytope still had the vertex that it removed.
    assert emptiness.emptiness(relaxation, cuts[:-1], gamma) == ""
    # Next to the best weight the objective is 0.97 or more, and up to 1 there is something left.
    near = -found.best.weight
    origin, length = found.cuts[0].origin, 1 / found.best.objective
    for share, left in ((0.97, True), (1.001, False)):
        tip = scaled_cut(Kind.CONCAVITY, {"w": near}, -share * length, origin)
        assert (emptiness.emptiness(relaxation, [tip], gamma) == "") is left
    # So is it by the sphere alone.
    monkeypatch.setattr(emptiness, "_least_objective", lambda *_: None)
    assert emptiness.emptiness(relaxation, cuts, gamma)
    for k in range(len(cuts)):
        fewer = cuts[:k] + cuts[k + 1 :]
        left = relaxation_of(found.problem, fewer).longest(found.best.weight) is not None
        assert (emptiness.emptiness(relaxation, fewer, gamma) == "") or not left
    assert emptiness.emptiness(relaxation, cuts[:-1], gamma) == ""


@pytest.mark.parametrize("way", WAYS)
def test_each_proof_stands_in_for_the_one_before(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = looped(way)
    assert "exact rational bound" in plain.proof
    monkeypatch.setattr(emptiness, "_least_objective", lambda *_: None)
    on_sphere = cutting_plane(PLANE, nu=NU, **WAYS[way])
    if way != "lifted":  # its rows are not over weights alone
        assert "lowered by more than all roundings: no w of norm 1" in on_sphere.proof
        assert on_sphere.nodes == 0
    monkeypatch.setattr(emptiness, "_on_sphere", lambda *_: "")
    by_boxes = cutting_plane(PLANE, nu=NU, **WAYS[way])
    assert by_boxes.nodes > 0 or by_boxes.proof == BOX
    for found in (on_sphere, by_boxes):
        assert found.proven
        assert found.best.objective == pytest.approx(plain.best.objective, rel=1e-12)
        assert found.gap <= found.tolerance * (1 + 1e-9)


def relaxation_of(problem: PolarProblem, cuts: list[Any]) -> Relaxation:
    found = Relaxation(problem, 0.25)
    for cut in cuts:
        found.add(cut)
    return found


@pytest.mark.parametrize("way", WAYS)
def test_a_needle_is_solved(way: str) -> None:
    """Features of very different size: a polytope a thousand times as long as it is wide."""
    base = gauss(2, 14, 3)
    data = TrainingData(base.X * np.array([1e-3, 1.0, 1e2]), base.y)
    nu = below(data, 0.3)
    longest = np.linalg.norm(corners(data, nu, np.full(14, 1 / 14)), axis=1).max()
    found = cutting_plane(data, nu=nu, **WAYS[way])
    assert found.proven
    assert found.best.objective == pytest.approx(1 / longest, rel=1e-7)


@pytest.mark.parametrize("way", WAYS)
def test_a_weight_with_objective_0_is_optimal(way: str) -> None:
    """Points of both classes on a line that else separates them: h = 0 there, below nu_bar too."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.0], [0.0, 1.0], [2.0, 1.5], [1.0, -1.0]])
    data = TrainingData(X, np.array([1.0, 1.0, -1.0, 1.0, 1.0, -1.0]))
    found = cutting_plane(data, nu=below(data, 0.5), **WAYS[way])
    assert found.proven
    assert found.best.objective == found.bound == found.gap == 0.0
    assert abs(found.best.weight[0]) < 1e-6


def test_a_coefficient_that_the_program_would_lose_costs_the_side() -> None:
    relaxation = Relaxation(polar_problem(PLANE, nu=NU), 0.25)
    origin = looped("projected").cuts[0].origin
    cut = scaled_cut(Kind.CONCAVITY, {"w": np.array([1.0, -1.5e-9])}, 3.0, origin)
    with pytest.raises(LostNumbersError, match="drop"):
        relaxation.add(replace(cut, coefficients={"w": np.array([1.0, -5e-10])}))
    relaxation.most = {"w": np.array(40.0)}
    row, side = relaxation.inner_row(cut)
    assert row["w"].tolist() == [1.0, 0.0]
    # In units of 0.25 the weight is a quarter of what it is in the data's, and so is the row.
    assert side == pytest.approx(3.0 * 0.25 + 1.5e-9 * 40.0, abs=1e-15)


# --- the pool ------------------------------------------------------------------------------------


def test_the_pool_takes_no_cut_twice_and_drops_what_a_parallel_one_implies() -> None:
    found = looped("projected")
    pool = Pool(Relaxation(found.problem, found.best.objective))
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
    found = cutting_plane(data, nu=below(data, 0.6), round_limit=25)
    relaxation = Relaxation(found.problem, found.best.objective)
    pool = Pool(relaxation)
    for cut in found.cuts:
        pool.add(cut)
    directions = np.random.default_rng(0).standard_normal((20, 3))

    def reach(program: Relaxation) -> list[float]:
        each = [program.longest(v) for v in directions]
        return [float(v @ f.weight) for v, f in zip(directions, each, strict=True) if f is not None]

    before = reach(relaxation)
    assert len(before) == 20
    count = len(pool.active)
    pool.prune(1000)
    assert len(pool.active) < count
    assert pool.dropped == count - len(pool.active)
    assert reach(relaxation) == pytest.approx(before, rel=1e-7)
    anew = Relaxation(found.problem, found.best.objective)
    for cut in pool.active:
        anew.add(cut)
    assert reach(anew) == pytest.approx(before, rel=1e-7)


# --- Algorithm 10's own stop: no face of P is left -----------------------------------------------

CASES = [(7, 24, 2, 0.5), (7, 30, 2, 0.3), (1, 20, 2, 0.1), (2, 18, 3, 0.3)]


@functools.cache
def literal(
    seed: int, n: int, d: int, share: float
) -> tuple[TrainingData, float, CuttingPlaneResult, np.ndarray]:
    """A literal run, and all corners of its polytope by brute force."""
    data = gauss(seed, n, d)
    nu = below(data, share)
    every = corners(data, nu, np.full(n, 1 / n))
    return data, nu, cutting_plane(data, nu=nu, strategy="literal"), every


def keeps(cuts: list[Cut], problem: PolarProblem, weight: np.ndarray) -> bool:
    values = problem.split(weight)
    return all(cut.violation(values) <= -1e-9 * cut.size_at(values) for cut in cuts)


@pytest.mark.parametrize("words", CASES)
def test_at_the_literal_stop_no_corner_and_no_boundary_point_keeps_the_cuts(
    words: tuple[int, int, int, float],
) -> None:
    data, nu, found, every = literal(*words)
    stop = found.no_face_left
    assert found.proven
    assert stop is not None
    assert stop.round <= len(found.cuts)
    assert stop.lp_solves <= found.lp_solves
    cuts, problem = list(found.cuts[: stop.round]), found.problem
    assert not any(keeps(cuts, problem, corner) for corner in every)
    directions = np.random.default_rng(0).standard_normal((1000, data.d))
    assert not any(keeps(cuts, problem, problem.onto_boundary(w)) for w in directions)
    longest = np.linalg.norm(every, axis=1).max()
    assert found.best.objective == pytest.approx(1 / longest, rel=1e-9)
    other = cutting_plane(data, nu=nu)  # the usual stop is another one
    assert found.best.objective == pytest.approx(other.best.objective, rel=1e-9)
    assert other.no_face_left is None
    assert other.faces == ()
    facial = [face.round for face in found.faces if face.cut == "facial"]
    assert facial == [cut.number for cut in found.cuts if cut.kind is Kind.FACIAL]
    assert found.to_json()["faces"][0]["rows"]


def square(problem: PolarProblem, half: float, sides: int = 4) -> list[Cut]:
    origin = looped("literal").cuts[0].origin
    rows = [np.array(row) for row in ([1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0])]
    return [
        scaled_cut(Kind.CONCAVITY, {"w": row}, half, origin).numbered(i, i)
        for i, row in enumerate(rows[:sides])
    ]


def test_a_polytope_of_cuts_inside_of_p_leaves_no_face() -> None:
    problem = looped("literal").problem
    every = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    reach = max(support_value(problem.hulls, corner) for corner in every)
    inside, unit = np.zeros(2), 1 / reach
    assert weight_on_a_face(problem, square(problem, 0.999 / reach), inside, unit) is None
    for half, sides in ((1.001 / reach, 4), (0.5 / reach, 3), (0.5 / reach, 2), (0.5 / reach, 1)):
        cuts = square(problem, half, sides)
        left = weight_on_a_face(problem, cuts, inside, unit)
        assert left is not None
        assert support_value(problem.hulls, left) == pytest.approx(1.0, abs=1e-9)
        values = problem.split(left)
        assert all(cut.violation(values) <= 1e-9 * cut.size_at(values) for cut in cuts)
    assert weight_on_a_face(problem, [], inside, unit) is not None
