"""A linear program from arrays to the instant before HiGHS runs.

python -m benchmarks.nu_lp [n] [d] [repeats]
"""

from __future__ import annotations

import sys

from benchmarks import nu_lp_routes as nu
from benchmarks.measuring import in_turns
from benchmarks.report import Line, Table, show

ASKED = {name: {"at_most": 2.0} for name in nu.DIRECT} | {
    nu.CVXPY: {"at_least": 2.0},
    nu.LINOPY: {"at_least": 2.0},
    nu.PYOMO_FAST: {"at_least": 20.0},
    nu.PYOMO_PLAIN: {"at_least": 80.0},
}

NOTE = """From X, y and w_ref as arrays to the call of HiGHS' run(), checks of the data included;
not solve()'s own look at whether the model was edited since it was built. cvxpy stops at its data
for HiGHS, before it hands them over; linopy hands over without names."""
FEWER = {nu.PYOMO_FAST: 2, nu.PYOMO_PLAIN: 1}


def measure(n: int = 10_000, d: int = 30, repeats: int = 9) -> list[Table]:
    """CPU seconds of every route; plain Pyomo is run once, its fast way twice."""
    seconds = in_turns(nu.ROUTES, nu.instance(n, d), nu.instance(20, 3), repeats, FEWER)
    lines = tuple(Line(name, runs, **ASKED.get(name, {})) for name, runs in seconds.items())
    return [Table(f"nu-LP, n = {n}, d = {d}, arrays to HiGHS ready to run", "s", lines, NOTE)]


if __name__ == "__main__":
    show(measure(*(int(word) for word in sys.argv[1:])))
