"""The estimator gives the machines of the catalogue, and what scikit-learn's own would give."""

from __future__ import annotations

import doctest
import inspect
import pickle
import warnings
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC, NuSVC
from sklearn.utils import get_tags

import tightmargin as tm
from tests.faults.settings import valid
from tests.inside.experiments import HYPERPARAMETERS, PREPROCESSING, classifier, fitted, fitting
from tests.references.reference_solutions import points
from tests.support.covering import FULL
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import Status, Verdict

DATA = points("overlapping", 5, n=40)
X, Y = DATA.X, DATA.y
WORDS = np.where(Y > 0, "up", "down")  # of which up is +1
NEW = np.random.default_rng(0).normal(size=(25, 2)) * 1.5
Machine = tm.FormulationClassifier

# Formulations that yield no classifier, with the reason; at present every one yields one.
WITHOUT: dict[str, str] = {}
SEPARABLE = ("hard_margin_svc", "hard_margin_svc_dual", "max_margin_svc")
BELOW = ("extended_nu_svc_reverse", "extended_nu_svc_polar", "extended_nu_svc_linearised",
         "extended_nu_svc_linearised_dual")  # fmt: skip
# Where the settings of tests/faults give no machine on ten overlapping points.
OTHERS: dict[str, dict[str, float]] = {
    "extended_nu_svc_ball": {"nu": 0.9},
    "extended_nu_svc_dual": {"nu": 0.9},
    "extended_robust_svc": {"nu": 0.7, "mu": 0.2},
    "nu_svc": {"nu": 0.9},
    "nu_svc_dual": {"nu": 0.9},
    "reduced_hull_svc": {"hull_bound": 0.25},
}
# What counts no mistakes has the hyperplane of another formulation.
COUNTED_BY = {
    "conic_sdp_dual": "conic_sdp",
    "extended_nu_svc_linearised_dual": "extended_nu_svc_linearised",
}


def test_the_signature_is_the_union_of_all_hyperparameters() -> None:
    union = {word for entry in CATALOGUE.values() for word in entry.parameters}
    parameters = inspect.signature(Machine).parameters
    own = ["formulation", "solver", "method", "time_limit", "threads", "seed", "uncertified"]
    assert set(parameters) == {*own, "probability_grid", *PREPROCESSING, *union}
    written = [word for word in parameters if word in union]
    assert written == sorted(union) == list(HYPERPARAMETERS)
    assert all(parameters[word].default is None for word in (*union, *PREPROCESSING))
    assert not union & {*own, "probability_grid", *PREPROCESSING}
    given: dict[str, Any] = {word: object() for word in parameters}
    assert Machine(**given).get_params() == given


# Half of the time of all, in solvers; others of their kinds are read as they are.
LONG = ("zero_one_disjunctive", "zero_one_disjunctive_relaxed", "conic_sdp_lift",
        "multiclass_truncated")  # fmt: skip


@pytest.mark.parametrize("name", [name for name in CATALOGUE if FULL or name not in LONG])
def test_every_formulation_is_a_classifier(name: str) -> None:
    entry = CATALOGUE[name]
    assert (entry.classifier is None) == (name in WITHOUT)
    data = points("separable" if name in SEPARABLE else "overlapping", 2, n=10)
    words = valid(name, entry.parameters["intercept"].default)
    words |= OTHERS.get(name, {})
    if name in BELOW:
        words["nu"] = tm.theory.nu_range(data).nu_bar / 2
    labels = np.where(data.y > 0, "b", "a")
    machine = Machine(name, uncertified="raise", **words).fit(data.X, labels)
    assert machine.classes_.tolist() == ["a", "b"]
    assert get_tags(machine).classifier_tags.multi_class == name.startswith("multiclass")
    assert machine.certificate_.verdict is Verdict.CERTIFIED
    assert machine.certificate_ is machine.result_.certificate
    values = machine.decision_function(data.X)
    np.testing.assert_allclose(values, data.X @ machine.coef_[0] + machine.intercept_, atol=1e-12)
    mistakes = int((machine.predict(data.X) != labels).sum())
    # The formulation's own check counts from the result and the data, without the estimator.
    counted = machine.certificate_.facts.get("errors")
    if name in COUNTED_BY:
        assert counted is None
        other = Machine(COUNTED_BY[name], **words).fit(data.X, labels)
        np.testing.assert_allclose(machine.coef_, other.coef_, atol=1e-4)
        counted = other.certificate_.facts["errors"]
    assert mistakes == counted


@pytest.mark.parametrize("module", [classifier, fitted])
def test_the_examples_of_the_docstrings_say_what_they_print(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


# --- the same machines as scikit-learn's ---------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "C"),
    # Two classes of a formulation of several: f_2 - f_1 = u with ||B||^2 = ||u||^2 / 2.
    [({"C": 0.7}, 0.7), ({"formulation": "multiclass_hinge", "ridge": 0.02}, 1 / (40 * 0.02))],
)
def test_a_soft_margin_is_that_of_svc(words: dict[str, Any], C: float) -> None:
    ours = Machine(**words).fit(X, WORDS)
    theirs = SVC(kernel="linear", C=C, tol=1e-10).fit(X, WORDS)
    np.testing.assert_allclose(
        ours.decision_function(NEW), theirs.decision_function(NEW), atol=1e-4
    )
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert ours.predict(NEW).tolist() == theirs.predict(NEW).tolist()
    assert not hasattr(ours, "dual_coef_")


def test_a_kernel_machine_is_that_of_svc() -> None:
    ours = Machine("c_svc_dual", C=0.7, kernel="rbf", width=0.6).fit(X, WORDS)
    theirs = SVC(kernel="rbf", gamma=0.6, C=0.7, tol=1e-10).fit(X, WORDS)
    np.testing.assert_allclose(
        ours.decision_function(NEW), theirs.decision_function(NEW), atol=1e-4
    )
    assert ours.support_.tolist() == sorted(theirs.support_)
    np.testing.assert_allclose(ours.dual_coef_[:, theirs.support_], theirs.dual_coef_, atol=1e-4)
    again = rbf_kernel(NEW, X, gamma=0.6) @ ours.dual_coef_[0] + ours.intercept_
    np.testing.assert_allclose(again, ours.decision_function(NEW), atol=1e-9)
    assert not hasattr(ours, "coef_")


@pytest.mark.parametrize("name", ["kernel_soft_margin_svc", "soft_margin_svc_dual", "conic_sdp"])
def test_coefficients_of_the_kernel_reproduce_every_kernel_machine(name: str) -> None:
    words: dict[str, Any] = {"penalty": 1.0} if name == "conic_sdp" else {"ridge": 0.05}
    ours = Machine(name, kernel="poly", degree=2, coef0=1.0, **words).fit(X[::3], WORDS[::3])
    again = (NEW @ X[::3].T + 1) ** 2 @ ours.dual_coef_[0] + ours.intercept_
    np.testing.assert_allclose(again, ours.decision_function(NEW), atol=1e-7)


def test_kernel_values_are_read_and_cut_to_folds_as_for_svc() -> None:
    gram = rbf_kernel(X, X, gamma=0.6)
    given = Machine("c_svc_dual", C=0.7, kernel="precomputed")
    np.testing.assert_allclose(
        given.fit(gram, Y).decision_function(rbf_kernel(NEW, X, gamma=0.6)),
        SVC(gamma=0.6, C=0.7, tol=1e-10).fit(X, Y).decision_function(NEW),
        atol=1e-4,
    )
    formed = Machine("c_svc_dual", C=0.7, kernel="rbf", width=0.6)
    assert cross_val_score(given, gram, Y, cv=3).tolist() == (
        cross_val_score(formed, X, Y, cv=3).tolist()
    )


@pytest.mark.parametrize("name", ["nu_svc", "nu_svc_dual"])
def test_nu_svc_is_that_of_scikit_learn_up_to_its_scale(name: str) -> None:
    nu = 0.68  # of 40 points: at 0.7 seven tenths of them are at their caps, and b is not unique
    ours = Machine(name, nu=nu).fit(X, Y)
    theirs = NuSVC(kernel="linear", nu=nu, tol=1e-10).fit(X, Y)
    # libsvm divides by rho; the scale is gone where both are divided by the norm of the weights.
    for machine in (ours, theirs):
        assert machine.coef_.shape == (1, 2)
    np.testing.assert_allclose(
        ours.decision_function(NEW) / np.linalg.norm(ours.coef_),
        theirs.decision_function(NEW) / np.linalg.norm(theirs.coef_),
        atol=1e-4,
    )


def test_weights_of_classes_are_read_by_label_and_balanced() -> None:
    few = Y.copy()
    few[np.flatnonzero(Y > 0)[6:]] = -1
    theirs = SVC(kernel="linear", C=0.3, class_weight="balanced", tol=1e-10).fit(X, few)
    share = {label: len(few) / (2 * (few == label).sum()) for label in (-1, 1)}
    for weight in ("balanced", share, [share[-1], share[1]]):
        ours = Machine(C=0.3, class_weight=weight).fit(X, few)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    left_out = Machine(C=0.3, class_weight={1: 4.0}).fit(X, few).coef_
    same = SVC(kernel="linear", C=0.3, class_weight={1: 4.0}, tol=1e-10).fit(X, few).coef_
    np.testing.assert_allclose(left_out, same, atol=1e-3)


def test_a_matrix_is_read_by_its_shape() -> None:
    rng = np.random.default_rng(1)
    P = rng.normal(size=(12, 4))
    ours = Machine("matrix_svc_projection", ridge=0.5, shape=(2, 2), rank=1).fit(P, P[:, 0] > 0)
    B = ours.result_.values["w"].reshape(2, 2)
    traces = [np.trace(B.T @ p.reshape(2, 2)) for p in P] + ours.intercept_
    np.testing.assert_allclose(ours.decision_function(P), traces, atol=1e-12)


# --- with the rest of scikit-learn ---------------------------------------------------------------


def test_it_is_searched_over_numbers_and_over_formulations() -> None:
    grid = [
        {"formulation": ["c_svc"], "C": [0.01, 1.0]},
        {"formulation": ["rsvm"], "norm_bound": np.array([0.5, 2.0])},
    ]
    search = GridSearchCV(Machine(), grid, cv=3, error_score="raise").fit(X, WORDS)
    scores = search.cv_results_["mean_test_score"]
    expected = [
        cross_val_score(SVC(kernel="linear", C=C, tol=1e-10), X, WORDS, cv=3).mean()
        for C in (0.01, 1.0)
    ]
    np.testing.assert_allclose(scores[:2], expected)
    assert search.best_estimator_.certificate_.verdict is Verdict.CERTIFIED
    assert search.best_score_ == max(scores)


def test_numbers_of_a_grid_may_be_numpys() -> None:
    words: dict[str, Any] = {"degree": np.int64(2), "coef0": np.float32(1), "C": np.float64(0.5)}
    ours = Machine("c_svc_dual", kernel="poly", **words).fit(X, Y)
    theirs = SVC(C=0.5, kernel="poly", degree=2, gamma=1.0, coef0=1.0, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(
        ours.decision_function(NEW), theirs.decision_function(NEW), atol=1e-3
    )


def test_what_a_search_cannot_solve_is_a_warned_nan() -> None:
    grid = {"formulation": ["nu_svc"], "nu": [0.001, 0.7]}
    with (
        pytest.warns(UserWarning, match="scores are non-finite"),
        pytest.warns(FitFailedWarning, match="nu = 0.001 is at or below the range"),
    ):
        search = GridSearchCV(Machine(), grid, cv=2).fit(X, WORDS)
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [True, False]


def test_a_fit_is_kept_and_forgets_the_one_before() -> None:
    machine = Machine("c_svc_dual", C=0.7).fit(X, WORDS)
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.decision_function(NEW), machine.decision_function(NEW))
    assert again.certificate_ == machine.certificate_
    copy = clone(machine)
    assert not hasattr(copy, "result_")
    assert copy.get_params() == machine.get_params()
    assert hasattr(machine, "dual_coef_")
    machine.set_params(formulation="c_svc").fit(X, WORDS)
    assert not hasattr(machine, "dual_coef_")
    before = len(pickle.dumps(Machine(C=0.7).fit(X, WORDS)))
    wide = np.hstack([X, np.random.default_rng(0).normal(size=(40, 200)) * 1e-9])
    after = len(pickle.dumps(Machine(C=0.7).fit(wide, WORDS)))
    assert after - before < wide.nbytes, "a hyperplane carries no training points along"


# --- probabilities -------------------------------------------------------------------------------


def test_probabilities_are_there_only_where_machines_estimate_them() -> None:
    for machine in (Machine(C=1.0), Machine("weighted_svc", ridge=0.1, pi=0.5)):
        assert not hasattr(machine, "predict_proba")
        assert not hasattr(machine.fit(X, WORDS), "predict_proba")


def test_probabilities_are_those_of_the_grid() -> None:
    words: dict[str, Any] = {"ridge": 0.05, "normalise": "zscore"}
    machine = Machine("weighted_svc", pi=0.5, probability_grid=9, **words).fit(X, WORDS)
    direct = tm.fit(tm.paths.class_probabilities, DATA, grid=9, **words)
    found = machine.predict_proba(NEW)
    np.testing.assert_allclose(found[:, 1], direct.probabilities(NEW))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert len(set(found[:, 1].round(6))) > 3
    assert machine.probabilities_.certified
    same = machine.predict(NEW) == machine.classes_[found.argmax(axis=1)]
    assert same.mean() > 0.9  # the machine of pi = 1/2 and the whole grid


# --- proofs --------------------------------------------------------------------------------------


def test_what_is_not_proven_is_warned_of_raised_or_ignored() -> None:
    local = Machine("extended_nu_svc", nu=0.1, method="local")  # which proves nothing
    with pytest.warns(
        tm.UncertifiedWarning, match=r"extended_nu_svc: NOT_CERTIFIED, .* a gap of [\d.]+ %"
    ) as warned:
        machine = local.fit(X, Y)
    assert warned[0].filename == __file__, "it points at the line that calls fit"
    assert machine.certificate_.verdict is Verdict.NOT_CERTIFIED
    with pytest.raises(tm.UncertifiedError, match="NOT_CERTIFIED"):
        clone(local).set_params(uncertified="raise").fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(local).set_params(uncertified="ignore").fit(X, Y)
        proven = Machine("extended_nu_svc", nu=0.1).fit(X, Y)  # by a search of our own
    assert proven.certificate_.verdict is Verdict.CERTIFIED
    best, local_best = proven.result_.objective, machine.result_.objective
    assert best is not None
    assert local_best is not None
    assert best <= local_best + 1e-9


def test_ctrl_c_keeps_what_was_found_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(model: Any, *words: str, **limits: Any) -> tm.SolveResult:
        return replace(tm.solve(model, *words, **limits), status=Status.INTERRUPTED)

    monkeypatch.setattr(fitting, "solve", stopped)
    machine = Machine(C=1.0)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, WORDS)
    assert machine.result_.status is Status.INTERRUPTED
    assert set(machine.predict(NEW)) == {"up", "down"}

    def nothing(model: Any, *words: str, **limits: Any) -> tm.SolveResult:
        return replace(stopped(model, *words, **limits), values={}, objective=None)

    monkeypatch.setattr(fitting, "solve", nothing)
    with pytest.raises(KeyboardInterrupt):
        Machine(C=1.0).fit(X, WORDS)


def test_a_solve_without_any_point_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(model: Any, *words: str, **limits: Any) -> tm.SolveResult:
        assert limits == {"time_limit": 3.0, "threads": 1, "seed": 2}
        found = tm.solve(model, *words, **limits)
        bare = replace(found.certificate, verdict=Verdict.NOT_CERTIFIED, reason="out of time")
        return replace(
            found, status=Status.LIMIT_NO_SOLUTION, values={}, objective=None, certificate=bare
        )

    monkeypatch.setattr(fitting, "solve", late)
    of_a_grid: Any = np.int64(1)
    machine = Machine(C=1.0, time_limit=3.0, threads=of_a_grid, seed=2)
    with pytest.raises(RuntimeError, match="limit_no_solution, no machine was found; out of time"):
        machine.fit(X, Y)
