"""Boxes around solutions beside the same systems in fractions, and bounds that rest on them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.inside.formulations import Array
from tests.inside.solvers import FREE_LIMIT, Subject, enclosed_solution, proven_bound, standard_form
from tests.soundness.exact import fractions
from tests.soundness.exact import solution as in_fractions
from tests.support.covering import FULL, covering


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


def free_columns(k: int, seed: int) -> tuple[pyo.ConcreteModel, float, Array]:
    """min c'x + sum s, B x + s >= b, s >= 0 with c = B'y, 0 < y < 1, to the nearest doubles.

    Only y meets the equations of the free x, and the optimum is y'b: in fractions, from c.
    """
    rng = np.random.default_rng(seed)
    B, b, y0 = rng.normal(size=(k, k)), rng.normal(size=k) + 3, rng.uniform(0.2, 0.8, size=k)
    m = pyo.ConcreteModel()
    m.x, m.s = pyo.Var(range(k)), pyo.Var(range(k), bounds=(0, None))
    rows = B.tolist()
    m.rows = pyo.Constraint(
        range(k),
        rule=lambda m, i: sum(rows[i][j] * m.x[j] for j in range(k)) + m.s[i] >= float(b[i]),
    )
    cost = (B.T @ y0).tolist()
    m.cost = pyo.Objective(expr=sum(cost[j] * m.x[j] for j in range(k)) + sum(m.s.values()))
    exact = in_fractions([fractions(line) for line in B.T], fractions(cost))
    optimum = float(sum(y * Fraction(float(side)) for y, side in zip(exact, b, strict=True)))
    return m, optimum, y0


SIZES = covering([3, FREE_LIMIT, FREE_LIMIT + 6], [0, 1], [0.0, 1e-12, 1e-6])


@pytest.mark.parametrize(("k", "seed", "noise"), SIZES if FULL else SIZES[::2])
def test_a_bound_on_free_columns_is_right_to_a_rounding_and_never_above(
    k: int, seed: int, noise: float
) -> None:
    """Whatever the multipliers are off by, only one solution of the equations is left."""
    model, optimum, y0 = free_columns(k, seed)
    form = standard_form(model)
    subject = Subject(form)
    rng = np.random.default_rng(seed)
    z = np.zeros(len(subject.conic.b))
    z[: len(form.rows)] = y0 + noise * rng.normal(size=k)
    found = proven_bound(subject, np.zeros(form.n), z, None)
    value = Fraction(found.varying)
    assert value <= Fraction(np.nextafter(optimum, np.inf))
    assert optimum - found.varying <= 1e-13 * abs(optimum)
