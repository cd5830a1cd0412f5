"""What a proven bound that meets a point within tolerance counts as, wherever verdicts are read."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest

from tests.inside.experiments import (
    Row,
    UncertifiedError,
    UncertifiedWarning,
    explain,
    judge,
    options,
)
from tests.inside.experiments import judged as exit_code_of
from tests.inside.formulations import Lemma
from tests.inside.solvers import (
    FeasiblePoint,
    LowerBound,
    PathResult,
    Proven,
    by_lemma,
    exact_remark,
    point_by_formula,
)
from tightmargin.formulations import TrainingData, c_svc
from tightmargin.solvers import SolveResult, Verdict, solve


@dataclass(frozen=True, eq=False)
class OneRow(Proven):
    H: float
    objective: float
    attained: FeasiblePoint
    below: LowerBound | None
    stop: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class OnePath(PathResult[OneRow]):
    rows: tuple[OneRow, ...]
    not_reached: tuple[float, ...] = ()
    parameter = "H"


def row(bound: float, eps: float) -> OneRow:
    worst = "norm" if eps else ""
    attained = point_by_formula("it", 2.0, 0.0, "for a test", eps=eps, worst=worst)
    lemma = Lemma(bound, "for a test", {"said": True})
    return OneRow(1.0, 2.0, attained, by_lemma("it", lemma))


EXACT, NEAR, OPEN = row(2.0, 0.0), row(2.0, 1e-11), row(1.0, 0.0)


def result(verdict: Verdict) -> SolveResult:
    """A solved model whose certificate is put in the place of its own."""
    data = TrainingData([[1.0], [2.0], [-1.0], [0.5]], [1, 1, -1, -1])
    found = solve(c_svc(data, C=1.0))
    reason = "" if verdict is Verdict.CERTIFIED else "norm is missed by 1e-11"
    certificate = replace(found.certificate, verdict=verdict, reason=reason)
    return replace(found, certificate=certificate)


def test_a_path_is_certified_where_every_row_is(capsys: pytest.CaptureFixture[str]) -> None:
    """One within tolerance is a success with a sentence."""
    for rows, verdict, code in (
        ((EXACT,), Verdict.CERTIFIED, 0),
        ((EXACT, EXACT), Verdict.CERTIFIED, 0),
        ((EXACT, NEAR), Verdict.WITHIN_TOLERANCE, 0),
        ((NEAR, OPEN), Verdict.NOT_CERTIFIED, 1),
    ):
        path = OnePath(rows)
        assert rows[-1].verdict is path.verdict is verdict
        assert path.certified == (verdict is Verdict.CERTIFIED)
        assert exit_code_of("it", path) == code
        told = capsys.readouterr().err
        assert (str(verdict) in told) == bool(told) == (not path.certified)
    assert not OnePath((EXACT,), not_reached=(2.0,)).certified
    frame = OnePath((EXACT, NEAR)).to_frame()
    assert frame["verdict"].tolist() == ["CERTIFIED", "WITHIN_TOLERANCE"]
    assert (frame["bound"] == 2.0).all()
    assert (frame["upper"] == 2.0).all()
    assert not {"attained", "below"} & set(frame.columns)


def test_a_result_within_tolerance_is_a_success_with_a_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for verdict, code in (
        (Verdict.CERTIFIED, 0),
        (Verdict.WITHIN_TOLERANCE, 0),
        (Verdict.NOT_CERTIFIED, 1),
    ):
        found = result(verdict)
        assert options.exit_code(found) == code
        explain(found)
        assert (str(verdict) in capsys.readouterr().err) == (verdict is not Verdict.CERTIFIED)
        assert exact_remark(found).startswith(f"{verdict} (")


def test_an_estimator_that_raises_only_warns_of_it() -> None:
    near = result(Verdict.WITHIN_TOLERANCE)
    for word in ("warn", "raise"):
        with pytest.warns(UncertifiedWarning, match="WITHIN_TOLERANCE"):
            judge(near, word)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judge(near, "ignore")
        judge(result(Verdict.CERTIFIED), "raise")
    with pytest.raises(UncertifiedError):
        judge(result(Verdict.NOT_CERTIFIED), "raise")


def test_a_row_of_runs_has_the_weakest_verdict_and_needs_one() -> None:
    for proofs, verdict in (
        (["CERTIFIED", Verdict.CERTIFIED], Verdict.CERTIFIED),
        (["CERTIFIED", "WITHIN_TOLERANCE"], Verdict.WITHIN_TOLERANCE),
        ([True, "CERTIFIED"], Verdict.CERTIFIED),
        ([False, "CERTIFIED"], Verdict.NOT_CERTIFIED),
        ([True, True], Verdict.NOT_CERTIFIED),  # conditions alone are no proof
        (["SOLVER_BOUND", "WITHIN_TOLERANCE"], Verdict.SOLVER_BOUND),
    ):
        assert Row.of_runs(("it",), {}, [None, 1e-9], proofs).verdict is verdict
    assert np.isclose(Row.of_runs(("it",), {}, [None, 1e-9], ["CERTIFIED"]).relative_gap or 0, 1e-9)
