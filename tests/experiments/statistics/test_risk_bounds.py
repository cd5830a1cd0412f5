"""Bounds on risks by hand, by their definitions, and against errors that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.inside.experiments import (
    ERROR_RATE,
    MEAN_HINGE,
    chosen_ridge,
    conditional_value_at_risk,
    deviation,
    hard_margin_bound,
    hard_margin_points,
    margin_errors,
    norm_ball_bound,
    norm_ball_points,
    risk_bound,
    risk_table,
    soft_margin_bound,
    theorem_5,
    value_at_risk,
    vc_bound,
)
from tests.inside.experiments import SAMPLE_COMPLEXITY_FORMS as BALLS
from tests.inside.experiments import VC_BOUND_FORMS as FORMS
from tests.inside.solvers import RsvmPoint, point_by_formula
from tests.references.reference_solutions import points
from tests.support.covering import covering
from tightmargin.formulations import TrainingData, hard_margin_svc
from tightmargin.solvers import nu_range, solve

DATA = points("overlapping", 1, n=10)
BAR = nu_range(DATA).nu_bar  # 0.408
W, B = np.array([1.2, -0.7]), 0.3
WIDE = {"nu_bar": BAR, "radius": 5.0, "c": 1.0, "delta": 0.05}

# Small whole numbers, so that errors tie and shares of points end exactly at a jump.
errors = st.lists(st.integers(-6, 6), min_size=1, max_size=12).map(
    lambda found: np.array(found, dtype=float) / 4
)
shares = st.integers(1, 24).map(lambda k: k / 24) | st.floats(1e-3, 1.0)


# --- levels --------------------------------------------------------------------------------------


@given(f=errors, nu=shares)
def test_value_at_risk_is_its_definition(f: np.ndarray, nu: float) -> None:
    """And the errors beyond it are at most nu, with it at least: what the proofs use."""
    beta = 1 - nu
    level = value_at_risk(f, nu)
    assert level == min(a for a in f if (f <= a).mean() >= beta - 1e-12)
    assert (f > level).mean() <= nu + 1e-12
    assert (f >= level).mean() >= nu - 1e-12


@given(f=errors, nu=shares)
def test_cvar_is_the_least_value_of_rockafellar_and_uryasev(f: np.ndarray, nu: float) -> None:
    least = min(a + np.maximum(f - a, 0).sum() / (nu * len(f)) for a in f)
    found = conditional_value_at_risk(f, nu)
    assert found == pytest.approx(least, abs=1e-12)
    assert found >= value_at_risk(f, nu) - 1e-12
    assert found <= f.max() + 1e-12


def test_errors_are_distances_to_the_wrong_side() -> None:
    data = TrainingData([[3.0, 4.0], [0.0, 0.0], [3.0, 4.0]], [1, -1, -1])
    assert margin_errors(data, [0.6, 0.8], -1.0) == pytest.approx([-4.0, -1.0, 4.0])
    assert margin_errors(data, [6.0, 8.0], -10.0) == pytest.approx([-4.0, -1.0, 4.0])


# --- G -------------------------------------------------------------------------------------------


def test_g_by_hand() -> None:
    """m = 100, R = c = 1, delta = 1/20, gamma = 1/2: 2/100 (64 log2 200 - 1 + ln 40)."""
    found = deviation(-0.5, m=100, radius=1.0, c=1.0, delta=0.05)
    assert found == pytest.approx(3.1365448365986937, rel=1e-14)
    # 4 c^2 (R^2 + 1)^2 / gamma^2 log2(2 m) with R = 2, c = 1/2, gamma = 5, m = 8: 1 * 1 * 4.
    small = deviation(5.0, m=8, radius=2.0, c=0.5, delta=2 / math.e)
    assert small == pytest.approx(1.0, rel=1e-14)


# --- theorems ------------------------------------------------------------------------------------


def test_nu_the_ball_and_the_level_must_be_those_of_the_data() -> None:
    data = points("unbalanced", 2)
    bar = nu_range(data).nu_bar
    with pytest.raises(ValueError, match=r"nu must lie in \(0, 0\.571429\]"):
        risk_bound(data, W, B, nu=0.6, **(WIDE | {"nu_bar": bar}))
    farthest, largest = np.linalg.norm(DATA.X, axis=1).max(), np.abs(DATA.X).max()
    assert farthest > largest * 1.01
    with pytest.raises(ValueError, match=f"one has norm {farthest:.6g}"):
        risk_bound(DATA, W, B, nu=0.1, **(WIDE | {"radius": largest}))
    risk_bound(DATA, W, B, nu=0.1, **(WIDE | {"radius": farthest}))
    data = TrainingData([[0.0], [0.0], [1.0], [-1.0]], [1, -1, 1, -1])
    options = {"nu_bar": nu_range(data).nu_bar, "radius": 1.0, "c": 1.0, "delta": 0.05}
    with pytest.raises(ValueError, match="Theorem 4 needs a negative value at risk, got 0"):
        risk_bound(data, [1.0], 0.0, nu=0.4, **options)


def test_a_negative_radicand_of_the_second_number_leaves_the_first() -> None:
    data = TrainingData([[1.0], [-1.0], [1e3], [-1e3], [2.0], [-2.0]], [-1, 1, -1, 1, 1, -1])
    options = {"nu_bar": nu_range(data).nu_bar, "radius": 1e3, "c": 2e-6, "delta": 0.9}
    found = theorem_5(data, [1.0], 0.0, nu=0.6, **options)
    assert found.value_at_risk == pytest.approx(1.0)
    assert found.through_cvar is None
    assert math.isfinite(found.bound)
    with pytest.raises(ValueError, match="radicand"):
        deviation(found.cvar, m=6, radius=1e3, c=2e-6, delta=0.9)


def test_known_risks_lie_inside_bounds_that_say_something() -> None:
    """Labels of x = -1, 1 flipped with probability 0.2: sign(x) is wrong 0.2, -sign(x) 0.8."""
    rng, m = np.random.default_rng(5), 40_000
    x = rng.choice([-1.0, 1.0], m)
    data = TrainingData(x[:, None], np.where(rng.random(m) < 0.2, -x, x))
    bar = 2 * min((data.y != x).mean(), 0.5)  # the least mean hinge loss, at w = 1
    options = {"nu_bar": bar, "radius": 1.0, "c": 1.0, "delta": 0.05}
    right = risk_bound(data, [1.0], 0.0, nu=0.3, **options)
    assert (right.theorem, right.value_at_risk, right.vacuous) == (4, -1.0, False)
    assert 0.2 <= right.bound < 0.6
    wrong = risk_bound(data, [-1.0], 0.0, nu=0.39, **options)
    assert (wrong.theorem, wrong.value_at_risk, wrong.vacuous) == (5, 1.0, False)
    assert 0.1 < wrong.bound <= 0.8
    above = risk_bound(data, [1.0], 0.0, nu=0.7, **options)
    assert (above.theorem, above.vacuous) == (3, False)
    assert above.cvar == pytest.approx(-1 + 2 * (data.y != x).mean() / 0.7, abs=1e-12)
    assert 0.2 <= above.bound <= above.through_cvar
    few = TrainingData(data.X[:200], data.y[:200])
    upper, lower = (risk_bound(few, [w], 0.0, nu=0.3, **options) for w in (1.0, -1.0))
    assert (upper.theorem, upper.vacuous, lower.theorem, lower.vacuous) == (4, True, 5, True)
    assert 1 < upper.bound < 2
    assert -1 < lower.bound < 0


DELTA = 2 * math.exp(-2)  # ln(2/delta) = 2
# --- by hand -------------------------------------------------------------------------------------


def test_the_hard_margin_bound_by_hand() -> None:
    """m = 100 and rho = 2 gamma: sqrt(4 * 4 / 100) + sqrt(2 * 2 / 100)."""
    found = hard_margin_bound(100, margin=0.5, radius=1.0, delta=DELTA)
    assert found.capacity == pytest.approx(0.4)
    assert found.confidence == pytest.approx(0.2)
    assert found.bound == pytest.approx(0.6)
    assert not found.vacuous
    free = hard_margin_bound(100, margin=0.5, radius=1.0, delta=DELTA, intercept="free")
    assert (free.capacity, free.confidence) == pytest.approx((0.8, 0.2))
    assert free.vacuous
    # (0.4 + 0.2) at 100 points, so 0.3 at 400; 8 / 0.2^2 = 200 and half of it.
    assert hard_margin_points(0.3, margin=0.5, radius=1.0, delta=DELTA) == 400
    assert norm_ball_points(0.2, norm_bound=1.0, radius=1.0) == 200
    assert norm_ball_points(0.2, norm_bound=1.0, radius=1.0, form="derived") == 100


def test_the_soft_margin_bound_by_hand() -> None:
    """m = 200, rho = B = 1: lambda = sqrt(2/200) = 0.1 and sqrt(8/200) = 0.2."""
    found = soft_margin_bound(200, ridge=0.1, radius=1.0, norm=1.0, comparison=0.3)
    assert (found.norm_cost, found.stability) == pytest.approx((0.1, 2 / 20))
    assert found.bound == pytest.approx(0.5)
    assert not found.vacuous
    assert chosen_ridge(200, norm_bound=1.0, radius=1.0) == pytest.approx(0.1)
    ball = norm_ball_bound(200, norm_bound=1.0, radius=1.0, comparison=0.8)
    assert ball.excess == pytest.approx(0.2)
    assert ball.vacuous == (ball.bound >= 1)
    assert norm_ball_bound(200, norm_bound=1.0, radius=1.0, comparison=0.81).vacuous
    derived = soft_margin_bound(
        200, ridge=0.1, radius=3.0, norm=2.0, comparison=0.3, form="derived"
    )
    assert (derived.norm_cost, derived.stability) == pytest.approx((0.4, 9 / 20))
    zero = soft_margin_bound(50, ridge=0.1, radius=1.0, norm=0, comparison=1)
    assert zero.bound == pytest.approx(1.4)


@given(st.floats(1e-3, 0.9), st.floats(0.01, 1.0), st.floats(1e-6, 0.99),
       st.sampled_from(["none", "free"]))  # fmt: skip
def test_the_sample_sizes_are_the_least(
    target: float, margin: float, delta: float, intercept: str
) -> None:
    hard = {"margin": margin, "radius": 1.0, "delta": delta, "intercept": intercept}
    m = hard_margin_points(target, **hard)
    assert hard_margin_bound(m, **hard).bound <= target * (1 + 1e-9)
    assert m == 1 or hard_margin_bound(m - 1, **hard).bound > target * (1 - 1e-9)
    for form in BALLS:
        m = norm_ball_points(target, norm_bound=1 / margin, radius=1.0, form=form)
        ball = {"norm_bound": 1 / margin, "radius": 1.0, "comparison": 0.0, "form": form}
        assert norm_ball_bound(m, **ball).excess <= target * (1 + 1e-9)
        assert m == 1 or norm_ball_bound(m - 1, **ball).excess > target * (1 - 1e-9)


# --- against an error that is known ---------------------------------------------------------------


def test_the_error_of_the_hard_margin_keeps_its_bound() -> None:
    """Atoms e_j with a label each, equally likely: what was never drawn is never learnt.

    With w* = sum s_j e_j / sqrt(K) the margin is 1 / sqrt(K) at rho = 1, and the hard margin is
    w = sum of s_j e_j over the atoms that were drawn: its error rate is the share of the others.
    """
    K, m = 100, 500
    said = hard_margin_bound(m, margin=K**-0.5, radius=1.0, delta=0.5)
    assert not said.vacuous
    errors, atoms = [], np.eye(K)
    for seed in range(2):
        rng = np.random.default_rng(seed)
        labels, drawn = rng.choice([-1.0, 1.0], K), rng.integers(K, size=m)
        data = TrainingData(atoms[drawn], labels[drawn])
        w = solve(hard_margin_svc(data, intercept="none")).values["w"]
        assert np.linalg.norm(w) <= (1 + 1e-6) * K**0.5  # what the proof rests on: 1 / gamma
        errors.append(float((labels * w <= 1e-6).mean()))
        assert errors[-1] == pytest.approx(1 - len(set(drawn.tolist())) / K)
    assert 0 < max(errors) <= said.bound


ETA = 4 * math.exp(-2)  # ln(eta/4) = -2
# Bi & Vapnik 2003, Table 2: H^2 / n and R_trn in percent, for n = 200 and n = 1000.
RATIOS = (0.03, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
PRINTED_RISKS = {
    200: (11.5, 9.5, 6.0, 4.5, 3.5, 3.0, 2.5, 1.5, 1.5, 0.5, 0.0, 0.0),
    1000: (10.8, 9.8, 8.1, 6.8, 5.6, 5.4, 5.2, 4.6, 4.3, 3.7, 3.2, 2.8),
}


def test_the_three_forms_by_hand() -> None:
    """n = 2 and eta = 4 exp(-2), so that eta/(2n) = exp(-2); h = 4 = 2n, so that ln(2n/h) = 0."""
    vapnik = vc_bound(0.0, 4, 2, ETA)
    assert vapnik.capacity == pytest.approx(4 * (4 * 1 + 2) / 2)
    assert vapnik.bound == pytest.approx(12.0)  # risk 0: the bound is e
    assert vc_bound(24.0, 4, 2, ETA).bound == pytest.approx(24 + 6 * (1 + 3))
    printed = vc_bound(0.0, 4, 2, ETA, "printed")
    assert printed.capacity == pytest.approx((4 * 3 + 2) / 2)
    assert printed.bound == pytest.approx(14.0)  # risk 0: the bound is 2q
    assert vc_bound(14.0, 4, 2, ETA, "printed").bound == pytest.approx(14 + 7 * (1 + 3))
    fixed = vc_bound(0.0, 4, 2, ETA, "printed_h_fixed")
    assert fixed.capacity == pytest.approx(vapnik.capacity / 4)
    assert fixed.bound == pytest.approx(6.0)
    # The logarithm itself: h = 2n / e has ln(2n/h) = 1.
    h = 2000 / math.e
    assert vc_bound(0.0, h, 1000, ETA).bound == pytest.approx(4 * (2 * h + 2) / 1000)


@pytest.mark.parametrize(("n", "form"), covering([200, 1000], FORMS))
def test_on_the_papers_digits_every_form_chooses_the_smallest_h(n: int, form: str) -> None:
    """From the printed training risks; the recommended range does not come from the bound."""
    found = [
        vc_bound(percent / 100, ratio * n + 1, n, form=form)
        for ratio, percent in zip(RATIOS, PRINTED_RISKS[n], strict=True)
    ]
    assert int(np.argmin([row.bound for row in found])) == 0
    if form == "vapnik":
        assert found[0].bound == pytest.approx({200: 1.011, 1000: 0.861}[n], abs=5e-4)
        assert [row.vacuous for row in found] == [n == 200] + [True] * 11
        assert found[-1].note == "vacuous: a risk is at most 1"
        assert (found[0].note == "") == (n == 1000)


# --- over norm bounds ----------------------------------------------------------------------------


def point(H: float, w: list[float], b: float) -> RsvmPoint:
    attained = point_by_formula("a test", 0.0, 0.0, "for a test")
    return RsvmPoint(H, np.array(w), b, np.zeros(4), 0.0, attained, None, 0.0)


def test_a_table_of_risks_by_hand() -> None:
    """Points 2, 1, 1 and -2 on a line, the third with the wrong label; R = 2 and d = 1."""
    data = TrainingData([[2.0], [1.0], [1.0], [-2.0]], [1, 1, -1, -1])
    table = risk_table(data, [point(0.25, [0.25], 0.0), point(1.0, [1.0], -1.0)], eta=0.1)
    first, second = table.rows
    # Margins .5, .25, -.25, .5 and 1, 0, 0, 3: on the hyperplane a point is an error.
    assert (first.error_rate, first.mean_hinge) == (0.25, (0.5 + 0.75 + 1.25 + 0.5) / 4)
    assert (second.error_rate, second.mean_hinge) == (0.5, 0.5)
    assert (first.h, second.h) == (1.25, 2.0)
    for row in table.rows:
        for form in FORMS:
            expected = vc_bound(row.mean_hinge, row.h, 4, 0.1, form)
            assert row.bounds[MEAN_HINGE, form] == expected
            expected = vc_bound(row.error_rate, row.h, 4, 0.1, form)
            assert row.bounds[ERROR_RATE, form] == expected
    frame = table.to_frame()
    assert frame["norm_bound_squared_over_n"].tolist() == [0.0625 / 4, 0.25]
    assert frame["vapnik_bound_of_error_rate"][1] == second.bounds[ERROR_RATE, "vapnik"].bound
    assert frame["printed_capacity"][0] == first.bounds[MEAN_HINGE, "printed"].capacity
    assert "with 0.8 at least" in table.notes[0]
    assert "vapnik, printed, printed_h_fixed" in table.notes[-1]


def test_the_least_bound_may_be_anywhere_and_differ_by_risk() -> None:
    """The error rate falls at the second H by more than its capacity costs."""
    rng = np.random.default_rng(0)
    y = np.resize([1.0, -1.0], 2000)
    data = TrainingData(
        np.column_stack([y * 0.9, np.full(2000, 0.1)]) + rng.normal(size=(2000, 2)) * 0.01, y
    )
    rows = [point(1.0, [0.0, 1.0], -0.1), point(2.0, [2.0, 0.0], 0.0), point(9.0, [9.0, 0.0], 0.0)]
    table = risk_table(data, rows)
    assert table.best == dict.fromkeys(FORMS, 1)
    assert table.best_by_hinge["vapnik"] == 1
    assert table.rows[1].bounds[ERROR_RATE, "vapnik"].vacuous is False
    assert len(table.notes) == 2
    # Of one capacity: error rates 1/4 and 1/2, mean hinge losses 3/4 and 1/2.
    data = TrainingData([[2.0], [1.0], [1.0], [-2.0]], [1, 1, -1, -1])
    table = risk_table(data, [point(1.0, [0.25], 0.0), point(1.0, [1.0], -1.0)])
    assert table.best == dict.fromkeys(FORMS, 0)
    assert table.best_by_hinge == dict.fromkeys(FORMS, 1)
