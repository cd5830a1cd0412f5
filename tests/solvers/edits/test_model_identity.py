"""A model edited in place is the model that is solved: by us, and by any Pyomo solver."""

from __future__ import annotations

import functools
import pickle
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.cases import CASES, Case, each
from tests.references import reference_solutions
from tests.references.multiclass import class_points
from tests.references.reference_solutions import points
from tests.support.covering import FULL
from tightmargin.formulations import CATALOGUE, ProblemClass
from tightmargin.solvers import SolveResult, solve

# Interior point methods are told to go on below 1e-8, so that 1e-8 can be asserted.
TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
# Of a derived M an edit may leave nothing; these are large enough.
OTHER_WORDS = {name: {"big_m": 60.0} for name in ("zero_one_big_m", "ramp_big_m", "ramp_l1_big_m")}
OTHER_WORDS["multiclass_truncated"] = {"big_m": 30.0}
OTHER_DATA = {"multiclass_truncated": class_points(2, n=4)}  # for SCIP as it comes

BOUNDED = ("max_margin_svc", "extended_nu_svc", "extended_nu_svc_ball", "extended_nu_svc_polar",
           "extended_robust_svc", "min_cvar", "rsvm")  # fmt: skip


def built(name: str) -> Any:
    return CASES[name].build(data=OTHER_DATA.get(name), **OTHER_WORDS.get(name, {}))


@functools.cache
def before(name: str) -> float:
    """Optimum of the unedited model, which carries the certificate of its paper."""
    convex = CASES[name].is_convex
    result = solve(built(name), *(("clarabel",) if convex else ("scip",)),
                   options=TIGHT if convex else None)  # fmt: skip
    assert result.certificate.level == "paper"
    assert result.objective is not None
    return result.objective


@functools.cache
def start(name: str) -> tuple[int, float, float]:
    """Largest element of the entry's variable at its optimum, its value, and the sign of a move.

    Multipliers move down, away from their caps; weights move up, which no margin row forbids
    (except in the unit ball, on the sphere and in the polytope).
    """
    variable = CASES[name].variable
    values = solve(built(name)).values[variable]
    k = int(np.abs(values).argmax())
    inwards = variable == "alpha" or name in BOUNDED
    return k, float(values.flat[k]), 0.9 if inwards else 1.1


def moved(name: str, m: pyo.ConcreteModel) -> tuple[Any, float]:
    """The element to be moved and where to."""
    k, value, factor = start(name)
    return list(m.find_component(CASES[name].variable).values())[k], factor * value


EDITS = (
    "row added", "bounds changed", "variable fixed", "objective replaced", "objective added to",
    "rows deactivated", "rows replaced", "rows deleted", "Param changed",
)  # fmt: skip


def change(name: str, m: pyo.ConcreteModel, word: str) -> None:
    variable, target = moved(name, m)
    case = CASES[name]
    tilted = case.tilt * (variable if target > 0 else -variable)  # against the present value
    match word:
        case "row added":
            m.extra = pyo.Constraint(expr=2 * variable == 2 * target)
        case "bounds changed":
            variable.bounds = tuple(sorted((target, 1.001 * target)))
        case "variable fixed":
            variable.fix(target)
        case "objective replaced":
            m.objective.deactivate()
            m.another = pyo.Objective(expr=m.objective.expr + tilted)
        case "objective added to":
            m.objective.expr += tilted
        case "Param changed":
            assert case.param is not None
            m.find_component(case.param[0]).set_value(case.param[1])
        case _:
            for row in list(m.find_component(case.rows).values())[:: case.step]:
                if word == "rows deactivated":
                    row.deactivate()
                elif word == "rows replaced":
                    row.set_value(row.body >= 0.25)
                else:
                    del m.find_component(case.rows)[row.index()]


def applicable(case: Case) -> list[str]:
    """Every edit, but no Param where there is none, and sides and gaps only in margin rows."""
    left_out = set() if case.param else {"Param changed"}
    if case.rows != "margin":
        left_out |= {"rows replaced", "rows deleted"}
    return [word for word in EDITS if word not in left_out]


def edited(name: str, word: str) -> pyo.ConcreteModel:
    model: pyo.ConcreteModel = built(name)
    change(name, model, word)
    return model


def some_edits(names: list[str]) -> list[tuple[str, str]]:
    """Entries with one edit in turn, with all of them when there is time."""
    rows = []
    for k, name in enumerate(names):
        words = applicable(CASES[name])
        rows += [(name, word) for word in (words if FULL else [words[k % len(words)]])]
    return rows


CONVEX_NAMES = [name for name, case in CASES.items() if case.is_convex]
MIXED_NAMES = [name for name in CASES if name not in CONVEX_NAMES]


@pytest.mark.parametrize(("name", "word"), some_edits(CONVEX_NAMES))
def test_edited_convex_model_is_what_pyomo_says_it_is(name: str, word: str) -> None:
    """Against a reader of rows that shares nothing with ours; 1e-8, 1e-7 for matrices."""
    model = edited(name, word)
    expected = reference_solutions.pyomo_optimum(model)
    result = solve(model, "clarabel", options=TIGHT)
    allowed = 2e-7 if CATALOGUE[name].problem_class is ProblemClass.SDP else 2e-8
    assert result.objective == pytest.approx(expected, abs=allowed * max(1.0, abs(expected)))
    assert result.certificate.level == ("paper" if word == "Param changed" else "model")
    assert abs(result.objective - before(name)) > 1e-5, "the edit changes nothing"


@pytest.mark.parametrize(("name", "word"), some_edits(MIXED_NAMES))
def test_edited_mixed_integer_model_is_the_same_through_scip_alone(name: str, word: str) -> None:
    """SCIP accepts rows violated by 1e-6, which is 1e-5 of the objective at most."""
    ours, stock = solve(edited(name, word), "scip"), edited(name, word)
    if name == "zero_one_disjunctive":
        pyo.TransformationFactory("gdp.bigm").apply_to(stock)
    # Quiet: with more than a pipe's worth of log it waits for its own reader.
    pyo.SolverFactory("scip_direct").solve(stock, options={"display/verblevel": 0})
    (objective,) = stock.component_data_objects(pyo.Objective, active=True)
    theirs = float(pyo.value(objective))
    assert ours.objective == pytest.approx(theirs, abs=2e-5 * max(1.0, abs(theirs)))
    assert ours.certificate.level == ("paper" if word == "Param changed" else "model")
    assert abs(ours.objective - before(name)) > 1e-4, "the edit changes nothing"


def test_an_indicator_held_in_a_disjunctive_model_counts() -> None:
    data, penalty = points("overlapping", 4, n=5), 0.6
    kept = reference_solutions.zero_one_optimum(data, "penalised", penalty, keep=(0,))
    assert kept > reference_solutions.zero_one_optimum(data, "penalised", penalty) + 1e-3
    model = CATALOGUE["zero_one_disjunctive"].build(data, penalty=penalty, transformation="hull")
    for box in (*model.w.values(), model.b):
        box.bounds = (-20, 20)
    model.keep[0].indicator_var.fix(True)
    result = solve(model)
    assert result.objective == pytest.approx(kept, rel=1e-4)
    assert result.certificate.level == "model"
    assert not hasattr(model, "_pyomo_gdp_bigm_reformulation")


def test_a_row_that_is_put_back_is_no_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    model, entry = built("zero_one_big_m"), CATALOGUE["zero_one_big_m"]
    builder = Mock(wraps=entry.build)
    monkeypatch.setitem(CATALOGUE, entry.name, replace(entry, build=builder))
    low, body, _ = model.margin[0].to_bounded_expression()
    for side, level in ((low + 1, "model"), (low, "paper")):
        model.margin[0].set_value(body >= side)
        assert solve(model).certificate.level == level
    assert builder.call_count == 2, "once for each solve"


# --- copies --------------------------------------------------------------------------------------


def same(a: SolveResult, b: SolveResult) -> None:
    assert a.objective == pytest.approx(b.objective, abs=1e-8 * max(1.0, abs(b.objective)))
    assert a.certificate.level == b.certificate.level
    assert a.formulation == b.formulation
    assert a.data == b.data


SOME = ("c_svc_dual", "rsvm_relaxed", "conic_sdp", "zero_one_disjunctive", "multiclass_hinge")


@each(CASES if FULL else SOME)
def test_copies_solve_alike_and_apart(case: Case) -> None:
    """That copies are solved at all, tests/project/test_equivalences.py has of every entry."""
    name = case.name
    model = built(name)
    original = solve(model)
    changed: list[SolveResult] = []
    for twin in (model.clone(), pickle.loads(pickle.dumps(model)), model):
        same(solve(twin), original)
        change(name, twin, "variable fixed")
        changed.append(solve(twin))
        assert changed[-1].certificate.level == "model"
        same(changed[0], changed[-1])
