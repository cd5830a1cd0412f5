"""Models that no solver finishes in the time of a test, and processes that are interrupted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, TypeVar

import numpy as np
import pyomo.environ as pyo

import tightmargin as tm
from tests.inside import solvers as inner
from tests.inside.formulations import AffineRows
from tests.inside.solvers import Limits
from tightmargin.solvers import Claim

Process = subprocess.Popen[str]

ROOT = Path(__file__).resolve().parents[2]


def data(n: int, d: int, seed: int = 0) -> tm.TrainingData:
    """Labels without relation to the points."""
    rng = np.random.default_rng(seed)
    return tm.TrainingData(rng.standard_normal((n, d)), rng.choice([-1, 1], n))


def _in_a_box(given: tm.TrainingData) -> pyo.ConcreteModel:
    m = pyo.ConcreteModel()
    m.w = pyo.Var(range(given.d), bounds=(-1, 1))
    m.b = pyo.Var(bounds=(-10, 10))
    return m


def milp(n: int = 100, d: int = 6) -> pyo.ConcreteModel:
    """Fewest points left out so that a plane in a box has the others on their side."""
    given = data(n, d)
    m, y = _in_a_box(given), given.y
    m.z = pyo.Var(range(n), within=pyo.Binary)
    # |<w, x> + b| stays below 10 + sum |x_j| for every w and b in the box.
    size = 10.01 + float(np.abs(given.X).sum(axis=1).max())
    terms = [(y[:, None] * given.X, m.w), (y, m.b), (size, m.z)]
    m.side = AffineRows(m.z.index_set(), terms, lower=0.01)
    m.objective = pyo.Objective(expr=pyo.quicksum(m.z.values()))
    return m


def lp(n: int = 8000, d: int = 60) -> pyo.ConcreteModel:
    """Mean hinge loss of a plane in a box: thousands of simplex iterations."""
    given = data(n, d)
    m, y = _in_a_box(given), given.y
    m.xi = pyo.Var(range(n), within=pyo.NonNegativeReals)
    terms = [(y[:, None] * given.X, m.w), (y, m.b), (1.0, m.xi)]
    m.margin = AffineRows(m.xi.index_set(), terms, lower=1.0)
    m.objective = pyo.Objective(expr=pyo.quicksum(m.xi.values()) / n)
    return m


MODELS: dict[str, Callable[[], pyo.ConcreteModel]] = {
    "milp": milp,
    "lp": lp,
    "miqp": lambda: tm.zero_one_big_m(data(60, 5), penalty=1.0, big_m="derived"),
    "sdp": lambda: tm.conic_sdp(data(120, 50), penalty=1.0),
    "qp": lambda: tm.c_svc(data(15_000, 60), C=1.0),
}


def claim_of(
    solver: str, model: pyo.ConcreteModel, limits: Limits
) -> tuple[Claim, inner.StandardForm]:
    """What the back end says of a model."""
    form = inner.standard_form(model)
    match solver:
        case "scip":
            return inner.scip.run(form, limits), form
        case "gurobi":
            return inner.pyomo_interface.run("gurobi", model, form, limits), form
    run = {"highs": inner.highs, "clarabel": inner.clarabel, "scs": inner.scs, "piqp": inner.piqp}[
        solver
    ].run
    return run(form, inner.classify(form), limits), form


T = TypeVar("T")


def with_a_point(solve: Callable[[float], T], has_one: Callable[[T], bool]) -> T:
    """The result of a search that is stopped by the clock after it has found a point.

    A busy machine may not come to one in the first second, nor in the second five.
    """
    for seconds in (1.0, 5.0, 25.0):
        found = solve(seconds)
        if has_one(found):
            break
    return found


def start(*words: str, script: str, cwd: Path = ROOT) -> Process:
    """A process that runs a script."""
    return Process(
        [sys.executable, "-c", script, *words],
        cwd=cwd,
        env={"OMP_NUM_THREADS": "1"} | os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def press(process: Process) -> None:
    """Ctrl-C."""
    process.send_signal(signal.SIGINT)


def wait_for(marker: str, stream: IO[str] | None) -> None:
    """Read the lines of a running process up to the one in which the marker, a pattern, occurs."""
    assert stream is not None
    seen = []
    for line in stream:
        seen.append(line)
        if re.search(marker, line):
            return
    raise AssertionError(f"no {marker!r} in {''.join(seen)}")


def finish(process: Process) -> tuple[int, str, str]:
    """Exit code, and what is left on standard output and standard error."""
    try:
        stdout, stderr = process.communicate(timeout=200)
    finally:
        process.kill()
        process.wait()
    return process.returncode, stdout, stderr
