"""Support vectors of the duals of c_svc and soft_margin_svc, against LIBSVM's, and tiny balls."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.svm import SVC

import tightmargin as tm
from tests.inside.formulations import gram_data
from tests.references.reference_solutions import points
from tightmargin.solvers import Verdict


def counted(model: Any) -> Any:
    # One optimum is 2e-8, beside curvature of 3e8.
    found = tm.solve(model, "clarabel", absolute_gap=1e-11)
    assert found.certificate.verdict is Verdict.CERTIFIED
    return found.certificate.facts["support_vectors"]


@pytest.mark.parametrize(
    ("kind", "seed", "n", "C", "width"),
    [
        ("overlapping", 5, 40, 0.7, 0.6),  # an interior-point solver leaves 1.1e-6 C at one point
        ("overlapping", 4, 40, 10.0, 2.0),  # the least multiplier of a support vector is 7e-5 C
        ("separable", 5, 30, 1e7, 0.6),  # every multiplier is below 1e-6 C
    ],
)
def test_a_dual_has_as_many_support_vectors_as_libsvm(
    kind: str, seed: int, n: int, C: float, width: float
) -> None:
    data = gram_data(points(kind, seed, n=n), kernel="rbf", width=width)
    machine = SVC(C=C, kernel="precomputed", tol=1e-12).fit(data.gram, data.y)
    assert 0 < len(machine.support_) < data.n
    assert counted(tm.c_svc_dual(data, C=C)) == len(machine.support_)
    ridge = 1 / (2 * data.n * C)
    assert counted(tm.soft_margin_svc_dual(data, ridge=ridge)) == len(machine.support_)
