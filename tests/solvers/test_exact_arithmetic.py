"""Exact sums and exact systems, against Python's fractions."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
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
from tests.support.covering import FULL

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SMALL = st.integers(-9, 9)


@given(values=st.lists(FLOATS, max_size=8))
def test_every_float_is_its_integer_times_the_power_of_two(values: list[float]) -> None:
    exact = dyadic(np.array(values))
    assert [exact.fraction(k) for k in range(len(values))] == [Fraction(v) for v in values]


@given(pairs=st.lists(st.tuples(FLOATS, FLOATS), max_size=8))
def test_products_add_up_without_rounding(pairs: list[tuple[float, float]]) -> None:
    a, b = (dyadic(np.array([pair[k] for pair in pairs])) for k in range(2))
    found = scaled(dot_integers(a.integers, b.integers), a.exponent + b.exponent)
    assert found == sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(0))


@given(
    unknowns=st.integers(1, 4),
    extra=st.integers(0, 2),
    data=st.data(),
)
@settings(max_examples=150 if FULL else 50)
def test_a_system_made_from_its_solution_is_solved(
    unknowns: int, extra: int, data: st.DataObject
) -> None:
    row = st.lists(SMALL, min_size=unknowns, max_size=unknowns)
    matrix = data.draw(st.lists(row, min_size=unknowns + extra, max_size=unknowns + extra))
    solution = [Fraction(data.draw(SMALL), data.draw(st.integers(1, 7))) for _ in range(unknowns)]
    right = [dot(line, solution) for line in matrix]
    found = solve_exactly(matrix, right)
    determined = np.linalg.matrix_rank(np.array(matrix, dtype=float)) == unknowns
    assert found == (solution if determined else None)


def test_equations_that_contradict_one_another_have_no_solution() -> None:
    matrix, right = [[1, 2], [3, 4], [4, 6]], [Fraction(1), Fraction(2), Fraction(3)]
    assert solve_exactly(matrix, right) == [Fraction(0), Fraction(1, 2)]
    assert solve_exactly(matrix, [*right[:2], Fraction(4)]) is None
    assert solve_exactly([], []) == []


@pytest.mark.parametrize(("unknowns", "extra", "bits"), [(13, 0, 3), (20, 4, 53), (33, 1, 120)])
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
