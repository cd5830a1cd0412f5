"""Absolute values, norms and quadratic over linear terms: read as cones where they are convex."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.formulations import dot
from tests.inside.solvers import clarabel, classify, standard_form, without_norms, without_quotients
from tests.references.reference_solutions import points
from tests.support.both_checkers import accepted
from tests.support.covering import FULL, covering
from tightmargin.formulations import ProblemClass
from tightmargin.solvers import SolveResult, Status, Verdict

Model = pyo.ConcreteModel
DATA = points("overlapping", 0, n=16, d=3)


def plane(**bounds: Any) -> Model:
    m = Model()
    m.x, m.y = pyo.Var(**bounds), pyo.Var(**bounds)
    m.c = pyo.Param(initialize=2.0, mutable=True)
    return m


def certified(model: Model, **how: Any) -> SolveResult:
    result = tm.solve(model, absolute_gap=1e-8, **how)  # some optima are 0
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate
    return result


def l1(m: Model, price: float = 1.0) -> None:
    m.objective.set_value(m.objective.expr + price * sum(abs(m.w[j]) for j in m.w))


def norm_row(m: Model, radius: float = 0.5) -> None:
    m.cap = pyo.Constraint(expr=pyo.sqrt(sum(m.w[j] ** 2 for j in m.w)) <= radius)


# --- optima by hand ------------------------------------------------------------------------------

ROOT2 = math.sqrt(2)
# Objective over free x and y, and its least value.
OBJECTIVES: dict[str, tuple[Callable[[Any], Any], float]] = {
    "one term": (lambda m: abs(m.x - 3) + (m.y - 1) ** 2, 0.0),
    "a kink between squares": (lambda m: (m.x - 2) ** 2 + m.c * abs(m.x) + m.y**2, 3.0),
    "a median": (lambda m: abs(m.x) + abs(m.x - 1) + abs(m.x - 5) + m.y**2, 5.0),
    "factors and quotients": (lambda m: -(-3 * abs(2 * m.x - 1) / 4) + abs(m.x), 0.5),
    "of a number": (lambda m: abs(m.x - 1) + abs(-3) + abs(m.c), 5.0),
    "a norm": (lambda m: pyo.sqrt(m.x**2 + m.y**2) + (m.x - 3) ** 2 + (m.y - 4) ** 2, 4.75),
    "a power of 0.5": (lambda m: (m.x**2 + m.y**2) ** 0.5 - m.x / 2 + 1, 1.0),
    "a norm with a number": (lambda m: pyo.sqrt(1 + (m.x - 0.1) ** 2 + 4 * m.y**2), 1.0),
    "products": (lambda m: pyo.sqrt(2 * m.x * m.x + 2 * m.x * m.y + 3 * m.y * m.y) + abs(m.x - 1),
                 1.0),
    "both": (lambda m: pyo.sqrt(m.x**2 + m.y**2) + 0.5 * abs(m.x + m.y - 2), 1.0),
}  # fmt: skip


SIGNS = [(name, (1, -1)[k % 2]) for k, name in enumerate(OBJECTIVES)]


@pytest.mark.parametrize(("name", "sign"), covering(OBJECTIVES, (1, -1)) if FULL else SIGNS)
def test_a_convex_objective_has_its_optimum_by_hand(name: str, sign: int) -> None:
    write, expected = OBJECTIVES[name]
    m = plane()
    m.goal = pyo.Objective(expr=sign * write(m), sense=sign)
    result = tm.solve(m, absolute_gap=1e-7)
    assert result.certificate.verdict.closed, result.certificate
    assert sign * result.bound <= expected + 1e-12
    assert sign * result.objective == pytest.approx(expected, abs=2e-7)
    assert pyo.value(m.goal) == pytest.approx(sign * expected, abs=2e-7)
    assert set(result.values) == {"x", "y"}


# Row of x and y, with the least value of x + y (both within -10 and 10) beside it.
ROWS: dict[str, tuple[Callable[[Any], Any], float]] = {
    "an absolute value": (lambda m: abs(m.x) <= 3, -13.0),
    "of an affine function": (lambda m: abs(m.x + m.y + 2) <= 1, -3.0),
    "a Param on the right": (lambda m: abs(m.x) <= m.c, -12.0),
    "a sum": (lambda m: abs(m.x) + m.c * abs(m.y) <= 4, -4.0),
    "0": (lambda m: abs(m.x + m.y) <= 0, 0.0),
    "a norm": (lambda m: pyo.sqrt(m.x**2 + m.y**2) <= 2, -2 * ROOT2),
    "a power of 0.5": (lambda m: (m.x**2 + m.y**2) ** 0.5 <= m.c, -2 * ROOT2),
    "a norm below a variable": (lambda m: pyo.sqrt(m.x**2 + 1) <= m.y, 10 - math.sqrt(99)),
    "weights": (lambda m: pyo.sqrt(m.c * m.x**2 + 2 * (m.y - 1) ** 2) <= 2, 1 - 2.0),
    "a matrix": (lambda m: pyo.sqrt(m.x**2 + m.x * m.y + m.y**2) <= math.sqrt(3), -2.0),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_convex_row_has_its_optimum_by_hand(name: str) -> None:
    write, expected = ROWS[name]
    m = plane(bounds=(-10, 10))
    m.row = pyo.Constraint(expr=write(m))
    m.goal = pyo.Objective(expr=m.x + m.y)
    result = certified(m)
    assert result.bound <= expected + 1e-12
    assert result.objective == pytest.approx(expected, abs=1e-6)
    assert m.row.slack() >= -1e-9
    assert set(result.values) == {"x", "y"}
    assert set(result.duals) <= {"row"}


def test_an_interval_needs_no_variable_and_a_model_without_norms_no_copy() -> None:
    m = plane()
    m.goal = pyo.Objective(expr=m.x)
    m.row = pyo.Constraint(expr=abs(m.x - m.y) <= 2)
    assert [v.name for v in standard_form(without_norms(m)).columns] == ["x", "y"]
    m.ball = pyo.Constraint(expr=pyo.sqrt(m.x**2 + m.y**2) <= 2)
    assert classify(standard_form(without_norms(m))).problem_class is ProblemClass.SOCP
    assert m.component("epigraphs") is None
    m = tm.c_svc(DATA, C=1.0)
    m.w[0].fix(1.0)
    m.held = pyo.Constraint(expr=abs(m.w[0]) + m.b >= 2)
    assert without_norms(m) is m, "a fixed variable is a number"
    assert certified(m).values["b"] >= 1 - 1e-9
    m.off = pyo.Constraint(expr=abs(m.w[1]) <= 2)
    m.off.deactivate()
    assert without_norms(m) is m


def test_an_edit_twice_and_a_clone_say_what_they_say(tmp_path: Path) -> None:
    m = tm.c_svc(DATA, C=1.0)
    l1(m)
    one = certified(m).objective
    assert certified(m.clone()).objective == pytest.approx(one, rel=1e-9)
    l1(m, 2.0)
    three = tm.c_svc(DATA, C=1.0)
    l1(three, 3.0)
    assert certified(m).objective == pytest.approx(certified(three).objective, rel=1e-6)
    assert "epigraphs" in tm.export(m, tmp_path / "model.lp").read_text()
    for text in (str(tm.diff(m)), str(tm.show(m))):
        assert "abs(w[1])" in text
        assert "epigraphs" not in text
    m.cap = pyo.Constraint(expr=abs(m.w[0]) <= 0.01)
    assert abs(certified(m).values["w"][0]) <= 0.01 + 1e-12


def test_an_empty_and_an_endless_model_are_proven() -> None:
    m = tm.c_svc(DATA, C=1.0)
    norm_row(m)
    m.low = pyo.Constraint(expr=m.w[1] >= 0.7)
    assert tm.solve(m).status is Status.INFEASIBLE
    told = tm.explain_infeasible(m)
    assert {part.name for part in told.parts} == {"low", "cap"}
    assert "sqrt(w[0]**2" in next(p.statement for p in told.parts if p.name == "cap")
    empty = plane()
    empty.row = pyo.Constraint(expr=abs(empty.x) <= -1)
    assert tm.solve(empty).status is Status.INFEASIBLE
    endless = plane()
    endless.goal = pyo.Objective(expr=endless.x + abs(endless.x) / 2)
    result = tm.solve(endless)
    assert result.status is Status.UNBOUNDED
    assert set(result.ray) == {"x", "y"}


def test_a_proof_file_states_the_epigraphs_and_is_checked(tmp_path: Path) -> None:
    m = tm.c_svc(DATA, C=1.0)
    l1(m)
    norm_row(m)
    file = tmp_path / "proof.json"
    result = certified(m, proof=file)
    assert "became 4 variables, epigraphs.value" in result.message
    found = accepted(json.loads(file.read_text()))
    assert found.kind == "optimum"
    assert float(found.lower) <= result.objective <= float(found.upper) * (1 + 1e-12)
    assert "epigraphs.value[1]" in file.read_text()


def test_roots_that_are_no_norm_stay_what_they_are() -> None:
    """No sum of squares, or bounded from below: for a solver of such models, and never a proof."""
    rows: list[Callable[[Any], Any]] = [
        lambda m: pyo.sqrt(m.x**2 + m.y**2) >= 1,
        lambda m: pyo.sqrt(m.x**2 - 1) <= 2,
        lambda m: pyo.sqrt(m.x + 3) <= 2,
        lambda m: pyo.sqrt(m.x**2 + 3 * m.x * m.y + m.y**2) <= 2,
        lambda m: pyo.sqrt(m.x**2 + m.x) <= 2,
    ]
    for write in rows:
        m = plane(bounds=(-3, 3))
        m.goal = pyo.Objective(expr=m.x - m.y)
        m.row = pyo.Constraint(expr=write(m))
        assert without_norms(m) is m, str(m.row.expr)


# --- quotients -----------------------------------------------------------------------------------


def above(low: float | None = 0.0) -> Model:
    """Variables x >= 3, v >= 4 and y, whose lower bound is given."""
    m = Model()
    m.x, m.v, m.y = pyo.Var(bounds=(3, None)), pyo.Var(bounds=(4, None)), pyo.Var(bounds=(low, 50))
    m.cost = pyo.Param(initialize=2.0, mutable=True)
    return m


def class_of(model: Model) -> ProblemClass:
    return classify(standard_form(without_quotients(model))).problem_class


# Objective of x = 3, v = 4 and a y to be chosen, with its least value by hand: a / y + b y has the
# least value 2 sqrt(a b).
CONVEX: dict[str, tuple[Any, float]] = {
    "a square over a variable": (lambda m: m.x**2 / m.y + m.y, 6.0),
    "with a cost": (lambda m: m.cost * m.x**2 / m.y + 8 * m.y, 24.0),
    "a difference twice": (lambda m: m.y - (-(m.x**2) / m.y), 6.0),
    "affine parts": (lambda m: (m.x + 2 * m.v - 1) ** 2 / (m.y + 2) + m.y + 2, 20.0),
    "a divisor that falls": (lambda m: m.x**2 / (50 - m.y) - m.y + 50, 6.0),
    "two quotients": (lambda m: m.x**2 / m.y + m.v**2 / (2 * m.y) + m.y / 2, 2 * np.sqrt(8.5)),
}


@pytest.mark.parametrize("name", CONVEX)
def test_a_convex_quotient_has_its_optimum_by_hand(name: str) -> None:
    expression, expected = CONVEX[name]
    m = above()
    m.goal = pyo.Objective(expr=expression(m))
    written = str(m.goal.expr)
    assert class_of(m) is ProblemClass.SOCP
    result = certified(m)
    assert result.objective == pytest.approx(expected, rel=1e-6)
    assert result.solver == "clarabel"
    # The model is left as it was, and holds the point.
    assert str(m.goal.expr) == written
    assert not list(m.component_objects(pyo.Constraint))
    assert pyo.value(m.goal) == pytest.approx(expected, rel=1e-5)


def test_single_quotients() -> None:
    m = above()
    m.goal = pyo.Objective(expr=-(m.x**2) / m.y - m.y, sense=pyo.maximize)
    result = certified(m)
    assert result.objective == pytest.approx(-6.0, rel=1e-6)
    m = above()
    m.u = pyo.Var(range(3), bounds=(1, None))  # a sum that is kept as an array may be the base
    m.quotients = pyo.Var(bounds=(1, 2))  # called as the cones are
    goal = dot(np.array([1.0, 2.0, 3.0]), m.u) ** 2 / m.y + m.y + m.quotients
    m.goal = pyo.Objective(expr=goal)
    result = certified(m)
    assert result.objective == pytest.approx(13.0, rel=1e-6)
    assert result.values["quotients"] == pytest.approx(1.0, abs=1e-6)
    (value,) = (array for name, array in result.values.items() if name.endswith(".value"))
    assert value == pytest.approx([6.0], rel=1e-4)
    m = above()  # x^2 / y + y + x is at least 3 y / 4, and y may be 0 where x is: the limit
    m.x.setlb(None)
    m.goal = pyo.Objective(expr=m.x**2 / m.y + m.y + m.x)
    result = certified(m)
    assert result.objective == pytest.approx(0.0, abs=1e-7)
    assert result.values["y"] == pytest.approx(0.0, abs=1e-6)


def test_changed_params_and_fixed_parts_change_the_next_optimum() -> None:
    m = above()
    m.goal = pyo.Objective(expr=m.cost * m.x**2 / m.y + 8 * m.y)
    assert certified(m).objective == pytest.approx(24.0, rel=1e-6)
    m.cost.set_value(0.5)
    assert certified(m).objective == pytest.approx(12.0, rel=1e-6)
    m.cost.set_value(0.0)
    assert certified(m).objective == pytest.approx(0.0, abs=1e-6)
    m.cost.set_value(1.0)
    m.y.fix(2.0)
    assert certified(m).objective == pytest.approx(9 / 2 + 16, rel=1e-6)
    m.y.unfix()
    m.x.fix(6.0)
    assert certified(m).objective == pytest.approx(2 * np.sqrt(36 * 8), rel=1e-6)


def test_what_is_not_known_to_be_convex_is_left_alone() -> None:
    goals: list[Callable[[Any], Any]] = [
        lambda m: m.x**2 / (m.y - 1) + m.y,  # a divisor that may be negative
        lambda m: m.y - m.x**2 / m.y,
        lambda m: m.x / m.y + m.y,
        lambda m: m.x * m.v / m.y + m.y,
        lambda m: m.x**4 / m.y + m.y,
        lambda m: m.x**2 / m.y**2 + m.y,
    ]
    for write in goals:
        m = above()
        m.goal = pyo.Objective(expr=write(m))
        assert without_quotients(m) is m, str(m.goal.expr)
        assert class_of(m) is ProblemClass.NONCONVEX


def test_models_without_quotients_are_not_copied() -> None:
    unbounded = above(low=None)  # a cone would bound y: the least would be 6, and there is none
    unbounded.goal = pyo.Objective(expr=unbounded.x**2 / unbounded.y + unbounded.y)
    assert without_quotients(unbounded) is unbounded
    m = above()
    assert without_quotients(m) is m
    m.goal = pyo.Objective(expr=m.x**2 / 4 + m.cost * m.y / m.cost)
    assert without_quotients(m) is m
    m.other = pyo.Objective(expr=m.x**2 / m.y)
    assert without_quotients(m) is m


def test_a_point_that_is_forged_is_not_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of the quotients are found anew from w, b and W, whatever the solver says."""
    data = points("overlapping", 0, n=10)
    honest = clarabel.run

    def lying(form: Any, *rest: Any) -> Any:
        claim = honest(form, *rest)
        at = [k for k, name in enumerate(form.columns.names()) if name.startswith("quotients")]
        claim.x[at] = 0.0
        return claim

    monkeypatch.setattr(clarabel, "run", lying)
    result = tm.solve(tm.conic_sdp_eliminated(data, penalty=1.0), "clarabel")
    monkeypatch.undo()
    expected = tm.solve(tm.conic_sdp(data, penalty=1.0)).objective
    assert result.objective == pytest.approx(expected, rel=1e-6)
    assert result.status is Status.OPTIMAL
