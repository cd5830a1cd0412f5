"""Local searches below nu_bar, and nu_bar itself: fixed points, outliers, proven bounds, units."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.experiments import deviation
from tests.inside.formulations import loss_weights, reduced_hulls, robust_risk, support_value
from tests.inside.solvers import LiveResult, LocalSearch, nu_bar_bounds, remark, small_loss
from tests.inside.solvers import local_search as module
from tests.inside.solvers import nu_range as ranges
from tests.inside.solvers import robust_dca as outliers
from tests.references import reference_solutions
from tests.references.extended_nu import by_all_outliers
from tests.references.polytope_corners import gauss
from tests.references.reference_solutions import INTERCEPTS, points
from tests.support.covering import covering
from tightmargin.formulations import (
    TrainingData,
    extended_nu_svc_reverse,
    extended_robust_svc,
    nu_svc,
)
from tightmargin.solvers import Status, Verdict, extended_nu_local, nu_range, robust_dca, solve

TOY = gauss(7, 60, 2)


def below(data: TrainingData, share: float, **options: Any) -> float:
    return share * nu_range(data, **options).nu_bar


def weight(found: LocalSearch, intercept: str) -> np.ndarray:
    return np.append(found.w, found.b) if intercept == "penalised" else found.w


@pytest.mark.parametrize(
    ("update", "share"),
    [("algorithm_7", 0.05), ("algorithm_7", 0.9), ("damped", 0.5)],
)
def test_the_best_of_some_starts_is_the_best_direction(update: str, share: float) -> None:
    data = points("overlapping", 1)
    nu = below(data, share)
    costs = np.full(data.n, 1 / data.n)
    found = extended_nu_local(data, nu=nu, update=update, starts=8)
    best = reference_solutions.nu_risk_on_circle(data, "free", nu, costs).value
    assert found.objective == pytest.approx(best, rel=1e-6)
    if share == 0.5:  # nothing outside the ball is lower than on the sphere
        outside = solve(extended_nu_svc_reverse(data, nu=nu))
        assert outside.objective == pytest.approx(best, rel=1e-6)
    assert all(one.converged for one in found.solutions)
    assert -nu * found.rho + costs @ found.xi == pytest.approx(found.objective, rel=1e-9)
    assert (data.y * (data.X @ found.w + found.b) - found.rho + found.xi >= -1e-9).all()


@pytest.mark.parametrize(
    ("balance", "intercept"), list(zip(["uniform", "balanced", "uniform"], INTERCEPTS, strict=True))
)
def test_every_end_is_a_fixed_point_and_nothing_near_it_is_better(
    balance: str, intercept: str
) -> None:
    """(9) at w, solved by another layer, has w's own value; and h is no less all around."""
    data = points("unbalanced", 2)
    nu = below(data, 0.5, class_balance=balance, intercept=intercept)
    costs = loss_weights(data, balance)
    found = extended_nu_local(
        data, nu=nu, class_balance=balance, intercept=intercept, starts=4, seed=1
    )
    hulls = reduced_hulls(data, nu=nu, class_balance=balance, intercept=intercept)
    steps = 1e-4 * np.random.default_rng(0).standard_normal((200, hulls.k))
    for one in found.solutions:
        assert np.linalg.norm(one.weight) == pytest.approx(1.0, abs=1e-12)
        assert one.objective == pytest.approx(support_value(hulls, one.weight), rel=1e-9)
        linear = reference_solutions.nu_risk_linearised(data, intercept, nu, costs, one.weight)
        assert linear.value == pytest.approx(one.objective, rel=1e-6)
        around = one.weight + steps
        around /= np.linalg.norm(around, axis=1, keepdims=True)
        assert min(support_value(hulls, v) for v in around) >= one.objective * (1 - 1e-9)


def test_a_limit_of_steps_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS", {"algorithm_7": 1, "damped": 3})
    nu = below(TOY, 0.3)
    for update, steps in module.STEPS.items():
        (one,) = extended_nu_local(TOY, nu=nu, starts=1, update=update).solutions
        assert not one.converged
        assert one.iterations == steps
        hulls = reduced_hulls(TOY, nu=nu)
        assert one.objective == pytest.approx(support_value(hulls, one.weight), rel=1e-12)


def test_multipliers_that_are_no_normal_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Either sign is read rightly; numbers that disagree with h by sorting are an error."""
    nu = below(TOY, 0.3)
    honest = extended_nu_local(TOY, nu=nu, starts=3)
    own = LiveResult.row_duals

    def replaced(change: Any) -> Any:
        return property(lambda answer: change(own.func(answer)))

    monkeypatch.setattr(LiveResult, "row_duals", replaced(lambda duals: -duals))
    assert extended_nu_local(TOY, nu=nu, starts=3).objective == honest.objective
    monkeypatch.setattr(
        LiveResult, "row_duals", replaced(lambda duals: duals + 0.3 * (duals == duals[0]))
    )
    with pytest.raises(RuntimeError, match="disagree with h by sorting"):
        extended_nu_local(TOY, nu=nu, starts=3)


N = 10


def noisy(seed: int) -> tm.TrainingData:
    """Two classes apart, two points of which are far on the wrong side."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(N) < N // 2, 1.0, -1.0)
    X = 1.5 * y[:, None] + rng.standard_normal((N, 2))
    X[0], X[-1] = [-6.0, -5.0], [7.0, 2.0]
    return tm.TrainingData(X, y)


@pytest.mark.parametrize(("seed", "mode"), [(1, "penalised"), (2, "none")])
def test_the_optimum_is_the_best_choice_of_outliers(seed: int, mode: str) -> None:
    data, nu, mu = noisy(seed), 0.6, 0.2
    found = tm.solve(
        extended_robust_svc(data, nu=nu, mu=mu, intercept=mode), method="branch-and-bound"
    )
    expected = by_all_outliers(data, nu, 2, mode)
    assert expected < 0  # the ball is the sphere
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.objective == pytest.approx(expected, rel=1e-6)
    w, b = found.values["w"], float(found.values["b"]) if mode == "penalised" else 0.0
    risk, q = robust_risk(data, w, b, nu=nu, mu=mu)
    assert risk == pytest.approx(expected, rel=1e-5)
    assert np.count_nonzero(q) == 2
    local = robust_dca(data, nu=nu, mu=mu, intercept=mode, starts=6)
    assert local.risk >= found.bound - 1e-9
    assert local.risk == pytest.approx(expected, rel=1e-5)
    assert local.ends.min() == local.risk
    assert sorted(local.outliers) == [0, N - 1]


@pytest.mark.parametrize(("mode", "power"), [("free", -600), ("none", 100)])
def test_the_unit_of_the_data_is_no_matter(power: int, mode: str) -> None:
    """Both modes are homogeneous: the risk has the unit of the data."""
    data = noisy(2)
    words: dict[str, Any] = {"nu": 0.6, "mu": 0.2, "intercept": mode, "starts": 3}
    scaled = tm.TrainingData(np.ldexp(data.X, power), data.y)
    one, other = robust_dca(data, **words), robust_dca(scaled, **words)
    assert one.risk < 0
    assert np.ldexp(other.risk, -power) == pytest.approx(one.risk, rel=1e-6)
    assert list(other.outliers) == list(one.outliers)


def test_limits_and_ctrl_c_keep_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    words: dict[str, Any] = {"nu": 0.6, "mu": 0.2}
    late = robust_dca(noisy(1), **words, starts=400, time_limit=1e-6)
    assert len(late.ends) == 1
    original, calls = outliers.solve, []

    def pressed(*args: Any, **keywords: Any) -> Any:
        found = original(*args, **keywords)
        if calls:
            return replace(found, status=Status.INTERRUPTED)
        if found.objective < -1e-3:  # a step that gains, and Ctrl-C in the next one
            calls.append(1)
        return found

    monkeypatch.setattr(outliers, "solve", pressed)
    stopped = robust_dca(noisy(1), **words)
    assert stopped.interrupted
    assert len(stopped.ends) < 20
    assert stopped.risk == stopped.ends.min() < 0


def two_clouds() -> TrainingData:
    rng = np.random.default_rng(3)
    X = rng.normal(0, 0.5, (28, 2))
    X[:, 0] += np.repeat([0.5, -0.5], 14)
    return TrainingData(X, np.repeat([1.0, -1.0], 14))


def test_a_dropped_coefficient_counts_in_both_bounds() -> None:
    """With entries of 1e-12 the sign of x separates, and nu_bar is 0; with 0 for them it is 0.7."""
    y, costs = np.repeat([1.0, -1.0], [4, 3]), np.array([0.2, 0.17, 0.1, 0.08, 0.2, 0.15, 0.1])
    ends = {}
    for tiny in (0.0, 1e-12):
        X = np.array([tiny, tiny, tiny, 1.0, -tiny, -tiny, -1.0])[:, None]
        ends[tiny] = nu_bar_bounds(TrainingData(X, y), class_balance=costs)
    assert ends[0.0] == pytest.approx((0.7, 0.7), abs=1e-12)
    low, high = ends[1e-12]
    assert low == 0
    assert 0 <= high < 0.7


@pytest.mark.parametrize("powers", [(-40, -40), (40, -20)])
def test_nu_bar_is_the_same_in_every_unit(powers: tuple[int, int]) -> None:
    """2^k is an exact factor: the hyperplanes are the same."""
    data = two_clouds()
    known = nu_range(data).nu_bar
    assert 0.05 < known < 0.95 * nu_range(data).nu_max
    other = TrainingData(data.X * 2.0 ** np.array(powers), data.y)
    assert nu_range(other).nu_bar == pytest.approx(known, abs=1e-9)
    low, high = nu_bar_bounds(other)
    assert known - 1e-9 <= low <= high + 1e-15
    assert high <= known + 1e-9


def overlapping(seed: int, n: int = 80, d: int = 3, unit: float = 1.0) -> TrainingData:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    return TrainingData(unit * X, y)


@pytest.mark.parametrize(
    ("seed", "unit", "intercept"),
    covering(range(2), [1e-6, 1.0, 1e6], ["free", "penalised", "none"]),
)
def test_the_loss_is_the_least_or_little_more(seed: int, unit: float, intercept: str) -> None:
    data = overlapping(seed, unit=unit)
    weights = np.full(data.n, 1 / data.n)
    lower, upper = nu_bar_bounds(data, intercept=intercept)
    found = small_loss(data, weights, intercept, 0.0)
    assert lower <= found * (1 + 1e-9)
    assert found <= 1.05 * upper


def test_inside_the_range_no_program_is_solved_and_below_it_says_so(monkeypatch: Any) -> None:
    data = overlapping(0)
    lower, upper = nu_bar_bounds(data)
    assert "at or below the range" in remark(nu_svc(data, nu=0.999 * lower).origin)
    monkeypatch.setattr(ranges, "_nu_bar", lambda *_: pytest.fail("nu_bar was asked for"))
    assert remark(nu_svc(data, nu=1.1 * upper).origin) == ""


@pytest.mark.parametrize("share", [-1.0, 0.0, 0.6])
def test_lemma_12_gives_the_deviation_of_theorem_3(share: float) -> None:
    """(w, b) / sqrt(1 + b^2) on (x, 1): never more than G, and as much where |b| = R."""
    m, R, level, c, delta = 50, 1.7, 0.2, 0.4, 0.05
    b = share * R
    size = 4 * c**2 * (R**2 + 1) * (1 + b**2) / level**2
    inner = size * math.log2(2 * m) - 1 + math.log(2 / delta)
    homogeneous = math.sqrt(2 / m * inner)  # as it is printed
    through = deviation(-level, m=m, radius=R, c=c, delta=delta)
    assert homogeneous <= through * (1 + 1e-12)
    assert (homogeneous == pytest.approx(through, rel=1e-12)) == (abs(share) == 1.0)
