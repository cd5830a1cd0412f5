"""Exact sums and exact systems, against Python's fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tightmargin.solvers.exact_arithmetic import dot_integers, dyadic, scaled, solve_exactly

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


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_has_no_exact_value(bad: float) -> None:
    with pytest.raises(ValueError, match="only finite numbers"):
        dyadic(np.array([1.0, bad]))


@given(
    unknowns=st.integers(1, 4),
    extra=st.integers(0, 2),
    data=st.data(),
)
@settings(max_examples=150)
def test_a_system_made_from_its_solution_is_solved(
    unknowns: int, extra: int, data: st.DataObject
) -> None:
    row = st.lists(SMALL, min_size=unknowns, max_size=unknowns)
    matrix = data.draw(st.lists(row, min_size=unknowns + extra, max_size=unknowns + extra))
    solution = [Fraction(data.draw(SMALL), data.draw(st.integers(1, 7))) for _ in range(unknowns)]
    right = [
        sum((a * x for a, x in zip(line, solution, strict=True)), Fraction(0)) for line in matrix
    ]
    found = solve_exactly(matrix, right)
    determined = np.linalg.matrix_rank(np.array(matrix, dtype=float)) == unknowns
    assert found == (solution if determined else None)


def test_equations_that_contradict_one_another_have_no_solution() -> None:
    assert solve_exactly([[1, 2], [3, 4], [4, 6]], [Fraction(1), Fraction(2), Fraction(3)]) == [
        Fraction(0),
        Fraction(1, 2),
    ]
    assert solve_exactly([[1, 2], [3, 4], [4, 6]], [Fraction(1), Fraction(2), Fraction(4)]) is None
    assert solve_exactly([], []) == []
