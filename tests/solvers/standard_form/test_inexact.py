"""Numbers that no double is: sums, products, fixings, integers beyond 2^53, excluded bounds."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import ExactEnds, lost_at, representable, standard_form
from tests.support.covering import FULL
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


def third(m: pyo.ConcreteModel) -> None:
    m.q = 3.0
    m.c = pyo.Constraint(expr=m.x / m.q == 0.1)
    m.o = pyo.Objective(expr=m.x)


def moved(m: pyo.ConcreteModel) -> None:
    m.c = pyo.Constraint(expr=m.x + 0.1 == 12.7)
    m.o = pyo.Objective(expr=m.x)


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
    (third, 3 * F(0.1)),
    (moved, F(12.7) - F(0.1)),
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
    nodes = {"node_limit": 20}
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
def test_a_point_at_a_bound_that_is_excluded_is_no_point(domain: Any) -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(within=domain)
    m.c = pyo.Constraint(expr=m.x == 0)
    m.o = pyo.Objective(expr=m.x)
    found = tm.solve(m).certificate
    assert found.verdict is not Verdict.CERTIFIED
    assert found.upper is None


def test_beside_an_excluded_bound_there_are_points() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), within=pyo.PositiveReals)
    m.c = pyo.Constraint(expr=m.x[0] + m.x[1] >= 1)
    m.o = pyo.Objective(expr=m.x[0] + 2 * m.x[1])
    found = tm.solve(m)
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert (found.values["x"] > 0).all()


def test_the_arrays_are_nowhere_above_the_model() -> None:
    """Exactly, at random points, of an objective that has signs, squares and products."""
    rng = np.random.default_rng(4)
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, None)), pyo.Var(bounds=(None, 0))
    factor = pyo.Param(initialize=0.3, mutable=True)
    m.f = factor
    m.o = pyo.Objective(
        expr=m.f * (0.1 * m.x**2 + 0.7 * m.x * m.y + 1.1 * m.y**2 + 0.2 * m.x + 0.9 * m.y + 0.1)
    )
    goal = standard_form(m).objective
    factors = [F(0.3) * F(c) for c in (0.1, 0.7, 1.1, 0.2, 0.9, 0.1)]
    assert goal.lost
    for a, b in rng.uniform(0, 9, size=(20, 2)):
        x, y = F(float(a)), -F(float(b))
        true = sum(c * t for c, t in zip(factors, (x * x, x * y, y * y, x, y, F(1)), strict=True))
        entries = goal.Q.toarray()
        square = F(entries[0, 0]) * x * x + F(entries[1, 1]) * y * y
        product = F(entries[0, 1]) * 2 * x * y
        linear = F(float(goal.a[0])) * x + F(float(goal.a[1])) * y
        below = square + product + linear + F(goal.constant)
        assert below <= true
        assert below + goal.rest + lost_at(goal.lost, lambda j, at=(x, y): at[j]) == true  # type: ignore[misc]


def test_a_model_in_doubles_is_read_as_it_stands() -> None:
    m = model(lambda m: None)
    m.c = pyo.Constraint(expr=0.25 * m.x + 0.5 * m.x + m.y >= 1)
    m.o = pyo.Objective(expr=(m.x - 0.5) ** 2 + m.y**2)
    stated, form = representable(m)
    assert stated is m
    assert form.inner is form
    assert not form.rounded
    assert form.exact.same_as(ExactEnds())


def test_rows_kept_as_arrays_move_fixed_variables_exactly() -> None:
    """Each side less the value times the feature, next to it outwards."""
    data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    m = tm.c_svc(data, C=1.0)
    first = next(iter(m.w))
    before = standard_form(m)
    a = before.A[:, 0].toarray().ravel()
    m.w[first].fix(0.3)
    form = standard_form(m)
    assert form.exact.sides
    for k in range(len(form.rows)):
        assert form.sides_of(k)[0] == F(float(before.row_lower[k])) - F(float(a[k])) * F(0.3)
        assert form.row_lower[k] <= form.sides_of(k)[0] <= form.inner.row_lower[k]
    assert tm.solve(m).certificate.verdict is Verdict.CERTIFIED


def test_files_say_what_was_rounded(tmp_path: Path) -> None:
    """A side is the next double; a sum of coefficients comes back exactly, in rows of its own."""
    m = model(lambda m: None)
    m.c = pyo.Constraint(expr=m.x + 0.1 <= 12.7)
    m.o = pyo.Objective(expr=-m.x)
    with pytest.warns(UserWarning, match=r"moved\.mps: a side of row c has a number that no dou"):
        tm.export(m, tmp_path / "moved.mps")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tm.export(model(decimals), tmp_path / "decimals.mps")
    again = tm.read_model(tmp_path / "decimals.mps")
    found = tm.solve(again).certificate
    assert found.bound is not None
    assert found.upper is not None
    assert F(found.bound) <= 1 / (1 + S * S) <= F(found.upper)


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


@pytest.mark.parametrize("seed", range(6 if FULL else 3))
def test_rows_that_are_scaled_have_the_optimum_of_every_vertex(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = model(lambda m: None)
    m.rows = pyo.ConstraintList()
    lines = [((F(1), F(0)), F(-10), F(10)), ((F(0), F(1)), F(-10), F(10))]
    for variable in (m.x, m.y):
        variable.setlb(-10)
        variable.setub(10)
    for k in range(3):
        factor, side = float(rng.choice([0.1, 0.7, 2.2, -0.1])), float(np.round(rng.normal(), 2))
        a, b = (int(v) for v in rng.integers(1, 5, 2))
        low, high = ((side, side), (None, side), (side - 1, side))[k if seed % 2 else k or 1]
        m.rows.add((low, factor * (a * m.x - b * m.y), high))
        ends = (None if end is None else F(end) for end in (low, high))
        lines.append(((F(factor) * a, F(factor) * -b), *ends))
    cost = [int(v) for v in rng.integers(-3, 4, 2)]
    m.o = pyo.Objective(expr=cost[0] * m.x + cost[1] * m.y)
    best = least_at_a_vertex(lines, cost)
    found = tm.solve(m)
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert (found.objective is None) is (best is None)
    assert best is None or F(found.bound) <= best <= F(found.objective)


def least_at_a_vertex(lines: list[Any], cost: list[int]) -> F | None:
    sides = [(a, end) for a, *ends in lines for end in ends if end is not None]
    found = []
    for (a, s), (b, t) in itertools.combinations(sides, 2):
        det = a[0] * b[1] - a[1] * b[0]
        if det:
            x, y = (s * b[1] - t * a[1]) / det, (a[0] * t - b[0] * s) / det
            at = ((c[0] * x + c[1] * y, low, high) for c, low, high in lines)
            if all((lo is None or v >= lo) and (hi is None or v <= hi) for v, lo, hi in at):
                found.append(cost[0] * x + cost[1] * y)
    return min(found, default=None)


def test_a_row_is_printed_as_it_was_written() -> None:
    m = tm.c_svc(tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1), C=1.0)
    m.mine = pyo.Constraint(expr=0.1 * (m.w[0] + 3 * m.w[1]) <= 0.7)
    for printed in (str(tm.show(m)), str(tm.diff(m))):
        assert "0.1 w[0] + 0.3 w[1] <= 0.7" in printed


def test_a_live_program_takes_no_row_in_other_numbers() -> None:
    """Its rows are changed by numbers of the row as written; sides that no double is may change."""
    m = model(lambda m: None)
    m.x.setlb(0)
    m.y.setlb(0)
    m.c = pyo.Constraint(expr=m.x + m.y + 0.1 >= 12.7)
    m.o = pyo.Objective(expr=m.x + 2 * m.y)
    live = tm.LiveLP(m)
    live.change_sides("c", lower=1.0)
    assert live.resolve().objective == 1
    assert live.certificate().verdict is Verdict.CERTIFIED
    m.d = pyo.Constraint(expr=0.1 * (m.x + 3 * m.y) >= 0.7)
    with pytest.raises(NumberError, match="row d has a coefficient that no double is"):
        tm.LiveLP(m)
