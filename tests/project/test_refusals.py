"""Every refusal is one sentence with the fault and what would work, in Python and in the shell."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
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
from tests.references.reference_solutions import points
from tests.support.command_line import run, write_csv
from tightmargin.solvers import (
    DomainError,
    NumberError,
    ProblemClassError,
    export,
)

DATA = points("overlapping", 1, n=10)
NAN, INF = math.nan, math.inf
PARTS = NumericRange(0, 1, 0), NumericRange(3, 4, 0)


def small_lp() -> pyo.ConcreteModel:
    m = pyo.ConcreteModel("small")
    m.x = pyo.Var(range(2), bounds=(0, 1))
    m.row = pyo.Constraint(expr=m.x[0] + m.x[1] >= 1)
    m.objective = pyo.Objective(expr=m.x[0])
    return m


def c_svc() -> pyo.ConcreteModel:
    return tm.c_svc(DATA, C=1.0)


Refusal = tuple[Callable[[], Any], type[Exception], str]  # a call, its error, what is said


def refused(call: Callable[[], Any], error: type[Exception], holds: str) -> str:
    """One line; further sentences would begin with a capital after a full stop."""
    with pytest.raises(error, match=holds) as caught:
        call()
    assert type(caught.value) is error
    text = str(caught.value)
    assert text.strip()
    assert not re.search(r"\n|\.\s+[A-Z]", text), text
    return text


# --- models, numbers, limits ---------------------------------------------------------------------


def two_objectives() -> pyo.ConcreteModel:
    m = small_lp()
    m.second = pyo.Objective(expr=m.x[1])
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


def either() -> pyo.ConcreteModel:
    """x <= -2 or x >= 2, over an x that is not limited."""
    m = on_x(bounds=(None, None))
    m.d = Disjunction(expr=[[m.x <= -2], [m.x >= 2]])
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


MODELS: dict[str, Refusal] = {
    "class": (
        lambda: tm.solve(tm.conic_sdp(DATA, penalty=1.0), "highs"), ProblemClassError,
        r"^highs cannot take SDP models; installed solvers that can: clarabel",
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
    for solver in SOLVERS if SOLVERS[solver].installed
}  # fmt: skip


@pytest.mark.parametrize("case", MODELS)
def test_models_and_numbers(case: str) -> None:
    refused(*MODELS[case])


@pytest.mark.parametrize(
    ("argument", "bad", "said"),
    [
        (
            "time_limit",
            [-1, 0, NAN, INF, "3", True],
            "^time_limit must be positive and finite, in ",
        ),
        (
            "threads",
            [0, 1.5, "2", True, 2**31],
            "^threads must be a whole number from 1 to 2147483",
        ),
        ("seed", [-1, 1.5, NAN, "2", True, 2**31], "^seed must be a whole number from 0 to 214748"),
    ],
)
def test_limits_are_numbers_of_their_range(argument: str, bad: list[Any], said: str) -> None:
    for value in bad:
        sentence = refused(lambda: tm.solve(c_svc(), **{argument: value}), ValueError, said)  # noqa: B023
        assert sentence.endswith(repr(value))
    numpys = {"time_limit": np.float64(60), "threads": np.int64(1), "seed": np.int32(0)}
    result = tm.solve(c_svc(), "highs", **numpys)
    assert (result.time_limit, result.threads, result.seed) == (60.0, 1, 0)


# --- the command line ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("solve c_svc --set C=1 --time-limit -1", "time_limit must be positive"),
        ("solve c_svc --set C=1 --seed -1", "--seed"),
        ("solve c_svc --set C=1 --out fit.txt", "must end in .json"),
        ("export conic_sdp model.lp --set penalty=1", "semidefinite"),
    ],
)
def test_commands_are_refused_with_code_2_and_one_line(
    words: str, expected: str, tmp_path: Path
) -> None:
    answer = run(*words.split(), "--data", write_csv(tmp_path / "points.csv", DATA))
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
