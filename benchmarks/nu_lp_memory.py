"""Memory on the way from arrays to HiGHS ready to run, one process a route.

python -m benchmarks.nu_lp_memory [n] [d] [repeats]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from benchmarks import nu_lp_routes as nu
from benchmarks.measuring import in_fresh_process, peak_growth, quiet
from benchmarks.report import OURS, Line, Table, show

ASKED: Mapping[str, Mapping[str, float]] = {
    OURS: {},
    **{name: {"at_most": 2.0} for name in nu.DIRECT},
    nu.LINOPY: {"at_least": 2.0},
    nu.CVXPY: {"at_least": 3.0},
}
MODULE = "benchmarks.nu_lp_memory"
NOTE = "X and y are there before; what they take is not counted."


def growth(route: str, n: int, d: int) -> float:
    """Megabytes of one route in this process, after a small instance."""
    with quiet():
        nu.ROUTES[route](*nu.instance(20, 3))
        arguments = nu.instance(n, d)
        return peak_growth(lambda: nu.ROUTES[route](*arguments))


def measure(
    n: int = 100_000,
    d: int = 100,
    repeats: int = 1,
    *,
    asked: Mapping[str, Mapping[str, float]] = ASKED,
) -> list[Table]:
    """Growth of the resident memory for the routes with a target."""
    lines = tuple(
        Line(
            name,
            tuple(in_fresh_process(MODULE, name, n, d) for _ in range(repeats)),
            **targets,
        )
        for name, targets in asked.items()
    )
    title = f"nu-LP, n = {n}, d = {d}, peak memory of the same"
    return [Table(title, "MB", lines, NOTE, better="smaller")]


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in nu.ROUTES:
        sys.stdout.write(json.dumps(growth(sys.argv[1], *map(int, sys.argv[2:]))))
    else:
        show(measure(*(int(word) for word in sys.argv[1:])))
