"""Stochastic gradient descent on the soft margin: by hand, by the book, against the optimum."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightmargin as tm
from tests.inside.formulations import gram_data
from tests.inside.solvers import RULES, StopReason, Walk, sgd_rate, soft_margin_sgd
from tests.references import reference_solutions
from tests.references.reference_solutions import points
from tests.support.command_line import run
from tightmargin.solvers import Status, Verdict, sgd, solve

RIDGE = 0.05
DATA = points("overlapping", 5, n=20)
KERNEL = gram_data(DATA, kernel="rbf", width=0.7)
# y x = 1 at both: what happens does not depend on the draws.
PAIR = tm.TrainingData([[1.0], [-1.0]], [1, -1])

Data = tm.TrainingData | tm.GramData


def objective(data: Data, w: np.ndarray, ridge: float = RIDGE) -> float:
    return ridge * w @ w + np.maximum(0, 1 - data.y * (data.factor @ w)).mean()


def by_the_book(
    data: tm.TrainingData, ridge: float, draws: Sequence[int], rule: str
) -> list[np.ndarray]:
    """Iterates w_1 to w_T of Algorithm 3, line by line."""
    theta, found = np.zeros(data.d), []
    for t, i in enumerate(draws, start=1):
        divisor = t if rule == "printed" else t - 1
        w = theta / (2 * ridge * divisor) if divisor else np.zeros(data.d)
        found.append(w)
        if data.y[i] * (w @ data.X[i]) < 1:
            theta = theta + data.y[i] * data.X[i]
    return found


@functools.cache
def optimum(kind: str) -> float:
    """From another modelling layer."""
    if kind == "kernel":
        return reference_solutions.kernel_hinge(
            np.asarray(KERNEL.gram), KERNEL.y, RIDGE, 1 / KERNEL.n, "none"
        )
    return reference_solutions.hinge(DATA, "none", RIDGE, 1 / DATA.n).value


@pytest.mark.parametrize("T", [1, 2, 5000])
def test_two_mirrored_points_by_hand(T: int) -> None:
    """With a large ridge both always lack margin: theta_t = t - 1, and w* = 1 / lambda."""
    ridge, strength = 3.0, 6.0
    H = sum(1 / t for t in range(1, T + 1))
    words: dict[str, Any] = {"ridge": ridge, "steps": T, "seed": 1}
    assert sgd(PAIR, **words).w == pytest.approx([(1 - H / T) / strength], rel=1e-12)
    assert sgd(PAIR, average="last", **words).w == pytest.approx([(T - 1) / (T * strength)])
    update = sgd(PAIR, rule="update", **words)
    assert update.w == pytest.approx([(T - 1) / (T * strength)])
    last = sgd(PAIR, rule="update", average="last", **words).w
    assert last == pytest.approx([1 / strength if T > 1 else 0.0])
    assert update.objective == pytest.approx(objective(PAIR, update.w, ridge), rel=1e-12)


@pytest.mark.parametrize(("average", "rule"), [("all", RULES[0]), ("last", RULES[1])])
@given(seed=st.integers(0, 10**6), T=st.integers(1, 60))
@settings(max_examples=10)
def test_the_iterate_is_that_of_the_algorithm_line_by_line(
    average: str, rule: str, seed: int, T: int
) -> None:
    drawn, original = list[int](), Walk._add

    def listening(walk: Walk, draws: Any, sums: Any, moved: Any) -> None:
        drawn.extend(draws.tolist())
        original(walk, draws, sums, moved)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Walk, "_add", listening)
        found = sgd(DATA, ridge=RIDGE, steps=T, seed=seed, rule=rule, average=average)
    assert len(drawn) == T
    iterates = by_the_book(DATA, RIDGE, drawn, rule)
    expected = np.mean(iterates, axis=0) if average == "all" else iterates[-1]
    np.testing.assert_allclose(found.w, expected, rtol=1e-9, atol=1e-12)
    spread = DATA.X.T @ found.coefficients
    np.testing.assert_allclose(found.w, spread, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "data", "rule"), [("points", DATA, RULES[0]), ("kernel", KERNEL, RULES[1])]
)
def test_the_averaged_iterate_approaches_the_optimum(kind: str, data: Data, rule: str) -> None:
    best = optimum(kind)
    found, again = (sgd(data, ridge=RIDGE, steps=50_000, seed=0, rule=rule) for _ in range(2))
    assert found.trace == again.trace, "a seed is a run"
    assert best - 1e-9 <= found.objective <= best + 2e-3
    assert found.stop is StopReason.FINISHED
    steps, bounds = ([getattr(p, name) for p in found.trace] for name in ("steps", "bound"))
    assert steps == sorted(set(steps))
    assert steps[-1] == found.steps == 50_000
    assert bounds == sorted(bounds)
    assert max(bounds) <= best + 1e-9
    assert found.gap <= 2e-2
    assert all(point.objective >= best - 1e-9 for point in found.trace)


@given(seed=st.integers(0, 10**6), ridge=st.floats(1e-3, 1e2), T=st.integers(1, 300))
@settings(max_examples=12)
def test_its_multipliers_are_feasible_and_prove_the_bound(seed: int, ridge: float, T: int) -> None:
    data = points("overlapping", seed, n=8)
    found = sgd(data, ridge=ridge, steps=T, seed=seed)
    assert (found.alpha >= 0).all()
    assert (found.alpha <= 1 / data.n).all()
    v = data.X.T @ (data.y * found.alpha)
    value = found.alpha.sum() - v @ v / (4 * ridge)
    assert found.bound == pytest.approx(value, rel=1e-9, abs=1e-12)
    assert found.bound <= value
    assert found.bound <= found.objective


def test_the_rate_in_numbers() -> None:
    """R = 2, lambda = 1/2, T = 3: 2 * 4 * 11/6 / (3/2), and 4 * (1 + 4 * 13/12) / (2 * 3/2)."""
    data = tm.TrainingData([[2.0, 0.0], [0.0, 1.0]], [1, -1])
    for given_data in (data, tm.GramData(data.X @ data.X.T, data.y)):
        update = sgd_rate(given_data, ridge=0.25, steps=3, rule="update")
        assert update == pytest.approx(8 * (11 / 6) / 1.5, rel=1e-12)
        printed = sgd_rate(given_data, ridge=0.25, steps=3)
        assert printed == pytest.approx(4 * (1 + 4 * 13 / 12) / 3, rel=1e-12)


def test_a_time_limit_keeps_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: float(next(ticks)))
    monkeypatch.setattr(soft_margin_sgd, "time", clock)
    found = sgd(DATA, ridge=RIDGE, steps=10**9, seed=0, time_limit=20.0)
    assert found.stop is StopReason.TIME_LIMIT
    assert 0 < found.steps < 10**8
    assert found.trace[-1].steps == found.steps
    assert found.objective == pytest.approx(objective(DATA, found.w), rel=1e-12)
    assert optimum("points") - 1e-9 <= found.objective <= 1.0
    assert 0 < found.bound <= optimum("points")


@pytest.mark.parametrize("blocks", [0, 5])
def test_ctrl_c_keeps_what_was_found(blocks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    advance, left = Walk.advance, iter(range(blocks))

    def interrupted(walk: Walk, size: int) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        advance(walk, size)

    monkeypatch.setattr(Walk, "advance", interrupted)
    found = sgd(DATA, ridge=RIDGE, steps=10**5, seed=0)
    assert found.stop is StopReason.INTERRUPTED
    assert found.trace[-1].steps == found.steps
    assert (found.steps == 0) == (blocks == 0)
    assert found.objective == pytest.approx(objective(DATA, found.w), rel=1e-12)
    result = solve(tm.soft_margin_svc(DATA, ridge=RIDGE, intercept="none"), method="sgd")
    assert result.status is Status.INTERRUPTED
    assert result.message.startswith("interrupted: ")


def test_the_gap_is_proven_again_from_the_file(tmp_path: Path) -> None:
    """By weak duality at the iterate; the multipliers have a w far from that."""
    data = points("overlapping", 0, n=16)
    model = tm.soft_margin_svc(data, ridge=0.001, intercept="none")
    result = solve(model, method="sgd", options={"steps": 20})
    assert (result.status, result.certificate.verdict) == (Status.FEASIBLE, Verdict.NOT_CERTIFIED)
    facts = result.certificate.facts
    assert facts["descent"][-1][0] == facts["steps"] == 20
    assert facts["expected_gap"] == sgd_rate(data, ridge=0.001, steps=20)
    result.save(tmp_path / "fit.json")
    np.savez(tmp_path / "points.npz", X=data.X, y=data.y)
    answer = run("certify", tmp_path / "fit.json", "--data", tmp_path / "points.npz", "--json")
    assert answer.code == 1, "the gap is open"
    numbers = answer.json["numbers"]
    assert all(numbers[word]["confirmed"] for word in ("objective", "violation", "bound"))
    assert numbers["bound"]["recomputed"] == pytest.approx(result.bound, rel=1e-9)
