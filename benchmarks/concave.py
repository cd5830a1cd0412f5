"""Concave quadratic programs over random polytopes: our methods against SCIP and Gurobi.

Ours end with a proof of the kernel for a gap of 1e-6; SCIP and Gurobi, given the same gap, end with
a claim. CPU seconds on one thread. Gurobi is asked where its licence for small models is enough.

python -m benchmarks.concave [limit]     all lines into CONCAVE.md, at the default of 60 s a run
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyomo.environ as pyo

from benchmarks.classical_concave import PROBLEMS, Classical
from benchmarks.measuring import ROOT
from benchmarks.report import machine
from tightmargin.cuts.concave.solving import minimise_concave
from tightmargin.solvers.engines.registry import SOLVERS
from tightmargin.solvers.errors import LicenceError, SizeLimitError, SolverNotInstalledError
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.model.claim import Status
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.solve import solve

LIMIT = 60.0  # seconds a run
TOLERANCE = 1e-6
FEW, SECONDS = 4, 10.0  # up to so many dimensions everything is proven within so many seconds
SLOW, FASTER = 1.0, 5.0  # where SCIP needs more than that, ours are asked to be so much faster
MOST_CUT = 5  # dimensions up to which concavity cuts are tried
BOX = 5.0
OURS = ("branch-and-cut", "cutting-plane")
OTHERS = ("scip", "gurobi")
CLASSICAL_HEAD = ("problem", "variables, rows", "optimum", *OURS, *OTHERS)
HEAD = ("dimension", "rows", "squares", *OURS, *OTHERS, "SCIP over ours")


@dataclass(frozen=True)
class Instance:
    """A random concave program.

    Attributes
    ----------
    dimension, rows, seed : int
    dense : bool
        A random matrix G G' in the place of the squares of the variables.
    """

    dimension: int
    rows: int
    dense: bool
    seed: int = 1

    def model(self) -> pyo.ConcreteModel:
        """min c'x - x'Qx over rows a'x <= 1 with normal a, and the box |x_j| <= 5."""
        rng, n = np.random.default_rng(self.seed), self.dimension
        A, G = rng.normal(size=(self.rows, n)), rng.normal(size=(n, n))
        Q = G @ G.T / n if self.dense else np.eye(n)
        c = 0.3 * rng.normal(size=n)
        model = pyo.ConcreteModel()
        model.x = pyo.Var(range(n), bounds=(-BOX, BOX))
        model.row = pyo.Constraint(
            range(self.rows),
            rule=lambda m, i: sum(float(A[i, j]) * m.x[j] for j in range(n)) <= 1,
        )
        squares = sum(float(Q[i, j]) * model.x[i] * model.x[j] for i in range(n) for j in range(n)
                      if Q[i, j])  # fmt: skip
        model.goal = pyo.Objective(expr=sum(float(c[j]) * model.x[j] for j in range(n)) - squares)
        return model


INSTANCES = tuple(
    Instance(dimension, rows, dense)
    for dimension, rows in (
        (2, 200), (3, 200), (4, 20), (4, 200), (5, 100), (6, 200), (7, 200), (8, 100), (8, 200),
        (10, 100),
    )
    for dense in (False, True)
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    """One method on one instance.

    Attributes
    ----------
    seconds : float
    objective : float
        NaN without a point.
    finished : bool
        Proven by the kernel for ours, optimal by its own word for a solver.
    """

    seconds: float
    objective: float
    finished: bool

    def text(self) -> str:
        """Seconds, or that the limit came first."""
        return f"{self.seconds:.2g} s" if self.finished else f"open after {self.seconds:.2g} s"


def measured(instance: Instance | Classical, how: str, limit: float) -> Run | None:
    """A run; None where a solver is not there for this model."""
    model = instance.model()
    began = time.process_time()
    try:
        result = _result(model, how, limit)
    except (LicenceError, SizeLimitError, SolverNotInstalledError):
        return None
    seconds = time.process_time() - began
    ours = result.certificate.verdict is Verdict.CERTIFIED
    done = ours if how in OURS else result.status is Status.OPTIMAL
    objective = float("nan") if result.objective is None else result.objective
    return Run(seconds, objective, done)


def _result(model: pyo.ConcreteModel, how: str, limit: float) -> SolveResult:
    if how in OURS:
        found = minimise_concave(model, method=how, time_limit=limit)
        assert isinstance(found, SolveResult)
        return found
    gap = {"scip": {"limits/gap": TOLERANCE}, "gurobi": {"MIPGap": TOLERANCE}}[how]
    return solve(model, solver=how, time_limit=limit, threads=1, options=gap)


def line(instance: Instance, limit: float) -> tuple[str, ...]:
    """A line of the table.

    Raises
    ------
    AssertionError
        Two that finished disagree by more than their gaps.
    """
    runs = _runs(instance, instance.dimension <= MOST_CUT, limit)
    ends = [run.objective for run in runs.values() if run is not None and run.finished]
    spread = max(ends, default=0.0) - min(ends, default=0.0)
    if spread > 1e-5 * max(map(abs, ends), default=1.0):
        raise AssertionError(f"{instance}: the objectives differ by {spread:.2e}")
    cells = ["" if run is None else run.text() for run in runs.values()]
    kind = "dense" if instance.dense else "diagonal"
    return str(instance.dimension), str(instance.rows), kind, *cells, _verdict(instance, runs)


def _runs(instance: Instance | Classical, few: bool, limit: float) -> dict[str, Run | None]:
    """Every method and solver that is there; concavity cuts for few variables only."""
    runs: dict[str, Run | None] = {}
    for how in (*OURS, *OTHERS):
        known = SOLVERS[how].installed if how in OTHERS else how != "cutting-plane" or few
        runs[how] = measured(instance, how, limit) if known else None
    return runs


def classical_line(problem: Classical, limit: float) -> tuple[str, ...]:
    """A line of the table of problems of the literature.

    Raises
    ------
    AssertionError
        One that finished has another optimum than the literature.
    """
    runs = _runs(problem, len(problem.linear) <= MOST_CUT, limit)
    for how, run in runs.items():
        if run is not None and run.finished:
            off = abs(run.objective - problem.optimum)
            if off > 1e-5 * abs(problem.optimum):
                raise AssertionError(f"{problem.number}, {how}: {run.objective}")
    cells = ["" if run is None else run.text() for run in runs.values()]
    size = f"{len(problem.linear)}, {len(problem.sides)}"
    return problem.number, size, f"{problem.optimum:g}", *cells


def _verdict(instance: Instance, runs: dict[str, Run | None]) -> str:
    """How much longer SCIP took, and whether that is what was asked for."""
    ours = [run.seconds for how, run in runs.items() if how in OURS and run and run.finished]
    best, scip = min(ours, default=float("inf")), runs["scip"]
    late = instance.dimension <= FEW and not best <= SECONDS
    if scip is None:
        return "**missed**" if late else ""
    ratio = scip.seconds / best
    word = f"{'' if scip.finished else 'more than '}{ratio:.1f} x"
    slower = scip.seconds > SLOW and ratio < FASTER
    return f"{word}, **missed**" if late or slower else word


def table(instances: Sequence[Instance], limit: float = LIMIT) -> str:
    """All lines, and the machine."""
    rows = [HEAD, ("---",) * len(HEAD), *(line(instance, limit) for instance in instances)]
    note = (
        f"CPU seconds on one thread, at most {limit:g} a run. Ours end with a proof of 1e-6, "
        f"the others with their word for it. Asked: a proof within {SECONDS:g} s up to dimension "
        f"{FEW}, and a {FASTER:g}th of SCIP's time where that is more than {SLOW:g} s."
    )
    known = [CLASSICAL_HEAD, ("---",) * len(CLASSICAL_HEAD)]
    known += [classical_line(problem, limit) for problem in PROBLEMS]
    words = (
        "Problems of Floudas & Pardalos, A collection of test problems for constrained global "
        "optimization algorithms (1990), and the optima that it states, which all runs reach:"
    )
    return "\n".join([*_table(rows), "", note, "", words, "", *_table(known), "", machine()])


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    return ["| " + " | ".join(row) + " |" for row in rows]


def main(words: list[str]) -> None:
    """Write CONCAVE.md."""
    head = (
        "# Concave programs over random polytopes\n\nWritten by `python -m benchmarks.concave`.\n\n"
    )
    made = table(INSTANCES, float(words[0]) if words else LIMIT)
    (ROOT / "benchmarks" / "CONCAVE.md").write_text(head + made + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
