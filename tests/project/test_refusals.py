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
from tightmargin.formulations import psd
from tightmargin.solvers import (
    DomainError,
    NumberError,
    ProblemClassError,
    RefusedError,
    Verdict,
    export,
    solve,
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


# --- NaN, infinity, tiny and huge numbers: refused by name, or never certified wrongly ------------

TRUTH = -1.5  # of rows_and_box: x_0 + x_1 <= 1.5 alone matters


def rows_and_box(a: float = 1.0, b: float = 1.0, side: float = 1.5) -> pyo.ConcreteModel:
    """min -x_0 - x_1 over three rows and the box [0, 10]^2; `a`, `b`, `side` make up the first."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(0, 10))
    m.first = pyo.Constraint(expr=a * m.x[0] + b * m.x[1] <= side)
    m.second = pyo.Constraint(expr=m.x[0] + 2 * m.x[1] <= 8)
    m.third = pyo.Constraint(expr=3 * m.x[0] + m.x[1] <= 9)
    m.objective = pyo.Objective(expr=-m.x[0] - m.x[1])
    return m


def is_honest(model: pyo.ConcreteModel, solver: str, truth: float) -> bool:
    """Refused with a reason, not certified, or right."""
    try:
        result = solve(model, solver)
    except RefusedError:
        return True
    if result.certificate.verdict is Verdict.NOT_CERTIFIED:
        return True
    return result.objective == pytest.approx(truth, abs=1e-5 * max(1.0, abs(truth)))


@pytest.mark.parametrize("solver", SOLVERS)
def test_huge_and_tiny_numbers_are_never_certified_wrongly(solver: str) -> None:
    """size * x_0 + x_1 <= 1.5 leaves x_0 <= 1.5 / size, and x_1 <= 1.5; -1e22 x_0 leaves x_0 = 1.5.

    A solver that gives up must not raise as it likes.
    """
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    for size in (1e3, 1e7, 1e10, 1e14, 2e15):
        assert is_honest(rows_and_box(a=size), solver, TRUTH), size
    for size in (1e-6, 1e-9, 1e-10, 1e-12):
        assert is_honest(rows_and_box(size, size, 1.5 * size), solver, TRUTH), size
    assert is_honest(spoilt("cost", -1e22), solver, -1.5e22)


@pytest.mark.parametrize(("solver", "size"), [("highs", 1e-9), ("scip", 1e-12), ("scip", 2e15)])
def test_row_12_coefficients_a_solver_loses_are_refused_by_name(solver: str, size: float) -> None:
    with pytest.raises(NumberError) as refusal:
        solve(rows_and_box(size, size, 1.5 * size), solver)
    sentence = str(refusal.value)
    lost = f"{solver} would silently drop or reject the coefficient {size:g} of x[0] in row first"
    for words in (lost, "magnitudes between 1e-09 and 1e+15", "normalise=zscore", "clarabel"):
        assert words in sentence


def test_auto_moves_on_to_a_solver_that_keeps_the_coefficients() -> None:
    result = solve(rows_and_box(1e-10, 1e-10, 1.5e-10))
    assert result.solver != "highs"
    assert result.objective == pytest.approx(TRUTH, abs=1e-5)


def test_rounding_left_by_preprocessing_is_no_reason_to_refuse() -> None:
    """1e-17 beside 1 in a row is a zero that centring did not quite reach."""
    for solver in ("highs", "clarabel", "scip"):
        assert solve(rows_and_box(a=1e-17, side=3.0), solver).objective == pytest.approx(
            -5.0, abs=1e-6
        )


# --- every other place a number can be -----------------------------------------------------------


def spoilt(place: str, bad: float) -> pyo.ConcreteModel:
    model = rows_and_box()
    model.p = pyo.Param(initialize=1.0, mutable=True, within=pyo.Any)
    x = model.x
    match place:
        case "side":
            model.fourth = pyo.Constraint(expr=x[0] <= model.p)
        case "bound":
            x[0].setub(model.p)
        case "cost":
            model.objective.expr = bad * x[0] - x[1]
        case "constant":
            model.objective.expr = bad - x[1]
        case "square":
            model.fourth = pyo.Constraint(expr=bad * x[0] ** 2 + x[1] <= 1)
        case "Param":
            model.fourth = pyo.Constraint(expr=model.p * x[0] <= 1)
        case "fixed variable":
            x[0].fix(bad, skip_validation=True)
        case "semidefinite entry":
            psd(model, "matrix", [[x[0]], [bad * x[1], 1.0]])
    model.p.set_value(bad)
    return model


PLACES = {
    "cost": r"objective objective: coefficient of x\[0\]",
    "constant": "objective objective: constant term",
    "square": r"row fourth: coefficient of x\[0\] \* x\[0\]",
    "Param": r"row fourth: coefficient of x\[0\]",
    "fixed variable": "row first: constant term",
    "semidefinite entry": r"row matrix: coefficient of x\[1\]",
}


def test_numbers_that_are_none_are_refused_wherever_they_stand() -> None:
    """An upper side of +inf is no side; nan and -inf are refused, by Pyomo or by us."""
    for place, sentence in PLACES.items():
        for bad in (NAN, INF):
            with pytest.raises(NumberError, match=f"{sentence} is {bad}"):
                solve(spoilt(place, bad))
    for place in ("side", "bound"):
        for bad in (NAN, -INF):
            with pytest.raises(ValueError, match=r"x|fourth"):
                solve(spoilt(place, bad))
        assert solve(spoilt(place, INF)).objective == pytest.approx(TRUTH, abs=1e-6)
