"""scikit-learn's own checks of the estimator, and each expected failure with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import tightmargin as tm

NO_CLASS_WEIGHT = "the formulation has no weights of classes, and refuses class_weight"
NO_NU = "the labels have no structure: 0.4 is outside of [nu_min, nu_max], and refused"
NU = 0.4
NU_SVC = tm.FormulationClassifier("nu_svc", nu=NU)
EXPECTED: dict[str, dict[str, str]] = {
    "kernel_soft_margin_svc": {"check_class_weight_classifiers": NO_CLASS_WEIGHT},
    "extended_nu_svc": {"check_class_weight_classifiers": NO_CLASS_WEIGHT},
    "nu_svc": dict.fromkeys(
        [
            "check_classifier_data_not_an_array",
            "check_dtype_object",
            "check_estimator_sparse_array",
            "check_estimator_sparse_matrix",
            "check_estimator_sparse_tag",
            "check_estimators_dtypes",
            "check_estimators_nan_inf",
            "check_fit_check_is_fitted",
            "check_fit_idempotent",
            "check_fit_score_takes_y",
            "check_n_features_in",
            "check_n_features_in_after_fitting",
            "check_supervised_y_2d",
        ],
        NO_NU,
    )
    | {"check_class_weight_classifiers": NO_CLASS_WEIGHT},
}


def expected_failures(estimator: Any) -> dict[str, str]:
    return EXPECTED.get(estimator.formulation, {})


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        tm.FormulationClassifier(C=1),
        tm.FormulationClassifier("multiclass_hinge", ridge=0.01),
        tm.FormulationClassifier("kernel_soft_margin_svc", ridge=0.01, kernel="rbf", width=0.5),
        tm.FormulationClassifier("extended_nu_svc", nu=0.05),  # feasible for all these labels
        NU_SVC,
    ],
    expected_failed_checks=expected_failures,
    xfail_strict=True,
)
def test_scikit_learn_takes_it_for_one_of_its_own(
    estimator: Any, check: Callable[[Any], None]
) -> None:
    check(estimator)


def chain(error: BaseException | None) -> Iterator[str]:
    """Texts of an exception and of those it came from."""
    while error is not None:
        yield str(error)
        error = error.__cause__ or error.__context__


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_the_nu_family_fails_for_the_reasons_that_are_given() -> None:
    found = {
        one["check_name"]: " ".join(chain(one["exception"]))
        for one in check_estimator(NU_SVC, on_fail=None, on_skip=None)
        if one["status"] == "failed"
    }
    assert set(found) == set(EXPECTED["nu_svc"])
    for name, text in found.items():
        if EXPECTED["nu_svc"][name] == NO_CLASS_WEIGHT:
            assert "formulation=nu_svc takes no class_weight" in text
        else:
            assert re.search(f"nu = {NU} is (at or below|above) the range .nu_min = 0", text), name
