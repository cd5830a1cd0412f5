"""Sizes, options, ends and breakdowns of single solvers; Clarabel's exponential cone.

Optima and multipliers of each solver: tests/conformance.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import ORDER, QP, SOLVERS, clarabel, scip
from tests.inside.solvers import scs as scs_back_end
from tests.references.reference_solutions import INTERCEPTS, is_separable, points
from tests.support.semidefinite_models import max_cut
from tightmargin.formulations import psd
from tightmargin.solvers import ProblemClassError, Status, Verdict

DATA = points("overlapping", 1, n=10)
OPTIONS = {
    "highs": "simplex_iteration_limit", "clarabel": "max_iter", "scip": "limits/nodes",
    "scs": "max_iters", "piqp": "max_iter", "gurobi": "NodeLimit",
}  # fmt: skip


def scaled(row: float) -> pyo.ConcreteModel:
    """x + y <= 3/2 times a number, over the unit square; -x - 2 y is -5/2."""
    m = pyo.ConcreteModel()
    m.x = pyo.Var(range(2), bounds=(0, 1))
    m.c = pyo.Constraint(expr=row * m.x[0] + row * m.x[1] <= 1.5 * row)
    m.o = pyo.Objective(expr=-m.x[0] - 2 * m.x[1])
    return m


def installed(solver: str) -> None:
    """Skip the test without a solver."""
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")


def test_without_the_scaling_the_row_is_lost_and_the_certificate_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed("scs")
    kept = tm.solve(scaled(1e-12), "scs")
    assert kept.objective == pytest.approx(-2.5, rel=1e-6)
    assert kept.certificate.verdict is Verdict.CERTIFIED
    assert float(kept.duals["c"]) == pytest.approx(-1e12, rel=1e-5)
    monkeypatch.setattr(scs_back_end, "_row_scale", lambda conic: np.ones(len(conic.b)))
    result = tm.solve(scaled(1e-12), "scs")
    assert result.status is Status.INACCURATE
    assert result.objective is None
    assert "row c" in result.certificate.reason


def test_cones_of_small_numbers_are_kept() -> None:
    """max x + y over a disc of radius 1e-4 and a semidefinite row in units of 1e-6."""
    installed("scs")
    m = pyo.ConcreteModel()
    m.x, m.y, m.t = pyo.Var(), pyo.Var(), pyo.Var(bounds=(None, 1))
    m.disc = pyo.Constraint(expr=m.x**2 + m.y**2 <= 1e-8)
    psd(m, "cone", [[1e-6 * m.t], [1e-6, 4e-6 * m.t]])
    m.o = pyo.Objective(expr=1e4 * (m.x + m.y) - m.t, sense=pyo.maximize)
    result = tm.solve(m, "scs")
    assert result.objective == pytest.approx(np.sqrt(2) - 0.5, abs=1e-6)
    assert result.certificate.verdict is Verdict.CERTIFIED, result.certificate


def test_scs_tells_infeasible_and_unbounded_models_apart() -> None:
    installed("scs")
    m = scaled(1.0)
    m.far = pyo.Constraint(expr=m.x[0] >= 2)
    assert tm.solve(m, "scs").status is Status.INFEASIBLE
    guess = tm.solve(m, "scs", options={"max_iters": 50})  # at a limit it is no proof
    assert guess.message.startswith("infeasible (inaccurate")
    assert guess.status is Status.LIMIT_NO_SOLUTION
    m.far.deactivate()
    m.x.setlb(None)
    m.o.expr = m.x[0]
    result = tm.solve(m, "scs")
    assert (result.status, result.objective) == (Status.UNBOUNDED, None)


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_piqp_gives_an_infeasible_model_no_objective(intercept: str) -> None:
    """PIQP does not always see it, and stops at its iteration limit; what it sees we prove."""
    installed("piqp")
    assert not is_separable(DATA, intercept)
    result = tm.solve(tm.hard_margin_svc(DATA, intercept=intercept), "piqp")
    assert result.status in (Status.INFEASIBLE, Status.INACCURATE, Status.LIMIT_NO_SOLUTION)
    assert result.objective is None
    proven = result.certificate.verdict is Verdict.CERTIFIED
    assert proven == (result.status is Status.INFEASIBLE)


# --- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", OPTIONS)
def test_options_are_passed_on_or_refused(solver: str) -> None:
    """Misspelt names: tests/faults/test_file_rows.py."""
    installed(solver)
    name, model = OPTIONS[solver], tm.c_svc(DATA, C=0.7)
    result = tm.solve(model, solver, options={name: 5000}, seed=3, threads=1)
    assert (result.options, result.seed, result.threads) == ({name: 5000}, 3, 1)
    told = {"clarabel": "clarabel has no seed to set"} | {
        each: f"{each} has no seed and no threads to set" for each in ("scs", "piqp")
    }
    assert told.get(solver, "") in result.message
    assert result.objective is not None
    for value in ("many", None, [3]):
        sentence = f"{solver} cannot take {value!r} for its option {name}"
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
            tm.solve(model, solver, options={name: value})


def test_what_piqp_cannot_do_is_refused_in_one_sentence() -> None:
    installed("piqp")
    model = tm.c_svc(DATA, C=0.7)
    with pytest.raises(ValueError, match="cannot be stopped by the clock"):
        tm.solve(model, "piqp", time_limit=5)
    with pytest.raises(ProblemClassError, match=r"piqp cannot take SOCP models.*clarabel"):
        tm.solve(tm.max_margin_svc(points("separable", 1, n=10)), "piqp")
    model.objective.expr = sum(model.xi.values())
    with pytest.raises(ProblemClassError, match=r"piqp cannot take LP models.*highs"):
        tm.solve(model, "piqp")
    assert SOLVERS["piqp"].classes == {QP}
    for problem_class in SOLVERS["scs"].classes:
        names = ORDER[problem_class]
        assert names.index("clarabel") < names.index("scs")


# --- breakdowns ----------------------------------------------------------------------------------


def raising(error: BaseException) -> Any:
    def supervised(*args: Any, **words: Any) -> Any:
        raise error

    return supervised


def panic() -> BaseException:
    return type("PanicException", (BaseException,), {})("Eigval error")


@pytest.mark.parametrize(
    ("module", "name", "error"),
    [
        (clarabel, "c_svc", panic()),
        (scip, "zero_one_hinge", Exception("SCIP: error in LP solver!")),
    ],
)
def test_a_breakdown_is_an_error_of_the_solver_with_its_words(
    module: Any, name: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build() -> Any:
        mixed = name != "c_svc"
        return tm.zero_one_big_m(DATA, penalty=1.0, big_m=60.0) if mixed else tm.c_svc(DATA, C=1.0)

    solver = module.__name__.rpartition(".")[2]
    monkeypatch.setattr(module, "supervised", raising(error))
    result = tm.solve(build(), solver)
    assert result.status is Status.ERROR
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert result.objective is None
    assert f"broke down: {error}" in result.message
    assert result.version.startswith(("0.", "9.", "10.", "11."))
    others = [Exception("x")] if solver == "scip" else []
    for other in (KeyboardInterrupt(), RuntimeError("SCIP: else"), *others):
        monkeypatch.setattr(module, "supervised", raising(other))
        with pytest.raises(type(other)):
            tm.solve(build(), solver)


def test_where_merging_cliques_breaks_down_they_are_not_merged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest, calls = clarabel.supervised, []

    def breaks_down_once(*given: Any, **words: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise panic()
        return honest(*given, **words)

    monkeypatch.setattr(clarabel, "supervised", breaks_down_once)
    result = tm.solve(max_cut(4, 1), "clarabel")
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert "its cliques were not merged" in result.message


def test_auto_asks_the_next_solver_where_one_broke_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clarabel, "supervised", raising(panic()))
    result = tm.solve(max_cut(3, 0), live=False)
    assert result.solver == "scs"
    assert "clarabel broke down: Eigval error" in result.message
    # A graph without odd cycles: the bound is the cut of all its edges, two here.
    assert result.objective == pytest.approx(2.0, abs=1e-6)


# --- exp, log and entropy ------------------------------------------------------------------------

Edit = Callable[[pyo.ConcreteModel], None]


def two(edit: Edit) -> pyo.ConcreteModel:
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(), pyo.Var()
    edit(model)
    return model


def fixed_inside(m: Any) -> None:
    m.y.fix(2.0)
    m.cost = pyo.Objective(expr=pyo.exp(m.x * m.y) - m.x)


def named_term(m: Any) -> None:
    m.term = pyo.Expression(expr=pyo.exp(m.x))
    m.cost = pyo.Objective(expr=3 * m.term - m.x + (m.y - 1) ** 2)


def entropy_of_a_sum(m: Any) -> None:
    m.cost = pyo.Objective(expr=(3 * m.x + 3) * pyo.log(m.x + 1) + m.x + m.y**2)


# More of them, with the files of their proofs: tests/conformance/exponential_problems.py.
CLOSED_FORMS: list[tuple[Edit, float]] = [
    (fixed_inside, (1 + math.log(2.0)) / 2),
    (named_term, 1 + math.log(3.0)),
    (entropy_of_a_sum, -3 * math.exp(-4 / 3) - 1),
]


@pytest.mark.parametrize(("edit", "optimum"), CLOSED_FORMS)
def test_a_convex_term_is_solved_and_proven(edit: Edit, optimum: float) -> None:
    found = tm.solve(two(edit))
    assert found.solver == "clarabel"
    assert found.objective == pytest.approx(optimum, rel=1e-6, abs=1e-6)
    assert found.certificate.verdict is Verdict.CERTIFIED
    rounding = 1e-15 * abs(optimum)
    assert found.bound <= optimum + rounding
    assert found.certificate.upper >= optimum - rounding
    assert "exponential cone" in found.message
    assert found.problem_class == "EXP"


def test_integers_beside_exp_go_to_scip() -> None:
    model = two(lambda m: None)
    model.cost = pyo.Objective(expr=pyo.exp(model.x) + pyo.exp(-model.x))
    model.k = pyo.Var(within=pyo.Integers, bounds=(1, 5))
    model.row = pyo.Constraint(expr=model.x >= 0.5 * model.k)
    assert tm.solve(model).objective == pytest.approx(2 * math.cosh(0.5), rel=1e-5)


def test_where_a_logarithm_has_no_value_only_the_result_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    monkeypatch.setattr(logging.getLogger("pyomo.common.numeric_types"), "error", told.append)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 0.5))
    model.cost = pyo.Objective(expr=-model.x * pyo.log(model.x))
    found = tm.solve(model, time_limit=10)
    assert found.objective is None
    assert "the objective is nan at the point" in found.certificate.reason
    assert not told


def test_the_plugin_of_pyomo_takes_it_too_and_leaves_the_model_as_it_was() -> None:
    model = two(lambda m: None)
    model.row = pyo.Constraint(expr=model.x + model.y >= 1)
    model.cost = pyo.Objective(expr=pyo.log(pyo.exp(model.x) + pyo.exp(model.y)))
    before = str(model.cost.expr), [part.name for part in model.component_objects()]
    results = pyo.SolverFactory("clarabel").solve(model)
    assert pyo.value(model.cost) == pytest.approx(0.5 + math.log(2.0), rel=1e-6)
    assert results.problem.upper_bound == pytest.approx(0.5 + math.log(2.0), rel=1e-6)
    assert (str(model.cost.expr), [part.name for part in model.component_objects()]) == before
