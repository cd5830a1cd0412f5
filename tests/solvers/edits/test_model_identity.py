"""A model edited in place is the model that is solved: by us, and by any Pyomo solver."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.cases import CASES, Case, each
from tests.inside.solvers import SOLVERS
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


def built(name: str, **changed: Any) -> Any:
    words = OTHER_WORDS.get(name, {}) | changed
    return CASES[name].build(data=OTHER_DATA.get(name), **words)


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


def tilted(name: str, m: pyo.ConcreteModel) -> Any:
    """A linear cost against the present value of the element."""
    variable, target = moved(name, m)
    return CASES[name].tilt * (variable if target > 0 else -variable)


def some_rows(name: str, m: pyo.ConcreteModel) -> list[Any]:
    return list(m.find_component(CASES[name].rows).values())[:: CASES[name].step]


def add_row(name: str, m: pyo.ConcreteModel) -> None:
    variable, target = moved(name, m)
    m.extra = pyo.Constraint(expr=2 * variable == 2 * target)


def change_bounds(name: str, m: pyo.ConcreteModel) -> None:
    variable, target = moved(name, m)
    variable.setlb(min(target, 1.001 * target))
    variable.setub(max(target, 1.001 * target))


def fix_variable(name: str, m: pyo.ConcreteModel) -> None:
    variable, target = moved(name, m)
    variable.fix(target)


def replace_objective(name: str, m: pyo.ConcreteModel) -> None:
    m.objective.deactivate()
    m.another = pyo.Objective(expr=m.objective.expr + tilted(name, m))


def add_to_objective(name: str, m: pyo.ConcreteModel) -> None:
    m.objective.expr += tilted(name, m)


def deactivate_rows(name: str, m: pyo.ConcreteModel) -> None:
    for row in some_rows(name, m):
        row.deactivate()


def replace_rows(name: str, m: pyo.ConcreteModel) -> None:
    for row in some_rows(name, m):
        row.set_value(row.body >= 0.25)


def delete_rows(name: str, m: pyo.ConcreteModel) -> None:
    for row in some_rows(name, m):
        del m.find_component(CASES[name].rows)[row.index()]


def change_param(name: str, m: pyo.ConcreteModel) -> None:
    param = CASES[name].param
    assert param is not None
    m.find_component(param[0]).set_value(param[1])


EDITS: dict[str, Callable[[str, pyo.ConcreteModel], None]] = {
    "row added": add_row,
    "bounds changed": change_bounds,
    "variable fixed": fix_variable,
    "objective replaced": replace_objective,
    "objective added to": add_to_objective,
    "rows deactivated": deactivate_rows,
    "rows replaced": replace_rows,
    "rows deleted": delete_rows,
    "Param changed": change_param,
}


def applicable(case: Case) -> list[str]:
    """Every edit, but no Param where there is none, and sides and gaps only in margin rows."""
    left_out = set() if case.param else {"Param changed"}
    if case.rows != "margin":
        left_out |= {"rows replaced", "rows deleted"}
    return [word for word in EDITS if word not in left_out]


def edited(name: str, word: str) -> pyo.ConcreteModel:
    model: pyo.ConcreteModel = built(name)
    EDITS[word](name, model)
    return model


def some_edits(names: list[str], each_has: int) -> list[tuple[str, str]]:
    """Entries with some edits in turn, with all of them when there is time."""
    rows = []
    for k, name in enumerate(names):
        words = applicable(CASES[name])
        count = len(words) if FULL else each_has
        rows += [(name, words[(each_has * k + i) % len(words)]) for i in range(count)]
    return rows


def one_by_one(names: list[str]) -> list[tuple[str, str]]:
    """Edits with some entry to which they apply in turn, with all of them when there is time."""
    if FULL:
        return some_edits(names, 0)
    able = {word: [n for n in names if word in applicable(CASES[n])] for word in EDITS}
    return [
        (able[word][3 * k % len(able[word])], word) for k, word in enumerate(EDITS) if able[word]
    ]


def of_class(problem_class: ProblemClass) -> list[str]:
    return [name for name in CONVEX_NAMES if CATALOGUE[name].problem_class is problem_class]


CONVEX_NAMES = [name for name, case in CASES.items() if case.is_convex]
MIXED_NAMES = [name for name in CASES if name not in CONVEX_NAMES]


@pytest.mark.parametrize(("name", "word"), some_edits(CONVEX_NAMES, 2))
def test_edited_convex_model_is_what_pyomo_says_it_is(name: str, word: str) -> None:
    """Against a reader of rows that shares nothing with ours; 1e-8, 1e-7 for matrices.

    An exactly feasible point of the lift may cost what a certificate allows, 1e-6.
    """
    model = edited(name, word)
    expected = reference_solutions.pyomo_optimum(model)
    result = solve(model, "clarabel", options=TIGHT)
    sdp = CATALOGUE[name].problem_class is ProblemClass.SDP
    allowed = 1e-6 if name == "conic_sdp_lift" else 2e-7 if sdp else 2e-8
    assert result.objective == pytest.approx(expected, abs=allowed * max(1.0, abs(expected)))
    assert result.certificate.level == ("paper" if word == "Param changed" else "model")
    assert abs(result.objective - before(name)) > 1e-5, "the edit changes nothing"


def stock_objective(model: pyo.ConcreteModel) -> float:
    (objective,) = model.component_data_objects(pyo.Objective, active=True)
    return float(pyo.value(objective))


def scip_direct(model: pyo.ConcreteModel) -> None:
    """Pyomo's SCIP, quiet: with more than a pipe's worth of log it waits for its own reader."""
    pyo.SolverFactory("scip_direct").solve(model, options={"display/verblevel": 0})


@pytest.mark.parametrize(("name", "word"), one_by_one(of_class(ProblemClass.QP)))
def test_edited_qp_is_the_same_through_pyomos_highs(name: str, word: str) -> None:
    """To 1e-8 where HiGHS ends; its active-set method gives up on some of them, and SCIP steps in.

    SCIP accepts rows violated by 1e-6.
    """
    ours = solve(edited(name, word), "clarabel", options=TIGHT)
    stock = edited(name, word)
    found = pyo.SolverFactory("highs").solve(stock, load_solutions=False)
    tolerance = 1e-8
    if found.solver.termination_condition == pyo.TerminationCondition.optimal:
        stock.solutions.load_from(found)
    else:
        scip_direct(stock)
        tolerance = 1e-5
    theirs = stock_objective(stock)
    assert ours.objective == pytest.approx(theirs, abs=tolerance * max(1.0, abs(theirs)))


@pytest.mark.parametrize(("name", "word"), one_by_one(of_class(ProblemClass.SOCP)))
@pytest.mark.parametrize("solver", ["scip", "gurobi"])
def test_edited_socp_is_the_same_through_stock_solvers(name: str, word: str, solver: str) -> None:
    """SCIP and Gurobi accept quadratic rows violated by 1e-6, which is 1e-4 at a cone's apex."""
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    stock = edited(name, word)
    ours = solve(edited(name, word), "clarabel", options=TIGHT)
    if solver == "scip":
        scip_direct(stock)
    else:
        pyo.SolverFactory("gurobi_direct_minlp").solve(stock)
    theirs = stock_objective(stock)
    assert ours.objective == pytest.approx(theirs, abs=1e-4 * max(1.0, abs(theirs)))


@pytest.mark.parametrize(("name", "word"), some_edits(MIXED_NAMES, 2))
def test_edited_mixed_integer_model_is_the_same_through_stock_solvers(name: str, word: str) -> None:
    """SCIP's row tolerance of 1e-6, times the slope of the objective, is 1e-5 at most here."""
    ours = solve(edited(name, word), "scip")
    assert ours.certificate.level == ("paper" if word == "Param changed" else "model")
    stock = edited(name, word)
    if name == "zero_one_disjunctive":
        pyo.TransformationFactory("gdp.bigm").apply_to(stock)
    scip_direct(stock)
    theirs = stock_objective(stock)
    assert ours.objective == pytest.approx(theirs, abs=2e-5 * max(1.0, abs(theirs)))
    assert abs(ours.objective - before(name)) > 1e-4, "the edit changes nothing"


# --- against brute force and fresh builds --------------------------------------------------------


def test_an_indicator_held_in_a_disjunctive_model_counts() -> None:
    data, penalty = points("overlapping", 4, n=6), 0.6
    free = reference_solutions.zero_one_optimum(data, "penalised", penalty)
    kept = reference_solutions.zero_one_optimum(data, "penalised", penalty, keep=(0,))
    assert kept > free + 1e-3
    for transformation in ("bigm", "hull", "mbigm"):
        model = CATALOGUE["zero_one_disjunctive"].build(
            data, penalty=penalty, transformation=transformation
        )
        for box in (*model.w.values(), model.b):
            box.setlb(-50)
            box.setub(50)
        model.keep[0].indicator_var.fix(True)
        result = solve(model)
        assert result.objective == pytest.approx(kept, rel=1e-4), transformation
        assert result.certificate.level == "model"
        assert not hasattr(model, "_pyomo_gdp_bigm_reformulation")


def test_bounds_of_a_logic_model_follow_the_penalty() -> None:
    """Its box on (w, b) is derived from the penalty: raising it must not cut the optimum off."""
    data = points("overlapping", 4, n=7)
    for name in ("zero_one_bilinear", "zero_one_disjunctive"):
        model = CATALOGUE[name].build(data, penalty=0.05)
        model.penalty = 5.0
        expected = reference_solutions.zero_one_optimum(data, "penalised", 5.0)
        assert solve(model).objective == pytest.approx(expected, rel=1e-5), name


def test_undoing_an_edit_brings_the_paper_back() -> None:
    model = built("c_svc")
    model.margin[3].deactivate()
    assert solve(model).certificate.level == "model"
    model.margin[3].activate()
    assert solve(model).certificate.level == "paper"
    model.w[0].fix(0.0)
    assert solve(model).certificate.level == "model"
    model.w[0].unfix()
    model.extra = pyo.Constraint(expr=model.w[0] <= 0.1)
    assert solve(model).certificate.level == "model"
    model.del_component("extra")
    assert solve(model).certificate.level == "paper"
    old = model.xi[0].lb
    model.xi[0].setlb(0.5)
    assert solve(model).certificate.level == "model"
    model.xi[0].setlb(old)
    assert solve(model).certificate.level == "paper"


# --- copies --------------------------------------------------------------------------------------


def same(a: SolveResult, b: SolveResult) -> None:
    assert a.objective == pytest.approx(b.objective, abs=1e-8 * max(1.0, abs(b.objective)))
    assert a.certificate.level == b.certificate.level
    assert a.formulation == b.formulation
    assert a.data == b.data


SOME = ("c_svc_dual", "rsvm_relaxed", "conic_sdp", "zero_one_disjunctive", "multiclass_hinge")


@each(CASES if FULL else SOME)
def test_copies_solve_alike_and_apart(case: Case) -> None:
    """That copies are solved at all, tests/project/test_catalogue_solvers.py has of every entry."""
    name = case.name
    model = built(name)
    original = solve(model)
    twins = model.clone(), pickle.loads(pickle.dumps(model))
    changed = []
    for twin in twins:
        same(solve(twin), original)
        fix_variable(name, twin)
        changed.append(solve(twin))
        assert changed[-1].certificate.level == "model"
    same(solve(model), original)
    fix_variable(name, model)
    fixed = solve(model)
    for found in changed:
        same(fixed, found)


def test_two_objectives_are_refused_by_name() -> None:
    model = built("c_svc")
    model.second = pyo.Objective(expr=model.w[0])
    with pytest.raises(ValueError, match=r"2 objectives are active \(objective, second\)"):
        solve(model)
