"""Models to be edited, and what a result looks like that says nothing of its problem."""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from tests.references.reference_solutions import points
from tightmargin.formulations import CATALOGUE
from tightmargin.solvers import SolveResult, Status, Verdict, rederive, solve

CLUSTERED = {"n": 14, "d": 2, "sigma": 0.3}
CLOSE = {"numerics/feastol": 1e-9}
DATA = points("overlapping", 4, n=8)


def build(name: str, data: Any = DATA, **settings: Any) -> pyo.ConcreteModel:
    return CATALOGUE[name].build(data, **settings)


def steep(model: pyo.ConcreteModel) -> pyo.ConcreteModel:
    model.edit = pyo.Constraint(expr=model.w[0] >= 3.0)
    return model


def of_the_problem(model: pyo.ConcreteModel) -> SolveResult:
    """What is proven of the edited problem: of a relaxation by the M that `rederive` sets.

    As it stands a relaxation is solved as it is written, and keeps its certificate.
    """
    result = solve(model)
    if not (is_relaxation(model) and result.certificate.unproven):
        return result
    assert stands_for_itself(result)
    try:
        rederive(model)
    except ValueError:
        return result
    return solve(model)


def is_relaxation(model: pyo.ConcreteModel) -> bool:
    return CATALOGUE[model.origin.entry].relaxes is not None


def stands_for_itself(result: SolveResult) -> bool:
    """What is proven of a relaxation, and why it says nothing of the edited problem."""
    certificate = result.certificate
    of_a_point = result.status in (Status.OPTIMAL, Status.INFEASIBLE)
    return of_a_point and certificate.verdict.closed and bool(certificate.unproven)


def says_nothing(result: SolveResult) -> bool:
    """No bound, no verdict, and rows that are named."""
    certificate = result.certificate
    return (
        result.bound is None
        and certificate.gap is None
        and certificate.verdict is Verdict.NOT_CERTIFIED
        and result.status is not Status.OPTIMAL
        and bool(certificate.unproven)
        and certificate.unproven in certificate.reason
    )
