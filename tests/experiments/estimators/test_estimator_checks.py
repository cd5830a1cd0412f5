"""scikit-learn's own checks of the estimator, and each expected failure with its reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

import tightmargin as tm
from tests.support.covering import FULL

DEPENDENT = "15 points in 30 features: features depend on others, and the formulation refuses that"
ABOVE = "nu is above the nu_max that weights of 1000 and 0.0001 leave, and refused"
EXPECTED: dict[str, dict[str, str]] = {
    "extended_nu_svc": dict.fromkeys(
        [
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ],
        DEPENDENT,
    )
    | {"check_class_weight_classifiers": ABOVE},
}


def expected_failures(estimator: Any) -> dict[str, str]:
    return EXPECTED.get(estimator.formulation, {})


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        tm.FormulationClassifier(C=1),
        tm.FormulationClassifier("multiclass_hinge", ridge=0.1),
        tm.FormulationClassifier(
            "kernel_soft_margin_svc", ridge=0.1, kernel="rbf", width=0.5, uncertified="ignore"
        ),
        # Feasible for all these labels.
        *([tm.FormulationClassifier("extended_nu_svc", nu=0.05)] if FULL else []),
    ],
    expected_failed_checks=expected_failures,
    xfail_strict=True,
)
def test_scikit_learn_takes_it_for_one_of_its_own(
    estimator: Any, check: Callable[[Any], None]
) -> None:
    check(estimator)
