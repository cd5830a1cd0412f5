"""Rows of the fault table for the scikit-learn estimator, which reads arrays of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import tightmargin as tm
from tests.faults.test_data_rows import CONVERTED, REFUSED, X, Y
from tests.references.reference_solutions import points

Machine = tm.FormulationClassifier
PLAIN = Machine(C=1.0).fit(X, Y)
OVERLAPPING = points("overlapping", 5, n=40)


def test_row_02_three_labels_are_refused_by_what_reads_two() -> None:
    three = [0, 1, 2, 0, 1, 2]
    with pytest.raises(ValueError, match=r"Only binary .*=c_svc reads two classes and y holds 3"):
        Machine(C=1.0).fit(X, three)
    machine = Machine("multiclass_hinge", ridge=0.1).fit(X, list("abcabc"))
    assert set(machine.predict(X)) <= set("abc")
    assert machine.decision_function(X).shape == (6, 3)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        Machine(C=1.0).fit(X, [0.5, 1.5, 2.5, 0.5, 1.5, 2.5])


def test_row_07_nu_outside_its_range_is_refused_with_both_ends() -> None:
    data = OVERLAPPING
    found = tm.theory.nu_range(data)
    few = data.y.copy()
    few[np.flatnonzero(few > 0)[4:]] = -1
    for name in ("nu_svc", "nu_svc_dual", "extended_nu_svc_ball"):
        with pytest.raises(ValueError, match=rf"nu = 0.01 .*nu_\w+ = {found.nu_min:.6g}, nu_max"):
            Machine(name, nu=0.01).fit(data.X, data.y)
        with pytest.raises(ValueError, match=r"nu = 0.9 is above the range .*nu_max = 0.2\)"):
            Machine(name, nu=0.9).fit(data.X, few)
    bad: list[dict[str, Any]] = [{"nu": np.nan}, {"class_balance": "even"}, {"intercept": "fixed"}]
    for words in bad:
        with pytest.raises(ValueError, match=f"{next(iter(words))} must be"):
            Machine("nu_svc", **{"nu": 0.5} | words).fit(data.X, data.y)


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("hard_margin_svc", {}, r"infeasible \(CERTIFIED\), exact rational Farkas bound"),
        ("hard_margin_svc_dual", {}, r"unbounded \(CERTIFIED\), a ray that no row ever stops"),
        ("max_margin_svc", {}, "gives no machine: the classes are not separable"),
        ("reduced_hull_svc", {"hull_bound": 0.9}, "gives no machine: the hulls meet"),
    ],
)
def test_row_17_a_problem_without_an_optimum_is_refused_with_its_proof(
    name: str, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        Machine(name, **settings).fit(OVERLAPPING.X, OVERLAPPING.y)


def test_row_11_a_kernel_matrix_that_is_none_is_refused() -> None:
    for matrix, words in ((-np.eye(6), "smallest eigenvalue"), (X, "kernel matrix")):
        with pytest.raises(ValueError, match=words):
            Machine("c_svc_dual", C=1.0, kernel="precomputed").fit(matrix, Y)
    with pytest.raises(ValueError, match=r"needs k\(x, x\) of every new point"):
        Machine("c_svc_dual", C=1.0, kernel="precomputed", normalise="centred").fit(np.eye(6), Y)


@pytest.mark.parametrize("kind", ["lists", "data frame", "sparse frame"])
def test_row_29_what_people_keep_points_in_gives_the_same_machine(kind: str) -> None:
    found, labels = CONVERTED[kind]()
    machine = Machine(C=1.0).fit(found, labels)
    np.testing.assert_array_equal(machine.coef_, PLAIN.coef_)
    np.testing.assert_array_equal(machine.decision_function(found), PLAIN.decision_function(X))
    assert machine.predict(found).tolist() == PLAIN.predict(X).tolist()
    # Points that come sparse are kept so, and their digest is of what is stored.
    kept = sp.csr_array(X) if kind == "sparse frame" else X
    assert machine.result_.data["sha256"] == tm.TrainingData(kept, Y).sha256
    assert hasattr(machine, "feature_names_in_") == (kind == "data frame")
    if kind == "data frame":
        assert machine.feature_names_in_.tolist() == ["a", "b"]


def test_row_29_masks_dates_and_labels_of_two_kinds_are_refused_by_name() -> None:
    frame = pd.DataFrame({"a": pd.date_range("2020", periods=6), "b": X[:, 0]})
    found: Any
    for found, words in (
        (np.ma.array(X, mask=X > 2), "X is masked in row 2"),
        (frame, "dates or times"),
    ):
        for call in (Machine(C=1.0).fit, lambda found, _: PLAIN.predict(found)):
            with pytest.raises(ValueError, match=words):
                call(found, Y)
    for kind in ("no rows", "ragged", "complex", "words", "missing cell", "no y"):
        with pytest.raises((ValueError, TypeError)):
            Machine(C=1.0).fit(*REFUSED[kind][0]())
    for labels, words in (
        (np.array(["a", 1, "b", "a", "b", "a"], dtype=object), "y mixes or holds int, str"),
        (np.ma.array(Y, mask=np.arange(6) == 2), "y is masked in row 2"),
        (np.array(["a", None, "b", "a", "b", "a"], dtype=object), "y is missing in row 1"),
    ):
        with pytest.raises(ValueError, match=words):
            Machine(C=1.0).fit(X, labels)


def test_row_30_words_are_checked_before_anything_is_solved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tests.inside.experiments import fitting

    for name in ("solve", "build"):
        monkeypatch.setattr(fitting, name, lambda *_, **__: pytest.fail("it was solved"))
    cases: list[tuple[dict[str, Any], str]] = [
        ({"formulation": "c_scv"}, "no formulation is called 'c_scv'; did you mean c_svc"),
        ({"formulation": None}, "formulation must be the name of one, got None"),
        ({}, "formulation=c_svc needs C: nothing is chosen for you"),
        ({"C": 1.0, "nu": 0.5}, r"formulation=c_svc takes no nu \(it takes C, class_weight, int"),
        ({"C": 1.0, "kernel": "rbf", "width": 1.0}, "c_svc reads points, .* or take one of c_svc_"),
        ({"C": 1.0, "method": "local"}, "c_svc has no method 'local'; it has auto, direct"),
        ({"formulation": "multiclass_hinge", "ridge": 0.1, "kernel": "rbf", "width": 1.0},
         "formulations of several classes read points"),
        ({"formulation": "zero_one_big_m", "penalty": 1.0, "big_m": "tightened", "nu": 0.5},
         "zero_one_big_m takes no nu"),
        ({"formulation": "extended_nu_svc", "nu": 0.1, "method": "hull", "solver": "scip"},
         "method hull needs no solver"),
    ]  # fmt: skip
    for words, message in cases:
        with pytest.raises(ValueError, match=message):
            Machine(**words).fit(X, Y)
