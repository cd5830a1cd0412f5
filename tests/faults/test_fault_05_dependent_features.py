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
from tests.support.covering import FULL
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import SolveResult, Verdict, build

N = 5
DATA = points("overlapping", 4, n=N)
SEPARABLE = points("separable", 4, n=N)
# Its v is a sum of points, and no w that gives every point the same score.
DUAL = "extended_nu_svc_dual"
PLAIN = [n for n in CATALOGUE if n == DUAL or ("extended" not in n and n != "min_cvar")]
# In its ball such a w is worth what w = 0 is, and an optimum of 0 has no w of its own.
IN_BALL = "extended_robust_svc"
EXTENDED = [name for name in CATALOGUE if name not in (*PLAIN, IN_BALL)]
# conic_fixed has no free intercept; the other two state the problem of zero_one_big_m.
SLOW = ("conic_fixed", "zero_one_bilinear", "zero_one_disjunctive")
FREE_B = [name for name in PLAIN if name not in SLOW] if FULL else [
    "c_svc", "hard_margin_svc_dual", "nu_svc", DUAL, "zero_one_big_m", "multiclass_hinge",
    "matrix_svc_full", "conic_sdp_dual",
]  # fmt: skip


def solved(name: str, data: tm.TrainingData, **changes: Any) -> SolveResult:
    chosen = valid(name, "free") | changes
    if "intercept_bound" in chosen and "penalty" in chosen:
        chosen["intercept_bound"] = 4.0
    # Some optima are 0, and the comparisons below allow more than this.
    return tm.solve(build(name, as_taken(name, data), **chosen), absolute_gap=1e-8)


def data_of(name: str) -> tm.TrainingData:
    return SEPARABLE if "margin_svc" in name and "soft" not in name else DATA


def with_column(data: tm.TrainingData, column: Any) -> tm.TrainingData:
    return tm.TrainingData(np.column_stack([data.X, column]), data.y)


@pytest.mark.parametrize("name", FREE_B)
def test_row_05_a_constant_feature_changes_no_optimum_beside_a_free_intercept(name: str) -> None:
    """Its weight only costs: whatever it does, b does for nothing. M and B are kept as they are."""
    plain = solved(name, data_of(name))
    changes = {"shape": "1x3"} if "shape" in CATALOGUE[name].parameters else {}
    with_constant = solved(name, with_column(data_of(name), np.full(N, 3.0)), **changes)
    if "conic" in name or name == "zero_one_disjunctive_relaxed":
        # The constant is one more way to move the intercept: weaker, and still a relaxation.
        assert with_constant.certificate.verdict is Verdict.CERTIFIED
        if "penalty" in CATALOGUE[name].parameters:
            value = -with_constant.objective if "dual" in name else with_constant.objective
            assert value <= zero_one_optima(DATA, [NUMBERS["penalty"]], "free")[0] + 1e-6
        return
    assert with_constant.objective == pytest.approx(plain.objective, rel=1e-6, abs=1e-7)
    if "w" in with_constant.values:
        assert with_constant.values["w"][-1] == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("name", EXTENDED)
def test_row_05_the_extended_family_refuses_by_name(name: str) -> None:
    """Its w has norm 1: along a direction that no point shows, that is for nothing."""
    with pytest.raises(ValueError, match=r"[Ff]eature.*orthonormal_reduction"):
        solved(name, with_column(DATA, DATA.X.sum(axis=1)))
