"""Weights and labels as data keep them, and what results, files and classifiers make of them."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC

import tightmargin as tm
from tests.inside.solvers import checker
from tests.solvers.proof_files import second_checker
from tightmargin.solvers import Verdict

X = np.array([[0, 4], [3, 1], [2, -2], [-2, 2], [1, -3], [4, 2], [-4, 0]]) / 2
Y = np.array([1, 1, -1, -1, -1, 1, -1])
WORDS = np.where(Y > 0, "well", "ill")
S = np.array([2.0, 1.0, 0.5, 0.0, 2.0, 3.0, 0.25])
ROOT = 2e-3
Machine = tm.FormulationClassifier


def weighted(**words: Any) -> tm.TrainingData:
    return tm.TrainingData(X, Y, **({"sample_weight": S} | words))


def test_points_without_weight_are_left_out() -> None:
    data, kept = weighted(), S > 0
    assert data.n == 6
    assert data.X.tolist() == X[kept].tolist()
    assert data.y.tolist() == Y[kept].tolist()
    assert data.weights is not None
    assert data.weights.tolist() == S[kept].tolist()
    assert (data.total_weight, data.masses) == (8.75, (2.75, 6.0))
    with pytest.raises(ValueError, match="read-only"):
        data.weights[0] = 1.0
    gram = tm.GramData(X @ X.T, Y, sample_weight=S)
    assert gram.gram.shape == (6, 6)
    assert np.allclose(gram.gram, data.X @ data.X.T)
    several = tm.MulticlassData(X, [0, 1, 2, 1, 0, 1, 2], sample_weight=S)
    assert several.n == 6
    assert several.masses.tolist() == [4.0, 4.0, 0.75]
    assert gram.points.total_weight == several.total_weight == 8.75


@pytest.mark.parametrize(
    ("class_weight", "expected"),
    [
        ({1: 3.0}, [1.0, 3.0]),
        ({-1: 0.5, 1: 3.0}, [0.5, 3.0]),
        ({"1": 3.0}, [1.0, 3.0]),
        ([0.5, 3.0], [0.5, 3.0]),
        ("balanced", [8.75 / (2 * 2.75), 8.75 / (2 * 6)]),
    ],
)
def test_weights_of_classes_multiply_those_of_points(class_weight: Any, expected: Any) -> None:
    data = weighted(class_weight=class_weight)
    factors = np.where(Y > 0, expected[1], expected[0])
    assert data.weights is not None
    assert np.allclose(data.weights, (S * factors)[S > 0], rtol=1e-15)
    # As a hyperparameter the same words say the same of C-SVC.
    as_data = tm.solve(tm.c_svc(data, C=0.6)).objective
    as_word = tm.solve(tm.c_svc(weighted(), C=0.6, class_weight=class_weight)).objective
    assert as_data == pytest.approx(as_word, rel=1e-7)


def test_copies_keep_weights_and_names() -> None:
    data = tm.TrainingData(X, WORDS, sample_weight=S, positive="ill", spec="mine")
    for copy in (dataclasses.replace(data, X=data.X + 1), pickle.loads(pickle.dumps(data))):
        assert copy.classes == ("well", "ill")
        assert copy.weights is not None
        assert copy.weights.tolist() == S[S > 0].tolist()
        assert copy.y.tolist() == data.y.tolist()
    clone = tm.c_svc(data, C=1.0).clone()
    assert clone.origin.data is data
    shown = repr(data)
    assert "mine: 6 points, 2 features, weighted" in shown
    assert "from 0.25 to 3, in all 8.75" in shown
    assert "weighted (each counts as often as it weighs, n = 8.75)" in str(tm.show(clone))


# --- results and files ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["c_svc", "soft_margin_svc", "zero_one_big_m"])
def test_a_proof_file_of_a_weighted_model_is_checked_alone(tmp_path: Path, name: str) -> None:
    words: dict[str, Any] = {
        "c_svc": {"C": 0.7},
        "soft_margin_svc": {"ridge": 0.1},
        "zero_one_big_m": {"penalty": 0.4, "big_m": "derived"},
    }[name]
    path = tmp_path / "proof.json"
    result = tm.solve(tm.build(name, weighted(), **words), proof=path)
    assert result.certificate.verdict is Verdict.CERTIFIED
    document = checker.read(str(path))
    proof = checker.check(document)
    assert proof.lower is not None
    assert float(proof.lower + proof.model.constant) <= result.objective * (1 + 1e-9)
    if name != "zero_one_big_m":
        assert second_checker.decides(document)


# --- the classifier and scikit-learn --------------------------------------------------------------


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_duals_are_told_for_all_points_given(kernel: str | None) -> None:
    words = {"kernel": kernel, "width": 0.5} if kernel else {}
    machine = Machine("c_svc_dual", C=0.6, **words).fit(sp.csr_matrix(X), Y, sample_weight=S)
    theirs = SVC(kernel=kernel or "linear", C=0.6, gamma=0.5, tol=1e-10).fit(X, Y, sample_weight=S)
    assert machine.dual_coef_.shape == (1, 7)
    assert machine.dual_coef_[0, 3] == 0
    # Theirs are places among the points that weigh something.
    assert machine.support_.tolist() == sorted(np.flatnonzero(S)[theirs.support_].tolist())
    assert np.allclose(machine.decision_function(X), theirs.decision_function(X), atol=ROOT)
    ends = tm.certify_fitted(theirs, X, Y, sample_weight=S).parts[0]
    assert ends.attained is not None
    assert ends.below is not None
    most = -machine.result_.objective  # the dual minimises minus the optimum
    assert ends.below.varying <= most * (1 + 1e-6)
    assert most <= ends.attained.varying * (1 + 1e-6)
