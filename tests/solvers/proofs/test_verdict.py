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


def bound(varying: float, subject: object = "model") -> LowerBound:
    return LowerBound(subject=subject, words="", seal=SEAL, varying=varying)


def point(varying: float, eps: float = 0.0, subject: object = "model") -> FeasiblePoint:
    return FeasiblePoint(
        subject=subject, words="", seal=SEAL, varying=varying, x=np.zeros(1), eps=eps, worst="row"
    )


@pytest.mark.parametrize(
    ("numbers", "size", "closed"),
    [
        ((3.0, 2.0), 3.0, False),
        ((3.0, 2.0, 1.0), 2.0, False),
        ((1e13 + 2, 1e13 + 1, 1e13), 2.0, False),  # a constant of the user's
        ((2.0, 1.0, 3e13), 2.0, False),  # one that squares leave
        ((-2.0, -3.0, 1e13), 3.0, False),
        # A unit of 0 asks for equal numbers.
        ((0.0, 0.0), 0.0, True),
        ((5.0, 5.0, 5.0), 0.0, True),
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
        ((math.nan, 1.0), math.inf, False),
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
    assert found.contradiction is (below < 0 and verdict is NOT_CERTIFIED)
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


def test_ties_are_closed_and_what_is_beyond_them_is_not() -> None:
    share = 2.0**-20  # of 1, which is the larger end in each row

    def at(alpha: float, beta: float, eps: float = 0.0, absolute: float = 0.0) -> Verdict:
        ends = point(alpha, eps), bound(beta)
        return judged(*ends, tolerance=share, absolute_gap=absolute).verdict

    below, beyond = 1.0 - share, math.nextafter(1.0 - share, 0.0)
    assert [at(1.0, below), at(1.0, beyond)] == [CERTIFIED, NOT_CERTIFIED]
    assert [at(below, 1.0, 1e-9), at(beyond, 1.0, 1e-9)] == [WITHIN_TOLERANCE, NOT_CERTIFIED]
    assert [at(1.0, 0.5, absolute=0.5), at(1.0, 0.5, absolute=0.49)] == [CERTIFIED, NOT_CERTIFIED]
    assert [at(1.0, 1.0), at(below, 1.0)] == [CERTIFIED, NOT_CERTIFIED]
    assert [at(1.0, 1.0, 1e-9), at(1.0, 1.0, 1.1e-9)] == [WITHIN_TOLERANCE, NOT_CERTIFIED]


def test_no_optimum() -> None:
    nowhere = Infeasible(subject="model", words="", seal=SEAL)
    assert judged_without_optimum(nowhere).verdict is CERTIFIED
    for eps, verdict in ((0.0, CERTIFIED), (1e-9, WITHIN_TOLERANCE), (1.1e-9, NOT_CERTIFIED)):
        x, ray = np.zeros(1), np.ones(1)
        falls = Unbounded(subject="model", words="", seal=SEAL, x=x, ray=ray, eps=eps)
        assert judged_without_optimum(falls).verdict is verdict


def test_together_the_weakest_counts() -> None:
    best_first = list(Verdict)
    for one, other in itertools.product(best_first, repeat=2):
        expected = best_first[max(best_first.index(one), best_first.index(other))]
        assert weakest([one, str(other)]) is expected
    assert weakest([]) is Verdict.NOT_CERTIFIED
