"""Time limits on a clock that the tests move: what counts towards them, and what passes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.solvers import (
    SHORTEST,
    SOLVERS,
    Limits,
    attempts,
    choose,
    clarabel,
    classify,
    deadline,
    ends_within,
    is_over,
    limit_left,
    seconds_left,
    standard_form,
    supervised,
    uninterrupted,
    within_deadline,
    within_limit,
)
from tests.inside.solvers import zero_one_methods as zero_one
from tests.support.semidefinite_models import max_cut
from tightmargin.formulations import ProblemClass
from tightmargin.solvers import Claim, SolverInfo, Status


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(deadline.time, "perf_counter", found)
    return found


@pytest.mark.parametrize(("limit", "grace"), [(1.0, 1.0), (10.0, 1.0), (40.0, 4.0)])
def test_a_proof_gets_a_second_or_a_tenth_more(limit: float, grace: float, clock: Clock) -> None:
    with ends_within(limit) as ends:
        assert (limit_left(), seconds_left()) == (limit, limit + grace)
        clock.now += limit + grace - 0.25
        assert (limit_left(), seconds_left()) == (0.0, 0.25)
        assert not is_over()
        assert within_deadline(Limits(limit)).time_limit == 0.25
        assert within_deadline(Limits()).time_limit == 0.25
        assert within_limit(Limits(limit)).time_limit == SHORTEST
        assert ends.words == ""
        clock.now += 0.25
        assert is_over()
    assert limit_left() is None
    assert within_limit(Limits(limit)) == Limits(limit)


def test_of_two_deadlines_the_earlier_counts_and_names_travel_outwards(clock: Clock) -> None:
    with ends_within(10.0) as outer:
        clock.now += 4.0
        with ends_within(20.0) as inner:
            assert (limit_left(), seconds_left()) == (6.0, 7.0)
            with uninterrupted("one"):
                clock.now += 2.0
            for name in ("two", "three"):  # the first of them passes the end
                with uninterrupted(name):
                    clock.now += 8.0
        assert inner.passed == ["two"]
        assert outer.words == "the time limit was passed by 12.0 s: two cannot be stopped"


@pytest.fixture
def sleepy(clock: Clock) -> Iterator[str]:
    """A solver that ignores its limit: half a minute passes in one call."""

    def run(form: Any, classification: Any, limits: Limits) -> Claim:
        def work() -> None:
            clock.now += 30.0

        supervised(work, name="sleepy")
        return Claim(Status.OPTIMAL, x=np.zeros(form.n), bound=0.0)

    kinds = frozenset({ProblemClass.SDP})
    info = SolverInfo("sleepy", "numpy", "numpy", kinds, (0.0, np.inf), "BSD", 1e-6, "a test's")
    attempts.register_solver(info, run)
    yield "sleepy"
    del SOLVERS["sleepy"], attempts._REGISTERED["sleepy"]


def test_a_solver_that_cannot_be_interrupted_is_named(sleepy: str) -> None:
    late = tm.solve(max_cut(3, 0), sleepy, time_limit=5.0)
    said = "the time limit was passed by 25.0 s: sleepy cannot be stopped"
    assert said in late.message
    assert late.time_limit == 5.0
    assert "passed" not in tm.solve(max_cut(3, 0), sleepy, time_limit=40.0).message


def test_nothing_is_begun_once_the_time_is_over(
    sleepy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any, **words: Any) -> Any:
        raise AssertionError("a solver was asked after the end")

    monkeypatch.setattr(clarabel, "run_conic", refuse)
    result = tm.solve(max_cut(4, 1), sleepy, time_limit=5.0)
    assert result.objective is None  # y = 0 is no point, and no other was looked for


def points(seed: int = 0) -> tm.TrainingData:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 2))
    return tm.TrainingData(X, np.where(X[:, 0] + 0.5 * rng.normal(size=20) > 0, 1.0, -1.0))


WORDS: dict[str, Any] = {"penalty": 1.0, "big_m": "derived"}


def test_what_a_limit_cut_short_stands_for_nothing_else(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float | None] = []
    found = zero_one.zero_one_incumbent

    def slow(*args: Any, time_limit: float | None = None, **words: Any) -> Any:
        given.append(time_limit)
        clock.now += 0.5
        return found(*args, **words)

    monkeypatch.setattr(zero_one, "zero_one_incumbent", slow)
    data = points()
    for limit in (1.0, 1.0, None, 1.0):
        with ends_within(limit):
            tm.build("zero_one_big_m", data, **WORDS)
    assert given == [0.25, None]


def test_the_kind_of_a_dense_matrix_decides_who_takes_it() -> None:
    """Of order 130 Clarabel would fill gigabytes, but where a pattern lets it split the matrix."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 130))
    dense = tm.conic_sdp(tm.TrainingData(X, np.array([1.0, 1.0, -1.0, -1.0])), penalty=1.0)
    for model, taken in ((dense, "scs"), (max_cut(130, 0), "clarabel")):
        form = standard_form(model)
        assert choose("auto", classify(form).problem_class, form).info.name == taken
