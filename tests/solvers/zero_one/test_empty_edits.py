"""Edits that no hyperplane meets, by the searches of the 0-1 loss."""

from __future__ import annotations

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tightmargin.solvers import Status, Verdict


@pytest.mark.parametrize("method", ["auto", "cone-search", "conflict-search"])
@pytest.mark.parametrize("rows", ["crossing", "small"])
def test_what_no_hyperplane_meets_is_told_and_auto_proves_it(method: str, rows: str) -> None:
    """Two rows that cross, and a count of errors that so small a w cannot have."""
    data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    m = tm.zero_one_big_m(data, penalty=1.0, big_m="derived", intercept="free")
    if rows == "crossing":
        m.steep = pyo.Constraint(expr=m.w[0] >= 1.0)
        m.flat = pyo.Constraint(expr=m.w[0] <= 0.5)
    else:
        m.few = pyo.Constraint(expr=sum(m.z.values()) <= 1)
        for variable in m.w.values():
            variable.setlb(-1e-3)
            variable.setub(1e-3)
    found = tm.solve(m, method=method, time_limit=20)
    assert found.objective is None
    if method == "auto":
        assert found.status is Status.INFEASIBLE
        # The count has no point only beside M, which was derived for larger w.
        closed = Verdict.CERTIFIED if rows == "crossing" else Verdict.NOT_CERTIFIED
        assert found.certificate.verdict is closed
    else:  # M may rest on what a search believes, so that it is told and no verdict
        assert found.certificate.verdict is Verdict.NOT_CERTIFIED
        assert 'method="auto" proves' in found.message


def test_a_large_w_is_no_reason_to_call_a_derived_m_infeasible() -> None:
    """M was derived for smaller w; the edited problem has points, and its M is raised for them."""
    data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    for method in ("auto", "cone-search", "conflict-search"):
        m = tm.zero_one_big_m(data, penalty=1.0, big_m="derived", intercept="free")
        m.far = pyo.Constraint(expr=m.w[0] >= 1e4)
        found = tm.solve(m, method=method, time_limit=20)
        assert found.status is not Status.INFEASIBLE, found.message
        assert found.objective is not None
