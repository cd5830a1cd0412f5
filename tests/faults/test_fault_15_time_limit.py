"""Rows 15 and 18: a time limit is a status with incumbent and valid bound, never an exception.

tests/solvers/execution/test_limits.py has every solver, every kind of limit, and runs too short for
a point.
"""

from __future__ import annotations

import json

import pytest

import tightmargin as tm
from tests.inside.solvers import SOLVERS, point_with, primal_residual, standard_form
from tests.support.covering import FULL
from tests.support.long_runs import MODELS, finish, press, start, wait_for, with_a_point
from tightmargin.solvers import SolveResult, Status, Verdict


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


# --- row 18: Ctrl-C from outside leaves a result with incumbent and bound -------------------------

# A row of the log that shows an incumbent and a gap.
MARKERS = {
    ("highs", "milp"): r"%\s+\S+\s+\d+\s+\d+\.\d+%",
    ("scip", "miqp"): r"\|\s*[\d.]+e[+-]\d+ \|\s*[\d.]+e[+-]\d+ \|\s*[\d.]+%",
    ("gurobi", "miqp"): r"\s\d+\.\d%\s",
}
SCRIPT = """
import json, sys
import tightmargin as tm
from tests.support.long_runs import MODELS
solver, name, out = sys.argv[1:]
result = tm.solve(MODELS[name](), solver, log=True)
result.save(out)
print(json.dumps({"status": str(result.status), "verdict": str(result.certificate.verdict)}))
"""


@pytest.mark.slow("a solver is interrupted in the middle of a search")
@pytest.mark.parametrize(("solver", "name"), list(MARKERS)[:: 1 if FULL else 3])
def test_row_18_a_press_in_the_search_keeps_what_there_is(
    solver: str, name: str, tmp_path: object
) -> None:
    if not SOLVERS[solver].installed:
        pytest.skip(f"{solver} is not installed")
    out = f"{tmp_path}/r.json"
    process = start(solver, name, out, script=SCRIPT)
    wait_for(MARKERS[solver, name], process.stdout)
    press(process)
    code, stdout, stderr = finish(process)
    assert code == 0, stderr
    assert json.loads(stdout.splitlines()[-1])["status"] == "interrupted"
    kept = SolveResult.load(out)
    claim = kept.certificate.solver_bound
    assert kept.values
    assert claim < kept.objective
    assert kept.bound is None or kept.bound <= kept.objective
    assert "interrupt" in kept.message.lower()
