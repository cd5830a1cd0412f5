"""Decomposition of the rigorous SVM: steps are minima, traps are named, values are proven."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.inside.formulations import gram_data
from tests.inside.solvers import (
    Decomposition,
    Iterate,
    StopReason,
    even_start,
    go_to_start,
    pair_step,
    subproblem,
    working_set,
)
from tests.inside.solvers import decomposition_run as runs
from tests.inside.solvers import iterate as iterates
from tests.inside.solvers import kernel_rows as rows
from tests.references.reference_solutions import hinge, points
from tests.support.covering import covering
from tightmargin.formulations import GramData, TrainingData
from tightmargin.solvers import Verdict, decomposition

Data = TrainingData | GramData


def at_cost(data: Data, C: float) -> tuple[float, float]:
    """A norm bound with its optimum, from C-SVC in another modelling layer.

    With H = ||w|| of C-SVC, its hyperplane is one of the rigorous SVM, and gamma = 1 / C.
    """
    found = hinge(TrainingData(data.factor, data.y), "free", 0.5, C)
    norm_bound = float(np.linalg.norm(found.w))
    return norm_bound, (found.value - norm_bound**2 / 2) / C


def limit_of(data: Data) -> float:
    """The largest norm bound that matters, where C-SVC with a large cost ends: a penalty is exact.

    With a hundred times the cost, nothing may change.
    """
    low, high = (at_cost(data, C)[0] for C in (1e2, 1e4))
    assert high == pytest.approx(low, rel=1e-6)
    return high


def linear(balanced: bool) -> TrainingData:
    rng = np.random.default_rng([0, balanced])
    y = np.where(np.arange(48) < (24 if balanced else 8), 1.0, -1.0)
    return TrainingData(rng.standard_normal((48, 3)) + 0.9 * y[:, None], y)


def rbf(balanced: bool) -> GramData:
    return gram_data(linear(balanced), kernel="rbf", width=0.5)


def converged(data: Data, norm_bound: float, **options: Any) -> Decomposition:
    found = decomposition(data, norm_bound=norm_bound, **options)
    assert found.stop is StopReason.CONVERGED
    assert found.message == ""
    assert found.point.verdict is Verdict.CERTIFIED
    return found


@pytest.mark.parametrize(
    ("kind", "balanced", "C", "q"), covering([linear, rbf], [True, False], [0.01, 0.3], [2, 4, 10])
)
def test_the_optimum_is_that_of_c_svc(kind: Any, balanced: bool, C: float, q: int) -> None:
    data = kind(balanced)
    norm_bound, value = at_cost(data, C)
    point = converged(data, norm_bound, working_set=q).point
    assert point.objective == pytest.approx(value, rel=1e-7)
    assert point.gap <= 2e-9 * point.objective
    # gamma may be an interval: then C-SVC has one hyperplane for an interval of costs.
    assert at_cost(data, 1 / point.gamma)[0] == pytest.approx(norm_bound, rel=1e-5)
    assert np.linalg.norm(point.w) == pytest.approx(norm_bound, rel=1e-8)


@given(
    S=st.floats(1e-3, 1e3),
    share=st.one_of(st.sampled_from([0.0, 1.0, -1.0]), st.floats(-1, 1)),
    eta=st.one_of(st.just(0.0), st.floats(1e-3, 1e2)),
    k=st.sampled_from([-2.0, 0.0, 2.0]),
    H=st.floats(1e-2, 1e2),
    limit=st.floats(0, 1),
)
def test_no_other_step_of_two_variables_is_better(
    S: float, share: float, eta: float, k: float, H: float, limit: float
) -> None:
    """p^2 <= S eta with equality, and so m = 0, at the ends of `share`."""
    p = share * math.sqrt(S * eta)

    def objective(t: float) -> float:
        return H * math.sqrt(max(S + 2 * t * p + t * t * eta, 0.0)) - k * t

    t = pair_step(H, S, p, eta, k, limit, max(eta, 1.0))
    assert 0 <= t <= limit
    rounding = 1e-12 * (H * math.sqrt(S + eta) + 2)
    if abs(share) == 1:
        rounding += 1e-7 * H * math.sqrt(S)  # the root of a difference that is 0
    grid = np.linspace(0, limit, 101)  # the objective is convex
    around = grid[int(np.argmin([objective(s) for s in grid]))]
    near = np.linspace(max(0.0, around - limit / 100), min(limit, around + limit / 100), 1001)
    best = min(map(objective, near))
    assert objective(t) <= best + rounding


def test_the_subproblem_is_solved_as_a_second_order_cone_program() -> None:
    """(19) as min H ||F_B'(y_B o a) + u|| - e'a with u = F_N'(y_N o alpha_N)."""
    data = rbf(False)
    norm_bound = at_cost(data, 1.0)[0]
    iterate = Iterate(data, norm_bound, 2, even_start(data))
    assert all(iterate.step() for _ in range(25))
    pairs = iterate.pairs
    B = working_set(pairs, 12)
    N = np.setdiff1d(np.arange(data.n), B)
    inner = subproblem(pairs, B, data.gram[np.ix_(B, B)])
    assert inner.objective(inner.alpha) == pytest.approx(
        norm_bound * math.sqrt(pairs.S) - inner.alpha.sum(), rel=1e-12
    )
    solved = inner.solve(share=1e-9, steps=1000)
    signed = data.y[:, None] * data.factor
    a = cp.Variable(len(B))
    cone = cp.norm(signed[B].T @ a + signed[N].T @ pairs.alpha[N])
    box = [a >= 0, a <= 1, data.y[B] @ a == -(data.y[N] @ pairs.alpha[N])]
    witness = cp.Problem(cp.Minimize(norm_bound * cone - cp.sum(a)), box)
    witness.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert inner.objective(solved) == pytest.approx(float(witness.value), rel=1e-8)
    assert inner.objective(solved) < inner.objective(inner.alpha) - 1e-6


def test_at_zero_no_pair_improves_and_so_such_a_start_is_replaced() -> None:
    line = TrainingData(np.arange(12.0)[:, None], np.tile([1.0, -1.0], 6))
    data = gram_data(line, kernel="rbf", width=0.5)
    norm_bound = 0.6 * limit_of(data)
    apart = 2 - 2 * data.gram[np.outer(data.y, data.y) < 0]
    assert [pair_step(norm_bound, 0.0, 0.0, eta, 2.0, 1.0, 2.0) for eta in apart] == [0.0] * 72
    ours = converged(data, norm_bound)
    assert ours.point.objective > 1
    for useless in (np.zeros(12), np.full(12, 1e-12)):
        assert converged(data, norm_bound, start=useless).trace == ours.trace


@pytest.mark.parametrize(("seed", "n", "d"), [(78, 31, 2), (193, 28, 3)])
def test_a_corner_below_the_limit_is_left(seed: int, n: int, d: int, monkeypatch: Any) -> None:
    """From a good start too, steps of two variables may end where S = 0, off the optimum."""
    data = points("overlapping", seed, n=n, d=d)
    norm_bound = 0.99 * limit_of(data)
    found = converged(data, norm_bound)
    assert found.point.length > 0.01
    monkeypatch.setattr(Iterate, "lift", lambda self, *, first=True: False)
    left_there = decomposition(data, norm_bound=norm_bound)
    assert left_there.stop is StopReason.STALLED
    assert left_there.point.gap > 1e-3 * found.point.objective
    assert left_there.point.bound <= found.point.objective <= left_there.point.objective + 1e-9
    monkeypatch.undo()
    assert converged(data, norm_bound, start=left_there.point.alpha).trace == found.trace


def test_above_the_limit_it_stalls_and_names_norm_limit() -> None:
    data = points("overlapping", 4, n=40, d=4)
    least = hinge(data, "free", 0.0, 1.0).value
    found = decomposition(data, norm_bound=1.2 * limit_of(data))
    assert found.stop is StopReason.STALLED
    assert "norm_limit" in found.message
    assert found.point.bound <= least + 1e-9
    assert found.point.objective >= least - 1e-7
    assert found.point.gap <= 1e-2 * least
    assert all(b.gap <= a.gap for a, b in itertools.pairwise(found.trace))


def test_a_run_without_progress_is_called_stalled(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("LEAST_PATIENCE", 150), ("PATIENCE", 0), ("SHRINKS", 0), ("RISES", 1e9)):
        monkeypatch.setattr(runs, name, value)
    data = rbf(True)
    found = decomposition(data, norm_bound=at_cost(data, 2.0)[0])
    assert found.stop is StopReason.STALLED
    assert 150 <= found.steps <= 250
    assert "shrinks no further" in found.message


@pytest.mark.parametrize("q", [2, 6])
def test_f_and_s_are_true_after_a_long_run(q: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iterates, "REFRESH", 200)
    data = rbf(True)
    iterate = Iterate(data, 0.97 * limit_of(data), q, even_start(data))
    iterate.pairs.f += 1e-3 * np.sin(np.arange(data.n))  # what rounding might have left
    iterate.pairs.S *= 1 + 1e-3
    moves = sum(iterate.step() for _ in range(201))
    assert moves > 200 - 200 * (q > 2)
    signed = data.y * iterate.pairs.alpha
    direct = data.gram @ signed
    assert np.abs(iterate.pairs.f - direct).max() <= 1e-12 * np.abs(direct).max()
    assert abs(iterate.pairs.S - signed @ direct) <= 1e-11 * iterate.pairs.S


def test_a_smaller_floor_follows_until_none_is_needed() -> None:
    data = points("overlapping", 193, n=28, d=3)
    norm_bound = 0.99 * limit_of(data)
    iterate = Iterate(data, norm_bound, 2, even_start(data))
    go_to_start(iterate, None)
    floors = [0.0]
    for _ in range(2000):
        stuck = not iterate.step()
        floors.append(iterate.pairs.floor)
        iterate.settle(iterate.loss(), stuck)
    changes = [a for a, b in itertools.pairwise(floors) if a != b]
    assert changes[0] == 0.0
    assert floors[-1] == 0.0
    assert changes.count(0.0) == 1
    lowered = [x for x in changes if x > 0]
    assert 1 <= len(lowered) <= 5
    assert lowered == sorted(lowered, reverse=True)


def test_points_and_their_kernel_matrix_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    data = linear(False)
    norm_bound, value = at_cost(data, 1.0)
    monkeypatch.setattr(rows, "CACHE", 8 * data.n * 3)  # three rows
    few = converged(data, norm_bound)
    monkeypatch.setattr(rows, "WIDE", 1)
    whole = converged(data, norm_bound)
    gram = converged(GramData(data.X @ data.X.T, data.y), norm_bound, working_set=6)
    for found in (few, whole, gram):
        assert found.point.objective == pytest.approx(value, rel=1e-7)
        assert found.point.alpha == pytest.approx(few.point.alpha, abs=1e-5)


def bracketed(found: Decomposition, value: float) -> None:
    assert found.point.bound <= value * (1 + 1e-7)
    assert found.point.objective >= value * (1 - 1e-7)
    assert found.point.bound > 0
    assert found.trace[-1].steps <= found.steps


def test_limits_and_ctrl_c_keep_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    data = rbf(True)
    norm_bound, value = at_cost(data, 2.0)
    cut = decomposition(data, norm_bound=norm_bound, steps=70)
    assert (cut.stop, cut.steps) == (StopReason.STEP_LIMIT, 70)
    bracketed(cut, value)

    ticks = itertools.count()
    late = decomposition(
        data, norm_bound=norm_bound, time_limit=2.5, clock=lambda: float(next(ticks))
    )
    assert late.stop is StopReason.TIME_LIMIT
    assert 0 < late.steps <= 200
    bracketed(late, value)

    real: Callable[[Iterate], bool] = Iterate.step
    calls = itertools.count()

    def pressed(self: Iterate) -> bool:
        if next(calls) == 60:
            raise KeyboardInterrupt
        return real(self)

    monkeypatch.setattr(Iterate, "step", pressed)
    stopped = decomposition(data, norm_bound=norm_bound)
    assert (stopped.stop, stopped.steps) == (StopReason.INTERRUPTED, 60)
    assert stopped.trace[-1].steps == 60
    bracketed(stopped, value)
