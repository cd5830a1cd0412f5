"""Branch and bound on models of other people's: optimum by enumeration, limits, bad starts."""

from __future__ import annotations

import functools
import itertools
import math
import signal
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
import scipy.sparse as sp

import tightmargin as tm
from tests.inside.experiments import outlier_data
from tests.inside.solvers import SEARCH_SEARCHED as SEARCHED
from tests.inside.solvers import (
    SOLVERS,
    Case,
    Infeasible,
    Limits,
    LowerBound,
    StopReason,
    Subject,
    TreeSearch,
    _Search,
    method,
    node_scaling,
    proof_first,
    standard_form,
    tree_search,
)
from tests.inside.solvers import branch_and_bound_search as search_module
from tests.support.covering import FULL
from tests.support.integer_models import enumerated
from tightmargin.formulations import psd
from tightmargin.solvers import (
    Claim,
    ProblemClassError,
    SolveResult,
    SolverNotInstalledError,
    Status,
    Verdict,
)


def search_of(model: pyo.ConcreteModel) -> TreeSearch:
    limits = Limits(time_limit=30.0, threads=1)
    return tree_search(Case(model, Subject(standard_form(model)), None, limits))


def proven(model: pyo.ConcreteModel, **words: Any) -> SolveResult:
    return tm.solve(model, method="branch-and-bound", threads=1, **words)


def separating(n: int = 20, d: int = 3, seed: int = 1) -> pyo.ConcreteModel:
    """The 0-1 loss with a row of a user's."""
    data = outlier_data("clustered", n=n, d=d, sigma=0.4, seed=seed)
    model = tm.zero_one_big_m(data, penalty=1.0, big_m=60.0)
    model.edit = pyo.Constraint(expr=model.w[0] <= 0.3)
    return model


def floored(n: int) -> pyo.ConcreteModel:
    """With a row of z beside w, which the conflict search does not take along."""
    model = separating(n, 2)
    model.floor = pyo.Constraint(expr=model.w[1] + 0.01 * model.z[0] >= 0.2)
    return model


@pytest.mark.parametrize("quadratic", [False, True])
def test_optima_are_those_of_enumeration(quadratic: bool) -> None:
    empty = 0
    for seed in range(60 if FULL else 9):
        scale = 2.0 ** (0, -20, 6)[seed % 3]  # the size of the objective is no matter
        truth = enumerated(seed, quadratic=quadratic, scale=scale)
        found, optimum = search_of(truth.model()), truth.optimum
        if optimum is None:
            empty += 1
            assert isinstance(found.bound, Infeasible)
            continue
        assert isinstance(found.bound, LowerBound)
        assert found.point.exact
        assert Fraction(found.bound.varying) <= optimum <= Fraction(found.point.varying)
        if optimum:
            assert float(optimum) - found.bound.varying <= 1e-6 * abs(float(optimum))
            assert found.stop is StopReason.PROVEN
        else:  # beside an optimum of 0 no gap is small, unless it is 0
            assert found.bound.varying >= -1e-7 * scale
    assert empty < 50


# --- limits ---------------------------------------------------------------------------------------


@functools.cache
def truth() -> float:
    """The least value without the constant, by the whole search from no start."""
    return search_of(separating(12, 2)).point.varying


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look of a search at its clock takes a tenth of a second, and solvers are quick."""
    ticks = itertools.count()
    clock = SimpleNamespace(perf_counter=lambda: 0.1 * next(ticks))
    for module in (search_module, method, proof_first):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(method, "MOST_NODES", 1)
    monkeypatch.setattr(method, "LEAST_NODES", 1)


@pytest.mark.parametrize("limit", ["nodes", "memory", "time"])
def test_a_limit_keeps_point_and_bound(
    limit: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    words: dict[str, Any] = {"options": {"node_limit": 5}} if limit == "nodes" else {}
    if limit == "memory":
        monkeypatch.setattr(search_module, "MEMORY", 500)
    if limit == "time":
        request.getfixturevalue("ticking")
        words = {"time_limit": 2.0}
    model = separating(40, 6, 5) if limit == "nodes" else floored(12)
    found = proven(model, **words)  # of which a few boxes leave a gap
    facts = found.certificate.facts
    assert found.certificate.verdict is Verdict.NOT_CERTIFIED
    assert found.status is Status.FEASIBLE
    assert facts["stop"] == {"nodes": "node_limit"}.get(limit, f"{limit}_limit")
    assert f"{limit.removesuffix('s')} limit" in found.message
    assert facts["nodes"] <= 5 or limit != "nodes"
    low, high = found.interval
    assert 0.0 < low < high


def test_ctrl_c_ends_it_all_and_keeps_point_and_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is pressed at a node of the search, before a solver is asked."""
    look = _Search._look_at

    def pressed(search: _Search, node: Any) -> None:
        if search.nodes_done == 3:
            signal.raise_signal(signal.SIGINT)
        look(search, node)

    monkeypatch.setattr(_Search, "_look_at", pressed)
    monkeypatch.setattr(proof_first, "PATIENCE", 10**9)
    monkeypatch.setattr(method.scip, "run", never)
    found = tm.solve(separating(), prove=60.0)
    assert found.status is Status.INTERRUPTED
    assert found.objective is not None
    assert found.interval is not None


def never(*_: Any) -> None:
    raise AssertionError("it was asked")


@pytest.mark.usefixtures("ticking")
def test_seconds_are_those_of_the_solver_and_of_the_proof() -> None:
    found = tm.solve(separating(), "scip", prove=10.0, options={"limits/nodes": 1})
    assert found.certificate.facts["stop"] == "time_limit"
    assert found.seconds > 10.0 * SEARCHED


@pytest.mark.usefixtures("ticking")
def test_the_limit_is_one_for_solver_and_proof_and_is_told_as_it_was_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = []

    def noted(form: Any, limits: Limits) -> Claim:
        given.append(limits.time_limit)
        return Claim(Status.LIMIT_NO_SOLUTION)

    monkeypatch.setattr(method.scip, "run", noted)
    monkeypatch.setattr(proof_first, "PATIENCE", 0)
    found = tm.solve(separating(), time_limit=30.0)
    assert found.time_limit == 30.0
    assert given, "it was asked"
    assert sum(given) < 30.0, "something is left for the search"
    given.clear()
    tm.solve(separating(24), prove=20.0)
    assert len(given) == 2, "and asked again when the seconds of a proof are over"


def test_a_proof_has_what_is_left_of_a_limit_and_no_limit_without_one() -> None:
    for time_limit, spent, prove, seconds in (
        (None, 9.0, None, None), (None, 9.0, False, 0.0), (None, 9.0, 3.0, 3.0),
        (10.0, 4.0, None, 6.0), (10.0, 4.0, 2.0, 2.0), (10.0, 4.0, 60.0, 6.0),
        (10.0, 12.0, True, 0.0),
    ):  # fmt: skip
        assert method.budget(time_limit, spent, prove) == seconds


def test_whole_numbers_without_limits_end_a_search_that_splits_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """2 x - 2 y = 1 has no whole solution, and no box of finitely many says so."""
    monkeypatch.setattr(search_module, "ENDLESS", 30)
    model = pyo.ConcreteModel()
    model.x, model.y = pyo.Var(within=pyo.Integers), pyo.Var(within=pyo.Integers)
    model.odd = pyo.Constraint(expr=2 * model.x - 2 * model.y == 1)
    model.goal = pyo.Objective(expr=model.x**2 + model.y**2)
    found = tm.solve(model, method="branch-and-bound")
    assert found.certificate.verdict is Verdict.NOT_CERTIFIED
    assert "stalled" in found.message


# --- beside a solver ------------------------------------------------------------------------------


LIES: dict[str, Callable[[Any, Any], Claim]] = {
    "infeasible": lambda form, limits: Claim(Status.INFEASIBLE),
    "too good": lambda form, limits: Claim(Status.OPTIMAL, x=np.zeros(form.n), bound=0.0),
    "nothing": lambda form, limits: Claim(Status.LIMIT_NO_SOLUTION),
    "broken": lambda form, limits: Claim(Status.ERROR, message="broke down"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_solver_that_is_asked_second_is_believed_no_more_than_one_that_is_first(
    monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    monkeypatch.setattr(proof_first, "PATIENCE", 0)
    monkeypatch.setattr(method.scip, "run", LIES[lie])
    model = separating(12, 2)
    found = tm.solve(model, prove=True)
    assert found.solver == ("tightmargin" if lie == "nothing" else "scip")
    assert found.certificate.verdict is Verdict.CERTIFIED
    constant = standard_form(model).objective.constant
    assert found.objective == pytest.approx(truth() + constant, rel=1e-6)


def test_without_clarabel_it_is_refused_and_auto_keeps_the_claim(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    missing = replace(SOLVERS["clarabel"], package="no_such_package")
    monkeypatch.setitem(SOLVERS, "clarabel", missing)
    with pytest.raises(SolverNotInstalledError, match="clarabel, which is not installed"):
        proven(separating(10, 2))
    found = tm.solve(floored(9))
    assert found.solver == "scip"
    assert found.certificate.verdict is Verdict.SOLVER_BOUND


SMALL: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Any, float | None]] = {
    # min x + y over whole points of a disc of radius 2.5 around (1/2, 1/2): (-1, -1) is one.
    "a disc": (
        lambda x: x[0] + x[1], lambda x: (x[0] - 0.5) ** 2 + (x[1] - 0.5) ** 2 <= 6.25, None, -2.0
    ),
    # 2 x + 4 y = 7 has no whole solution, and any number of others.
    "empty by parity": (lambda x: x[0], lambda x: 2 * x[0] + 4 * x[1] == 7, 9, None),
    "no least value": (lambda x: -x[1], lambda x: x[0] - 2 * x[1] <= 1, None, -math.inf),
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_small_models_by_hand(name: str) -> None:
    goal, row, box, optimum = SMALL[name]
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), within=pyo.Integers, bounds=box and (-box, box))
    model.row, model.goal = pyo.Constraint(expr=row(model.x)), pyo.Objective(expr=goal(model.x))
    found = proven(model)
    assert found.certificate.verdict is Verdict.CERTIFIED
    ends = {None: Status.INFEASIBLE, -math.inf: Status.UNBOUNDED}
    assert found.status is ends.get(optimum, Status.OPTIMAL)
    assert found.objective == (optimum if optimum == -2.0 else None)


def test_a_semidefinite_row_beside_integers_is_proven() -> None:
    """Least whole x with x >= y^2, as a matrix [x y; y 1], and y >= 1.3: 2, plus y / 100."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(within=pyo.Integers, bounds=(0, 50))
    model.y = pyo.Var(bounds=(1.3, 9.0))
    psd(model, "matrix", [[model.x], [model.y, 1.0]])
    model.goal = pyo.Objective(expr=model.x + 0.01 * model.y)
    found = tm.solve(model)
    assert found.solver == "tightmargin"
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.objective == pytest.approx(2.013, abs=1e-5)
    with pytest.raises(ProblemClassError, match="branch-and-bound"):
        tm.solve(model, "clarabel")


# --- nodes in other units ------------------------------------------------------------------------


def test_numbers_near_each_other_are_left_as_they_are() -> None:
    A = sp.csr_matrix([[1.0, 3.0], [0.02, 40.0]])
    found = node_scaling(A, np.array([0, 1]), np.array([False, False]))
    assert (found.columns == 1).all()
    assert (found.rows == 1).all()


def test_numbers_far_from_each_other_come_near_and_cones_stay_cones() -> None:
    """What is nothing but rounding beside the rest of its row has no say."""
    A = sp.csr_matrix([[1e6, 1.0, 0.0], [2e6, 1.0, 1e-60], [1.0, 0.0, 0.0], [0.0, 1e-6, 0.0]])
    found = node_scaling(A, np.array([0, 1, 2, 2]), np.array([False, False, True]))
    near = np.abs(sp.diags(found.rows) @ A @ sp.diags(found.columns)).toarray()[:, :2]
    near = near[near > 0]
    assert near.max() / near.min() < 1e3
    assert found.columns[2] == 1.0
    assert found.rows[2] == found.rows[3]
    assert (np.frexp(found.rows)[0] == 0.5).all()
    assert (np.frexp(found.columns)[0] == 0.5).all()
