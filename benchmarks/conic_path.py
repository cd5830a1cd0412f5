"""The conic estimator for 100 penalties, and for 100 budgets, each certified to 1e-6.

Against it: Clarabel on the strengthening-dual form, cold for every penalty, as there is no warm
start in an interior-point method. A few penalties, evenly over the grid, are solved and their
seconds multiplied up to the whole grid.

python -m benchmarks.conic_path [n] [d] [count] [few]
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.measuring import in_turns
from benchmarks.report import OURS, Line, Table, show
from tightmargin.experiments.data.outlier_generators import outlier_data
from tightmargin.formulations.conic.closed_form_bound import budget_grid
from tightmargin.formulations.conic.sdp import conic_sdp_dual
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.solvers.conic.path import ConicPath, conic_path, penalty_grid
from tightmargin.solvers.engines.clarabel import run_conic
from tightmargin.solvers.engines.running import Limits
from tightmargin.solvers.model.claim import Claim, Status
from tightmargin.solvers.model.conic import ConicForm, conic_form
from tightmargin.solvers.model.convexity import classify
from tightmargin.solvers.model.reader import standard_form
from tightmargin.solvers.solve import solve

Array = NDArray[np.float64]
Seconds = Callable[[TrainingData, Array, int], float]

BUDGETS = f"{OURS}, as many budgets"
CLARABEL = "Clarabel, cold, conic data ready"
ONE_BY_ONE = "solve() one by one: model, conic data, Clarabel, certificate"
ASKED = {CLARABEL: {"at_least": 20.0}}
SAME = 2e-6  # relative: the path is certified to 1e-6, Clarabel ends near 1e-8
NOTE = """CPU seconds on one thread. Penalties are geometric between those that spend 0.5 n and
0.01 n; every value of the path is certified to 1e-6 by its own bound, {fallbacks} of {count} with
an interior-point solver. Of the other two routes {few} and {fewer} penalties, evenly over the
grid, were solved, their seconds multiplied to {count}; where Clarabel ends with Solved the values
agree (at the smallest penalties it may end with NumericalError). Cepeda et al. print 167 s for
n = 1000, p = 30 with MOSEK on 20 threads of another machine."""


def certified(path: ConicPath) -> ConicPath:
    """The path, if every value of it is proven."""
    if not path.certified:
        raise RuntimeError("the path has values that are not certified")
    return path


def by_path(data: TrainingData, penalties: Array, few: int) -> float:
    """CPU seconds of the whole path."""
    began = time.process_time()
    certified(conic_path(data, penalties=penalties.tolist()))
    return time.process_time() - began


def by_budgets(data: TrainingData, penalties: Array, few: int) -> float:
    """CPU seconds of a path over as many budgets."""
    budgets = budget_grid(len(penalties)).tolist()
    began = time.process_time()
    certified(conic_path(data, budgets=budgets))
    return time.process_time() - began


def by_clarabel(data: TrainingData, penalties: Array, few: int) -> float:
    """CPU seconds in Clarabel, setup included, for some penalties; multiplied to all."""
    chosen = evenly(penalties, few)
    forms = [dual_form(data, penalty) for penalty in chosen]
    gc.collect()
    began = time.process_time()
    claims = [run_conic(form, 0, Limits(threads=1)) for form in forms]
    seconds = time.process_time() - began
    refuse_difference(certified(conic_path(data, penalties=chosen)), claims)
    return seconds * len(penalties) / len(chosen)


def refuse_difference(path: ConicPath, claims: list[Claim]) -> None:
    """Raise RuntimeError where a value of the path is not what Clarabel calls optimal."""
    for row, claim in zip(path.rows, claims, strict=True):
        if claim.status is not Status.OPTIMAL:
            sys.stderr.write(f"at penalty {row.penalty:g} Clarabel ended: {claim.message}\n")
        elif claim.objective is None or abs(claim.objective + row.objective) > SAME * row.objective:
            raise RuntimeError(
                f"at penalty {row.penalty:g} the path has {row.objective}, "
                f"Clarabel {claim.objective}"
            )


def one_by_one(data: TrainingData, penalties: Array, few: int) -> float:
    """CPU seconds of solve() for some penalties; multiplied to all."""
    chosen = evenly(penalties, max(few // 2, 1))
    began = time.process_time()
    for penalty in chosen:
        solve(conic_sdp_dual(data, penalty=penalty), "clarabel", threads=1)
    return (time.process_time() - began) * len(penalties) / len(chosen)


ROUTES: dict[str, Seconds] = {
    OURS: by_path,
    BUDGETS: by_budgets,
    CLARABEL: by_clarabel,
    ONE_BY_ONE: one_by_one,
}


def evenly(penalties: Array, few: int) -> list[float]:
    """A few of the penalties: the middles of equal parts of the grid."""
    parts = np.array_split(np.arange(len(penalties)), min(few, len(penalties)))
    return [float(penalties[part[len(part) // 2]]) for part in parts]


def dual_form(data: TrainingData, penalty: float) -> ConicForm:
    """Conic data of the strengthening-dual form."""
    form = standard_form(conic_sdp_dual(data, penalty=penalty))
    return conic_form(form, classify(form))


def measure(n: int = 1000, d: int = 30, count: int = 100, few: int = 5) -> list[Table]:
    """CPU seconds of every route."""
    data = outlier_data("clustered", n=n, d=d, sigma=0.5, seed=7)
    small = outlier_data("clustered", n=30, d=2, sigma=0.5, seed=7)
    penalties = penalty_grid(data, count)
    path = certified(conic_path(data, penalties=penalties.tolist()))
    seconds = in_turns(
        ROUTES,
        (data, penalties, few),
        (small, penalty_grid(small, 3), 1),
        3,
        at_most={CLARABEL: 1, ONE_BY_ONE: 1},
        measured=lambda route, *given: route(*given),
    )
    lines = tuple(Line(name, runs, **ASKED.get(name, {})) for name, runs in seconds.items())
    note = NOTE.format(fallbacks=path.fallbacks, count=count, few=few, fewer=max(few // 2, 1))
    return [Table(f"conic path, n = {n}, d = {d}, {count} penalties", "s", lines, note)]


if __name__ == "__main__":
    show(measure(*(int(word) for word in sys.argv[1:])))
