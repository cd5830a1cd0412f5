"""A gap table lays an edited row beside the edited optimum, or beside none."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.experiments import outlier_data
from tests.references import reference_solutions
from tests.references.reference_solutions import points
from tightmargin.solvers import solve

DATA = points("overlapping", 4, n=8)
SETTINGS = {"penalty": 0.6, "big_m": 500.0}
FEW = reference_solutions.zero_one_optimum(DATA, "penalised", 0.6, most=2)


def few(m: pyo.ConcreteModel) -> None:
    m.budget = pyo.Constraint(expr=sum(m.z.values()) <= 2)


def edited(name: str, edit: Any = few, **settings: Any) -> pyo.ConcreteModel:
    model = tm.catalogue[name].build(DATA, penalty=0.6, **settings)
    edit(model)
    return model


def has_no_gap(table: Any, k: int = 0) -> bool:
    row = table.rows[k]
    return (
        row.bound is None
        and table.absolute_gap(row) is None
        and table.relative_gap(row) is None
        and not table.violations()
        and row.value is not None
        and row.remark.startswith("no bound: ")
    )


def test_models_of_the_user_and_of_the_edit_are_held_against_each_other() -> None:
    def elsewhere(m: pyo.ConcreteModel) -> None:
        few(m)
        m.lift = pyo.Constraint(expr=m.W[0, 0] >= 0.2)

    models = [edited("conic_sdp"), edited("conic_sdp", elsewhere)]
    table = tm.compare(DATA, models, parameters=SETTINGS, edit=few)
    assert table.rows[0].bound is not None
    assert table.rows[0].label == "conic_sdp (model)"
    assert has_no_gap(table, 1)
    assert "which does not have lift" in table.rows[1].remark


def test_an_edit_that_is_not_the_same_for_all_is_found_out() -> None:
    def tighter_where_there_is_a_cone(m: pyo.ConcreteModel) -> None:
        most = 0.5 if m.find_component("W") is not None else 2
        m.budget = pyo.Constraint(expr=sum(m.z.values()) <= most)

    table = tm.compare(DATA, ["conic_sdp"], parameters=SETTINGS, edit=tighter_where_there_is_a_cone)
    assert has_no_gap(table)


@pytest.mark.parametrize(
    "loosen",
    [
        lambda m: (m.hinge if m.find_component("hinge") is not None else m.margin)[0].deactivate(),
        lambda m: m.objective.set_value(m.objective.expr + 0.1 * m.z[0]),
    ],
)
def test_rows_taken_away_and_other_objectives_have_no_gap(loosen: Any) -> None:
    table = tm.compare(DATA, ["conic_sdp"], parameters=SETTINGS, edit=loosen)
    assert has_no_gap(table)
    exact = edited("zero_one_big_m", loosen, big_m=500.0)
    unedited = tm.compare(DATA, ["conic_sdp"], parameters=SETTINGS, exact=exact)
    assert has_no_gap(unedited), "the bound of the unedited problem is none for a looser one"


def test_an_exact_model_is_edited_on_a_copy() -> None:
    exact = tm.zero_one_big_m(DATA, penalty=0.6, big_m=500.0)
    table = tm.compare(DATA, ["conic_sdp"], parameters=SETTINGS, exact=exact, edit=few)
    assert table.upper == pytest.approx(FEW, rel=1e-5)
    assert table.rows[0].bound is not None
    assert exact.find_component("budget") is None


def test_a_result_of_an_edited_model_is_no_optimum_of_the_catalogue() -> None:
    found = solve(edited("zero_one_big_m", big_m=500.0))
    assert has_no_gap(tm.compare(DATA, ["conic_sdp"], parameters=SETTINGS, exact=found))
    with pytest.raises(ValueError, match="a result cannot be edited"):
        tm.compare(DATA, ["conic_sdp"], parameters=SETTINGS, exact=found, edit=few)


def test_an_edited_dual_is_no_bound() -> None:
    dual = tm.conic_sdp_dual(DATA, penalty=0.6)
    dual.cap = pyo.Constraint(expr=sum(dual.gamma.values()) <= 0.1)
    table = tm.compare(DATA, [dual, "conic_sdp_dual"], parameters=SETTINGS)
    assert has_no_gap(table)
    assert table.rows[1].bound is not None
    with pytest.raises(AttributeError, match="'z'") as raised:
        tm.compare(DATA, ["conic_sdp_dual"], parameters=SETTINGS, edit=few)
    assert any("conic_sdp_dual" in note for note in raised.value.__notes__)


def test_an_edit_that_returns_something_else_is_refused() -> None:
    with pytest.raises(ValueError, match="must change the model or return it"):
        tm.compare(DATA, ["conic_sdp"], parameters=SETTINGS, edit=lambda m: 3)


def test_a_foreign_model_keeps_its_remark_beside_an_edited_optimum() -> None:
    foreign = pyo.ConcreteModel(name="mine")
    foreign.x = pyo.Var(bounds=(0.25, 1))
    foreign.goal = pyo.Objective(expr=foreign.x)
    table = tm.compare(DATA, [foreign], exact="zero_one_big_m", parameters=SETTINGS, edit=few)
    assert table.rows[0].bound == pytest.approx(0.25)
    assert "the user's word" in table.to_frame()["certificate"][0]
    beside = tm.compare(DATA, [edited("conic_sdp")], parameters=SETTINGS, exact=foreign)
    assert has_no_gap(beside), "that an edited row relaxes a foreign model is said nowhere"


@pytest.mark.parametrize("uncertified", [False, True])
def test_m_in_a_gap_is_derived_for_the_edited_problem_or_enters_none(uncertified: bool) -> None:
    data = outlier_data("clustered", n=14, d=2, sigma=0.3, seed=4)

    def steep(m: pyo.ConcreteModel) -> None:
        m.edit = pyo.Constraint(expr=m.w[0] >= 3.0)

    names = ["zero_one_relaxed", "conic_sdp"]
    table = tm.compare(
        data, names, parameters={"penalty": 1.0, "big_m": "derived"}, edit=steep,
        include_uncertified=uncertified,
    )  # fmt: skip
    assert all(row.bound <= 13.995 for row in table.rows), "SCIP with M = 500"
    assert table.exact.objective == pytest.approx(13.9949, abs=1e-4)
    # What an unedited model needs, and the edit excludes.
    small = tm.zero_one_big_m(data, penalty=1.0, big_m="derived").big_m_proof.values
    table = tm.compare(
        data, names, parameters={"penalty": 1.0, "big_m": small}, edit=steep,
        include_uncertified=uncertified,
    )  # fmt: skip
    assert has_no_gap(table)
    assert "rows margin" in table.rows[0].remark
    assert table.rows[1].bound <= 13.995
