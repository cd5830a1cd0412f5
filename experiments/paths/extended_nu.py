"""The path of the extended nu-SVC over nu (Algorithm 11), for the path command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tightmargin.cuts.nu_path.cvar_profile import cvar_profile
from tightmargin.cuts.nu_path.engines import METHODS
from tightmargin.cuts.nu_path.nu_path import extended_nu_path
from tightmargin.cuts.nu_path.result import ExtendedNuPath
from tightmargin.cuts.nu_path.row import PathRow
from tightmargin.experiments.console.paths import extended_nu_path_page
from tightmargin.experiments.data.prepared import Prepared
from tightmargin.experiments.paths.family import Family, Settings, ending_of, judged, listed
from tightmargin.experiments.plots.paths import save_profile
from tightmargin.experiments.progress import Say
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import one_of
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.searches import row_numbers

ENTRY = "extended_nu_svc"
SHARED = ("class_balance", "intercept")


def _asked(name: str, own: Settings, method: str) -> Settings:
    """The list of nu and what else the path takes."""
    one_of("method", method, METHODS)
    if "nu" not in own:
        raise ValueError("path needs the list of nu, as in --set nu=0.8,0.7,0.6")
    if own.get("scale", "takeda") != "takeda":
        raise ValueError("path prints objectives of Takeda & Sugiyama: leave scale out")
    shared = {word: own[word] for word in SHARED if word in own}
    return {"nus": listed(own["nu"]), "engine": method, **shared}


def _solve(
    data: TrainingData | GramData, asked: Settings, time_limit: float | None, progress: Say
) -> ExtendedNuPath:
    return extended_nu_path(data, time_limit=time_limit, **asked)


def _document(name: str, path: ExtendedNuPath, prepared: Prepared, method: str) -> dict[str, Any]:
    return {
        "formulation": name,
        "method": method,
        "parameters": {"class_balance": path.class_balance, "intercept": path.intercept},
        "range": {
            "nu_bar": path.range.nu_bar,
            "nu_bar_bounds": list(path.nu_bar_bounds),
            "nu_max": path.range.nu_max,
            "constant_until": path.range.constant_until,
        },
        "rows": [row_numbers(row) for row in path.rows],
        "searches": path.searches,
        **ending_of(path, prepared),
    }


def _draw(path: ExtendedNuPath, file: Path, title: str) -> None:
    save_profile(cvar_profile(path), file, title)


def _shown(row: PathRow) -> float:
    claimed = row.claimed_bound if row.verdict is Verdict.SOLVER_BOUND else None
    return row.bound if claimed is None else claimed


def _judge(name: str, path: ExtendedNuPath) -> int:
    return judged(name, path, _shown)


FAMILY = Family(lambda _: "nu", _asked, _solve, _document, _draw, extended_nu_path_page, _judge)
