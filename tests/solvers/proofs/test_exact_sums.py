"""Sums and systems of equations beside fractions: every scale, ties, cancellation."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tests.inside.formulations import Array
from tests.inside.solvers import (
    MOST_LIMBS,
    LocalQuadratic,
    QuadraticRow,
    StandardForm,
    dot_integers,
    double_sums,
    dyadic,
    enclosed_solution,
    exact_dots,
    exact_products,
    linear_excess,
    point_of,
    quadratic_excess,
    rounded_down,
    rounded_up,
    solve_exactly,
    stacked,
    standard_form,
    sums_outside,
    two_products,
)
from tests.inside.solvers import exact_arithmetic_scaled as scaled
from tests.soundness.exact import dot, fractions
from tests.soundness.exact import solution as in_fractions
from tests.support.covering import FULL

INF = np.inf
Rng = np.random.Generator


KINDS: dict[str, Callable[[Rng, Array], Array]] = {  # that sums are hard or easy for
    "plain": lambda rng, x: x,
    "wide": lambda rng, x: x * 2.0 ** rng.integers(-40, 41, len(x)),
    "whole": lambda rng, x: rng.integers(-3, 4, len(x)).astype(float),
    "holes": lambda rng, x: np.where(rng.random(len(x)) < 0.5, 0.0, x),
    # Pairs that cancel all but their last bits.
    "cancelling": lambda rng, x: np.where(
        np.arange(len(x)) % 2, -np.nextafter(np.roll(x, 1), INF), x
    ),
}


def drawn(kind: str, seed: int, shift: int) -> tuple[Rng, sp.csr_matrix, Array]:
    """A few rows of up to a hundred entries, some of them empty, and a point."""
    rng = np.random.default_rng([seed, [*KINDS].index(kind)])
    m, n = int(rng.integers(1, 8)), int(rng.integers(1, 100))
    A = sp.random(m, n, density=rng.choice([0.1, 0.6, 1.0]), format="csr", random_state=rng)
    A.data = KINDS[kind](rng, rng.normal(size=A.nnz)) * 2.0 ** int(rng.integers(-shift, shift))
    return rng, A, KINDS[str(rng.choice([*KINDS]))](rng, rng.normal(size=n))


def exact_rows(A: sp.csr_matrix, x: list[Fraction]) -> list[Fraction]:
    return [dot(fractions(row), x) for row in A.toarray()]


def sizes(A: sp.csr_matrix, x: Array) -> list[Fraction]:
    """Sums of the sizes of all terms."""
    return exact_rows(abs(A), fractions(abs(x)))


def test_products_of_many_equal_numbers_do_not_fill_a_word() -> None:
    count = 2**15 + 1
    top = np.nextafter(2.0, 0.0)
    A = sp.csr_matrix(np.vstack([np.full(count, top), np.full(count, -top)]))
    found = exact_products(A, np.full(count, top))
    total = count * Fraction(top) ** 2
    assert [number * Fraction(2) ** found[1] for number in found[0]] == [total, -total]


def test_numbers_too_far_apart_are_refused() -> None:
    A = sp.csr_matrix(np.array([[1.0, 2.0 ** -(60 * MOST_LIMBS)]]))
    assert exact_products(A, np.ones(2)) is None
    assert exact_products(sp.csr_matrix(np.ones((1, 2))), np.array([5e-324, 1e300])) is None
    at = point_of(np.array([5e-324, 1e300]), {})
    assert at is not None
    assert exact_dots(sp.csr_matrix(np.ones((1, 2))), at) == [Fraction(5e-324) + Fraction(1e300)]


@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_within_their_radius_of_the_true_ones(kind: str) -> None:
    for seed in range(12 if FULL else 4):
        rng, A, x = drawn(kind, seed, 200)
        sums = double_sums(*two_products(A.data, x[A.indices]), A.indptr)
        true = exact_rows(A, fractions(x))
        sides = np.array([float(number) for number in true]) * rng.choice([0.0, 1.0, 1 + 2.0**-52])
        value, off = sums.less(sides)
        for k, (number, size) in enumerate(zip(true, sizes(A, x), strict=True)):
            found = Fraction(sums.high[k]) + Fraction(sums.low[k])
            # Else every sum would be within it: of the size of a rounding's square.
            assert abs(found - number) <= Fraction(sums.radius[k]) <= Fraction(2.0**-96) * size
            assert abs(number - Fraction(sides[k]) - Fraction(value[k])) <= Fraction(off[k])


@pytest.mark.parametrize("kind", KINDS)
def test_excess_is_the_least_double_or_a_little_more(kind: str) -> None:
    """Sides at the sum to the nearest double, or at the sum itself, and one step off."""
    for seed in range(10 if FULL else 4):
        rng, A, x = drawn(kind, seed, 150)
        some = rng.choice(len(x), size=min(len(x), int(rng.integers(0, 3))))
        exact = {int(j): Fraction(int(rng.integers(1, 9)), 7) for j in some}
        true = exact_rows(A, [exact.get(j, number) for j, number in enumerate(fractions(x))])
        near = np.array([float(number) for number in true])
        step = rng.integers(-1, 2, len(near))
        lower = np.where(step < 0, np.nextafter(near, -INF), np.where(step > 0, near, -INF))
        upper = np.where(rng.random(len(near)) < 0.3, near, np.nextafter(near, INF))
        at = point_of(x, exact)
        assert exact_dots(A, at) == true
        found = linear_excess(with_rows(A, lower, upper), at)
        for k, (number, size) in enumerate(zip(true, sizes(A, x), strict=True)):
            missed = max(Fraction(0), number - Fraction(upper[k]))
            if np.isfinite(lower[k]):
                missed = max(missed, Fraction(lower[k]) - number)
            assert (found[k] == 0) == (missed == 0)
            most = missed * (1 + Fraction(2.0**-40)) + Fraction(2.0**-90) * size * bool(missed)
            assert missed <= Fraction(found[k]) <= most


def with_rows(A: sp.csr_matrix, lower: Array, upper: Array) -> StandardForm:
    """A model of nothing but rows."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(A.shape[1]))
    m.objective = pyo.Objective(expr=sum(m.x.values()))
    form = standard_form(m)
    values = dict(vars(form)) | {"matrix": A, "row_lower": lower, "row_upper": upper}
    return StandardForm(**{name: values[name] for name in StandardForm.__dataclass_fields__})


def test_what_doubles_do_not_show_is_left_to_fractions() -> None:
    """1e-200 x 1e-200 is 0 in doubles, and a row x y <= 0 is missed all the same."""
    body = LocalQuadratic(np.arange(2), np.array([0]), np.array([1]), np.ones(1), np.zeros(2), 0.0)
    row = QuadraticRow(body, -INF, 0.0, None)
    at = point_of(np.array([1e-200, 1e-200]), {})
    assert not sums_outside(stacked([row]), at.x, at.rest)[1][0]
    assert quadratic_excess([row], at)[0] > 0
    for x in ([3.0, -2.0], [0.0, 2.0], [3.0, 0.0]):  # doubles show that
        assert sums_outside(stacked([row]), np.array(x), np.zeros(2))[1][0]
    form = with_rows(sp.csr_matrix([[1e-200]]), np.array([-INF]), np.zeros(1))
    assert linear_excess(form, point_of(np.array([1e-200]), {}))[0] > 0
    # So are sums that twice the precision does not tell from 1: 2^100 + 1 + 2^-100 - 2^100.
    A = sp.csr_matrix([[1.0, 1.0, 1.0, -1.0], [-1.0, -1.0, -1.0, 1.0]])
    at = point_of(2.0 ** np.array([100, 0, -100, 100]), {})
    found = linear_excess(with_rows(A, np.array([-INF, -1.0]), np.array([1.0, INF])), at)
    assert ((found >= 2.0**-100) & (found < 2.0**-99)).all()


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


def hilbert(k: int) -> Array:
    """Entries 1 / (i + j + 1), to the nearest doubles: nearly singular."""
    return 1 / (np.arange(k)[:, None] + np.arange(k) + 1.0)


def matrices() -> list[Array]:
    """Of several sizes, scales and conditions."""
    rng = np.random.default_rng(0)
    units = [2.0 ** rng.integers(-20, 20, size=shape) for shape in ((6, 1), (1, 6))]
    plain = [rng.normal(size=(k, k)) for k in (1, 2, 5, 12)]
    return [*plain, *(unit * rng.normal(size=(6, 6)) for unit in units), hilbert(4), hilbert(7)]


@pytest.mark.parametrize("matrix", matrices())
def test_the_box_holds_the_solution_of_every_right_side_and_is_narrow(matrix: Array) -> None:
    rng, k = np.random.default_rng(1), len(matrix)
    exact = [fractions(line) for line in matrix]
    right = [Fraction(float(b)) / 3 for b in rng.normal(size=k)]
    middle, radius = enclosed_solution(matrix, right, np.zeros(k))
    for s, true, wide in zip(middle, in_fractions(exact, right), radius, strict=True):
        assert abs(Fraction(float(s)) - true) <= Fraction(float(wide))
    assert (radius <= 1e-14 * np.abs(middle).max()).all()
    spread = 10.0 ** rng.uniform(-12, 0, size=k)
    middle, radius = enclosed_solution(matrix, right, spread)
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
