"""Numbers at the edges of doubles, and of other kinds, that a tree must not prove anything with."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.inside.solvers import (
    Branch,
    DerivedLimit,
    DerivedRow,
    Infeasible,
    Leaf,
    LowerBound,
    SparseMultipliers,
    Subject,
    SwitchedRow,
    TreeProof,
    first_rows,
    holds,
    most,
    proven_bound,
    standard_form,
    tree_bound,
)


def numbers(
    mu: Any, rows: Any = (), z: Any = (), columns: Any = (), x: Any = ()
) -> SparseMultipliers:
    places = np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
    return SparseMultipliers(mu, places[0], np.array(z, float), places[1], np.array(x, float))


def leaf(
    model: pyo.ConcreteModel, multipliers: SparseMultipliers
) -> LowerBound | Infeasible | None:
    proof = TreeProof(math.inf, (), (multipliers,), (Leaf(0),))
    return tree_bound(Subject(standard_form(model)), proof)


@pytest.mark.parametrize("domain", [pyo.Reals, pyo.Integers])
def test_what_bends_the_wrong_way_without_limits_has_no_bound(domain: Any) -> None:
    """x^2 + 2 x y + (1 - 2^-53) y^2 falls for ever along (1, -1)."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), within=domain)
    model.k = pyo.Var(within=pyo.Binary)
    x, y = model.x[0], model.x[1]
    model.goal = pyo.Objective(expr=x * x + 2 * x * y + (1 - 2.0**-53) * y * y + model.k)
    assert leaf(model, numbers(1.0)) is None


def test_a_curvature_whose_multiple_is_no_double_is_not_used() -> None:
    """8e307 x^2 + 1e154 x is -0.3125 at its least."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(-1, 1))
    model.k = pyo.Var(within=pyo.Binary)
    model.goal = pyo.Objective(expr=8e307 * model.x * model.x + 1e154 * model.x + model.k)
    least = -(Fraction(1e154) ** 2) / 4 / Fraction(8e307)
    subject = Subject(standard_form(model))
    found = leaf(model, numbers(1.0))
    assert found is None or (isinstance(found, LowerBound) and Fraction(found.varying) <= least)
    plain = proven_bound(subject, np.zeros(2), np.zeros(len(subject.conic.b)), None)
    assert plain is None or Fraction(plain.varying) <= least


def test_a_move_that_underflows_is_none() -> None:
    """min 1e-30 y with y = -k and k <= 1e40: -1e10."""
    model = pyo.ConcreteModel()
    model.y = pyo.Var()
    model.k = pyo.Var(within=pyo.Integers, bounds=(0, 1e40))
    model.goal = pyo.Objective(expr=1e-30 * model.y)
    model.row = pyo.Constraint(expr=1e300 * model.y + 1e300 * model.k == 0)
    found = leaf(model, numbers(1.0))
    assert found is None or (isinstance(found, LowerBound) and found.varying <= -1e10)


@pytest.mark.parametrize("power", [20, 300, 1000])
def test_underflow_is_charged_as_often_as_it_is_multiplied(power: int) -> None:
    """f = p (3 x - y)^2 / 2 is 0 along (1, 3), where no proven row may be missed."""
    p, size = 2.0**-600, 2.0**52
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), within=pyo.Integers, bounds=(-size, size))
    x, y = model.x[0], model.x[1]
    model.goal = pyo.Objective(expr=4.5 * p * x * x - 3 * p * x * y + 0.5 * p * y * y)
    subject = Subject(standard_form(model))
    rows = first_rows(subject, 0.0)
    at = np.array([2.0**-476, 0.0])
    mu = 2.0**power
    a = mu * (rows.conic.P @ at)
    top = most(rows, a, numbers(mu, (), (), (0,), at[:1]), 0.0, rows.low, rows.high)
    missed = Fraction(float(a[0])) * -(2**50) + Fraction(float(a[1])) * -3 * 2**50
    assert top == math.inf or Fraction(top) >= missed


def test_numbers_that_are_no_doubles_and_places_that_are_no_integers_prove_nothing() -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(within=pyo.Integers, bounds=(0, 4000))
    model.t = pyo.Var(bounds=(0.1, 2.0))
    model.row = pyo.Constraint(expr=model.t - 3 * model.x <= 2)
    model.goal = pyo.Objective(expr=model.t)
    subject = Subject(standard_form(model))
    rows = first_rows(subject, math.inf)
    assert rows is not None
    flat = numbers(0.0)
    right = DerivedLimit(1, 1, 0.05, flat)
    assert holds(subject, rows, right, math.inf)
    for wrong in (
        replace(right, value=np.float32(0.05)),
        replace(right, column=np.int8(1)),
        replace(right, sign=True),
        replace(right, multipliers=replace(flat, mu=np.float32(0.0))),
        replace(right, multipliers=replace(flat, rows=np.zeros(0))),
        DerivedRow(np.array([0, 1], dtype=np.uint64), 2.5, flat),  # type: ignore[arg-type]
        DerivedRow(np.array([0.0, 1.0]), 3, flat),
        SwitchedRow(np.array([-3.0, 1.0]), 2.0, 0, 0, 1.0, flat),  # type: ignore[arg-type]
    ):
        assert not holds(subject, rows, wrong, math.inf)
    assert holds(subject, rows, DerivedRow(np.array([0.0, 1.0]), 2.5, flat), math.inf)
    leaves = Leaf(0), Leaf(0)
    for at in (np.float16(2050), 3, 2.0**53, 2.0**53 + 2, math.nan, math.inf):
        proof = TreeProof(math.inf, (), (numbers(1.0),), (Branch(0, at, 1, 2), *leaves))
        assert tree_bound(subject, proof) is None
    proof = TreeProof(math.inf, (), (numbers(1.0),), (Branch(0, 2050.0, 1, 2), *leaves))
    assert isinstance(tree_bound(subject, proof), LowerBound)
    assert tree_bound(subject, replace(proof, cutoff=np.float32(1.0))) is None


def test_sums_beyond_doubles_prove_nothing() -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), within=pyo.Integers, bounds=(0, 1e9))
    model.least = pyo.Constraint(range(2), rule=lambda m, i: m.x[i] >= 1e8)
    model.goal = pyo.Objective(expr=model.x[0] + model.x[1])
    assert leaf(model, numbers(0.0, (0, 1), [1.5e300, 1.5e300])) is None
