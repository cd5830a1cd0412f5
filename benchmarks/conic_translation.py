"""From a Pyomo model to conic solver data, against a vectorised cvxpy compile of the same SDP.

Both start from the same arrays and stop at the instant before the solver runs, one thread, in one
process and one run, alternating. What counts is the ratio; the seconds belong to this machine.

    python benchmarks/conic_translation.py [n] [d] [repeats]
"""

from __future__ import annotations

import platform
import statistics
import sys
import time
import warnings
from importlib.metadata import version

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from rich.console import Console
from rich.table import Table

from experiments.generators import outlier_data
from formulations.conic import conic_sdp
from formulations.data import TrainingData
from solvers.classify import classify
from solvers.conic_form import conic_form
from solvers.standard_form import standard_form

PENALTY = 1.0


def through_pyomo(data: TrainingData) -> tuple[float, float, sp.csc_matrix]:
    """Seconds to build the model, seconds to translate it, and the matrix."""
    start = time.process_time()
    model = conic_sdp(data, penalty=PENALTY)
    built = time.process_time()
    form = standard_form(model)
    conic = conic_form(form, classify(form))
    return built - start, time.process_time() - built, conic.A


def through_cvxpy(data: TrainingData) -> tuple[float, sp.csc_matrix]:
    """Seconds from the same arrays to Clarabel's data, rows written as matrix products."""
    start = time.process_time()
    n, k = data.n, data.d + 1
    points = np.hstack([data.X, np.ones((n, 1))])
    Z = cp.Variable((k + 1, k + 1), PSD=True)
    z, p = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    u = cp.multiply(data.y, points @ Z[:k, k])
    outer = np.einsum("ni,nj->nij", points, points).reshape(n, -1)
    T = outer @ cp.reshape(Z[:k, :k], (k * k,), order="C") - 2 * u + 1
    rows = [Z[k, k] == 1, p >= 1 - u, cp.SOC(T + z, cp.vstack([2 * p, T - z]), axis=0)]
    problem = cp.Problem(cp.Minimize(cp.trace(Z[:k, :k]) + PENALTY * cp.sum(z)), rows)
    compiled, *_ = problem.get_problem_data(cp.CLARABEL)
    return time.process_time() - start, compiled["A"]


def main(n: int = 1000, d: int = 30, repeats: int = 3) -> None:
    """Print the medians and their ratio."""
    warnings.filterwarnings("ignore", module="cvxpy")
    data = outlier_data("clustered", n=n, d=d, sigma=0.5, seed=7)
    warm = outlier_data("clustered", n=20, d=2, sigma=0.5, seed=7)
    through_pyomo(warm), through_cvxpy(warm)
    ours, theirs = [], []
    for _ in range(repeats):
        ours.append(through_pyomo(data)[:2])
        theirs.append(through_cvxpy(data)[0])
    build, translate = (statistics.median(run[k] for run in ours) for k in (0, 1))
    reference = statistics.median(theirs)
    table = Table(title=f"conic_sdp, n={n}, d={d}: arrays to Clarabel data, CPU seconds")
    for column in ("route", "build", "translate", "total", "ratio"):
        table.add_column(column, justify="right")
    total = build + translate
    table.add_row(
        "tightmargin",
        f"{build:.2f}",
        f"{translate:.2f}",
        f"{total:.2f}",
        f"{total / reference:.1f}",
    )
    table.add_row("cvxpy, vectorised", "", "", f"{reference:.2f}", "1.0")
    console = Console()
    console.print(table)
    packages = ", ".join(f"{name} {version(name)}" for name in ("pyomo", "cvxpy", "numpy"))
    console.print(f"{platform.machine()}, Python {platform.python_version()}, {packages}")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:]))
