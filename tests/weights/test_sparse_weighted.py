"""Sparse weighted points have the optima of dense points repeated."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import tightmargin as tm
from tests.inside.formulations import INTERCEPTS
from tests.support.covering import in_turn
from tightmargin.solvers import Verdict

ENTRIES: dict[str, dict[str, Any]] = {
    "c_svc": {"C": 1.0},
    "c_svc_dual": {"C": 1.0},
    "soft_margin_svc": {"ridge": 0.1},
    "soft_margin_svc_dual": {"ridge": 0.1},
    "weighted_svc": {"ridge": 0.1, "pi": 0.3},
    "nu_svc": {"nu": 0.4},
    "nu_svc_dual": {"nu": 0.4},
    "extended_nu_svc_dual": {"nu": 0.4},
    "reduced_hull_svc": {"hull_bound": 0.2},
    "rsvm": {"norm_bound": 1.0},
    "rsvm_relaxed": {},
}


def drawn() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)) * (rng.random((40, 6)) < 0.4)
    y = np.where(X[:, 0] + rng.normal(size=40) > 0, "b", "a")
    return X, y, rng.integers(0, 4, size=40)


@pytest.mark.parametrize(("entry", "intercept"), in_turn(ENTRIES, INTERCEPTS))
def test_whole_number_weights_of_sparse_points_repeat_them(entry: str, intercept: str) -> None:
    X, y, times = drawn()
    sparse = tm.TrainingData(sp.csr_matrix(X), y, sample_weight=times)
    again = np.repeat(np.arange(40), times)
    dense = tm.TrainingData(X[again], y[again])
    ours, repeated = (
        tm.solve(tm.build(entry, data, intercept=intercept, **ENTRIES[entry]))
        for data in (sparse, dense)
    )
    assert ours.certificate.verdict is Verdict.CERTIFIED
    assert ours.objective == pytest.approx(repeated.objective, rel=2e-6, abs=1e-9)
