"""What the duals of the margin machines prove; losses, regularisers and powers, by cvxpy."""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

import tightmargin as tm
from tests.inside.formulations import (
    LOSSES,
    ONE,
    REGULARISERS,
    gram_data,
    hard_margin,
    power_cones,
    power_values,
    soft_margin,
)
from tests.references import losses, reference_solutions
from tests.references.reference_solutions import INTERCEPTS, points
from tests.support.certified import certified, checked, hyperplane
from tests.support.covering import FULL, covering
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
    for model in (
        tm.c_svc_dual(data, C=C),
        tm.soft_margin_svc_dual(data, ridge=0.5 / (data.n * C)),
    ):
        # One optimum is 2e-8, beside curvature of 3e8.
        found = tm.solve(model, "clarabel", absolute_gap=1e-11)
        assert found.certificate.verdict is Verdict.CERTIFIED
        assert found.certificate.facts["support_vectors"] == len(machine.support_)


# --- losses of Table 1 in Lee 2020 with three regularisers ----------------------------------------

DATA = points("overlapping", 1, n=10, d=3)
WEIGHTED = tm.TrainingData(DATA.X, DATA.y, sample_weight=[2, 1, 3, 1, 2, 3, 1, 0.5, 1, 2])
PRICE, BEND, GROUPS = 0.07, 0.4, ("first", 2, "first")
CLASSES = {"ridge": "QP", "l1": "QP", "group": "SOCP"}


def built(loss: str, regulariser: str, mode: str, data: Any = WEIGHTED) -> pyo.ConcreteModel:
    groups = GROUPS if regulariser == "group" else None
    words: dict[str, Any] = {"price": PRICE, "regulariser": regulariser, "groups": groups}
    if loss == "deviance":
        return tm.deviance_svc(data, intercept=mode, **words)
    return tm.regularised_svc(data, loss=loss, bend=BEND, intercept=mode, **words)


@pytest.mark.parametrize(
    ("loss", "regulariser", "mode"),
    covering((*LOSSES, "deviance"), REGULARISERS, ["free", "penalised", "none"]),
)
def test_optimum_is_that_of_the_witness(loss: str, regulariser: str, mode: str) -> None:
    found = tm.solve(built(loss, regulariser, mode))
    expected = losses.regularised(
        WEIGHTED, mode, loss, PRICE, regulariser, bend=BEND, groups=GROUPS
    )
    assert found.objective == pytest.approx(expected, rel=1e-7)
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.certificate.level == "paper"
    kind = "EXP" if loss == "deviance" else CLASSES[regulariser]
    assert found.problem_class == ("LP" if (loss, regulariser) == ("hinge", "l1") else kind)


@pytest.mark.parametrize("loss", ["huberised", "deviance"])
def test_a_kernel_matrix_is_its_points(loss: str) -> None:
    kernel = gram_data(DATA, kernel="linear")
    words: dict[str, Any] = {"price": PRICE}
    build: Any = tm.deviance_svc if loss == "deviance" else tm.regularised_svc
    words |= {} if loss == "deviance" else {"loss": loss}
    ours, points_alone = tm.solve(build(kernel, **words)), tm.solve(build(DATA, **words))
    assert ours.certificate.verdict is Verdict.CERTIFIED
    assert ours.objective == pytest.approx(points_alone.objective, rel=1e-6)


def separable(seed: int) -> tm.TrainingData:
    """Points that the first feature separates, so that small prices ask for large scores."""
    r = np.random.default_rng(seed)
    X, y = r.normal(size=(26, 4)), np.where(np.arange(26) % 2, 1, -1)
    X[:, 0] = y * (1 + r.random(26))
    return tm.TrainingData(X, y)


@pytest.mark.parametrize(
    ("regulariser", "exponent", "seed"), covering(["l1", "group"], [-20, 0, 20], [0, 1])
)
def test_a_size_that_grows_with_the_weights_is_proven_in_any_unit(
    seed: int, exponent: int, regulariser: str
) -> None:
    """In s X the weights are w / s: a size falls by s. The optimum is some thousandths."""
    s, groups = 2.0**exponent, [0, 1, 0, 1] if regulariser == "group" else None
    data, words = separable(seed), {"regulariser": regulariser, "groups": groups}
    moved = tm.TrainingData(data.X * s, data.y)
    scaled = tm.solve(tm.deviance_svc(moved, price=0.0014 * s, **words))
    expected = losses.regularised(
        data, "free", "deviance", 0.0014, regulariser, bend=BEND, groups=[0, 1, 0, 1]
    )
    assert scaled.certificate.verdict is Verdict.CERTIFIED
    assert scaled.objective == pytest.approx(expected, rel=1e-5)


# --- powers of the hinge loss: Cepeda, Gomez & Han 2024, (1) -------------------------------------

PENALTY = 0.7


@pytest.mark.parametrize(
    ("exponent", "mode"),
    list(zip([1, 2, "4/3", 1.5, "33/10", 7], ("free", "penalised", "none") * 2, strict=True)),
)
def test_the_optimum_of_a_power_is_that_of_power_cones(exponent: Any, mode: str) -> None:
    found = tm.solve(
        tm.hinge_power_svc(WEIGHTED, penalty=PENALTY, exponent=exponent, intercept=mode)
    )
    expected = losses.hinge_power(WEIGHTED, mode, PENALTY, float(Fraction(exponent)))
    assert found.objective == pytest.approx(expected, rel=1e-7)
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.certificate.level == "paper"
    assert found.problem_class == ("QP" if exponent in (1, 2) else "SOCP")


def test_exponent_1_is_the_usual_machine() -> None:
    ours = tm.solve(tm.hinge_power_svc(DATA, penalty=1.4, exponent=1, intercept="free"))
    assert ours.objective == pytest.approx(2 * tm.solve(tm.c_svc(DATA, C=0.7)).objective, rel=1e-8)


@pytest.mark.parametrize("exponent", ["3/2", "4/3", "5", "64/63", "16", "33/10", "61/7"])
def test_values_meet_every_cone_in_rational_arithmetic_and_no_smaller_power_does(
    exponent: str,
) -> None:
    e = Fraction(exponent)
    x = np.concatenate([[0.0, 5e-324, 1e-300, 1e-60, 1.0], np.geomspace(1e-9, 1e9, 19)])
    found = power_values(x, e) | {"x": x, ONE: np.ones_like(x)}
    for cone in power_cones(e):
        sides = zip(found[cone.inner], found[cone.left], found[cone.right], strict=True)
        assert all(Fraction(v) ** 2 <= Fraction(s) * Fraction(r) for v, s, r in sides)
    usual = slice(4, None)
    assert found["t"][usual] == pytest.approx(x[usual] ** float(e), rel=1e-11)
    least = {"x": x[usual], ONE: np.ones(20), "t": x[usual] ** float(e) * (1 - 1e-6)}
    *means, last = power_cones(e)
    for cone in means:
        least[cone.inner] = np.sqrt(least[cone.left] * least[cone.right])
    assert (least["x"] ** 2 > least[last.left] * least[last.right]).all()
