"""Proof files of the SDP relaxation from the end of the central path, whatever a solver left."""

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
    standard_form,
    without_quotients,
    write_proof,
)
from tests.inside.solvers import conic_document as document
from tests.support.covering import covering


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
