"""Models that say the same, the smallest changes that make another, and files read back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.cases import CASES
from tests.conformance.problems import PROBLEMS
from tests.support.covering import FULL
from tightmargin.formulations import CATALOGUE, ProblemClass
from tightmargin.solvers import NumberError, ProblemClassError


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
def test_order_scale_and_what_no_point_can_tell_apart_say_nothing(order: int, scale: float) -> None:
    other = small(order, scale)
    found = tm.same_model(small(), other)
    assert found, found
    assert found.columns_by == "name"
    assert found.largest < 1e-15
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


def test_other_names_go_by_position_beside_those_that_are_the_same() -> None:
    def model(*names: str, most: float = 3.0) -> pyo.ConcreteModel:
        m = pyo.ConcreteModel()
        m.x = pyo.Var(names, bounds=(0, most))
        m.row = pyo.Constraint(expr=sum(k * m.x[name] for k, name in enumerate(names, 1)) >= 1)
        m.goal = pyo.Objective(expr=m.x[names[0]])
        return m

    found = tm.same_model(model("a", "b"), model("c", "d"))
    assert found, found
    assert found.columns_by == "position"
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


# --- what is written and read back: the catalogue and small models --------------------------------

TEXT = (".lp", ".mps")
CONIC = (".cbf", ".task", ".ptf", ".jtask", ".dat-s")
CONVEX = (ProblemClass.LP, ProblemClass.QP, ProblemClass.SOCP, ProblemClass.SDP)
BENT = (ProblemClass.NONCONVEX, ProblemClass.LRCP)
EXACT = 1e-13  # factors of cones are rounded, nothing else is


def holds(suffix: str, problem_class: ProblemClass) -> bool:
    """Whether a format has a place for models of a class."""
    if suffix in TEXT:
        return problem_class is not ProblemClass.SDP
    return problem_class in CONVEX or (suffix != ".dat-s" and problem_class not in BENT)


# The formats of each entry and of each problem: some of them, all in turn, and with FULL all.
ENTRIES = [
    (name, suffix)
    for k, name in enumerate(sorted(CASES))
    for j, suffix in enumerate((*TEXT, ".cbf", ".task", ".dat-s"))
    if FULL or (j - k) % 5 < 2
]


@pytest.mark.parametrize(("name", "suffix"), ENTRIES)
def test_a_formulation_comes_back_from_every_format_that_holds_it(
    name: str, suffix: str, tmp_path: Path
) -> None:
    model, file = CASES[name].build(CASES[name].intercepts[0]), tmp_path / f"model{suffix}"
    if holds(suffix, CATALOGUE[name].problem_class) and name != "deviance_svc":
        found = tm.same_model(model, tm.read_model(tm.export(model, file)))
        assert found, found
        assert (found.columns_by, found.largest <= EXACT) == ("name", True)
    else:
        with pytest.raises((ValueError, ProblemClassError), match=r"write|solvers that can"):
            tm.export(model, file)
        assert not file.exists()


@pytest.mark.parametrize("k", range(len(PROBLEMS)), ids=lambda k: PROBLEMS[k].name)
def test_a_small_model_comes_back(k: int, tmp_path: Path) -> None:
    problem = PROBLEMS[k]
    for j, suffix in enumerate((*TEXT, *CONIC)):
        if not FULL and (j - k) % 7 > 3:
            continue
        try:
            file = tm.export(problem.build(), tmp_path / f"model{suffix}")
        except (ValueError, ProblemClassError, NumberError):
            assert not holds(suffix, problem.problem_class)
            continue
        found = tm.same_model(problem.build(), tm.read_model(file))
        assert found, f"{suffix}: {found}"
        assert found.largest <= EXACT


def test_a_file_with_a_number_changed_is_another_model(tmp_path: Path) -> None:
    """Every number counts but the one of a row c x >= 0, whose scale says nothing."""
    data = tm.data.outlier_data("clustered", n=4, d=2, sigma=0.5, seed=3)
    model = tm.conic_sdp(data, penalty=1.3)
    file = tm.export(model, tmp_path / "model.dat-s")
    assert tm.same_model(model, tm.read_model(file))
    lines = file.read_text().splitlines()
    entries = {k: line.split() for k, line in enumerate(lines) if line.count(" ") == 4}
    places = [tuple(words[1:4]) for words in entries.values()]
    numbers = {k: words for k, words in entries.items() if words[0].isdigit()}
    assert len(numbers) > 50
    for k, words in [*numbers.items()][:: 1 if FULL else 4]:
        number = repr(float(words[4]) * 1.001)
        changed = [*lines[:k], " ".join([*words[:4], number]), *lines[k + 1 :]]
        file.write_text("\n".join(changed))
        is_scale = words[1] == "1" and places.count(tuple(words[1:4])) == 1
        assert bool(tm.same_model(model, tm.read_model(file))) == is_scale, lines[k]
