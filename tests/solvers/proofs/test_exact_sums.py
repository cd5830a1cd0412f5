"""Many sums at a time beside one Fraction after another: every scale, ties, cancellation."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp

from tests.inside.formulations import Array
from tests.inside.solvers import (
    MOST_LIMBS,
    LocalQuadratic,
    QuadraticRow,
    StandardForm,
    double_sums,
    exact_dots,
    exact_products,
    linear_excess,
    point_of,
    quadratic_excess,
    stacked,
    standard_form,
    sums_outside,
    two_products,
)
from tests.soundness.exact import fractions
from tests.support.covering import FULL

INF = np.inf
Rng = np.random.Generator


def numbers(rng: Rng, size: int, kind: str) -> Array:
    """Floats of one of the kinds that sums are hard or easy for."""
    plain = rng.normal(size=size)
    match kind:
        case "plain":
            return plain
        case "wide":
            return plain * 2.0 ** rng.integers(-40, 41, size)
        case "whole":
            return rng.integers(-3, 4, size).astype(float)
        case "holes":
            return np.where(rng.random(size) < 0.5, 0.0, plain)
    # Pairs that cancel all but their last bits.
    half = plain[: (size + 1) // 2]
    return np.concatenate([half, -np.nextafter(half, INF)])[:size]


KINDS = ("plain", "wide", "whole", "holes", "cancelling")


def matrix(rng: Rng, kind: str, shift: int) -> sp.csr_matrix:
    """A few rows of up to a hundred entries, some of them empty."""
    m, n = int(rng.integers(1, 8)), int(rng.integers(1, 100))
    where = sp.random(m, n, density=rng.choice([0.1, 0.6, 1.0]), format="csr", random_state=rng)
    where.data = numbers(rng, where.nnz, kind) * 2.0**shift
    return where


def exact_rows(A: sp.csr_matrix, x: list[Fraction]) -> list[Fraction]:
    """The rows of A x, product by product."""
    return [
        sum(
            (Fraction(a) * x[j] for a, j in zip(A.data[s:e], A.indices[s:e].tolist(), strict=True)),
            Fraction(0),
        )
        for s, e in pairwise(A.indptr.tolist())
    ]


def dice(kind: str, few: int, many: int) -> Iterator[Rng]:
    """As many generators as the run is long."""
    for seed in range(many if FULL else few):
        yield np.random.default_rng([seed, KINDS.index(kind)])


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
    for rng in dice(kind, 4, 12):
        A = matrix(rng, kind, int(rng.integers(-200, 200)))
        x = numbers(rng, A.shape[1], str(rng.choice(KINDS)))
        sums = double_sums(*two_products(A.data, x[A.indices]), A.indptr)
        true = exact_rows(A, fractions(x))
        sides = np.array([float(number) for number in true]) * rng.choice([0.0, 1.0, 1 + 2.0**-52])
        value, off = sums.less(sides)
        for k, number in enumerate(true):
            assert abs(Fraction(sums.high[k]) + Fraction(sums.low[k]) - number) <= Fraction(
                sums.radius[k]
            )
            assert abs(number - Fraction(sides[k]) - Fraction(value[k])) <= Fraction(off[k])
            size = sum((abs(Fraction(a)) for a in (A[[k]].multiply(x)).data.tolist()), Fraction(0))
            # Else every sum would be within it: of the size of a rounding's square.
            assert Fraction(sums.radius[k]) <= Fraction(2.0**-96) * size


@pytest.mark.parametrize("kind", KINDS)
def test_excess_is_the_least_double_or_a_little_more(kind: str) -> None:
    """Sides at the sum to the nearest double, or at the sum itself, and one step off."""
    for rng in dice(kind, 4, 10):
        A = matrix(rng, kind, int(rng.integers(-150, 150)))
        x = numbers(rng, A.shape[1], str(rng.choice(KINDS)))
        exact = {
            int(j): Fraction(int(rng.integers(1, 9)), 7) * Fraction(2) ** int(rng.integers(-3, 3))
            for j in rng.choice(A.shape[1], size=min(A.shape[1], int(rng.integers(0, 3))))
        }
        coordinates = [exact.get(j, number) for j, number in enumerate(fractions(x))]
        true = exact_rows(A, coordinates)
        near = np.array([float(number) for number in true])
        step = rng.integers(-1, 2, len(near))
        lower = np.where(step < 0, np.nextafter(near, -INF), np.where(step > 0, near, -INF))
        upper = np.where(rng.random(len(near)) < 0.3, near, np.nextafter(near, INF))
        at = point_of(x, exact)
        assert at is not None
        assert exact_dots(A, at) == true
        found = linear_excess(with_rows(A, lower, upper), at)
        for k, number in enumerate(true):
            missed = Fraction(0)
            for side, sign in ((lower[k], 1), (upper[k], -1)):
                if np.isfinite(side):
                    missed = max(missed, sign * (Fraction(float(side)) - number))
            assert (found[k] == 0) == (missed == 0)
            size = sum((abs(Fraction(a)) for a in A[[k]].multiply(x).data.tolist()), Fraction(0))
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


def test_products_that_underflow_are_left_to_fractions() -> None:
    """1e-200 x 1e-200 is 0 in doubles, and a row x y <= 0 is missed all the same."""
    body = LocalQuadratic(np.arange(2), np.array([0]), np.array([1]), np.ones(1), np.zeros(2), 0.0)
    row = QuadraticRow(body, -INF, 0.0, None)
    at = point_of(np.array([1e-200, 1e-200]), {})
    assert not sums_outside(stacked([row]), at.x, at.rest)[1][0]
    assert quadratic_excess([row], at)[0] > 0
    form = with_rows(sp.csr_matrix([[1e-200]]), np.array([-INF]), np.zeros(1))
    tiny = point_of(np.array([1e-200]), {})
    assert tiny is not None
    assert linear_excess(form, tiny)[0] > 0
