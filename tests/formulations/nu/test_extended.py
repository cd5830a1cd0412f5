"""The extended nu family: global optima found otherwise, nu_bar, scales, weights, rank."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.formulations import dependent_features, loss_weights, reduced_hulls, support_value
from tests.inside.solvers import nu_bar_bounds
from tests.references import reference_solutions
from tests.references.reference_solutions import INTERCEPTS, points
from tests.support.covering import covering
from tightmargin.formulations import CATALOGUE, Origin, orthonormal_reduction
from tightmargin.solvers import SolveResult, Verdict, nu_range, solve

# SCIP meets the norm row to 1e-6, and our check puts w onto it.
GLOBAL = 2e-6
DATA = points("overlapping", 1, n=10)
BELOW, ABOVE = 0.3, 0.6  # nu_bar is 0.408


def uniform(data: tm.TrainingData) -> np.ndarray:
    return np.full(data.n, 1 / data.n)


@functools.cache
def sphere(nu: float) -> SolveResult:
    return solve(tm.extended_nu_svc(DATA, nu=nu), "scip")


# --- the linear program --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "mode"), [("takeda", "penalised"), ("perez_cruz", "free"), ("takeda", "none")]
)
def test_hyperplane_of_the_dual_is_that_of_the_primal(scale: str, mode: str) -> None:
    options = {"nu": 0.27, "scale": scale, "intercept": mode, "w_ref": "mean_difference"}
    primal = solve(tm.extended_nu_svc_linearised(DATA, **options))
    model = tm.extended_nu_svc_linearised_dual(DATA, **options)
    dual = solve(model)
    classifier = CATALOGUE[model.name].classifier
    w, b = classifier(Origin(model.name, DATA, dual.parameters), dual.values, dual.duals)
    assert w == pytest.approx(primal.values["w"], abs=1e-7)
    if mode == "free":  # elsewhere b is fixed by w, here by the levels
        assert b == pytest.approx(float(primal.values["b"]), abs=1e-7)
    with pytest.raises(ValueError, match="solve it with highs or clarabel"):
        classifier(Origin(model.name, DATA, dual.parameters), dual.values, {})


def test_params_are_changed_in_place() -> None:
    model = tm.extended_nu_svc_linearised(DATA, nu=BELOW, w_ref=[1.0, 0.0])
    dual = tm.extended_nu_svc_linearised_dual(DATA, nu=BELOW, w_ref=[1.0, 0.0])
    solve(model)
    solve(dual)
    for w_ref in ([0.2, -1.3], [0.0, 2.0]):
        for nu in (0.2, 0.37):
            expected = reference_solutions.nu_risk_linearised(
                DATA, "free", nu, uniform(DATA), np.array(w_ref)
            ).value
            for each, sign in ((model, 1), (dual, -1)):
                each.nu = nu
                for j, number in enumerate(w_ref):
                    each.w_ref[j] = number
                again = solve(each)
                assert sign * again.objective == pytest.approx(expected, abs=1e-8)
                assert again.certificate.level == "paper"
                assert again.parameters["w_ref"].tolist() == w_ref
                assert again.parameters["nu"] == nu
    model.w_ref[0] = model.w_ref[1] = 0.0
    with pytest.raises(ValueError, match="w_ref must be finite and not 0"):
        solve(model)


def test_mean_difference_is_the_difference_of_the_class_means() -> None:
    difference = DATA.X[DATA.y > 0].mean(axis=0) - DATA.X[DATA.y < 0].mean(axis=0)
    for scale, norm in (("takeda", 1.0), ("perez_cruz", np.sqrt(2))):
        model = tm.extended_nu_svc_linearised(DATA, nu=BELOW, w_ref="mean_difference", scale=scale)
        numbers = np.array([p.value for p in model.w_ref.values()])
        assert numbers == pytest.approx(norm * difference / np.linalg.norm(difference), abs=1e-14)


def test_perez_cruz_scale_is_n_root_two_times_takedas() -> None:
    n, given = DATA.n, {"w_ref": [0.8, 0.6]}
    for build, nu, words, factor in (
        (tm.extended_nu_svc, BELOW, {}, n * np.sqrt(2)),
        (tm.extended_nu_svc_reverse, BELOW, {}, n * np.sqrt(2)),
        (tm.extended_nu_svc_ball, ABOVE, {}, n * np.sqrt(2)),
        (tm.extended_nu_svc_polar, BELOW, {}, n**-2),
        (tm.extended_nu_svc_linearised, BELOW, given, n * np.sqrt(2)),
        (tm.extended_nu_svc_linearised_dual, BELOW, given, n * np.sqrt(2)),
    ):
        ours = solve(build(DATA, nu=nu, intercept="none", **words))
        longer = {name: np.sqrt(2) * np.array(value) for name, value in words.items()}
        theirs = solve(build(DATA, nu=nu, intercept="none", scale="perez_cruz", **longer))
        assert theirs.objective == pytest.approx(factor * ours.objective, rel=2e-4), build.__name__


def test_given_weights_are_used_as_they_are() -> None:
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 1.5, DATA.n)
    weights /= weights.sum()
    ends = nu_range(DATA, class_balance=weights)
    positive = weights[DATA.y > 0].sum()
    assert ends.nu_max == pytest.approx(2 * min(positive, 1 - positive))
    nu = (ends.nu_bar + ends.nu_max) / 2
    for build, expected in (
        (tm.extended_nu_svc_ball, reference_solutions.nu_risk_in_ball(DATA, "free", nu, weights)),
        (tm.nu_svc, reference_solutions.nu_machine(DATA, "free", nu, weights).value),
    ):
        result = solve(build(DATA, nu=nu, class_balance=weights))
        assert result.objective == pytest.approx(expected, abs=1e-7)
    low = ends.nu_bar / 2
    result = solve(tm.extended_nu_svc(DATA, nu=low, class_balance=weights))
    expected = reference_solutions.nu_risk_on_circle(DATA, "free", low, weights).value
    assert result.objective == pytest.approx(expected, abs=GLOBAL)


# --- nu_bar, nu_max, the constant zone -----------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "balance", "mode"),
    covering(["overlapping", "unbalanced"], ["uniform", "balanced"], INTERCEPTS),
)
def test_nu_bar_is_the_least_mean_hinge_loss_and_the_zero_of_the_optimum(
    kind: str, balance: str, mode: str
) -> None:
    data = points(kind, 10)
    costs = loss_weights(data, balance)
    found = nu_range(data, class_balance=balance, intercept=mode)
    assert found.nu_bar == pytest.approx(
        reference_solutions.hinge(data, mode, 0.0, costs).value, abs=1e-7
    )
    low, high = nu_bar_bounds(data, class_balance=balance, intercept=mode)
    assert low - 1e-9 <= found.nu_bar <= high + 1e-9
    assert high - low < 1e-9
    below = reference_solutions.nu_risk_in_ball(data, mode, 0.999 * low, costs)
    assert below == pytest.approx(0, abs=1e-8)
    if high < 0.99 * found.nu_max:
        assert reference_solutions.nu_risk_in_ball(data, mode, 1.005 * high, costs) < -1e-7


def test_the_cvar_is_constant_until_the_tail_has_two_points() -> None:
    """Takeda & Sugiyama, Lemma 2, says strictly decreasing."""
    assert nu_range(DATA).constant_until == pytest.approx(2 / DATA.n)
    assert nu_range(DATA, intercept="none").constant_until == pytest.approx(1 / DATA.n)
    levels = [
        reference_solutions.nu_risk_on_circle(DATA, "free", nu, uniform(DATA)).value / nu
        for nu in (0.05, 2 / DATA.n, 2.4 / DATA.n)
    ]
    assert levels[0] == pytest.approx(levels[1], abs=1e-9)
    assert levels[2] < levels[1] - 1e-4
    result = solve(tm.extended_nu_svc(DATA, nu=0.05))
    assert result.certificate.facts["cvar"] == pytest.approx(levels[0], abs=1e-4)
    assert "the CVaR is the same for all nu up to 0.2" in result.message
    assert "the CVaR is the same" not in sphere(BELOW).message


def test_solve_says_which_branch_applies() -> None:
    at = solve(tm.extended_nu_svc_reverse(DATA, nu=nu_range(DATA).nu_bar))
    assert at.objective == pytest.approx(0.0, abs=1e-6)
    assert sphere(ABOVE).certificate.verdict is Verdict.CERTIFIED
    for text, parts in (
        (sphere(BELOW).message, ("nu = 0.3 is below", "not convex and its optimum positive")),
        (sphere(ABOVE).message, ("nu = 0.6 is above", "extended_nu_svc_ball has the same optimum")),
        (at.message, ("at nu_bar", "the optimum is 0")),
        (solve(tm.min_cvar(DATA, beta=0.7)).message, ("nu = 1 - beta = 0.3 is below nu_bar",)),
        (solve(tm.min_cvar(DATA, beta=0.4)).message, ("has 0.6 times this optimum",)),
    ):
        assert "nu_bar = 0.408282, nu_max = 1" in text
        assert all(part in text for part in parts)


# --- rank of the features ------------------------------------------------------------------------


X = DATA.X
EXTRA = 1e-3 * (X[:, 0] - 2 * X[:, 1]) + 40
# Points with a feature too many, and what the refusal must name.
TRAPS = {
    "constant": (np.c_[X, np.full(DATA.n, 3.7)], "feature 2 is constant"),
    "sum": (np.c_[X, EXTRA], r"feature \d = .* \* feature \d \+ .*"),
    "one-hot": (np.c_[X[:, 0], np.eye(3)[np.arange(DATA.n) % 3]], r"feature \d = -1 \* feature \d"),
    "wide": (np.random.default_rng(3).standard_normal((4, 6)), "rank 3 of 6"),
}


@pytest.mark.parametrize("kind", TRAPS)
def test_the_trap_of_dependent_features_is_refused_and_the_reduction_has_none(kind: str) -> None:
    """Along the hidden direction all scores are equal: value 0 for every nu, whatever the data."""
    points, named = TRAPS[kind]
    data = tm.TrainingData(points, DATA.y if len(points) == DATA.n else [1, -1, 1, -1])
    for build, words in (
        (tm.extended_nu_svc, {}),
        (tm.extended_nu_svc_linearised_dual, {"w_ref": "mean_difference"}),
    ):
        with pytest.raises(ValueError, match=named) as refusal:
            build(data, nu=0.3, **words)
        assert "meaningless 0" in str(refusal.value)
        assert "orthonormal_reduction" in str(refusal.value)
    with pytest.raises(ValueError, match=named):
        tm.min_cvar(data, beta=0.7)
    hidden = np.linalg.svd(data.X - data.X.mean(axis=0))[2][-1]
    assert support_value(reduced_hulls(data, nu=0.25), hidden) == pytest.approx(0.0, abs=1e-9)
    reduction = orthonormal_reduction(data)
    basis = reduction.basis
    assert basis.T @ basis == pytest.approx(np.eye(basis.shape[1]), abs=1e-12)
    assert dependent_features(reduction.data, "free") == (basis.shape[1], ())
    w = np.random.default_rng(0).standard_normal(basis.shape[1])
    assert np.linalg.norm(reduction.weight(w)) == pytest.approx(np.linalg.norm(w))
    assert data.X @ reduction.weight(w) == pytest.approx(reduction.data.X @ w, abs=1e-9)


def test_reduced_optimum_is_that_of_the_plane_the_points_lie_in() -> None:
    """The plane put into five dimensions by a turn and a shift: the same machine comes back."""
    rng = np.random.default_rng(5)
    turn = np.linalg.qr(rng.standard_normal((5, 2)))[0]
    lifted = tm.TrainingData(DATA.X @ turn.T + rng.standard_normal(5), DATA.y)
    reduction = orthonormal_reduction(lifted)
    assert reduction.data.d == 2
    expected = reference_solutions.nu_risk_on_circle(DATA, "free", BELOW, uniform(DATA))
    result = solve(tm.extended_nu_svc(reduction.data, nu=BELOW))
    assert result.objective == pytest.approx(expected.value, abs=GLOBAL)
    w = reduction.weight(result.values["w"])
    assert turn.T @ w == pytest.approx(expected.w, abs=1e-3)
    assert nu_range(lifted).nu_bar == pytest.approx(nu_range(DATA).nu_bar, abs=1e-8)
    spanned = orthonormal_reduction(lifted, intercept="none")
    assert spanned.data.d == 3  # the shift counts where there is no intercept


def test_small_features_are_no_dependent_ones() -> None:
    for factors in ([1e-9, 1.0], [1e12, 1e-3]):
        scaled = tm.TrainingData(DATA.X * factors, DATA.y)
        assert dependent_features(scaled, "free") == (2, ())
    near = tm.TrainingData(np.c_[DATA.X, DATA.X[:, 0] + 1e-5 * DATA.X[:, 1] ** 2], DATA.y)
    assert dependent_features(near, "free") == (3, ())


def test_below_nu_bar_the_dual_is_0_and_says_so() -> None:
    found = solve(tm.extended_nu_svc_dual(DATA, nu=BELOW), absolute_gap=1e-8)
    assert found.certificate.verdict.value == "CERTIFIED"
    assert abs(found.objective) < 1e-8
    assert "says nothing of extended_nu_svc" in found.message
    assert found.certificate.facts["degenerate"].startswith("v = 0")
    assert solve(tm.extended_nu_svc(DATA, nu=BELOW)).objective > 1e-2
    with pytest.raises(ValueError, match="says nothing of extended_nu_svc"):
        tm.FormulationClassifier("extended_nu_svc_dual", nu=BELOW).fit(DATA.X, DATA.y)


# --- kernel matrices, beside their explicit features ----------------------------------------------

DRAW = np.random.default_rng(6)
Y = np.where(np.arange(12) % 2, 1.0, -1.0)
POINTS = DRAW.normal(size=12) + 0.4 * Y
NEW = np.linspace(-2, 2, 9)


def explicit(x: np.ndarray) -> np.ndarray:
    """(1 + x x')^2 has the features sqrt(2) x and x^2, and a constant that centring removes."""
    return np.column_stack([np.sqrt(2) * x, x**2])


FEATURES = tm.TrainingData(explicit(POINTS), Y)
KERNEL = (1 + np.outer(POINTS, POINTS)) ** 2
MIDDLE = np.eye(12) - 1 / 12
CENTRED = tm.GramData(MIDDLE @ KERNEL @ MIDDLE, Y)
LOW = 0.6 * tm.theory.nu_range(FEATURES).nu_bar


def on_circle() -> float:
    costs = np.full(12, 1 / 12)
    found = reference_solutions.nu_risk_on_circle(FEATURES, "free", LOW, costs)
    return float(found.value)


def test_every_search_takes_a_kernel_matrix() -> None:
    best = on_circle()
    for search in (tm.search.branch_and_cut, tm.search.hull_search, tm.search.cutting_plane):
        found = search(CENTRED, nu=LOW)
        assert found.best.objective == pytest.approx(best, rel=1e-5)
        assert found.bound <= found.best.objective * (1 + 1e-9)
    assert tm.search.extended_nu_local(CENTRED, nu=LOW).objective >= best * (1 - 1e-6)
    (row,) = tm.paths.extended_nu_path(CENTRED, [LOW]).rows
    assert row.objective == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize(
    ("kernel", "features", "intercept"),
    [
        ({"kpca": "full"}, explicit, "free"),  # components of the centred matrix
        ({}, lambda x: np.column_stack([np.ones(len(x)), explicit(x)]), "none"),
    ],
)
def test_a_machine_on_a_kernel_predicts_as_the_one_on_its_features(
    kernel: dict[str, Any], features: Any, intercept: str
) -> None:
    words = {"kernel": "poly", "degree": 2, "coef0": 1.0} | kernel
    common: dict[str, Any] = {"nu": 0.3, "intercept": intercept}
    ours = tm.FormulationClassifier("extended_nu_svc", **common, **words)
    other = tm.FormulationClassifier("extended_nu_svc", **common)
    assert ours.fit(POINTS[:, None], Y).certificate_.verdict.value == "CERTIFIED"
    scores = other.fit(features(POINTS), Y).decision_function(features(NEW))
    assert ours.decision_function(NEW[:, None]) == pytest.approx(scores, abs=1e-4)


def test_a_matrix_that_is_not_centred_is_refused_where_it_would_be_worth_nothing() -> None:
    with pytest.raises(ValueError, match=r"same score in feature space, 3 components.*H K H"):
        tm.extended_nu_svc(tm.GramData(KERNEL, Y), nu=LOW)
    for search in (tm.search.branch_and_cut, tm.search.extended_nu_local):
        with pytest.raises(ValueError, match="kpca=full"):
            search(tm.GramData(KERNEL, Y), nu=LOW)
    with pytest.raises(ValueError, match="kpca=full"):
        tm.paths.extended_nu_path(tm.GramData(KERNEL, Y), [LOW])
    tm.extended_nu_svc(tm.GramData(KERNEL, Y), nu=0.2, intercept="none")
