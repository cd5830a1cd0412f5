"""The conflict search on edited 0-1 models: brute force over z, odd scales, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from tests.inside.solvers import Count, SideRows, StopReason
from tests.inside.solvers import checker_read as read
from tests.references.reference_solutions import points
from tests.solvers.zero_one.clouds import clustered
from tests.support.both_checkers import accepted
from tests.support.covering import FULL
from tests.support.edited_models import build
from tests.support.side_edits import SideEdit, side_edit
from tightmargin.formulations import TrainingData
from tightmargin.solvers import SolveResult, Status, Verdict, conflict_search, solve

SEARCH = "conflict-search"
SEEDS = range(45 if FULL else 15)
DATA, CLUSTERED = points("overlapping", 4, n=8), clustered(12, 2, 1)
Edit = Callable[[pyo.ConcreteModel], Any]


def side_by_side(edit: SideEdit, result: SolveResult, optimum: float) -> None:
    """A proven optimum that another computation finds too; or none where there is none."""
    if np.isinf(optimum):
        assert result.objective is None
        assert result.certificate.verdict is not Verdict.CERTIFIED
        return
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.solver == "tightmargin"
    assert result.certificate.unproven == ""
    assert result.objective == pytest.approx(optimum, rel=2e-6, abs=1e-7)
    assert result.bound <= optimum * (1 + 1e-7) + 1e-9


def test_the_optimum_is_that_of_brute_force() -> None:
    """Most edits change it, and so does many a single row: one that is lost would be missed."""
    changed = lost = impossible = 0
    for seed in SEEDS:
        edit = side_edit(seed)
        optimum = edit.optimum()
        side_by_side(edit, solve(edit.model(), method=SEARCH), optimum)
        impossible += np.isinf(optimum)
        bare = SideEdit(edit.data, edit.penalty, edit.intercept, ())
        changed += optimum > bare.optimum() * (1 + 1e-5)
        lost += sum(edit.optimum(without=k) < optimum * (1 - 1e-5) for k in range(len(edit.rows)))
    assert changed > len(SEEDS) / 2
    assert lost > len(SEEDS) / 3
    assert impossible >= 1


def test_a_search_without_a_point_to_start_from_raises_its_cutoff() -> None:
    data, nobody = DATA, np.zeros(8, dtype=bool)
    side = replace(SideRows.nothing(8, data.d), counts=(Count(~nobody, 0),), kept=nobody.copy())
    apart = TrainingData(data.X + 4.0 * data.y[:, None], data.y)
    found = conflict_search(apart, penalty=1e-4, intercept="penalised", side=side)
    none = np.full(data.d, -1.0)
    edit = SideEdit(apart, 1e-4, "penalised", (), counts=[(list(range(8)), 0)])
    assert found.stop is StopReason.PROVEN
    assert found.objective == pytest.approx(edit.optimum(), rel=2e-6)
    ends = replace(side, weights=np.array([none]), of_b=np.zeros(1), most=np.array([-1e4]))
    far = conflict_search(apart, penalty=1e-4, intercept="penalised", side=ends)
    rows = [(np.r_[none, 0.0], -np.inf, -1e4, "row")]
    assert far.objective == pytest.approx(replace(edit, rows=rows).optimum(), rel=2e-6)


def row(expression: Callable[[pyo.ConcreteModel], Any]) -> Edit:
    return lambda m: m.add_component("edit", pyo.Constraint(expr=expression(m)))


CONTRADICTIONS: dict[str, Edit] = {
    "rows": lambda m: (row(lambda m: m.w[0] >= 1)(m), m.w[0].setub(0.5)),
    "count": lambda m: (row(lambda m: sum(m.z.values()) <= 0)(m), m.w[0].fix(0.0), m.w[1].fix(0.0)),
}


@pytest.mark.parametrize("name", CONTRADICTIONS if FULL else ["count"])
def test_where_there_is_no_point_the_branch_and_bound_proves_it(name: str) -> None:
    model = build("zero_one_big_m", DATA, penalty=0.6, big_m=500.0)
    CONTRADICTIONS[name](model)
    proven = solve(model)
    assert proven.status is Status.INFEASIBLE
    assert proven.certificate.verdict is Verdict.CERTIFIED


REFUSED: dict[str, tuple[Edit, str]] = {
    "lower count": (row(lambda m: sum(m.z.values()) >= 2), "asks for violated points"),
    "weights": (row(lambda m: m.z[0] + 2 * m.z[1] <= 2), "weighs the points differently"),
    "z and w": (row(lambda m: m.z[0] - m.w[0] <= 1), "has z beside w or b"),
    "short w": (row(lambda m: m.w[0] ** 2 <= 1), "is quadratic"),
    "objective": (lambda m: m.objective.set_value(m.objective.expr + m.w[0]), "objective"),
    "cheaper": (lambda m: m.objective.set_value(m.objective.expr - 0.5 * m.z[0]), "objective"),
    "a row less": (lambda m: m.margin[2].deactivate(), r"margin\[2\] is missing"),
    "z relaxed": (lambda m: setattr(m.z[1], "domain", pyo.NonNegativeReals), "wider"),
    "integer": (lambda m: setattr(m.w[0], "domain", pyo.Integers), "made an integer"),
    "new": (
        lambda m: (m.add_component("t", pyo.Var()), row(lambda m: m.w[0] <= m.t)(m)),
        "t is none of w, b and z",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_search_has_no_argument_for_goes_to_the_branch_and_bound(name: str) -> None:
    edit, words = REFUSED[name]
    model = build("zero_one_big_m", DATA, penalty=0.6, big_m=50.0)
    edit(model)
    with pytest.raises(ValueError, match=words):
        solve(model, method=SEARCH)
    again = build("zero_one_big_m", DATA, penalty=0.6, big_m="derived")
    edit(again)
    result = solve(again, time_limit=20)
    assert result.certificate.facts.get("engine") != SEARCH


def test_a_solver_and_a_budget_are_asked_as_before() -> None:
    model = build("zero_one_big_m", DATA, penalty=0.6, big_m="derived")
    row(lambda m: m.w[0] <= 0.3)(model)
    assert solve(model.clone(), "scip").solver == "scip"
    assert solve(model, prove=5).certificate.facts.get("engine") != SEARCH


@pytest.mark.parametrize("seed", [3002, 3028])
def test_a_proof_file_leaves_an_edited_model_to_the_search(seed: int, tmp_path: Any) -> None:
    """A column that is fixed at 0 moves no margin; where b is free a derived M may not stand."""
    edit, path = side_edit(seed), tmp_path / "proof.json"
    result = solve(edit.model(), proof=path)
    side_by_side(edit, result, edit.optimum())
    proof = accepted(read(path))
    assert proof.kind == "optimum"
    assert float(proof.upper) + proof.model.constant == pytest.approx(result.objective, rel=1e-6)


@pytest.mark.parametrize("method", ["auto", "cone-search", SEARCH])
@pytest.mark.parametrize("rows", ["crossing", "small"])
def test_what_no_hyperplane_meets_is_told_and_auto_proves_it(method: str, rows: str) -> None:
    """Two rows that cross, and a count of errors that so small a w cannot have."""
    m = build("zero_one_big_m", CLUSTERED, penalty=1.0, big_m="derived", intercept="free")
    if rows == "crossing":
        m.steep = pyo.Constraint(expr=m.w[0] >= 1.0)
        m.flat = pyo.Constraint(expr=m.w[0] <= 0.5)
    else:
        m.few = pyo.Constraint(expr=sum(m.z.values()) <= 1)
        for variable in m.w.values():
            variable.setlb(-1e-3)
            variable.setub(1e-3)
    found = solve(m, method=method)
    assert found.objective is None
    if method == "auto":
        assert found.status is Status.INFEASIBLE
        # The count has no point only beside M, which was derived for larger w.
        closed = Verdict.CERTIFIED if rows == "crossing" else Verdict.NOT_CERTIFIED
        assert found.certificate.verdict is closed
    else:  # M may rest on what a search believes, so that it is told and no verdict
        assert found.certificate.verdict is Verdict.NOT_CERTIFIED
        assert 'method="auto" proves' in found.message


@pytest.mark.parametrize("method", ["auto", "cone-search", SEARCH])
def test_a_large_w_is_no_reason_to_call_a_derived_m_infeasible(method: str) -> None:
    """M was derived for smaller w; the edited problem has points, and its M is raised for them."""
    m = build("zero_one_big_m", CLUSTERED, penalty=1.0, big_m="derived", intercept="free")
    m.far = pyo.Constraint(expr=m.w[0] >= 1e4)
    found = solve(m, method=method, time_limit=20)
    assert found.status is not Status.INFEASIBLE, found.message
    assert found.objective is not None


def test_a_point_that_m_keeps_from_the_optimum_is_not_called_optimal() -> None:
    """No M is proven here; SCIP's optimum is that of the model, and the problem's is lower."""
    edit = side_edit(34)
    assert edit.intercept == "free"
    result = solve(edit.model(), "scip")
    assert result.objective > edit.optimum() * 1.1
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert solve(edit.model()).objective == pytest.approx(edit.optimum(), rel=2e-6)
