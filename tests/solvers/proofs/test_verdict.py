"""Proofs are made by the kernel alone, and the verdict follows from them alone."""

import copy
import itertools
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

from tests.inside.solvers import (
    SEAL,
    FeasiblePoint,
    Infeasible,
    LowerBound,
    Unbounded,
    judged,
    judged_without_optimum,
    weakest,
)
from tests.inside.solvers import StatementProof as Proof
from tightmargin.solvers import Verdict


def bound(varying: float, subject: object = "model") -> LowerBound:
    return LowerBound(subject=subject, words="", seal=SEAL, varying=varying)


def point(varying: float, eps: float = 0.0, subject: object = "model") -> FeasiblePoint:
    return FeasiblePoint(
        subject=subject, words="", seal=SEAL, varying=varying, x=np.zeros(1), eps=eps, worst="row"
    )


def test_nobody_else_makes_a_proof() -> None:
    with pytest.raises(TypeError, match="LowerBound is made by"):
        LowerBound(subject="model", words="believe me", seal=None, varying=1.0)
    with pytest.raises(TypeError, match="Infeasible is made by"):
        Infeasible(subject="model", words="believe me", seal="SEAL")


def test_a_proof_cannot_be_altered() -> None:
    made = bound(1.0)
    with pytest.raises(ValueError, match="InitVar 'seal'"):
        replace(made, varying=2.0)
    with pytest.raises(AttributeError):
        made.varying = 2.0  # type: ignore[misc]


def test_a_proof_travels_between_processes_as_it_is() -> None:
    for other in (copy.copy(bound(1.0)), pickle.loads(pickle.dumps(bound(1.0)))):
        assert isinstance(other, Proof)
        assert judged(point(1.0), other).verdict is Verdict.CERTIFIED


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_bound_is_a_number(value: float) -> None:
    with pytest.raises(ValueError, match="says nothing"):
        bound(value)


def test_an_exact_point_and_a_closed_gap_are_certified() -> None:
    found = judged(point(1.0), bound(1 - 2.0**-20))
    assert found.verdict is Verdict.CERTIFIED
    assert found.gap == 2.0**-20
    assert found.unit == 1.0


def test_the_unit_is_the_larger_of_both_and_nothing_else() -> None:
    assert judged(point(1e-9), bound(1e-9 - 2e-15)).verdict is Verdict.NOT_CERTIFIED
    assert judged(point(1e-9), bound(1e-9 - 0.9e-15)).verdict is Verdict.CERTIFIED
    assert judged(point(-1e9), bound(-1e9 - 999)).verdict is Verdict.CERTIFIED


def test_zero_is_certified_by_zero_alone_or_by_what_the_caller_allows() -> None:
    assert judged(point(0.0), bound(0.0)).verdict is Verdict.CERTIFIED
    assert judged(point(0.0), bound(-1e-300)).verdict is Verdict.NOT_CERTIFIED
    assert judged(point(0.0), bound(-1e-9), absolute_gap=1e-8).verdict is Verdict.CERTIFIED


def test_a_point_off_its_rows_is_within_tolerance_at_best() -> None:
    assert judged(point(1.0, eps=1e-9), bound(1.0)).verdict is Verdict.WITHIN_TOLERANCE
    far = judged(point(1.0, eps=2e-9), bound(1.0))
    assert far.verdict is Verdict.NOT_CERTIFIED
    assert "row is missed by 2.00e-09" in far.reason


def test_a_point_off_its_rows_may_lie_a_little_below_a_bound_and_no_more() -> None:
    assert judged(point(1 - 1e-8, eps=1e-9), bound(1.0)).verdict is Verdict.WITHIN_TOLERANCE
    low = judged(point(0.9, eps=1e-9), bound(1.0))
    assert low.verdict is Verdict.NOT_CERTIFIED
    assert "below every feasible one" in low.reason


def test_two_proofs_that_contradict_each_other_prove_nothing() -> None:
    found = judged(point(1.0), bound(1.0 + 1e-9))
    assert found.verdict is Verdict.NOT_CERTIFIED
    assert "a proof is wrong" in found.reason


@pytest.mark.parametrize("tolerance", [1.1e-6, 1.0, -1e-9, math.nan, math.inf])
def test_nobody_asks_for_less_than_certified_means(tolerance: float) -> None:
    with pytest.raises(ValueError, match="tolerance: a verdict allows 0 to 1e-06"):
        judged(point(1.0), bound(1.0), tolerance=tolerance)


def test_different_models_are_not_put_together() -> None:
    with pytest.raises(ValueError, match="different models"):
        judged(point(1.0, subject="edited"), bound(1.0, subject="built"))


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_an_objective_that_is_no_number_is_not_certified(value: float) -> None:
    assert judged(point(value), bound(1.0), absolute_gap=math.inf).verdict is Verdict.NOT_CERTIFIED


def test_without_one_of_the_two_nothing_is_certified() -> None:
    assert "bound" in judged(point(1.0), None).reason
    assert "point" in judged(None, bound(1.0)).reason


def test_no_optimum() -> None:
    nowhere = Infeasible(subject="model", words="", seal=SEAL)
    assert judged_without_optimum(nowhere).verdict is Verdict.CERTIFIED
    for eps, verdict in [
        (0.0, Verdict.CERTIFIED), (1e-10, Verdict.WITHIN_TOLERANCE), (1e-6, Verdict.NOT_CERTIFIED),
    ]:  # fmt: skip
        falls = Unbounded(
            subject="model", words="", seal=SEAL, x=np.zeros(1), ray=np.ones(1), eps=eps
        )
        assert judged_without_optimum(falls).verdict is verdict


def test_together_the_weakest_counts() -> None:
    best_first = list(Verdict)
    for one, other in itertools.product(best_first, repeat=2):
        expected = best_first[max(best_first.index(one), best_first.index(other))]
        assert weakest([one, str(other)]) is expected
    assert weakest([]) is Verdict.NOT_CERTIFIED
