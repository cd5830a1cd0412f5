"""What the kernel lets pass of a tree: against enumeration, and at the edges of doubles."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inside.solvers import (
    Branch,
    Case,
    DerivedLimit,
    DerivedRow,
    Infeasible,
    Leaf,
    Limits,
    LowerBound,
    SparseMultipliers,
    Step,
    Subject,
    SwitchedRow,
    TreeProof,
    first_rows,
    holds,
    joined,
    minorant,
    most,
    standard_form,
    tree_bound,
    tree_search,
)
from tests.support.covering import FULL
from tests.support.integer_models import Enumerated, enumerated

SEEDS = st.integers(0, 2**32 - 1)


def subject_of(model: pyo.ConcreteModel) -> Subject:
    return Subject(standard_form(model))


def proof_of(model: pyo.ConcreteModel) -> TreeProof:
    case = Case(model, subject_of(model), None, Limits(time_limit=20.0, threads=1))
    return tree_search(case).proof


def some_multipliers(rng: np.random.Generator, m: int, n: int, mu: float) -> SparseMultipliers:
    """Any numbers, of the wrong sign and of any size too."""
    rows = np.flatnonzero(rng.random(m) < 0.7)
    columns = np.flatnonzero(rng.random(n) < 0.7)
    size = 2.0 ** rng.integers(-20, 20)
    return SparseMultipliers(
        mu, rows, rng.normal(size=len(rows)) * size, columns, rng.normal(size=len(columns)) * 4
    )


@given(seed=SEEDS, power=st.integers(-60, 60), mu=st.sampled_from([0.0, 1.0, 0.5, 0.3, 7.1]))
@settings(max_examples=150 if FULL else 15)
def test_the_inequality_holds_at_every_point_of_a_box(seed: int, power: int, mu: float) -> None:
    truth = enumerated(seed, scale=2.0**power)
    subject = subject_of(truth.model())
    rows = first_rows(subject, math.inf)
    rng = np.random.default_rng(seed)
    along = rng.normal(size=len(truth.q)) * 2.0**power if rng.random() < 0.7 else None
    multipliers = some_multipliers(rng, len(rows.conic.b), len(truth.q), mu)
    found = minorant(rows, multipliers, along)
    low = np.floor(rng.uniform(-2, 1, size=len(truth.q)))
    high = np.minimum(2.0, low + rng.integers(0, 4, size=len(low)))
    least = found.least(low, high)
    for x in truth.points:
        if all(a <= v <= b for a, v, b in zip(low, x, high, strict=True)):
            value = Fraction(mu) * truth.value(x)
            if along is not None:
                value += sum(Fraction(g) * v for g, v in zip(along.tolist(), x, strict=True))
            assert value >= Fraction(least)


def any_step(rng: np.random.Generator, truth: Enumerated, m: int) -> Step:
    """A limit, row or switched row that is a little true, quite true, or false."""
    n = len(truth.q)
    multipliers = some_multipliers(rng, m, n, float(rng.choice([0.0, 1.0, 0.4])))
    kind = rng.integers(3)
    if kind == 0:
        sign = int(rng.choice([-1, 1]))
        value = float(rng.choice([-3.0, -2.0, -1.5, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0]))
        return DerivedLimit(int(rng.integers(n)), sign, value, multipliers)
    a = rng.integers(-3, 4, size=n).astype(np.float64)
    if kind == 1:
        return DerivedRow(a, float(rng.integers(-4, 12)), multipliers)
    old = int(rng.integers(m))
    a = truth.A[old % len(truth.b)].copy()
    j = int(rng.integers(n))
    a[j] = float(rng.integers(-4, 5))
    side = float(truth.b[old % len(truth.b)]) + float(rng.integers(-3, 4))
    return SwitchedRow(a, side, old, j, int(rng.integers(2)), multipliers)


def met(step: Step, x: tuple[int, ...]) -> bool:
    """Whether a point meets what a step says."""
    match step:
        case DerivedLimit(column=j, sign=sign, value=value):
            return sign * x[j] >= sign * Fraction(value)
        case DerivedRow(a=a, side=side) | SwitchedRow(a=a, side=side):
            total = sum(Fraction(c) * v for c, v in zip(a.tolist(), x, strict=True))
            return total <= Fraction(side)


def test_what_a_step_says_is_met_by_all_points_below_the_cutoff() -> None:
    kept: dict[type, int] = {}
    for seed in range(120 if FULL else 60):
        rng = np.random.default_rng(seed)
        truth = enumerated(seed)
        if rng.random() < 0.5:
            truth = replace(truth, low=0, high=1)
        subject = subject_of(truth.model())
        values = sorted(truth.value(x) for x in truth.points)
        cutoff = float(values[len(values) // 2]) if values and rng.random() < 0.7 else math.inf
        rows = first_rows(subject, cutoff)
        matter = [x for x in truth.points if truth.value(x) <= cutoff]  # exact: a Fraction is
        for _ in range(12):
            step = any_step(rng, truth, len(rows.conic.b))
            if holds(subject, rows, step, cutoff):
                kept[type(step)] = kept.get(type(step), 0) + 1
                assert all(met(step, x) for x in matter)
                rows = joined(rows, [step])
    assert min(kept[kind] for kind in (DerivedLimit, DerivedRow, SwitchedRow)) > 2, kept


def changed(rng: np.random.Generator, proof: TreeProof, truth: Enumerated) -> TreeProof:
    """The proof with one thing changed."""
    certificates, nodes = list(proof.certificates), list(proof.nodes)
    kind = rng.integers(8)
    k = int(rng.integers(len(nodes)))
    node = nodes[k]
    if kind == 0 and certificates:
        c = int(rng.integers(len(certificates)))
        m = certificates[c]
        factor = float(rng.choice([-1.0, 0.0, 1.5, 1e6, math.nan]))
        certificates[c] = replace(m, z=m.z * factor)
    elif kind == 1 and certificates:
        c = int(rng.integers(len(certificates)))
        mu = float(rng.choice([0.0, 1.0, 2.0, -1.0, math.nan]))
        certificates[c] = replace(certificates[c], mu=mu)
    elif kind == 2 and isinstance(node, Branch):
        nodes[k] = replace(node, at=node.at + float(rng.choice([-1.0, 0.5, 1.0, math.inf])))
    elif kind == 3 and isinstance(node, Branch):
        nodes[k] = replace(node, above=node.below)
    elif kind == 4 and isinstance(node, Branch):
        nodes[k] = replace(node, column=int(rng.integers(-1, len(truth.q) + 1)))
    elif kind == 5:
        nodes[k] = Leaf(int(rng.integers(-2, len(certificates) + 2)))
    elif kind == 6:
        return replace(proof, cutoff=proof.cutoff + float(rng.choice([-5.0, 5.0, math.inf])))
    else:
        nodes = nodes[:-1] or nodes
    return replace(proof, certificates=tuple(certificates), nodes=tuple(nodes))


@pytest.mark.parametrize("quadratic", [False, True])
def test_changed_trees_prove_nothing_false(quadratic: bool) -> None:
    rng, proven, refused = np.random.default_rng(5), 0, 0
    for seed in range(40 if FULL else 10):
        truth = enumerated(seed, quadratic=quadratic)
        subject, optimum = subject_of(truth.model()), truth.optimum
        proof = proof_of(truth.model())
        for _ in range(20):
            found = tree_bound(subject, changed(rng, proof, truth))
            if found is None:
                refused += 1
            elif isinstance(found, Infeasible):
                assert optimum is None
            else:
                proven += 1
                assert optimum is None or Fraction(found.varying) <= optimum
    assert proven > 20
    assert refused > 20


def test_a_tree_that_leaves_a_box_out_is_none() -> None:
    truth = enumerated(3)
    subject = subject_of(truth.model())
    proof = proof_of(truth.model())
    bound = tree_bound(subject, proof)
    assert isinstance(bound, LowerBound)
    for nodes in (
        (Branch(0, 0.0, 0, 1), Leaf(0)),  # a child that is its parent
        (Branch(0, 0.0, 1, 1), Leaf(0)),  # one child for both sides
        (Branch(0, 0.0, 1, 2), Leaf(0)),  # a child that is missing
        (Branch(0, 0.5, 1, 2), Leaf(0), Leaf(0)),  # points between the children
        (Branch(7, 0.0, 1, 2), Leaf(0), Leaf(0)),  # a column that is none
        (Leaf(-1),),
    ):
        assert tree_bound(subject, replace(proof, nodes=nodes)) is None


# --- numbers -----------------------------------------------------------------------------------


def numbers(
    mu: Any, rows: Any = (), z: Any = (), columns: Any = (), x: Any = ()
) -> SparseMultipliers:
    places = np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
    return SparseMultipliers(mu, places[0], np.array(z, float), places[1], np.array(x, float))


def tree(multipliers: SparseMultipliers, *nodes: Any) -> TreeProof:
    return TreeProof(math.inf, (), (multipliers,), nodes)


def leaf(
    model: pyo.ConcreteModel, multipliers: SparseMultipliers
) -> LowerBound | Infeasible | None:
    return tree_bound(subject_of(model), tree(multipliers, Leaf(0)))


@pytest.mark.parametrize("domain", [pyo.Reals, pyo.Integers])
def test_what_bends_the_wrong_way_without_limits_has_no_bound(domain: Any) -> None:
    """x^2 + 2 x y + (1 - 2^-53) y^2 falls for ever along (1, -1)."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), within=domain)
    model.k = pyo.Var(within=pyo.Binary)
    x, y = model.x[0], model.x[1]
    model.goal = pyo.Objective(expr=x * x + 2 * x * y + (1 - 2.0**-53) * y * y + model.k)
    assert leaf(model, numbers(1.0)) is None


def test_a_move_that_underflows_is_none() -> None:
    """min 1e-30 y with y = -k and k <= 1e40: -1e10."""
    model = pyo.ConcreteModel()
    model.y = pyo.Var()
    model.k = pyo.Var(within=pyo.Integers, bounds=(0, 1e40))
    model.goal = pyo.Objective(expr=1e-30 * model.y)
    model.row = pyo.Constraint(expr=1e300 * model.y + 1e300 * model.k == 0)
    found = leaf(model, numbers(1.0))
    assert found is None or (isinstance(found, LowerBound) and found.varying <= -1e10)


@pytest.mark.parametrize("power", [20, 1000])
def test_underflow_is_charged_as_often_as_it_is_multiplied(power: int) -> None:
    """f = p (3 x - y)^2 / 2 is 0 along (1, 3), where no proven row may be missed."""
    p, size = 2.0**-600, 2.0**52
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), within=pyo.Integers, bounds=(-size, size))
    x, y = model.x[0], model.x[1]
    model.goal = pyo.Objective(expr=4.5 * p * x * x - 3 * p * x * y + 0.5 * p * y * y)
    subject = subject_of(model)
    rows = first_rows(subject, 0.0)
    at = np.array([2.0**-476, 0.0])
    mu = 2.0**power
    a = mu * (rows.conic.P @ at)
    top = most(rows, a, numbers(mu, (), (), (0,), at[:1]), 0.0, rows.low, rows.high)
    missed = Fraction(float(a[0])) * -(2**50) + Fraction(float(a[1])) * -3 * 2**50
    assert top == math.inf or Fraction(top) >= missed


def test_a_slope_that_the_cost_cancels_keeps_its_rounding() -> None:
    """f = (3 x - y)^2 / 2 - q x + r y falls along (1, 3) or (-1, -3), where q = 3 r is rounded."""
    q, r, size = 9 * 1.1, 3 * 1.1, 2.0**60
    model = pyo.ConcreteModel()
    model.x, model.y = (pyo.Var(within=pyo.Integers, bounds=(-size, size)) for _ in range(2))
    model.goal = pyo.Objective(expr=(3 * model.x - model.y) ** 2 / 2 - q * model.x + r * model.y)
    found = leaf(model, numbers(1.0, (), (), (0,), [1.1]))
    assert Fraction(found.varying) <= -abs(Fraction(q) - 3 * Fraction(r)) * 2**58 < -100


def test_numbers_that_are_no_doubles_and_places_that_are_no_integers_prove_nothing() -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(within=pyo.Integers, bounds=(0, 4000))
    model.t = pyo.Var(bounds=(0.1, 2.0))
    model.row = pyo.Constraint(expr=model.t - 3 * model.x <= 2)
    model.goal = pyo.Objective(expr=model.t)
    subject = subject_of(model)
    rows = first_rows(subject, math.inf)
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
        assert tree_bound(subject, tree(numbers(1.0), Branch(0, at, 1, 2), *leaves)) is None
    proof = tree(numbers(1.0), Branch(0, 2050.0, 1, 2), *leaves)
    assert isinstance(tree_bound(subject, proof), LowerBound)
    assert tree_bound(subject, replace(proof, cutoff=np.float32(1.0))) is None


def test_sums_beyond_doubles_prove_nothing() -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), within=pyo.Integers, bounds=(0, 1e9))
    model.least = pyo.Constraint(range(2), rule=lambda m, i: m.x[i] >= 1e8)
    model.goal = pyo.Objective(expr=model.x[0] + model.x[1])
    assert leaf(model, numbers(0.0, (0, 1), [1.5e300, 1.5e300])) is None


def test_a_branch_on_a_column_that_is_not_whole_is_none() -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 1))
    model.z = pyo.Var(within=pyo.Binary)
    model.goal = pyo.Objective(expr=(model.x - 0.5) ** 2 + model.z)
    subject, leaves = subject_of(model), (Leaf(0), Leaf(0))
    assert tree_bound(subject, tree(numbers(1.0), Branch(0, 0.0, 1, 2), *leaves)) is None
    bound = tree_bound(subject, tree(numbers(1.0), Branch(1, 0.0, 1, 2), *leaves))
    assert bound.varying <= -0.25  # without the constant, 1/4
