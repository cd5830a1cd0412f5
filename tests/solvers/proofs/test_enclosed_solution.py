"""Boxes around solutions beside the same systems in fractions, and bounds that rest on them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tests.inside.formulations import Array
from tests.inside.solvers import enclosed_solution
from tests.soundness.exact import fractions
from tests.soundness.exact import solution as in_fractions


def hilbert(k: int) -> Array:
    """Entries 1 / (i + j + 1), to the nearest doubles: nearly singular."""
    return 1 / (np.arange(k)[:, None] + np.arange(k) + 1.0)


def matrices() -> list[Array]:
    """Of several sizes, scales and conditions."""
    rng = np.random.default_rng(0)
    plain = [rng.normal(size=(k, k)) for k in (1, 2, 5, 12)]
    scaled = [2.0 ** rng.integers(-30, 30, size=(6, 1)) * rng.normal(size=(6, 6)) for _ in range(3)]
    wide = [rng.normal(size=(6, 6)) * 2.0 ** rng.integers(-30, 30, size=6) for _ in range(3)]
    whole = [rng.integers(-3, 4, size=(7, 7)) + 10.0 * np.eye(7)]
    return [*plain, *scaled, *wide, *whole, hilbert(4), hilbert(7)]


@pytest.mark.parametrize("matrix", matrices())
def test_the_box_holds_the_solution_of_every_right_side_and_is_narrow(matrix: Array) -> None:
    rng, k = np.random.default_rng(1), len(matrix)
    exact = [fractions(line) for line in matrix]
    right = [Fraction(float(b)) / 3 for b in rng.normal(size=k)]
    found = enclosed_solution(matrix, right, np.zeros(k))
    middle, radius = found
    for s, true, wide in zip(middle, in_fractions(exact, right), radius, strict=True):
        assert abs(Fraction(float(s)) - true) <= Fraction(float(wide))
    assert (radius <= 1e-14 * np.abs(middle).max()).all()
    spread = 10.0 ** rng.uniform(-12, 0, size=k)
    found = enclosed_solution(matrix, right, spread)
    middle, radius = found
    # The farthest solution of one entry: the signs of its row of the inverse.
    inverse = np.linalg.inv(matrix)
    for i in range(k):
        moved = [b + s for b, s in zip(right, fractions(np.sign(inverse[i]) * spread), strict=True)]
        far = in_fractions(exact, moved)[i] - Fraction(float(middle[i]))
        assert abs(far) <= Fraction(float(radius[i]))


def test_what_is_not_proven_to_be_regular_has_no_box() -> None:
    ones = np.ones((3, 3))
    nearly = np.eye(3) + 1e16 * ones
    far = np.diag([1.0, 1e80, 1.0])
    for matrix in (ones, nearly, far, hilbert(14), np.full((2, 2), np.nan)):
        right = [Fraction(1)] * len(matrix)
        assert enclosed_solution(matrix, right, np.zeros(len(matrix))) is None
    eye = np.eye(2)
    assert enclosed_solution(eye, [Fraction(10) ** 70, Fraction(1)], np.zeros(2)) is None
    assert enclosed_solution(eye, [Fraction(1), Fraction(1)], np.array([np.inf, 0.0])) is None
