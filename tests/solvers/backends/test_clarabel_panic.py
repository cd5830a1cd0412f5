"""A breakdown inside Clarabel's own code ends one solve with a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tightmargin as tm
from tests.inside.solvers import clarabel
from tests.support.semidefinite_models import max_cut
from tightmargin.formulations import TrainingData
from tightmargin.solvers import Status, Verdict

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


def test_where_merging_cliques_breaks_down_they_are_not_merged() -> None:
    """On this pattern the merge of Clarabel 0.11 indexes beyond its end, before any iteration."""
    result = tm.solve(max_cut(230, 1), live=False)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.solver == "clarabel"


def test_auto_asks_the_next_solver_where_one_broke_down(monkeypatch: pytest.MonkeyPatch) -> None:
    panic = type("PanicException", (BaseException,), {})("Eigval error")
    monkeypatch.setattr(clarabel, "supervised", raising(panic))
    result = tm.solve(max_cut(3, 0), live=False)
    assert result.solver == "scs"
    assert "clarabel broke down: Eigval error" in result.message
    # A graph without odd cycles: the bound is the cut of all its edges, two here.
    assert result.objective == pytest.approx(2.0, abs=1e-6)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("else")])
def test_nothing_else_is_taken_for_a_panic(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clarabel, "supervised", raising(error))
    with pytest.raises(type(error)):
        tm.solve(tm.conic_sdp(DATA, penalty=1.0), "clarabel")
