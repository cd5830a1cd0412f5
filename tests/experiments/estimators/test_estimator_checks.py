"""scikit-learn's own checks of the estimator, and each expected failure with its reason."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

import tightmargin as tm
from tests.support.covering import FULL

# The oldest scikit-learn that is admitted has no such word.
WORDS = signature(parametrize_with_checks).parameters
STRICT = {"xfail_strict": True} if "xfail_strict" in WORDS else {}
DEPENDENT = "15 points in 30 features: features depend on others, and the formulation refuses that"
NO_NU = "the labels have no structure: 0.4 is outside of [nu_min, nu_max], and refused"
NU = 0.4
ABOVE = "nu is above the nu_max that weights of 1000 and 0.0001 leave, and refused"
NU_SVC = tm.FormulationClassifier("nu_svc", nu=NU)
OF_NU = """
    class_weight_classifiers classifier_data_not_an_array dtype_object estimator_sparse_array
    estimator_sparse_matrix estimator_sparse_tag estimators_dtypes estimators_nan_inf
    fit_check_is_fitted fit_idempotent fit_score_takes_y n_features_in
    n_features_in_after_fitting sample_weight_equivalence_on_dense_data
    sample_weight_equivalence_on_sparse_data sample_weights_list sample_weights_not_an_array
    sample_weights_pandas_series supervised_y_2d
"""
EXPECTED: dict[str, dict[str, str]] = {
    "nu_svc": {f"check_{name}": NO_NU for name in OF_NU.split()},
    "extended_nu_svc": {
        "check_sample_weight_equivalence_on_dense_data": DEPENDENT,
        "check_sample_weight_equivalence_on_sparse_data": DEPENDENT,
        "check_class_weight_classifiers": ABOVE,
    },
}

if not STRICT:
    # The check makes two labels of three by the first point, once before and once after a shuffle.
    OTHER = dict.fromkeys(
        (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")),
        "the check of this scikit-learn gives its two fits other labels",
    )
    EXPECTED |= {"c_svc": OTHER, "kernel_soft_margin_svc": OTHER}


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        tm.FormulationClassifier(C=1),
        tm.FormulationClassifier("multiclass_hinge", ridge=0.1),
        tm.FormulationClassifier(
            "kernel_soft_margin_svc", ridge=0.1, kernel="rbf", width=0.5, uncertified="ignore"
        ),
        # Feasible for all these labels.
        *([tm.FormulationClassifier("extended_nu_svc", nu=0.05), NU_SVC] if FULL else []),
    ],
    expected_failed_checks=lambda estimator: EXPECTED.get(estimator.formulation, {}),
    **STRICT,
)
def test_scikit_learn_takes_it_for_one_of_its_own(
    estimator: Any, check: Callable[[Any], None]
) -> None:
    check(estimator)
