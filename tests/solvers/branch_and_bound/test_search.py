"""Branch and bound on models of other people's: optimum by enumeration, limits, bad starts."""

from __future__ import annotations

import math
import signal
import time
from dataclasses import replace
from fractions import Fraction
from threading import Timer
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.experiments import outlier_data
from tests.inside.formulations import Array
from tests.inside.solvers import SEARCH_SEARCHED as SEARCHED
from tests.inside.solvers import (
    SOLVERS,
    Case,
    GrowingTree,
    Infeasible,
    Limits,
    LiveLine,
    LowerBound,
    StandardForm,
    StopReason,
    Subject,
    TreeSearch,
    _Search,
    dispatch,
    first_point,
    highs,
    method,
    proof_first,
    scip,
    standard_form,
    tree_bound,
    tree_search,
)
from tests.inside.solvers import branch_and_bound_search as search_module
from tests.support.integer_models import enumerated
from tightmargin.formulations import psd
from tightmargin.solvers import (
    Claim,
    NumberError,
    ProblemClassError,
    SolveResult,
    SolverNotInstalledError,
    Status,
    Verdict,
)


def case_of(model: pyo.ConcreteModel, limit: float | None = 30.0) -> Case:
    return Case(model, Subject(standard_form(model)), None, Limits(time_limit=limit, threads=1))


def first_of(model: pyo.ConcreteModel) -> Array:
    return first_point(model, standard_form(model))


def search_of(model: pyo.ConcreteModel, limit: float | None = 30.0, **words: Any) -> TreeSearch:
    return tree_search(case_of(model, limit), **words)


def proven(model: pyo.ConcreteModel, **words: Any) -> SolveResult:
    return tm.solve(model, method="branch-and-bound", threads=1, **words)


def separating(n: int = 30, d: int = 3, seed: int = 1) -> pyo.ConcreteModel:
    """The 0-1 loss with a row of a user's."""
    data = outlier_data("clustered", n=n, d=d, sigma=0.4, seed=seed)
    model = tm.zero_one_big_m(data, penalty=1.0, big_m=60.0)
    model.edit = pyo.Constraint(expr=model.w[0] <= 0.3)
    return model


def unclosed() -> pyo.ConcreteModel:
    """A model whose tree no processor ends within the limits of these tests."""
    return separating(200, 12, 5)


@pytest.mark.parametrize("quadratic", [False, True])
def test_optima_are_those_of_enumeration(quadratic: bool) -> None:
    empty = 0
    for seed in range(60):
        truth = enumerated(seed, quadratic=quadratic)
        found, optimum = search_of(truth.model()), truth.optimum
        if optimum is None:
            empty += 1
            assert isinstance(found.bound, Infeasible)
            continue
        assert isinstance(found.bound, LowerBound)
        assert found.point is not None
        assert found.point.exact
        assert Fraction(found.bound.varying) <= optimum <= Fraction(found.point.varying)
        if optimum:
            assert float(optimum) - found.bound.varying <= 1e-6 * abs(float(optimum))
            assert found.stop is StopReason.PROVEN
        else:  # beside an optimum of 0 no gap is small, unless it is 0
            assert found.bound.varying >= -1e-7
    assert 0 < empty < 50


@pytest.mark.parametrize("power", [-20, -6, 6, 20])
def test_the_size_of_the_objective_is_no_matter(power: int) -> None:
    for seed in range(12):
        truth = enumerated(seed, scale=2.0**power)
        found, optimum = search_of(truth.model()), truth.optimum
        if not optimum:
            continue
        assert isinstance(found.bound, LowerBound)
        assert found.point is not None
        assert Fraction(found.bound.varying) <= optimum <= Fraction(found.point.varying)
        assert float(optimum) - found.bound.varying <= 1e-6 * abs(float(optimum))


def test_cones_and_free_integers() -> None:
    """min x + y over whole points of a disc of radius 2.5 around (1/2, 1/2): (-1, -1) is one."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), within=pyo.Integers)
    model.disc = pyo.Constraint(expr=(model.x[0] - 0.5) ** 2 + (model.x[1] - 0.5) ** 2 <= 6.25)
    model.goal = pyo.Objective(expr=model.x[0] + model.x[1])
    found = proven(model)
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.objective == -2.0
    assert found.problem_class == "MISOCP"


def test_a_model_that_is_empty_by_parity_is_proven_to_be() -> None:
    """2 x + 4 y = 7 has no whole solution, and any number of others."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), within=pyo.Integers, bounds=(-9, 9))
    model.odd = pyo.Constraint(expr=2 * model.x[0] + 4 * model.x[1] == 7)
    model.goal = pyo.Objective(expr=model.x[0])
    found = proven(model)
    assert found.status is Status.INFEASIBLE
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.objective is None


def test_a_model_without_a_least_value_is_proven_to_have_none() -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), within=pyo.Integers)
    model.row = pyo.Constraint(expr=model.x[0] - 2 * model.x[1] <= 1)
    model.goal = pyo.Objective(expr=-model.x[1])
    found = proven(model)
    assert found.status is Status.UNBOUNDED
    assert found.certificate.verdict is Verdict.CERTIFIED


def test_a_maximisation_with_a_constant_is_read_in_its_own_sense() -> None:
    """max 5 x + 4 y + 100, 6 x + 4 y <= 24, x + 2 y <= 6: 120 at (4, 0)."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2), within=pyo.NonNegativeIntegers)
    model.first = pyo.Constraint(expr=6 * model.x[0] + 4 * model.x[1] <= 24)
    model.second = pyo.Constraint(expr=model.x[0] + 2 * model.x[1] <= 6)
    model.goal = pyo.Objective(expr=5 * model.x[0] + 4 * model.x[1] + 100, sense=pyo.maximize)
    found = proven(model)
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.objective == 120.0
    assert found.bound is not None
    assert 120.0 <= found.bound <= 120.0 * (1 + 1e-6)


def test_a_bad_start_does_no_harm() -> None:
    model = separating(20, 2)
    form = standard_form(model)
    right = search_of(model)
    assert right.point is not None
    for start in (np.full(form.n, math.nan), np.full(form.n, 1e30), np.zeros(form.n)):
        found = search_of(model, start=start)
        assert found.stop is StopReason.PROVEN
        assert found.point is not None
        assert found.point.varying == pytest.approx(right.point.varying, rel=1e-6)


def test_a_node_limit_keeps_point_and_bound() -> None:
    whole = search_of(separating())
    assert whole.point is not None
    assert isinstance(whole.bound, LowerBound)
    found = search_of(separating(), node_limit=5)
    assert found.stop is StopReason.NODE_LIMIT
    assert found.nodes <= 5
    assert found.point is not None
    assert isinstance(found.bound, LowerBound)
    assert found.bound.varying <= whole.point.varying
    assert found.point.varying >= whole.bound.varying


def test_a_time_limit_keeps_point_and_bound() -> None:
    found = proven(unclosed(), time_limit=3.0)
    assert found.certificate.verdict is Verdict.NOT_CERTIFIED
    assert found.status is Status.FEASIBLE
    assert found.interval is not None
    low, high = found.interval
    assert 0.0 < low < high
    assert "time limit" in found.message
    assert found.certificate.facts["stop"] == "time_limit"


def test_ctrl_c_keeps_point_and_bound() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        press = Timer(2.0, signal.raise_signal, [signal.SIGINT])
        press.start()
        found = search_of(unclosed(), limit=60.0)
    finally:
        press.cancel()
        signal.signal(signal.SIGINT, before)
    assert found.stop is StopReason.INTERRUPTED
    assert found.point is not None
    assert isinstance(found.bound, LowerBound)


def test_what_is_none_for_it_is_refused_by_name() -> None:
    data = outlier_data("clustered", n=10, d=2, sigma=0.4, seed=1)
    with pytest.raises(ValueError, match="no integer variables"):
        proven(tm.c_svc(data, C=1.0))
    model = separating(10, 2)
    with pytest.raises(ValueError, match="has no option 'no_such'"):
        proven(model, options={"no_such": 1})
    for wrong in (-1.0, 0, math.inf, "long"):
        with pytest.raises(ValueError, match="prove must be"):
            tm.solve(model, prove=wrong)
    for nodes in (0, -3, 1.5, True, "many"):
        with pytest.raises(ValueError, match="node_limit must be a whole number"):
            proven(model, options={"node_limit": nodes})


def test_without_clarabel_it_is_refused_and_auto_keeps_the_claim(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    missing = replace(SOLVERS["clarabel"], package="no_such_package")
    monkeypatch.setitem(SOLVERS, "clarabel", missing)
    with pytest.raises(SolverNotInstalledError, match="clarabel, which is not installed"):
        proven(separating(10, 2))
    model = separating(20, 2)
    # A row of z beside w: the conflict search does not take it along.
    model.floor = pyo.Constraint(expr=model.w[1] + 0.01 * model.z[0] >= 0.2)
    found = tm.solve(model)
    assert found.solver == "scip"
    assert found.certificate.verdict is Verdict.SOLVER_BOUND


def test_numbers_that_scip_would_lose_leave_the_search_without_its_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refusing(form: Any, limits: Any) -> Claim:
        raise NumberError("a coefficient that would be lost")

    monkeypatch.setattr(method.scip, "run", refusing)
    found = proven(separating(30, 3), time_limit=30.0)
    assert found.interval is not None
    assert math.isfinite(found.interval[0])


def test_seconds_are_those_of_the_solver_and_of_the_proof() -> None:
    model = unclosed()
    began = time.perf_counter()
    alone = tm.solve(model, "scip", time_limit=1.0)
    passed = time.perf_counter() - began
    assert alone.seconds <= passed
    began = time.perf_counter()
    found = tm.solve(model, "scip", prove=2.0, options={"limits/nodes": 1})
    passed = time.perf_counter() - began
    assert 2.0 * SEARCHED < found.seconds <= passed


def test_the_limit_is_one_for_solver_and_proof_and_is_told_as_it_was_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, given = method.scip.run, []

    def noted(form: Any, limits: Limits) -> Claim:
        given.append(limits.time_limit)
        return run(form, limits)

    monkeypatch.setattr(method.scip, "run", noted)
    found = tm.solve(unclosed(), time_limit=3.0)
    assert found.time_limit == 3.0
    assert given, "it was asked"
    assert sum(given) < 3.0 * SEARCHED, "something is left for the search"


def test_names_that_are_none_are_refused_before_m_is_derived_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("it was derived")

    monkeypatch.setattr(dispatch, "as_solved", never)
    model = separating(10, 2)
    with pytest.raises(ValueError, match="scpi"):
        tm.solve(model, "scpi")
    with pytest.raises(ValueError, match="scpi"):
        tm.solve(model, "scip", second_solver="scpi")
    with pytest.raises(ValueError, match="brnch"):
        tm.solve(model, method="brnch")


def floored() -> pyo.ConcreteModel:
    model = separating(20, 2)
    # A row of z beside w: the conflict search does not take it along.
    model.floor = pyo.Constraint(expr=model.w[1] + 0.01 * model.z[0] >= 0.2)
    return model


def test_auto_proves_an_edited_model_without_asking_a_solver() -> None:
    found = tm.solve(floored())
    assert found.solver == "tightmargin"
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.certificate.solver_bound is None
    assert found.certificate.bound_method.startswith("branch and bound")
    claimed = tm.solve(floored(), "scip")
    assert claimed.certificate.verdict is Verdict.SOLVER_BOUND
    assert claimed.objective == pytest.approx(found.objective, rel=1e-6)
    for words in ({"prove": False}, {"method": "direct"}, {"options": {"limits/gap": 0.0}}):
        plain = tm.solve(floored(), **words)
        assert plain.solver == "scip"


def test_auto_proves_what_a_solver_merely_claims() -> None:
    """Somebody else's model: the solver goes first, and its claim stands beside the proof."""
    theirs = floored()
    del theirs.origin
    found = tm.solve(theirs)
    assert found.solver == "scip"
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.certificate.solver_bound is not None
    assert "proven here by branch and bound" in found.message
    asked = tm.solve(floored(), "scip", prove=20.0)
    assert asked.certificate.verdict is Verdict.CERTIFIED
    assert asked.certificate.solver_bound is not None


def test_a_proof_that_takes_long_asks_the_solver_and_keeps_its_claim() -> None:
    found = tm.solve(unclosed(), prove=0.5, time_limit=4.0)
    assert found.solver == "scip"
    assert found.certificate.solver_bound is not None
    assert found.interval is not None
    low, high = found.interval
    assert 0 < low <= high
    assert found.certificate.solver_bound <= high * (1 + 1e-6)


@pytest.mark.parametrize("lie", ["infeasible", "too good", "nothing", "broken"])
def test_a_solver_that_is_asked_second_is_believed_no_more_than_one_that_is_first(
    monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    model = separating(30, 3)
    truth = tm.solve(model, method="branch-and-bound", time_limit=60.0)

    def lying(form: Any, limits: Any) -> Claim:
        if lie == "infeasible":
            return Claim(Status.INFEASIBLE)
        if lie == "too good":
            return Claim(Status.OPTIMAL, x=np.zeros(form.n), bound=0.0)
        if lie == "nothing":
            return Claim(Status.LIMIT_NO_SOLUTION)
        return Claim(Status.ERROR, message="broke down")

    monkeypatch.setattr(proof_first, "PATIENCE", 0)
    monkeypatch.setattr(method.scip, "run", lying)
    found = tm.solve(separating(30, 3), time_limit=60.0, prove=60.0)
    assert found.solver == ("tightmargin" if lie == "nothing" else "scip")
    assert found.certificate.verdict is Verdict.CERTIFIED
    assert found.objective == pytest.approx(truth.objective, rel=1e-6)


def test_ctrl_c_before_the_solver_is_asked_ends_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("it was asked")

    def nothing(model: pyo.ConcreteModel, form: StandardForm) -> Array:
        return np.full(form.n, np.nan)

    monkeypatch.setattr(proof_first, "PATIENCE", 10**9)
    monkeypatch.setattr(proof_first, "first_point", nothing)
    monkeypatch.setattr(method.scip, "run", never)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        press = Timer(2.0, signal.raise_signal, [signal.SIGINT])
        press.start()
        found = tm.solve(separating(60, 6, 5), prove=60.0)
    finally:
        press.cancel()
        signal.signal(signal.SIGINT, before)
    assert found.status is Status.INTERRUPTED
    assert found.objective is not None
    assert found.interval is not None


def test_the_tree_before_a_new_start_is_kept_while_it_proves_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A limit right after a new start: the bound is not that of an empty tree."""
    whole = _Search(case_of(separating(40, 3, 2)), 60, None)
    whole.run(None, LiveLine("whole", quiet=True))
    bound = whole.bound()
    cut = _Search(case_of(separating(40, 3, 2)), 60, None)
    cut.run(None, LiveLine("cut", quiet=True))
    cut.former = cut.bound(), cut.tree.proof(cut.cutoff, cut.root.rounds)
    cut.tree = GrowingTree(cut.root.rows.low, cut.root.rows.high)
    assert cut.bound() == bound
    proven = tree_bound(cut.subject, cut.proof())
    assert isinstance(proven, LowerBound)
    assert proven.varying == pytest.approx(bound, rel=1e-9)


def test_starts_are_values_at_hand_and_the_heuristic_of_the_family() -> None:
    model = separating(20, 2)
    start = first_of(model)
    z = start[standard_form(model).integer]
    assert set(z.tolist()) == {0.0, 1.0}
    model.used = pyo.Var(range(2), within=pyo.Binary)
    for j in range(2):
        model.add_component(f"on{j}", pyo.Constraint(expr=model.w[j] <= 20 * model.used[j]))
    integer = standard_form(model).integer
    start = first_of(model)[integer]
    assert np.isnan(start).sum() == 2, "what an edit has added stays open"
    for variable in (*model.z.values(), *model.used.values()):
        variable.set_value(1)
    assert (first_of(model)[integer] == 1).all()
    del model.origin
    for variable in model.z.values():
        variable.set_value(None, skip_validation=True)
    assert np.isnan(first_of(model)[integer]).sum() == 20


def test_disjunctions_and_indicators_are_proven_too() -> None:
    data = outlier_data("clustered", n=14, d=2, sigma=0.4, seed=1)
    values = []
    for way in ("bigm", "hull"):
        model = tm.zero_one_disjunctive(data, penalty=1.0, transformation=way)
        model.edit = pyo.Constraint(expr=model.w[0] <= 0.1)
        found = proven(model, time_limit=60.0)
        assert found.objective is not None
        values.append(found.objective)
    assert values[0] == pytest.approx(values[1], rel=1e-5)


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


def test_memory_ends_a_search_and_keeps_point_and_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    model = separating(30, 3)
    truth = proven(model)
    monkeypatch.setattr(search_module, "MEMORY", 20_000)
    found = proven(separating(30, 3))
    assert found.certificate.facts["stop"] == "memory_limit"
    assert "memory limit" in found.message
    assert found.interval is not None
    low, high = found.interval
    assert low <= truth.objective * (1 + 1e-6)
    assert truth.objective <= high * (1 + 1e-6)


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


@pytest.mark.parametrize(
    ("time_limit", "spent", "prove", "seconds"),
    [
        (None, 9.0, None, None), (None, 9.0, True, None), (None, 9.0, False, 0.0),
        (None, 9.0, 3.0, 3.0), (10.0, 4.0, None, 6.0), (10.0, 4.0, 2.0, 2.0),
        (10.0, 4.0, 60.0, 6.0), (10.0, 12.0, True, 0.0),
    ],
)  # fmt: skip
def test_a_proof_has_what_is_left_of_a_limit_and_no_limit_without_one(
    time_limit: float | None, spent: float, prove: Any, seconds: float | None
) -> None:
    assert method.budget(time_limit, spent, prove) == seconds


@pytest.mark.parametrize("run", [scip.run, lambda form, limits: highs.run(form, None, limits)])
def test_nodes_end_a_run_of_a_solver(run: Any) -> None:
    """A knapsack that takes both more than a node; without the limit they finish."""
    random = np.random.default_rng(3)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(30), within=pyo.Binary)
    rows = random.integers(10, 99, (4, 30)).tolist()
    model.rows = pyo.ConstraintList()
    for row in rows:
        model.rows.add(sum(a * x for a, x in zip(row, model.x.values(), strict=True)) <= 600)
    worth = random.integers(10, 99, 30).tolist()
    model.goal = pyo.Objective(
        expr=-sum(a * x for a, x in zip(worth, model.x.values(), strict=True))
    )
    form = standard_form(model)
    assert run(form, Limits(nodes=1)).status is Status.FEASIBLE
    assert run(form, Limits()).status is Status.OPTIMAL
