"""A finished run of the outer loop as plain values, and back again."""

from __future__ import annotations

from typing import Any

import numpy as np

from tightmargin.cuts.cut.cut import Cut
from tightmargin.cuts.cut.polar_problem import polar_problem
from tightmargin.cuts.outer_loop.result import CuttingPlaneResult
from tightmargin.cuts.outer_loop.trace import Round, Trace
from tightmargin.cuts.search.stop import Incumbent, StopReason
from tightmargin.formulations.data.training_data import TrainingData


def kept(result: CuttingPlaneResult) -> dict[str, Any]:
    """Everything of a run but its data."""
    return result.to_json() | {
        "nu": result.problem.nu,
        "weight": result.best.weight.tolist(),
    }


def rebuilt(data: TrainingData, plain: dict[str, Any]) -> CuttingPlaneResult:
    """The run that `kept` wrote, of the same data.

    Raises
    ------
    ValueError
        Its cuts were made for other data.
    """
    problem = polar_problem(data, nu=plain["nu"])
    cuts = tuple(Cut.from_json(cut) for cut in plain["cuts"])
    if any(cut.origin.problem != problem.fingerprint for cut in cuts):
        raise ValueError(f"the run at nu = {plain['nu']:g} was made for other data")
    values = {name: np.array(part) for name, part in plain["values"].items()}
    return CuttingPlaneResult(
        Incumbent(np.array(plain["weight"]), plain["objective"], values),
        plain["lower_bound"], Trace([Round(**state) for state in plain["trace"]]),
        StopReason(plain["stop"]), plain["message"], plain["proof"], cuts, plain["tolerance"],
        plain["strategy"], plain["space"], plain["seed"], plain["lp_solves"], plain["seconds"],
        problem,
    )  # fmt: skip
