"""Row 17: that there is no point, or no least one, is proven here: a Farkas vector, or a ray.

tests/solvers/exact/test_infeasibility.py and tests/solvers/exact/test_unboundedness.py go into the
proofs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import SOLVERS, Limits, classify, highs, standard_form
from tests.references import reference_solutions
from tests.references.reference_solutions import points
from tightmargin.solvers import SolveResult, Status, Verdict

SEPARABLE, OVERLAPPING = points("separable", 1, n=8), points("overlapping", 1, n=8)
UNBALANCED = points("unbalanced", 1, n=10)


def _contradicting_budget() -> pyo.ConcreteModel:
    """Fewer slacks than the least sum of hinge losses."""
    m = tm.c_svc(OVERLAPPING, C=1.0)
    m.budget = pyo.Constraint(expr=pyo.quicksum(m.xi.values()) <= 1e-3)
    return m


def _everybody_kept() -> pyo.ConcreteModel:
    m = tm.zero_one_relaxed(OVERLAPPING, penalty=1.0, big_m=10.0)
    m.kept = pyo.Constraint(expr=pyo.quicksum(m.z.values()) <= 0)
    return m


def _multipliers_beyond_the_box() -> pyo.ConcreteModel:
    m = tm.c_svc_dual(OVERLAPPING, C=1.0)
    m.total = pyo.Constraint(expr=pyo.quicksum(m.alpha.values()) >= OVERLAPPING.n + 1)
    return m


def _bounds_that_cross() -> pyo.ConcreteModel:
    m = tm.soft_margin_svc(OVERLAPPING, ridge=0.1)
    m.b.setlb(1.0)
    m.b.setub(-1.0)
    return m


IMPOSSIBLE: dict[str, Callable[[], pyo.ConcreteModel]] = {
    "hard margin between overlapping classes": lambda: tm.hard_margin_svc(OVERLAPPING),
    "budget of slacks": _contradicting_budget,
    "no violation": _everybody_kept,
    "multipliers": _multipliers_beyond_the_box,
    "bounds": _bounds_that_cross,
}


def _margin_without_norm() -> pyo.ConcreteModel:
    m = tm.max_margin_svc(SEPARABLE)
    m.norm.deactivate()
    return m


def _free_slacks() -> pyo.ConcreteModel:
    """b rewards the larger class without end once slacks may be negative."""
    m = tm.c_svc(UNBALANCED, C=1.0)
    m.free = pyo.Var(m.I)
    m.margin.deactivate()
    m.with_free = pyo.Constraint(
        m.I,
        rule=lambda m, i: (
            UNBALANCED.y[i].item()
            * (pyo.quicksum(UNBALANCED.X[i, j].item() * m.w[j] for j in m.J) + m.b)
            + m.free[i]
            >= 1
        ),
    )
    m.objective.expr = 0.5 * (m.w[0] ** 2 + m.w[1] ** 2) + pyo.quicksum(m.free.values())
    return m


def _extended_without_norm() -> pyo.ConcreteModel:
    """Above nu_bar a larger w only gains."""
    m = tm.extended_nu_svc_ball(UNBALANCED, nu=tm.theory.nu_range(UNBALANCED).nu_max)
    m.norm.deactivate()
    return m


def _negative_price() -> pyo.ConcreteModel:
    m = tm.zero_one_hinge(OVERLAPPING, penalty=1.0, big_m=10.0)
    m.objective.expr = m.w[0] ** 2 + m.w[1] ** 2 + m.b**2 - pyo.quicksum(m.z.values())
    return m


def _rewarded_intercept() -> pyo.ConcreteModel:
    m = tm.hard_margin_svc(SEPARABLE)
    m.margin.deactivate()
    m.objective.expr = m.objective.expr + m.b
    return m


ENDLESS: dict[str, Callable[[], pyo.ConcreteModel]] = {
    "margin without a norm": _margin_without_norm,
    "free slacks": _free_slacks,
    "extended nu-SVC without a norm": _extended_without_norm,
    "violations that pay": _negative_price,
    "an intercept that pays": _rewarded_intercept,
}


def solved(model: pyo.ConcreteModel, solver: str) -> SolveResult:
    if solver != "auto" and not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    return tm.solve(model, solver)


@pytest.mark.parametrize("solver", ["auto", "highs", "clarabel", "scip"])
@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_row_17_no_point_is_proven_by_a_farkas_vector(case: str, solver: str) -> None:
    result = solved(IMPOSSIBLE[case](), solver)
    assert result.status is Status.INFEASIBLE
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.certificate.bound_method
    assert result.objective is None
    assert result.bound is None


def test_row_17_the_infeasible_ones_have_no_point_for_anybody() -> None:
    """The first two said once more by scipy."""
    assert not reference_solutions.is_separable(OVERLAPPING, "free")
    hinge = reference_solutions.hinge(OVERLAPPING, "free", 0.0, np.ones(OVERLAPPING.n)).value
    assert hinge > 1e-3


# HiGHS says "optimal" of these quadratic programs, at a point where a variable is 1e7.
CALLED_OPTIMAL = ("free slacks", "an intercept that pays")


@pytest.mark.parametrize(
    ("case", "solver"),
    [
        (case, solver)
        for case in ENDLESS
        for solver in ("auto", "highs", "clarabel", "scip")
        if (solver, case) not in [("highs", wrong) for wrong in CALLED_OPTIMAL]
    ],
)
def test_row_17_no_least_point_is_proven_by_a_ray(case: str, solver: str) -> None:
    model = ENDLESS[case]()
    result = solved(model, solver)
    assert result.status is Status.UNBOUNDED
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.objective is None
    assert result.bound is None
    falls_for_ever(model, result)


@pytest.mark.parametrize("case", CALLED_OPTIMAL)
def test_row_17_highs_is_not_believed_where_it_calls_an_endless_model_optimal(case: str) -> None:
    form = standard_form(ENDLESS[case]())
    claim = highs.run(form, classify(form), Limits())
    assert claim.status is Status.OPTIMAL, "the fault is gone: let the test above have this case"
    result = solved(ENDLESS[case](), "highs")
    assert result.status in (Status.INACCURATE, Status.UNBOUNDED)
    assert result.bound is None
    if result.status is Status.INACCURATE:
        assert result.certificate.verdict is Verdict.NOT_CERTIFIED
        assert "stationarity of b" in result.certificate.reason


def falls_for_ever(model: pyo.ConcreteModel, result: SolveResult) -> None:
    """Walk from the point along the ray: Pyomo says that rows hold and the objective falls."""
    before = np.inf
    for step in (0.0, 1.0, 1e3, 1e6):
        walk(model, result, step)
        for row in model.component_data_objects(pyo.Constraint, active=True):
            body, size = pyo.value(row.body), 1e-6 * max(1.0, step)
            assert row.lower is None or body >= pyo.value(row.lower) - size, row.name
            assert row.upper is None or body <= pyo.value(row.upper) + size, row.name
        for x in model.component_data_objects(pyo.Var):
            if x.value is not None:
                assert x.lb is None or x.value >= x.lb - 1e-6
                assert x.ub is None or x.value <= x.ub + 1e-6
        value = pyo.value(model.objective)
        assert value < before
        before = value
    assert before < -1e2


def walk(model: pyo.ConcreteModel, result: SolveResult, step: float) -> None:
    for name, start in result.values.items():
        variable: Any = model.find_component(name)
        along = np.atleast_1d(start) + step * np.atleast_1d(result.ray[name])
        for x, number in zip(variable.values(), along.ravel().tolist(), strict=True):
            x.set_value(number, skip_validation=True)


@pytest.mark.parametrize("solver", ["auto", "clarabel"])
def test_row_17_a_bounded_model_is_called_neither(solver: str) -> None:
    """A guess such as "infeasible or unbounded" is settled by a proof, or stays a guess."""
    for model in (tm.c_svc(OVERLAPPING, C=1.0), tm.hard_margin_svc(SEPARABLE)):
        result = solved(model, solver)
        assert result.status is Status.OPTIMAL
        assert not result.ray
