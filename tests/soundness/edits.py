"""Edits of models with w, b and z (or several classes) and a derived or stated M.

An edit reads the model only by names that an exact entry and its relaxations share. The optimum of
the edited problem, in which no M occurs: every choice of the indicators, with the rows of points
that are given up left out, by SCIP.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo

from tests.soundness.by_scip import scip_optimum

Apply = Callable[[Any], None]


@dataclass(frozen=True)
class Exact:
    """An exact entry, its relaxations, the rows with M, and the price of a point."""

    entry: str
    relaxations: tuple[str, ...]
    row: str
    price: str


ZERO_ONE = Exact("zero_one_big_m", ("zero_one_relaxed", "zero_one_hinge"), "margin", "penalty")
RAMP = Exact("ramp_big_m", ("ramp_relaxed",), "margin", "C")
RAMP_L1 = Exact("ramp_l1_big_m", ("ramp_l1_relaxed",), "margin", "C")
CLASSES = Exact("multiclass_truncated", ("multiclass_truncated_relaxed",), "covered", "ridge")


@dataclass(frozen=True)
class Edit:
    """What it is about, what it does, and whether models without M and price have all of it."""

    words: str
    apply: Apply
    shared: bool = True


def problem_optimum(model: pyo.ConcreteModel, row: str) -> float:
    """The optimum of an exact model's problem."""
    work, best = model.clone(), math.inf
    rows, z = work.find_component(row), list(work.z.items())
    held = {key: round(entry.value) for key, entry in z if entry.fixed}
    there = {key for key, _ in z if key in rows and rows[key].active}
    for choice in itertools.product((0, 1), repeat=len(z)):
        chosen = list(zip(z, choice, strict=True))
        if any(n != held.get(key, n) or not v.lb <= n <= v.ub for (key, v), n in chosen):
            continue
        for (key, entry), number in chosen:
            entry.fix(number)
            if key in there:
                (rows[key].activate if number == 0 else rows[key].deactivate)()
        best = min(best, scip_optimum(work))
    return best


# --- what an edit does ----------------------------------------------------------------------------


def _weights(m: Any) -> list[Any]:
    return list((m.w if m.find_component("w") is not None else m.B).values())


def _intercept(m: Any) -> Any:
    b = m.find_component("b")
    return 0.0 if b is None else next(iter(b.values()))


def _added(m: Any, component: Any) -> None:
    m.add_component(f"edit_{sum(1 for _ in m.component_objects())}", component)


def _row(m: Any, expr: Any) -> None:
    _added(m, pyo.Constraint(expr=expr))


def _priced(m: Any, more: Any) -> None:
    m.objective.set_value(m.objective.expr + more)


def _absolute(m: Any, term: Any, price: float) -> None:
    block = pyo.Block([0, 1])
    _added(m, block)
    for side in (0, 1):
        block[side].u = pyo.Var(bounds=(0, None))
        block[side].r = pyo.Constraint(expr=block[side].u >= (1 if side else -1) * term)
    _priced(m, price * (block[0].u + block[1].u))


def _one_weight(m: Any, limit: float = 8.0) -> None:
    """At most one weight that is not 0, with a binary for each."""
    block = pyo.Block()
    _added(m, block)
    block.used = pyo.Var(range(len(_weights(m))), within=pyo.Binary)
    block.rows = pyo.ConstraintList()
    for weight, used in zip(_weights(m), block.used.values(), strict=True):
        block.rows.add(weight <= limit * used)
        block.rows.add(weight >= -limit * used)
    block.rows.add(sum(block.used.values()) <= 1)


def _whole(m: Any, weight: Any) -> None:
    block = pyo.Block()
    _added(m, block)
    block.n = pyo.Var(within=pyo.Integers, bounds=(-2, 2))
    block.row = pyo.Constraint(expr=weight == block.n)


KINDS = 21


def edit_of(rng: np.random.Generator, kind: int, n: int, d: int, of: Exact) -> Edit:
    """One edit of a kind, at a random place."""
    i, j = int(rng.integers(n)), int(rng.integers(d))
    c = float(rng.choice([-3.0, -2.0, -1.0, 0.25, 0.5, 1.0, 3.0]))
    few = int(rng.integers(0, n))
    factor = float(rng.choice([0.125, 0.5, 3.0, 8.0]))
    factors = rng.choice([0.125, 0.5, 1.0, 4.0], size=n)

    def repriced(m: Any) -> None:
        component = m.find_component(of.price)
        component.set_value(factor * pyo.value(component))

    def own_prices(m: Any) -> None:
        price = pyo.value(m.find_component(of.price))
        _priced(
            m, sum(float(f - 1) * price * z for f, z in zip(factors, m.z.values(), strict=True))
        )

    def decided(m: Any) -> None:
        m.z[i].setlb(few % 2)
        m.z[i].setub(few % 2)

    last = "v" if of is CLASSES else "z"
    edits = (
        Edit(f"{of.price} times {factor}", repriced, shared=False),
        Edit(f"prices times {factors.tolist()}", own_prices, shared=False),
        Edit(f"+ {abs(c)} |w_{j}|", lambda m: _absolute(m, _weights(m)[j], abs(c))),
        Edit(f"+ {c} w_{j}", lambda m: _priced(m, c * _weights(m)[j])),
        Edit(f"+ (w_{j} - {2 * c})^2", lambda m: _priced(m, (_weights(m)[j] - 2 * c) ** 2)),
        Edit(f"- 0.25 z_{i}", lambda m: _priced(m, -0.25 * m.z[i])),
        Edit(f"+ {abs(c)} z_{i}", lambda m: _priced(m, abs(c) * m.z[i])),
        Edit(f"w_{j} >= {c}", lambda m: _row(m, _weights(m)[j] >= c)),
        Edit(f"|w_{j}| >= {c} from above", lambda m: _row(m, _weights(m)[j] <= -abs(c))),
        Edit(f"b + w_{j} = {c}", lambda m: _row(m, _intercept(m) + _weights(m)[j] == c)),
        Edit(f"at most {few} z", lambda m: _row(m, sum(m.z.values()) <= few)),
        Edit(f"at least {few + 1} z", lambda m: _row(m, sum(m.z.values()) >= few + 1)),
        Edit(f"{of.row}[{i}] out", lambda m: m.find_component(of.row)[i].deactivate(), False),
        Edit(f"all {of.row} out", lambda m: m.find_component(of.row).deactivate(), shared=False),
        Edit(f"z_{i} = {few % 2}", lambda m: m.z[i].fix(few % 2)),
        Edit(f"z_{i} = {few % 2} by bounds", decided),
        Edit(f"w_{j} = {c}", lambda m: _weights(m)[j].fix(c)),
        Edit("one weight", _one_weight),
        Edit(f"w_{j} whole", lambda m: _whole(m, _weights(m)[j])),
        Edit(f"{last}_{i} >= 0.5", lambda m: _row(m, m.find_component(last)[i] >= 0.5)),
        Edit(f"+ ({last}_{i} - 3)^2", lambda m: _priced(m, (m.find_component(last)[i] - 3) ** 2)),
    )
    assert len(edits) == KINDS
    return edits[kind % KINDS]
