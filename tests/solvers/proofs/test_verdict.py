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

CERTIFIED, NOT_CERTIFIED = Verdict.CERTIFIED, Verdict.NOT_CERTIFIED
WITHIN_TOLERANCE = Verdict.WITHIN_TOLERANCE


def bound(varying: float, subject: object = "model") -> LowerBound:
    return LowerBound(subject=subject, words="", seal=SEAL, varying=varying)


def point(varying: float, eps: float = 0.0, subject: object = "model") -> FeasiblePoint:
    return FeasiblePoint(
        subject=subject, words="", seal=SEAL, varying=varying, x=np.zeros(1), eps=eps, worst="row"
    )


def test_a_proof_cannot_be_altered() -> None:
    made = bound(1.0)
    with pytest.raises(ValueError, match="InitVar 'seal'"):
        replace(made, varying=2.0)
    with pytest.raises(AttributeError):
        made.varying = 2.0  # type: ignore[misc]


def test_a_proof_travels_between_processes_as_it_is() -> None:
    for other in (copy.copy(bound(1.0)), pickle.loads(pickle.dumps(bound(1.0)))):
        assert isinstance(other, Proof)
        assert judged(point(1.0), other).verdict is CERTIFIED


@pytest.mark.parametrize(
    ("varying", "eps", "below", "verdict", "words"),
    [
        (1.0, 0.0, 2.0**-20, CERTIFIED, ""),
        (1.0, 0.0, 1.1e-6, NOT_CERTIFIED, "gap"),
        # The unit is the larger of both ends, and nothing else.
        (1e-9, 0.0, 2e-15, NOT_CERTIFIED, "gap"),
        (1e-9, 0.0, 0.9e-15, CERTIFIED, ""),
        (-1e9, 0.0, 999.0, CERTIFIED, ""),
        (0.0, 0.0, 0.0, CERTIFIED, ""),
        (0.0, 0.0, 1e-300, NOT_CERTIFIED, "gap"),
        # A point off its rows is within tolerance at best, and a little below a bound at most.
        (1.0, 1e-9, 0.0, WITHIN_TOLERANCE, ""),
        (1.0, 2e-9, 0.0, NOT_CERTIFIED, "row is missed by 2.00e-09"),
        (1 - 1e-8, 1e-9, -1e-8, WITHIN_TOLERANCE, ""),
        (0.9, 1e-9, -0.1, NOT_CERTIFIED, "below every feasible one"),
        (1.0, 0.0, -1e-9, NOT_CERTIFIED, "a proof is wrong"),
    ],
)
def test_a_verdict_follows_from_a_point_and_a_bound(
    varying: float, eps: float, below: float, verdict: Verdict, words: str
) -> None:
    found = judged(point(varying, eps), bound(varying - below))
    assert found.verdict is verdict
    assert words in found.reason
    if below > 0:
        assert found.gap == pytest.approx(below / found.unit, rel=1e-6, abs=0)
        assert found.unit == max(abs(varying), abs(varying - below))


def test_what_the_caller_allows_or_what_is_missing() -> None:
    assert judged(point(0.0), bound(-1e-9), absolute_gap=1e-8).verdict is CERTIFIED
    for value in (math.nan, math.inf):
        assert judged(point(value), bound(1.0), absolute_gap=math.inf).verdict is NOT_CERTIFIED
    for found, words in ((judged(point(1.0), None), "bound"), (judged(None, bound(1.0)), "point")):
        assert found.verdict is NOT_CERTIFIED
        assert words in found.reason


def test_no_optimum() -> None:
    nowhere = Infeasible(subject="model", words="", seal=SEAL)
    assert judged_without_optimum(nowhere).verdict is CERTIFIED
    for eps, verdict in ((0.0, CERTIFIED), (1e-10, WITHIN_TOLERANCE), (1e-6, NOT_CERTIFIED)):
        x, ray = np.zeros(1), np.ones(1)
        falls = Unbounded(subject="model", words="", seal=SEAL, x=x, ray=ray, eps=eps)
        assert judged_without_optimum(falls).verdict is verdict


def test_together_the_weakest_counts() -> None:
    best_first = list(Verdict)
    for one, other in itertools.product(best_first, repeat=2):
        expected = best_first[max(best_first.index(one), best_first.index(other))]
        assert weakest([one, str(other)]) is expected
    assert weakest([]) is Verdict.NOT_CERTIFIED
