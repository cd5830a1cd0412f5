"""Machines the papers prove equal, scikit-learn as outside witness, and misprints that show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC, LinearSVC, NuSVC

from tests.cases import CASES, known
from tests.inside.formulations import gram_data, loss_weights, nu_max
from tests.references import reference_solutions
from tests.references.reference_solutions import INTERCEPTS, points
from tests.support.covering import FULL, covering, in_turn
from tightmargin.formulations import (
    CATALOGUE,
    GramData,
    Origin,
    TrainingData,
    c_svc,
    c_svc_dual,
    hard_margin_svc,
    kernel_soft_margin_svc,
    max_margin_svc,
    nu_svc,
    nu_svc_dual,
    soft_margin_svc,
    weighted_svc,
)
from tightmargin.solvers import SolveResult, Verdict, nu_range, solve

SEEDS = (0, 1, 2) if FULL else (1,)
KINDS = ("overlapping", "unbalanced")
LIBSVM = 1e-7  # stopping tolerance given to libsvm; smaller ones take it minutes where w is near 0
WIDTH = 0.4


def optimum(model: Any) -> SolveResult:
    result = solve(model, absolute_gap=1e-9)  # some optima are 0: points that two hulls share
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate
    return result


def scores(result: SolveResult, data: TrainingData | GramData) -> np.ndarray:
    """Decision values at the training points, by the classifier the catalogue gives an entry."""
    entry = CATALOGUE[result.formulation]
    assert entry.classifier is not None
    origin = Origin(result.formulation, data, result.parameters)
    w, b = entry.classifier(origin, result.values, result.duals)
    return data.factor @ w + b


def hinge_objective(decision: np.ndarray, y: np.ndarray, norm2: float, costs: Any) -> float:
    return norm2 / 2 + float(np.sum(costs * np.maximum(0.0, 1 - y * decision)))


# --- scikit-learn --------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "seed", "C"), covering(KINDS, range(3), [0.05, 0.7, 5.0]))
def test_c_svc_is_libsvms(kind: str, seed: int, C: float) -> None:
    data = points(kind, seed)
    theirs = SVC(C=C, kernel="linear", tol=LIBSVM).fit(data.X, data.y)
    w = theirs.coef_.ravel()
    expected = hinge_objective(theirs.decision_function(data.X), data.y, w @ w, C)
    ours = optimum(c_svc(data, C=C))
    # Their point is feasible, so it cannot be better; libsvm crawls where w is nearly 0.
    assert ours.objective <= expected * (1 + 1e-9)
    assert ours.objective == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(ours.values["w"], w, atol=2e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_decision_values_are_libsvms_where_a_point_fixes_the_intercept(seed: int) -> None:
    """A multiplier strictly inside its box pins b; libsvm has such a point here."""
    data, C = points("overlapping", seed, n=30), 0.7
    theirs = SVC(C=C, kernel="linear", tol=LIBSVM).fit(data.X, data.y)
    inside = np.abs(theirs.dual_coef_).ravel()
    assert ((inside > 1e-3 * C) & (inside < C * (1 - 1e-3))).any()
    for model in (c_svc(data, C=C), c_svc_dual(data, C=C)):
        found = scores(optimum(model), data)
        np.testing.assert_allclose(found, theirs.decision_function(data.X), atol=3e-4)


@pytest.mark.parametrize("weights", [(1.0, 3.0), (2.5, 0.5)])
def test_class_weights_come_in_label_order(weights: tuple[float, float]) -> None:
    data, C = points("unbalanced", 1), 0.6
    theirs = SVC(
        C=C, kernel="linear", tol=LIBSVM, class_weight={-1: weights[0], 1: weights[1]}
    ).fit(data.X, data.y)
    w = theirs.coef_.ravel()
    costs = C * np.where(data.y > 0, weights[1], weights[0])
    expected = hinge_objective(theirs.decision_function(data.X), data.y, w @ w, costs)
    primal = optimum(c_svc(data, C=C, class_weight=weights))
    dual = optimum(c_svc_dual(data, C=C, class_weight=weights))
    assert primal.objective == pytest.approx(expected, rel=1e-6)
    assert dual.objective == pytest.approx(-expected, rel=1e-6)


@pytest.mark.parametrize(("kind", "ridge"), in_turn(KINDS, [0.01, 0.2]))
def test_soft_margin_is_libsvms_with_one_over_two_n_ridge(kind: str, ridge: float) -> None:
    data = points(kind, 3)
    C = 1 / (2 * data.n * ridge)
    theirs = SVC(C=C, kernel="linear", tol=LIBSVM).fit(data.X, data.y)
    w = theirs.coef_.ravel()
    expected = hinge_objective(theirs.decision_function(data.X), data.y, w @ w, C)
    for build in (soft_margin_svc, kernel_soft_margin_svc):
        ours = optimum(build(data, ridge=ridge))
        assert ours.objective == pytest.approx(2 * ridge * expected, rel=1e-6)


@pytest.mark.parametrize("pi", [0.2, 0.9])
def test_weighted_svc_is_libsvms_with_sample_weights(pi: float) -> None:
    data, ridge = points("overlapping", 4, n=20), 0.05
    weights = np.where(data.y > 0, 1 - pi, pi)
    C = 1 / (2 * data.n * ridge)
    theirs = SVC(C=C, kernel="linear", tol=LIBSVM).fit(data.X, data.y, sample_weight=weights)
    w = theirs.coef_.ravel()
    expected = hinge_objective(theirs.decision_function(data.X), data.y, w @ w, C * weights)
    ours = optimum(weighted_svc(data, ridge=ridge, pi=pi))
    assert ours.objective == pytest.approx(2 * ridge * expected, rel=1e-6)
    np.testing.assert_allclose(ours.values["w"], w, atol=2e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_kernel_machines_are_libsvms_with_the_rbf_kernel(seed: int) -> None:
    data, C = points("overlapping", seed, n=20), 0.9
    theirs = SVC(C=C, kernel="rbf", gamma=WIDTH, tol=LIBSVM).fit(data.X, data.y)
    decision = theirs.decision_function(data.X)
    gram = gram_data(data, kernel="rbf", width=WIDTH)
    signed = np.zeros(data.n)
    signed[theirs.support_] = theirs.dual_coef_.ravel()
    expected = hinge_objective(decision, data.y, signed @ gram.gram @ signed, C)
    dual = optimum(c_svc_dual(gram, C=C))
    assert dual.objective == pytest.approx(-expected, rel=1e-6)
    representer = optimum(kernel_soft_margin_svc(gram, ridge=1 / (2 * data.n * C)))
    assert representer.objective == pytest.approx(expected / (data.n * C), rel=1e-6)
    for ours in (dual, representer):
        np.testing.assert_allclose(scores(ours, gram), decision, atol=1e-3)


@pytest.mark.parametrize(("seed", "place"), in_turn((0, 1), (0.2, 0.8)))
def test_nu_svc_is_libsvms_inside_the_convex_range(seed: int, place: float) -> None:
    """libsvm solves 1/2 ||w||^2 - nu rho + 1/n sum xi, then divides w and b by rho."""
    data = points("overlapping", seed, n=24)
    ends = nu_range(data)
    nu = ends.nu_min + place * (ends.nu_max - ends.nu_min)
    theirs = NuSVC(nu=nu, kernel="linear", tol=1e-10).fit(data.X, data.y)
    ours = optimum(nu_svc(data, nu=nu))
    rho = float(ours.values["rho"])
    np.testing.assert_allclose(ours.values["w"] / rho, theirs.coef_.ravel(), rtol=2e-3, atol=2e-4)
    # Undo libsvm's division with our rho: its point must be as good as ours, and no better.
    w = theirs.coef_.ravel() * rho
    losses = np.maximum(0.0, rho - data.y * (theirs.decision_function(data.X) * rho))
    theirs_value = w @ w / 2 - nu * rho + losses.mean()
    assert ours.objective == pytest.approx(theirs_value, abs=2e-6)
    assert ours.objective <= theirs_value + 1e-8
    dual = optimum(nu_svc_dual(data, nu=nu))
    assert -dual.objective == pytest.approx(theirs_value, abs=2e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_penalised_intercept_is_liblinears(seed: int) -> None:
    data, C = points("overlapping", seed), 0.7
    theirs = LinearSVC(
        C=C, loss="hinge", intercept_scaling=1, tol=1e-10, max_iter=10**7, random_state=0
    ).fit(data.X, data.y)
    w, b = theirs.coef_.ravel(), theirs.intercept_[0]
    expected = hinge_objective(data.X @ w + b, data.y, w @ w + b * b, C)
    ours = optimum(c_svc(data, C=C, intercept="penalised"))
    assert ours.objective == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose([*ours.values["w"], ours.values["b"]], [*w, b], atol=2e-4)


def test_no_intercept_is_liblinears_without_one() -> None:
    data, C = points("overlapping", 5), 0.7
    theirs = LinearSVC(
        C=C, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=10**7, random_state=0
    ).fit(data.X, data.y)
    w = theirs.coef_.ravel()
    expected = hinge_objective(data.X @ w, data.y, w @ w, C)
    ours = optimum(c_svc(data, C=C, intercept="none"))
    assert ours.objective == pytest.approx(expected, rel=1e-6)
    assert "b" not in ours.values


# --- primal and dual -----------------------------------------------------------------------------


def test_a_dual_and_its_primal_are_known_by_one_number() -> None:
    """So that whatever stands as a dual of another entry in the catalogue is one."""
    duals = {name: entry.dual_of for name, entry in CATALOGUE.items() if entry.dual_of}
    assert len(duals) >= 9
    for dual, primal in duals.items():
        primal_model = CATALOGUE[primal].build(CASES[dual].data, **CASES[dual].words_of())
        expected = optimum(primal_model).objective
        assert known(dual) == pytest.approx(-expected, rel=1e-6, abs=1e-7), dual


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_balanced_duals_reach_minus_their_primals(mode: str) -> None:
    data = points("unbalanced", 6)
    weighted = {"C": 0.7, "class_weight": (0.4, 2.0)}
    balanced = {"nu": 0.8, "class_balance": "balanced"}
    for primal, dual, parameters in (
        (c_svc, c_svc_dual, weighted), (nu_svc, nu_svc_dual, balanced),
    ):  # fmt: skip
        up = optimum(primal(data, intercept=mode, **parameters))
        down = optimum(dual(data, intercept=mode, **parameters))
        assert up.objective == pytest.approx(-down.objective, abs=1e-7)


# --- one machine, two normalisations -------------------------------------------------------------


@pytest.mark.parametrize(("seed", "mode"), in_turn(range(3), INTERCEPTS))
def test_c_svc_with_one_over_n_rho_is_nu_svc(seed: int, mode: str) -> None:
    """w_C = w_nu / rho, and the objectives follow: 1/2 ||w||^2 + C sum xi at the scaled point."""
    data = points("overlapping", seed)
    ends = nu_range(data, intercept=mode)
    nu = optimum(nu_svc(data, nu=(ends.nu_min + ends.nu_max) / 2, intercept=mode))
    rho = float(nu.values["rho"])
    assert rho > 1e-3
    C = 1 / (data.n * rho)
    ours = optimum(c_svc(data, C=C, intercept=mode))
    w = nu.values["w"] / rho
    b = float(nu.values["b"]) / rho if mode != "none" else 0.0
    norm2 = w @ w + (b * b if mode == "penalised" else 0.0)
    scaled = hinge_objective(data.X @ w + b, data.y, norm2, C)
    assert ours.objective == pytest.approx(scaled, rel=1e-6)
    np.testing.assert_allclose(ours.values["w"], w, atol=1e-3)


@pytest.mark.parametrize(("seed", "mode"), in_turn(range(3), INTERCEPTS))
def test_largest_margin_is_one_over_the_hard_margin_norm(seed: int, mode: str) -> None:
    data = points("separable", seed)
    hard = optimum(hard_margin_svc(data, intercept=mode))
    wide = optimum(max_margin_svc(data, intercept=mode))
    norm = np.sqrt(2 * hard.objective)
    assert -wide.objective == pytest.approx(1 / norm, rel=1e-6)
    np.testing.assert_allclose(wide.values["w"] * norm, hard.values["w"], atol=1e-4)


# --- the range of nu -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "balance", "mode"), covering(KINDS, ["uniform", "balanced"], INTERCEPTS)
)
def test_upper_end_of_nu_is_where_the_dual_stops_being_feasible(
    kind: str, balance: str, mode: str
) -> None:
    data = points(kind, 9)
    share = np.where(data.y > 0, 0.5 / data.n_pos, 0.5 / data.n_neg)
    costs = share if balance == "balanced" else np.full(data.n, 1 / data.n)
    low, high = 1e-6, 2.5
    while high - low > 1e-6:
        middle = (low + high) / 2
        if reference_solutions.nu_is_solvable(data, mode, middle, costs):
            low = middle
        else:
            high = middle
    found = nu_range(data, class_balance=balance, intercept=mode).nu_max
    assert found == pytest.approx(low, abs=1e-5)
    if mode == "free" and balance == "uniform":
        assert found == pytest.approx(2 * min(data.n_pos, data.n_neg) / data.n)


@pytest.mark.parametrize("mode", INTERCEPTS)
@pytest.mark.parametrize("balance", ["uniform", "balanced"])
def test_lower_end_of_nu_is_where_the_optimum_leaves_zero(balance: str, mode: str) -> None:
    data = points("overlapping", 10)
    costs = loss_weights(data, balance)
    edge = nu_range(data, class_balance=balance, intercept=mode).nu_min
    assert 0 < edge < nu_max(data, balance, mode)
    assert reference_solutions.nu_machine(data, mode, edge * 0.98, costs).value == pytest.approx(
        0, abs=1e-9
    )
    assert reference_solutions.nu_machine(data, mode, edge * 1.02, costs).value < -1e-7


def test_separable_points_have_no_lower_end() -> None:
    data = points("separable", 0)
    assert nu_range(data).nu_min == pytest.approx(0.0, abs=1e-12)


def test_at_or_below_the_range_the_result_says_so() -> None:
    data = points("overlapping", 10)
    ends = nu_range(data)
    below = solve(nu_svc(data, nu=ends.nu_min / 2))
    assert "at or below the range" in below.message
    assert f"{ends.nu_min:.6g}" in below.message
    assert f"{ends.nu_max:.6g}" in below.message
    assert "extended nu-SVC" in below.message
    assert np.abs(below.values["w"]).max() < 1e-3
    inside = solve(nu_svc(data, nu=(ends.nu_min + ends.nu_max) / 2))
    assert "range" not in inside.message


def test_above_the_range_the_builder_refuses() -> None:
    data = points("unbalanced", 0)
    for build in (nu_svc, nu_svc_dual):
        with pytest.raises(ValueError, match=r"nu_max = 2 min\(n_pos, n_neg\) / n with 4 positive"):
            build(data, nu=0.6)


# --- class balance -------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", INTERCEPTS)
def test_balanced_weights_are_the_witness_with_half_a_class(mode: str) -> None:
    data = points("unbalanced", 11)
    costs = np.where(data.y > 0, 0.5 / data.n_pos, 0.5 / data.n_neg)
    expected = reference_solutions.nu_machine(data, mode, 0.8, costs).value
    found = optimum(nu_svc(data, nu=0.8, class_balance="balanced", intercept=mode))
    assert found.objective == pytest.approx(expected, abs=1e-7)
    assert expected < -1e-4


def test_weights_agree_when_the_classes_do(overlapping: Callable[[int], TrainingData]) -> None:
    data = overlapping(3)
    assert data.n_pos == data.n_neg
    np.testing.assert_array_equal(loss_weights(data, "uniform"), loss_weights(data, "balanced"))


# --- misprints -----------------------------------------------------------------------------------


def test_printed_class_weights_would_double_the_range_of_nu() -> None:
    """Takeda & Sugiyama print 1 / n_class: each class then weighs 1, and nu reaches 2."""
    data = points("unbalanced", 12)
    printed = np.where(data.y > 0, 1 / data.n_pos, 1 / data.n_neg)
    assert reference_solutions.nu_is_solvable(data, "free", 1.999, printed)
    assert not reference_solutions.nu_is_solvable(data, "free", 2.001, printed)
    assert nu_max(data, "balanced") == pytest.approx(1.0)
    ours = loss_weights(data, "balanced")
    assert reference_solutions.nu_is_solvable(data, "free", 0.999, ours)
    assert not reference_solutions.nu_is_solvable(data, "free", 1.001, ours)


def test_printed_half_in_the_kernel_machine_is_another_problem() -> None:
    """Lee (8) prints 1/2 where (4) and (5) have 1/n."""
    data = points("overlapping", 12)
    gram = data.X @ data.X.T
    printed = reference_solutions.kernel_hinge(gram, data.y, 0.05, 0.5, "free")
    corrected = reference_solutions.kernel_hinge(gram, data.y, 0.05, 1 / data.n, "free")
    plain = reference_solutions.hinge(data, "free", 0.05, 1 / data.n).value
    assert corrected == pytest.approx(plain, rel=1e-7)
    assert printed > 2 * corrected
    found = optimum(kernel_soft_margin_svc(data, ridge=0.05))
    assert found.objective == pytest.approx(corrected, rel=1e-6)


@pytest.mark.parametrize("mode", ["penalised", "none"])
def test_printed_numerator_of_the_conic_relaxation_is_another_problem(mode: str) -> None:
    """Cepeda et al. (14) prints (1 - u - 1)_- for (1 - u)_-: a higher value, and no bound."""
    data, penalty = points("overlapping", 13, n=10), 0.6
    columns = data.X if mode == "none" else np.hstack([data.X, np.ones((data.n, 1))])
    gamma = np.full(data.n, 0.95 / np.linalg.eigvalsh(columns.T @ columns)[-1])
    corrected = reference_solutions.fixed_strengthening(data, mode, penalty, gamma)
    printed = reference_solutions.fixed_strengthening(data, mode, penalty, gamma, printed=True)
    assert abs(printed - corrected) > 1e-3 * corrected
    build = CATALOGUE["conic_fixed"].build
    found = optimum(build(data, penalty=penalty, strengthening=gamma, intercept=mode))
    assert found.objective == pytest.approx(corrected, rel=1e-6)
