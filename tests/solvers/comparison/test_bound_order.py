"""An incumbent that lies makes no M valid, and so no bound."""

from __future__ import annotations

import numpy as np
import pytest

from tests.inside.solvers import zero_one_incumbent
from tests.references.reference_solutions import points, zero_one_optimum
from tightmargin.formulations import zero_one_big_m, zero_one_relaxed
from tightmargin.solvers import solve


def test_a_lying_incumbent_cannot_make_m_valid() -> None:
    """A stated hyperplane is re-evaluated: what it claims to reach does not matter."""
    data, penalty = points("overlapping", 2, n=10), 1.5
    best = zero_one_optimum(data, "penalised", penalty)
    honest = zero_one_incumbent(data, penalty=penalty, intercept="penalised")
    good = zero_one_big_m(data, penalty=penalty, big_m="derived", incumbent=(honest.w, honest.b))
    small = 0.5 * good.big_m_proof.values
    for w, b in [(np.zeros(2), 0.0), (1e-9 * honest.w, 0.0), (1e6 * honest.w, honest.b)]:
        model = zero_one_big_m(data, penalty=penalty, big_m="derived", incumbent=(w, b))
        # The true objective of the hyperplane, or a trivial point's: never less than the optimum.
        assert model.big_m_proof.upper_bound >= best - 1e-6
        assert (model.big_m_proof.values >= good.big_m_proof.values).all()
        # Numbers below what is proven stay flagged whatever incumbent is stated beside them.
        result = solve(zero_one_relaxed(data, penalty=penalty, big_m=small, incumbent=(w, b)))
        assert "below the proven value" in result.certificate.unproven
    for w, b in ((np.zeros(3), 0.0), (np.full(2, np.nan), 0.0), (np.zeros(2), np.inf)):
        with pytest.raises(ValueError, match=r"incumbent must be \(w, b\)|must be finite"):
            zero_one_big_m(data, penalty=penalty, big_m="derived", incumbent=(w, b))
