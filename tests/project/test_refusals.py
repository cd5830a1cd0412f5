"""Every refusal is one sentence with the fault and what would work, in Python and in the shell."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.core.base.matrix_constraint import MatrixConstraint
from pyomo.core.base.range import NumericRange
from pyomo.gdp import Disjunction
from pyomo.network import Arc, Port

import tightmargin as tm
from tests.inside.solvers import SOLVERS
from tests.inside.solvers import backends_registry as registry
from tests.references.reference_solutions import points
from tests.support.command_line import run, write_csv
from tightmargin.solvers import (
    DomainError,
    LicenceError,
    NumberError,
    ProblemClassError,
    SizeLimitError,
    SolverNotInstalledError,
    export,
)

DATA = points("overlapping", 1, n=10)
TINY = tm.TrainingData([[1e-10], [-2e-10], [3e-10]], [1, -1, 1])
NAN, INF = math.nan, math.inf
PARTS = NumericRange(0, 1, 0), NumericRange(3, 4, 0)
NAMES = tuple(SOLVERS)


def small_lp() -> pyo.ConcreteModel:
    m = pyo.ConcreteModel("small")
    m.x = pyo.Var(range(2), bounds=(0, 1))
    m.row = pyo.Constraint(expr=m.x[0] + m.x[1] >= 1)
    m.objective = pyo.Objective(expr=m.x[0])
    return m


def c_svc() -> pyo.ConcreteModel:
    return tm.c_svc(DATA, C=1.0)


def one_sentence(text: str) -> bool:
    """One line; further sentences would begin with a capital after a full stop."""
    return "\n" not in text and bool(text.strip()) and not re.search(r"\.\s+[A-Z]", text)


Refusal = tuple[Callable[[], Any], type[Exception], str]  # a call, its error, what is said


def refused(call: Callable[[], Any], error: type[Exception], holds: str) -> str:
    with pytest.raises(error, match=holds) as caught:
        call()
    assert type(caught.value) is error
    assert one_sentence(str(caught.value)), str(caught.value)
    return str(caught.value)


# --- solvers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", NAMES)
def test_a_solver_that_is_not_installed(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its import is blocked; the sentence has the command that mends it, and the others."""
    known = tm.solve(c_svc(), "highs").objective
    monkeypatch.setitem(sys.modules, SOLVERS[solver].package, None)
    said = rf"^{solver} is not installed \(pip install {SOLVERS[solver].distribution}\)"
    sentence = refused(lambda: tm.solve(c_svc(), solver), SolverNotInstalledError, said)
    others = sentence.partition("solvers for QP: ")[2].split(", ")
    assert solver not in others
    assert {"highs", "clarabel"} - {solver} <= set(others)
    result = tm.solve(c_svc())
    assert result.solver != solver, "auto does without it"
    assert result.objective == pytest.approx(known, abs=1e-6)


def test_no_licence_names_the_way_to_a_file_and_the_free_solvers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, csv_file: Path
) -> None:
    """No licence for MOSEK, whatever this machine has; nothing is left in the temporary folder."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    info = replace(SOLVERS["mosek"], unlicensed=lambda: "A license cannot be located")
    monkeypatch.setitem(SOLVERS, "mosek", info)
    sentence = refused(lambda: tm.solve(c_svc(), "mosek"), LicenceError, "cannot be located")
    assert "tm.export(model, 'c_svc.ptf')" in sentence
    free = sentence.partition("without one are ")[2].split(", ")
    able = [n for n, s in SOLVERS.items() if s.installed and s.free and "QP" in s.classes]
    assert set(free) == set(able)
    answer = run("solve", "c_svc", "--data", csv_file, "--set", "C=1", "--solver", "mosek")
    assert (answer.code, answer.complaint) == (2, f"tightmargin: {sentence}")
    assert list(tmp_path.iterdir()) == []


def test_a_size_limit_names_limit_size_and_who_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    if not SOLVERS["gurobi"].installed:
        pytest.skip("gurobi is not installed")
    monkeypatch.setattr(registry, "gurobi_is_restricted", lambda: True)
    model = tm.c_svc(points("overlapping", 1, n=250), C=1.0)
    said = "^gurobi: the model has 253 variables, and its restricted licence takes 200"
    sentence = refused(lambda: tm.solve(model, "gurobi"), SizeLimitError, said)
    fitting = sentence.partition("; try ")[2].split(", ")
    assert fitting[0] == "clarabel"
    assert "gurobi" not in fitting


# --- models, numbers, limits ---------------------------------------------------------------------


def two_objectives() -> pyo.ConcreteModel:
    m = small_lp()
    m.second = pyo.Objective(expr=m.x[1])
    return m


def with_param(value: float) -> pyo.ConcreteModel:
    m = small_lp()
    m.p = pyo.Param(initialize=1.0, mutable=True, within=pyo.Any)
    m.priced = pyo.Constraint(expr=m.p * m.x[0] <= 1)
    m.p.set_value(value)
    return m


def with_logic() -> pyo.ConcreteModel:
    m = small_lp()
    m.y = pyo.BooleanVar()
    m.rule = pyo.LogicalConstraint(expr=m.y.implies(m.y))
    return m


def on_x(**kinds: Any) -> pyo.ConcreteModel:
    """min x over one variable."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(**({"bounds": (1, 4)} | kinds))
    m.goal = pyo.Objective(expr=m.x)
    return m


def with_goal(write: Callable[[Any], Any]) -> pyo.ConcreteModel:
    m = on_x()
    m.p = pyo.Param(initialize=1.0, mutable=True)
    m.goal.set_value(write(m))
    return m


def with_choice_of_nothing() -> pyo.ConcreteModel:
    m = on_x()
    m.empty = pyo.Param(mutable=True)
    m.goal.set_value(pyo.Expr_if(m.empty > 0, 3 * m.x, m.x))
    return m


def either(lower: float | None = None, body: Callable[[Any], Any] | None = None) -> Any:
    """x <= -2 (or a row of one's own) or x >= 2, over an x that is not limited."""
    m = on_x(bounds=(lower, None))
    m.d = Disjunction(expr=[[m.x <= -2 if body is None else body(m)], [m.x >= 2]])
    return m


def with_matrix() -> pyo.ConcreteModel:
    m = small_lp()
    m.rows = MatrixConstraint([1.0], [0], [0, 1], [None], [2.0], [m.x[0], m.x[1]])
    return m


def blocks() -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    m.b = pyo.Block([1, 2], rule=lambda b: setattr(b, "x", pyo.Var(bounds=(0, 1))))
    return m


def with_arc() -> pyo.ConcreteModel:
    m = small_lp()
    m.p, m.q = Port(), Port()
    m.p.add(m.x[0], "flow")
    m.q.add(m.x[1], "flow")
    m.arc = Arc(source=m.p, dest=m.q)
    return m


def spoilt(value: float) -> np.ndarray:
    X = DATA.X.copy()
    X[2, 1] = value
    return X


MODELS: dict[str, Refusal] = {
    "class": (
        lambda: tm.solve(tm.conic_sdp(DATA, penalty=1.0), "highs"), ProblemClassError,
        r"^highs cannot take SDP models; installed solvers that can: clarabel",
    ),
    "unknown solver": (lambda: tm.solve(c_svc(), "higs"), ValueError, "'higs'.*did you mean highs"),
    "coefficient": (
        lambda: tm.solve(tm.c_svc(TINY, C=1.0), "highs"), NumberError,
        r"highs would silently drop .*1e-10 of w\[0\] in row margin\[0\].*clarabel",
    ),
    "nan": (lambda: tm.TrainingData(spoilt(NAN), DATA.y), ValueError, "nan in row 2, column 1"),
    "nan param": (
        lambda: tm.solve(with_param(NAN)), NumberError, r"row priced: coefficient of x\[0\] is nan"
    ),
    "objectives": (
        lambda: tm.solve(two_objectives()), ValueError,
        r"2 objectives are active \(objective, second\): deactivate all but one",
    ),
    "logic": (lambda: tm.solve(with_logic()), ValueError, "of type LogicalConstraint cannot be"),
    "arc": (lambda: tm.solve(with_arc()), ValueError, "type Arc .*network.expand_arcs"),
    "matrix": (
        lambda: tm.solve(with_matrix()), ValueError, "rows is a MatrixConstraint.*pyo.Constraint"
    ),
    "block": (
        lambda: tm.solve(blocks().b[2]), TypeError, r"got b\[2\] alone: deactivate the other blocks"
    ),
    "blocks": (lambda: tm.solve(blocks().b), TypeError, "got all blocks of b: solve the"),
    "disjunction": (
        lambda: tm.solve(either()), ValueError,
        "Disjunction d cannot be switched off, since x has no lower bound and x has no upper"
    ),
    "disjunction without limits": (
        lambda: tm.solve(either(0.0, lambda m: 1 / m.x <= 3)), ValueError, "since x has no upper"
    ),
    "Expr_if of a variable": (
        lambda: tm.solve(with_goal(lambda m: pyo.Expr_if(m.x > 2, 3 * m.x, m.x))),
        ProblemClassError, r"objective goal: Expr_if.* choose by pyo.value\(\)",
    ),
    "Expr_if of no value": (
        lambda: tm.solve(with_choice_of_nothing()), NumberError, "Param empty has no value: set it"
    ),
    "Expr_if within": (
        lambda: tm.solve(with_goal(lambda m: pyo.exp(pyo.Expr_if(m.p > 0, 3 * m.x, m.x)))),
        ProblemClassError, "objective goal: Expr_if.* with a binary",
    ),
    "function": (
        lambda: tm.solve(with_goal(lambda m: pyo.ceil(m.x))), ProblemClassError,
        r"objective goal: ceil\(x\) is read by no solver: what they read.* is exp, log"
    ),
    "beyond degree two": (
        lambda: tm.solve(with_goal(lambda m: pyo.sin(m.x)), "gurobi"), ProblemClassError,
        "gurobi cannot take this .* goal is beyond degree two; installed solvers that can: scip$"
    ),
    "any domain": (
        lambda: tm.solve(on_x(within=pyo.Any)), DomainError, "domain of x, Any,.* within=pyo.Reals"
    ),
    "two intervals": (
        lambda: tm.solve(on_x(within=pyo.RangeSet(ranges=PARTS))), DomainError,
        "write with binaries in which of its parts"
    ),
    "a choice in a file": (
        lambda: tm.export(on_x(within=[0, 2, 5]), "x.lp"), DomainError,
        "write the choice with binaries, or call tightmargin.solve, which does"
    ),
    "start": (lambda: tm.solve(c_svc(), warm_start={"v": 1.0}), ValueError, "no variable 'v'"),
    "options": (
        lambda: tm.solve(c_svc(), options=["max_iter"]), ValueError, "options must map"  # type: ignore[arg-type]
    ),
    "formulation": (lambda: tm.build("c_scv", DATA, C=1.0), ValueError, "did you mean c_svc"),
    "suffix": (
        lambda: export(c_svc(), "model.foo"), ValueError, r"must end in \.lp.*\.ptf.*'model\.foo'"
    ),
    "result": (
        lambda: tm.SolveResult.load("no_such.json"), ValueError,
        r"no_such\.json is not a readable result: .*No such file",
    ),
} | {
    f"option of {solver}": (
        lambda solver=solver: tm.solve(c_svc(), solver, options={"no_such_option": 1}), ValueError,
        f"^{solver} has no option 'no_such_option'",
    )
    for solver in NAMES if SOLVERS[solver].installed
}  # fmt: skip


@pytest.mark.parametrize("case", MODELS)
def test_models_and_numbers(case: str) -> None:
    refused(*MODELS[case])


BAD_NUMBERS = {
    "time_limit": [-1, 0, NAN, INF, "3", True],
    "threads": [0, 1.5, INF, "2", True, 2**31],
    "seed": [-1, 1.5, NAN, "2", True, 2**31],
}
SAID = {
    "time_limit": "^time_limit must be positive and finite, in seconds, got ",
    "threads": "^threads must be a whole number from 1 to 2147483647, got ",
    "seed": "^seed must be a whole number from 0 to 2147483647, got ",
}


@pytest.mark.parametrize("argument", BAD_NUMBERS)
def test_limits_are_numbers_of_their_range(argument: str) -> None:
    for value in BAD_NUMBERS[argument]:
        words = {argument: value}
        sentence = refused(lambda: tm.solve(c_svc(), **words), ValueError, SAID[argument])  # noqa: B023
        assert sentence.endswith(repr(value))
    numpys = {"time_limit": np.float64(60), "threads": np.int64(1), "seed": np.int32(0)}
    result = tm.solve(c_svc(), "highs", **numpys)
    assert (result.time_limit, result.threads, result.seed) == (60.0, 1, 0)


# --- the command line ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def csv_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("refusals") / "points.csv", DATA)


C_SVC = ["solve", "c_svc", "--set", "C=1"]
COMMANDS: list[tuple[list[str], str]] = [
    ([*C_SVC, "--time-limit", "-1"], "time_limit must be positive"),
    ([*C_SVC, "--seed", "-1"], "--seed"),
    ([*C_SVC, "--sover", "highs"], "--solver"),
    ([*C_SVC, "--out", "fit.txt"], "must end in .json"),
    (["export", "conic_sdp", "model.lp", "--set", "penalty=1"], "semidefinite"),
]


@pytest.mark.parametrize(("words", "expected"), COMMANDS)
def test_commands_are_refused_with_code_2_and_one_line(
    words: list[str], expected: str, csv_file: Path
) -> None:
    answer = run(*words, "--data", csv_file)
    assert answer.code == 2
    assert answer.complaint.startswith("tightmargin: ")
    assert expected in answer.complaint


@pytest.mark.parametrize("words", [["certify"], ["predict", "--data", "points.csv"]])
def test_saved_results_that_are_missing_or_broken(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "half.json").write_text('{"schema": "tightm')
    for name in ("no_such.json", "half.json"):
        answer = run(words[0], tmp_path / name, *words[1:])
        assert answer.code == 2
        assert name in answer.complaint
