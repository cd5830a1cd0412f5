"""Catalogue models after an edit, beside the optimum of the edited problem.

The 0-1 loss: every choice of z, one convex program each, in which no big-M occurs. A convex entry:
the edited Pyomo model itself, read row by row into cvxpy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo

import tightmargin as tm
from tests.references import reference_solutions
from tests.soundness import exact
from tests.soundness import questions as q
from tests.soundness.asking import SECONDS, said_by, solving
from tests.soundness.edits import EDITS, Edit, edited_optimum, some_edit
from tests.soundness.judge import Answer, Case, Kind, Said, Truth, infeasible, optimum

ERROR = 1e-6
ZERO_ONE = ("zero_one_big_m", "zero_one_relaxed", "zero_one_big_m", "zero_one_hinge")


def zero_one_question(
    rng: np.random.Generator, kind: int
) -> tuple[Any, str, float, Edit, Truth, str]:
    """Data, an edit, and the optimum of the edited 0-1 problem."""
    while True:
        mode = str(rng.choice(["free", "penalised", "none"]))
        n, d = int(rng.integers(3, 6)), int(rng.integers(1, 3))
        data = tm.TrainingData(*q.points(rng, n, d))
        penalty = float(rng.choice([0.5, 1.0, 4.0]))
        edit = some_edit(rng, data, mode, kind, penalty)
        try:
            best = edited_optimum(data, mode, penalty, edit)
            break
        except q.NO_WITNESS:
            continue
    truth = infeasible(paper=True)
    if np.isfinite(best):
        truth = optimum(best, error=ERROR * max(1.0, abs(best)), size=n * penalty, paper=True)
    return data, mode, penalty, edit, truth, f"n={n} d={d} {mode} penalty={penalty} {edit.words}"


def zero_one_case(rng: np.random.Generator, index: int) -> Case:
    """An exact 0-1 model, or its relaxation, with derived or stated M, edited."""
    data, mode, penalty, edit, truth, words = zero_one_question(rng, index)
    name = ZERO_ONE[index // len(EDITS) % len(ZERO_ONE)]
    big_m = "derived" if rng.random() < 0.7 else 1e3
    label = f"edited {name} M={big_m} {words}"

    def ask() -> list[Answer]:
        model = tm.build(name, data, penalty=penalty, big_m=big_m, intercept=mode)
        edit.model(model)
        result = tm.solve(model, time_limit=SECONDS)
        said, known = said_by(result, model), truth
        if name != "zero_one_big_m":  # of a relaxation only the bound speaks of the problem
            known = replace(truth, kind=Kind.POINT)
            if truth.kind is Kind.INFEASIBLE:
                return []
        return [Answer(label, said, known)]

    return Case(label, ask)


# --- convex entries -------------------------------------------------------------------------------

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
    names = [
        name for name in ("w", "z", "xi", "alpha", "b") if model.find_component(name) is not None
    ]
    name = str(rng.choice(names))
    members = list(model.find_component(name).values())
    v = members[int(rng.integers(len(members)))]
    c = float(rng.choice([-1.0, 0.25, 0.5, 2.0]))
    match kind % 6:
        case 0:
            model.edit = pyo.Constraint(expr=sum(members) >= c)
            return f"sum {name} >= {c}"
        case 1:
            model.edit = pyo.Constraint(expr=sum(members) <= c)
            return f"sum {name} <= {c}"
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
    while True:
        name, parameters = CONVEX[index % len(CONVEX)]
        mode = str(rng.choice(["penalised", "none"]))
        data = tm.TrainingData(*q.points(rng, int(rng.integers(4, 9)), int(rng.integers(1, 3))))
        try:
            model = tm.build(name, data, intercept=mode, **parameters)
            words = convex_edit(rng, model, index // len(CONVEX))
            value = reference_solutions.pyomo_optimum(_attaining(model, words))
        except (*q.NO_WITNESS, ValueError, cp.error.DCPError):
            continue
        truth = optimum(value, error=ERROR * max(1.0, abs(value)), size=data.n)
        return solving(f"edited {name} n={data.n} d={data.d} {mode} {words}", model, truth)


# --- tables ---------------------------------------------------------------------------------------


def table_case(rng: np.random.Generator, index: int) -> Case:
    """compare() with an edited row beside the unedited exact problem."""
    data, mode, penalty, edit, truth, words = zero_one_question(rng, index)
    name = ("conic_sdp", "zero_one_relaxed", "zero_one_big_m", "zero_one_hinge")[
        index // len(EDITS) % 4
    ]
    mode = "penalised" if name == "conic_sdp" and mode == "free" else mode
    best = float(exact.zero_one(data.X, data.y, mode, penalty))
    label = f"compare, edited {name} {words}"
    known = optimum(best, error=ERROR * max(1.0, abs(best)), size=data.n * penalty, paper=True)

    def ask() -> list[Answer]:
        derived = {} if name == "conic_sdp" else {"big_m": "derived"}
        model = tm.build(name, data, penalty=penalty, intercept=mode, **derived)
        if name == "conic_sdp" and (edit.freed or edit.prices is not None):
            return []  # its rows and its objective are others
        edit.model(model)
        given = {"penalty": penalty, "intercept": mode, "big_m": "derived"}
        relaxed = ["zero_one_relaxed", model]
        table = tm.compare(data, relaxed, parameters=given, time_limit=SECONDS)
        answers = [
            Answer(
                f"{label}: row {row.label}",
                said_by_row(row, table, model if k == 1 else None),
                known,
                _beside(table, row, k == 1, truth, known),
                counted=row.certified,
            )
            for k, row in enumerate(table.rows)
        ]
        if table.exact is not None:
            answers.append(Answer(f"{label}: exact", said_by(table.exact), known))
        return answers

    return Case(label, ask)


def said_by_row(row: Any, table: Any, model: Any) -> Said:
    """The bound of a row that enters a gap; its value is that of another problem."""
    said = said_by(row.result, model)
    bound = table.bound_of(row) if table.relative_gap(row) is not None else None
    return Said(bound=bound, status=said.status, unproven=said.unproven, numbers=said.numbers)


def _beside(table: Any, row: Any, edited: bool, truth: Truth, known: Truth) -> str:
    """A gap of an edited row beside the unedited optimum, where the edit excludes that optimum."""
    if not edited or table.relative_gap(row) is None:
        return ""
    if truth.kind is Kind.INFEASIBLE:
        return "a gap of a row whose edited problem has no point"
    if truth.value > known.value + truth.error + known.error:
        unedited, optimum_there = float(known.value), float(truth.value)
        return f"a gap beside {unedited:.6g}, the edited optimum is {optimum_there:.6g}"
    return ""
