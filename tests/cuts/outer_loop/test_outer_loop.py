"""The outer loop: the right optimum with its proof, honest bounds, and every way of stopping."""

from __future__ import annotations

import functools
import signal
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.inside.cuts import (
    BOX,
    STRATEGIES,
    CuttingPlaneResult,
    Found,
    Kind,
    LostNumbersError,
    PolarProblem,
    Pool,
    Relaxation,
    apex_at,
    emptiness,
    polar_problem,
    scaled_cut,
    separation,
)
from tests.inside.cuts import run as outer_loop
from tests.inside.formulations import edges, ties_at
from tests.inside.solvers import StopReason
from tests.references.polytope_corners import corners, gauss, levels
from tightmargin.cuts import cutting_plane, hull_search
from tightmargin.formulations import TrainingData
from tightmargin.solvers import LiveLP, Status, nu_range

WAYS: dict[str, dict[str, str]] = {
    "projected": {},
    "lifted": {"space": "lifted"},
    "literal": {"strategy": "literal"},
}


def below(data: TrainingData, share: float, **options: Any) -> float:
    return share * nu_range(data, **options).nu_bar


def assert_honest(found: CuttingPlaneResult, optimum: float) -> None:
    """Certified bound <= optimum <= incumbent in every round; both only ever improve."""
    assert len(found.trace) >= len(found.cuts)
    for entry in found.trace:
        assert 0 <= entry.lower <= optimum * (1 + 1e-9)
        assert optimum * (1 - 1e-9) <= entry.upper
    lower = [entry.lower for entry in found.trace]
    upper = [entry.upper for entry in found.trace]
    assert lower == sorted(lower)
    assert upper == sorted(upper, reverse=True)
    assert found.bound == found.trace[-1].lower
    solves = [entry.lp_solves for entry in found.trace]
    assert solves == sorted(solves)
    assert solves[-1] == found.lp_solves


def assert_proven(found: CuttingPlaneResult, optimum: float) -> None:
    assert found.stop is StopReason.PROVEN, found.message
    assert found.proven
    assert "exact rational bound" in found.proof
    assert found.best.objective == pytest.approx(optimum, rel=1e-9)
    assert found.gap <= found.tolerance * (1 + 1e-9)
    # No cut gave away more than the tolerance says.
    given = max((cut.origin.gamma for cut in found.cuts), default=0.0) * found.best.objective
    assert given <= (1 + found.tolerance) * (1 + 1e-12)
    assert_honest(found, optimum)


# --- laws ----------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_run() -> None:
    data = gauss(7, 24, 2)
    runs = [cutting_plane(data, nu=below(data, 0.5), seed=3).to_json() for _ in range(2)]
    for run in runs:
        del run["seconds"]
        for entry in run["trace"]:
            del entry["seconds"]
    assert runs[0] == runs[1]


# --- ends ----------------------------------------------------------------------------------------

LONG = gauss(7, 60, 5)
LONG_NU = 0.5 * nu_range(LONG).nu_bar


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


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("limit", [0.02, 1.0])
def test_a_time_limit_keeps_the_best_point_and_the_bound(limit: float, strategy: str) -> None:
    found = cutting_plane(LONG, nu=LONG_NU, time_limit=limit, strategy=strategy)
    assert_ended(found, StopReason.TIME_LIMIT)
    assert found.seconds < limit + 60, "a busy machine is late, not deaf"


def test_a_round_limit_keeps_the_best_point_and_the_bound() -> None:
    found = cutting_plane(LONG, nu=LONG_NU, round_limit=12)
    assert_ended(found, StopReason.ROUND_LIMIT)
    assert len(found.cuts) == 12
    earlier = cutting_plane(LONG, nu=LONG_NU, round_limit=0)
    assert earlier.bound <= found.bound


def test_ctrl_c_between_programs_or_inside_one_keeps_the_best_point_and_the_bound(
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
    monkeypatch.undo()

    resolve, solves = LiveLP.resolve, []

    def pressing_inside(live: LiveLP, limit: float | None = None) -> Any:
        solves.append(1)
        if len(solves) == 70:
            handle = live._inside.handle  # type: ignore[union-attr]
            run = handle.run

            def run_pressed(seconds: float | None) -> Any:
                handle.run = run
                with handle._interruptible():
                    signal.raise_signal(signal.SIGINT)
                    assert handle._stop
                return Status.INTERRUPTED, "interrupted"

            handle.run = run_pressed  # type: ignore[method-assign]
        return resolve(live, limit)

    monkeypatch.setattr(LiveLP, "resolve", pressing_inside)
    assert_ended(cutting_plane(LONG, nu=LONG_NU), StopReason.INTERRUPTED)
    assert signal.getsignal(signal.SIGINT) is before


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


def test_emptiness_is_proven_only_where_nothing_is_left() -> None:
    data = gauss(7, 24, 2)
    nu = below(data, 0.5)
    found = cutting_plane(data, nu=nu)
    relaxation = Relaxation(found.problem, found.best.objective)
    gamma = (1 + found.tolerance) / found.best.objective
    assert emptiness.emptiness(relaxation, [], gamma) == ""
    assert "exact rational" in emptiness.emptiness(relaxation, list(found.cuts), gamma)
    # Without its last cut the polytope still had the vertex that it removed.
    assert emptiness.emptiness(relaxation, list(found.cuts[:-1]), gamma) == ""
    # Next to the best weight the objective is 0.97 or more, and up to 1 there is something left.
    near = -found.best.weight
    origin, length = found.cuts[0].origin, 1 / found.best.objective
    for share, left in ((0.97, True), (1.001, False)):
        tip = scaled_cut(Kind.CONCAVITY, {"w": near}, -share * length, origin)
        assert (emptiness.emptiness(relaxation, [tip], gamma) == "") is left


@pytest.mark.parametrize("way", WAYS)
def test_each_proof_stands_in_for_the_one_before(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = gauss(7, 24, 2)
    nu = below(data, 0.5)
    plain = cutting_plane(data, nu=nu, **WAYS[way])
    assert "exact rational bound" in plain.proof
    monkeypatch.setattr(emptiness, "_least_objective", lambda *_: None)
    on_sphere = cutting_plane(data, nu=nu, **WAYS[way])
    if way != "lifted":  # its rows are not over weights alone
        assert "lowered by more than all roundings: no w of norm 1" in on_sphere.proof
        assert on_sphere.nodes == 0
    monkeypatch.setattr(emptiness, "_on_sphere", lambda *_: "")
    by_boxes = cutting_plane(data, nu=nu, **WAYS[way])
    assert by_boxes.nodes > 0 or by_boxes.proof == BOX
    for found in (on_sphere, by_boxes):
        assert found.proven
        assert found.best.objective == pytest.approx(plain.best.objective, rel=1e-12)
        assert found.gap <= found.tolerance * (1 + 1e-9)


def test_the_sphere_proves_nothing_where_something_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(emptiness, "_least_objective", lambda *_: None)
    data = gauss(7, 24, 2)
    found = cutting_plane(data, nu=below(data, 0.5))
    relaxation = Relaxation(found.problem, found.best.objective)
    cuts, gamma = list(found.cuts), (1 + found.tolerance) / found.best.objective
    assert emptiness.emptiness(relaxation, cuts, gamma)
    for k in range(len(cuts)):
        fewer = cuts[:k] + cuts[k + 1 :]
        left = relaxation_of(found.problem, fewer).longest(found.best.weight) is not None
        assert (emptiness.emptiness(relaxation, fewer, gamma) == "") or not left
    assert emptiness.emptiness(relaxation, cuts[:-1], gamma) == ""


def relaxation_of(problem: PolarProblem, cuts: list[Any]) -> Relaxation:
    found = Relaxation(problem, 0.25)
    for cut in cuts:
        found.add(cut)
    return found


def test_a_box_no_longer_than_gamma_is_a_proof_where_the_last_cuts_fail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Next to the optimum what is left may be too small for cones: its box then says the rest."""
    data = gauss(8, 18, 3)
    nu = below(data, 0.6)
    whole = cutting_plane(data, nu=nu)
    wide = cutting_plane(data, nu=nu, tolerance=0.2, round_limit=len(whole.cuts))
    # The box is small enough some cuts before nothing is left.
    early = next(k for k in range(len(wide.cuts) // 2, len(wide.cuts)) if bounded(data, nu, k))
    found = cutting_plane(data, nu=nu, tolerance=0.2, round_limit=early)
    assert found.proven
    assert found.proof == BOX
    assert "round limit" in found.message
    assert found.bound <= whole.best.objective <= found.best.objective * (1 + 1e-9)
    assert found.gap <= 0.2


def bounded(data: TrainingData, nu: float, rounds: int) -> bool:
    found = cutting_plane(data, nu=nu, tolerance=0.2, round_limit=rounds)
    return found.proven and found.proof == BOX


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


def test_the_cone_of_a_corner_is_the_one_of_all_its_rows() -> None:
    """A vertex moved out by rounding still has every row: with one less its cuts are shallow."""
    data = gauss(2, 16, 3)
    nu = below(data, 0.3)
    problem = polar_problem(data, nu=nu)
    for corner in corners(data, nu, np.full(16, 1 / 16)):
        found = apex_at(problem, corner)
        assert found is not None
        assert found.corner
        assert len(found.rays) == len(edges_of(problem, corner))
        assert np.linalg.norm(found.vertex - corner) <= 1e-9 * np.linalg.norm(corner)


def edges_of(problem: PolarProblem, corner: np.ndarray) -> np.ndarray:
    found = edges(problem.hulls, corner, ties_at(problem.hulls, corner))
    assert found is not None
    return found


def test_a_coefficient_that_the_program_would_lose_costs_the_side() -> None:
    data = gauss(7, 24, 2)
    nu = below(data, 0.5)
    problem = polar_problem(data, nu=nu)
    relaxation = Relaxation(problem, 0.25)
    origin = cutting_plane(data, nu=nu).cuts[0].origin
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
    data = gauss(7, 24, 2)
    found = cutting_plane(data, nu=below(data, 0.5))
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
