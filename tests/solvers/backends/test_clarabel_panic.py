"""A breakdown inside Clarabel's own code ends one solve with a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.backends import clarabel
from tightmargin.solvers.proofs.verdict import Verdict
from tightmargin.solvers.result import Status

DATA = TrainingData(np.array([[0.0, 1.0], [1.0, 0.5], [2.0, -1.0]]), np.array([1.0, -1.0, 1.0]))


def raising(error: BaseException) -> Any:
    def supervised(*args: Any, **words: Any) -> Any:
        raise error

    return supervised


def test_a_panic_is_an_error_of_the_solver_with_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    panic = type("PanicException", (BaseException,), {})("Eigval error")
    monkeypatch.setattr(clarabel, "supervised", raising(panic))
    result = tm.solve(tm.conic_sdp(DATA, penalty=1.0), "clarabel")
    assert result.status is Status.ERROR
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert result.objective is None
    assert "broke down: Eigval error" in result.message


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("else")])
def test_nothing_else_is_taken_for_a_panic(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clarabel, "supervised", raising(error))
    with pytest.raises(type(error)):
        tm.solve(tm.conic_sdp(DATA, penalty=1.0), "clarabel")
