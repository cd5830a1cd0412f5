"""Rows 16 and 17: a solver that gave up enters no gap, nor one that sees no endless descent."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

import tightmargin as tm
from tests.inside.solvers import Limits, classify, highs, standard_form
from tests.references.reference_solutions import points
from tightmargin.solvers import Status, Verdict

EARLY = {"max_iter": 4}


def test_row_16_an_early_end_is_inaccurate_and_has_no_gap() -> None:
    data = points("overlapping", 2, n=10)
    result = tm.solve(tm.conic_sdp_dual(data, penalty=1.0), "clarabel", options=EARLY)
    assert result.status is Status.INACCURATE
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert result.certificate.reason
    if result.bound is not None:
        truth = tm.solve(tm.conic_sdp_dual(data, penalty=1.0)).objective
        assert result.bound <= truth + 1e-6, "what was proven on the way still holds"
    exact = tm.solve(tm.build("zero_one_big_m", data, penalty=1.0, big_m="derived"))
    words: dict[str, Any] = {"exact": exact, "parameters": {"penalty": 1.0}, "solver": "clarabel"}
    good, bad = (
        tm.compare(data, ["conic_sdp"], **words, **how) for how in ({}, {"options": EARLY})
    )
    assert good.relative_gap(good.rows[0]) is not None
    assert bad.rows[0].status is Status.INACCURATE
    assert bad.rows[0].bound is None
    assert bad.absolute_gap(bad.rows[0]) is None
    frame = bad.to_frame()
    row = frame.loc[frame["formulation"] == "conic_sdp"].iloc[0]
    assert "NOT_CERTIFIED" in row["certificate"]
    assert np.isnan(row["relative gap"])


# --- row 17: what has no least point: tests/faults/test_estimator_rows.py has the proofs --------


def _rewarded_intercept() -> pyo.ConcreteModel:
    m = tm.hard_margin_svc(points("separable", 1, n=8))
    m.margin.deactivate()
    m.objective.expr = m.objective.expr + m.b
    return m


def test_row_17_highs_is_not_believed_where_it_calls_an_endless_model_optimal() -> None:
    """Of this quadratic program it says so at a point where a variable is 1e7."""
    form = standard_form(_rewarded_intercept())
    claim = highs.run(form, classify(form), Limits())
    assert claim.status is Status.OPTIMAL, "the fault is gone"
    result = tm.solve(_rewarded_intercept(), "highs")
    assert result.status in (Status.INACCURATE, Status.UNBOUNDED)
    assert result.bound is None
    if result.status is Status.INACCURATE:
        assert result.certificate.verdict is Verdict.NOT_CERTIFIED
        assert "stationarity of b" in result.certificate.reason
