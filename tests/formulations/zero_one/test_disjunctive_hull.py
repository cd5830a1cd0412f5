"""The hull of every choice of the disjunctive 0-1 loss, with the norm inside and outside."""

from __future__ import annotations

import pytest

from tests.references.disjunctive_hull import disjunctive_hull
from tests.references.reference_solutions import INTERCEPTS, points
from tests.support.certified import proven
from tightmargin.formulations import zero_one_disjunctive_relaxed


@pytest.mark.parametrize("mode", INTERCEPTS)
@pytest.mark.parametrize("norm", ["disjuncts", "objective"])
def test_the_value_is_that_of_the_hulls_written_out(mode: str, norm: str) -> None:
    data = points("overlapping", 1, n=7)
    result = proven(zero_one_disjunctive_relaxed(data, penalty=1.5, intercept=mode, norm=norm))
    expected = disjunctive_hull(data, mode, 1.5, inside=norm == "disjuncts")
    assert result.objective == pytest.approx(expected, rel=2e-6)
