"""Row 18: Ctrl-C from outside leaves a result with incumbent and bound.

tests/solvers/execution/test_interrupts.py has the second press, handlers, threads, notebooks and
other solvers.
"""

from __future__ import annotations

import json

import pytest

from tests.inside.solvers import SOLVERS
from tests.support.covering import FULL
from tests.support.long_runs import finish, press, start, wait_for
from tightmargin.solvers import SolveResult

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
