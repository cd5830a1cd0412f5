"""The paths of the conic estimator over its penalty or its budget, for the path command."""

from __future__ import annotations

from typing import Any

from tightmargin.experiments.console.paths import conic_path_page
from tightmargin.experiments.data.prepared import Prepared
from tightmargin.experiments.paths.family import Family, Settings, ending_of, judged, listed
from tightmargin.experiments.plots.paths import save_conic_path
from tightmargin.experiments.progress import Say
from tightmargin.formulations.conic.closed_form_bound import budget_grid
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.solvers.conic.path import ConicPath, conic_path
from tightmargin.solvers.searches import row_numbers

PENALTY, BUDGET = "conic_sdp", "conic_sdp_budget"
METHODS = ("auto",)


def _parameter(name: str) -> str:
    return "budget" if name == BUDGET else "penalty"


def _asked(name: str, own: Settings, method: str) -> Settings:
    """The list of penalties or budgets, and the intercept."""
    if method not in METHODS:
        raise ValueError(
            f"{name} has no choice of methods, got {method!r}: its path is found in low-rank form, "
            "and by an interior-point solver where that is not proven"
        )
    parameter = _parameter(name)
    asked: Settings = {}
    if parameter in own:
        asked["budgets" if name == BUDGET else "penalties"] = listed(own[parameter])
    elif name == BUDGET:
        asked["budgets"] = budget_grid().tolist()
    if own.get("intercept_bound") is not None:
        raise ValueError(f"the path of {name} has no free intercept: leave intercept_bound out")
    if "intercept" in own:
        asked["intercept"] = own["intercept"]
    return asked


def _solve(
    data: TrainingData | GramData, asked: Settings, time_limit: float | None, progress: Say
) -> ConicPath:
    return conic_path(data, time_limit=time_limit, progress=progress, **asked)


def _document(name: str, path: ConicPath, prepared: Prepared, method: str) -> dict[str, Any]:
    return {
        "formulation": name,
        "method": method,
        "parameters": {"intercept": path.intercept},
        "tolerance": path.tolerance,
        "rows": [row_numbers(row) for row in path.rows],
        "fallbacks": path.fallbacks,
        **ending_of(path, prepared),
    }


FAMILY = Family(_parameter, _asked, _solve, _document, save_conic_path, conic_path_page, judged)
