"""The weighted machines over pi and the probabilities they stand for, for the path command."""

from __future__ import annotations

from typing import Any

import numpy as np

from tightmargin.experiments.console.probabilities import probability_page
from tightmargin.experiments.data.prepared import Prepared
from tightmargin.experiments.paths.family import Family, Say, Settings, ending_of, judged, listed
from tightmargin.experiments.plots.probabilities import save_probabilities
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import INTERCEPTS, one_of, positive
from tightmargin.solvers.probability.binary import class_probabilities
from tightmargin.solvers.probability.binary_result import ENTRY, ClassProbabilities
from tightmargin.solvers.probability.sign_rule import checked_grid
from tightmargin.solvers.probability.weighted_machines import METHODS

__all__ = ["ENTRY", "FAMILY", "METHODS"]

PARAMETER, GRID = "pi", "grid"
DEFAULT = 19  # steps of 0.05


def _asked(name: str, own: Settings, method: str) -> Settings:
    """The values of pi, the ridge and the intercept."""
    one_of("method", method, METHODS)
    if PARAMETER in own and GRID in own:
        raise ValueError(
            f"give {PARAMETER} or {GRID}, not both: {GRID}={DEFAULT} is {DEFAULT} equally spaced "
            f"values of {PARAMETER}"
        )
    if "ridge" not in own:
        raise ValueError(f"{name} needs ridge: nothing is chosen for you")
    grid = listed(own[PARAMETER]) if PARAMETER in own else own.get(GRID, DEFAULT)
    return {
        "grid": checked_grid(grid),
        "ridge": positive("ridge", own["ridge"]),
        "intercept": one_of("intercept", own.get("intercept", "free"), INTERCEPTS),
        "method": method,
    }


def _solve(
    data: TrainingData | GramData, asked: Settings, time_limit: float | None, progress: Say
) -> ClassProbabilities:
    return class_probabilities(data, time_limit=time_limit, progress=progress, **asked)


def _document(
    name: str, path: ClassProbabilities, prepared: Prepared, method: str
) -> dict[str, Any]:
    written, read = path.to_json(), path.training_reading()
    y = prepared.data.y
    for row, found, signs in zip(written["rows"], path.rows, read.signs.T[1:-1], strict=True):
        row |= {
            "relative_gap": found.gap / found.objective,
            "norm": float(np.linalg.norm(found.w)),
            "share_above": float((signs > 0).mean()),
        }
    return {
        **written,
        "training": {
            "mean_probability": float(read.probabilities.mean()),
            "share_positive": float((y > 0).mean()),
            "monotone": int(read.monotone.sum()),
            "errors": int((read.labels != y).sum()),
        },
        **ending_of(path, prepared),
    }


FAMILY = Family(
    lambda _: PARAMETER, _asked, _solve, _document, save_probabilities, probability_page, judged,
    (GRID,),
)  # fmt: skip
