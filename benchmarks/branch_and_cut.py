"""Certified optima of the extended nu-SVC: branch and cut and the hull engine against SCIP.

python -m benchmarks.branch_and_cut            every instance, a few minutes
python -m benchmarks.branch_and_cut n d [limit] [repeats]     one of them
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.measuring import in_turns
from benchmarks.report import OURS, Line, Table, show
from tightmargin.cuts.inner_hull.hull_search import hull_search
from tightmargin.cuts.spatial_branching.branch_and_cut import branch_and_cut
from tightmargin.formulations.data.normalisation import normalise
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.nu.extended import extended_nu_svc
from tightmargin.solvers.nu.nu_range import nu_range
from tightmargin.solvers.solve import solve

Measured = tuple[float, float]  # CPU seconds, relative gap that is left
Solve = Callable[[TrainingData, float, str, float], float]

CUT, HULL, SCIP = f"{OURS}, branch and cut", f"{OURS}, hull", "SCIP on (3)"
HULL_UP_TO = 5
NOTE = (
    "nu = nu_bar / 2, relative gap 1e-6. Gap that is left: {gaps}. Each is stopped at {limit:g} s; "
    "SCIP's bound is its own claim, ours are proven."
)


@dataclass(frozen=True)
class Case:
    """An instance and what is asked of it.

    Attributes
    ----------
    n, d : int
    asked : float or None
        SCIP takes this many times our time.
    solver : bool
        Whether SCIP takes part.
    """

    n: int
    d: int
    asked: float | None = None
    solver: bool = True
    name: str = "clouds"


CASES = (
    Case(600, 5, 4.0), Case(600, 6, 4.0), Case(150, 8, 2.0), Case(2000, 4, 2.0),
    Case(2000, 5, 2.0), Case(2000, 6, 2.0), Case(569, 10, 4.0, name="wdbc"),
    Case(100_000, 4, solver=False), Case(10_000, 4, solver=False),
)  # fmt: skip


def clouds(n: int, d: int, seed: int = 7) -> TrainingData:
    """Two normal clouds, one of them wider along later axes, with means 1 apart."""
    rng = np.random.default_rng(seed)
    first = n // 2
    wider = rng.standard_normal((first, d)) * (1 + 0.5 * np.arange(d) / max(1, d - 1))
    X = np.vstack([wider + 1 / np.sqrt(d), rng.standard_normal((n - first, d))])
    return TrainingData(X, np.where(np.arange(n) < first, 1, -1))


def wdbc(n: int, d: int) -> TrainingData:
    """First n rows and d features of the Wisconsin breast cancer data, z-scored."""
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    y = np.where(found.target[:n] == 0, 1, -1)
    return normalise(TrainingData(found.data[:n, :d], y), "zscore")[0]


def by_branch_and_cut(data: TrainingData, nu: float, balance: str, limit: float) -> float:
    """Relative gap of branch and cut."""
    found = branch_and_cut(data, nu=nu, class_balance=balance, time_limit=limit)
    return found.relative_gap or 0.0


def by_hull(data: TrainingData, nu: float, balance: str, limit: float) -> float:
    """Relative gap of the hull engine."""
    found = hull_search(data, nu=nu, class_balance=balance, time_limit=limit)
    return found.relative_gap or 0.0


def by_scip(data: TrainingData, nu: float, balance: str, limit: float) -> float:
    """Relative gap of SCIP, its bound being its own claim."""
    model = extended_nu_svc(data, nu=nu, class_balance=balance)
    # CPU seconds, as everything here: another process would else shorten the time it has.
    found = solve(model, "scip", time_limit=limit, options={"timing/clocktype": 1})
    bound = found.certificate.solver_bound
    if found.objective is None or bound is None:
        return float("inf")
    return max(0.0, (found.objective - bound) / found.objective)


def routes(case: Case) -> list[dict[str, Solve]]:
    """Who takes part, one group a table: the hull by itself, where facets are few."""
    found: list[dict[str, Solve]] = []
    if case.solver:
        found.append({CUT: by_branch_and_cut, SCIP: by_scip})
    if case.d <= HULL_UP_TO:
        found.append({HULL: by_hull})
    return found


def seconds_and_gap(
    route: Solve, data: TrainingData, nu: float, balance: str, limit: float
) -> Measured:
    """CPU seconds of one run, and the relative gap it leaves."""
    began = time.process_time()
    gap = route(data, nu, balance, limit)
    return time.process_time() - began, gap


def measure_case(case: Case, limit: float = 60.0, repeats: int = 1) -> list[Table]:
    """Every route on one instance."""
    balance = "balanced" if case.name == "wdbc" else "uniform"
    data = wdbc(case.n, case.d) if case.name == "wdbc" else clouds(case.n, case.d)
    nu = nu_range(data, class_balance=balance).nu_bar / 2
    small = clouds(30, 2)
    warm = (small, nu_range(small).nu_bar / 2, "uniform", limit)
    tables = []
    for group in routes(case):
        found = in_turns(group, (data, nu, balance, limit), warm, repeats, measured=seconds_and_gap)
        lines = tuple(
            Line(
                name,
                tuple(seconds for seconds, _ in runs),
                at_least=case.asked if name == SCIP else None,
            )
            for name, runs in found.items()
        )
        gaps = ", ".join(
            f"{name} {max(gap for _, gap in runs):.1e}" for name, runs in found.items()
        )
        title = f"certified extended nu-SVC, {case.name}, n = {case.n}, d = {case.d}"
        tables.append(Table(title, "s", lines, NOTE.format(gaps=gaps, limit=limit)))
    return tables


def measure(cases: tuple[Case, ...] = CASES, limit: float = 60.0, repeats: int = 1) -> list[Table]:
    """All instances."""
    return [table for case in cases for table in measure_case(case, limit, repeats)]


def main(words: list[str]) -> None:
    """All instances, or the one that is named."""
    if not words:
        show(measure())
        return
    n, d = int(words[0]), int(words[1])
    known = [case for case in CASES if (case.n, case.d) == (n, d)]
    limit = float(words[2]) if len(words) > 2 else 60.0
    repeats = int(words[3]) if len(words) > 3 else 1
    show(measure(tuple(known) or (Case(n, d),), limit, repeats))


if __name__ == "__main__":
    main(sys.argv[1:])
