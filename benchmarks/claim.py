"""The paper's instance that is "not solved in ten minutes": 100 points, 3 features.

Cepeda, Gomez & Han 2024, section 5.1: clustered outliers, sigma = 0.5, penalty 1. Every line has
the same processor seconds on one thread; SCIP is told to count those as well.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.measuring import ROOT
from tightmargin.cuts.methods import tightened
from tightmargin.experiments.data.specs import load
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.zero_one.big_m_models import zero_one_big_m
from tightmargin.solvers.result import SolveResult
from tightmargin.solvers.solve import solve
from tightmargin.solvers.zero_one.conflicts import conflict_search
from tightmargin.solvers.zero_one.heuristic import zero_one_incumbent

SPEC = "synthetic:clustered,n=100,d=3,sigma=0.5,seed=7"
PROBLEM = {"penalty": 1.0, "intercept": "penalised"}
TIGHTENING = 60.0
LIMIT = 600.0
CPU_CLOCK = {"timing/clocktype": 1}
STORE = ROOT / "benchmarks" / "ZERO_ONE_CLAIM.json"


@dataclass(frozen=True)
class Line:
    """One way to the optimum: its point, what bounds it, processor seconds, whose word it is."""

    way: str
    objective: float
    bound: float
    seconds: float
    word: str

    @property
    def gap(self) -> float:
        """(objective - bound) / objective."""
        return (self.objective - self.bound) / self.objective


def lines() -> list[Line]:
    """Measure all ways; the limit of plain SCIP is what tightening and SCIP took together."""
    data = load(SPEC)
    own = _search(data)
    tight = _tightened(data)
    known = zero_one_incumbent(data, **PROBLEM)
    words: dict[str, Any] = {"incumbent": (known.w, known.b)} | PROBLEM
    plain = [
        _scip(f"SCIP, {name}", zero_one_big_m(data, big_m=big_m, **words), tight.seconds)
        for name, big_m in (("M = 1000", 1000.0), ("derived M", "derived"))
    ]
    return [own, tight, *plain]


def _search(data: TrainingData) -> Line:
    began = time.process_time()
    found = conflict_search(data, **PROBLEM)
    seconds = time.process_time() - began
    return Line("conflict search", found.objective, found.bound, seconds, "proven")


def _tightened(data: TrainingData) -> Line:
    began = time.process_time()
    found = tightened(data, PROBLEM["penalty"], PROBLEM["intercept"])
    model = zero_one_big_m(
        data, big_m="derived", incumbent=found.incumbent, slack_bounds=found.bounds, **PROBLEM
    )
    spent = time.process_time() - began
    line = _scip("tightening, then SCIP", model, LIMIT)
    return Line(line.way, line.objective, line.bound, spent + line.seconds, line.word)


def _scip(way: str, model: Any, limit: float) -> Line:
    began = time.process_time()
    result: SolveResult = solve(model, "scip", time_limit=limit, threads=1, options=CPU_CLOCK)
    seconds = min(result.seconds, time.process_time() - began)
    claimed = result.certificate.solver_bound
    assert result.objective is not None
    assert claimed is not None
    if result.objective - claimed > 1e-6 * result.objective:
        seconds = limit  # in processor time, which SCIP counted; ours has the certificate in it
    return Line(way, result.objective, min(claimed, result.objective), seconds, "SCIP's word")


def kept_or_measured() -> list[Line]:
    """Lines of an earlier call, or new ones."""
    if STORE.exists():
        return [Line(**entry) for entry in json.loads(STORE.read_text(encoding="utf-8"))]
    found = lines()
    STORE.write_text(json.dumps([asdict(line) for line in found], indent=1) + "\n", "utf-8")
    return found
