"""Models as anybody writes them with Pyomo: the right value, and the verdict it deserves."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import SOLVERS, checker, own_residual, standard_form
from tightmargin.solvers import Status, Verdict

# --- rows of decimals over integers --------------------------------------------------------------


def decimals(prices: list[float], row: Callable[[Any], Any], **kinds: Any) -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(len(prices)), **({"within": pyo.Binary} | kinds))
    m.goal = pyo.Objective(expr=sum(p * m.x[j] for j, p in enumerate(prices)))
    m.row = pyo.Constraint(expr=row(m.x))
    return m


DECIMALS = {
    # In decimals each row holds with equality at the point; in doubles it misses by a last place.
    "knapsack": (lambda: decimals([-1, -1], lambda x: 0.1 * x[0] + 0.2 * x[1] <= 0.3), -2),
    "stock": (
        lambda: decimals(
            [1, 3, 2], lambda x: 0.9 * x[0] + x[1] == x[2],
            within=pyo.Integers, bounds=lambda m, j: ((55, 70), (0, 18), (57, 75))[j],
        ),
        183,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DECIMALS)
def test_a_row_of_decimals_that_holds_with_equality_is_named(name: str) -> None:
    build, value = DECIMALS[name]
    result = tm.solve(build())
    assert (result.status, result.certificate.verdict) == (Status.OPTIMAL, Verdict.WITHIN_TOLERANCE)
    assert result.objective == pytest.approx(value, abs=1e-9)
    assert "row row is missed by" in result.certificate.reason


@pytest.mark.parametrize(
    ("row", "point", "share"),
    [
        (lambda x: 0.1 * x[0] + 0.2 * x[1] <= 0.3, (1, 1), 0),
        (lambda x: 0.1 * x[0] + 0.2 * x[1] <= 0.3, (1, 2), 1),
        (lambda x: 1000.1 * x[0] + 1e-3 * x[1] <= 1000.1 * 99_999 + 0.007, (99_999, 7), 0),
        (lambda x: 1000.1 * x[0] + 1e-3 * x[1] <= 1000.1 * 99_999 + 0.007, (99_999, 8), 1),
        (lambda x: 2.0**40 * x[0] + 0.5 * x[1] <= 2.0**40, (1, 1), 1),
        (lambda x: 3 * 2.0**40 * x[0] - (3 * 2.0**40 - 1) * x[1] <= 0, (1, 1), 1),
        (lambda x: 2.0**40 * x[0] + x[1] <= 2.0**40, (1, 0), 0),
    ],
)
def test_rows_over_integers_are_missed_by_what_rounding_does_not_explain(
    row: Any, point: tuple[int, int], share: float
) -> None:
    """Beside 2^40, 1 is nothing; but no row of whole numbers is missed by less."""
    m = decimals([-1, -1], row, within=pyo.Integers, bounds=(0, 200_000))
    found, _ = own_residual(standard_form(m), np.array(point, dtype=float))
    assert found == pytest.approx(share, rel=1e-3, abs=1e-9)


# --- sides that cross ----------------------------------------------------------------------------


BODIES: list[Callable[[Any], Any]] = [
    lambda m: m.x, lambda m: m.x + m.y, lambda m: m.x * m.y, lambda m: m.x**2 + m.y**2,
    lambda m: pyo.exp(m.x),
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(BODIES)))
def test_a_row_whose_sides_cross_is_proven_to_have_no_point(k: int, tmp_path: Path) -> None:
    """Over reals and integers in turn."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(within=(pyo.Reals, pyo.Integers)[k % 2], bounds=(-9, 9))
    m.y = pyo.Var(bounds=(-9, 9))
    m.p = pyo.Param(initialize=4.0, mutable=True)
    m.row = pyo.Constraint(expr=(m.p, BODIES[k](m), 3))
    m.goal = pyo.Objective(expr=m.x)
    result = tm.solve(m, proof=tmp_path / "proof.json")
    assert (result.status, result.certificate.verdict) == (Status.INFEASIBLE, Verdict.CERTIFIED)
    if k == 1:
        document = checker.read(str(tmp_path / "proof.json"))
        assert checker.check(document).kind == "infeasible"
    m.p.set_value(0.5)
    assert tm.solve(m).status is not Status.INFEASIBLE


# --- parts of models that need no reading of their own -------------------------------------------


def square() -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 4)), pyo.Var(bounds=(0, 4))
    m.p = pyo.Param(initialize=1.0, mutable=True)
    m.goal = pyo.Objective(expr=m.x + m.y)
    return m


def epsilon(m: Any) -> None:
    m.risk = pyo.Objective(expr=-2 * m.x - m.y)
    m.risk.deactivate()
    m.limit = pyo.Constraint(expr=m.risk <= -3)


def cost_row(m: Any) -> None:
    m.known = pyo.Constraint(expr=m.goal >= 2)


def parts(m: Any) -> None:
    m.part = pyo.Objective(expr=3 * m.x**2)
    m.part.deactivate()
    m.goal.set_value(m.part + m.y + 1)
    m.least = pyo.Constraint(expr=m.x >= 1)


def most(m: Any) -> None:
    m.part = pyo.Objective(expr=m.x**2 + m.y**2)
    m.part.deactivate()
    m.goal.sense = pyo.maximize
    m.disc = pyo.Constraint(expr=m.part <= 2)


def constant_rows(m: Any) -> None:
    m.z = pyo.Var()
    m.z.fix(5.0)
    m.by_variable = pyo.Constraint(expr=m.z**2 <= 30)
    m.by_param = pyo.Constraint(expr=m.p <= 3)
    m.by_zero = pyo.Constraint(expr=m.p * (m.x - m.x) <= 3)
    m.no_sides = pyo.Constraint(expr=m.x + m.y <= float("inf"))
    m.least = pyo.Constraint(expr=pyo.Expr_if(m.p > 0, 2, 1) * m.x >= 1)


def impossible_row(m: Any) -> None:
    m.z = pyo.Var()
    m.z.fix(5.0)
    m.row = pyo.Constraint(expr=m.z <= 3)


def choices(m: Any) -> None:
    """3 x where p > 0, and x + y >= 1 or 2 by p; with p = 1 the least is y = 2."""
    m.goal.set_value(pyo.Expr_if(m.p > 0, 3 * m.x, m.x) + m.y)
    m.least = pyo.Constraint(expr=m.x + m.y >= pyo.Expr_if(m.p <= 0, 1, 2))
    m.other = pyo.Constraint(expr=pyo.Expr_if(m.p <= 0, m.x**2, m.x) <= 2)


EDITS: list[tuple[Callable[[Any], None], float | None]] = [
    (epsilon, 1.5), (cost_row, 2.0), (parts, 4.0), (most, 2.0), (constant_rows, 0.5),
    (choices, 2.0), (impossible_row, None),
]  # fmt: skip


@pytest.mark.parametrize("solver", ["auto", "gurobi", "highs", "scip"])
def test_every_solver_takes_what_the_reader_takes(solver: str) -> None:
    if solver != "auto" and not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    for edit, value in EDITS:
        if (edit, solver) == (most, "highs"):  # which takes no second-order cones
            continue
        m = square()
        edit(m)
        result = tm.solve(m, solver)
        assert result.certificate.verdict is Verdict.CERTIFIED, edit.__name__
        assert result.objective == (value and pytest.approx(value, rel=1e-6)), edit.__name__


def test_numbers_inside_functions_reach_the_solver_as_numbers() -> None:
    m = square()
    m.z = pyo.Var()
    m.z.fix(0.5)
    m.goal.set_value(pyo.sin(m.x) + pyo.ceil(m.z) + pyo.Expr_if(m.p > 0, 3, 1) * m.y**3)
    assert tm.solve(m, "scip").objective == pytest.approx(1 + math.sin(4), rel=1e-6)


# --- variables that are all fixed ----------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "highs", "clarabel", "scip"])
def test_a_constant_is_proven_and_a_fixed_row_holds_or_leaves_no_point(solver: str) -> None:
    m = pyo.ConcreteModel()
    m.gain = pyo.Objective(expr=3.0, sense=pyo.maximize)
    for value in (3.0, 0.5**2 - 7):
        found = tm.solve(m, solver)
        assert found.objective == pytest.approx(value, rel=1e-6)
        assert found.certificate.verdict is Verdict.CERTIFIED
        assert found.interval == pytest.approx((value, value), rel=1e-6)
        if m.component("x") is None:
            m.x = pyo.Var(bounds=(0, 1))
            m.x.fix(0.5)
            m.row = pyo.Constraint(expr=m.x >= 0.25)
            m.gain.set_value(m.x**2 - 7)
    m.row.set_value(m.x >= 1)
    found = tm.solve(m, solver)
    assert (found.status, found.certificate.verdict) == (Status.INFEASIBLE, Verdict.CERTIFIED)
    assert "row row does not hold" in found.message


@pytest.mark.parametrize(("shift", "holds"), [(0.1, True), (-0.1, False)])
def test_a_fixed_matrix_is_semidefinite_or_not(shift: float, holds: bool) -> None:
    data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    model = tm.conic_sdp(data, penalty=1.0)
    tm.solve(model)
    for variable in model.component_data_objects(pyo.Var):
        variable.fix(variable.value)
    for row in model.component_data_objects(pyo.Constraint, active=True):
        if row.name != "outer":
            row.deactivate()
    point = [model.w[0].value, model.w[1].value, model.b.value]
    for i, j in model.W:
        model.W[i, j].fix(point[i] * point[j] + (shift if i == j else 0))
    found = tm.solve(model)
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert (found.objective is not None) == holds
    assert (found.status is Status.INFEASIBLE) != holds
