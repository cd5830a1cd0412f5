"""Hard and soft margin in every form: duals, kernels, homogeneous machines, and Lee's misprints."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

import tightmargin as tm
from tests.inside.formulations import gram_data, hard_margin, soft_margin
from tests.references import reference_solutions
from tests.references.reference_solutions import INTERCEPTS, points
from tests.support.certified import certified, checked, hyperplane
from tests.support.covering import FULL
from tightmargin.solvers import Verdict

RIDGE, WIDTH = 0.05, 0.6
SEPARABLE, OVERLAPPING = points("separable", 5, n=12), points("overlapping", 5, n=12)
DUALS: dict[str, Any] = {
    "hard": (tm.hard_margin_svc_dual, SEPARABLE, {}),
    "soft": (tm.soft_margin_svc_dual, OVERLAPPING, {"ridge": RIDGE}),
}
PRIMALS: dict[str, Any] = {"hard": tm.hard_margin_svc, "soft": tm.soft_margin_svc}


@functools.cache
def best_alpha(kind: str, mode: str) -> np.ndarray:
    build, data, words = DUALS[kind]
    return certified(build(data, intercept=mode, **words)).values["alpha"]


@functools.cache
def primal_value(kind: str, mode: str) -> float:
    if kind == "hard":
        return reference_solutions.hard_margin(SEPARABLE, mode).value
    return reference_solutions.hinge(OVERLAPPING, mode, RIDGE, 1 / OVERLAPPING.n).value


# --- what a result says --------------------------------------------------------------------------


@pytest.mark.parametrize("mode", INTERCEPTS)
@pytest.mark.parametrize("kind", DUALS)
def test_the_hyperplane_is_that_of_the_primal(kind: str, mode: str) -> None:
    build, data, words = DUALS[kind]
    model = build(data, intercept=mode, **words)
    w, b = hyperplane(model, certified(model))
    primal = certified(PRIMALS[kind](data, intercept=mode, **words)).values
    np.testing.assert_allclose(w, primal["w"], atol=1e-4)
    assert b == pytest.approx(float(primal["b"]) if mode != "none" else 0.0, abs=1e-4)
    facts = certified(model).certificate.facts
    assert facts["errors"] == int((data.y * (data.X @ w + b) <= 0).sum())


@pytest.mark.parametrize("kind", DUALS)
@pytest.mark.parametrize("mode", INTERCEPTS)
@given(seed=st.integers(0, 10**6), spread=st.sampled_from([0.0, 1e-3, 1.0]))
@settings(max_examples=12 if FULL else 4, deadline=None)
def test_any_multipliers_give_a_point_above_and_a_bound_below(
    kind: str, mode: str, seed: int, spread: float
) -> None:
    """Near the optimum and far from it; the bound closes with the distance."""
    build, data, words = DUALS[kind]
    model = build(data, intercept=mode, **words)
    best, true = best_alpha(kind, mode), -primal_value(kind, mode)
    noise = np.random.default_rng(seed).standard_normal(data.n)
    found = checked(model, alpha=best * (1 + spread * noise))
    alpha = found.repaired["alpha"]
    assert (alpha >= 0).all()
    assert kind == "hard" or (alpha <= 1 / data.n).all()
    if mode == "free":
        assert abs(data.y @ alpha) <= 1e-12 * alpha.sum()
    v = data.X.T @ (data.y * alpha)
    norm = v @ v + (data.y @ alpha) ** 2 * (mode == "penalised")
    share = 1 / 2 if kind == "hard" else 1 / (4 * RIDGE)
    assert found.objective == pytest.approx(share * norm - alpha.sum(), rel=1e-9, abs=1e-12)
    assert found.objective >= true - 1e-7 * abs(true)
    if found.bound is not None:
        assert all(found.bound.hypotheses.values())
        assert found.bound.value <= true + 1e-7 * abs(true)
    if spread <= 1e-3:
        assert found.objective - found.bound.value <= (1e-5 + 20 * spread) * abs(true)


def test_multipliers_that_name_no_separating_hyperplane_give_no_bound() -> None:
    """The direction of one pair of points does not separate the rest; zeros name nothing."""
    model = tm.hard_margin_svc_dual(OVERLAPPING)
    pair = np.zeros(OVERLAPPING.n)
    pair[0] = pair[-1] = 1.0
    assert OVERLAPPING.y[0] != OVERLAPPING.y[-1]
    assert checked(model, alpha=pair).bound is None
    zero = checked(model, alpha=np.zeros(OVERLAPPING.n))
    assert (zero.bound, zero.objective) == (None, 0.0)


def test_the_length_of_the_multipliers_is_repaired_in_closed_form() -> None:
    """Half of the optimal alpha is as good as all of it: the best t is sum alpha / S."""
    model, best = tm.hard_margin_svc_dual(SEPARABLE), best_alpha("hard", "free")
    for times in (0.5, 7.0):
        found = checked(model, alpha=times * best)
        assert found.objective == pytest.approx(-primal_value("hard", "free"), rel=1e-7)
    soft = tm.soft_margin_svc_dual(OVERLAPPING, ridge=RIDGE)
    assert found.bound.words == hard_margin.NAMED
    assert checked(soft, alpha=best_alpha("soft", "free")).bound.words == soft_margin.NAMED


# --- support vectors ------------------------------------------------------------------------------


def counted(model: Any) -> Any:
    # One optimum is 2e-8, beside curvature of 3e8.
    found = tm.solve(model, "clarabel", absolute_gap=1e-11)
    assert found.certificate.verdict is Verdict.CERTIFIED
    return found.certificate.facts["support_vectors"]


@pytest.mark.parametrize(
    ("kind", "seed", "n", "C", "width"),
    [
        ("overlapping", 5, 40, 0.7, 0.6),  # an interior-point solver leaves 1.1e-6 C at one point
        ("overlapping", 4, 40, 10.0, 2.0),  # the least multiplier of a support vector is 7e-5 C
        ("separable", 5, 30, 1e7, 0.6),  # every multiplier is below 1e-6 C
    ],
)
def test_a_dual_has_as_many_support_vectors_as_libsvm(
    kind: str, seed: int, n: int, C: float, width: float
) -> None:
    data = gram_data(points(kind, seed, n=n), kernel="rbf", width=width)
    machine = SVC(C=C, kernel="precomputed", tol=1e-12).fit(data.gram, data.y)
    assert 0 < len(machine.support_) < data.n
    assert counted(tm.c_svc_dual(data, C=C)) == len(machine.support_)
    ridge = 1 / (2 * data.n * C)
    assert counted(tm.soft_margin_svc_dual(data, ridge=ridge)) == len(machine.support_)
