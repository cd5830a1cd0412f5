"""The same points sparse and dense: the same model, optimum, interval, verdict and hyperplane."""

from __future__ import annotations

import pickle
import tracemalloc
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp

import tightmargin as tm
from tests.cases import CASES
from tests.inside.formulations import INTERCEPTS
from tests.inside.solvers import standard_form
from tests.support.covering import in_turn
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import Verdict

# The common words are for eight points.
OTHER_WORDS: dict[str, dict[str, Any]] = {
    "c_svc": {"class_weight": (1.0, 2.0)},
    "soft_margin_svc": {"ridge": 0.02},
    "weighted_svc": {"ridge": 0.02, "pi": 0.3},
    "hinge_power_svc": {"exponent": 2.5},
    "nu_svc": {"nu": 0.3},
    "extended_nu_svc_dual": {"nu": 0.3, "scale": "perez_cruz"},
    "nu_svc_dual": {"nu": 0.6, "class_balance": "balanced"},
    "reduced_hull_svc": {"hull_bound": 0.2},
}
WORDS = {
    name: case.words | OTHER_WORDS.get(name, {})
    for name, case in CASES.items()
    if case.entry.keeps_sparse
}
SEPARABLE = ("hard_margin_svc", "hard_margin_svc_dual", "max_margin_svc")


def _points(*, separable: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Forty points with an empty row, a row and a column of one number, and an empty column."""
    rng = np.random.default_rng(7)
    X = np.round(rng.normal(size=(40, 6)), 2) * (rng.random((40, 6)) < 0.4)
    y = np.where(X[:, 0] + X[:, 1] + 0.4 * rng.normal(size=40) > 0, 1, -1)
    X[:, 0] += (2.0 if separable else 0.3) * y
    X[:, 4] = 0.0
    X[:, 5] = 0.0
    X[3, 5] = 1.25
    X[7] = 0.0
    X[7, 0] = 3.0 * y[7]
    if not separable:
        X[11] = 0.0
    return X, y


def _pair(*, separable: bool = False) -> tuple[tm.TrainingData, tm.TrainingData]:
    X, y = _points(separable=separable)
    return tm.TrainingData(X, y), tm.TrainingData(sp.csc_matrix(X), y)


@pytest.mark.parametrize(("name", "intercept"), in_turn(WORDS, INTERCEPTS))
def test_sparse_points_have_the_model_and_the_optimum_of_dense_ones(
    name: str, intercept: str
) -> None:
    dense, sparse = _pair(separable=name in SEPARABLE)
    models = [tm.build(name, data, **WORDS[name], intercept=intercept) for data in (dense, sparse)]
    assert models[1].origin.data is sparse, "no copy was made"
    forms = [standard_form(model) for model in models]
    for part in ("lower", "upper", "row_lower", "row_upper"):
        np.testing.assert_array_equal(getattr(forms[0], part), getattr(forms[1], part))
    assert (forms[0].A != forms[1].A).nnz == 0
    first, second = (tm.solve(model, method="direct") for model in models)
    assert first.certificate.verdict is second.certificate.verdict is Verdict.CERTIFIED
    exact = {"exact_upper", "exact_bound"}  # there where an end is no double
    assert first.certificate.facts.keys() ^ second.certificate.facts.keys() <= exact
    assert second.objective == pytest.approx(first.objective, rel=1e-6, abs=1e-9)
    # Each interval holds the one optimum.
    assert max(first.bound, second.bound) <= min(first.objective, second.objective)
    classifier = CATALOGUE[name].classifier
    if classifier is not None:
        (w, b), (v, c) = (
            classifier(model.origin, result.values, result.duals)
            for model, result in zip(models, (first, second), strict=True)
        )
        np.testing.assert_allclose(w, v, atol=1e-4)
        assert b == pytest.approx(c, abs=1e-4)


@pytest.mark.parametrize("name", ["rsvm", "rsvm_dual"])
def test_auto_leaves_sparse_points_to_a_solver_and_agrees_with_the_method(name: str) -> None:
    dense, sparse = _pair()
    first, second = (tm.solve(tm.build(name, data, **WORDS[name])) for data in (dense, sparse))
    assert (first.solver, second.solver) == ("tightmargin", "clarabel")
    assert second.objective == pytest.approx(first.objective, rel=2e-6)
    named = tm.solve(tm.build(name, sparse, **WORDS[name]), method="segments")
    assert named.certificate.verdict is Verdict.CERTIFIED


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nu_svc", {"nu": 0.3}),
        ("c_svc_dual", {"C": 1.0, "kernel": "rbf", "width": 0.3}),
        ("c_svc", {"C": 1.0, "normalise": "zscore"}),
        ("c_svc", {"C": 1.0, "kpca": "full", "kernel": "rbf", "width": 0.3}),
        ("multiclass_hinge", {"ridge": 0.1}),
        ("weighted_svc", {"ridge": 0.1, "pi": 0.5, "probability_grid": 3}),
    ],
)
def test_estimators_fitted_on_sparse_points_are_those_of_dense_ones(
    name: str, words: dict[str, Any]
) -> None:
    X, y = _points()
    dense = tm.FormulationClassifier(name, **words).fit(X, y)
    sparse = tm.FormulationClassifier(name, **words).fit(sp.coo_array(X), y)
    assert sparse.certificate_.verdict is dense.certificate_.verdict
    new = np.random.default_rng(2).normal(size=(5, 6)) * [1, 0, 1, 1, 0, 1]
    values = [dense.decision_function(new)]
    values += [machine.decision_function(sp.csc_array(new)) for machine in (dense, sparse)]
    np.testing.assert_allclose(values[1], values[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(values[2], values[0], atol=1e-5)
    if "probability_grid" in words:
        found = sparse.predict_proba(sp.csr_array(new))
        np.testing.assert_allclose(found, dense.predict_proba(new), atol=1e-5)


def test_an_edited_sparse_model_is_the_edited_dense_one() -> None:
    dense, sparse = _pair()
    models = [tm.c_svc(data, C=0.7) for data in (dense, sparse)]
    for model in models:
        model.w[1].fix(0.25)
        model.margin[4].deactivate()
        model.margin[5].set_value(model.margin[5].body >= 0.5)
        model.side = pyo.Constraint(expr=model.w[0] + model.w[2] <= 0.6)
        model.C = 0.9
    changed = [
        str(tm.diff(tm.c_svc(data, C=0.7), model))
        for data, model in zip((dense, sparse), models, strict=True)
    ]
    assert changed[0] == changed[1]
    first, second = (tm.solve(model) for model in models)
    assert second.certificate.verdict is Verdict.CERTIFIED
    assert second.objective == first.objective
    for other in (models[1].clone(), pickle.loads(pickle.dumps(models[1]))):
        assert tm.solve(other).objective == first.objective


@pytest.mark.slow("memory is counted, at a size where a dense copy would show")
def test_a_large_problem_is_certified_without_a_dense_copy() -> None:
    """Factors of the matrix of 6,000 x 6,000 would be dense; an array of them needs 288 MB."""
    rng = np.random.default_rng(0)
    n = 6000
    X = sp.random_array((n, n), density=10 / n, rng=rng, format="csr")
    y = np.where(X @ rng.normal(size=n) + 0.1 * rng.normal(size=n) > 0, 1, -1)
    tm.solve(tm.c_svc(tm.TrainingData(X[:50], y[:50]), C=1.0))  # what is loaded once
    tracemalloc.start()
    result = tm.solve(tm.c_svc(tm.TrainingData(X, y), C=1.0))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.solver == "tightmargin"
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert most < 8 * n * n / 4


@pytest.mark.parametrize(
    ("name", "intercept"), in_turn(["c_svc", "soft_margin_svc", "weighted_svc"], INTERCEPTS)
)
def test_newton_steps_end_where_solvers_do(name: str, intercept: str) -> None:
    X, y = _points()
    weighted = tm.TrainingData(sp.csr_matrix(X), y, sample_weight=np.arange(40) % 4)
    for data in (*_pair(), weighted):
        model = tm.build(name, data, **WORDS[name], intercept=intercept)
        ours, theirs = tm.solve(model, method="newton"), tm.solve(model, "clarabel")
        assert ours.certificate.verdict is Verdict.CERTIFIED
        assert ours.certificate.facts["stop"] == "converged"
        assert ours.objective == pytest.approx(theirs.objective, rel=1e-6)
        if data.weights is None:  # of weighted points they are not unique here
            assert ours.duals["margin"] == pytest.approx(theirs.duals["margin"], abs=1e-3)


def test_newton_steps_that_are_stopped_keep_a_proven_interval() -> None:
    data = _pair()[1]
    found = tm.solve(tm.c_svc(data, C=1e6), method="newton", time_limit=0.05)
    best = tm.solve(tm.c_svc(data, C=1e6), "clarabel")
    assert found.objective is not None
    assert best.bound is not None
    assert found.objective >= best.bound
    assert found.bound is None or found.bound <= best.objective


@pytest.mark.parametrize(
    ("name", "intercept"), in_turn([name for name in WORDS if name not in SEPARABLE], INTERCEPTS)
)
def test_whole_number_weights_of_sparse_points_repeat_them(name: str, intercept: str) -> None:
    X, y = _points()
    times = np.random.default_rng(0).integers(0, 4, size=40)
    weighted = tm.TrainingData(sp.csr_matrix(X), y, sample_weight=times)
    repeated = tm.TrainingData(X.repeat(times, axis=0), y.repeat(times))
    ours, theirs = (
        tm.solve(tm.build(name, data, **WORDS[name], intercept=intercept))
        for data in (weighted, repeated)
    )
    assert ours.certificate.verdict is Verdict.CERTIFIED
    assert ours.objective == pytest.approx(theirs.objective, rel=2e-6, abs=1e-9)
