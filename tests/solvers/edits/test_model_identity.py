"""A model edited in place is the model that is solved: by us, and by any Pyomo solver."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.inside.solvers import SOLVERS
from tests.references import reference_solutions
from tests.references.matrix import matrix_points
from tests.references.multiclass import class_points
from tests.references.reference_solutions import points
from tightmargin.formulations import CATALOGUE, GramData, ProblemClass, TrainingData
from tightmargin.solvers import SolveResult, Verdict, compare, solve

DATA = points("overlapping", 4, n=8)
FEW = points("overlapping", 4, n=6)
MANY = points("overlapping", 6, n=14)
SEPARABLE = points("separable", 4, n=8)
CLASSES = class_points(2, n=7)
MATRIX_CLASSES = class_points(2, n=7, d=4)
MATRICES = matrix_points(1, n=10, shape=(2, 2))
FEW_CLASSES = class_points(2, n=4)
# Each feature separates by itself: without a row of the other one the dual is still bounded.
TWICE_SEPARABLE = TrainingData(SEPARABLE.X + 4 * SEPARABLE.y[:, None], SEPARABLE.y)

# Interior point methods are told to go on below 1e-8, so that 1e-8 can be asserted.
TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}


class Subject(NamedTuple):
    """An entry, its hyperplane or multipliers, and a Param with another value for it."""

    parameters: dict[str, Any]
    variable: str
    param: tuple[str, float] | None
    rows: str = "margin"
    data: Any = DATA
    tilt: float = 0.1
    step: int = 2  # every second row is dropped


SUBJECTS = {
    "hard_margin_svc": Subject({}, "w", None, data=SEPARABLE),
    "hard_margin_svc_dual": Subject({}, "alpha", None, rows="weight", data=TWICE_SEPARABLE),
    "max_margin_svc": Subject({}, "w", None, data=SEPARABLE),
    "c_svc": Subject({"C": 0.7}, "w", ("C", 0.2)),
    "c_svc_dual": Subject({"C": 0.7}, "alpha", ("C", 0.2), rows="weight"),
    "soft_margin_svc": Subject({"ridge": 0.05}, "w", ("ridge", 0.3)),
    "soft_margin_svc_dual": Subject({"ridge": 0.05}, "alpha", ("ridge", 0.3), rows="weight"),
    "kernel_soft_margin_svc": Subject({"ridge": 0.05}, "v", ("ridge", 0.3)),
    "regularised_svc": Subject({"price": 0.05, "loss": "squared_hinge"}, "w", ("price", 0.3)),
    "deviance_svc": Subject({"price": 0.05}, "w", ("price", 0.3), rows="score"),
    "hinge_power_svc": Subject({"penalty": 0.7, "exponent": 1.5}, "w", ("penalty", 0.2)),
    "weighted_svc": Subject({"ridge": 0.02, "pi": 0.5}, "w", ("pi", 0.42)),
    "nu_svc": Subject({"nu": 0.82}, "w", ("nu", 0.84), data=MANY, tilt=0.01, step=14),
    "nu_svc_dual": Subject({"nu": 0.85}, "alpha", ("nu", 0.95), rows="weight"),
    "extended_nu_svc": Subject({"nu": 0.4}, "w", ("nu", 0.55), step=8),
    "extended_nu_svc_reverse": Subject(
        {"nu": 0.35}, "w", ("nu", 0.45), data=MANY, tilt=0.01, step=14
    ),
    "extended_nu_svc_polar": Subject({"nu": 0.35}, "w", ("nu", 0.45), data=MANY, step=14),
    "extended_nu_svc_ball": Subject({"nu": 0.82}, "w", ("nu", 0.84), data=MANY, step=14),
    "extended_nu_svc_dual": Subject({"nu": 0.85}, "alpha", ("nu", 0.95), rows="weight"),
    "extended_nu_svc_linearised": Subject(
        {"nu": 0.4, "w_ref": [1.0, 0.4]}, "w", ("nu", 0.55), tilt=0.01, step=8
    ),
    "extended_nu_svc_linearised_dual": Subject(
        {"nu": 0.4, "w_ref": [1.0, 0.4]}, "alpha", ("nu", 0.55), rows="line"
    ),
    "min_cvar": Subject({"beta": 0.6}, "w", ("beta", 0.45), rows="tail"),
    "extended_robust_svc": Subject({"nu": 0.8, "mu": "1/6"}, "w", None, data=FEW, tilt=0.01),
    "rsvm": Subject({"norm_bound": 0.3}, "w", ("norm_bound", 0.2), tilt=0.01),
    "rsvm_relaxed": Subject({}, "w", None, tilt=0.01, step=8),
    "rsvm_kernel_relaxed": Subject({}, "v", None, tilt=0.01, step=8),
    "rsvm_dual": Subject({"norm_bound": 0.3}, "alpha", ("norm_bound", 0.2), rows="weight"),
    "rsvm_dual_perspective": Subject(
        {"norm_bound": 0.3}, "alpha", ("norm_bound", 0.2), rows="weight"
    ),
    "reduced_hull_svc": Subject({"hull_bound": 0.3}, "alpha", ("hull_bound", 0.27), rows="weight"),
    "zero_one_relaxed": Subject({"penalty": 1.3, "big_m": 30.0}, "w", ("penalty", 4.0)),
    "zero_one_hinge": Subject({"penalty": 1.3, "big_m": 30.0}, "w", ("penalty", 4.0)),
    "conic_fixed": Subject(
        {"penalty": 1.3, "strengthening": "scaled"}, "w", ("penalty", 3.0), rows="split"
    ),
    "conic_sdp": Subject({"penalty": 1.3}, "w", ("penalty", 3.0), rows="hinge"),
    "conic_sdp_literal": Subject({"penalty": 1.3}, "w", ("penalty", 3.0), rows="split"),
    "conic_sdp_rank_one": Subject(
        {"penalty": 1.3, "partners": 1}, "w", ("penalty", 3.0), rows="split"
    ),
    "conic_sdp_eliminated": Subject({"penalty": 1.3}, "w", ("penalty", 3.0), rows="hinge"),
    "conic_sdp_strengthened": Subject({"penalty": 1.3}, "w", None, rows="split"),
    "conic_sdp_lift": Subject({"penalty": 1.3, "partners": "none"}, "w", None, rows="split"),
    "conic_sdp_dual": Subject({"penalty": 1.3}, "alpha", ("penalty", 3.0), rows="strength"),
    "conic_sdp_budget": Subject({"budget": 0.2}, "w", ("budget", 0.3), rows="hinge"),
    "zero_one_big_m": Subject({"penalty": 1.3, "big_m": 60.0}, "w", ("penalty", 0.4), data=FEW),
    "ramp_big_m": Subject({"C": 0.7, "big_m": 60.0}, "w", ("C", 0.2), data=FEW),
    "ramp_relaxed": Subject({"C": 0.7, "big_m": 30.0}, "w", ("C", 4.0)),
    "ramp_l1_big_m": Subject({"C": 0.7, "big_m": 60.0}, "w", ("C", 0.2), data=FEW),
    "ramp_l1_relaxed": Subject({"C": 4.0, "big_m": 6.0}, "w", ("C", 2.0)),
    "zero_one_disjunctive_relaxed": Subject({"penalty": 1.3}, "w", None, rows="given_up"),
    "zero_one_kernel": Subject({"penalty": 1.3}, "w", ("penalty", 0.4), rows="kept", data=FEW),
    "zero_one_bilinear": Subject({"penalty": 1.3}, "w", ("penalty", 0.4), rows="kept", data=FEW),
    "zero_one_disjunctive": Subject({"penalty": 1.3}, "w", ("penalty", 0.4), rows="keep", data=FEW),
    "matrix_svc_full": Subject({"ridge": 0.1, "shape": "1x2"}, "w", ("ridge", 0.6)),
    "matrix_svc_bilinear": Subject(
        {"ridge": 0.1, "shape": "2x2", "rank": 1}, "w", ("ridge", 0.6), data=MATRICES
    ),
    "matrix_svc_projection": Subject(
        {"ridge": 0.1, "shape": "2x2", "rank": 1}, "w", ("ridge", 0.6), data=MATRICES
    ),
    "matrix_svc_nuclear": Subject(
        {"ridge": 0.1, "shape": "2x2", "tau": 0.4}, "w", ("tau", 0.9), data=MATRICES
    ),
    "multiclass_hinge": Subject({"ridge": 0.05}, "B", ("ridge", 0.3), data=CLASSES),
    "multiclass_matrix_projection": Subject(
        {"ridge": 0.05, "shape": "2x2", "rank": 1}, "B", ("ridge", 0.3), data=MATRIX_CLASSES
    ),
    "multiclass_matrix_nuclear": Subject(
        {"ridge": 0.05, "shape": "2x2", "tau": 0.1}, "B", ("tau", 0.3), data=MATRIX_CLASSES
    ),
    "multiclass_truncated": Subject(
        {"ridge": 0.05, "truncation": -0.5, "big_m": 30.0}, "B", ("ridge", 0.1), data=FEW_CLASSES
    ),
    "multiclass_truncated_relaxed": Subject(
        {"ridge": 0.05, "truncation": -0.5, "big_m": 40.0}, "B", ("ridge", 0.3), data=CLASSES
    ),
}
BOUNDED = ("max_margin_svc", "extended_nu_svc", "extended_nu_svc_ball", "extended_nu_svc_polar",
           "extended_robust_svc", "min_cvar", "rsvm")  # fmt: skip
CONVEX = {ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP, ProblemClass.EXP}
CONVEX_NAMES = [name for name in SUBJECTS if CATALOGUE[name].problem_class in CONVEX]
MIXED_NAMES = [name for name in SUBJECTS if name not in CONVEX_NAMES]


def built(name: str) -> pyo.ConcreteModel:
    subject = SUBJECTS[name]
    return CATALOGUE[name].build(subject.data, **subject.parameters)


@functools.cache
def before(name: str, solver: str = "clarabel") -> float:
    """Optimum of the unedited model, which carries the certificate of its paper."""
    result = solve(built(name), solver, options=TIGHT if solver == "clarabel" else None)
    assert result.certificate.level == "paper"
    return result.objective


@functools.cache
def start(name: str) -> tuple[int, float, float]:
    """Largest element of the entry's variable at its optimum, its value, and the sign of a move.

    Multipliers move down, away from their caps; weights move up, which no margin row forbids
    (except in the unit ball, on the sphere and in the polytope).
    """
    subject = SUBJECTS[name]
    values = solve(built(name)).values[subject.variable]
    k = int(np.abs(values).argmax())
    inwards = subject.variable == "alpha" or name in BOUNDED
    return k, float(values[k]), 0.9 if inwards else 1.1


def moved(name: str, m: pyo.ConcreteModel) -> tuple[Any, float]:
    """The element to be moved and where to."""
    k, value, factor = start(name)
    return list(m.find_component(SUBJECTS[name].variable).values())[k], factor * value


def tilted(name: str, m: pyo.ConcreteModel) -> Any:
    """A linear cost against the present value of the element."""
    variable, target = moved(name, m)
    return SUBJECTS[name].tilt * (variable if target > 0 else -variable)


def some_rows(name: str, m: pyo.ConcreteModel) -> list[Any]:
    return list(m.find_component(SUBJECTS[name].rows).values())[:: SUBJECTS[name].step]


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
        del m.find_component(SUBJECTS[name].rows)[row.index()]


def change_param(name: str, m: pyo.ConcreteModel) -> None:
    param = SUBJECTS[name].param
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


def applicable(name: str) -> list[str]:
    """Every edit, but no Param where there is none, and sides and gaps only in margin rows."""
    left_out = set() if SUBJECTS[name].param else {"Param changed"}
    if SUBJECTS[name].rows != "margin":
        left_out |= {"rows replaced", "rows deleted"}
    return [word for word in EDITS if word not in left_out]


def cases(names: list[str]) -> list[Any]:
    return [
        pytest.param(name, word, id=f"{name}-{word.replace(' ', '_')}")
        for name in names
        for word in applicable(name)
    ]


def edited(name: str, word: str) -> pyo.ConcreteModel:
    model = built(name)
    EDITS[word](name, model)
    return model


def test_every_entry_is_edited() -> None:
    assert set(SUBJECTS) == set(CATALOGUE)


@pytest.mark.parametrize(("name", "word"), cases(CONVEX_NAMES))
def test_edited_convex_model_is_what_pyomo_says_it_is(name: str, word: str) -> None:
    """Against a reader of rows that shares nothing with ours; 1e-8, 1e-7 for matrices.

    An exactly feasible point of the lift may cost what a certificate allows, 1e-6.
    """
    model = edited(name, word)
    expected = reference_solutions.pyomo_optimum(model)
    result = solve(model, "clarabel", options=TIGHT)
    sdp = CATALOGUE[name].problem_class is ProblemClass.SDP
    size = max(1.0, abs(expected))
    allowed = 1e-6 if name == "conic_sdp_lift" else 2e-7 if sdp else 2e-8
    assert result.objective == pytest.approx(expected, abs=allowed * size)
    assert result.certificate.level == ("paper" if word == "Param changed" else "model")
    assert abs(result.objective - before(name)) > 1e-5, "the edit changes nothing"


def stock_objective(model: pyo.ConcreteModel) -> float:
    (objective,) = model.component_data_objects(pyo.Objective, active=True)
    return float(pyo.value(objective))


def scip_direct(model: pyo.ConcreteModel) -> None:
    """Pyomo's SCIP, quiet: with more than a pipe's worth of log it waits for its own reader."""
    pyo.SolverFactory("scip_direct").solve(model, options={"display/verblevel": 0})


@pytest.mark.parametrize(
    ("name", "word"), cases([n for n in CONVEX_NAMES if CATALOGUE[n].problem_class == "QP"])
)
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


@pytest.mark.parametrize(
    ("name", "word"), cases([n for n in CONVEX_NAMES if CATALOGUE[n].problem_class == "SOCP"])
)
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


@pytest.mark.parametrize(("name", "word"), cases(MIXED_NAMES))
def test_edited_mixed_integer_model_is_the_same_through_stock_solvers(name: str, word: str) -> None:
    """SCIP's row tolerance of 1e-6, times the slope of the objective, is 1e-5 at most here."""
    model = edited(name, word)
    ours = solve(model, "scip")
    assert ours.certificate.level == ("paper" if word == "Param changed" else "model")
    stock = edited(name, word)
    if name == "zero_one_disjunctive":
        pyo.TransformationFactory("gdp.bigm").apply_to(stock)
    scip_direct(stock)
    theirs = stock_objective(stock)
    assert ours.objective == pytest.approx(theirs, abs=2e-5 * max(1.0, abs(theirs)))
    assert abs(ours.objective - before(name, "scip")) > 1e-4, "the edit changes nothing"


# --- against brute force and fresh builds --------------------------------------------------------


@pytest.mark.parametrize("most", [2, 3])
def test_a_budget_row_on_z_counts(most: int) -> None:
    data, penalty = points("overlapping", 4, n=8), 0.3
    expected = reference_solutions.zero_one_optimum(data, "penalised", penalty, most=most)
    model = CATALOGUE["zero_one_big_m"].build(data, penalty=penalty, big_m=2000.0)
    model.budget = pyo.Constraint(expr=sum(model.z.values()) <= most)
    result = solve(model)
    assert result.objective == pytest.approx(expected, rel=1e-5)
    assert result.certificate.level == "model"


def test_an_indicator_held_in_a_disjunctive_model_counts() -> None:
    data, penalty = points("overlapping", 4, n=7), 0.6
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


@pytest.mark.parametrize(
    "name", [name for name, subject in SUBJECTS.items() if subject.param is not None]
)
def test_a_param_set_in_place_is_a_fresh_build(name: str) -> None:
    subject = SUBJECTS[name]
    assert subject.param is not None
    word, number = subject.param
    model = built(name)
    solve(model)
    setattr(model, word, number)
    again = solve(model)
    fresh = solve(CATALOGUE[name].build(subject.data, **(subject.parameters | {word: number})))
    size = max(1.0, abs(fresh.objective))
    assert again.objective == pytest.approx(fresh.objective, abs=1e-7 * size)
    assert again.certificate.level == "paper"
    assert again.parameters[word] == pytest.approx(number)
    assert again.certificate.verdict is fresh.certificate.verdict


def test_bounds_of_a_logic_model_follow_the_penalty() -> None:
    """Its box on (w, b) is derived from the penalty: raising it must not cut the optimum off."""
    data = points("overlapping", 4, n=7)
    for name in ("zero_one_bilinear", "zero_one_disjunctive"):
        model = CATALOGUE[name].build(data, penalty=0.05)
        model.penalty = 5.0
        expected = reference_solutions.zero_one_optimum(data, "penalised", 5.0)
        assert solve(model).objective == pytest.approx(expected, rel=1e-5), name


@pytest.mark.parametrize("name", ["nu_svc", "nu_svc_dual"])
def test_nu_above_its_range_is_refused_at_solve(name: str) -> None:
    data = points("unbalanced", 0)
    model = CATALOGUE[name].build(data, nu=0.5)
    assert solve(model).certificate.level == "paper"
    model.nu = 0.6
    with pytest.raises(ValueError, match="nu_max"):
        solve(model)


def test_a_hyperparameter_that_needs_a_rebuild_says_so() -> None:
    """The intercept is no Param: setting it by name is no silent edit."""
    model = built("c_svc")
    with pytest.raises((AttributeError, ValueError)):
        model.find_component("intercept").set_value("none")


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


def test_looking_is_no_edit() -> None:
    """Printing, evaluating and writing a model leave it the builder's."""
    model = built("zero_one_relaxed")
    first = solve(model)
    assert "w[0]" in str(model.margin[0].body)
    assert pyo.value(model.margin[2].body) is not None
    assert len(list(model.component_data_objects(pyo.Constraint))) == DATA.n
    second = solve(model)
    assert second.certificate.level == "paper"
    assert second.objective == pytest.approx(first.objective, abs=1e-9)


# --- copies --------------------------------------------------------------------------------------


def same(a: SolveResult, b: SolveResult) -> None:
    assert a.objective == pytest.approx(b.objective, abs=1e-8 * max(1.0, abs(b.objective)))
    assert a.certificate.level == b.certificate.level
    assert a.formulation == b.formulation
    assert a.data == b.data


@pytest.mark.parametrize("name", sorted(SUBJECTS))
def test_copies_solve_alike_and_apart(name: str) -> None:
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


@pytest.mark.parametrize("copy", ["clone", "pickle"])
@pytest.mark.parametrize("word", ["rows replaced", "rows deleted", "rows deactivated"])
@pytest.mark.parametrize("name", ["c_svc", "zero_one_relaxed"])
def test_copies_of_edited_models_keep_the_edit(name: str, word: str, copy: str) -> None:
    model = edited(name, word)
    expected = reference_solutions.pyomo_optimum(model)
    twin = model.clone() if copy == "clone" else pickle.loads(pickle.dumps(model))
    for each in (model, twin):
        found = solve(each, "clarabel", options=TIGHT)
        assert found.objective == pytest.approx(expected, abs=2e-8)
        assert found.certificate.level == "model"


def test_clones_share_the_data_and_pickles_carry_it() -> None:
    model = built("c_svc")
    assert model.clone().origin is model.origin
    carried = pickle.loads(pickle.dumps(model)).origin
    assert carried.data.sha256 == model.origin.data.sha256
    gram = CATALOGUE["c_svc_dual"].build(GramData(DATA.X @ DATA.X.T, DATA.y), C=0.7)
    same(solve(pickle.loads(pickle.dumps(gram))), solve(gram))


# --- gap tables ----------------------------------------------------------------------------------


def test_compare_takes_edited_models_beside_names() -> None:
    data, penalty = points("overlapping", 4, n=8), 0.6
    exact = CATALOGUE["zero_one_big_m"].build(data, penalty=penalty, big_m=2000.0)
    relaxed = CATALOGUE["conic_sdp"].build(data, penalty=penalty)
    for model in (exact, relaxed):
        model.budget = pyo.Constraint(expr=sum(model.z.values()) <= 3)
    expected = reference_solutions.zero_one_optimum(data, "penalised", penalty, most=3)
    assert expected > reference_solutions.zero_one_optimum(data, "penalised", penalty) + 1e-3
    table = compare(data, [relaxed, "conic_sdp"], exact=exact, parameters={"penalty": penalty})
    assert table.upper == pytest.approx(expected, rel=1e-5)
    tighter, plain = table.rows
    assert plain.bound <= tighter.bound + 1e-7
    assert tighter.bound <= expected + 1e-6
    assert tighter.label == "conic_sdp (model)"
    assert plain.label == "conic_sdp"
    assert tighter.result.certificate.level == "model"
    assert plain.result.certificate.level == "paper"
    assert table.violations() == []


def test_compare_takes_a_foreign_model_with_a_remark() -> None:
    foreign = pyo.ConcreteModel(name="mine")
    foreign.x = pyo.Var(bounds=(0, 1))
    foreign.goal = pyo.Objective(expr=foreign.x + 0.25)
    data = points("overlapping", 4, n=8)
    table = compare(
        data, [foreign], exact="zero_one_big_m", parameters={"penalty": 0.6, "big_m": 500.0}
    )
    (row,) = table.rows
    assert row.bound == pytest.approx(0.25, abs=1e-6)
    assert "the user's word" in row.remark
    assert row.verdict is Verdict.CERTIFIED


def test_two_objectives_are_refused_by_name() -> None:
    model = built("c_svc")
    model.second = pyo.Objective(expr=model.w[0])
    with pytest.raises(ValueError, match=r"2 objectives are active \(objective, second\)"):
        solve(model)
