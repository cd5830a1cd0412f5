"""The rigorous SVM: the other machines at the parameters that a solution names, back, and duals.

Each machine is solved for itself, to the last digits; what is compared are directions of w.
"""

from __future__ import annotations

import json
import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightmargin as tm
from tests.inside.formulations import (
    FREE,
    Equivalence,
    dual_classifier,
    from_c_svc,
    from_nu_svc,
    from_reduced_hulls,
    gram_data,
    hinge_intercept,
    hinge_intercept_interval,
)
from tests.references import reference_solutions
from tests.references.reference_solutions import INTERCEPTS, points
from tests.support.certified import checked, hyperplane
from tests.support.covering import FULL
from tightmargin.formulations import equivalence
from tightmargin.solvers import Verdict, solve, solve_rsvm

TIGHT = {"tol_gap_abs": 1e-14, "tol_gap_rel": 1e-14, "tol_feas": 1e-14, "tol_ktratio": 1e-12}
# Data and H below the largest that matters, where alpha is not at its cap everywhere.
CASES = [("overlapping", 0.5), ("separable", 0.5), ("separable", 1.5), ("rbf", 4.5)]
if FULL:
    CASES += [("overlapping", 1.0), ("separable", 1.0), ("rbf", 3.0), ("rbf", 6.0)]


@cache
def data_of(kind: str) -> tm.TrainingData | tm.GramData:
    if kind == "rbf":
        return gram_data(points("overlapping", 3, n=24, d=3), kernel="rbf", width=0.5)
    return points(kind, 0, n=30, d=4)


def solved(model: Any) -> dict[str, np.ndarray]:
    return dict(solve(model, "clarabel", options=TIGHT).values)


@cache
def at(kind: str, H: float) -> tuple[Equivalence, np.ndarray]:
    """The maps at H, and the unit normal of the optimum."""
    data = data_of(kind)
    row = solve_rsvm(data, norm_bound=H, method="segments")
    assert row.verdict is Verdict.CERTIFIED
    alpha = row.point.alpha
    return equivalence(data, H, alpha), unit(data.factor.T @ (data.y * alpha))


def unit(w: np.ndarray) -> np.ndarray:
    return w / np.linalg.norm(w)


# --- from H --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "H"), CASES)
def test_four_machines_have_the_direction_of_the_rigorous_svm(kind: str, H: float) -> None:
    data, (found, w) = data_of(kind), at(kind, H)
    assert found.active
    assert not found.degenerate
    settings = found.settings()
    assert settings["rsvm"] == {"norm_bound": H}
    builders = {
        "c_svc": tm.c_svc_dual, "nu_svc": tm.nu_svc_dual, "reduced_hull_svc": tm.reduced_hull_svc,
        "soft_margin_svc": tm.kernel_soft_margin_svc,
    }  # fmt: skip
    assert set(settings) == {"rsvm", *builders}
    for name, build in builders.items():
        alpha = solved(build(data, **settings[name]))["alpha"]
        signs = 1.0 if name == "soft_margin_svc" else data.y
        theirs = data.factor.T @ (signs * alpha)
        assert np.linalg.norm(w - unit(theirs)) <= 1e-6
        length = {
            "c_svc": H, "soft_margin_svc": H, "nu_svc": found.rho * H,
            "reduced_hull_svc": found.hull_bound * found.gamma * H,
        }[name]  # fmt: skip
        assert np.linalg.norm(theirs) == pytest.approx(length, rel=1e-6)


def test_the_numbers_that_follow_from_the_others() -> None:
    """By hand: two points at distance 2 have w = (H, 0) below H = 1, and alpha = 1."""
    data = tm.TrainingData([[1.0, 0.0], [-1.0, 0.0]], [1, -1])
    found = equivalence(data, 0.25, [1.0, 1.0])
    assert (found.gamma, found.C, found.price) == (8.0, 0.125, -2.0)
    assert (found.hull_bound, found.nu, found.beta, found.nu_max) == (1.0, 1.0, 0.0, 1.0)
    assert (found.rho, found.half_ridge, found.ridge) == (4.0, 4.0, 2.0)
    assert (found.radius, found.vc_dimension, found.vc_dimension_in_ball) == (1.0, 1.0625, 1.0625)
    assert found.b_interval == (-0.75, 0.75)
    wide = equivalence(tm.TrainingData([[3.0, 0.0], [-3.0, 0.0]], [1, -1]), 5.0, [0.5, 0.5])
    assert (wide.radius, wide.vc_dimension, wide.vc_dimension_in_ball) == (3.0, 3.0, 226.0)


# --- back to H -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "H"), CASES)
def test_every_machine_names_the_h_it_came_from(kind: str, H: float) -> None:
    """c_svc always; nu and D name the stretch they belong to, and its upper end."""
    data, (found, _) = data_of(kind), at(kind, H)
    backs = {
        "c_svc": from_c_svc(data, found.C, solved(tm.c_svc_dual(data, C=found.C))["alpha"]),
        "nu_svc": from_nu_svc(data, found.nu, solved(tm.nu_svc_dual(data, nu=found.nu))["alpha"]),
        "reduced_hull_svc": from_reduced_hulls(
            data,
            found.hull_bound,
            solved(tm.reduced_hull_svc(data, hull_bound=found.hull_bound))["alpha"],
        ),
    }
    for name, back in backs.items():
        ends = found.norm_bounds or (math.nan, math.nan)
        assert back.norm_bounds == pytest.approx(ends, rel=1e-6)
        assert back.nu == pytest.approx(found.nu, rel=1e-6)
        assert back.price == pytest.approx(found.price, rel=1e-6)
        H_back = H if name == "c_svc" else ends[1]
        assert back.norm_bound == pytest.approx(H_back, rel=1e-6)
        assert pytest.approx(found.C * H_back / H, rel=1e-6) == back.C


def test_between_the_ends_of_a_stretch_nu_stays_and_beyond_them_it_moves() -> None:
    """Solved anew, by a solver that knows nothing of the stretch."""
    data, H = data_of("overlapping"), 0.5
    found, w = at("overlapping", H)
    assert found.flat
    assert "only C and the ridge tell them apart" in found.notes[0]
    low, high = found.norm_bounds or (math.nan, math.nan)
    assert low <= H <= high
    inside = [low + share * (high - low) for share in (0.05, 0.95)]
    beyond = [h for h in (low - 0.05 * (high - low), high + 0.05 * (high - low)) if h > 0]
    for there in inside + beyond:
        alpha = solved(tm.rsvm_dual(data, norm_bound=there))["alpha"]
        moved = abs(alpha.sum() / data.n - found.nu) > 1e-3 * found.nu
        turned = np.linalg.norm(unit(data.factor.T @ (data.y * alpha)) - w) > 1e-4
        assert (moved or turned) == (there in beyond), there


# --- gamma = 0 -----------------------------------------------------------------------------------


def test_without_a_price_c_is_infinite_and_said_to_be() -> None:
    """x = 1 and -1 in both classes: multipliers 1 cancel, and S = 0 at every H."""
    data = tm.TrainingData([[1.0], [-1.0], [1.0], [-1.0]], [1, 1, -1, -1])
    found = equivalence(data, 3.0, np.ones(4))
    assert (found.gamma, found.C, found.ridge, found.rho, found.price) == (0, math.inf, 0, 0, 0)
    assert (found.nu, found.hull_bound) == (1.0, 0.5)
    assert not found.active
    assert found.b_interval is None
    assert found.settings() == {"rsvm": {"norm_bound": 3.0}}
    saved = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert saved["C"] is None
    assert saved["active"] is False
    assert "C is infinite" in saved["notes"][0]
    nothing = equivalence(data, 3.0, np.zeros(4))
    assert (nothing.nu, nothing.hull_bound) == (0.0, math.inf)
    with pytest.raises(ValueError, match="w = 0: no norm_bound"):
        from_c_svc(data, 1.0, np.ones(4))


def test_a_level_of_zero_belongs_to_no_h() -> None:
    """alpha not optimal: where it is positive the margin is negative."""
    data = tm.TrainingData([[1.0], [-2.0], [2.0], [-1.5]], [1, 1, -1, -1])
    with pytest.raises(ValueError, match="rho = 0: no norm_bound"):
        from_nu_svc(data, 0.5, [0.25, 0.0, 0.25, 0.0])


@given(st.integers(0, 10**6), st.integers(2, 12), st.booleans())
def test_the_interval_of_intercepts_is_where_the_loss_is_least(
    seed: int, n: int, equal: bool
) -> None:
    """Against every breakpoint; whole numbers make flat pieces and ties happen."""
    rng = np.random.default_rng(seed)
    y = np.resize([1.0, -1.0], n)
    scores = rng.integers(-4, 5, n) / 2.0
    costs = np.ones(n) if equal else rng.integers(1, 4, n).astype(float)

    def loss(b: float) -> float:
        return float(costs @ np.maximum(0.0, 1 - y * (scores + b)))

    low, high = hinge_intercept_interval(scores, y, costs)
    losses = np.array([loss(b) for b in y - scores])
    best = (y - scores)[np.isclose(losses, losses.min(), atol=1e-9)]
    assert (low, high) == (best.min(), best.max())
    assert low <= hinge_intercept(scores, y, costs) <= high
    assert loss(low) == pytest.approx(loss(hinge_intercept(scores, y, costs)), abs=1e-9)


# --- the duals ------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10**6), H=st.floats(0.01, 30.0), mode=st.sampled_from(INTERCEPTS))
@settings(max_examples=20 if FULL else 8)
def test_any_alpha_gives_a_value_above_and_a_bound_below_the_optimum(
    seed: int, H: float, mode: str
) -> None:
    rng, data = np.random.default_rng(seed), points("overlapping", seed % 5, n=10)
    expected = -reference_solutions.least_loss(data, mode, H).value
    alpha = rng.uniform(-0.3, 1.3, data.n) if seed % 3 else np.zeros(data.n)
    for build in (tm.rsvm_dual, tm.rsvm_dual_perspective):
        found = checked(build(data, norm_bound=H, intercept=mode), alpha=alpha)
        assert 0 >= found.objective >= expected - 1e-7, "alpha = 0 is worth 0"
        assert found.bound is None or found.bound.value <= expected + 1e-7
        kept = found.repaired["alpha"]
        assert 0 <= kept.min() <= kept.max() <= 1
        assert mode != "free" or abs(data.y @ kept) <= 1e-12


def test_above_the_limit_gamma_is_zero_and_the_multipliers_hold_the_hyperplane() -> None:
    """By hand, for |w| <= H and b = 0: the loss is 4 - 2 H up to H = 1, and 2 from there on."""
    data = tm.TrainingData([[1.0], [-1.0], [0.0], [0.0]], [1, -1, 1, -1])
    for build in (tm.rsvm_dual, tm.rsvm_dual_perspective):
        model = build(data, norm_bound=50.0)
        dual = solve(model, "clarabel", options=TIGHT)
        assert dual.objective == pytest.approx(-2.0, rel=1e-7)
        facts = dual.certificate.facts
        assert facts["degenerate"] == FREE
        assert facts["gamma"] == pytest.approx(0.0, abs=1e-6)
        w, b = hyperplane(model, dual)
        losses = np.maximum(0.0, 1 - data.y * (data.X @ w + b))
        assert losses.sum() == pytest.approx(2.0, rel=1e-7)


def test_without_multipliers_and_with_s_zero_there_is_no_hyperplane() -> None:
    x = np.array([1.0, -1.0, 0.25, -0.25, -0.25, 0.25])
    origin = tm.rsvm_dual(tm.TrainingData(x[:, None], [1, -1] * 3), norm_bound=3.0).origin
    with pytest.raises(ValueError, match=r"names no hyperplane.*solve it with clarabel"):
        dual_classifier(origin, {"alpha": np.zeros(6)}, {})
    w, b = dual_classifier(origin, {"alpha": np.ones(6)}, {})
    assert (w[0], b) == pytest.approx((3.0, 0.0)), "with S > 0 alpha names one"
