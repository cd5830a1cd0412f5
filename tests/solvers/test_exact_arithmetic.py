"""Exact sums and exact systems, against Python's fractions."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.inside.solvers import (
    dot_integers,
    dyadic,
    rounded_down,
    rounded_up,
    solve_exactly,
)
from tests.inside.solvers import exact_arithmetic_scaled as scaled
from tests.soundness.exact import dot

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(pairs=st.lists(st.tuples(FLOATS, FLOATS), max_size=8))
def test_products_add_up_without_rounding(pairs: list[tuple[float, float]]) -> None:
    a, b = (dyadic(np.array([pair[k] for pair in pairs])) for k in range(2))
    assert [a.fraction(k) for k in range(len(pairs))] == [Fraction(x) for x, _ in pairs]
    found = scaled(dot_integers(a.integers, b.integers), a.exponent + b.exponent)
    assert found == sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(0))


def test_equations_that_contradict_one_another_have_no_solution() -> None:
    matrix, right = [[1, 2], [3, 4], [4, 6]], [Fraction(1), Fraction(2), Fraction(3)]
    assert solve_exactly(matrix, right) == [Fraction(0), Fraction(1, 2)]
    assert solve_exactly(matrix, [*right[:2], Fraction(4)]) is None
    assert solve_exactly([], []) == []


@pytest.mark.parametrize(("unknowns", "extra", "bits"), [(2, 1, 3), (13, 0, 3), (33, 4, 120)])
def test_large_systems_made_from_their_solutions_are_solved(
    unknowns: int, extra: int, bits: int
) -> None:
    rng = random.Random(unknowns)
    matrix = [
        [rng.choice([-1, 1]) * rng.getrandbits(bits) for _ in range(unknowns)]
        for _ in range(unknowns + extra)
    ]
    solution = [Fraction(rng.randint(-9, 9), rng.randint(1, 2**30)) for _ in range(unknowns)]
    right = [dot(line, solution) for line in matrix]
    assert solve_exactly(matrix, right) == solution
    again = [[line[0], *line] for line in matrix]  # an unknown twice
    assert solve_exactly(again, right) is None
    if extra:
        right[-1] += Fraction(1, 2**60)
        assert solve_exactly(matrix, right) is None


@given(number=st.fractions())
def test_rational_numbers_are_rounded_outward_by_less_than_two_neighbours(number: Fraction) -> None:
    low, high = rounded_down(number), rounded_up(number)
    assert Fraction(low) <= number <= Fraction(high)
    assert high in (low, math.nextafter(low, math.inf))
