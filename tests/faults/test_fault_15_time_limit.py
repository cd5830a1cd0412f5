"""Row 15: a time limit is a status with incumbent and valid bound, never an exception.

tests/solvers/execution/test_limits.py has every solver, every kind of limit, and runs too short for
a point.
"""

from __future__ import annotations

import pytest

import tightmargin as tm
from tests.inside.solvers import SOLVERS, point_with, primal_residual, standard_form
from tests.support.covering import FULL
from tests.support.long_runs import MODELS, with_a_point
from tightmargin.solvers import Status, Verdict


@pytest.mark.parametrize(
    ("solver", "name"),
    [("highs", "milp"), ("scip", "miqp"), ("gurobi", "miqp")][: 3 if FULL else 1],
)
def test_row_15_incumbent_and_both_bounds_are_kept(solver: str, name: str) -> None:
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    model = MODELS[name]()
    result = with_a_point(
        lambda seconds: tm.solve(model, solver, time_limit=seconds),
        lambda found: found.objective is not None,
    )
    assert result.status is Status.FEASIBLE
    assert result.certificate.verdict is Verdict.SOLVER_BOUND
    claim = result.certificate.solver_bound
    assert result.bound <= result.objective
    assert claim < result.objective * (1 - 1e-3), "it was stopped, not finished"
    form = standard_form(model)
    x = point_with(model, form, form.point(), result.values)
    assert primal_residual(form, x)[0] <= 1e-6
    assert result.objective == pytest.approx(form.objective.at(x), rel=1e-9)
    assert result.time_limit in (1, 5, 25)
