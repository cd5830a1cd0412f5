"""Sizes, options, ends and breakdowns of single solvers.

Optima and multipliers of each solver: tests/conformance.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.contrib.solver.common.factory import SolverFactory

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


def test_multipliers_of_scs_are_derivatives_by_the_right_hand_side() -> None:
    """min (x - 3)^2 + y, x <= 1, y >= 2, x + y <= 9, z = x + 5, 0 <= z: 4 + 2."""
    installed("scs")
    m = pyo.ConcreteModel()
    m.x, m.y, m.z = pyo.Var(), pyo.Var(), pyo.Var(within=pyo.NonNegativeReals)
    m.top = pyo.Constraint(expr=10 * m.x <= 10)
    m.floor = pyo.Constraint(expr=0.01 * m.y >= 0.02)
    m.slack = pyo.Constraint(expr=(None, m.x + m.y, 9))
    m.tie = pyo.Constraint(expr=m.z - m.x == 5)
    m.objective = pyo.Objective(expr=(m.x - 3) ** 2 + m.y + 0.5 * m.z)
    result = tm.solve(m, "scs")
    assert result.objective == pytest.approx(4 + 2 + 3, abs=1e-7)
    # d/dx = -4 + 1/2 through z, over 10; d/dy = 1 over 0.01; z moves with the side of the tie.
    expected = {"top": -0.35, "floor": 100.0, "slack": 0.0, "tie": 0.5}
    for name, number in expected.items():
        assert float(result.duals[name]) == pytest.approx(number, abs=1e-5), name


SYMMETRIC = np.array([[2, -1, 3, 0.5], [-1, 4, 1, -2], [3, 1, -3, 0.25], [0.5, -2, 0.25, 1]])


def test_a_semidefinite_block_keeps_the_place_of_every_entry() -> None:
    """min <S, X> over trace 1 and X semidefinite: no two entries of S may trade places."""
    installed("scs")
    m = pyo.ConcreteModel()
    m.L = pyo.Set(initialize=[(i, j) for i in range(4) for j in range(i + 1)], dimen=2)
    m.X = pyo.Var(m.L)
    psd(m, "cone", [[m.X[i, j] for j in range(i + 1)] for i in range(4)])
    m.trace = pyo.Constraint(expr=sum(m.X[i, i] for i in range(4)) == 1)
    m.objective = pyo.Objective(
        expr=sum((1 if i == j else 2) * float(SYMMETRIC[i, j]) * m.X[i, j] for i, j in m.L)
    )
    values, vectors = np.linalg.eigh(SYMMETRIC)
    result = tm.solve(m, "scs")
    assert result.objective == pytest.approx(values[0], abs=1e-7)
    assert result.values["X"] == pytest.approx(np.outer(vectors[:, 0], vectors[:, 0]), abs=1e-6)
    assert result.duals["cone"] == pytest.approx(SYMMETRIC - values[0] * np.eye(4), abs=1e-5)
    m.dual = pyo.Suffix(direction=pyo.Suffix.IMPORT)
    found = pyo.SolverFactory("scs").solve(m)
    assert found.solver.termination_condition == pyo.TerminationCondition.optimal
    assert pyo.value(m.objective) == pytest.approx(values[0], abs=1e-6)
    assert m.dual[m.trace] == pytest.approx(values[0], abs=1e-5)
    import scs

    assert SolverFactory("scs").version() == tuple(int(part) for part in scs.__version__.split("."))


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


# --- ends of a run -------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("solver", "limits"),
    [
        ("clarabel", {"options": {"max_iter": 3}}),
        ("piqp", {"options": {"max_iter": 2}}),
        ("scs", {"options": {"max_iters": 5}}),
        ("scs", {"time_limit": 1e-9}),
    ],
)
def test_a_run_cut_short_is_not_called_optimal(solver: str, limits: dict[str, Any]) -> None:
    installed(solver)
    model = tm.conic_sdp(DATA, penalty=1.3) if solver == "scs" else tm.c_svc(DATA, C=0.7)
    result = tm.solve(model, solver, **limits)
    assert result.status in (Status.INACCURATE, Status.LIMIT_NO_SOLUTION)
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert solver != "clarabel" or "gap" in result.certificate.reason


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


def mixed_integer() -> Any:
    return tm.zero_one_big_m(DATA, penalty=1.0, big_m=60.0)


@pytest.mark.parametrize(
    ("module", "build", "error", "words"),
    [
        (clarabel, lambda: tm.conic_sdp(DATA, penalty=1.0), panic(), "Eigval error"),
        (scip, mixed_integer, Exception("SCIP: error in LP solver!"), "SCIP: error in LP solver!"),
    ],
)
def test_a_breakdown_is_an_error_of_the_solver_with_its_words(
    module: Any, build: Any, error: BaseException, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    solver = module.__name__.rpartition(".")[2]
    monkeypatch.setattr(module, "supervised", raising(error))
    result = tm.solve(build(), solver)
    assert result.status is Status.ERROR
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert result.objective is None
    assert f"broke down: {words}" in result.message
    assert result.version.startswith(("0.", "9.", "10.", "11."))
    for other in (
        KeyboardInterrupt(),
        RuntimeError("SCIP: else"),
        *[Exception("x")] * (solver == "scip"),
    ):
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


@pytest.mark.full("the least pattern on which Clarabel 0.11 breaks down is of order 230")
def test_clarabel_breaks_down_where_it_merges_cliques() -> None:
    """Its merge indexes beyond its end, before any iteration."""
    result = tm.solve(max_cut(230, 1), live=False)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.solver == "clarabel"


def test_auto_asks_the_next_solver_where_one_broke_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clarabel, "supervised", raising(panic()))
    result = tm.solve(max_cut(3, 0), live=False)
    assert result.solver == "scs"
    assert "clarabel broke down: Eigval error" in result.message
    # A graph without odd cycles: the bound is the cut of all its edges, two here.
    assert result.objective == pytest.approx(2.0, abs=1e-6)
