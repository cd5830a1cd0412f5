"""What the kernel lets pass of a tree, against enumeration in rational numbers."""

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
    TreeSearch,
    first_rows,
    holds,
    joined,
    lattice,
    minorant,
    on_lattice,
    standard_form,
    tree_bound,
    tree_search,
)
from tests.support.covering import FULL
from tests.support.integer_models import Enumerated, enumerated

SEEDS = st.integers(0, 2**32 - 1)


def subject_of(model: pyo.ConcreteModel) -> Subject:
    return Subject(standard_form(model))


def search_of(model: pyo.ConcreteModel, **words: Any) -> TreeSearch:
    case = Case(model, subject_of(model), None, Limits(time_limit=20.0, threads=1))
    return tree_search(case, **words)


def some_multipliers(rng: np.random.Generator, m: int, n: int, mu: float) -> SparseMultipliers:
    """Any numbers, of the wrong sign and of any size too."""
    rows = np.flatnonzero(rng.random(m) < 0.7)
    columns = np.flatnonzero(rng.random(n) < 0.7)
    size = 2.0 ** rng.integers(-20, 20)
    return SparseMultipliers(
        mu, rows, rng.normal(size=len(rows)) * size, columns, rng.normal(size=len(columns)) * 4
    )


@given(seed=SEEDS, power=st.integers(-60, 60), mu=st.sampled_from([0.0, 1.0, 0.5, 0.3, 7.1]))
@settings(max_examples=150 if FULL else 40)
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
        proof = search_of(truth.model()).proof
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
    proof = search_of(truth.model()).proof
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


def test_a_branch_on_a_column_that_is_not_whole_is_none() -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 1))
    model.z = pyo.Var(within=pyo.Binary)
    model.goal = pyo.Objective(expr=(model.x - 0.5) ** 2 + model.z)
    none = np.zeros(0, dtype=np.int64)
    flat = SparseMultipliers(1.0, none, np.zeros(0), none, np.zeros(0))
    proof = TreeProof(math.inf, (), (flat,), (Branch(0, 0.0, 1, 2), Leaf(0), Leaf(0)))
    assert tree_bound(subject_of(model), proof) is None
    right = replace(proof, nodes=(Branch(1, 0.0, 1, 2), Leaf(0), Leaf(0)))
    bound = tree_bound(subject_of(model), right)
    assert bound.varying <= -0.25  # without the constant, 1/4


def test_values_of_a_lattice_round_up_and_no_others() -> None:
    model = pyo.ConcreteModel()
    model.z = pyo.Var(range(3), within=pyo.Integers, bounds=(0, 9))
    model.t = pyo.Var(bounds=(0, 1))
    model.goal = pyo.Objective(expr=0.75 * model.z[0] + 0.5 * model.z[1] - 3 * model.z[2])
    model.row = pyo.Constraint(expr=model.z[0] + model.t >= 0.5)
    step = lattice(subject_of(model))
    assert step == Fraction(1, 4)
    assert on_lattice(0.26, step) == 0.5
    assert on_lattice(-0.26, step) == -0.25
    assert on_lattice(0.5, step) == 0.5
    model.goal.expr += model.t
    assert lattice(subject_of(model)) is None
    model.goal.expr -= model.t
    model.goal.expr += model.z[0] ** 2
    assert lattice(subject_of(model)) is None
