"""Numbers that no double is: sums, products, fixings, integers beyond 2^53, excluded bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import lost_at, standard_form
from tightmargin.solvers import NumberError, Verdict

F = Fraction
Written = Callable[[pyo.ConcreteModel], None]


def model(write: Written) -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    m.p = pyo.Param(initialize=0.1, mutable=True)
    m.q = pyo.Param(initialize=10.0, mutable=True)
    write(m)
    return m


def fixed(m: pyo.ConcreteModel) -> None:
    """y >= 0.3 - 3 (0.1), which is -2^-55 of doubles."""
    m.x.fix(3)
    m.c = pyo.Constraint(expr=0.1 * m.x + m.y >= 0.3)
    m.o = pyo.Objective(expr=2.0**55 * m.y)


def cancelling(m: pyo.ConcreteModel) -> None:
    m.x.setlb(0)
    m.c = pyo.Constraint(expr=m.p * m.q * m.x - m.x >= 1)
    m.o = pyo.Objective(expr=m.x)


def huge(m: pyo.ConcreteModel) -> None:
    m.y.domain = pyo.Integers
    m.y.setlb(0)
    m.y.setub(2**60)
    m.c = pyo.Constraint(expr=(2**53 + 1) * m.y - 2**53 * m.y >= 1)
    m.o = pyo.Objective(expr=m.y)


def decimals(m: pyo.ConcreteModel) -> None:
    """(s x + y)^2 >= ... : the least of x^2 + y^2 is 1 / (s^2 + 1), s = 0.1 + 0.2."""
    m.c = pyo.Constraint(expr=0.1 * m.x + 0.2 * m.x + m.y >= 1)
    m.o = pyo.Objective(expr=m.x**2 + m.y**2)


def disc(m: pyo.ConcreteModel) -> None:
    m.c = pyo.Constraint(expr=0.3 * (0.1 * m.x - 0.1) ** 2 + (0.7 * m.y - 0.2) ** 2 <= 0.3)
    m.o = pyo.Objective(expr=m.x)


def fit(m: pyo.ConcreteModel) -> None:
    rows = [(1e5 + 0.1, 3e5), (1e5 + 0.7, 3e5 + 1.3), (1e5 + 1.9, 3e5 + 0.2)]
    m.o = pyo.Objective(expr=sum((m.x + m.y * u - v) ** 2 for u, v in rows))


def fitted() -> F:
    """Of the residuals of three points: their part along the vector that is orthogonal to both."""
    u = [F(1e5 + 0.1), F(1e5 + 0.7), F(1e5 + 1.9)]
    v = [F(3e5), F(3e5 + 1.3), F(3e5 + 0.2)]
    z = [u[1] - u[2], u[2] - u[0], u[0] - u[1]]
    return sum(a * b for a, b in zip(z, v, strict=True)) ** 2 / sum(a * a for a in z)


S = F(0.1) + F(0.2)
OPTIMA: list[tuple[Written, F]] = [
    (fixed, (F(0.3) - 3 * F(0.1)) * 2**55),
    (cancelling, 1 / (F(0.1) * 10 - 1)),
    (huge, F(1)),
    (decimals, 1 / (1 + S * S)),
    (disc, (F(0.1) - 1) / F(0.1)),
    (fit, fitted()),
]


@pytest.mark.parametrize(("write", "optimum"), OPTIMA, ids=lambda p: getattr(p, "__name__", ""))
def test_the_optimum_is_that_of_the_numbers_as_written(write: Written, optimum: F) -> None:
    found = tm.solve(model(write)).certificate
    assert found.verdict is Verdict.CERTIFIED
    assert found.bound is not None
    assert found.upper is not None
    assert F(found.bound) <= optimum <= F(found.upper)
    assert F(found.upper) - F(found.bound) <= F(2e-6) * abs(optimum)


def test_a_row_that_no_whole_number_meets_has_no_point() -> None:
    m = model(lambda m: None)
    m.x.domain = pyo.Integers
    m.x.setlb(0)
    m.x.setub(2**60)
    m.c = pyo.Constraint(expr=2 * m.x == 2**53 + 1)
    m.o = pyo.Objective(expr=m.x)
    nodes = {"node_limit": 5}
    assert tm.solve(m, method="branch-and-bound", options=nodes).certificate.upper is None


@pytest.mark.parametrize("sense", [pyo.minimize, pyo.maximize])
def test_far_sides_are_what_was_written(sense: Any) -> None:
    """X - y = -1e17, x + 1e17 <= 7 and >= 1: y is from 1 to 7."""
    m = model(lambda m: None)
    m.y.setlb(0)
    m.y.setub(10)
    m.e = pyo.Constraint(expr=m.x - m.y == -1e17)
    m.c = pyo.Constraint(expr=pyo.inequality(1, m.x + 1e17, 7))
    m.o = pyo.Objective(expr=m.y, sense=sense)
    found = tm.solve(m).certificate
    sign, truth = (1, 1) if sense is pyo.minimize else (-1, 7)
    assert found.bound is not None
    assert sign * found.bound <= sign * truth
    assert found.upper is None or sign * found.upper >= sign * truth


@pytest.mark.parametrize("domain", [pyo.PositiveReals, pyo.NegativeReals])
def test_a_point_at_a_bound_that_is_excluded_is_no_point_and_beside_it_there_are(
    domain: Any,
) -> None:
    sign = 1 if domain is pyo.PositiveReals else -1
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), within=domain)
    m.c = pyo.Constraint(expr=sign * (m.x[0] + m.x[1]) >= 1)
    m.o = pyo.Objective(expr=sign * (m.x[0] + 2 * m.x[1]))
    found = tm.solve(m)
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert (sign * found.values["x"] > 0).all()
    m.d = pyo.Constraint(expr=m.x[1] == 0)
    found = tm.solve(m).certificate
    assert found.verdict is not Verdict.CERTIFIED
    assert found.upper is None


def test_the_arrays_are_nowhere_above_the_model() -> None:
    """Exactly, at random points, of an objective that has signs, squares and products."""
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(None, 0))
    m.f = pyo.Param(initialize=0.3, mutable=True)
    m.o = pyo.Objective(
        expr=m.f * (0.1 * m.x**2 + 0.7 * m.x * m.y + 1.1 * m.y**2 + 0.2 * m.x + 0.9 * m.y + 0.1)
    )
    goal = standard_form(m).objective
    (xx, xy), (_, yy) = goal.Q.toarray().tolist()
    kept = [xx, 2 * xy, yy, *goal.a.tolist(), goal.constant]
    written = [F(0.3) * F(c) for c in (0.1, 0.7, 1.1, 0.2, 0.9, 0.1)]
    assert goal.lost
    for a, b in np.random.default_rng(4).uniform(0, 9, size=(20, 2)).tolist():
        x, y = F(a), -F(b)
        terms = (x * x, x * y, y * y, x, y, F(1))
        true = sum(c * t for c, t in zip(written, terms, strict=True))
        below = sum(F(c) * t for c, t in zip(kept, terms, strict=True))
        assert below <= true
        assert below + goal.rest + lost_at(goal.lost, lambda j, at=(x, y): at[j]) == true  # type: ignore[misc]


def test_a_row_of_multiples_of_one_number_stays_a_row() -> None:
    """A number from 1 to 2 times the row has doubles; the multiplier is that of the row itself."""
    m = model(lambda m: None)
    m.c = pyo.Constraint(expr=0.1 * (m.x + 3 * m.y) >= 0.7)
    m.d = pyo.Constraint(expr=(m.x + m.y) / 12 <= 1)
    m.e = pyo.Constraint(expr=m.y <= 3)
    m.o = pyo.Objective(expr=m.x + 2 * m.y)
    found = tm.solve(m)
    optimum = F(0.7) / F(0.1) - 3  # y = 3
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert F(found.bound) <= optimum <= F(found.objective)
    assert set(found.values) == {"x", "y"}
    assert "exact_numbers" not in found.message
    assert found.duals["c"] == pytest.approx(10, rel=1e-12)
    assert found.duals["e"] == pytest.approx(-1, rel=1e-12)
    assert found.duals["d"] == 0


def test_another_side_is_not_the_one_that_was_read() -> None:
    """7 - 0.1 * 0.1 is no double; 5 in its place is."""
    m = model(lambda m: None)
    m.x.fix(0.1)
    m.row = pyo.Constraint(expr=0.1 * m.x + m.y >= 7)
    m.goal = pyo.Objective(expr=m.y)
    form = standard_form(m)
    assert form.sides_of(0)[0] == 7 - F(0.1) ** 2
    assert replace(form, row_lower=np.array([5.0])).sides_of(0)[0] == 5


def test_a_coefficient_that_is_no_number_is_named_as_it_stands() -> None:
    m = model(lambda m: None)
    m.goal = pyo.Objective(expr=(float("inf") * m.x + 1) * m.y)
    with pytest.raises(NumberError, match=r"coefficient of x \* y is inf"):
        standard_form(m)
