"""Catalogue models after an edit, beside the optimum of the edited problem.

Exact models and relaxations with M: by SCIP, for every choice of the indicators, without the rows
of points that are given up: no M occurs. An edit reads the model only by names that an exact entry
and its relaxations share. Another convex entry: the edited model itself, read into cvxpy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo

import tightmargin as tm
from tests.references import reference_solutions
from tests.soundness import exact
from tests.soundness import questions as q
from tests.soundness.asking import SECONDS, said_by, solving
from tests.soundness.by_scip import ERROR, scip_optimum, truth_of
from tests.soundness.judge import Answer, Case, Said, infeasible, optimum

Apply = Callable[[Any], None]


class Exact(NamedTuple):
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


def _weights(m: Any) -> list[Any]:
    return list((m.w if m.find_component("w") is not None else m.B).values())


def _intercept(m: Any) -> Any:
    b = m.find_component("b")
    return 0.0 if b is None else next(iter(b.values()))


def _added(m: Any, component: Any) -> Any:
    m.add_component(f"edit_{sum(1 for _ in m.component_objects())}", component)
    return component


def _row(m: Any, expr: Any) -> None:
    _added(m, pyo.Constraint(expr=expr))


def _priced(m: Any, more: Any) -> None:
    m.objective.set_value(m.objective.expr + more)


def _absolute(m: Any, term: Any, price: float) -> None:
    u = _added(m, pyo.Var([-1, 1], bounds=(0, None)))
    for side in (-1, 1):
        _row(m, u[side] >= side * term)
    _priced(m, price * (u[-1] + u[1]))


def _one_weight(m: Any, limit: float = 8.0) -> None:
    """At most one weight that is not 0, with a binary for each."""
    block = _added(m, pyo.Block())
    block.used = pyo.Var(range(len(_weights(m))), within=pyo.Binary)
    block.rows = pyo.ConstraintList()
    for weight, used in zip(_weights(m), block.used.values(), strict=True):
        block.rows.add(weight <= limit * used)
        block.rows.add(weight >= -limit * used)
    block.rows.add(sum(block.used.values()) <= 1)


def _whole(m: Any, weight: Any) -> None:
    _row(m, weight == _added(m, pyo.Var(within=pyo.Integers, bounds=(-2, 2))))


KINDS = 21  # of `edit_of`


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
        prices = price * (factors - 1)
        _priced(m, sum(float(p) * z for p, z in zip(prices, m.z.values(), strict=True)))

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
        Edit(f"z_{i} = {few % 2} by bounds", lambda m: setattr(m.z[i], "bounds", (few % 2,) * 2)),
        Edit(f"w_{j} = {c}", lambda m: _weights(m)[j].fix(c)),
        Edit("one weight", _one_weight),
        Edit(f"w_{j} whole", lambda m: _whole(m, _weights(m)[j])),
        Edit(f"{last}_{i} >= 0.5", lambda m: _row(m, m.find_component(last)[i] >= 0.5)),
        Edit(f"+ ({last}_{i} - 3)^2", lambda m: _priced(m, (m.find_component(last)[i] - 3) ** 2)),
    )
    return edits[kind % len(edits)]


TURNS = (ZERO_ONE, RAMP, ZERO_ONE, RAMP_L1, CLASSES)


@dataclass(frozen=True)
class Edited:
    """Data, hyperparameters and edits of an exact entry, and the edited problem's optimum."""

    of: Exact
    data: Any
    words: dict[str, Any]
    edits: tuple[Edit, ...]
    best: float

    @property
    def label(self) -> str:
        words = " ".join(f"{name}={value}" for name, value in self.words.items())
        edits = " and ".join(edit.words for edit in self.edits)
        return f"n={self.data.n} d={self.data.d} {words} {edits}"

    def model(self, entry: str, **other: Any) -> pyo.ConcreteModel:
        model = tm.build(entry, self.data, **(other or self.words))
        for edit in self.edits:
            edit.apply(model)
        return model


def edited(rng: np.random.Generator, of: Exact, kind: int, big_m: Any = "derived") -> Edited:
    """One or two edits, the last of a kind; drawn again where SCIP knows nothing."""

    def draw() -> Edited:
        n, d = int(rng.integers(3, 6)), int(rng.integers(1, 3))
        X, y = q.points(rng, n, d)
        price = float(rng.choice([0.25, 1.0, 4.0]))
        words = {"intercept": str(rng.choice(q.ALL)), "big_m": big_m}
        data: Any = tm.TrainingData(X, y)
        if of is CLASSES:
            data = tm.MulticlassData(X, np.r_[[0, 1, 2], rng.integers(3, size=n - 3)])
            words |= {"ridge": price / 8, "truncation": -0.5}
        else:
            words[of.price] = price
        kinds = [int(rng.integers(KINDS))] * int(rng.random() < 0.3) + [kind]
        edits = tuple(edit_of(rng, each, n, d, of) for each in kinds)
        found = Edited(of, data, words, edits, math.nan)
        return replace(found, best=problem_optimum(found.model(of.entry), of.row))

    return q.again(draw, ValueError)


def edited_case(rng: np.random.Generator, index: int) -> Case:
    """An exact model, or its relaxation, with derived or stated M, edited; then derived again."""

    def draw() -> Case:
        found = edited(rng, TURNS[index % 5], index, "derived" if rng.random() < 0.7 else 1e3)
        relaxed = rng.random() < 0.6
        name = str(rng.choice(found.of.relaxations)) if relaxed else found.of.entry
        model = found.model(name)
        alone = scip_optimum(model) if relaxed else found.best
        label = f"edited {name} {found.label}"
        ask = _of_relaxation if relaxed else _of_exact
        return Case(label, partial(ask, label, model, alone, found.best))

    return q.again(draw, ValueError)


def _numbers(model: pyo.ConcreteModel) -> list[float]:
    return list(model.big_m.extract_values().values())


def _solved(model: Any) -> tuple[Any, str, bool]:
    """A result, what is wrong if the model was changed, and whether a copy was solved."""
    before = _numbers(model)
    result = tm.solve(model, time_limit=SECONDS)
    odd = "" if _numbers(model) == before else "solve changed the model"
    return result, odd, list(np.ravel(result.parameters["big_m"])) != before


def _of_exact(label: str, model: Any, alone: float, best: float) -> list[Answer]:
    result, odd, copied = _solved(model)
    if copied and " of the edited problem, by a copy" not in repr(result):
        odd = "the verdict's line does not name the copy"
    answers = [Answer(label, said_by(result, model), truth_of(best, model, paper=True), odd)]
    try:
        tm.rederive(model, time_limit=SECONDS)
    except ValueError:
        return answers
    again, _, _ = _solved(model)
    odd = "a copy of what was derived" if "by a copy" in repr(again) else ""
    known = truth_of(best, model, paper=True)
    return [*answers, Answer(f"{label}, rederived", said_by(again, model), known, odd)]


def _of_relaxation(label: str, model: Any, alone: float, best: float) -> list[Answer]:
    result, odd, copied = _solved(model)
    said = said_by(result, model)
    odd = "solved with another M" if copied else odd
    answers = [Answer(label, said, truth_of(alone, model), odd)]
    answers += _of_the_problem(label, said, best)
    try:
        tm.rederive(model, time_limit=SECONDS)
        now = scip_optimum(model)
    except (ValueError, q.NoWitnessError):
        return answers
    again = said_by(tm.solve(model, time_limit=SECONDS), model)
    label += ", rederived"
    answers.append(Answer(label, again, truth_of(now, model)))
    return answers + _of_the_problem(label, again, best)


def _of_the_problem(label: str, said: Any, best: float) -> list[Answer]:
    """What is said of the problem where `unproven` is empty: the bound, or that it has no point."""
    if said.unproven:
        return []
    empty = said.proven and said.status == "infeasible"
    beyond = math.inf if empty else said.bound
    if beyond is None or best == math.inf or beyond <= best + 2 * ERROR * max(1.0, abs(best)):
        return []
    extra = f"{beyond:.9g} is said to bound the problem, whose optimum is {best:.9g}"
    return [
        Answer(f"{label}, the problem", replace(said, bound=None), infeasible(paper=True), extra)
    ]


COMPARED = ("conic_sdp", "zero_one_relaxed", "zero_one_big_m", "zero_one_hinge")


def table_case(rng: np.random.Generator, index: int) -> Case:
    """compare() with an edited row beside the unedited exact problem."""
    name = COMPARED[index % len(COMPARED)]
    while True:
        found = edited(rng, ZERO_ONE, index // len(COMPARED))
        free = found.words["intercept"] == "free"
        # The semidefinite model has rows and an objective of its own.
        if name != "conic_sdp" or (not free and all(edit.shared for edit in found.edits)):
            break
        index += len(COMPARED)
    data, words = found.data, found.words
    best = float(exact.zero_one(data.X, data.y, words["intercept"], words["penalty"]))
    size = data.n * words["penalty"]
    known = optimum(best, error=1e-6 * max(1.0, abs(best)), size=size, paper=True)
    label = f"compare, edited {name} {found.label}"

    def ask() -> list[Answer]:
        own = {k: v for k, v in words.items() if name != "conic_sdp" or k != "big_m"}
        model = found.model(name, **own)
        relaxed = ["zero_one_relaxed", model]
        table = tm.compare(data, relaxed, parameters=words, time_limit=SECONDS)
        answers = []
        for k, row in enumerate(table.rows):
            said = said_by_row(row, table, model if k == 1 else None)
            extra = _beside(table, row, found.best, best) if k == 1 else ""
            told = f"{label}: row {row.label}"
            answers.append(Answer(told, said, known, extra, counted=row.certified))
        if table.exact is not None:
            answers.append(Answer(f"{label}: exact", said_by(table.exact), known))
        return answers

    return Case(label, ask)


def said_by_row(row: Any, table: Any, model: Any) -> Said:
    """The bound of a row that enters a gap; its value is that of another problem."""
    said = said_by(row.result, model)
    bound = table.bound_of(row) if table.relative_gap(row) is not None else None
    return Said(bound=bound, status=said.status, unproven=said.unproven, numbers=said.numbers)


def _beside(table: Any, row: Any, edited: float, unedited: float) -> str:
    """A gap of an edited row beside the unedited optimum, where the edit excludes that optimum."""
    apart = edited > unedited + 2 * ERROR * max(1.0, abs(unedited))
    wrong = f"a gap beside {unedited:.6g}, the optimum of the edited problem is {edited:.6g}"
    return wrong if apart and table.relative_gap(row) is not None else ""


CONVEX = (
    ("c_svc", {"C": 1.0}), ("soft_margin_svc", {"ridge": 0.125}), ("nu_svc", {"nu": 0.25}),
    ("rsvm", {"norm_bound": 0.5}), ("conic_sdp", {"penalty": 1.0}),
    ("zero_one_relaxed", {"penalty": 1.0, "big_m": 20.0}),
    ("ramp_relaxed", {"C": 1.0, "big_m": 20.0}),
    ("c_svc_dual", {"C": 1.0}), ("conic_sdp_budget", {"budget": 0.25}),
    ("extended_nu_svc_ball", {"nu": 0.25}),
)  # fmt: skip


def convex_edit(rng: np.random.Generator, model: Any, kind: int) -> str:
    """One row, bound, fixing, deletion or term of a convex model, by the names it has."""
    names = ("w", "z", "xi", "alpha", "b")
    name = str(rng.choice([name for name in names if model.find_component(name) is not None]))
    members = list(model.find_component(name).values())
    v = members[int(rng.integers(len(members)))]
    c = float(rng.choice([-1.0, 0.25, 0.5, 2.0]))
    match kind % 6:
        case 0 | 1 as below:
            model.edit = pyo.Constraint(expr=sum(members) <= c if below else sum(members) >= c)
            return f"sum {name} {'<=' if below else '>='} {c}"
        case 2:
            v.fix(abs(c) / 2)
            return f"{v.name} = {abs(c) / 2}"
        case 3:
            rows = list(model.component_data_objects(pyo.Constraint, active=True))
            row = rows[int(rng.integers(len(rows)))]
            row.deactivate()
            return f"{row.name} deleted"
        case 4:
            model.objective.set_value(model.objective.expr + (v - c) ** 2)
            return f"+ ({v.name} - {c})^2"
        case _:
            v.setub(max(abs(c), v.lb or 0.0))
            return f"{v.name} <= {abs(c)}"


def _attaining(model: Any, words: str) -> Any:
    """A model of the same infimum that attains it.

    Without its row T_i of conic_sdp is free: p_i^2 <= T_i z_i lets z_i fall to 0 as T_i grows, and
    the infimum is that of the model without this cone.
    """
    if not words.startswith("lifted["):
        return model
    without = model.clone()
    without.inside[int(words[len("lifted[") : words.index("]")])].deactivate()
    return without


def convex_case(rng: np.random.Generator, index: int) -> Case:
    """A convex entry with an edit; drawn again where cvxpy finds no optimum."""

    def draw() -> Case:
        name, parameters = CONVEX[index % len(CONVEX)]
        mode = str(rng.choice(["penalised", "none"]))
        data = tm.TrainingData(*q.points(rng, int(rng.integers(4, 9)), int(rng.integers(1, 3))))
        model = tm.build(name, data, intercept=mode, **parameters)
        words = convex_edit(rng, model, index // len(CONVEX))
        value = reference_solutions.pyomo_optimum(_attaining(model, words))
        truth = optimum(value, error=1e-6 * max(1.0, abs(value)), size=data.n)
        return solving(f"edited {name} n={data.n} d={data.d} {mode} {words}", model, truth)

    return q.again(draw, ValueError, cp.error.DCPError)
