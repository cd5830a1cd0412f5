"""After an edit what was derived counts where that is proven; elsewhere there is no bound.

The truth of every edited problem is what SCIP finds with M = 500, or a brute force.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyomo.environ as pyo
import pytest

from tests.references.matrix import matrix_points
from tests.references.multiclass import class_points
from tests.support.covering import FULL
from tests.support.edited_models import (
    build,
    is_relaxation,
    says_nothing,
    stands_for_itself,
)
from tests.support.random_edits import draw
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import SolveResult, Status, Verdict, solve

AS_WRITTEN = ("conic_fixed", "conic_sdp_literal", "conic_sdp_rank_one")


# --- random edits ------------------------------------------------------------------------------


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
    weight = m.w if m.find_component("w") is not None else m.B
    next(iter(weight.values())).setub(0.3)


@pytest.mark.parametrize("name", ["multiclass_truncated", "multiclass_truncated_relaxed"])
def test_so_does_a_machine_of_several_classes_unless_its_violations_are_held(name: str) -> None:
    data = class_points(2, n=7)
    settings = {"ridge": 0.05, "truncation": -0.5, "big_m": "derived", "intercept": "penalised"}
    model = build(name, data, **settings)
    hold_w(model)
    assert solve(model).certificate.unproven == ""
    # v_i costs nothing: a row that lifts it asks for more than M of a point that is given up.
    model.lifted = pyo.Constraint(expr=model.v[0] >= 0.1)
    assert (stands_for_itself if is_relaxation(model) else says_nothing)(solve(model))


BOX, SLACKS = {"intercept_bound": "derived"}, {"slack_bounds": "derived"}
LOST = [
    ("zero_one_disjunctive", "free", {}),
    ("conic_sdp", "free", BOX),
    ("conic_sdp_literal", "free", BOX),
    ("conic_sdp_eliminated", "free", BOX),
    ("conic_sdp_strengthened", "free", {}),
    ("conic_sdp_lift", "free", {"partners": "none"}),
    ("conic_sdp_strengthened", "none", SLACKS),
    ("zero_one_relaxed", "penalised", SLACKS | {"big_m": "derived"}),
]


@pytest.mark.parametrize(("name", "intercept", "settings"), LOST)
def test_what_holds_at_some_optimum_is_lost_with_any_edit(
    name: str, intercept: str, settings: dict[str, Any]
) -> None:
    model = build(name, penalty=0.6, intercept=intercept, **settings)
    hold_w(model)
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
        model = build("matrix_svc_bilinear", data, **settings, intercept=intercept)
        edit(model)
        assert (solve(model, "scip").certificate.unproven == "") is kept, intercept
