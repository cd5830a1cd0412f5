"""Bound tightening keeps every good hyperplane, whatever the solver says, and proves optima."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inside.cuts import (
    ProvenMinimum,
    below_count,
    forced_by_conflicts,
    linear_minima,
    open_conflicts,
    sdp_pays,
    tightened_big_m,
    within_ball,
)
from tests.inside.cuts import TightenTightened as Tightened
from tests.inside.cuts import rounds as tightening_work
from tests.inside.cuts import tighten as bound_tightening
from tests.inside.formulations import SlackBounds, closed_slack_bounds, margins, trivial_points
from tests.inside.solvers import StopReason, zero_one_enumeration
from tests.references.brute_force import big_m_optimum, signed_rows
from tests.support.covering import FULL
from tightmargin.cuts import tighten
from tightmargin.formulations import TrainingData

Hyperplane = tuple[np.ndarray, float]
INTERCEPTS = ("free", "penalised", "none")


def good_hyperplanes(
    data: TrainingData, penalty: float, intercept: str, cutoff: float
) -> list[Hyperplane]:
    """Hyperplanes with an objective of at most the cutoff: what tightening may not cut off.

    Points of least norm through one, two, ... margins, and random points around them. With a free
    intercept the statements are about optima, and about points that keep someone of each class.
    """
    rng = np.random.default_rng(0)
    rows, price = signed_rows(data, intercept)
    scale = np.where(price > 0, 1.0, 1e3)  # a free intercept hardly counts in the norm
    points = []
    for size in range(1, rows.shape[1] + 1):
        some = np.array(list(itertools.combinations(range(data.n), size)))
        exact = np.linalg.pinv(rows[some] * scale).sum(axis=2) * scale * (1 + 1e-9)
        points += [exact * (1 + s * rng.standard_normal(exact.shape)) for s in (0.0, 0.01, 0.1)]
    v = np.vstack(points)
    objective = (price * v**2).sum(axis=1) + penalty * (v @ rows.T < 1).sum(axis=1)
    found = [
        (point, 0.0) if intercept == "none" else (point[:-1], float(point[-1]))
        for point in v[objective <= cutoff]
    ]
    if intercept != "free":
        return found
    two_classes = [
        (w, b) for w, b in found if len(set(data.y[margins(data, w, b) >= 1].tolist())) == 2
    ]
    best = zero_one_enumeration(data, penalty=penalty, intercept=intercept).objective
    trivial = trivial_points(data, penalty=penalty, intercept=intercept)
    return two_classes + [(p.w, p.b) for p in trivial if p.objective <= best * (1 + 1e-12)]


def cut_off(data: TrainingData, bounds: SlackBounds, penalty: float, intercept: str) -> int:
    """How many of the good hyperplanes the bounds cut off; there must be some to look at."""
    points = good_hyperplanes(data, penalty, intercept, bounds.cutoff * (1 - 1e-9))
    assert points
    return sum(not bounds.admits(data, w, b, intercept) for w, b in points)


def random_data(seed: int, n: int = 10, d: int = 2, offset: float = 0.0) -> TrainingData:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] + 0.6 * rng.standard_normal(n) > 0, 1.0, -1.0)
    y[0], y[1] = 1.0, -1.0
    return TrainingData(X + offset, y)


# --- nothing good is cut off ---------------------------------------------------------------------


@settings(max_examples=40 if FULL else 8)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(4, 10),
    penalty=st.sampled_from([0.3, 1.0, 4.0]),
    intercept=st.sampled_from(INTERCEPTS),
    slack=st.sampled_from([1e-4, 0.1, 0.5]),
    relaxation=st.sampled_from(["both", "qp", "sdp"]),
    offset=st.sampled_from([0.0, 3.0]),
    spacing=st.sampled_from([0.0, 0.5]),
)
def test_every_hyperplane_below_the_cutoff_stays(
    seed: int, n: int, penalty: float, intercept: str, slack: float, relaxation: str,
    offset: float, spacing: float,
) -> None:  # fmt: skip
    data = random_data(seed, n, 2, offset)
    if spacing:  # ties, repeated points and points in line
        data = TrainingData(np.round(data.X / spacing) * spacing, data.y)
    found = tighten(
        data, penalty=penalty, intercept=intercept, slack=slack, relaxation=relaxation, rounds=1
    )
    assert cut_off(data, found.bounds, penalty, intercept) == 0
    best = zero_one_enumeration(data, penalty=penalty, intercept=intercept)
    assert found.bound <= best.objective * (1 + 1e-12)
    assert found.count <= int((~best.kept).sum()) or intercept == "free"


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_a_trusted_claim_cuts_off_what_multipliers_prove(
    intercept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A solver that claims too much, and whose multipliers are noise around the true ones."""
    data = random_data(5)
    honest = tighten(data, penalty=1.0, intercept=intercept, slack=0.3, rounds=1)
    prepared = linear_minima._prepared
    monkeypatch.setattr(
        linear_minima, "_prepared", lambda conic, seconds: Liar(prepared(conic, seconds))
    )
    lied_to = tighten(data, penalty=1.0, intercept=intercept, slack=0.3, rounds=1)
    assert cut_off(data, lied_to.bounds, 1.0, intercept) == 0
    assert lied_to.bounds.upper.sum() > honest.bounds.upper.sum()
    monkeypatch.setattr(ProvenMinimum, "least", trusted)
    believed = tighten(data, penalty=1.0, intercept=intercept, slack=0.3, rounds=1)
    assert cut_off(data, believed.bounds, 1.0, intercept) > 0


class Liar:
    """Clarabel with noise on its multipliers and claims that are better than the truth."""

    def __init__(self, solver: Any) -> None:
        self.solver, self.rng = solver, np.random.default_rng(1)

    def update(self, **changes: Any) -> None:
        self.solver.update(**changes)

    def solve(self) -> Any:
        told = self.solver.solve()
        z = np.array(told.z)
        noisy = z * self.rng.uniform(0.9, 1.3, len(z)) - 0.01 * np.abs(z).max()
        claim = told.obj_val + 0.5
        return SimpleNamespace(z=noisy, x=told.x, obj_val=claim, status=told.status)


def trusted(self: ProvenMinimum, cost: np.ndarray, pinned: dict[int, float] | None = None) -> float:
    """What a solver claims, taken for a bound."""
    b = self.conic.b.copy()
    for column, value in (pinned or {}).items():
        b[self.low_row[column]], b[self.high_row[column]] = -value, value
    solution = self.solution(cost, b)
    if solution is None:
        return -np.inf
    if "PrimalInfeasible" in str(solution.status):
        return np.inf if pinned else -np.inf
    return float(solution.obj_val)


# --- the bounds are right, and good --------------------------------------------------------------


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_tightening_alone_proves_an_optimum(intercept: str) -> None:
    """Every point is decided, and the bound is the optimum that enumeration finds."""
    data = random_data(0, 16, 3)
    exact = zero_one_enumeration(data, penalty=1.0, intercept=intercept)
    told: list[str] = []
    found = tighten(data, penalty=1.0, intercept=intercept, progress=told.append)
    assert told == [str(entry) for entry in found.trace]
    assert told[0].startswith("qp: mean upper ")
    assert found.trace[-1].seconds <= found.seconds
    assert found.bound == pytest.approx(exact.objective, rel=1e-4)
    assert found.bound <= exact.objective
    np.testing.assert_array_equal(found.bounds.kept, exact.kept)
    np.testing.assert_array_equal(found.bounds.violated, ~exact.kept)
    assert found.count == int((~exact.kept).sum())
    assert {entry.relaxation for entry in found.trace} == {"qp"}  # nothing left for the SDP


@pytest.mark.parametrize("intercept", INTERCEPTS if FULL else ("free",))
def test_the_tightened_big_m_keeps_the_optimum(intercept: str) -> None:
    data = random_data(2, 9)
    found = tighten(data, penalty=1.0, intercept=intercept, rounds=1)
    big_m = tightened_big_m(found.bounds)
    exact = zero_one_enumeration(data, penalty=1.0, intercept=intercept)
    assert (
        big_m.values.max() < closed_slack_bounds(data, penalty=1.0, intercept=intercept).upper.max()
    )
    reached = big_m_optimum(data, 1.0, intercept, big_m.values)
    assert reached == pytest.approx(exact.objective, rel=1e-6)
    assert "weak-duality value of its multipliers" in big_m.proof
    too_small = big_m_optimum(data, 1.0, intercept, 0.5 * big_m.values)
    assert too_small > exact.objective * (1 + 1e-3)


def test_what_conflicts_the_count_and_the_ball_imply() -> None:
    bounds = SlackBounds(
        np.array([-3.0, -3.0, 0.5, -3.0]), np.array([0.0, 4.0, 4.0, 4.0]), 9.0, (-1.0, 2.0), 10.0,
        "", conflicts=((0, 1), (2, 3), (1, 3)),
    )  # fmt: skip
    assert open_conflicts(bounds) == ((1,), (1, 3))
    forced = forced_by_conflicts(bounds)
    np.testing.assert_array_equal(forced.violated, [False, True, True, False])
    assert open_conflicts(forced) == ()
    assert below_count(bounds, 2, 2.0).norm2 == pytest.approx(6.0, rel=1e-12)
    assert below_count(bounds, 0, 2.0).norm2 == 9.0
    rows = np.array([[0.1, 1.0], [0.2, -1.0], [0.3, 1.0], [9.0, 1.0]])
    inside = within_ball(bounds, rows, "free", np.zeros(4))
    # v = 1 - y (w x + b) with |w| <= 3 and -1 <= b <= 2: y b ends at 2 and -1, or at 1 and -2.
    assert inside.lower == pytest.approx([-1.3, -0.6, 0.5, -3.0], rel=1e-9)
    assert inside.upper == pytest.approx([0.0, 3.6, 2.9, 4.0], rel=1e-9)
    whole = within_ball(bounds, np.array([[0.3, 0.4]] * 4), "penalised", np.zeros(4))
    assert whole.upper == pytest.approx([0.0, 2.5, 2.5, 2.5], rel=1e-9)
    assert whole.lower == pytest.approx([-0.5, -0.5, 0.5, -0.5], rel=1e-9)


def test_sdp_rounds_pay_on_a_wide_gap_with_open_points() -> None:
    words: dict[str, Any] = {"relaxation": "sdp", "rounds": 1, "conflicts": False}
    wide = tighten(random_data(6, 8), penalty=1.0, intercept="free", **words)
    assert wide.gap == pytest.approx(1 - wide.bound / wide.objective, rel=1e-12)
    assert sdp_pays(replace(wide, bound=0.5 * wide.objective))
    assert not sdp_pays(replace(wide, bound=0.7 * wide.objective))
    decided = replace(wide.bounds, upper=np.minimum(wide.bounds.upper, 0.0))
    assert not sdp_pays(replace(wide, bounds=decided, bound=0.0))


def test_a_hyperplane_with_w_0_takes_the_place_of_a_worse_incumbent() -> None:
    data = random_data(6, 14)
    found = tighten(
        data, penalty=1.0, intercept="free", incumbent=(np.ones(2), 50.0), relaxation="qp"
    )
    trivial = trivial_points(data, penalty=1.0, intercept="free")[0]
    assert (found.objective, found.incumbent[1]) == (trivial.objective, trivial.b)


# --- ends ----------------------------------------------------------------------------------------


def test_the_clock_and_ctrl_c_keep_what_was_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, after a round, and in a round, whose first bounds are kept."""
    data = random_data(6, 14)
    words: dict[str, Any] = {"penalty": 1.0, "conflicts": False}

    def ended(stop: StopReason, intercept: str, **more: Any) -> Any:
        found = tighten(data, intercept=intercept, **words, **more)
        assert found.stop is stop
        assert len(found.trace) == 1
        assert cut_off(data, found.bounds, 1.0, intercept) == 0
        start = closed_slack_bounds(
            data, penalty=1.0, intercept=intercept, incumbent=found.incumbent, slack=1e-4
        )
        return found, start.upper

    found, start = ended(StopReason.TIME_LIMIT, "penalised", time_limit=1e-6)
    np.testing.assert_array_equal(found.bounds.upper, start)

    def press(_: str) -> None:
        raise KeyboardInterrupt

    found, start = ended(StopReason.INTERRUPTED, "penalised", progress=press)
    assert found.bounds.upper.mean() < start.mean()
    ticks = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: float(next(ticks)))
    monkeypatch.setattr(tightening_work, "time", clock)
    monkeypatch.setattr(bound_tightening, "time", clock)
    found, start = ended(StopReason.TIME_LIMIT, "none", relaxation="sdp", time_limit=8.5)
    moved = found.bounds.upper < start * 0.9
    assert moved[:3].all()
    assert not moved[10:].any()
    assert found.bound > 0


def without_numbers() -> Any:
    return SimpleNamespace(z=[np.nan], x=[np.nan], status="NumericalError")


def broken_down() -> Any:
    raise type("PanicException", (BaseException,), {})("Eigval error")


@pytest.mark.parametrize("solve", [without_numbers, broken_down])
def test_a_failed_solve_keeps_the_old_bound(solve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = random_data(8, 12)
    prepared: list[object] = []

    def prepare(conic: Any, seconds: float | None) -> Any:
        prepared.append(conic)
        return SimpleNamespace(update=lambda **_: None, solve=solve)

    monkeypatch.setattr(linear_minima, "_prepared", prepare)
    found = tighten(
        data, penalty=1.0, intercept="penalised", conflicts=False, relaxation="sdp", rounds=1
    )
    start = closed_slack_bounds(
        data, penalty=1.0, intercept="penalised", incumbent=found.incumbent, slack=1e-4
    )
    assert found.bounds.upper == pytest.approx(start.upper, rel=1e-10)
    assert found.bounds.lower == pytest.approx(start.lower, rel=1e-10)
    assert found.bounds.intercept == start.intercept
    assert found.bound == 0.0
    assert found.trace[-1].failed == found.trace[-1].solves > 0
    assert (len(prepared) > found.trace[-1].failed) == (solve is broken_down)


def test_an_error_that_is_no_breakdown_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def press() -> None:
        raise MemoryError("no room")

    silent = SimpleNamespace(update=lambda **_: None, solve=press)
    monkeypatch.setattr(linear_minima, "_prepared", lambda conic, seconds: silent)
    with pytest.raises(MemoryError, match="no room"):
        tighten(random_data(8, 12), penalty=1.0, intercept="free")


def test_given_bounds_are_built_upon_and_are_given_room() -> None:
    data = random_data(6, 10)
    once: dict[str, Any] = {
        "penalty": 1.0, "intercept": "penalised", "relaxation": "sdp", "rounds": 1
    }  # fmt: skip
    first = tighten(data, **once)
    further = tighten(data, **once, bounds=first.bounds, incumbent=first.incumbent)
    assert (further.bounds.upper <= first.bounds.upper).all()
    assert further.bounds.upper.sum() < first.bounds.upper.sum()
    assert further.bound > first.bound
    assert cut_off(data, further.bounds, 1.0, "penalised") == 0
    start = closed_slack_bounds(data, penalty=1.0, intercept="penalised")
    roomy = bound_tightening._with_room(start, start.cutoff, 1e-4)
    assert roomy.cutoff == pytest.approx(start.cutoff * (1 + 1e-4), rel=1e-12)
    assert roomy.norm2 - start.norm2 == pytest.approx(1e-4 * start.cutoff, rel=1e-9)
    assert bound_tightening._with_room(roomy, start.cutoff, 1e-4).norm2 == roomy.norm2


def test_points_of_the_majority_alone_leave_the_trivial_optimum() -> None:
    """Classes that no line tells apart: w = 0 with b = +-1 is the optimum, and stays."""
    X = np.repeat(np.array([[0.0, 0.0], [1.0, 0.0]]), 5, axis=0)
    data = TrainingData(X, np.array([1.0, 1.0, 1.0, -1.0, -1.0] * 2))
    for intercept in ("free", "penalised"):
        found: Tightened = tighten(data, penalty=1.0, intercept=intercept)
        assert found.bounds.admits(data, np.zeros(2), 1.0, intercept)
        assert found.bound == pytest.approx(4.0 + (intercept == "penalised"), rel=1e-6)
