"""The conflict search, its parts and its workers, against enumeration and brute force."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.inside.formulations import margins, zero_one_objective
from tests.inside.solvers import (
    COVERED,
    SHARED,
    ConflictSearch,
    StopReason,
    Tree,
    certified_norm2,
    conflict_lemma,
    empty_sets,
    grow,
    hyperplane,
    incumbents,
    kept_gram,
    loans,
    probed_norm2,
    probing,
)
from tests.inside.solvers import conflict_search_parts as parts
from tests.inside.solvers import conflict_search_search as searching
from tests.inside.solvers import node_bounds_packed as packed
from tests.inside.solvers import signed_points_signed_points as signed_points
from tests.inside.solvers import tree as growing
from tests.references.active_sets import zero_one_by_sets
from tests.references.brute_force import zero_one_optima
from tests.solvers.zero_one.clouds import INTERCEPTS, clustered, least_norm2, overlapping
from tightmargin.formulations import TrainingData
from tightmargin.solvers import conflict_search


def optimum(data: TrainingData, penalty: float, intercept: str) -> float:
    return zero_one_by_sets(data, penalty=penalty, intercept=intercept).objective


# --- against other ways --------------------------------------------------------------------------


class Liar:
    """kept_gram with noise, so that every step and every multiplier is wrong."""

    def __init__(self, noise: float) -> None:
        self.noise, self.calls = noise, 0
        self.rng = np.random.default_rng(0)

    def __call__(self, *given: Any) -> NDArray[np.float64]:
        self.calls += 1
        true = kept_gram(*given)
        return true * np.exp(self.noise * self.rng.normal(size=true.shape))


@pytest.mark.parametrize(
    ("noise", "intercept"), [(1e-6, "free"), (0.01, "penalised"), (1.0, "none"), (1.0, "free")]
)
def test_wrong_multipliers_prove_no_more(noise: float, intercept: str, monkeypatch: Any) -> None:
    """Whatever multipliers come out of a numeric core that lies, no bound is too high."""
    data = overlapping(9, 2, 7)
    words: dict[str, Any] = {"intercept": intercept, "incumbent": (np.zeros(2), 0.0)}
    penalties = (0.3, 5.0)
    optima = zero_one_optima(data, penalties, intercept)
    for penalty, best in zip(penalties, optima, strict=True):
        liar = Liar(noise)
        monkeypatch.setattr(probing, "kept_gram", liar)
        found = conflict_search(data, penalty=penalty, step_limit=5_000, compiled=False, **words)
        assert liar.calls > 0
        assert found.bound <= best * (1 + 1e-9)
        assert found.objective >= best * (1 - 1e-9)
        assert found.objective == zero_one_objective(
            data, found.w, found.b, penalty=penalty, intercept=intercept
        )
        bounds = [point.bound for point in found.trace]
        assert bounds == sorted(bounds)


def test_a_bound_that_rounding_keeps_open_is_not_called_proven(monkeypatch: Any) -> None:
    monkeypatch.setattr(
        incumbents, "NEAR_SIDE", -1.0
    )  # no hyperplane of the search's is ever taken
    data = overlapping(16, 2, 15)
    found = conflict_search(data, penalty=1.0, intercept="free", incumbent=(np.zeros(2), 1.0))
    assert found.stop is StopReason.NUMERICAL
    assert found.bound <= optimum(data, 1.0, "free")


@pytest.mark.parametrize(("seed", "intercept"), list(enumerate(INTERCEPTS)))
def test_looks_leave_the_enumerated_optimum(seed: int, intercept: str, monkeypatch: Any) -> None:
    """From the first node on, with few points free."""
    for name, value in {"FIRST_LOOK": 1, "NEAREST": 4, "MORE": 1, "AGAIN": 2}.items():
        monkeypatch.setattr(growing, name, value)
    data = clustered(36, 3, seed, ties=seed == 1)
    poor = np.random.default_rng(seed).normal(size=3), 0.0
    real, looks = Tree.root, []
    monkeypatch.setattr(Tree, "root", lambda tree: (looks.append(tree), real(tree)))
    found = conflict_search(data, penalty=1.0, intercept=intercept, incumbent=poor)
    exact = optimum(data, 1.0, intercept)
    assert len(looks) > 1
    assert found.stop is StopReason.PROVEN
    assert found.objective == pytest.approx(exact, rel=2e-6)
    assert found.bound <= exact * (1 + 1e-12)


# --- what multipliers prove ----------------------------------------------------------------------


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_any_multipliers_prove_no_more_than_the_least_norm(intercept: str) -> None:
    data = overlapping(12, 3, 22)
    points = signed_points(data, intercept=intercept)
    rng, best, used = np.random.default_rng(1), 0.0, 0
    sense = np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    for _ in range(30):
        members = rng.permutation(12)[:5]
        expected = least_norm2(data, members[:4].tolist(), [], intercept)
        proven = float(certified_norm2(points, members[:4], rng.normal(size=4)))
        assert proven <= expected * (1 + 1e-6)
        best = max(best, proven / expected)
        expected = least_norm2(data, members[:3].tolist(), members[3:].tolist(), intercept)
        alpha = rng.normal(size=5)
        proven = float(certified_norm2(points, members, alpha, sense))
        assert proven <= expected * (1 + 1e-6)
        used += proven > 0 and bool((alpha[3:] < 0).any())
        right = np.where(alpha * sense > 0, alpha, 0.0)  # those of the wrong sign do not count
        assert proven == float(certified_norm2(points, members, right, sense))
    assert best > 0.5  # the bound is not trivial
    assert used


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_probing_proves_no_more_than_the_least_norm_with_the_point(intercept: str) -> None:
    data = overlapping(14, 3, 13)
    points = signed_points(data, intercept=intercept)
    kept = np.zeros((1, 14), bool)
    kept[0, :4] = True
    sets = grow(points, empty_sets(points, 1), kept, np.full(1, 1e6)).sets
    proven = probed_norm2(points, sets)[0]
    own = least_norm2(data, range(4), [], intercept)
    for i in range(4, 14):
        assert proven[i] <= least_norm2(data, [0, 1, 2, 3, i], [], intercept) * (1 + 1e-6)
    assert (proven[4:] > own * 1.01).any()
    plane = hyperplane(points, np.array([0, 1, 2]))
    assert margins(data, *plane)[:3] == pytest.approx(np.ones(3), abs=1e-9)
    assert hyperplane(points, np.array([], dtype=np.intp)) is None


@given(
    heights=st.lists(st.floats(0, 20), min_size=0, max_size=6),
    own=st.floats(0, 10),
    penalty=st.floats(0.1, 5),
)
@settings(max_examples=50)
def test_the_packing_bound_is_the_least_objective_the_heights_allow(
    heights: list[float], own: float, penalty: float
) -> None:
    """By trying every norm2: a hyperplane keeps whole the sets whose height is not above it."""
    levels = [norm2 for norm2 in (own, *heights) if norm2 >= own]
    expected = min(norm2 + penalty * sum(h > norm2 for h in heights) for norm2 in levels)
    assert packed(np.array(heights), own, penalty) == pytest.approx(max(own, expected))


# --- bounds that parts of the points prove together ----------------------------------------------


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"POINTS": 10, "AFTER": 1, "OPEN": 0.01}.items():
        monkeypatch.setattr(parts, name, value)


def points(seed: int, unit: float = 1.0) -> TrainingData:
    data = clustered(36, 3, seed, ties=seed == 1)
    return TrainingData(data.X * unit, data.y)


def left_after_parts(
    monkeypatch: pytest.MonkeyPatch, data: TrainingData, **words: Any
) -> tuple[ConflictSearch, float]:
    """A search that ends once the parts are done, and its bound before them."""
    before: list[float] = []
    real = searching._search_parts

    def stopped(search: Tree, *rest: Any) -> None:
        before.append(search.bound)
        real(search, *rest)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(searching, "_search_parts", stopped)
        found = conflict_search(data, **words)
    assert found.stop is StopReason.INTERRUPTED
    return found, before[0]


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(("seed", "intercept"), list(enumerate(INTERCEPTS)))
def test_parts_prove_the_sum_of_their_optima_and_never_more_than_that_of_all(
    seed: int, intercept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = (1.0, 2.0**-8, 2.0**20)[seed]
    data, penalty = points(seed, unit), 1.0 / unit**2
    exact = optimum(data, penalty, intercept)
    found, before = left_after_parts(monkeypatch, data, penalty=penalty, intercept=intercept)
    least = max(
        sum(
            optimum(TrainingData(data.X[own], data.y[own]), many * penalty, intercept)
            for own in parts.split_points(data, found.w, found.b, many)
        )
        / many
        for many in (2, 3)
    )
    assert before < 0.9 * least
    assert least * (1 - 2e-6) <= found.bound <= exact * (1 + 1e-12)
    lemma = conflict_lemma(found)
    assert f"the points in {found.parts} parts" in lemma.words
    assert (set(lemma.hypotheses), lemma.value) == ({COVERED, SHARED}, found.bound)


@pytest.mark.usefixtures("small_parts")
def test_limits_are_kept_with_parts_and_repeat_exactly() -> None:
    words: dict[str, Any] = {"penalty": 1.0, "intercept": "free", "incumbent": (np.zeros(3), 1.0)}
    first, second = (conflict_search(points(2), **words, step_limit=150) for _ in range(2))
    assert first.stop is StopReason.STEP_LIMIT
    assert 150 <= first.steps < 1_000
    assert (first.bound, first.steps, first.nodes) == (second.bound, second.steps, second.nodes)
    ticks = itertools.count()
    late = conflict_search(points(2), **words, time_limit=20.0, clock=lambda: float(next(ticks)))
    assert late.stop is StopReason.TIME_LIMIT
    assert 20 <= late.seconds < 40
    assert 0 < late.bound < late.objective


@pytest.mark.usefixtures("small_parts")
def test_what_a_part_has_proven_when_it_is_interrupted_counts(monkeypatch: Any) -> None:
    data = points(0)
    real, sizes = Tree.expand, []

    def pressed(tree: Tree) -> None:
        sizes.append(tree.data.n)
        if len(sizes) > 1 and sizes[-1] != sizes[-2] and sizes[-2] < 36:
            raise KeyboardInterrupt  # the second part has begun
        real(tree)

    monkeypatch.setattr(Tree, "expand", pressed)
    found = conflict_search(data, penalty=1.0, intercept="free")
    (own, *_) = parts.split_points(data, found.w, found.b, 3)
    first = optimum(TrainingData(data.X[own], data.y[own]), 3.0, "free") / 3
    assert found.stop is StopReason.INTERRUPTED
    assert first < found.bound <= optimum(data, 1.0, "free")


# --- other processes: nothing is lost with one ---------------------------------------------------

WORDS: dict[str, Any] = {
    "penalty": 10.0, "intercept": "free", "compiled": False, "incumbent": (np.zeros(4), 1.0),
}  # fmt: skip


def hard(n: int = 26) -> TrainingData:
    rng = np.random.default_rng(1)
    return TrainingData(rng.normal(size=(n, 4)), np.where(np.arange(n) % 2 == 0, 1.0, -1.0))


class Here:
    """Workers that are this process; `lost` may lose a call, or end it in another way."""

    def __init__(self, lost: Callable[[int], bool]) -> None:
        self.count, self.lost, self.calls = 2, lost, itertools.count(1)

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            if self.lost(next(self.calls)):
                raise BrokenProcessPool("killed")
            future.set_result(function(*arguments))
        except (BrokenProcessPool, ZeroDivisionError) as error:
            future.set_exception(error)
        return future


def with_workers(monkeypatch: Any, workers: Here, data: TrainingData) -> ConflictSearch:
    monkeypatch.setattr(searching, "opened_workers", lambda count, scheduler: workers)
    monkeypatch.setattr(searching, "FRONTIER", 0.0)
    monkeypatch.setattr(loans, "SECONDS", 0.02)
    return conflict_search(data, **WORDS, workers=2)


LOSSES = {
    "nobody": lambda call: False,
    "every second": lambda call: call % 2 == 0,
    "all": lambda call: True,
}


@pytest.fixture(scope="module")
def own() -> ConflictSearch:
    return conflict_search(hard(), **WORDS)


@pytest.mark.parametrize("lost", LOSSES)
def test_lost_workers_leave_the_optimum(lost: str, own: ConflictSearch, monkeypatch: Any) -> None:
    workers = Here(LOSSES[lost])
    found = with_workers(monkeypatch, workers, hard())
    assert next(workers.calls) > 3
    assert found.stop is StopReason.PROVEN
    assert found.objective == pytest.approx(own.objective, rel=2e-6)
    assert found.bound == pytest.approx(own.bound, rel=4e-6)


@pytest.mark.parametrize("at", [1, 5])
def test_an_interrupt_counts_lent_nodes(at: int, own: ConflictSearch, monkeypatch: Any) -> None:
    def pressed(call: int) -> bool:
        if call == at:
            raise KeyboardInterrupt
        return False

    found = with_workers(monkeypatch, Here(pressed), hard())
    assert found.stop is StopReason.INTERRUPTED
    assert 0 < found.bound < own.objective * (1 - 1e-5)


def test_an_error_of_the_search_itself_is_not_taken_for_a_lost_worker(monkeypatch: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        with_workers(monkeypatch, Here(lambda call: bool(1 / 0)), hard())


@pytest.mark.full("processes start, one is killed in the middle, and others take its place")
def test_killed_processes_are_replaced(monkeypatch: Any) -> None:
    from joblib.externals.loky import ProcessPoolExecutor

    killed: list[int] = []
    opened: list[Any] = []

    class Watched(ProcessPoolExecutor):
        def __init__(self, *args: Any, **words: Any) -> None:
            super().__init__(*args, **words)
            opened.append(self)

    def kill_one(told: Any) -> None:
        for process in [p for pool in opened for p in (pool._processes or {}).values()]:
            if not killed and told.nodes > 100:
                killed.append(process.pid)
                os.kill(process.pid, signal.SIGKILL)

    monkeypatch.setattr("joblib.externals.loky.ProcessPoolExecutor", Watched)
    monkeypatch.setattr(searching, "FRONTIER", 0.1)
    monkeypatch.setattr(loans, "SECONDS", 0.2)
    data = hard(40)
    found = conflict_search(data, **WORDS, workers=2, progress=kill_one)
    assert killed
    assert len(opened) > 1
    assert found.stop is StopReason.PROVEN
    assert found.objective == pytest.approx(conflict_search(data, **WORDS).objective, rel=2e-6)
