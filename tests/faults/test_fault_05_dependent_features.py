"""Row 5: constant, repeated and collinear features change no optimum; w is the least of all.

tests/metamorphic adds columns to the data of every entry; tests/formulations/nu/test_extended.py
shows why its family refuses dependent features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.faults.settings import NUMBERS, as_taken, valid
from tests.references.brute_force import zero_one_optima
from tests.references.reference_solutions import points
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import SolveResult, Verdict, build

N = 5
DATA = points("overlapping", 4, n=N)
# The ball of the robust one makes such a w worth what w = 0 is; the dual has no w but its points.
EXEMPT = ("extended_robust_svc", "extended_nu_svc_dual")
EXTENDED = [n for n in CATALOGUE if ("extended" in n or n == "min_cvar") and n not in EXEMPT]


def solved(name: str, data: tm.TrainingData, **changes: Any) -> SolveResult:
    chosen = valid(name, "free") | changes
    if "intercept_bound" in chosen and "penalty" in chosen:
        chosen["intercept_bound"] = 4.0
    # Some optima are 0, and the comparisons below allow more than this.
    return tm.solve(build(name, as_taken(name, data), **chosen), absolute_gap=1e-8)


def with_column(column: Any) -> tm.TrainingData:
    return tm.TrainingData(np.column_stack([DATA.X, column]), DATA.y)


@pytest.mark.parametrize(
    "name", ["nu_svc", "extended_nu_svc_dual", "zero_one_big_m", "multiclass_hinge"]
)
def test_row_05_a_constant_feature_changes_no_optimum_beside_a_free_intercept(name: str) -> None:
    """Its weight only costs: whatever it does, b does for nothing. M is kept as it is."""
    plain, with_constant = solved(name, DATA), solved(name, with_column(np.full(N, 3.0)))
    assert with_constant.objective == pytest.approx(plain.objective, rel=1e-6, abs=1e-7)
    if "w" in with_constant.values:
        assert with_constant.values["w"][-1] == pytest.approx(0.0, abs=1e-4)


def test_row_05_the_constant_is_one_more_way_to_move_the_intercept_of_a_relaxation() -> None:
    found = solved("conic_sdp_dual", with_column(np.full(N, 3.0)))
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert -found.objective <= zero_one_optima(DATA, [NUMBERS["penalty"]], "free")[0] + 1e-6


@pytest.mark.parametrize("name", EXTENDED)
def test_row_05_the_extended_family_refuses_by_name(name: str) -> None:
    """Its w has norm 1: along a direction that no point shows, that is for nothing."""
    with pytest.raises(ValueError, match=r"[Ff]eature.*orthonormal_reduction"):
        solved(name, with_column(DATA.X.sum(axis=1)))
