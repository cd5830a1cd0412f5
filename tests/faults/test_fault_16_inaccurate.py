"""Rows 16 and 17: a solver that gave up enters no gap; that there is no optimum is proven here."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import tightmargin as tm
from tests.inside.solvers import Limits, classify, highs, standard_form
from tests.references.reference_solutions import points
from tests.support.covering import FULL
from tightmargin.solvers import SolveResult, Status, Verdict

DATA = points("overlapping", 2, n=10)
EARLY = {"max_iter": 4}


@pytest.mark.parametrize("build", [tm.conic_sdp, tm.conic_sdp_dual])
def test_row_16_an_early_end_is_inaccurate_and_says_by_how_much(build: Any) -> None:
    result = tm.solve(build(DATA, penalty=1.0), "clarabel", options=EARLY)
    assert result.status is Status.INACCURATE
    assert result.certificate.verdict is Verdict.NOT_CERTIFIED
    assert result.certificate.reason
    if result.bound is not None:
        truth = tm.solve(build(DATA, penalty=1.0)).objective
        assert result.bound <= truth + 1e-6, "what was proven on the way still holds"


def test_row_16_the_row_is_marked_and_has_no_gap() -> None:
    exact = tm.solve(tm.build("zero_one_big_m", DATA, penalty=1.0, big_m="derived"))
    both = [
        tm.compare(
            DATA, ["conic_sdp"], exact=exact, parameters={"penalty": 1.0}, solver="clarabel", **how
        )
        for how in ({}, {"options": EARLY})
    ]
    (good,), (bad,) = (table.rows for table in both)
    assert both[0].relative_gap(good) is not None
    assert bad.status is Status.INACCURATE
    assert bad.bound is None
    assert both[1].absolute_gap(bad) is None
    assert both[1].relative_gap(bad) is None
    frame = both[1].to_frame()
    row = frame.loc[frame["formulation"] == "conic_sdp"].iloc[0]
    assert row["status"] == "inaccurate"
    assert "NOT_CERTIFIED" in row["certificate"]
    assert np.isnan(row["relative gap"])


# --- row 17: no point, or no least one, is proven -------------------------------------------------

SEPARABLE, OVERLAPPING = points("separable", 1, n=8), points("overlapping", 1, n=8)
UNBALANCED = points("unbalanced", 1, n=10)


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


def _rewarded_intercept() -> pyo.ConcreteModel:
    m = tm.hard_margin_svc(SEPARABLE)
    m.margin.deactivate()
    m.objective.expr = m.objective.expr + m.b
    return m


ENDLESS: dict[str, Callable[[], pyo.ConcreteModel]] = {
    "margin without a norm": _margin_without_norm,
    "free slacks": _free_slacks,
    "an intercept that pays": _rewarded_intercept,
}


ASKED = ("auto", "highs", "clarabel", "scip")


def in_turn(cases: Iterable[str], first: int) -> list[tuple[str, str]]:
    """Each case with one solver after the other, all of them in the long run."""
    if FULL:
        return list(itertools.product(cases, ASKED))
    return [(case, ASKED[(k + first) % 4]) for k, case in enumerate(cases)]


@pytest.mark.parametrize(("case", "solver"), in_turn(IMPOSSIBLE, 0))
def test_row_17_no_point_is_proven_by_a_farkas_vector(case: str, solver: str) -> None:
    result = tm.solve(IMPOSSIBLE[case](), solver)
    assert result.status is Status.INFEASIBLE
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.certificate.bound_method
    assert result.objective is None
    assert result.bound is None


# HiGHS says "optimal" of these quadratic programs, at a point where a variable is 1e7.
CALLED_OPTIMAL = ("free slacks", "an intercept that pays")


@pytest.mark.parametrize(
    ("case", "solver"),
    [row for row in in_turn(ENDLESS, 1) if row not in [(c, "highs") for c in CALLED_OPTIMAL]],
)
def test_row_17_no_least_point_is_proven_by_a_ray(case: str, solver: str) -> None:
    model = ENDLESS[case]()
    result = tm.solve(model, solver)
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
    result = tm.solve(ENDLESS[case](), "highs")
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
