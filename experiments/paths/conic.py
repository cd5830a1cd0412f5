"""The paths of the conic estimator over its penalty or its budget, for the path command."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from tightmargin.experiments.console.streams import complain
from tightmargin.experiments.data.prepared import Prepared
from tightmargin.experiments.paths.family import Family, Say, Settings, listed, origin_of
from tightmargin.formulations.conic.budget import budget_grid
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.solvers.conic.path import conic_path
from tightmargin.solvers.conic.path_result import ConicPath, ConicRow
from tightmargin.solvers.result import Verdict

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
    name: str,
    data: TrainingData | GramData,
    asked: Settings,
    time_limit: float | None,
    progress: Say,
) -> ConicPath:
    return conic_path(
        data, time_limit=time_limit, progress=lambda text: progress(f"{name}: {text}"), **asked
    )


def _document(name: str, path: ConicPath, prepared: Prepared, method: str) -> dict[str, Any]:
    return {
        "formulation": name,
        "method": method,
        "parameters": {"intercept": path.intercept},
        "tolerance": path.tolerance,
        "rows": [_as_dict(row) for row in path.rows],
        "fallbacks": path.fallbacks,
        "not_reached": list(path.not_reached),
        "interrupted": bool(path.not_reached),
        **origin_of(prepared),
    }


def _as_dict(row: ConicRow) -> dict[str, Any]:
    numbers = {field.name: getattr(row, field.name) for field in fields(row)}
    return numbers | {"verdict": str(row.verdict), "gap": row.gap}


def _draw(path: ConicPath, file: Path, title: str) -> None:
    from tightmargin.experiments.plots.paths import save_conic_path

    save_conic_path(path, file, title)


def _page(path: ConicPath) -> Any:
    from tightmargin.experiments.console.paths import conic_path_page

    return conic_path_page(path)


def _judge(path: ConicPath) -> int:
    """Exit code, and on standard error why it is not 0."""
    name = BUDGET if path.parameter == "budget" else PENALTY
    if path.not_reached:
        left = ", ".join(f"{number:g}" for number in path.not_reached)
        complain(
            f"{name}: interrupted; kept {len(path.rows)} rows, without {path.parameter} = {left}"
        )
        return 130
    code = 0
    for row in path.rows:
        if row.verdict is not Verdict.CERTIFIED:
            complain(
                f"{name}: {path.parameter} = {getattr(row, path.parameter):g}: {row.verdict}, "
                f"value {row.value:.9g}, bound {row.lower_bound:.9g} ({row.stop})"
            )
            code = 1
    return code


FAMILY = Family(_parameter, _asked, _solve, _document, _draw, _page, _judge)
