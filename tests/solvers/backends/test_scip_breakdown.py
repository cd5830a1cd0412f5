"""SCIP that gives up ends one solve with a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.solvers import scip
from tightmargin.formulations import TrainingData
from tightmargin.solvers import Status, Verdict

DATA = TrainingData(np.array([[0.0, 1.0], [1.0, 0.5], [2.0, -1.0]]), np.array([1.0, -1.0, 1.0]))


def raising(error: BaseException) -> Any:
    def supervised(*args: Any, **words: Any) -> Any:
        raise error

    return supervised


def model() -> Any:
    return tm.build("zero_one_big_m", DATA, penalty=1.0, big_m="derived")


def test_a_breakdown_is_an_error_of_the_solver_with_its_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scip, "supervised", raising(Exception("SCIP: error in LP solver!")))
    result = tm.solve(model(), "scip")
    assert result.status is Status.ERROR
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert result.objective is None
    assert "broke down: SCIP: error in LP solver!" in result.message
    assert result.version.startswith(("9.", "10.", "11."))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("SCIP: else"), Exception("x")])
def test_nothing_else_is_taken_for_a_breakdown(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scip, "supervised", raising(error))
    with pytest.raises(type(error)):
        tm.solve(model(), "scip")
