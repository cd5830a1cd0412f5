"""What is said of fitted estimators of scikit-learn holds beside optima that others found."""

from __future__ import annotations

import json
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.svm import SVC, LinearSVC, NuSVC

import tightmargin as tm
from tests.inside.experiments import proven_fit_percent as percent
from tests.references.hinge_optimum import factor_of, hinge_optimum, nu_optimum
from tests.support.covering import FULL, covering

RNG = np.random.default_rng(4)
N = 40
X = RNG.standard_normal((N, 4)) * [1.0, 3.0, 0.2, 1.0] + [0.0, 1.0, 0.0, 5.0]
LABELS = np.where(X @ [1.0, 0.4, 2.0, 0.3] + RNG.standard_normal(N) > 1.7, "yes", "no")
Y = np.where(LABELS == "yes", 1.0, -1.0)
WEIGHTS = RNG.integers(1, 4, N).astype(float)
NEAR = 1e-6  # of what cvxpy's optima are right to


def fitted(estimator: Any, *given: Any, **words: Any) -> Any:
    """The estimator, fitted without a word about its convergence."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(*given, **words)


def named(estimator: Any) -> str:
    return type(estimator).__name__


def hold(fit: tm.ProvenFit, optimum: float) -> None:
    """bound <= optimum <= objective, to what the optimum is known to."""
    slack = NEAR * max(abs(optimum), 1e-9)
    assert fit.bound <= optimum + slack
    assert optimum <= fit.objective + slack
    unit = max(abs(fit.objective), abs(fit.bound))
    assert fit.gap == pytest.approx((fit.objective - fit.bound) / unit, rel=1e-6, abs=1e-12)


# --- linear machines -----------------------------------------------------------------------------


def test_the_bound_is_near_the_optimum_where_the_fit_is_far_from_it() -> None:
    estimator = fitted(SGDClassifier(random_state=0, max_iter=1), X, LABELS)
    fit = tm.certify_fitted(estimator, X, LABELS)
    optimum = hinge_optimum(X, Y, np.full(N, 1 / N), ridge=1e-4)
    hold(fit, optimum)
    assert fit.gap > 0.3
    assert fit.bound >= 0.9 * optimum
    assert fit.stopped_early
    assert fit.sentence.startswith("SGDClassifier, stopped early: at most ")


def test_tight_fits_are_certified_and_defaults_are_as_good_as_their_tolerance() -> None:
    for tight in (SVC(tol=1e-9), SVC(tol=1e-9, kernel="linear"), NuSVC(tol=1e-8, nu=0.6)):
        fit = tm.certify_fitted(tight.fit(X, LABELS), X, LABELS)
        assert str(fit.verdict) == "CERTIFIED"
        assert fit.gap <= 1e-6
    for loss in ("hinge", "squared_hinge"):
        tight = fitted(LinearSVC(loss=loss, tol=1e-10, max_iter=10**6, random_state=0), X, LABELS)
        assert str(tm.certify_fitted(tight, X, LABELS).verdict) == "CERTIFIED"
    for usual in (SVC(), SVC(kernel="linear"), SVC(kernel="poly", coef0=1.0), NuSVC(nu=0.6)):
        assert tm.certify_fitted(usual.fit(X, LABELS), X, LABELS).gap <= 2e-3


@pytest.mark.parametrize("classes", [LABELS, np.where(X[:, 3] > 5.8, "c", LABELS)])
@pytest.mark.parametrize("estimator", [
    SVC(tol=1e-9, class_weight="balanced"),
    LinearSVC(tol=1e-10, max_iter=10**6, class_weight="balanced", fit_intercept=False),
    LinearSVC(tol=1e-10, max_iter=10**6, class_weight="balanced", loss="hinge",
              intercept_scaling=3.0),
    NuSVC(tol=1e-9, nu=0.5),
], ids=named)  # fmt: skip
def test_where_prices_are_read_rightly_a_tight_fit_is_optimal(
    estimator: Any, classes: np.ndarray
) -> None:
    """Another reading of the weights is another problem, which the fit is not optimal for."""
    estimator.set_params(random_state=0)
    fitted(estimator, X, classes, sample_weight=WEIGHTS)
    fit = tm.certify_fitted(estimator, X, classes, sample_weight=WEIGHTS)
    assert fit.gap <= 2e-6
    assert len(fit.parts) == (1 if classes is LABELS else 3)
    plain = tm.certify_fitted(estimator, X, classes)
    assert plain.gap > 1e-4


# --- kernels --------------------------------------------------------------------------------------


def kernels(estimator: Any) -> np.ndarray:
    """Its kernel matrix by scikit-learn."""
    if estimator.kernel == "rbf":
        return rbf_kernel(X, gamma=estimator._gamma)
    if estimator.kernel == "poly":
        return polynomial_kernel(
            X, degree=estimator.degree, gamma=estimator._gamma, coef0=estimator.coef0
        )
    return X @ X.T


MACHINES = [{"kernel": "rbf"}, {"kernel": "poly", "coef0": 0.5}, {"kernel": "linear"}]


@pytest.mark.parametrize(
    ("words", "limit", "made"), covering(MACHINES, (-1, 12), (SVC, NuSVC)), ids=repr
)
def test_machines_of_kernels_enclose_their_optimum(
    words: dict[str, Any], limit: int, made: Any
) -> None:
    """Weights of classes do nothing to libsvm's nu machine, and nothing to the statement."""
    own = {"C": 3.0} if made is SVC else {"nu": 0.6}
    estimator = made(max_iter=limit, class_weight={"no": 1.0, "yes": 2.0}, **own, **words)
    fitted(estimator, X, LABELS, sample_weight=WEIGHTS)
    fit = tm.certify_fitted(estimator, X, LABELS, sample_weight=WEIGHTS)
    factor = factor_of(kernels(estimator))
    if made is SVC:
        hold(fit, hinge_optimum(factor, Y, 3.0 * WEIGHTS * np.where(Y > 0, 2.0, 1.0)))
    else:
        hold(fit, nu_optimum(factor, Y, WEIGHTS / WEIGHTS.sum(), 0.6))
    assert fit.stopped_early == (limit > 0)
    assert (fit.gap > 0.01) if limit > 0 else (fit.gap < 5e-3)


def test_a_given_matrix_is_spoken_of_with_its_shift() -> None:
    gram = rbf_kernel(X, gamma=0.2)
    estimator = SVC(kernel="precomputed", tol=1e-9).fit(gram, LABELS)
    fit = tm.certify_fitted(estimator, gram, LABELS)
    hold(fit, hinge_optimum(factor_of(gram), Y, np.ones(N)))
    assert str(fit.verdict) == "CERTIFIED"
    assert "added to its diagonal" in fit.statement.remark


# --- the problem by name -------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [
    SVC(C=0.7, kernel="linear", class_weight={"no": 2.0, "yes": 0.25}),
    LinearSVC(loss="hinge", C=0.1, random_state=0), SGDClassifier(alpha=0.05, random_state=0),
    SVC(C=0.7), NuSVC(nu=0.4),
], ids=named)  # fmt: skip
def test_the_named_formulation_is_the_problem(estimator: Any) -> None:
    fit = tm.certify_fitted(fitted(estimator, X, LABELS), X, LABELS)
    dual = fit.formulation.endswith("_dual")
    data = tm.GramData(kernels(estimator), Y) if dual else tm.TrainingData(X, Y)
    solved = tm.solve(tm.build(fit.formulation, data, **fit.statement.hyperparameters))
    assert str(solved.certificate.verdict) == "CERTIFIED"
    assert solved.objective is not None
    hold(fit, -solved.objective if dual else solved.objective)


@pytest.mark.parametrize(
    "estimator", [LinearSVC(), LinearSVC(loss="hinge", intercept_scaling=2.0, random_state=0)]
)
def test_a_problem_that_the_catalogue_does_not_have_has_no_name(estimator: Any) -> None:
    fit = tm.certify_fitted(fitted(estimator, X, LABELS), X, LABELS)
    assert fit.formulation == ""
    assert fit.statement.problem.startswith("min 1/2 ||w||^2 + 1/2")


# --- what must not matter ------------------------------------------------------------------------


def hyperplane(w: np.ndarray, b: float) -> Any:
    return SimpleNamespace(coef_=w[None, :], intercept_=np.array([b]))


@pytest.mark.parametrize(
    "estimator", [SGDClassifier(random_state=0), SVC(), SVC(kernel="linear"), NuSVC()], ids=named
)
def test_sparse_points_are_the_same_points(estimator: Any) -> None:
    points = np.where(np.abs(X) < 0.5, 0.0, X)
    few = sp.csr_matrix(points)
    fitted(estimator, few, LABELS)
    one = tm.certify_fitted(estimator, few, LABELS)
    other = tm.certify_fitted(estimator, points, LABELS)
    assert one.objective == pytest.approx(other.objective, rel=1e-12)
    assert one.bound == pytest.approx(other.bound, rel=1e-9)


# --- hard data -----------------------------------------------------------------------------------

HARD = {
    "one class weighs very much": (X, LABELS, {"no": 1.0, "yes": 1e8}),
    "duplicates with both labels": (
        np.concatenate([X[:20]] * 4), np.concatenate([LABELS[:20]] * 2 + [LABELS[20:40]] * 2), None,
    ),
    "a constant feature": (np.column_stack([X, np.full(N, 3e5)]), LABELS, None),
    "features of other units": (X * [1.0, 1e4, 1e-3, 1e2], LABELS, None),
    "one point against many": (X, np.where(np.arange(N) == 3, "yes", "no"), None),
    "points on a lattice": (np.rint(X), LABELS, None),
}  # fmt: skip


ON_HARD = [
    SVC(kernel="linear", max_iter=2000), LinearSVC(loss="hinge", random_state=0), LinearSVC(),
    SGDClassifier(alpha=0.01, random_state=0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "estimator"), [
    (name, estimator)
    for k, name in enumerate(HARD)
    for j, estimator in enumerate(ON_HARD)
    if FULL or (k + j) % 3 == 0
])  # fmt: skip
def test_hard_data_make_no_false_statement(name: str, estimator: Any) -> None:
    points, labels, weight = HARD[name]
    estimator.set_params(class_weight=weight)
    fit = tm.certify_fitted(fitted(estimator, points, labels), points, labels)
    y = np.where(labels == "yes", 1.0, -1.0)
    prices = np.where(y > 0, 1.0 if weight is None else weight["yes"], 1.0)
    words: dict[str, Any] = {}
    if isinstance(estimator, LinearSVC):
        words = {"intercept": "penalised", "squared": estimator.loss == "squared_hinge"}
    if isinstance(estimator, SGDClassifier):
        words, prices = {"ridge": 0.01}, prices / len(y)
    optimum = hinge_optimum(points, y, prices, **words)
    assert fit.bound <= optimum * (1 + 1e-4)
    assert fit.objective >= optimum * (1 - 1e-4)
    assert 0 <= fit.bound <= fit.objective


# --- several classes -----------------------------------------------------------------------------

THREE = np.where(X[:, 3] > 5.8, "c", LABELS)


@pytest.mark.parametrize("estimator", [
    SVC(kernel="linear"), LinearSVC(loss="hinge", random_state=0),
    SGDClassifier(alpha=0.1, random_state=0),
], ids=named)  # fmt: skip
def test_every_pair_or_every_class_against_the_rest_has_its_own_statement(estimator: Any) -> None:
    """The weight of a class counts where it stands first against the rest, which weighs 1."""
    estimator.set_params(class_weight={"c": 1.0, "no": 3.0, "yes": 1.0})
    fit = tm.certify_fitted(fitted(estimator, X, THREE), X, THREE)
    assert fit.gap == max(part.gap for part in fit.parts)
    pairs = isinstance(estimator, SVC)
    first = ["c", "c", "no"] if pairs else ["c", "no", "yes"]
    others = ["no", "yes", "yes"] if pairs else [None] * 3
    for part, one, other in zip(fit.parts, first, others, strict=True):
        assert part.positive == one
        if pairs:
            assert part.classes == f"{one} against {other}"
        chosen = (one == THREE) | (other == THREE) if pairs else THREE != ""
        y = np.where(THREE[chosen] == one, 1.0, -1.0)
        weighs = (THREE[chosen] == "no") & (pairs | (y > 0))
        prices = np.where(weighs, 3.0, 1.0)
        words: dict[str, Any] = {}
        if isinstance(estimator, LinearSVC):
            words = {"intercept": "penalised"}
        elif isinstance(estimator, SGDClassifier):
            words, prices = {"ridge": 0.1}, prices / N
        optimum = hinge_optimum(X[chosen], y, prices, **words)
        assert part.bound <= optimum * (1 + NEAR)
        assert optimum * (1 - NEAR) <= part.objective <= optimum * (1.01 if pairs else 1.5)


def test_the_result_says_it_in_six_lines_and_as_a_table() -> None:
    fit = tm.certify_fitted(fitted(LinearSVC(random_state=0), X, THREE), X, THREE)
    assert len(repr(fit).splitlines()) <= 6
    weighted = NuSVC(nu=0.4).fit(X, LABELS, sample_weight=WEIGHTS)
    said = repr(tm.certify_fitted(weighted, X, LABELS, sample_weight=WEIGHTS))
    assert f"class_balance = {N} numbers" in said
    document = json.loads(json.dumps(fit.to_dict()))
    assert document["gap"] == fit.gap
    assert len(document["parts"]) == 3
    table = fit.to_frame()
    assert table["objective"].tolist() == [part.objective for part in fit.parts]


@pytest.mark.parametrize(("share", "said"), [
    (2**-10, "0.098 %"), (0.03125, "3.2 %"), (0.999, "100 %"), (1.0, "100 %"), (1e-12, "0.0001 %"),
    (0.1, "11 %"), (0.125, "13 %"), (0.0, "0 %"),
])  # fmt: skip
def test_a_share_in_words_is_never_below_itself(share: float, said: str) -> None:
    """0.1 as a double is above a tenth."""
    assert percent(share) == said


# --- liars ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12 if FULL else 3))
def test_any_hyperplane_gets_a_true_statement(seed: int) -> None:
    rng = np.random.default_rng(seed)
    w, b = rng.standard_normal(4) * 10.0 ** rng.integers(-8, 8), float(rng.standard_normal())
    for loss in ("hinge", "squared_hinge"):
        fit = tm.certify_fitted(hyperplane(w, b), X, Y, loss=loss, C=1.0, intercept="free")
        hold(fit, hinge_optimum(X, Y, np.ones(N), squared=loss != "hinge"))
        losses = np.maximum(0.0, 1 - Y * (X @ w + b))
        by_hand = w @ w / 2 + (losses.sum() if loss == "hinge" else losses @ losses)
        assert fit.objective == pytest.approx(by_hand, rel=1e-9)


@pytest.mark.parametrize(
    ("bad", "where", "intercept"),
    covering((np.nan, np.inf, 1e300), ("w", "b"), ("free", "penalised")),
)
def test_numbers_beyond_doubles_prove_nothing(bad: float, where: str, intercept: str) -> None:
    w, b = np.array([0.5, 0.2, 1.0, 0.1]), 0.3
    lying = hyperplane(w * (bad if where == "w" else 1.0), bad if where == "b" else b)
    for loss in ("hinge", "squared_hinge"):
        fit = tm.certify_fitted(lying, X, Y, loss=loss, C=1.0, intercept=intercept)
        if np.isfinite(fit.objective):  # 1e300 of an intercept that costs nothing
            assert fit.objective >= 1e300
            assert fit.gap > 0.99
        else:
            assert str(fit.verdict) == "NOT_CERTIFIED"
            assert fit.gap == np.inf
            assert "no gap is proven" in fit.sentence
            assert "nan" not in fit.sentence
        assert fit.bound <= hinge_optimum(
            X, Y, np.ones(N), squared=loss != "hinge", intercept=intercept
        )


def test_an_objective_beside_a_bound_of_another_sign_is_told_in_numbers() -> None:
    """Below its nu_min a NuSVC has the optimum 0, and no share of that is small."""
    X, y = make_classification(60, 5, n_informative=3, random_state=0)
    weights = np.random.default_rng(0).integers(0, 3, 60).astype(float)
    fit = tm.certify_fitted(NuSVC(nu=0.3, kernel="linear").fit(X, y, weights), X, y, weights)
    assert fit.objective == 0
    assert -1e-9 < fit.bound <= 0
    assert "100 %" not in fit.sentence
    if fit.bound < 0:
        assert fit.sentence.startswith("NuSVC: the objective is 0, and no machine is below -")


LIES = ("scaled", "of other labels", "noise", "zero", "one sign")
LIARS = (SVC(), SVC(kernel="linear"), NuSVC(nu=0.6))


@pytest.mark.parametrize(("kind", "machine"), [
    (kind, machine)
    for k, kind in enumerate(LIES)
    for j, machine in enumerate(LIARS)
    if FULL or j != k % 3
])  # fmt: skip
def test_coefficients_of_another_fit_get_a_true_statement(kind: str, machine: Any) -> None:
    estimator = machine.fit(X, LABELS)
    given = estimator.dual_coef_
    rng = np.random.default_rng(0)
    other = {
        "scaled": 40 * given,
        "of other labels": given[:, rng.permutation(given.shape[1])],
        "noise": rng.standard_normal(given.shape),
        "zero": 0 * given,
        "one sign": np.abs(given),
    }[kind]
    for word, value in (("dual_coef_", other), ("intercept_", np.array([0.25]))):
        setattr(estimator, word, value)
        setattr(estimator, f"_{word}", -value)  # also where scikit-learn keeps its own copy
    fit = tm.certify_fitted(estimator, X, LABELS)
    factor = X if estimator.kernel == "linear" else factor_of(kernels(estimator))
    if isinstance(machine, NuSVC):
        hold(fit, nu_optimum(factor, Y, np.full(N, 1 / N), 0.6))
    else:
        hold(fit, hinge_optimum(factor, Y, np.ones(N)))
    assert fit.gap > 1e-3
