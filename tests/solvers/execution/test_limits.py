"""Limits of time, nodes and iterations: the incumbent and a bound are kept, nothing is optimal."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import (
    SOLVERS,
    Limits,
    classify,
    exact_lp_bound,
    highs,
    primal_residual,
    scip,
    scs,
    standard_form,
)
from tests.references import reference_solutions
from tests.references.reference_solutions import points
from tests.support.long_runs import MODELS, claim_of, data, lp, milp, with_a_point
from tightmargin.solvers import Claim, NumberError, Status, Verdict


def installed(solver: str) -> None:
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")


def after(solver: str, model: pyo.ConcreteModel, limits: Limits) -> tuple[Claim, float, Any]:
    """Claim, objective at its point (NaN without one), and the standard form."""
    installed(solver)
    claim, form = claim_of(solver, model, limits)
    if claim.x is None:
        return claim, np.nan, form
    return claim, form.objective.at(claim.x), form


@pytest.mark.parametrize(
    ("solver", "model", "limits"),
    [
        ("highs", "milp", Limits(1.0)),
        ("highs", "milp", Limits(options={"mip_max_improving_sols": 1})),
        ("highs", "milp", Limits(options={"objective_target": 60.0})),
        ("scip", "milp", Limits(1.0)),
        ("scip", "miqp", Limits(1.0)),
        ("scip", "miqp", Limits(options={"limits/solutions": 2})),
        ("gurobi", "miqp", Limits(1.0)),
    ],
)
def test_branch_and_bound_keeps_incumbent_and_bound(
    solver: str, model: str, limits: Limits
) -> None:
    claim, objective, form = with_a_point(
        lambda seconds: after(
            solver,
            MODELS[model](),
            limits if limits.time_limit is None else replace(limits, time_limit=seconds),
        ),
        lambda found: found[0].x is not None,
    )
    assert claim.status is Status.FEASIBLE
    assert claim.x is not None
    assert primal_residual(form, claim.x)[0] <= 1e-6
    assert claim.bound is not None
    assert claim.bound < objective * (1 - 1e-3)


@pytest.mark.parametrize("solver", ["highs", "scip", "gurobi"])
def test_without_the_time_for_a_point_there_is_none(solver: str) -> None:
    """A subset sum of forty large numbers: no heuristic has a point in a millisecond."""
    m = pyo.ConcreteModel()
    m.z = pyo.Var(range(40), within=pyo.Binary)
    weights = np.random.default_rng(0).integers(10**6, 10**7, 40) * 2.0
    m.row = pyo.Constraint(expr=pyo.quicksum(weights[k] * m.z[k] for k in m.z) == weights.sum() / 2)
    m.objective = pyo.Objective(expr=m.z[0])
    claim, _, _ = after(solver, m, Limits(1e-3))
    assert claim.status is Status.LIMIT_NO_SOLUTION
    assert claim.x is None
    assert claim.bound is None or claim.bound <= 1


def lp_optimum() -> float:
    claim, optimum, _ = after("clarabel", lp(400, 10), Limits())
    assert claim.status is Status.OPTIMAL
    return optimum


@pytest.mark.parametrize("iterations", [100, 200, 400])
def test_a_dual_simplex_stopped_early_proves_a_bound_without_a_point(iterations: int) -> None:
    limits = Limits(options={"simplex_iteration_limit": iterations})
    claim, _, form = after("highs", lp(400, 10), limits)
    assert claim.status is Status.LIMIT_NO_SOLUTION
    assert claim.x is None
    assert claim.duals is not None
    proven = exact_lp_bound(form, claim.duals.rows)
    assert proven is not None
    assert 0 < proven.value(form.objective.constant) < lp_optimum()


@pytest.mark.parametrize(
    "options",
    [
        {"solver": "ipm", "ipm_iteration_limit": 5, "run_crossover": "off"},
        {"simplex_strategy": 4, "simplex_iteration_limit": 400},
    ],
)
def test_a_primal_method_of_highs_stopped_early_keeps_its_point(options: dict[str, Any]) -> None:
    claim, objective, form = after("highs", lp(400, 10), Limits(options=options))
    assert claim.status is Status.FEASIBLE
    assert claim.x is not None
    assert primal_residual(form, claim.x)[0] <= 1e-6
    assert objective > lp_optimum() + 1e-4


@pytest.mark.parametrize(
    ("solver", "model", "limits"),
    [
        ("clarabel", "sdp", Limits(0.3)),
        ("clarabel", "sdp", Limits(options={"max_iter": 3})),
        ("scs", "sdp", Limits(0.3, options={"eps_abs": 0.0, "eps_rel": 0.0})),
        ("scs", "sdp", Limits(options={"max_iters": 30})),
        ("piqp", "qp", Limits(options={"max_iter": 3})),
    ],
)
def test_an_iterate_is_kept_and_never_called_optimal(
    solver: str, model: str, limits: Limits
) -> None:
    claim, _, _ = after(solver, MODELS[model](), limits)
    assert claim.status is Status.INACCURATE
    assert claim.x is not None
    assert np.isfinite(claim.x).all()
    assert claim.duals is not None
    assert claim.bound is None, "the dual objective of an iterate is no bound"


@pytest.mark.parametrize(
    ("solver", "model"),
    [
        ("highs", "milp"), ("highs", "lp"), ("scip", "miqp"), ("gurobi", "miqp"),
        ("clarabel", "sdp"), ("scs", "sdp"),
    ],
)  # fmt: skip
def test_a_millisecond_ends_in_no_error(solver: str, model: str) -> None:
    claim, objective, form = after(solver, MODELS[model](), Limits(1e-3))
    assert claim.status in (Status.FEASIBLE, Status.LIMIT_NO_SOLUTION, Status.INACCURATE)
    if claim.status is Status.FEASIBLE:
        assert claim.x is not None
        assert primal_residual(form, claim.x)[0] <= 1e-6
        assert claim.bound is None or claim.bound <= objective


def test_a_stopped_solve_is_a_result_with_both_bounds() -> None:
    result = with_a_point(
        lambda seconds: tm.solve(MODELS["miqp"](), "scip", time_limit=seconds),
        lambda found: found.objective is not None,
    )
    assert result.status is Status.FEASIBLE
    assert result.certificate.verdict is Verdict.SOLVER_BOUND
    assert result.time_limit in (1, 5, 25)
    assert 0 < result.certificate.solver_bound < result.objective
    assert 0 < result.bound < result.objective, "whichever of the two is the better one"


# --- SCS in parts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [40, 500, 10**6])
def test_parts_of_a_run_of_scs_reach_the_same_optimum(
    part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed("scs")
    monkeypatch.setattr(scs, "PART", part)
    given = points("overlapping", 1, n=10)
    claim, objective, _ = after("scs", tm.c_svc(given, C=0.7), Limits())
    assert claim.status is Status.OPTIMAL
    assert objective == pytest.approx(
        reference_solutions.hinge(given, "free", 0.5, 0.7).value, abs=1e-6
    )


def test_the_iterations_of_all_parts_of_scs_stay_within_the_limit() -> None:
    limits = Limits(options={"max_iters": 1200, "eps_abs": 0.0, "eps_rel": 0.0})
    claim, _, _ = after("scs", tm.c_svc(data(20, 3), C=1.0), limits)
    assert claim.message.startswith("solved (inaccurate - reached max_iters) after 1200 iterations")


def test_the_clock_of_scs_runs_through_all_parts() -> None:
    limits = Limits(0.5, options={"eps_abs": 0.0, "eps_rel": 0.0, "max_iters": 10**8})
    claim, _, _ = after("scs", tm.c_svc(data(20, 3), C=1.0), limits)
    assert claim.status is Status.INACCURATE
    assert claim.message.startswith("solved (inaccurate - reached time_limit_secs)")


# --- seeds and threads ----------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["highs", "scip"])
def test_the_same_seed_gives_the_same_bytes(solver: str) -> None:
    def point(seed: int) -> bytes:
        claim, _, _ = after(solver, milp(24, 3), Limits(seed=seed, threads=1))
        assert claim.status is Status.OPTIMAL
        assert claim.x is not None
        return claim.x.tobytes()

    assert point(7) == point(7)


def test_the_number_of_threads_of_highs_may_change_from_solve_to_solve() -> None:
    """HiGHS fixes it once for every thread that calls it, and then ends without a status."""
    for threads in (1, 2, 1):
        claim, _, _ = after("highs", milp(24, 3), Limits(threads=threads))
        assert claim.status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("solver", "sentence"),
    [
        ("clarabel", "clarabel has no seed to set"),
        ("scs", "scs has no seed and no threads to set"),
        ("piqp", "piqp has no seed and no threads to set"),
    ],
)
def test_a_setting_the_solver_does_not_have_is_said_so(solver: str, sentence: str) -> None:
    installed(solver)
    model = tm.c_svc(data(12, 2), C=1.0)
    result = tm.solve(model, solver, seed=3, threads=1)
    assert sentence in result.message
    assert (result.seed, result.threads) == (3, 1)
    assert "to set" not in tm.solve(model, solver).message


# --- bounds that solvers read as infinite, and HiGHS' quadratic code ------------------------------


@pytest.mark.parametrize("solver", ["highs", "clarabel", "scip", "scs", "gurobi", "piqp"])
@pytest.mark.parametrize("where", ["variable", "row"])
def test_a_bound_a_solver_would_read_as_infinite_is_refused(solver: str, where: str) -> None:
    installed(solver)
    m = pyo.ConcreteModel()
    m.x = pyo.Var(bounds=(0, 1e25 if where == "variable" else None))
    m.y = pyo.Var(bounds=(0, 1))
    m.row = pyo.Constraint(expr=m.x + m.y <= (1e25 if where == "row" else 3.0))
    m.objective = pyo.Objective(expr=m.y**2 - m.x)
    named = "upper bound 1e+25 of x" if where == "variable" else "upper side 1e+25 of row"
    with pytest.raises(NumberError) as refused:
        tm.solve(m, solver)
    assert named in str(refused.value)


def test_a_bounded_qp_that_highs_calls_unbounded_is_solved() -> None:
    model = tm.c_svc_dual(points("overlapping", 4, n=8), C=0.7)
    model.objective.set_value(model.objective.expr + 0.3 * model.alpha[0])
    assert tm.solve(model, "clarabel").objective == pytest.approx(-4.4859, abs=1e-4)
    assert tm.solve(model, "highs").objective == pytest.approx(-4.4859, abs=1e-4)


def test_a_qp_that_highs_leaves_without_a_status_is_solved() -> None:
    rng = np.random.default_rng(51)
    given = tm.TrainingData(rng.standard_normal((9, 2)), rng.choice([-1, 1], 9))
    model = tm.zero_one_relaxed(given, penalty=1.3, big_m=25.0, intercept="penalised")
    expected = reference_solutions.relaxation(given, "penalised", 1.3, np.full(9, 25.0)).value
    assert tm.solve(model, "highs").objective == pytest.approx(expected, abs=1e-5)


def test_a_qp_called_unbounded_against_its_bounds_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        highs, "_run", lambda *_, **__: Claim(Status.UNBOUNDED, message="Unbounded")
    )
    form = standard_form(tm.c_svc(points("overlapping", 1, n=8), C=0.7))
    claim = highs.run(form, classify(form), Limits())
    assert claim.status is Status.ERROR
    assert "try clarabel" in claim.message


def test_an_unbounded_qp_stays_unbounded() -> None:
    m = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(), pyo.Var()
    m.objective = pyo.Objective(expr=m.x**2 - m.y)
    form = standard_form(m)
    assert highs.run(form, classify(form), Limits()).status is Status.UNBOUNDED
    assert scip.run(form, Limits()).status in (Status.UNBOUNDED, Status.INFEASIBLE_OR_UNBOUNDED)


# --- cuts of SCIP below the root ------------------------------------------------------------------


def rounds_of_cuts(
    model: pyo.ConcreteModel, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> int:
    """What SCIP was told about rounds of cuts below the root."""
    told = []
    read = scip._claim
    monkeypatch.setattr(
        scip,
        "_claim",
        lambda solved, *rest: (
            told.append(solved.getParam("separating/maxrounds")) or read(solved, *rest)
        ),
    )
    scip.run(standard_form(model), Limits(options=options))
    return told[0]


def test_big_m_models_are_cut_at_the_root_only_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = tm.zero_one_big_m(data(8, 2), penalty=1.0, big_m=20.0)
    assert rounds_of_cuts(model, monkeypatch) == 0
    assert rounds_of_cuts(model, monkeypatch, **{"separating/maxrounds": 3}) == 3
    choice = pyo.ConcreteModel()
    choice.z = pyo.Var(range(4), within=pyo.Binary)
    choice.two = pyo.Constraint(expr=pyo.quicksum(choice.z.values()) == 2)
    choice.objective = pyo.Objective(expr=(choice.z[0] + 2 * choice.z[1] - choice.z[2]) ** 2)
    assert rounds_of_cuts(choice, monkeypatch) == -1
