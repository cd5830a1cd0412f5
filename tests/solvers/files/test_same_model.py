"""Models that say the same, and the smallest changes that make them different."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest

import tightmargin as tm


def small(order: int = 1, scale: float = 1.0) -> pyo.ConcreteModel:
    """Its parts in two orders, rows with a positive factor, equations with any."""
    m = pyo.ConcreteModel()

    def variables() -> None:
        m.x = pyo.Var(range(2), bounds=(0, 3))

    def others() -> None:
        m.k, m.t = pyo.Var(within=pyo.Integers, bounds=(-1, 4)), pyo.Var()

    for part in (variables, others)[::order]:
        part()
    x, k, t = m.x, m.k, m.t

    def rows() -> None:
        m.low = pyo.Constraint(expr=scale * (x[0] + 2 * x[1] - k) >= scale * 0.5)
        m.even = pyo.Constraint(expr=-scale * (x[0] - t) == scale * 0.25)
        m.both = pyo.Constraint(expr=pyo.inequality(-scale, scale * (x[1] + k), 2 * scale))

    def cones() -> None:
        m.disc = pyo.Constraint(expr=scale * (x[0] ** 2 + x[0] * x[1] + x[1] ** 2) <= 4 * scale)
        tm.psd(m, "matrix", [[scale * t], [scale * x[0], scale * (x[1] + 1)]])

    for part in (rows, cones)[::order]:
        part()
    m.goal = pyo.Objective(expr=x[0] ** 2 + x[0] * x[1] + 3 * t - k + 7)
    return m


@pytest.mark.parametrize(("order", "scale"), [(1, 1e-7), (-1, 1.0), (-1, 3.0)])
def test_order_and_scale_say_nothing(order: int, scale: float) -> None:
    found = tm.same_model(small(), small(order, scale))
    assert found, found
    assert found.columns_by == "name"
    assert found.largest < 1e-15


def test_what_no_point_can_tell_apart_is_the_same() -> None:
    other = small()
    other.again = pyo.Constraint(expr=2 * other.x[0] + 4 * other.x[1] - 2 * other.k >= 1)
    other.weaker = pyo.Constraint(expr=other.x[0] + 2 * other.x[1] - other.k >= 0.4)
    other.bound = pyo.Constraint(expr=5 * other.x[0] <= 15)
    other.idle = pyo.Var(bounds=(0, 1))
    other.empty = pyo.Constraint(expr=pyo.inequality(-1, 0 * other.idle, 1))
    assert tm.same_model(small(), other)


LITTLE = 1e-6
Edit = Callable[[Any], Any]


def another_entry(m: Any) -> None:
    m.del_component(m.matrix)
    tm.psd(m, "other", [[m.t], [m.x[0], m.x[1] + (1 + LITTLE)]])


def objective(change: Callable[[Any], Any], sense: int = pyo.minimize) -> Edit:
    def edit(m: Any) -> None:
        m.goal.expr = change(m)
        m.goal.sense = sense

    return edit


EDITS: dict[str, Edit] = {
    "bound": lambda m: m.x[0].setub(3 + LITTLE),
    "coefficient": lambda m: m.low.set_value(m.x[0] + (2 + LITTLE) * m.x[1] - m.k >= 0.5),
    "side": lambda m: m.both.set_value(pyo.inequality(-1, m.x[1] + m.k, 2 + LITTLE)),
    "turned": lambda m: m.low.set_value(m.x[0] + 2 * m.x[1] - m.k <= 0.5),
    "half an equation": lambda m: m.even.set_value(m.x[0] - m.t <= -0.25),
    "square": lambda m: m.disc.set_value(
        m.x[0] ** 2 + m.x[0] * m.x[1] + (1 + LITTLE) * m.x[1] ** 2 <= 4
    ),
    "entry": another_entry,
    "not whole": lambda m: setattr(m.k, "domain", pyo.Reals),
    "price": objective(lambda m: m.goal.expr + LITTLE * m.x[0] * m.x[1]),
    "constant": objective(lambda m: m.goal.expr + LITTLE),
    "scaled": objective(lambda m: 2 * m.goal.expr),
    "maximised": objective(lambda m: -m.goal.expr, pyo.maximize),
    "missing row": lambda m: m.both.deactivate(),
    "missing matrix": lambda m: m.matrix.deactivate(),
    "impossible": lambda m: setattr(m, "idle", pyo.Var(bounds=(2, 1))),
}


@pytest.mark.parametrize("name", EDITS)
def test_one_change_makes_another_model(name: str) -> None:
    other = small(-1, 3.0)
    if name == "entry":
        other.del_component("matrix_smallest_eigenvalue")
    EDITS[name](other)
    for found in (tm.same_model(small(), other), tm.same_model(other, small())):
        assert not found
        assert found.differences
        assert len(repr(found).splitlines()) <= 12


def test_other_names_go_by_position() -> None:
    first, second = pyo.ConcreteModel(), pyo.ConcreteModel()
    for m, names in ((first, "ab"), (second, "cd")):
        for name in names:
            m.add_component(name, pyo.Var())
        one, two = (m.component(name) for name in names)
        m.row = pyo.Constraint(expr=one + 2 * two >= 1)
        m.goal = pyo.Objective(expr=one)
    found = tm.same_model(first, second)
    assert found
    assert found.columns_by == "position"


def test_names_that_a_file_lost_go_by_position_beside_the_others() -> None:
    def model(*names: str, most: float = 3.0) -> pyo.ConcreteModel:
        m = pyo.ConcreteModel()
        m.x = pyo.Var(names, bounds=(0, most))
        m.row = pyo.Constraint(expr=m.x[names[0]] + 2 * m.x[names[1]] + 3 * m.x["z"] >= 1)
        m.goal = pyo.Objective(expr=m.x[names[0]])
        return m

    found = tm.same_model(model("é", "ü", "z"), model("_", "_1", "z"))
    assert found, found
    assert found.columns_by == "name, 2 columns of other names by position"
    assert not tm.same_model(model("é", "ü", "z"), model("_", "_1", "z", most=2.0))
    assert not tm.same_model(model("é", "ü", "z"), model("é", "z"))


def sided() -> pyo.ConcreteModel:
    """x stands in rows of its own alone, which cbf and dat-s files read back as bounds."""
    m = pyo.ConcreteModel()
    m.x, m.y, m.z = pyo.Var(), pyo.Var(), pyo.Var(bounds=(0, None))
    m.low, m.high = pyo.Constraint(expr=2 * m.x >= 1), pyo.Constraint(expr=-m.x >= -3)
    m.row = pyo.Constraint(expr=m.y + m.z >= 1)
    m.goal = pyo.Objective(expr=m.z)
    return m


@pytest.mark.parametrize("suffix", [".cbf", ".dat-s", ".mps", ".lp"])
def test_rows_of_one_column_come_back_as_its_bounds(tmp_path: Path, suffix: str) -> None:
    again = tm.read_model(tm.export(sided(), tmp_path / f"m{suffix}"))
    assert tm.same_model(sided(), again)
    other = sided()
    other.high.deactivate()
    for found in (tm.same_model(other, again), tm.same_model(again, other)):
        assert found.differences
        assert all("x <= 3" in each or "-x >= -3" in each for each in found.differences)


def test_a_variable_named_as_that_above_an_objective_is_kept_or_named(tmp_path: Path) -> None:
    model = sided()
    model.objective_epigraph = pyo.Var()
    model.square = pyo.Constraint(expr=model.y**2 <= model.objective_epigraph)
    model.goal.expr = model.objective_epigraph + model.z
    for suffix in (".mps", ".lp"):
        assert tm.same_model(model, tm.read_model(tm.export(model, tmp_path / f"m{suffix}")))
    again = tm.read_model(tm.export(model, tmp_path / "m.cbf"))
    for pair in ((model, again), (again, model)):
        with pytest.raises(ValueError, match="cannot tell: objective_epigraph is a variable of"):
            tm.same_model(*pair)


def far_away(p: float = 0.1) -> pyo.ConcreteModel:
    """A square in decimals far from 0, and a coefficient that no double is."""
    m = pyo.ConcreteModel()
    m.p = pyo.Param(initialize=p, mutable=True)
    m.x, m.y = pyo.Var(), pyo.Var()
    m.row = pyo.Constraint(expr=(m.p + 0.2) * m.x + m.y >= 1)
    m.goal = pyo.Objective(expr=(1000000.3 - m.x - 0.7 * m.y) ** 2)
    return m


@pytest.mark.parametrize("suffix", [".mps", ".lp", ".dat-s"])
def test_what_a_file_states_in_more_variables_is_the_same(tmp_path: Path, suffix: str) -> None:
    again = tm.read_model(tm.export(far_away(), tmp_path / f"m{suffix}"))
    assert tm.same_model(far_away(), again)
    assert tm.same_model(far_away(), far_away())
    assert not tm.same_model(far_away(0.10001), again)


def test_a_square_is_the_same_as_its_terms() -> None:
    square, terms = pyo.ConcreteModel(), pyo.ConcreteModel()
    for m in (square, terms):
        m.x = pyo.Var()
    square.goal = pyo.Objective(expr=(1.3 - 0.7 * square.x) ** 2)
    terms.goal = pyo.Objective(expr=1.69 - 1.82 * terms.x + 0.49 * terms.x**2)
    assert tm.same_model(square, terms)
    terms.goal.expr += 0.01
    assert len(tm.same_model(square, terms).differences) == 1
