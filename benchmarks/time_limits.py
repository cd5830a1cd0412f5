"""Whether time limits are kept, and how much memory semidefinite models take; TIME_LIMITS.md.

python -m benchmarks.time_limits     two minutes
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pyomo.environ as pyo

import tightmargin as tm
from benchmarks.measuring import ROOT, in_fresh_process, peak_growth, quiet
from tightmargin.solvers.engines.running import GRACE, SHARE

MODULE = "benchmarks.time_limits"
HEAD = ("what", "limit, s", "took, s", "peak MB", "verdicts", "limit")
NOTE = """A limit is kept by a run that ends within it and the larger of a second and a tenth, or
that names the call of a library that it could not interrupt. Building a model and deriving its
numbers count; of a table the limit is that of each row. Each line is a process of its own, after a
small solve; MB are what its resident memory grew by. Limits and seconds are those of the
processor's clock, which other work does not move; on an idle machine they are those of the wall."""


def max_cut(n: int, seed: int) -> pyo.ConcreteModel:
    """min sum y, Diag(y) - L / 4 semidefinite, L the Laplacian of a sparse random graph."""
    rng = np.random.default_rng(seed)
    weights = np.zeros((n, n))
    for i, j in rng.integers(0, n, (int(1.3 * n), 2)):
        weights[i, j] = weights[j, i] = float(i != j)
    entries = -(np.diag(weights.sum(1)) - weights) / 4
    m = pyo.ConcreteModel()
    m.y = pyo.Var(range(n))
    m.cost = pyo.Objective(expr=sum(m.y.values()))
    rows = [[entries[i, j] + (m.y[i] if i == j else 0) for j in range(i + 1)] for i in range(n)]
    tm.psd(m, "P", rows)
    return m


def overlapping(n: int, d: int) -> tm.TrainingData:
    """Normal points of which the first coordinate says the class, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return tm.TrainingData(X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0))


Said = tuple[list[str], str]  # verdicts, and the message that may name a call


def _solved(model: pyo.ConcreteModel, solver: str, limit: float | None) -> Said:
    result = tm.solve(model, solver, time_limit=limit, live=False)
    return [result.certificate.verdict.value], result.message


def relaxation(features: int, limit: float | None, solver: str = "auto", n: int = 40) -> Said:
    """The SDP relaxation of the 0-1 loss."""
    return _solved(tm.conic_sdp(overlapping(n, features), penalty=1.0), solver, limit)


def cut(n: int, seed: int, limit: float | None) -> Said:
    """A semidefinite row with a sparse pattern."""
    return _solved(max_cut(n, seed), "auto", limit)


def table(limit: float | None, n: int = 200, d: int = 20) -> Said:
    """Rows whose M is derived from a heuristic's point."""
    words = {"penalty": 1.0, "big_m": "derived"}
    found = tm.compare(
        overlapping(n, d), ["zero_one_relaxed", "zero_one_hinge", "conic_sdp"],
        parameters=words, time_limit=limit, live=False,
    )  # fmt: skip
    assert found.exact is not None
    results = [found.exact, *(row.result for row in found.rows)]
    verdicts = [result.certificate.verdict.value for result in results]
    return verdicts, "; ".join(result.message for result in results)


def classifier(limit: float | None) -> Said:
    """The 0-1 loss machine of a classifier, its M derived."""
    data = overlapping(200, 20)
    machine = tm.FormulationClassifier(
        "zero_one_big_m", penalty=1.0, big_m="derived", time_limit=limit, uncertified="ignore"
    )
    machine.fit(np.asarray(data.X), np.asarray(data.y))
    return [machine.certificate_.verdict.value], machine.result_.message


# What is run, its limit in seconds, and how many rows share none of it.
CASES: Mapping[str, tuple[Callable[[float | None], Said], float | None, int]] = {
    "conic_sdp, 40 points, 2 features": (partial(relaxation, 2), None, 1),
    "conic_sdp, 100 points, 5 features": (partial(relaxation, 5, n=100), None, 1),
    "conic_sdp, 60 points, 20 features": (partial(relaxation, 20, n=60), None, 1),
    "conic_sdp, 40 points, 80 features": (partial(relaxation, 80), 5.0, 1),
    "conic_sdp, 40 points, 120 features": (partial(relaxation, 120), 5.0, 1),
    "conic_sdp, 40 points, 250 features": (partial(relaxation, 250), 20.0, 1),
    "conic_sdp, 80 features, by clarabel": (partial(relaxation, 80, solver="clarabel"), 5.0, 1),
    "max-cut SDP, order 120": (partial(cut, 120, 0), 5.0, 1),
    "max-cut SDP, order 230": (partial(cut, 230, 4), 5.0, 1),
    "max-cut SDP, order 230, cliques that break a merge": (partial(cut, 230, 1), 5.0, 1),
    "max-cut SDP, order 250": (partial(cut, 250, 0), 5.0, 1),
    'compare, big_m="derived", 200 x 20, three rows': (table, 1.0, 4),
    'FormulationClassifier, big_m="derived", 200 x 20': (classifier, 1.0, 1),
}


def measured(name: str) -> list[Any]:
    """Seconds, memory and verdicts of one case in this process."""
    run, limit, _ = CASES[name]
    own_clock = patch.multiple("time", perf_counter=time.process_time, monotonic=time.process_time)
    with quiet():
        relaxation(2, None)
        table(None, 10, 2)  # what the first table imports
        said: list[Said] = []
        began = time.process_time()
        with own_clock:
            memory = peak_growth(lambda: said.append(run(limit)))
        seconds = time.process_time() - began
    return [seconds, memory, *said[0]]


def row(name: str, found: Iterable[Any]) -> tuple[str, ...]:
    """A line of the table."""
    seconds, memory, verdicts, message = found
    _, limit, rows = CASES[name]
    kept = "none"
    if limit is not None:
        most = rows * (limit + max(GRACE, SHARE * limit))
        named = message.partition("s more: ")[2].partition(" cannot")[0]
        kept = "kept" if seconds <= most else f"passed in {named}" if named else "not kept"
    given = "none" if limit is None else f"{limit:g}"
    said = ", ".join(dict.fromkeys(verdicts))
    return name, given, f"{seconds:.2f}", f"{memory:.0f}", said, kept


def text(rows: Iterable[tuple[str, ...]]) -> str:
    """Text of TIME_LIMITS.md."""
    lines = [HEAD, ("---",) * len(HEAD), *rows]
    return "\n\n".join([
        "# Time limits, and the memory of semidefinite models",
        "Written by `python -m benchmarks.time_limits`.",
        NOTE,
        "\n".join(f"| {' | '.join(line)} |" for line in lines),
    ]) + "\n"  # fmt: skip


def main() -> None:
    """Measure all cases and write the file."""
    rows = []
    for name in CASES:
        rows.append(row(name, in_fresh_process(MODULE, name)))
        sys.stderr.write(f"{' | '.join(rows[-1])}\n")
    written = text(rows)
    (ROOT / "benchmarks" / "TIME_LIMITS.md").write_text(written, encoding="utf-8")
    sys.stdout.write(written)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.stdout.write(json.dumps(measured(sys.argv[1])))
    else:
        main()
