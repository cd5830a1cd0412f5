"""Proofs are made by the kernel alone, and the verdict follows from them alone."""

import copy
import itertools
import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tests.inside.solvers import (
    SEAL,
    FeasiblePoint,
    Infeasible,
    LowerBound,
    Unbounded,
    closes,
    judged,
    judged_without_optimum,
    unit,
    weakest,
)
from tests.inside.solvers import StatementProof as Proof
from tightmargin.solvers import Verdict

CERTIFIED, NOT_CERTIFIED = Verdict.CERTIFIED, Verdict.NOT_CERTIFIED
WITHIN_TOLERANCE = Verdict.WITHIN_TOLERANCE
SHARE = Fraction(1e-6)  # the double that a gap is compared with
TINY = Fraction(1, 10**40)
BIG = Fraction(10) ** 20  # of which a double loses every 1


def bound(varying: float) -> LowerBound:
    return LowerBound(subject="model", words="", seal=SEAL, varying=varying)


def point(varying: float, eps: float = 0.0) -> FeasiblePoint:
    return FeasiblePoint(
        subject="model", words="", seal=SEAL, varying=varying, x=np.zeros(1), eps=eps, worst="row"
    )


@pytest.mark.parametrize(
    ("numbers", "size", "closed"),
    [
        ((3.0, 2.0, 1.0), 2.0, False),
        ((1e13 + 2, 1e13 + 1, 1e13), 2.0, False),  # a constant of the user's
        # A unit of 0 asks for equal numbers.
        ((0.0, 0.0), 0.0, True),
        ((TINY, 0, TINY), 1e-40, False),
        # Ties are closed, from either side, and what is beyond them by anything is not.
        ((1, 1 - SHARE), 1.0, True),
        ((1 - SHARE, 1), 1.0, True),
        ((1, 1 - SHARE - TINY), 1.0, False),
        ((1 - SHARE - TINY, 1), 1.0, False),
        ((-1, -1 + SHARE), 1.0, True),
        ((BIG + 1, BIG + 1 - SHARE, BIG), 1.0, True),
        ((BIG + 1, BIG + 1 - SHARE - TINY, BIG), 1.0, False),
        ((math.inf, 1.0), math.inf, False),
        ((1.0, -math.inf), math.inf, False),
        ((1.0, math.nan), math.inf, False),
    ],
)
def test_the_unit_is_the_smaller_one_of_both_and_ends_are_compared_exactly(
    numbers: tuple[float | Fraction, ...], size: float, closed: bool
) -> None:
    assert unit(*numbers) == size
    assert closes(*numbers) is closed
    assert closes(numbers[0], None) is False


def test_a_proof_cannot_be_altered() -> None:
    made = bound(1.0)
    with pytest.raises(ValueError, match="InitVar 'seal'"):
        replace(made, varying=2.0)
    with pytest.raises(AttributeError):
        made.varying = 2.0  # type: ignore[misc]
    for other in (copy.copy(made), pickle.loads(pickle.dumps(made))):
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
        (1 - 2.0**-20, 1e-9, -(2.0**-20), WITHIN_TOLERANCE, ""),
        (1.0, 1.1e-9, 0.0, NOT_CERTIFIED, "row is missed by 1.10e-09"),
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
    assert found.contradiction is (below < 0 and verdict is NOT_CERTIFIED)
    if below > 0:
        assert found.gap == pytest.approx(below / found.unit, rel=1e-6, abs=0)
        assert found.unit == max(abs(varying), abs(varying - below))


def test_what_the_caller_allows_or_what_is_missing() -> None:
    for beta, absolute, verdict in ((0.5, 0.5, CERTIFIED), (0.5, 0.49, NOT_CERTIFIED)):
        assert judged(point(1.0), bound(beta), absolute_gap=absolute).verdict is verdict
    share = 2.0**-20  # of 1, the larger end
    for beta, verdict in ((1 - share, CERTIFIED), (math.nextafter(1 - share, 0), NOT_CERTIFIED)):
        assert judged(point(1.0), bound(beta), tolerance=share).verdict is verdict
    for value in (math.nan, math.inf):
        assert judged(point(value), bound(1.0), absolute_gap=math.inf).verdict is NOT_CERTIFIED
    for found, words in ((judged(point(1.0), None), "bound"), (judged(None, bound(1.0)), "point")):
        assert found.verdict is NOT_CERTIFIED
        assert words in found.reason


def test_no_optimum_and_several_verdicts() -> None:
    nowhere = Infeasible(subject="model", words="", seal=SEAL)
    assert judged_without_optimum(nowhere).verdict is CERTIFIED
    for eps, verdict in ((0.0, CERTIFIED), (1e-9, WITHIN_TOLERANCE), (1.1e-9, NOT_CERTIFIED)):
        x, ray = np.zeros(1), np.ones(1)
        falls = Unbounded(subject="model", words="", seal=SEAL, x=x, ray=ray, eps=eps)
        assert judged_without_optimum(falls).verdict is verdict
    best_first = list(Verdict)
    for i, j in itertools.product(range(len(best_first)), repeat=2):
        assert weakest([best_first[i], str(best_first[j])]) is best_first[max(i, j)]
    assert weakest([]) is NOT_CERTIFIED
