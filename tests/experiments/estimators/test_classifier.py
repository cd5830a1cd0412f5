"""The estimator gives the machines of the catalogue, and what scikit-learn's own would give."""

from __future__ import annotations

import doctest
import warnings
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC
from sklearn.utils import get_tags

import tightmargin as tm
from tests.cases import valid
from tests.inside.experiments import classifier, explain, fitted, fitting, judge
from tests.references.reference_solutions import points
from tests.support.covering import FULL
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import Status, Verdict

DATA = points("overlapping", 5, n=40)
X, Y = DATA.X, DATA.y
WORDS = np.where(Y > 0, "up", "down")  # of which up is +1
NEW = np.random.default_rng(0).normal(size=(25, 2)) * 1.5
Machine = tm.FormulationClassifier

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


# Half of the time of all, in solvers; others of their kinds are read as they are.
LONG = ("zero_one_disjunctive", "zero_one_disjunctive_relaxed", "multiclass_truncated")


@pytest.mark.parametrize("name", [name for name in CATALOGUE if FULL or name not in LONG])
def test_every_formulation_is_a_classifier(name: str) -> None:
    entry = CATALOGUE[name]
    assert entry.classifier is not None
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


@pytest.mark.parametrize("name", ["kernel_soft_margin_svc", "soft_margin_svc_dual", "conic_sdp"])
def test_coefficients_of_the_kernel_reproduce_every_kernel_machine(name: str) -> None:
    words: dict[str, Any] = {"penalty": 1.0} if name == "conic_sdp" else {"ridge": 0.05}
    ours = Machine(name, kernel="poly", degree=2, coef0=1.0, **words).fit(X[::3], WORDS[::3])
    again = (NEW @ X[::3].T + 1) ** 2 @ ours.dual_coef_[0] + ours.intercept_
    np.testing.assert_allclose(again, ours.decision_function(NEW), atol=1e-7)


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


def test_what_is_proven_within_tolerance_is_only_warned_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = tm.solve(tm.c_svc(DATA, C=1.0))
    for verdict, word in (
        (Verdict.CERTIFIED, "raise"), (Verdict.WITHIN_TOLERANCE, "ignore"),
        (Verdict.WITHIN_TOLERANCE, "raise"), (Verdict.NOT_CERTIFIED, "raise"),
    ):  # fmt: skip
        reason = "" if verdict is Verdict.CERTIFIED else "norm is missed by 1e-11"
        certificate = replace(found.certificate, verdict=verdict, reason=reason)
        result = replace(found, certificate=certificate)
        explain(result)
        assert (str(verdict) in capsys.readouterr().err) == (verdict is not Verdict.CERTIFIED)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            if verdict is Verdict.NOT_CERTIFIED:
                with pytest.raises(tm.UncertifiedError):
                    judge(result, word)
            else:
                judge(result, word)
        told = verdict is Verdict.WITHIN_TOLERANCE and word == "raise"
        assert [one.category for one in warned] == [tm.UncertifiedWarning] * told


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
