"""After an edit what was derived counts where that is proven, or is derived again.

Elsewhere there is no bound. The truth is SCIP's with M = 500, or a brute force.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunction

from tests.inside.experiments import load, outlier_data
from tests.inside.formulations import big_m_rule, closed_slack_bounds
from tests.inside.solvers import Limits, completed, standard_form, switched_rows
from tests.references import reference_solutions
from tests.references.matrix import matrix_points
from tests.references.multiclass import class_points
from tests.references.reference_solutions import points
from tests.support.command_line import run
from tests.support.covering import FULL, in_turn
from tests.support.edited_models import (
    CLOSE,
    CLUSTERED,
    DATA,
    build,
    is_relaxation,
    of_the_problem,
    says_nothing,
    stands_for_itself,
    steep,
)
from tests.support.random_edits import draw
from tightmargin.formulations import CATALOGUE, TrainingData, formulation
from tightmargin.solvers import SolveResult, Status, Verdict, rederive, solve

AS_WRITTEN = ("conic_fixed", "conic_sdp_literal", "conic_sdp_rank_one")


def edited(
    edit: Callable[[Any], Any], name: str, data: TrainingData = DATA, **settings: Any
) -> pyo.ConcreteModel:
    model = build(name, data, **settings)
    edit(model)
    return model


def truth_of(edit: Callable[[Any], Any], data: TrainingData = DATA, **settings: Any) -> float:
    """What SCIP finds with an M that is large enough for anything here."""
    paid = edited(edit, "zero_one_big_m", data, big_m=500.0, **settings)
    return float(solve(paid, "scip", options=CLOSE).objective)


@pytest.mark.parametrize("intercept", ["penalised", "none", "free"])
def test_no_point_below_the_cutoff_asks_for_more(intercept: str) -> None:
    """Hyperplanes at their best indicators, against the M of the rule for what each costs."""
    checked = 0
    for seed in range(6):
        data = points("overlapping", seed, n=8)
        rng = np.random.default_rng(seed)
        rule = big_m_rule(build("zero_one_big_m", data, penalty=5.0, big_m=1.0,
                                intercept=intercept).origin)  # fmt: skip
        assert rule is not None
        apart = data.X[data.y > 0].mean(axis=0) - data.X[data.y < 0].mean(axis=0)
        for _ in range(400):
            w = apart / np.linalg.norm(apart) + 0.5 * rng.normal(size=data.d)
            w *= rng.uniform(0.3, 3)
            middle = -float(data.X.mean(axis=0) @ w)
            b = (intercept != "none") * (middle + rng.normal() * rng.choice([0.5, 4]))
            u = data.y * (data.X @ w + b)
            out = u < 1
            norm2 = float(w @ w) + (intercept == "penalised") * b**2
            values = rule.everywhere(norm2 + 5.0 * float(out.sum()))
            assert (values[out] >= 1 - u[out]).all()
            checked += bool(np.isfinite(values).any() and out.any())
    assert checked > 20, "a statement that is never made is not tested"


# --- the point and its cutoff --------------------------------------------------------------------


def test_what_cannot_be_derived_is_said() -> None:
    for foreign in (build("c_svc", C=1.0), pyo.ConcreteModel()):
        with pytest.raises(ValueError, match="no big_m of the catalogue"):
            rederive(foreign)
    model = build("zero_one_big_m", penalty=0.6, big_m="derived")
    model.z[1].domain = pyo.NonNegativeReals
    with pytest.raises(ValueError, match=r"bounds of z\[1\] are wider"):
        rederive(model)
    empty = build("zero_one_big_m", penalty=0.6, big_m="derived")
    empty.one = pyo.Constraint(expr=sum(empty.z.values()) <= 0)
    empty.others = pyo.ConstraintList(rule=(empty.w[0] <= -50, empty.w[1] == 0))
    with pytest.raises(ValueError, match="no feasible point"):
        rederive(empty)


def test_after_rederive_a_stated_m_is_a_rule_too() -> None:
    def tilt(m: pyo.ConcreteModel) -> None:
        m.objective.set_value(m.objective.expr + 0.1 * m.w[0])

    model = edited(tilt, "zero_one_big_m", penalty=0.6, big_m=1.5)
    assert solve(model).certificate.unproven.startswith("rows margin: big_m is stated")
    rederive(model)
    result = solve(model)
    assert result.certificate.unproven == ""
    assert result.objective == pytest.approx(truth_of(tilt, penalty=0.6), rel=1e-5)


def test_a_fixed_fraction_is_no_indicator() -> None:
    model = build("zero_one_relaxed", penalty=0.6, big_m="derived")
    model.z[0].fix(0.5)
    with pytest.raises(ValueError, match="fixed at a fraction"):
        rederive(model)
    exact = build("zero_one_big_m", penalty=0.6, big_m="derived")
    exact.z[0].domain = pyo.UnitInterval
    exact.z[0].fix(0.5)
    assert "was not derived again" in solve(exact).message


def steep_zero_one(data: TrainingData, *, big_m: Any, steepness: float = 20.0) -> Any:
    """Steeper than any point as good as the one that the M of the catalogue is derived from."""
    m = build("zero_one_big_m", data, penalty=1.0, big_m=big_m)
    m.steep = pyo.Constraint(expr=m.w[0] >= steepness)
    return m


@pytest.mark.usefixtures("catalogue_as_it_was")
def test_m_is_that_of_the_problem_of_the_builder() -> None:
    """The M of the problem without its row is too small for it."""
    data = outlier_data("clustered", n=16, d=2, sigma=0.3, seed=1)
    model = steep_zero_one(data, big_m=2000.0)
    truth = float(solve(model, "scip", prove=False, options=CLOSE).objective)
    built = formulation("MIQP", "here")(steep_zero_one)
    model = built(data, big_m="derived")
    with pytest.raises(ValueError, match="no option"):
        solve(model, "scip", options={"no/such/option": 1})
    assert model.origin.entry == "steep_zero_one"
    before = max(model.big_m.extract_values().values())
    found = solve(model)
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.interval[0] <= truth * (1 + 1e-6)
    assert found.objective == pytest.approx(truth, rel=1e-6)
    assert (found.formulation, found.parameters["steepness"]) == ("steep_zero_one", 20.0)
    assert rederive(model).values.max() > before
    assert solve(model).objective == pytest.approx(truth, rel=1e-6)
    small = solve(built(data, big_m=20.0, steepness=3.0))
    assert "rows margin: big_m is stated and not proven" in small.certificate.unproven
    assert solve(built(data, big_m=2000.0, steepness=3.0), time_limit=20).certificate.unproven == ""


# --- the generic lemma ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4 if FULL else 1))
def test_that_the_objective_is_nowhere_lower_is_not_taken_from_rows_with_the_former_m(
    seed: int,
) -> None:
    """What is added is at least 0 by a margin row of the model, and not in the problem."""
    data = outlier_data("clustered", n=6, d=2, sigma=0.3, seed=seed + 40)
    former = build("zero_one_big_m", data, penalty=1.0, big_m="derived")
    sizes = former.big_m_proof.values

    def add_row(m: pyo.ConcreteModel) -> None:
        for i in range(3):
            u = data.y[i] * (sum(data.X[i, j] * m.w[j] for j in range(2)) + m.b)
            m.objective.set_value(m.objective.expr + 0.5 * (u + sizes[i] * m.z[i] - 1))
        m.edit = pyo.Constraint(expr=m.w[0] >= 3.0)

    best = truth_of(add_row, data, penalty=1.0)
    for name in ("zero_one_big_m", "zero_one_relaxed"):
        model = edited(add_row, name, data, penalty=1.0, big_m="derived")
        result = of_the_problem(model)
        if result.certificate.unproven:
            assert result.bound is None or is_relaxation(model)
            continue
        facts = result.certificate.facts
        assert "own argument" not in facts.get("bounds_edited_problem", result.message)
        assert result.bound <= best + 1e-6 * abs(best)


def test_what_is_added_and_proven_to_be_positive_leaves_the_formulations_argument() -> None:
    def add(m: pyo.ConcreteModel) -> None:
        steep(m).objective.set_value(m.objective.expr + 0.3 * m.w[0] + 0.1 * m.w[1] ** 2)

    model = edited(add, "zero_one_big_m", penalty=0.6, big_m="derived")
    result = solve(model)
    assert "the formulation's own argument" in result.message
    assert result.objective == pytest.approx(truth_of(add, penalty=0.6), rel=1e-5)


def test_what_a_row_is_proven_to_be_contains_every_point_below_the_cutoff() -> None:
    """Brute force: hyperplanes below the cutoff, in fractions, against the M of the lemma."""
    model = build("zero_one_big_m", penalty=0.6, big_m="derived", intercept="none")
    model.objective.set_value(model.objective.expr - 0.5 * model.w[0] ** 2)
    rule = big_m_rule(model.origin)
    assert rule is not None
    rows = switched_rows(model, standard_form(model), rule)
    assert rows is not None
    cutoff = 4.0  # above the optimum, so that there are points to try
    values = completed(model, rows, np.full(DATA.n, np.inf), cutoff, Limits())
    # z_i costs 0.6 of it, and w_0^2 / 2 + w_1^2 is at most the rest.
    assert (values <= 1 + np.sqrt(3.4 * DATA.X**2 @ [2, 1]) + 1e-5).all()
    rng, below = np.random.default_rng(1), 0
    for _ in range(4000):
        w = rng.normal(size=2) * rng.choice([0.3, 1.0, 3.0])
        u = DATA.y * (DATA.X @ w)
        out = u < 1
        f = Fraction(w[0]) ** 2 / 2 + Fraction(w[1]) ** 2 + Fraction(0.6) * int(out.sum())
        if f <= Fraction(cutoff):
            below += 1
            assert (1 - u[out] <= values[out]).all()
    assert below > 100


# --- every other kind of edit --------------------------------------------------------------------


def relax_integers(m: pyo.ConcreteModel) -> None:
    for z in m.z.values():
        z.domain = pyo.UnitInterval


def widen(m: pyo.ConcreteModel) -> None:
    m.z[2].domain = pyo.Integers
    m.z[2].setub(2)


def replace_objective(m: pyo.ConcreteModel) -> None:
    m.objective.deactivate()
    m.goal = pyo.Objective(expr=m.w[0] ** 2 + m.w[1] ** 2 + m.b**2 + sum(m.z.values()))


def flip(m: pyo.ConcreteModel) -> None:
    m.objective.deactivate()
    m.goal = pyo.Objective(expr=-m.objective.expr, sense=pyo.maximize)


def swap_variable(m: pyo.ConcreteModel) -> None:
    other = pyo.ConcreteModel()
    other.w = pyo.Var([0])
    m.objective.set_value(m.objective.expr + other.w[0] ** 2 - 3 * m.w[0])


ROWS_AND_INDICATORS: list[Callable[[Any], None]] = [
    lambda m: m.margin[3].set_value(m.w[0] + m.z[3] >= 0),
    lambda m: m.margin[3].set_value((0.5, m.margin[3].body, None)),
    relax_integers,
    widen,
    swap_variable,
]
ANY_OTHER: list[Callable[[Any], None]] = [
    lambda m: m.margin[3].deactivate(),
    lambda m: m.del_component(m.margin),
    lambda m: m.objective.set_value(m.objective.expr + 0.1 * m.w[0]),
    replace_objective,
    flip,
]


@pytest.mark.parametrize("edit", ROWS_AND_INDICATORS)
def test_an_edit_of_rows_or_indicators_or_by_another_model_leaves_no_bound(
    edit: Callable[[Any], None],
) -> None:
    for big_m, nothing in (("derived", True), (500.0, False)):
        model = edited(edit, "zero_one_big_m", penalty=0.6, big_m=big_m)
        result = solve(model)
        assert result.certificate.unproven.startswith("rows margin")
        assert says_nothing(result) is nothing


@pytest.mark.parametrize(("edit", "intercept"), in_turn(ANY_OTHER, ["penalised", "none", "free"]))
def test_m_of_any_other_edit_is_derived_again_from_the_edited_model(
    edit: Callable[[Any], None], intercept: str
) -> None:
    if edit is replace_objective and intercept == "none":
        return  # it names b
    best = truth_of(edit, penalty=0.6, intercept=intercept)
    for name in ("zero_one_big_m", "zero_one_relaxed"):
        model = edited(edit, name, penalty=0.6, big_m="derived", intercept=intercept)
        result = of_the_problem(model)
        if intercept != "free" or edit is replace_objective:  # which has a price on b
            assert result.certificate.unproven == "", name
        if result.certificate.unproven:
            assert says_nothing(result) or is_relaxation(model)
        elif edit is flip:
            assert result.bound >= best - 1e-6 * max(1.0, abs(best))
        else:
            assert result.bound <= best + 1e-6 * max(1.0, abs(best))
        if name == "zero_one_big_m" and not result.certificate.unproven:
            assert result.objective == pytest.approx(best, rel=1e-5, abs=1e-6)


def test_an_edit_inside_a_block_or_a_disjunction_of_the_users_counts() -> None:
    """Of seed 4 with w_0 >= 3, whose optimum is 13.995 by SCIP with M = 500."""
    data = outlier_data("clustered", **CLUSTERED, seed=4)
    model = build("zero_one_relaxed", data, penalty=1.0, big_m="derived")
    model.inner = pyo.Block()
    model.inner.row = pyo.Constraint(expr=model.w[0] >= 3.0)
    assert stands_for_itself(solve(model))
    assert rederive(model).upper_bound >= 13.994
    result = solve(model)
    assert result.certificate.unproven == ""
    assert 0.5 * 13.995 < result.bound <= 13.995
    either = build("zero_one_big_m", data, penalty=1.0, big_m="derived")
    for x in either.w.values():
        x.bounds = (-100, 100)
    either.choice = Disjunction(expr=[either.w[0] >= 3.0, either.w[0] <= -3.0])
    found = solve(either)
    assert found.certificate.unproven == ""
    assert "big_m derived again" in repr(found).splitlines()[2]
    assert found.bound <= 13.995


@pytest.mark.parametrize("transformation", ["bigm", "hull", "indicator"])
def test_a_disjunctive_model_is_edited_before_it_is_transformed(transformation: str) -> None:
    data = outlier_data("clustered", n=8, d=2, sigma=0.3, seed=4)
    settings = {"penalty": 1.0, "transformation": transformation}

    def edit(m: pyo.ConcreteModel) -> None:
        m.edit = pyo.Constraint(expr=m.w[0] <= 0.3)

    model = edited(edit, "zero_one_disjunctive", data, **settings)
    result = solve(model, "scip")
    assert result.certificate.unproven == ""
    assert result.objective == pytest.approx(truth_of(edit, data, penalty=1.0), rel=1e-4)
    far = steep(build("zero_one_disjunctive", data, **settings))
    found = solve(far, "scip")
    assert found.bound is None
    assert "bounds of w and b" in found.certificate.unproven
    assert found.certificate.unproven.endswith("take the big-M form with a number for big_m")


def test_a_model_inside_another_one_says_what_it_rests_on() -> None:
    outer = pyo.ConcreteModel()
    outer.inner = build("zero_one_relaxed", penalty=0.6, big_m="derived")
    result = solve(outer)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert "block inner is zero_one_relaxed with its big_m" in result.certificate.unproven


@pytest.mark.parametrize(
    ("factor", "intercept"), in_turn([0.1, 0.5, 4.0, 20.0], ["penalised", "none", "free"])
)
def test_m_of_another_price_is_derived_again(factor: float, intercept: str) -> None:
    data = points("overlapping", 4, n=7)
    expected = reference_solutions.zero_one_optimum(data, intercept, 0.6 * factor)
    for name in ("zero_one_big_m", "zero_one_relaxed"):
        model = build(name, data, penalty=0.6, big_m="derived", intercept=intercept)
        model.penalty = 0.6 * factor
        result = of_the_problem(model)
        assert result.certificate.unproven == ""
        assert result.certificate.level == "paper"
        assert result.bound <= expected * (1 + 1e-6)
        if name == "zero_one_big_m":
            assert result.certificate.verdict is Verdict.CERTIFIED
            assert result.objective == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    "optimum", [{"penalty": 0.05}, {"penalty": 0.6, "most": 2}], ids=["price", "row"]
)
def test_an_exact_model_with_slack_bounds_is_solved_without_them_after_an_edit(
    optimum: dict[str, Any], tmp_path: Path
) -> None:
    bounds = closed_slack_bounds(DATA, penalty=0.6, intercept="penalised")
    model = build("zero_one_big_m", penalty=0.6, big_m="derived", slack_bounds=bounds)
    assert solve(model).certificate.unproven == ""
    model.penalty = optimum["penalty"]
    if "most" in optimum:
        model.budget = pyo.Constraint(expr=sum(model.z.values()) <= optimum["most"])
    result = solve(model)
    truth = reference_solutions.zero_one_optimum(DATA, "penalised", **optimum)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.certificate.unproven == ""
    assert result.objective == pytest.approx(truth, rel=1e-5)
    assert result.certificate.facts["solved_copy"].endswith("slack_bounds left out")
    about = json.loads(result.save_proof(tmp_path / "proof.json").read_text())["about"]
    assert "it is a copy of the model, with" in about
    assert about.endswith("slack_bounds left out")


def test_a_saved_one_is_proven_again_and_an_edited_one_is_refused(tmp_path: Path) -> None:
    table = tmp_path / "four.csv"
    table.write_text("y,a\n1,0.1\n-1,0.2\n1,-0.1\n-1,-0.2\n")
    saved = tmp_path / "saved.json"
    words = ["zero_one_big_m", "--data", str(table), "--set", "penalty=1", "big_m=0.001"]
    assert run("solve", *words, "--out", str(saved)).code == 3
    again = run("certify", str(saved))
    assert again.code == 3
    assert "infeasible proven again" in again.stdout
    model = build("zero_one_relaxed", load(str(table)), penalty=1.0, big_m="derived")
    model.w[0].fix(1000.0)
    solve(model).save(saved)
    refused = run("certify", str(saved))
    assert refused.code not in (0, 3)
    assert "model that was edited" in refused.stdout + refused.stderr


@pytest.mark.slow("twelve edited problems, and SCIP on each of them for the truth")
@pytest.mark.parametrize("first", range(0, 72 if FULL else 12, 12))
def test_no_bound_of_a_random_edit_is_above_its_optimum(first: int) -> None:
    """With everything derived, and with the unedited M stated; one witness bounds both."""
    kept: Counter[str] = Counter()
    for seed in range(first, first + 12):  # every family with every intercept
        case = draw(seed)
        truth = case.witness()
        assert truth.objective is not None or truth.status is Status.INFEASIBLE, seed
        exact, *others = case.entries
        for entry in (exact, *others[(seed // 3 + seed // 12) % 3 :: 3]):  # the others in turn
            if entry == "conic_sdp_strengthened" and "price" in case.words:
                continue  # its penalty is no Param
            label = f"seed {seed}, {entry}, {case.intercept}, {case.words}"
            result = solve(case.edited(entry), time_limit=20)
            if result.certificate.unproven:
                empty = result.status is Status.INFEASIBLE
                # Of a relaxation the bound stands, whether a solver's point closes it or not; of
                # some as written: what keeps them from the problem was stated or is a choice.
                itself = CATALOGUE[entry].relaxes is not None or entry in AS_WRITTEN
                alone = says_nothing(result) or empty or itself
                assert alone or stands_for_itself(result), label
            else:
                kept[case.intercept] += result.bound is not None
                speaks_of_the_edited_problem(entry, result, truth, label)
            if first < 36 and "big_m" in CATALOGUE[entry].parameters:
                unedited = CATALOGUE[entry].build(case.data, **case.settings(entry))
                small = case.edited(entry, big_m=unedited.big_m_proof.values)
                stated = solve(small, time_limit=20)
                if not stated.certificate.unproven:
                    speaks_of_the_edited_problem(entry, stated, truth, f"{label}, stated")
    assert kept["penalised"] > 0, "not everything is thrown away"
    assert kept["none"] > 0


def speaks_of_the_edited_problem(
    entry: str, result: SolveResult, truth: SolveResult, label: str
) -> None:
    best = truth.objective
    if best is None:
        return
    assert result.status is not Status.INFEASIBLE, label
    if result.bound is not None:
        assert result.bound <= best + 1e-5 * max(1.0, abs(best)), label
    if CATALOGUE[entry].relaxes is None and result.status is Status.OPTIMAL:
        assert result.objective == pytest.approx(best, rel=1e-3, abs=1e-4), label


# --- what stays valid ----------------------------------------------------------------------------


def hold_w(m: pyo.ConcreteModel) -> None:
    next(iter((m.find_component("w") or m.B).values())).setub(0.3)


@pytest.mark.parametrize("name", ["multiclass_truncated", "multiclass_truncated_relaxed"])
def test_so_does_a_machine_of_several_classes_unless_its_violations_are_held(name: str) -> None:
    settings = {"ridge": 0.05, "truncation": -0.5, "big_m": "derived", "intercept": "penalised"}
    model = edited(hold_w, name, class_points(2, n=7), **settings)
    assert solve(model).certificate.unproven == ""
    # v_i costs nothing: what lifts it asks for more than M of a point that is given up.
    whole = model.clone()
    whole.v[0].domain = pyo.NonNegativeIntegers
    model.lifted = pyo.Constraint(expr=model.v[0] >= 0.1)
    for lifting in (model, whole):
        assert (stands_for_itself if is_relaxation(lifting) else says_nothing)(solve(lifting))


BOX, SLACKS = {"intercept_bound": "derived"}, {"slack_bounds": "derived"}
LOST = [
    ("zero_one_disjunctive", "free", {}),
    ("conic_sdp", "free", BOX),
    ("conic_sdp_literal", "free", BOX),
    ("conic_sdp_eliminated", "free", BOX),
    ("conic_sdp_strengthened", "free", {}),
    ("conic_sdp_strengthened", "none", SLACKS),
    ("zero_one_relaxed", "penalised", SLACKS | {"big_m": "derived"}),
]


@pytest.mark.parametrize(("name", "intercept", "settings"), LOST)
def test_what_holds_at_some_optimum_is_lost_with_any_edit(
    name: str, intercept: str, settings: dict[str, Any]
) -> None:
    model = edited(hold_w, name, penalty=0.6, intercept=intercept, **settings)
    result = solve(model, time_limit=30)
    assert (stands_for_itself if is_relaxation(model) else says_nothing)(result)
    if "slack_bounds" in settings:
        assert "slack_bounds" in result.certificate.unproven


def test_products_lose_their_bounds_where_no_search_takes_the_edit_along() -> None:
    """Those of (w, b) hold at some optimum; the conflict search rests on nothing of the kind."""
    model = build("zero_one_bilinear", penalty=0.6, intercept="free")
    model.pair = pyo.Constraint(expr=model.z[0] + model.z[1] >= 1)
    assert says_nothing(solve(model, time_limit=30))
    taken = build("zero_one_bilinear", penalty=0.6, intercept="free")
    hold_w(taken)
    for solver in ("auto", "scip"):
        assert solve(taken, solver).certificate.verdict is Verdict.CERTIFIED


def test_indicators_that_an_exchange_lowers_may_be_held_down_but_not_up() -> None:
    """conic_fixed says that a violated point is not kept: z_i = 1 of a kept point is left out."""
    few, held = (build("conic_fixed", penalty=0.6, strengthening="scaled") for _ in range(2))
    few.edit = pyo.Constraint(expr=sum(few.z.values()) <= 7)
    held.z[0].fix(1)
    assert solve(few).certificate.unproven == ""
    assert solve(held).certificate.unproven.startswith("rows outside")


def test_ranges_and_frame_of_the_matrix_machine() -> None:
    data = matrix_points(1, n=10, shape=(2, 2))
    settings = {"ridge": 0.1, "shape": "2x2", "rank": 1}
    for intercept, edit, kept in (
        ("none", lambda m: m.w[0].setub(0.05), True),
        ("none", lambda m: m.U[1, 0].setub(0.5), False),
        ("free", lambda m: m.w[0].setub(0.05), False),
    ):
        model = edited(edit, "matrix_svc_bilinear", data, **settings, intercept=intercept)
        assert (solve(model, "scip").certificate.unproven == "") is kept, intercept
