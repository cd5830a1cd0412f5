"""Algorithm 11 against every direction of the plane, other solvers, and printed numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.inside import cuts as inner
from tests.inside.formulations import (
    loss_weights,
    reduced_hulls,
    support_value,
)
from tests.references import reference_solutions
from tests.support.covering import in_turn
from tightmargin.cuts import cvar_profile, extended_nu_path
from tightmargin.formulations import TrainingData
from tightmargin.solvers import Verdict, nu_range, solve

Array = np.ndarray
MODES = ("free", "none")


def toy(seed: int, n: int) -> TrainingData:
    """Perez-Cruz et al., section 6: +1 about (2, 0) and (0, 2), -1 about 0, unit variances."""
    rng = np.random.default_rng(seed)
    means = np.zeros((n, 2))
    means[np.arange(n // 2), rng.integers(0, 2, n // 2)] = 2.0
    return TrainingData(means + rng.standard_normal((n, 2)), np.repeat([1.0, -1.0], n // 2))


def risk(data: TrainingData, nu: float, caps: Array, directions: Array, mode: str) -> Array:
    """nu CVaR at each row of directions (m, 2): the mass nu filled from the worst point up."""
    total = np.zeros(len(directions))
    groups = [data.y > 0, data.y < 0] if mode == "free" else [data.y != 0]
    for own in groups:
        errors = -(data.y[own] * (directions @ data.X[own].T))
        order = np.argsort(-errors, axis=1)
        worst, given = np.take_along_axis(errors, order, axis=1), caps[own][order]
        left = nu / len(groups) - (np.cumsum(given, axis=1) - given)
        total += (np.clip(left, 0.0, given) * worst).sum(axis=1)
    return total


def every_direction(
    data: TrainingData, nu: float, caps: Array | None = None, mode: str = "free"
) -> tuple[Array, float]:
    """The least risk of a line in the plane, exact where it is positive.

    Between directions where two points change their order the risk is concave along the circle.
    """
    caps = np.full(data.n, 1 / data.n) if caps is None else caps
    z = data.y[:, None] * data.X
    pairs = itertools.combinations(range(data.n), 2)
    steps = np.array([z[i] - z[k] for i, k in pairs if mode == "none" or data.y[i] == data.y[k]])
    normal = np.column_stack([-steps[:, 1], steps[:, 0]])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    ends = np.vstack([normal, -normal])
    values = risk(data, nu, caps, ends, mode)
    return ends[values.argmin()], float(values.min())


class Everywhere:
    """An engine that tries every direction of the plane."""

    def __init__(self, caps: Array | None = None, mode: str = "free") -> None:
        self.caps, self.mode = caps, mode

    def __call__(self, data: TrainingData, nu: float, starts: Sequence[Array]) -> inner.Search:
        w, value = every_direction(data, nu, self.caps, self.mode)
        assert value > 0
        return inner.Search(w, value, value * (1 - 1e-9), "every direction")


TOY = toy(0, 60)
NUS = (0.95, 0.69, 0.51, 0.4243, 0.4159, 0.33, 0.25, 0.15, 0.1, 0.05, 1 / 30, 0.02, 0.01)


@pytest.fixture(scope="module")
def path() -> inner.ExtendedNuPath:
    return extended_nu_path(TOY, NUS, engine=inner.ProvingEngine(Everywhere()))


def test_rows_are_optimal_and_their_numbers_those_of_their_hyperplane(
    path: inner.ExtendedNuPath,
) -> None:
    """By every direction; and the KKT conditions (27), (31)-(37) of Perez-Cruz et al.

    Their w has the norm sqrt(2); the sign of (31) is put right. Figure 3: lambda changes its sign
    at nu_bar, and rho later.
    """
    assert path.range.nu_bar == pytest.approx(0.420123, abs=1e-6)
    assert [row.nu for row in path.rows] == sorted(NUS, reverse=True)
    rho = {row.nu: row.rho for row in path.rows}
    assert min(rho[0.69], rho[0.33]) > 0 > rho[0.01]
    for row in path.rows:
        expected = reference_solutions.nu_risk_in_ball(TOY, "free", row.nu, np.full(60, 1 / 60))
        if row.side < 0:
            expected = every_direction(TOY, row.nu)[1]
        assert row.objective == pytest.approx(expected, rel=1e-9 if row.side < 0 else 1e-5)
        assert row.verdict is Verdict.CERTIFIED
        assert row.bound <= expected + 1e-8
        assert row.cvar == pytest.approx(row.objective / row.nu)
        u = TOY.y * (TOY.X @ row.w + row.b)
        loss = -row.nu * row.rho + np.maximum(row.rho - u, 0).mean()
        assert loss == pytest.approx(row.objective, abs=1e-12)
        assert row.errors == (u <= 0).sum()
        assert row.margin_error_share <= row.nu + 1e-9
        assert row.margin_error_share <= row.support_share
        assert (row.norm_multiplier > 0) == (row.nu > path.range.nu_bar)
        assert row.norm_multiplier == pytest.approx(-60 * row.objective / math.sqrt(2))
        exact = 1e-10 if row.side < 0 else 1e-3  # above, w comes from an interior point method
        assert row.stationarity < exact
        assert row.alpha.sum() == pytest.approx(60 * row.nu, rel=1e-12)
        assert TOY.y @ row.alpha == pytest.approx(0.0, abs=1e-11)
        assert ((row.alpha >= 0) & (row.alpha <= 1)).all()
        parallel = row.alpha @ (TOY.y[:, None] * TOY.X)
        w = math.sqrt(2) * row.w
        assert parallel == pytest.approx(row.norm_multiplier * w, abs=exact * 60)
        assert (row.alpha[u < row.rho - 1e-3] == 1).all()
        assert (row.alpha[u > row.rho + 1e-3] == 0).all()
        assert row.support_share == (row.alpha > 0).mean() >= row.nu - 1e-12


FOUR = reference_solutions.points("overlapping", 4, n=20)


def engine_that(
    change: Callable[[float, inner.Search], inner.Search],
) -> Callable[..., inner.Search]:
    """Every direction is tried; what is said of it is changed by nu."""
    sharp = Everywhere()
    return lambda data, nu, starts: change(nu, sharp(data, nu, starts))


def test_bounds_of_neighbours_are_used_afterwards() -> None:
    """An engine that proves nothing for one nu; both neighbours prove what they can."""
    weak = engine_that(
        lambda nu, found: found._replace(bound=0.0, stop="limit") if nu == 0.25 else found
    )
    path = extended_nu_path(FOUR, [0.3, 0.25, 0.2], engine=inner.ProvingEngine(weak))
    rows = {row.nu: row for row in path.rows}
    expected = every_direction(FOUR, 0.25)[1]
    assert rows[0.25].bound == pytest.approx((rows[0.3].bound + rows[0.2].bound) / 2)
    assert 0 < rows[0.25].bound <= expected
    assert rows[0.25].objective == pytest.approx(expected, rel=1e-9)
    assert rows[0.25].stop == "limit"
    closed = rows[0.25].gap <= 1e-6 * expected
    assert rows[0.25].verdict is (Verdict.CERTIFIED if closed else Verdict.NOT_CERTIFIED)


def test_a_bound_that_is_only_claimed_proves_nothing_for_others() -> None:
    claims = engine_that(lambda nu, found: found._replace(bound=0.0, claimed_bound=found.bound))
    path = extended_nu_path(FOUR, [0.3, 0.06, 0.05], engine=claims)
    for row in path.rows:
        assert (row.verdict, row.bound) == (Verdict.SOLVER_BOUND, 0.0)
        assert row.claimed_bound == pytest.approx(row.objective, rel=1e-8)
    assert path.searches == 3
    assert all(bound == 0.0 for _, bound in path.anchors)
    for engine, verdict in (
        (inner.ProvingEngine(Everywhere()), Verdict.CERTIFIED),
        (Everywhere(), Verdict.SOLVER_BOUND),  # the bound of a plain function is its word
    ):
        row = extended_nu_path(FOUR, [0.3], engine=engine).rows[0]
        assert row.verdict is verdict
        closed = row.objective * (1 - 2e-9) <= row.bound <= row.upper
        assert closed == (verdict is Verdict.CERTIFIED)


def test_a_poor_search_does_not_hide_a_better_weight() -> None:
    """A weight that is found later, for a smaller nu, serves a larger one in the end."""
    best, value = every_direction(FOUR, 0.3)

    def lucky(nu: float, found: inner.Search) -> inner.Search:
        w = best if nu < 0.25 else np.array([best[1], -best[0]])
        own = float(risk(FOUR, nu, np.full(20, 0.05), w[None, :], "free")[0])
        return inner.Search(2.0 * w, own, 0.0, "luck")

    row = extended_nu_path(FOUR, [0.3, 0.2], engine=engine_that(lucky)).rows[0]
    assert row.objective == pytest.approx(value, rel=1e-9)
    assert row.verdict is Verdict.NOT_CERTIFIED
    assert np.abs(row.w - best).max() < 1e-9


def test_an_engine_that_proves_too_much_is_caught() -> None:
    best, value = every_direction(FOUR, 0.3)
    liar = engine_that(lambda nu, found: inner.Search(best, value, value * (1 + 1e-5), "proven"))
    with pytest.raises(RuntimeError, match=r"bound .* at nu = 0\.3 exceeds the value"):
        extended_nu_path(FOUR, [0.3], engine=liar)
    boaster = engine_that(
        lambda nu, found: inner.Search(best, value, 0.0, "optimal", claimed_bound=2 * value)
    )
    row = extended_nu_path(FOUR, [0.3], engine=boaster).rows[0]
    assert row.verdict is Verdict.NOT_CERTIFIED
    assert (row.claimed_bound, row.bound) == (2 * value, 0.0)


@pytest.mark.parametrize(
    ("balance", "mode"),
    [("uniform", "none"), ("balanced", "free"), ("given", "free"), ("given", "none")],
)
def test_weights_and_intercepts(balance: str, mode: str) -> None:
    data = reference_solutions.points("unbalanced", 3, n=12)
    own = np.random.default_rng(2).uniform(1, 2, 12)
    given = own / own.sum() if balance == "given" else balance
    caps = loss_weights(data, given)
    found = nu_range(data, class_balance=given, intercept=mode)
    nus = np.array([0.9, 0.5, 0.2]) * found.nu_bar
    high = (found.nu_bar + found.nu_max) / 2
    engine = inner.ProvingEngine(Everywhere(caps, mode))
    words: dict[str, Any] = {"class_balance": given, "intercept": mode}
    path = extended_nu_path(data, [*nus, high], engine=engine, **words)
    expected = reference_solutions.nu_risk_in_ball(data, mode, high, caps)
    assert path.rows[0].objective == pytest.approx(expected, abs=1e-7) != 0
    for row in path.rows[1:]:
        expected = every_direction(data, row.nu, caps, mode)[1]
        assert row.objective == pytest.approx(expected, rel=1e-6)
        assert row.verdict is Verdict.CERTIFIED
        assert row.stationarity < 1e-9
        assert (row.alpha <= 12 * caps * (1 + 1e-12)).all()
        assert row.alpha.sum() == pytest.approx(12 * row.nu, rel=1e-12)
        if mode == "none":
            assert row.b == 0


def never(*_: Any) -> inner.Search:
    raise AssertionError("nothing to search for")


def assert_no_other_unit(row: inner.PathRow) -> None:
    """CERTIFIED where the gap is 1e-6 of value or bound: next to 0 no size of the data counts."""
    size = max(abs(row.objective), abs(row.bound))
    assert (row.verdict is Verdict.CERTIFIED) == (abs(row.objective - row.bound) <= 1e-6 * size)


@pytest.mark.parametrize(("mode", "scale"), in_turn((*MODES, "penalised"), (1e-5, 1.0, 1e5)))
def test_around_nu_bar_the_value_is_next_to_zero(mode: str, scale: float) -> None:
    data = TrainingData(scale * FOUR.X, FOUR.y)
    bar = nu_range(data, intercept=mode).nu_bar
    size = np.abs(data.X).max() + (mode == "penalised")
    at = extended_nu_path(data, [bar], intercept=mode, engine=never).rows[0]
    assert (at.side, at.how) == (0, "boundary")
    assert_no_other_unit(at)
    assert at.objective == pytest.approx(0.0, abs=1e-12 * size)
    assert at.bound == pytest.approx(0.0, abs=1e-12 * size)
    assert at.norm_multiplier == pytest.approx(0.0, abs=1e-7 * size)
    assert at.rho > 0
    for factor in (1 + 3e-8, 1 + 1e-6, 1 - 1e-6, 1 - 3e-8):
        row = extended_nu_path(data, [bar * factor], intercept=mode).rows[0]
        assert row.side == np.sign(factor - 1)
        norm = np.linalg.norm([*row.w, row.b if mode == "penalised" else 0.0])
        assert norm == pytest.approx(1.0, abs=1e-12)
        assert row.objective == pytest.approx(0.0, abs=4e-6 * size)
        assert -4e-9 * size <= row.bound - row.objective <= 1e-12 * size
        assert_no_other_unit(row)


def test_a_solver_that_leaves_w_at_zero_is_helped(monkeypatch: pytest.MonkeyPatch) -> None:
    def flat(*args: Any, **options: Any) -> Any:
        found = solve(*args, **options)
        return replace(found, values=dict(found.values) | {"w": np.zeros(2)})

    monkeypatch.setattr(inner.nu_path, "solve", flat)
    bar = nu_range(FOUR).nu_bar
    row = extended_nu_path(FOUR, [bar * (1 + 1e-6)]).rows[0]
    assert row.side == 1
    assert_no_other_unit(row)
    assert row.objective == pytest.approx(0.0, abs=1e-5)
    assert row.gap <= 1e-11
    exclusive_or = TrainingData([[1, 1], [-1, -1], [1, -1], [-1, 1]], [1, 1, -1, -1])
    monkeypatch.setattr(inner.nu_path, "least_hinge", lambda *_: np.zeros(2))
    row = extended_nu_path(exclusive_or, [1.0]).rows[0]
    assert row.side == 0
    assert_no_other_unit(row)
    assert np.linalg.norm(row.w) == 1.0


@pytest.mark.parametrize("method", inner.METHODS)
def test_every_method_finds_the_same_with_weights_and_any_intercept(method: str) -> None:
    if method == "gurobi":
        pytest.importorskip("gurobipy")
    proves = method not in ("scip", "gurobi")
    data = reference_solutions.points("overlapping", 4, n=14)
    for row in extended_nu_path(data, [0.3, 0.15], engine=method).rows:
        expected = every_direction(data, row.nu)[1]
        assert row.objective == pytest.approx(expected, abs=2e-6)
        assert row.verdict is (Verdict.CERTIFIED if proves else Verdict.SOLVER_BOUND)
        assert row.bound <= expected + 1e-12
    data = reference_solutions.points("unbalanced", 3, n=12)
    caps = loss_weights(data, "balanced")
    for mode in (*MODES, "penalised"):
        found = inner.search_engine(method, class_balance="balanced", intercept=mode)(data, 0.2, ())
        hulls = reduced_hulls(data, nu=0.2, class_balance="balanced", intercept=mode)
        assert found.weight.shape == (3 if mode == "penalised" else 2,)
        w = found.weight / np.linalg.norm(found.weight)
        assert support_value(hulls, w) == pytest.approx(found.objective, abs=1e-9)
        if mode != "penalised":
            expected = every_direction(data, 0.2, caps, mode)[1]
            assert found.objective == pytest.approx(expected, abs=2e-6)
        told = found.bound if proves else found.claimed_bound
        assert told == pytest.approx(found.objective, rel=1e-5, abs=2e-6 * (not proves))
        assert (found.claimed_bound is None) == proves
        assert proves or found.bound < found.claimed_bound


def test_the_profile_holds_the_cvar_between_its_bounds(path: inner.ExtendedNuPath) -> None:
    profile = cvar_profile(path, 60)
    assert (profile.lower <= profile.upper + 1e-12).all()
    for nu, lower, upper in zip(profile.nu, profile.lower, profile.upper, strict=True):
        if nu < profile.nu_bar:
            exact = every_direction(TOY, nu)[1] / nu
            assert lower <= exact + 1e-9 * abs(exact)
            assert upper >= exact - 1e-9 * abs(exact)
    assert {path.range.nu_bar, path.range.constant_until, *NUS} <= set(profile.nu)
    (at,) = np.flatnonzero(profile.nu == path.range.nu_bar)
    assert profile.lower[at] <= 1e-12
    assert profile.upper[at] >= -1e-9
    flat = profile.nu <= profile.constant_until
    assert flat.sum() >= 4
    for side in (profile.lower, profile.upper):
        assert side[flat] == pytest.approx(0.611390793, abs=1e-8)
    assert (profile.solved == sorted(NUS)).all()
    assert profile.solved_upper - profile.solved_lower == pytest.approx(0, abs=1e-6)
