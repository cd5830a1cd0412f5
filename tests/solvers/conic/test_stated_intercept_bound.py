"""A bound on the intercept that is stated, and below what is proven, belongs to the model."""

from __future__ import annotations

import numpy as np
import pytest

import tightmargin as tm
from tightmargin.solvers import Verdict


@pytest.mark.parametrize(("n", "bound"), [(150, 3.0), (60, 0.25)])
def test_the_forms_of_one_relaxation_are_certified_and_agree(n: int, bound: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1, -1)
    data = tm.TrainingData(X, y)
    results = [
        tm.solve(build(data, penalty=40.0, intercept="free", intercept_bound=bound), "clarabel")
        for build in (tm.conic_sdp, tm.conic_sdp_literal, tm.conic_sdp_eliminated)
    ]
    assert {r.certificate.verdict for r in results} == {Verdict.CERTIFIED}
    assert max(r.bound for r in results) <= min(r.certificate.upper for r in results)
    assert results[0].objective == pytest.approx(results[2].objective, rel=2e-6)
