"""What is called a relaxation, and cannot be one, is flagged in the table."""

from __future__ import annotations

from dataclasses import replace

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import Comparison
from tests.inside.solvers import GapTableBound as Bound
from tests.references.brute_force import zero_one_optima
from tightmargin.solvers import Status, Verdict

DATA = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
EXACT = {"penalty": 1.0, "big_m": "derived"}


pytestmark = pytest.mark.usefixtures("catalogue_as_it_was")


def empty(data: tm.TrainingData, *, penalty: float) -> pyo.ConcreteModel:
    model = tm.zero_one_relaxed(data, penalty=penalty, big_m=60.0)
    model.far = pyo.Constraint(expr=model.w[0] >= model.w[1] + 2)
    model.near = pyo.Constraint(expr=model.w[0] <= model.w[1] - 2)
    return model


def too_dear(data: tm.TrainingData, *, penalty: float) -> pyo.ConcreteModel:
    model = tm.zero_one_relaxed(data, penalty=penalty, big_m=60.0)
    model.objective.expr = model.objective.expr + 10
    return model


@pytest.fixture
def table() -> Comparison:
    for build in (empty, too_dear):
        tm.formulation("QP", "here", relaxes="zero_one_big_m")(build)
    far = pyo.ConcreteModel()
    far.x = pyo.Var(bounds=(0, 1))
    far.row = pyo.Constraint(expr=far.x >= 2)
    far.cost = pyo.Objective(expr=far.x)
    rows = {"good": "zero_one_relaxed", "empty": "empty", "dear": "too_dear", "foreign": far}
    return tm.compare(DATA, rows, exact="zero_one_big_m", parameters=EXACT)


def test_an_empty_or_dearer_model_is_no_relaxation(table: Comparison) -> None:
    (optimum,) = zero_one_optima(DATA, [1.0], "penalised")
    marks = dict(zip(table.to_frame()["formulation"], table.to_frame()["certificate"], strict=True))
    assert marks["good"] == "CERTIFIED"
    for label in ("empty", "foreign"):
        assert marks[label].startswith("no relaxation (it is proven to have no point")
    assert marks["dear"].startswith("no relaxation (bound 1")
    assert [line.partition(":")[0] for line in table.violations()] == ["empty", "dear", "foreign"]
    for row in table.rows:
        refuted = row.status is Status.INFEASIBLE or (row.value or 0.0) > optimum
        assert bool(table.why_no_relaxation(row)) == refuted
        assert (table.absolute_gap(row) is None) == refuted
    assert "no relaxation" in str(table)
    assert "if that is one" not in str(marks)


def test_an_unproven_best_point_may_be_the_wrong_one(table: Comparison) -> None:
    doubtful = replace(table.exact.certificate, verdict=Verdict.SOLVER_BOUND)
    unsure = replace(table, exact=replace(table.exact, certificate=doubtful))
    assert "if that is one" in unsure.why_no_relaxation(row(unsure, "dear"))
    none = replace(table, upper=None)
    assert not any(none.why_no_relaxation(row) for row in none.rows)


def test_what_is_infeasible_by_a_solvers_word_is_not_flagged(table: Comparison) -> None:
    said = replace(row(table, "empty"), is_empty=False)
    assert table.why_no_relaxation(said) == ""


def test_rows_with_another_edit_are_about_another_problem() -> None:
    model = empty(DATA, penalty=1.0)
    table = tm.compare(DATA, [model], exact="zero_one_big_m", parameters=EXACT)
    assert not table.rows[0].is_empty
    assert table.violations() == []


def row(table: Comparison, label: str) -> Bound:
    return next(row for row in table.rows if row.label == label)
