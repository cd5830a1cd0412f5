"""Edited models that were built with a derived M, beside what SCIP finds.

A relaxation as it stands: SCIP reads the LP file that Pyomo writes of it. The problem of an exact
model: every choice of the indicators, with the rows of points that are given up left out, one such
file each. What a relaxation says of the problem is held against the latter.
"""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pyscipopt

import tightmargin as tm
from tests.soundness.asking import SECONDS, said_by
from tests.soundness.exact import constant_of
from tests.soundness.judge import Answer, Case, Truth, infeasible, optimum, unbounded

ERROR = 2e-5  # of SCIP at its tolerances, relative to max(1, |value|)
# Exact entry, its relaxations, the rows with M, and the price of a point.
FAMILIES: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    ("zero_one_big_m", ("zero_one_relaxed", "zero_one_hinge"), "margin", "penalty"),
    ("ramp_big_m", ("ramp_relaxed",), "margin", "C"),
    ("ramp_l1_big_m", ("ramp_l1_relaxed",), "margin", "C"),
    ("multiclass_truncated", ("multiclass_truncated_relaxed",), "covered", "ridge"),
)
Apply = Callable[[Any], None]


class NoWitnessError(AssertionError):
    """SCIP ends without an answer: the case is drawn again."""


# --- the witness ----------------------------------------------------------------------------------


def scip_optimum(model: pyo.ConcreteModel) -> float:
    """Optimum of a model by its LP file; inf without a point, -inf without a least value.

    HiGHS is no witness here: of 40 of these quadratic programs its 1.15 calls one unbounded, and
    ends another one 6 % above the optimum.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.lp"
        model.write(str(path), io_options={"symbolic_solver_labels": True})
        path.write_text(path.read_text().replace(" ^ 2", "^2"))  # as SCIP reads squares
        scip = pyscipopt.Model()
        scip.hideOutput()
        scip.readProblem(str(path))
    scip.setParam("limits/time", 5.0)
    scip.setParam("numerics/feastol", 1e-8)
    scip.optimize()
    match scip.getStatus():
        case "optimal":
            return float(scip.getObjVal())
        case "infeasible":
            return math.inf
        case "unbounded":
            return -math.inf
    raise NoWitnessError(scip.getStatus())


def problem_optimum(model: pyo.ConcreteModel, row: str) -> float:
    """The optimum of an exact model's problem, in which no M occurs."""
    work, best = model.clone(), math.inf
    rows, z = work.find_component(row), list(work.z.items())
    held = {key: round(entry.value) for key, entry in z if entry.fixed}
    there = {key for key, _ in z if key in rows and rows[key].active}
    for choice in itertools.product((0, 1), repeat=len(z)):
        for (key, entry), number in zip(z, choice, strict=True):
            entry.fix(number)
            if key in there:
                (rows[key].activate if number == 0 else rows[key].deactivate)()
        outside = any(choice[k] != held.get(key, choice[k]) for k, (key, _) in enumerate(z))
        outside |= any(not (v.lb <= n <= v.ub) for (_, v), n in zip(z, choice, strict=True))
        best = best if outside else min(best, scip_optimum(work))
    return best


def truth_of(value: float, model: pyo.ConcreteModel, *, paper: bool = False) -> Truth:
    if value == math.inf:
        return infeasible(paper=paper)
    if value == -math.inf:
        return unbounded(paper=paper)
    scale = max(1.0, abs(value))
    return optimum(value, error=ERROR * scale, constant=constant_of(model), size=scale, paper=paper)


# --- the edits ------------------------------------------------------------------------------------


def _weights(m: Any) -> list[Any]:
    return list((m.w if m.find_component("w") is not None else m.B).values())


def _added(m: Any, component: Any) -> None:
    m.add_component(f"edit_{sum(1 for _ in m.component_objects())}", component)


def _priced(m: Any, more: Any) -> None:
    m.objective.set_value(m.objective.expr + more)


def _absolute(m: Any, term: Any, price: float) -> None:
    block = pyo.Block([0, 1])
    _added(m, block)
    for side in (0, 1):
        block[side].u = pyo.Var(bounds=(0, None))
        block[side].r = pyo.Constraint(expr=block[side].u >= (1 if side else -1) * term)
    _priced(m, price * (block[0].u + block[1].u))


def _row(m: Any, expr: Any) -> None:
    _added(m, pyo.Constraint(expr=expr))


def edit_of(rng: np.random.Generator, kind: int, row: str, price: str) -> tuple[str, Apply]:
    """One edit, which reads the model only by names that exact entry and relaxation share."""
    i, j = int(rng.integers(4)), int(rng.integers(2))
    c = float(rng.choice([-2.0, -1.0, 0.5, 1.0, 3.0]))
    few = int(rng.integers(1, 4))
    factor = float(rng.choice([0.125, 0.5, 3.0, 8.0]))

    def repriced(m: Any) -> None:
        component = m.find_component(price)
        component.set_value(factor * pyo.value(component))

    last = "v" if row == "covered" else "z"
    edits: tuple[tuple[str, Apply], ...] = (
        (f"{price} times {factor}", repriced),
        (f"+ {abs(c)} |w_{j}|", lambda m: _absolute(m, _weights(m)[j], abs(c))),
        (f"+ {c} w_{j}", lambda m: _priced(m, c * _weights(m)[j])),
        (f"+ (w_{j} - {2 * c})^2", lambda m: _priced(m, (_weights(m)[j] - 2 * c) ** 2)),
        (f"- 0.25 z_{i}", lambda m: _priced(m, -0.25 * m.z[i])),
        (f"+ {abs(c)} z_{i}", lambda m: _priced(m, abs(c) * m.z[i])),
        (f"w_{j} >= {c}", lambda m: _row(m, _weights(m)[j] >= c)),
        (f"|w_{j}| >= {c} from above", lambda m: _row(m, _weights(m)[j] <= -abs(c))),
        (f"at most {few} z", lambda m: _row(m, sum(m.z.values()) <= few)),
        (f"at least {few} z", lambda m: _row(m, sum(m.z.values()) >= few)),
        (f"{row}[{i}] out", lambda m: m.find_component(row)[i].deactivate()),
        (f"all {row} out", lambda m: m.find_component(row).deactivate()),
        (f"z_{i} = {few % 2}", lambda m: m.z[i].fix(few % 2)),
        (f"w_{j} = {c}", lambda m: _weights(m)[j].fix(c)),
        (f"{last}_{i} >= 0.5", lambda m: _row(m, m.find_component(last)[i] >= 0.5)),
        (f"+ ({last}_{i} - 3)^2", lambda m: _priced(m, (m.find_component(last)[i] - 3) ** 2)),
    )
    return edits[kind % len(edits)]


# --- the cases ------------------------------------------------------------------------------------


def _drawn(rng: np.random.Generator, family: int) -> tuple[Any, dict[str, Any]]:
    X = rng.integers(-2, 3, size=(4, 2)).astype(float)
    mode = str(rng.choice(["penalised", "none", "free"]))
    price = float(rng.choice([0.25, 1.0, 4.0]))
    if family == 3:
        data = tm.MulticlassData(X, np.array([0, 1, 2, int(rng.integers(3))]))
        own = {"ridge": price / 8, "truncation": -0.5, "intercept": mode}
        return data, own | {"big_m": "derived"}
    y = np.where(rng.random(4) < 0.5, 1, -1)
    y[:2] = 1, -1
    word = FAMILIES[family][3]
    return tm.TrainingData(X, y), {word: price, "intercept": mode, "big_m": "derived"}


def derived_case(rng: np.random.Generator, index: int) -> Case:
    """A model with a derived M after one or two edits; drawn again where SCIP knows nothing."""
    while True:
        family = index % len(FAMILIES)
        exact, relaxations, row, price = FAMILIES[family]
        data, words = _drawn(rng, family)
        count = 1 + int(rng.random() < 0.4)
        kinds = [int(rng.integers(16)) for _ in range(count - 1)] + [index // len(FAMILIES)]
        edits = [edit_of(rng, kind, row, price) for kind in kinds]
        name = str(rng.choice(relaxations)) if rng.random() < 0.6 else exact
        try:
            whole, model = (_edited(entry, data, words, edits) for entry in (exact, name))
            best = problem_optimum(whole, row)
            alone = best if name == exact else scip_optimum(model)
        except (NoWitnessError, ValueError):
            continue
        label = f"{name} {words} {' and '.join(word for word, _ in edits)}"
        asked = _of_exact if name == exact else _of_relaxation
        return Case(label, partial(asked, label, model, alone, best))


def _edited(
    entry: str, data: Any, words: dict[str, Any], edits: list[tuple[str, Apply]]
) -> pyo.ConcreteModel:
    model = tm.build(entry, data, **words)
    for _, apply in edits:
        apply(model)
    return model


def _numbers(model: pyo.ConcreteModel) -> list[float]:
    return list(model.big_m.extract_values().values())


def _of_exact(label: str, model: Any, alone: float, best: float) -> list[Answer]:
    before = _numbers(model)
    result = tm.solve(model, time_limit=SECONDS)
    extra = "" if _numbers(model) == before else "solve changed the model"
    other = list(result.parameters["big_m"]) != before
    if other and " of the edited problem, by a copy" not in repr(result):
        extra = "the verdict's line does not name the copy"
    answers = [Answer(label, said_by(result, model), truth_of(best, model, paper=True), extra)]
    try:
        tm.rederive(model, time_limit=SECONDS)
    except ValueError:
        return answers
    again = tm.solve(model, time_limit=SECONDS)
    odd = "a copy of what was derived" if "by a copy" in repr(again) else ""
    known = truth_of(best, model, paper=True)
    return [*answers, Answer(f"{label}, rederived", said_by(again, model), known, odd)]


def _of_relaxation(label: str, model: Any, alone: float, best: float) -> list[Answer]:
    before = _numbers(model)
    result = tm.solve(model, time_limit=SECONDS)
    extra = "" if _numbers(model) == before else "solve changed the model"
    if list(result.parameters["big_m"]) != before:
        extra = "solved with another M"
    said = said_by(result, model)
    answers = [Answer(label, said, truth_of(alone, model), extra)]
    answers += _of_the_problem(label, said, best)
    try:
        tm.rederive(model, time_limit=SECONDS)
    except ValueError:
        return answers
    try:
        now = scip_optimum(model)
    except NoWitnessError:
        return answers
    again = said_by(tm.solve(model, time_limit=SECONDS), model)
    label += ", rederived"
    return [
        *answers,
        Answer(label, again, truth_of(now, model)),
        *_of_the_problem(label, again, best),
    ]


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
