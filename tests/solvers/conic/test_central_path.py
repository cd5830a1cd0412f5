"""The end of the central path of the SDP, and proof files from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.solvers import (
    Case,
    NotProvenError,
    Subject,
    central_point,
    standard_form,
    without_quotients,
    write_proof,
)
from tests.inside.solvers import conic_document as document
from tests.support.covering import covering
from tightmargin.formulations import TrainingData
from tightmargin.solvers import Verdict


def test_points_without_a_size_have_no_path() -> None:
    assert central_point(np.zeros((3, 2)), np.array([1.0, -1.0, 1.0]), 1.0) is None
    assert central_point(np.ones((2, 1)), np.array([1.0, -1.0]), 1.0, bound_on_b=0.0) is None


def test_forms_with_a_bound_on_b_below_the_proven_one_are_certified_and_agree() -> None:
    """A bound that is stated belongs to the model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    data = TrainingData(X, np.where(X[:, 0] + rng.normal(size=60) > 0, 1, -1))
    results = [
        tm.solve(build(data, penalty=40.0, intercept="free", intercept_bound=0.25), "clarabel")
        for build in (tm.conic_sdp, tm.conic_sdp_literal, tm.conic_sdp_eliminated)
    ]
    assert {r.certificate.verdict for r in results} == {Verdict.CERTIFIED}
    assert max(r.bound for r in results) <= min(r.certificate.upper for r in results)
    assert results[0].objective == pytest.approx(results[2].objective, rel=2e-6)


def solved(entry: str, intercept: str, penalty: float) -> tuple[Case, Any]:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(14, 3))
    y = np.where(X[:, 0] + rng.normal(size=14) > 0, 1, -1)
    limit = {"intercept_bound": 1.5} if intercept == "free" else {}
    model = tm.build(entry, tm.TrainingData(X, y), penalty=penalty, intercept=intercept, **limit)
    result = tm.solve(model, "clarabel")
    ready = without_quotients(model)
    return Case(ready, Subject(standard_form(ready)), model.origin), result


@pytest.mark.parametrize(
    ("entry", "intercept", "penalty"),
    covering(document.ENTRIES, ["free", "penalised", "none"], [0.1, 30.0]),
)
def test_a_result_without_multipliers_is_proven_by_those_of_the_path(
    entry: str, intercept: str, penalty: float, tmp_path: Path
) -> None:
    case, result = solved(entry, intercept, penalty)
    proof = write_proof(tmp_path / "proof.json", case, replace(result, duals={}))
    # The interval of the kernel and that of the checker hold the same optimum.
    assert float(proof.lower) <= result.certificate.upper
    assert result.certificate.bound <= float(proof.upper)
    assert float(proof.upper - proof.lower) <= 1e-6 * float(proof.upper)


def test_too_many_points_are_refused_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    case, result = solved("conic_sdp", "penalised", 1.0)
    monkeypatch.setattr(document, "POINT_LIMIT", 10)
    with pytest.raises(NotProvenError, match="10 points are the most"):
        document.sdp_document(case, result, None)
