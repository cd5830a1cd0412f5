"""tm.show: the formulation as its paper states it, every edit marked, foreign models by rows."""

from __future__ import annotations

import ast
import math
from typing import Any

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.cases import CASES
from tests.inside.formulations import formulas
from tests.inside.solvers import expression_node, of_text, relation_node
from tightmargin.formulations import CATALOGUE

DATA = tm.TrainingData([[0.5, -2.0], [1.0, 3.0], [2.0, 0.0], [3.0, 1.0]], [-1, 1, 1, -1])


def c_svc() -> Any:
    return tm.c_svc(DATA, C=2.0)


def line(shown: Any, name: str) -> Any:
    return next(found for found in shown.statements if found.name == name)


def test_a_model_is_shown_as_its_paper_states_it_and_in_latex_and_html() -> None:
    assert str(tm.show(c_svc())).splitlines() == [
        "c_svc (QP): C-SVC, the soft margin with a cost on every slack.",
        "  min        1/2 ||w||^2 + C sum_i s_i xi_i",
        "  margin[i]  y_i (<w, x_i> + b) + xi_i >= 1  for i in I (4)",
        "  bounds     xi_i >= 0",
        "  free       w, b",
        "  data       TrainingData: 4 points, 2 features; C = 2; intercept = free",
    ]
    shown = tm.show(c_svc())
    row = r"y_{i}\,\left(\langle w, x_{i}\rangle + b\right) + \xi_{i} \ge 1"
    assert row in shown.to_latex()
    assert shown._repr_latex_() == f"${shown.to_latex()}$"
    page = shown._repr_html_()
    assert "y<sub>i</sub> (⟨w, x<sub>i</sub>⟩ + b) + ξ<sub>i</sub> ≥ 1" in page
    assert "for i in I (4)" in page
    assert line(shown, "min").latex == (
        r"\tfrac{1}{2}\,\lVert w\rVert^2 + C\,\sum_{i} s_{i}\,\xi_{i}"
    )


@pytest.mark.parametrize("name", CASES)
def test_every_entry_is_shown(name: str) -> None:
    model = CASES[name].build(CASES[name].intercepts[0])
    shown = tm.show(model)
    assert shown.edits == ()
    assert shown.title.startswith(f"{name} ({CATALOGUE[name].problem_class})")
    named = " ".join(found.name for found in shown.statements)
    formula = formulas()[name]
    stated = {row.name for row in formula.rows}
    for family in model.component_objects(pyo.Constraint, active=True, descend_into=False):
        if len(family) and formula.minimise:
            assert family.local_name in named, "a family of rows is left out"
            stated.discard(family.local_name)
    for text in (repr(shown), *(found.text for found in shown.statements)):
        assert "\\" not in text
    assert len(repr(shown)) <= 600
    assert shown.to_latex().count("{") == shown.to_latex().count("}")


def test_every_edit_is_marked() -> None:
    model = c_svc()
    model.cap = pyo.Constraint(expr=model.w[0] <= 0.25)
    for i in (1, 2):
        model.margin[i].deactivate()
    model.C = 5.0
    model.xi[3].fix(0.0)
    found = {(edit.mark, edit.name): edit for edit in tm.show(model).edits}
    assert set(found) == {("+", "cap"), ("-", "margin[1]"), ("~", "C"), ("~", "xi[3]")}
    assert found["+", "cap"].text == "w[0] <= 0.25"
    assert found["+", "cap"].latex == r"w_{0} \le 0.25"
    assert found["-", "margin[1]"].text == "w[0] + 3 w[1] + b + xi[1] >= 1"
    assert found["-", "margin[1]"].where == "and 1 more"
    assert (found["~", "C"].text, found["~", "C"].where) == ("C = 5", "was C = 2")
    assert found["~", "xi[3]"].text == "xi[3] = 0"
    text = str(tm.show(model)).splitlines()
    assert "  +  cap        w[0] <= 0.25" in text
    assert "C = 5" in line(tm.show(model), "data").text
    model.extra = pyo.Var(bounds=(0, 1))
    model.objective.set_value(model.objective.expr + model.extra)
    marks = {edit.name: edit.mark for edit in tm.show(model).edits}
    assert (marks["extra"], marks["objective"]) == ("+", "~")


def foreign() -> Any:
    model = pyo.ConcreteModel(name="mine")
    model.I = pyo.RangeSet(30)
    model.x = pyo.Var(model.I, bounds=(0, 1))
    model.y = pyo.Var(within=pyo.Binary)
    model.p = pyo.Param(initialize=3.5, mutable=True)
    model.c = pyo.Constraint(
        model.I, rule=lambda m, i: m.x[i] ** 2 + pyo.exp(m.y) * (m.x[1] - 2) <= 3 * i
    )
    model.r = pyo.Constraint(expr=(1, model.x[1] + model.p * model.x[2] / (model.x[3] + 1), 4))
    model.e = pyo.Constraint(expr=model.x[1] == abs(model.x[2]) - 0.5 * model.y)
    return model


def test_a_foreign_model_is_shown_by_the_first_row_of_each_family() -> None:
    model = foreign()
    model.o = pyo.Objective(
        expr=sum(model.x[i] for i in model.I) - 2 * model.y * model.x[1], sense=pyo.maximize
    )
    shown = tm.show(model)
    assert shown.title == "mine: 31 variables, 32 rows"
    assert line(shown, "max").text == ("x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + ... - 2 y x[1]")
    assert line(shown, "c[1]").text == "x[1]^2 + exp(y) (x[1] - 2) <= 3"
    assert line(shown, "c[1]").where == "and 29 more"
    assert line(shown, "c[1]").latex == (
        r"x_{1}^{2} + \operatorname{exp}\left(y\right)\,\left(x_{1} - 2\right) \le 3"
    )
    assert line(shown, "r").text == "1 <= x[1] + (p x[2])/(x[3] + 1) <= 4"
    assert line(shown, "y").text == "0 <= y <= 1, in Binary"
    assert line(shown, "data").text == "p = 3.5"
    two = tm.show(model, rows=2)
    assert line(two, "c[2]").where == "and 28 more"
    assert "c[3]" not in str(two)


def test_fixed_variables_and_prices_before_variables() -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var([0, 1], bounds=(0, 9))
    model.q = pyo.Param(initialize=2.0, mutable=True)
    model.x[0].fix(3.0)
    model.row = pyo.Constraint(expr=model.x[1] * 2 + model.q * 3 >= model.x[0])
    shown = tm.show(model)
    assert line(shown, "x").text == "x[0] = 3, in Reals"
    assert line(shown, "row").text == "x[0] <= 2 x[1] + 3 q"
    edited = c_svc()
    edited.xi[0].fix(2.0)
    assert "xi[0] = 2, in Reals" in repr(edited.xi)


def test_semidefinite_rows_and_empty_models_are_shown() -> None:
    model = pyo.ConcreteModel()
    model.s = pyo.Var()
    tm.psd(model, "outer", [[model.s], [1.0, 2.0]])
    assert line(tm.show(model), "outer").text == "matrix of order 2 is semidefinite"
    assert tm.show(pyo.ConcreteModel(name="none")).statements == ()
    assert repr(tm.show(pyo.ConcreteModel(name="none"))) == "none: 0 variables, 0 rows"


def evaluated(node: ast.expr, model: Any) -> Any:
    names = {"x": {(i,): pyo.value(model.x[i]) for i in model.I}}
    names |= {name: pyo.value(model.component(name)) for name in ("y", "p")}
    names["unary"] = lambda name, at: getattr(math, name, abs)(at)
    return eval(ast.unparse(node), {"__builtins__": {}}, names)


def test_nodes_have_the_value_of_the_expression() -> None:
    model = foreign()
    for i in model.I:
        model.x[i].set_value(i / 40)
    model.y.set_value(1)
    x, y, p = model.x, model.y, model.p
    for expression in (
        x[1] - x[2] * 3 + (x[3] - 1) * (y - 2),
        -x[1] / (p + x[2]) - x[3] ** (x[4] + 1),
        pyo.exp(-x[5]) * pyo.log(x[6] + 2) - abs(x[7] - 2),
        2 * (x[1] - (x[2] - x[3])) / 5 - (-x[4]),
        p * x[1] + 0.125 * p,
    ):
        assert evaluated(expression_node(expression), model) == pytest.approx(pyo.value(expression))
    assert evaluated(relation_node(model.r), model) == (1 <= pyo.value(model.r.body) <= 4)


def test_what_is_no_expression_is_upright() -> None:
    assert of_text("row", "a matrix of order 3").latex == r"\text{a matrix of order 3}"
    assert of_text("row", "xi[0] >= 1").html == "ξ<sub>0</sub> ≥ 1"
    assert "&lt;b&gt;" in of_text("row", "<b>").html
