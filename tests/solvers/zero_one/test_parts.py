"""Bounds that parts of the points prove together."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tests.inside.solvers import (
    COVERED,
    SHARED,
    ConflictSearch,
    StopReason,
    Tree,
    conflict_lemma,
    zero_one_enumeration,
)
from tests.inside.solvers import conflict_search_parts as parts
from tests.inside.solvers import conflict_search_search as searching
from tests.solvers.zero_one.clouds import INTERCEPTS, clustered
from tightmargin.formulations import TrainingData
from tightmargin.solvers import conflict_search


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"POINTS": 10, "AFTER": 1, "OPEN": 0.01}.items():
        monkeypatch.setattr(parts, name, value)


def points(seed: int, unit: float = 1.0) -> TrainingData:
    data = clustered(36, 3, seed, ties=seed == 1)
    return TrainingData(data.X * unit, data.y)


def optimum(data: TrainingData, penalty: float, intercept: str) -> float:
    return zero_one_enumeration(data, penalty=penalty, intercept=intercept).objective


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
    assert found.bound >= least * (1 - 2e-6)
    assert found.bound <= exact * (1 + 1e-12)
    assert found.parts > 1
    lemma = conflict_lemma(found)
    assert f"the points in {found.parts} parts" in lemma.words
    assert set(lemma.hypotheses) == {COVERED, SHARED}
    assert lemma.value == found.bound
    whole = conflict_search(data, penalty=penalty, intercept=intercept)
    assert whole.stop is StopReason.PROVEN
    assert whole.objective == pytest.approx(exact, rel=2e-6)
    assert whole.bound <= exact * (1 + 1e-12)


def test_limits_are_kept_with_parts_and_repeat_exactly() -> None:
    words: dict[str, Any] = {"penalty": 1.0, "intercept": "free", "step_limit": 700}
    first, second = (conflict_search(points(2), **words) for _ in range(2))
    assert first.stop is StopReason.STEP_LIMIT
    assert 700 <= first.steps < 1_400
    assert (first.bound, first.steps, first.nodes) == (second.bound, second.steps, second.nodes)
    ticks = itertools.count()
    late = conflict_search(
        points(2), penalty=1.0, intercept="free", time_limit=20.0, clock=lambda: float(next(ticks))
    )
    assert late.stop is StopReason.TIME_LIMIT
    assert 20 <= late.seconds < 40
    assert 0 < late.bound < late.objective


def test_what_a_part_has_proven_when_it_is_interrupted_counts(monkeypatch: Any) -> None:
    data = points(0)
    exact = optimum(data, 1.0, "free")
    real, sizes = Tree.expand, []

    def pressed(tree: Tree) -> None:
        sizes.append(tree.data.n)
        if len(sizes) > 1 and sizes[-1] != sizes[-2] and sizes[-2] < 36:
            raise KeyboardInterrupt  # the second part has begun
        real(tree)

    with monkeypatch.context() as patch:
        patch.setattr(Tree, "expand", pressed)
        found = conflict_search(data, penalty=1.0, intercept="free")
    (own, *_) = parts.split_points(data, found.w, found.b, 3)
    first = optimum(TrainingData(data.X[own], data.y[own]), 3.0, "free") / 3
    assert found.stop is StopReason.INTERRUPTED
    assert first < found.bound <= exact
