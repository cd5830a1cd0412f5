"""Row 16: a solver that gave up close to the optimum has a status of its own and enters no gap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.references.reference_solutions import points
from tightmargin.solvers import Status, Verdict

DATA = points("overlapping", 2, n=10)
EARLY = {"max_iter": 4}


@pytest.mark.parametrize("build", [tm.conic_sdp, tm.conic_sdp_dual])
def test_row_16_an_early_end_is_inaccurate_and_says_by_how_much(build: Any) -> None:
    result = tm.solve(build(DATA, penalty=1.0), "clarabel", options=EARLY)
    assert result.status is Status.INACCURATE
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert result.certificate.reason
    if result.bound is not None:
        truth = tm.solve(build(DATA, penalty=1.0)).objective
        assert result.bound <= truth + 1e-6, "what was proven on the way still holds"


def test_row_16_the_row_is_marked_and_has_no_gap() -> None:
    exact = tm.solve(tm.build("zero_one_big_m", DATA, penalty=1.0, big_m="derived"))
    both = [
        tm.compare(
            DATA, ["conic_sdp"], exact=exact, parameters={"penalty": 1.0}, solver="clarabel", **how
        )
        for how in ({}, {"options": EARLY})
    ]
    (good,), (bad,) = (table.rows for table in both)
    assert both[0].relative_gap(good) is not None
    assert bad.status is Status.INACCURATE
    assert bad.bound is None
    assert both[1].absolute_gap(bad) is None
    assert both[1].relative_gap(bad) is None
    frame = both[1].to_frame()
    row = frame.loc[frame["formulation"] == "conic_sdp"].iloc[0]
    assert row["status"] == "inaccurate"
    assert "NOT_CERTIFIED" in row["certificate"]
    assert np.isnan(row["relative gap"])
