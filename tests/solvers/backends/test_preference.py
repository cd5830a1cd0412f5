"""Which solver "auto" takes, why it says it does, and what it never takes by itself."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyomo.environ as pyo
import pytest

from tests.inside.solvers import (
    ORDER,
    PIQP_SIZE,
    SIMPLEX_SIZE,
    SOLVERS,
    TRIALS,
    StandardForm,
    choose,
    gurobi_is_restricted,
    standard_form,
)
from tests.inside.solvers import backends_registry as registry
from tightmargin.formulations import ProblemClass
from tightmargin.solvers import SolverNotInstalledError, export

LP, QP = ProblemClass.LP, ProblemClass.QP
FIRST = {
    LP: "highs", QP: "clarabel", ProblemClass.SOCP: "clarabel", ProblemClass.SDP: "clarabel",
    ProblemClass.EXP: "clarabel", ProblemClass.MILP: "highs", ProblemClass.MIQP: "scip",
    ProblemClass.MISOCP: "scip", ProblemClass.LRCP: "scip", ProblemClass.NONCONVEX: "scip",
}  # fmt: skip


def long_model(columns: int, square: bool = False) -> StandardForm:
    """One row over so many columns; nobody solves it."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(columns), bounds=(0, 1))
    m.row = pyo.Constraint(expr=m.x[0] + m.x[columns - 1] >= 1)
    m.objective = pyo.Objective(expr=m.x[0] ** 2 if square else m.x[0])
    return standard_form(m)


def only(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Pretend that these solvers alone are installed."""
    there = {SOLVERS[name].package for name in names}
    util = registry.importlib.util
    found = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda name: found(name) if name in there else None)


@pytest.mark.parametrize(
    ("problem_class", "columns", "name", "reason"),
    [
        (LP, SIMPLEX_SIZE, "highs", "simplex"),
        (LP, SIMPLEX_SIZE + 1, "clarabel", "interior point"),
        (QP, PIQP_SIZE, "clarabel", f"{PIQP_SIZE} rows or columns"),
        (QP, PIQP_SIZE + 1, "piqp", f"{PIQP_SIZE} rows or columns"),
    ],
)
def test_the_size_decides(
    problem_class: ProblemClass, columns: int, name: str, reason: str
) -> None:
    if not SOLVERS[name].installed:
        pytest.skip(f"{name} is not installed")
    choice = choose("auto", problem_class, long_model(columns, square=problem_class is QP))
    assert choice.info.name == name
    assert reason in choice.reason


def test_why_the_next_is_taken_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    form = long_model(PIQP_SIZE + 1, square=True)
    timed = choose("auto", QP, form, timed=True)
    assert timed.info.name == "clarabel"
    assert "no time limit can stop piqp" in timed.reason
    only(monkeypatch, "highs", "clarabel", "scip")
    choice = choose("auto", QP, form)
    assert choice.info.name == "clarabel"
    assert "piqp is not installed (pip install piqp)" in choice.reason


@pytest.mark.parametrize("problem_class", FIRST)
def test_the_first_choice_and_no_commercial_solver_unless_it_is_named(
    problem_class: ProblemClass, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not SOLVERS["gurobi"].installed:
        pytest.skip("gurobi is not installed")
    model, _ = TRIALS[problem_class]()
    form = standard_form(model)
    first = choose("auto", problem_class, form)
    assert first.info.name == FIRST[problem_class]
    assert len(first.reason.split()) > 3, "a reason, not a word"
    only(monkeypatch, "gurobi", "mosek")
    with pytest.raises(SolverNotInstalledError) as refusal:
        choose("auto", problem_class, form)
    free = next(name for name in ORDER[problem_class] if SOLVERS[name].free)
    assert f"install {SOLVERS[free].distribution}" in str(refusal.value)
    if problem_class not in (ProblemClass.SDP, ProblemClass.EXP):
        assert "or name gurobi" in str(refusal.value)
        assert choose("gurobi", problem_class, form).info.name == "gurobi"


def test_a_broken_solver_is_passed_over_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "half_a_solver.py").write_text("raise ImportError('no libhalf.so')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    broken = replace(SOLVERS["highs"], package="half_a_solver")
    monkeypatch.setitem(SOLVERS, "highs", broken)
    model, _ = TRIALS[LP]()
    choice = choose("auto", LP, standard_form(model))
    assert choice.info.name == "clarabel"
    assert "highs is installed and cannot be imported, ImportError: no libhalf.so" in choice.reason
    with pytest.raises(SolverNotInstalledError, match=r"no libhalf\.so.*--force-reinstall highspy"):
        choose("highs", LP, standard_form(model))
    assert "half_a_solver" not in sys.modules


# --- the wheel's limits, asked of Gurobi itself ------------------------------------------------


def of_size(columns: int, rows: int, two_sided: int = 0, square: bool = False) -> Any:
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(columns), bounds=(0, 1))
    m.rows = pyo.ConstraintList()
    for k in range(rows):
        m.rows.add(m.x[k % columns] + m.x[(k + 1) % columns] >= 0.5)
    for k in range(two_sided):
        m.rows.add((0.5, m.x[k] + m.x[k + 1], 1.5))
    m.objective = pyo.Objective(expr=m.x[0] ** 2 if square else m.x[0])
    return m


def gurobi_takes(file: str) -> bool:
    """Whether Gurobi solves a model, without our checks."""
    import gurobipy

    with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.read(file, env) as m:
        try:
            m.optimize()
        except gurobipy.GurobiError:
            return False
    return True


SIZES: list[dict[str, Any]] = [
    {"columns": 2000, "rows": 2000},
    {"columns": 2001, "rows": 1},
    {"columns": 100, "rows": 2001},
    {"columns": 1997, "rows": 1, "two_sided": 3},
    {"columns": 1998, "rows": 1, "two_sided": 3},
    {"columns": 200, "rows": 2000, "square": True},
    {"columns": 201, "rows": 1, "square": True},
    {"columns": 197, "rows": 1, "two_sided": 3, "square": True},
    {"columns": 198, "rows": 1, "two_sided": 3, "square": True},
]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "-".join(map(str, size.values())))
def test_gurobi_is_refused_exactly_what_its_wheel_refuses(
    size: dict[str, Any], tmp_path: Path
) -> None:
    if not SOLVERS["gurobi"].installed or not gurobi_is_restricted():
        pytest.skip("no gurobi under the licence of its wheel here")
    model = of_size(**size)
    file = export(model, tmp_path / "model.mps")
    assert (SOLVERS["gurobi"].limits(standard_form(model)) == "") == gurobi_takes(str(file))
