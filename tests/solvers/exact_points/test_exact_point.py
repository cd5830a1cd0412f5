"""From points that miss their rows by a solver's tolerances to exactly feasible ones nearby."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import (
    CONVEX_CLASSES,
    FeasiblePoint,
    Limits,
    Search,
    StandardForm,
    _along,
    clarabel,
    classify,
    equations_of,
    exact_point,
    near_point,
    proven_point,
    standard_form,
)
from tests.support.documented_models import form_of
from tightmargin.formulations import psd
from tightmargin.solvers import Verdict


def repaired(form: StandardForm, x: Any) -> FeasiblePoint | None:
    return exact_point(form, classify(form), np.array(x, dtype=float), Limits(threads=1))


def cost(form: StandardForm, x: Any, found: FeasiblePoint) -> float:
    before = form.objective.varying(np.clip(np.array(x, dtype=float), form.lower, form.upper))
    return (found.varying - before) / abs(before)


def model(**bounds: Any) -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    for name, pair in bounds.items():
        m.add_component(name, pyo.Var(bounds=pair))
    return m


FREE, POSITIVE = (None, None), (0, None)


# --- one difficulty each --------------------------------------------------------------------------


def test_rows_that_together_imply_an_equation_are_solved_as_one() -> None:
    """No point is inside both rows, and 0.7 / 0.3 is no double."""
    m = model(x=FREE, y=FREE, t=POSITIVE)
    m.above = pyo.Constraint(expr=0.1 * m.x + 0.3 * m.y >= 0.7)
    m.below = pyo.Constraint(expr=0.1 * m.x + 0.3 * m.y <= 0.7)
    m.cone = pyo.Constraint(expr=m.x**2 + m.y**2 <= m.t)
    m.goal = pyo.Objective(expr=m.t)
    result = tm.solve(m, "clarabel")
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate
    assert result.objective == pytest.approx(4.9, rel=1e-6)  # 0.7^2 / (0.1^2 + 0.3^2)


def test_a_row_with_ample_room_lets_a_column_of_another_row_rise() -> None:
    """Raising s helps `need`; `limit`, which objects to it, has all the room that takes."""
    m = model(x=(0, 10), y=(0, 10), s=POSITIVE)
    m.need = pyo.Constraint(expr=0.1 * m.x + 0.7 * m.y + m.s >= 1)
    m.floor = pyo.Constraint(expr=0.3 * m.x + 0.9 * m.y - 0.2 * m.s <= 5)
    m.limit = pyo.Constraint(expr=m.s + m.x <= 3)
    m.goal = pyo.Objective(expr=-(m.x**2) - m.y**2)
    found = repaired(standard_form(m), [0.3, 1.38 - 1e-12, 1e-3 - 1e-12])
    assert found.exact


def test_the_equations_choose_columns_with_room() -> None:
    """A simplex with a coordinate at each end: the pivot is neither."""
    m = pyo.ConcreteModel()
    m.a = pyo.Var(range(4), bounds=(0, 0.5))
    m.total = pyo.Constraint(expr=sum(m.a.values()) == 1)
    m.goal = pyo.Objective(expr=m.a[0] - m.a[1])
    form = standard_form(m)
    x = np.array([0.0, 0.5, 0.3, 0.2 + 1e-9])
    equations = equations_of(form, x)
    assert set(equations.dependent.tolist()) <= {2, 3}
    found = repaired(form, x)
    assert found.x[:2].tolist() == [0.0, 0.5]
    assert found.varying == -0.5


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_norms_are_met_by_scaling(scale: float) -> None:
    """A step back into the ball, and the slack takes what that costs its row."""
    m = model(x=FREE, y=FREE, s=POSITIVE)
    m.ball = pyo.Constraint(expr=m.x**2 + m.y**2 <= 2 * scale**2)
    m.row = pyo.Constraint(expr=m.x + m.y + m.s >= 3 * scale)
    m.goal = pyo.Objective(expr=m.s)
    found = repaired(standard_form(m), scale * np.array([1 + 1e-9, 1.0, 1.0]))
    assert found.varying / scale == pytest.approx(1.0, abs=1e-8)


def test_equations_are_solved_in_rational_numbers() -> None:
    """3 x + 3 y = 2 and x = y has the solution 1/3, and z = 1 - x: a contradiction has none."""
    m = model(x=(0, 1), y=(0, 1), z=(0, 1))
    m.rows = pyo.ConstraintList()
    m.rows.add(3 * m.x + 3 * m.y == 2)
    m.rows.add(m.x - m.y == 0)
    m.rows.add(m.x + m.z == 1)
    m.goal = pyo.Objective(expr=m.x)
    found = repaired(standard_form(m), [1 / 3 + 1e-9, 1 / 3 - 1e-9, 2 / 3])
    assert found.x == pytest.approx([1 / 3, 1 / 3, 2 / 3], rel=1e-15)
    assert found.varying >= 1 / 3
    assert found.varying == pytest.approx(1 / 3, rel=1e-11)
    assert repaired(standard_form(m), [np.nan, 0.0, 0.0]) is None
    m.rows.add(m.x == 1 / 3)
    assert repaired(standard_form(m), [1 / 3, 1 / 3, 2 / 3]) is None


def test_a_column_of_its_own_solves_each_definition() -> None:
    rng = np.random.default_rng(0)
    F, a = rng.standard_normal((20, 3)), rng.random(20)
    m = pyo.ConcreteModel()
    m.a, m.v = pyo.Var(range(20), bounds=(0, 1)), pyo.Var(range(3))
    m.define = pyo.Constraint(
        range(3), rule=lambda m, k: sum(float(F[i, k]) * m.a[i] for i in range(20)) == m.v[k]
    )
    m.goal = pyo.Objective(expr=sum(m.v[k] ** 2 for k in range(3)))
    form, x = standard_form(m), np.r_[a, F.T @ a + 1e-9]
    equations, found = equations_of(form, x), repaired(form, x)
    assert len(equations.core) == 0
    assert found.x[:20] == pytest.approx(a)
    assert found.x[20:] == pytest.approx(F.T @ a, rel=1e-12)


def test_integers_are_rounded_and_the_rest_is_repaired() -> None:
    """w x >= 1 - 5 z and sum z = 1: the equation has no column to be solved for, and needs none."""
    m = pyo.ConcreteModel()
    m.w, m.z = pyo.Var(bounds=(None, 1)), pyo.Var(range(3), domain=pyo.Binary)
    points = (1.0, 2.0, -1.0)
    m.row = pyo.Constraint(range(3), rule=lambda m, i: points[i] * m.w + 5 * m.z[i] >= 1)
    m.total = pyo.Constraint(expr=sum(m.z.values()) == 1)
    m.goal = pyo.Objective(expr=m.w**2 + sum(m.z.values()))
    form = standard_form(m)
    for w in (1 - 1e-8, 1 + 1e-9):
        found = repaired(form, [w, 1e-9, 1e-9, 1 - 1e-9])
        assert found.exact
        assert found.x.tolist() == pytest.approx([1.0, 0.0, 0.0, 1.0], abs=1e-7)
        assert found.x[1:].tolist() == [0.0, 0.0, 1.0]
        assert 2.0 <= found.varying <= 2.0 + 1e-7
    assert repaired(form, [1.0, 0.0, 0.0, 0.0]) is None


def test_slacks_take_what_rows_miss_and_no_more() -> None:
    m = model(x=FREE, s=POSITIVE, dear=POSITIVE)
    m.row = pyo.Constraint(expr=m.x + m.s + m.dear >= 1)
    m.other = pyo.Constraint(expr=m.x <= 0.3)
    m.goal = pyo.Objective(expr=m.s + 10 * m.dear)
    found = repaired(standard_form(m), [0.3, 0.7 - 1e-8, 0.0])
    assert found.x[2] == 0.0
    assert found.varying == pytest.approx(0.7, rel=1e-12)
    m.other.deactivate()
    found = repaired(standard_form(m), [1.0 + 1e-9, 0.0, 0.0])
    assert found.varying == 0.0, "an optimum of 0 stays 0"


def test_a_raised_column_is_followed_by_the_next() -> None:
    """u >= |w|, sum u - s <= 1: raising u misses the sum, which s makes up."""
    m = pyo.ConcreteModel()
    m.w, m.u, m.s = pyo.Var(range(3)), pyo.Var(range(3)), pyo.Var(bounds=(0, None))
    m.up = pyo.Constraint(range(3), rule=lambda m, k: m.u[k] - m.w[k] >= 0)
    m.down = pyo.Constraint(range(3), rule=lambda m, k: m.u[k] + m.w[k] >= 0)
    m.total = pyo.Constraint(expr=sum(m.u.values()) - m.s <= 1)
    m.keep = pyo.Constraint(range(3), rule=lambda m, k: (1, m.w[k], 1))
    m.goal = pyo.Objective(expr=m.s)
    x = [1.0, 1.0, 1.0, 1 - 1e-9, 1 - 1e-9, 1 - 1e-9, 2 - 4e-9]
    found = repaired(standard_form(m), x)
    assert found.varying == pytest.approx(2.0, rel=1e-12)


def test_a_column_that_a_row_objects_to_moves_as_far_as_that_row_has_room() -> None:
    """Slacks are limited by `level`, which holds with room once the whole point is smaller."""
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((12, 2))
    w = np.array([1.0, 0.7]) / 3
    rho = float(np.sort(Z @ w)[4])
    xi = np.maximum(0.0, rho - Z @ w)
    point = np.r_[w, rho, xi] / float(np.mean(xi) - 0.05 * rho)
    m = pyo.ConcreteModel()
    m.w, m.rho, m.xi = pyo.Var(range(2)), pyo.Var(), pyo.Var(range(12), bounds=POSITIVE)
    m.margin = pyo.Constraint(
        range(12), rule=lambda m, i: Z[i, 0] * m.w[0] + Z[i, 1] * m.w[1] - m.rho + m.xi[i] >= 0
    )
    m.level = pyo.Constraint(expr=sum(m.xi.values()) * (1 / 12) - 0.05 * m.rho <= 1)
    m.goal = pyo.Objective(expr=-(m.w[0] ** 2) - m.w[1] ** 2)  # not convex: no solve for a way in
    form = standard_form(m)
    assert proven_point(form, point) is None
    found = repaired(form, point)
    assert found is not None
    assert cost(form, point, found) <= 1e-8


def test_a_point_inside_is_sought_where_scaling_does_not_help() -> None:
    """Between sides that all pull no column is free, and the optimum is a corner."""
    m = model(x=FREE, y=FREE)
    m.rows = pyo.ConstraintList()
    m.rows.add(m.x + m.y >= 1)
    m.rows.add(m.x - 2 * m.y <= 4)
    m.rows.add(3 * m.x + m.y <= 7)
    m.rows.add(m.x**2 + m.y**2 <= 4)
    m.goal = pyo.Objective(expr=m.y - 0.2 * m.x)
    form = standard_form(m)
    optimum = clarabel.run(form, classify(form), Limits(threads=1)).x
    x = optimum + np.array([2e-9, -3e-9])
    assert proven_point(form, x) is None
    found = repaired(form, x)
    assert found is not None
    assert cost(form, x, found) <= 1e-7


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_a_singular_matrix_is_lifted(scale: float) -> None:
    """W >= w w' with w held by rows from both sides: trace(W) is least where W = w w'."""
    m = pyo.ConcreteModel()
    m.w, m.W = pyo.Var(range(2)), pyo.Var([(0, 0), (1, 0), (1, 1)])
    psd(m, "lifted", [[m.W[0, 0]], [m.W[1, 0], m.W[1, 1]], [m.w[0], m.w[1], 1.0]])
    m.rows = pyo.ConstraintList()
    m.rows.add(m.w[0] + m.w[1] >= scale)
    m.rows.add(m.w[0] - m.w[1] <= scale)
    m.goal = pyo.Objective(expr=m.W[0, 0] + 2 * m.W[1, 1])
    form = standard_form(m)
    w = scale * np.array([2 / 3, 1 / 3])
    x = [*w, w[0] ** 2, w[0] * w[1], w[1] ** 2 * (1 - 1e-9)]
    assert proven_point(form, np.array(x)) is None
    found = repaired(form, x)
    assert found is not None
    assert cost(form, x, found) <= 1e-7


# --- no point, and points at the edge of none -----------------------------------------------------


def test_no_point_is_made_up_where_there_is_none() -> None:
    """Seven coordinates of at most 1/7 rounded down never sum to 1: near, and nothing more."""
    assert 7 * Fraction(1 / 7) < 1
    m = pyo.ConcreteModel()
    m.a = pyo.Var(range(7), bounds=(0, 1 / 7))
    m.total = pyo.Constraint(expr=sum(m.a.values()) == 1)
    m.goal = pyo.Objective(expr=m.a[0])
    form = standard_form(m)
    x = np.full(7, 1 / 7)
    assert repaired(form, x) is None
    near = near_point(form, x)
    assert 0 < near.eps <= 1e-15
    assert near.worst == "row total"


# --- the catalogue --------------------------------------------------------------------------------


def test_a_solver_s_points_of_the_convex_catalogue_are_made_exact() -> None:
    """Counted: a formulation that is infeasible to the last bit, or without interior, may fail."""
    asked, exact, cheap = 0, 0, 0
    for name, entry in tm.catalogue.items():
        if entry.problem_class not in CONVEX_CLASSES:
            continue
        form = form_of(name)
        if form.n > 200:
            continue  # it takes ten seconds
        kind = classify(form)
        claim = clarabel.run_scaled(form, kind, Limits(threads=1))
        if claim.x is None:
            continue
        before = near_point(form, np.clip(claim.x, form.lower, form.upper))
        if before is None or before.eps > 1e-6:
            continue  # no optimum to speak of
        asked += 1
        found = exact_point(form, kind, claim.x, Limits(threads=1))
        if found is not None:
            exact += 1
            size = max(abs(found.varying), abs(form.objective.varying(claim.x)))
            cheap += found.varying - form.objective.varying(claim.x) <= 1e-6 * size
    assert asked >= 30
    assert exact >= 0.9 * asked
    assert cheap >= 0.8 * asked


def test_a_step_is_sought_between_one_too_short_and_one_that_is_dear() -> None:
    """Feasible from 3e-5 on and dear at 1e-4: what is taken is within a factor of two of 3e-5."""
    tried: list[float] = []

    class Feasible(Search):
        def tried(self, x: np.ndarray, *, clearly: bool = False) -> float:
            tried.append(float(x[0]))
            return float(x[0]) if x[0] >= 3e-5 else np.inf

        def settled(self, share: float) -> bool:
            return False

    search = object.__new__(Feasible)
    _along(search, np.zeros(1), np.ones(1), (1e-3, 1e-4, 1e-5, 1e-6))
    assert 3e-5 <= min(step for step in tried if step >= 3e-5) <= 6e-5
    assert min(tried) == 1e-5  # and nothing shorter
