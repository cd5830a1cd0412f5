"""The conflict search against enumeration, brute force over kept points, and published optima."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.inside.experiments import load
from tests.inside.formulations import margins, zero_one_objective
from tests.inside.solvers import (
    ConflictSearch,
    StopReason,
    TracePoint,
    certified_norm2,
    empty_sets,
    grow,
    hyperplane,
    incumbents,
    probed_norm2,
    zero_one_enumeration,
)
from tests.inside.solvers import node_bounds_packed as packed
from tests.inside.solvers import signed_points_signed_points as signed_points
from tests.inside.solvers import tree as growing
from tests.references.brute_force import zero_one_optima
from tightmargin.formulations import TrainingData
from tightmargin.solvers import conflict_search

INTERCEPTS = ("free", "penalised", "none")
GAP = 1e-6


def overlapping(n: int, d: int, seed: int) -> TrainingData:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return TrainingData(rng.normal(size=(n, d)) + 0.4 * y[:, None], y)


def from_scratch(data: TrainingData, penalty: float, intercept: str) -> ConflictSearch:
    """A search that has to find the optimum itself: a bound that is too high would prune it."""
    nothing = (np.zeros(data.d), 0.0)
    return conflict_search(data, penalty=penalty, intercept=intercept, incumbent=nothing)


def check_result(data: TrainingData, penalty: float, intercept: str, found: ConflictSearch) -> None:
    """The result's own numbers agree with each other."""
    value = zero_one_objective(data, found.w, found.b, penalty=penalty, intercept=intercept)
    assert found.objective == value
    assert found.bound <= found.objective
    seconds = [point.seconds for point in found.trace]
    bounds = [point.bound for point in found.trace]
    assert seconds == sorted(seconds)
    assert bounds == sorted(bounds)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("penalty", [0.05, 0.7, 40.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_optimum_is_that_of_enumeration(seed: int, penalty: float, intercept: str) -> None:
    data = overlapping(24, 3, seed)
    found = from_scratch(data, penalty, intercept)
    exact = zero_one_enumeration(data, penalty=penalty, intercept=intercept)
    check_result(data, penalty, intercept, found)
    assert found.stop is StopReason.PROVEN
    assert found.objective == pytest.approx(exact.objective, rel=2 * GAP)
    assert found.objective * (1 - 2 * GAP) <= found.bound <= exact.objective


coordinates = st.integers(-3, 3)


@given(
    points=st.lists(
        st.tuples(coordinates, coordinates, st.sampled_from([-1, 1])), min_size=3, max_size=8
    ).filter(lambda rows: len({row[2] for row in rows}) == 2),
    penalty=st.sampled_from([0.05, 1.0, 40.0]),
    intercept=st.sampled_from(INTERCEPTS),
)
@settings(max_examples=100)
def test_integer_points_with_ties_and_repetitions(
    points: list[tuple[int, int, int]], penalty: float, intercept: str
) -> None:
    rows = np.array(points, dtype=float)
    data = TrainingData(rows[:, :2], rows[:, 2])
    found = from_scratch(data, penalty, intercept)
    (optimum,) = zero_one_optima(data, (penalty,), intercept)
    check_result(data, penalty, intercept, found)
    assert found.objective == pytest.approx(optimum, rel=2 * GAP, abs=1e-9)
    assert found.bound <= optimum * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("d", [1, 2])
def test_points_at_zero_are_violated_where_nothing_can_keep_them(d: int, intercept: str) -> None:
    X = np.array([[0.0], [0.0], [1.0], [2.0], [-1.0], [2.0], [-2.0], [0.0]]) * np.ones(d)
    data = TrainingData(X, np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0, -1.0, 1.0]))
    found = from_scratch(data, 3.0, intercept)
    (optimum,) = zero_one_optima(data, (3.0,), intercept)
    assert found.stop is StopReason.PROVEN
    assert found.objective == pytest.approx(optimum, rel=2 * GAP)
    assert found.gap <= 2 * GAP


def test_a_bound_that_rounding_keeps_open_is_not_called_proven(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(incumbents, "NEAR", -1.0)  # no hyperplane of the search's is ever taken
    data = overlapping(16, 2, 15)
    found = conflict_search(
        data, penalty=1.0, intercept="free", incumbent=(np.zeros(2), 1.0), gap=1e-6
    )
    assert found.stop is StopReason.NUMERICAL
    optimum = zero_one_enumeration(data, penalty=1.0, intercept="free").objective
    assert found.bound <= optimum


@pytest.mark.parametrize("unit", [2.0**-100, 1e-6, 1e6])
def test_the_optimum_follows_a_change_of_units(unit: float) -> None:
    data = overlapping(20, 2, 3)
    scaled = TrainingData(data.X * unit, data.y)
    own = conflict_search(data, penalty=1.0, intercept="free")
    other = conflict_search(scaled, penalty=1.0 / unit**2, intercept="free")
    assert other.objective * unit**2 == pytest.approx(own.objective, rel=2 * GAP)
    assert other.bound * unit**2 == pytest.approx(own.bound, rel=2 * GAP)


def test_far_data_are_centred_before_their_products_are_taken() -> None:
    data = overlapping(20, 2, 4)
    moved = TrainingData(data.X + 2.0**20, data.y)  # exact in binary up to the last bits
    own = conflict_search(data, penalty=1.0, intercept="free")
    other = conflict_search(moved, penalty=1.0, intercept="free")
    assert other.objective == pytest.approx(own.objective, rel=1e-5)
    assert other.bound <= other.objective


PUBLISHED = [("n60d2ATj0", 1), ("n60d5ATj1", 1), ("n60d5ATj0", 10), ("n60d10ATj0", 100)]


@pytest.mark.parametrize(("name", "C"), PUBLISHED)
def test_published_optima_are_proven_again(name: str, C: int, data_folder: Path) -> None:
    folder = data_folder / "hard_margin_loss"
    with (folder / "published_bounds.csv").open() as stream:
        (row,) = [r for r in csv.DictReader(stream) if r["instance"] == name and float(r["C"]) == C]
    found = from_scratch(load(str(folder / name)), 2.0 * C, "free")
    assert found.stop is StopReason.PROVEN
    assert found.objective / 2 == pytest.approx(float(row["benders_upper"]), abs=5e-6)
    assert found.gap <= 2 * GAP


@pytest.mark.parametrize("short", [1e-5, 1e-8])
@pytest.mark.parametrize("seed", range(2))
def test_points_a_hair_below_the_margin_are_kept_where_that_is_cheap(
    seed: int, short: float
) -> None:
    """The search's own hyperplanes are exact to 1e-5 or so with a free intercept."""
    data = overlapping(18, 2, seed)
    far = TrainingData(data.X + np.array([40.0, -30.0]) * (data.y[:, None] > 0), data.y)
    first = zero_one_enumeration(far, penalty=0.01, intercept="free")
    near = np.flatnonzero(np.abs(margins(far, first.w, first.b) - 1) < 1e-9)
    across = np.array([-first.w[1], first.w[0]]) / np.linalg.norm(first.w)
    step = first.w / (first.w @ first.w)
    new = [far.X[i] - short * far.y[i] * step + t * across for i in near for t in (-0.5, 0.5)]
    y = [far.y[i] for i in near for _ in (0, 1)]
    more = TrainingData(np.vstack([far.X, new]), np.r_[far.y, y])
    found = conflict_search(more, penalty=0.01, intercept="free")
    exact = zero_one_enumeration(more, penalty=0.01, intercept="free")
    assert exact.objective < first.objective + 0.01
    assert found.objective == pytest.approx(exact.objective, rel=2 * GAP)
    assert found.gap <= 2 * GAP


# --- limits --------------------------------------------------------------------------------------


def test_every_limit_leaves_a_valid_bound_and_the_better_the_later() -> None:
    data, bounds = overlapping(30, 3, 5), []
    optimum = zero_one_enumeration(data, penalty=1.0, intercept="free").objective
    start = (np.zeros(3), 1.0)
    for limit in (1, 200, 1500, 5000):
        found = conflict_search(
            data, penalty=1.0, intercept="free", incumbent=start, step_limit=limit
        )
        check_result(data, 1.0, "free", found)
        assert found.bound <= optimum
        bounds.append(found.bound)
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[-1]


def test_the_step_limit_repeats_exactly() -> None:
    data = overlapping(30, 3, 6)
    first, second = (
        conflict_search(data, penalty=1.0, intercept="free", step_limit=800) for _ in range(2)
    )
    assert first.stop is StopReason.STEP_LIMIT
    assert (first.bound, first.objective, first.steps, first.nodes) == (
        second.bound, second.objective, second.steps, second.nodes,
    )  # fmt: skip


def test_a_time_limit_is_told_and_kept() -> None:
    ticks = itertools.count()
    found = conflict_search(
        overlapping(40, 4, 7),
        penalty=1.0,
        intercept="free",
        time_limit=3.0,
        clock=lambda: float(next(ticks)),
    )
    assert found.stop is StopReason.TIME_LIMIT
    assert 0 < found.bound < found.objective
    assert found.seconds >= 3.0


@pytest.mark.parametrize("at", [1, 3])
def test_an_interrupt_keeps_the_incumbent_and_the_bound(
    at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, calls, real = overlapping(30, 3, 8), itertools.count(1), growing.bounded
    optimum = zero_one_enumeration(data, penalty=1.0, intercept="free").objective

    def pressed(*args: object, **kwargs: object) -> object:
        if next(calls) == at:
            raise KeyboardInterrupt
        return real(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(growing, "bounded", pressed)
    start = (np.zeros(3), 1.0)
    found = conflict_search(data, penalty=1.0, intercept="free", incumbent=start)
    assert found.stop is StopReason.INTERRUPTED
    check_result(data, 1.0, "free", found)
    assert found.bound <= optimum
    assert (found.bound > 0) == (at > 1)


def test_an_interrupt_of_the_heuristic_leaves_a_hyperplane(monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*args: object, **words: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(growing, "zero_one_incumbent", pressed)
    data = overlapping(30, 3, 8)
    found = conflict_search(data, penalty=1.0, intercept="free")
    assert found.stop is StopReason.INTERRUPTED
    assert (found.objective, found.bound) == (min(data.n_pos, data.n_neg), 0.0)
    check_result(data, 1.0, "free", found)


def test_progress_is_told_as_it_is_kept() -> None:
    told: list[TracePoint] = []
    data = overlapping(24, 3, 9)
    found = conflict_search(data, penalty=1.0, intercept="free", progress=told.append)
    assert tuple(told) == found.trace
    assert told[-1].bound == found.bound


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ({"penalty": 0.0}, "penalty"),
        ({"intercept": "loose"}, "intercept"),
        ({"gap": 0.0}, "gap"),
        ({"time_limit": -1.0}, "time_limit"),
    ],
)
def test_bad_input_is_named(words: dict[str, object], match: str) -> None:
    arguments: dict[str, object] = {"penalty": 1.0, "intercept": "free"} | words
    with pytest.raises(ValueError, match=match):
        conflict_search(overlapping(10, 2, 0), **arguments)  # type: ignore[arg-type]


def test_too_many_points_are_refused_before_memory_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tests.inside.solvers import packings_signed_points as points

    monkeypatch.setattr(points, "LARGEST", 9)
    with pytest.raises(ValueError, match="at most 9, got 10"):
        conflict_search(overlapping(10, 2, 0), penalty=1.0, intercept="free")


# --- parts ---------------------------------------------------------------------------------------


def least_norm2(data: TrainingData, kept: list[int], intercept: str) -> float:
    """Least norm over kept points by their hull of differences, with SciPy's own solver."""
    from scipy.optimize import minimize

    X = data.X if intercept != "penalised" else np.hstack([data.X, np.ones((data.n, 1))])
    k = X.shape[1] + (intercept == "free")
    A = np.hstack([X, np.ones((data.n, 1))]) if intercept == "free" else X
    A = data.y[kept, None] * A[kept]
    size = X.shape[1]
    found = minimize(
        lambda v: v[:size] @ v[:size],
        np.zeros(k),
        jac=lambda v: np.r_[2 * v[:size], np.zeros(k - size)],
        constraints={"type": "ineq", "fun": lambda v: A @ v - 1, "jac": lambda v: A},
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return float(found.fun) if found.success else np.inf


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_growing_ends_at_the_least_norm_that_another_solver_finds(intercept: str) -> None:
    data = overlapping(12, 3, 11)
    points = signed_points(data, intercept=intercept)
    rng = np.random.default_rng(0)
    allowed = np.array([rng.permutation(12) < 5 for _ in range(6)])
    found = grow(points, empty_sets(points, 6), allowed, np.full(6, 1e6))
    for k in range(6):
        expected = least_norm2(data, np.flatnonzero(allowed[k]).tolist(), intercept)
        if found.finished[k]:
            assert found.norm2[k] == pytest.approx(expected, rel=1e-4)
            assert found.norm2[k] <= expected * (1 + 1e-6)
        else:
            assert found.conflict[k]
            assert expected == np.inf
    assert found.finished.any()


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_any_multipliers_prove_a_norm_that_is_not_too_large(intercept: str) -> None:
    data = overlapping(12, 3, 12)
    points = signed_points(data, intercept=intercept)
    rng = np.random.default_rng(1)
    best = 0.0
    for _ in range(40):
        members = rng.permutation(12)[:4]
        expected = least_norm2(data, members.tolist(), intercept)
        proven = float(certified_norm2(points, members, rng.normal(size=4)))
        assert proven <= expected * (1 + 1e-6)
        best = max(best, proven / expected)
    assert best > 0.5  # the bound is not trivial


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_probing_proves_no_more_than_the_least_norm_with_the_point(intercept: str) -> None:
    data = overlapping(14, 3, 13)
    points = signed_points(data, intercept=intercept)
    kept = np.zeros((1, 14), bool)
    kept[0, :4] = True
    sets = grow(points, empty_sets(points, 1), kept, np.full(1, 1e6)).sets
    proven = probed_norm2(points, sets)[0]
    rises = 0
    own = least_norm2(data, [0, 1, 2, 3], intercept)
    for i in range(4, 14):
        expected = least_norm2(data, [0, 1, 2, 3, i], intercept)
        assert proven[i] <= expected * (1 + 1e-6)
        rises += proven[i] > own * 1.01
    assert rises


def test_the_hyperplane_of_a_set_has_margin_one_on_it() -> None:
    data = overlapping(12, 3, 14)
    for intercept in INTERCEPTS:
        points = signed_points(data, intercept=intercept)
        plane = hyperplane(points, np.array([0, 1, 2]))
        assert plane is not None
        assert margins(data, *plane)[:3] == pytest.approx(np.ones(3), abs=1e-9)
    assert hyperplane(points, np.array([], dtype=np.intp)) is None


def least_objective(heights: NDArray[np.float64], own: float, penalty: float) -> float:
    """What node_bounds.py bounds, by trying every number of violated points and every norm."""
    levels = np.r_[own, heights]
    values = []
    for norm2 in levels:
        if norm2 >= own:
            # A hyperplane of this norm2 may keep whole the sets whose height is not above it.
            values.append(norm2 + penalty * int((heights > norm2).sum()))
    return min(values)


@given(
    heights=st.lists(st.floats(0, 20), min_size=0, max_size=6),
    own=st.floats(0, 10),
    penalty=st.floats(0.1, 5),
)
def test_the_packing_bound_is_the_least_objective_the_heights_allow(
    heights: list[float], own: float, penalty: float
) -> None:
    expected = least_objective(np.array(heights), own, penalty)
    assert packed(heights, own, penalty) == pytest.approx(max(own, expected))
