"""Limits of time, nodes and iterations: the incumbent and a bound are kept, nothing is optimal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import (
    Limits,
    classify,
    highs,
    primal_residual,
    scip,
    standard_form,
)
from tests.references import reference_solutions
from tests.references.reference_solutions import points
from tests.solvers.backends.test_translations import installed
from tests.support.long_runs import claim_of, data, lp, milp
from tightmargin.solvers import Claim, Status


def after(solver: str, model: pyo.ConcreteModel, limits: Limits) -> tuple[Claim, float, Any]:
    """Claim, objective at its point (NaN without one), and the standard form."""
    installed(solver)
    claim, form = claim_of(solver, model, limits)
    if claim.x is None:
        return claim, np.nan, form
    return claim, form.objective.at(claim.x), form


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


SMALL: dict[str, Callable[[], pyo.ConcreteModel]] = {
    "lp": lambda: lp(400, 10),
    "milp": milp,
    "miqp": lambda: tm.zero_one_big_m(data(60, 5), penalty=1.0, big_m=60.0),
    "qp": lambda: tm.c_svc(data(200, 5), C=1.0),
    "sdp": lambda: tm.conic_sdp(data(30, 10), penalty=1.0),
}


@pytest.mark.parametrize(
    ("solver", "model"),
    [
        ("highs", "milp"), ("highs", "lp"), ("scip", "miqp"), ("gurobi", "miqp"),
        ("clarabel", "sdp"), ("scs", "sdp"),
    ],
)  # fmt: skip
def test_a_millisecond_ends_in_no_error(solver: str, model: str) -> None:
    claim, objective, form = after(solver, SMALL[model](), Limits(1e-3))
    assert claim.status in (Status.FEASIBLE, Status.LIMIT_NO_SOLUTION, Status.INACCURATE)
    if claim.status is Status.FEASIBLE:
        assert claim.x is not None
        assert primal_residual(form, claim.x)[0] <= 1e-6
        assert claim.bound is None or claim.bound <= objective


# --- SCS in parts ---------------------------------------------------------------------------------


def test_the_iterations_of_all_parts_of_scs_stay_within_the_limit() -> None:
    limits = Limits(options={"max_iters": 1200, "eps_abs": 0.0, "eps_rel": 0.0})
    claim, _, _ = after("scs", tm.c_svc(data(20, 3), C=1.0), limits)
    assert claim.message.startswith("solved (inaccurate - reached max_iters) after 1200 iterations")


def test_the_clock_of_scs_runs_through_all_parts() -> None:
    limits = Limits(0.1, options={"eps_abs": 0.0, "eps_rel": 0.0, "max_iters": 10**8})
    claim, _, _ = after("scs", tm.c_svc(data(20, 3), C=1.0), limits)
    assert claim.status is Status.INACCURATE
    assert claim.message.startswith("solved (inaccurate - reached time_limit_secs)")


# --- bounds that solvers read as infinite, and HiGHS' quadratic code ------------------------------


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
