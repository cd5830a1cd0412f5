"""What is named has no common point, and without any one of it there is one."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.gdp import Disjunction
from scipy.optimize import linprog

import tightmargin as tm
from tests.inside.experiments import outlier_data
from tests.support.covering import FULL
from tightmargin.solvers import Infeasibility

DATA = outlier_data("clustered", n=20, d=3, sigma=0.4, seed=1)


def names(found: Infeasibility) -> set[str]:
    return {part.name for part in found.parts}


def linear(rows: np.ndarray, sides: np.ndarray) -> pyo.ConcreteModel:
    """Rows a'x <= b."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(rows.shape[1]))
    m.goal = pyo.Objective(expr=m.x[0])
    m.row = pyo.ConstraintList()
    for a, b in zip(rows.tolist(), sides.tolist(), strict=True):
        m.row.add(sum(v * m.x[j] for j, v in enumerate(a)) <= b)
    return m


def has_point(rows: np.ndarray, sides: np.ndarray) -> bool:
    found = linprog(np.zeros(rows.shape[1]), A_ub=rows, b_ub=sides, bounds=(None, None))
    return bool(found.status == 0)


@pytest.mark.parametrize("seed", range(8 if FULL else 3))
def test_of_random_rows_an_irreducible_set_is_named(seed: int) -> None:
    """By another solver: the rows have no point, and any of them left out gives one."""
    dice = np.random.default_rng(seed)
    d, count = int(dice.integers(1, 4)), 12
    rows, sides = dice.integers(-4, 5, size=(count, d)), dice.integers(-6, 3, size=count)
    rows[rows.any(axis=1) == 0, 0] = 1
    while has_point(rows, sides):
        sides = sides - 1
    found = tm.explain_infeasible(linear(rows, sides))
    chosen = [int(part.name.split("[")[1][:-1]) - 1 for part in found.parts]
    assert found.irreducible
    assert len(chosen) <= d + 1, "Helly"
    assert not has_point(rows[chosen], sides[chosen])
    for left_out in chosen:
        rest = [k for k in chosen if k != left_out]
        assert not rest or has_point(rows[rest], sides[rest])


def test_rows_beside_a_ball_are_named_with_their_mathematics() -> None:
    model = tm.rsvm(DATA, norm_bound=0.05)
    model.harmless = pyo.Constraint(expr=model.w[1] >= -1)
    model.steep = pyo.Constraint(expr=model.w[0] >= 2)
    found = tm.explain_infeasible(model)
    assert names(found) == {"steep", "norm"}
    assert found.irreducible
    said = {part.name: part.statement for part in found.parts}
    assert said["steep"] == "w[0] >= 2"
    assert said["norm"] == "w[0]^2 + w[1]^2 + w[2]^2 <= 0.0025"


def test_semidefinite_rows_too() -> None:
    model = tm.conic_sdp(DATA, penalty=1.0)
    model.small = pyo.Constraint(expr=model.W[0, 0] <= 1)
    model.steep = pyo.Constraint(expr=model.w[0] >= 1.5)
    found = tm.explain_infeasible(model)
    assert names(found) == {"small", "steep", "outer"}
    assert found.irreducible


def test_fixed_variables_are_parts() -> None:
    model = tm.c_svc(DATA, C=1.0)
    for j, value in enumerate((3, 2, 7)):
        model.w[j].fix(value)
    model.sum = pyo.Constraint(expr=model.w[0] + model.w[1] <= 4.5)
    found = tm.explain_infeasible(model)
    assert names(found) == {"w[0]", "w[1]", "sum"}
    assert "w[0] = 3 (fixed)" in {part.statement for part in found.parts}
    assert model.w[0].fixed, "the model is left as it was"
    assert model.w[0].lb is None


def test_bounds_and_whole_numbers_are_parts() -> None:
    """5 - z is between 4.5 and 5, and no even number."""
    m = pyo.ConcreteModel()
    m.x, m.z = pyo.Var(within=pyo.Integers, bounds=(0, 3)), pyo.Var(bounds=(0, 0.5))
    m.odd = pyo.Constraint(expr=2 * m.x + m.z == 5)
    m.more = pyo.Constraint(expr=m.x + m.z <= 7)
    m.goal = pyo.Objective(expr=m.x)
    found = tm.explain_infeasible(m)
    assert found.irreducible
    said = {part.statement for part in found.parts}
    rows = {"2 x + z >= 5", "2 x + z <= 5"}
    assert said == {"x, ... are whole numbers", "z >= 0", "z <= 0.5"} | rows


def test_disjunctions_are_read_as_solve_reads_them() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 10))
    m.either = Disjunction(expr=[m.x <= 2, m.x >= 8])
    m.between = pyo.Constraint(expr=(3, m.x, 7))
    m.goal = pyo.Objective(expr=m.x)
    assert "between" in names(tm.explain_infeasible(m, time_limit=1.0))


def test_crossing_bounds_alone() -> None:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(2, 1))
    m.y = pyo.Var(bounds=(0, 1))
    m.row = pyo.Constraint(expr=m.x + m.y >= 0)
    m.goal = pyo.Objective(expr=m.x)
    found = tm.explain_infeasible(m)
    assert {part.statement for part in found.parts} == {"x >= 2", "x <= 1"}


def test_without_time_what_is_left_still_has_no_point_and_prints() -> None:
    model = tm.zero_one_big_m(DATA, penalty=1.0, big_m=10.0)
    model.none = pyo.Constraint(expr=sum(model.z.values()) <= 0)
    model.far = pyo.Constraint(expr=model.w[0] <= -50)
    found = tm.explain_infeasible(model, time_limit=1e-3)
    assert found.words
    assert {"none", "far"} <= names(found)
    assert len(repr(found)) <= 600
    assert repr(found).count("\n") < 12
    assert all(part.name in str(found) for part in found.parts)
    assert len({(part.name, part.kind) for part in found.parts}) == len(found.to_frame())
    assert list(found.to_frame().columns) == ["name", "kind", "statement", "needed"]
