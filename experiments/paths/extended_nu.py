"""The path of the extended nu-SVC over nu (Algorithm 11), for the path command."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from tightmargin.cuts.nu_path.engines import METHODS
from tightmargin.cuts.nu_path.nu_path import extended_nu_path
from tightmargin.cuts.nu_path.result import ExtendedNuPath
from tightmargin.experiments.console.streams import complain
from tightmargin.experiments.data.prepared import Prepared
from tightmargin.experiments.paths.family import Family, Say, Settings, listed, origin_of
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import one_of
from tightmargin.solvers.execution.stop_reason import StopReason
from tightmargin.solvers.result import Verdict

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
    name: str,
    data: TrainingData | GramData,
    asked: Settings,
    time_limit: float | None,
    progress: Say,
) -> ExtendedNuPath:
    if not isinstance(data, TrainingData):
        raise ValueError(
            f"{name} reads points, not a kernel matrix: add kpca=full, or leave kernel out"
        )
    return extended_nu_path(data, time_limit=time_limit, **asked)


def _document(name: str, path: ExtendedNuPath, prepared: Prepared, method: str) -> dict[str, Any]:
    rows = [asdict(row) | {"verdict": str(row.verdict), "gap": row.gap} for row in path.rows]
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
        "rows": rows,
        "searches": path.searches,
        "not_reached": list(path.not_reached),
        "interrupted": _was_interrupted(path),
        **origin_of(prepared),
    }


def _draw(path: ExtendedNuPath, file: Path, title: str) -> None:
    from tightmargin.cuts.nu_path.cvar_profile import cvar_profile
    from tightmargin.experiments.plots.paths import save_profile

    save_profile(cvar_profile(path), file, title)


def _page(path: ExtendedNuPath) -> Any:
    from tightmargin.experiments.console.paths import extended_nu_path_page

    return extended_nu_path_page(path)


def _was_interrupted(path: ExtendedNuPath) -> bool:
    return bool(path.not_reached) or any(row.stop == StopReason.INTERRUPTED for row in path.rows)


def _judge(path: ExtendedNuPath) -> int:
    """Exit code, and on standard error why it is not 0."""
    if _was_interrupted(path):
        left = ", ".join(f"{nu:g}" for nu in path.not_reached)
        words = f"{ENTRY}: interrupted; kept {len(path.rows)} rows"
        complain(f"{words}{left and f', without nu = {left}'}")
        return 130
    code = 0
    for row in path.rows:
        if row.verdict is not Verdict.CERTIFIED:
            bound = row.claimed_bound if row.verdict is Verdict.SOLVER_BOUND else row.lower_bound
            complain(
                f"{ENTRY}: nu = {row.nu:g}: {row.verdict}, value {row.value:.9g}, bound "
                f"{bound:.9g} ({row.stop})"
            )
            code = 1
    return code


FAMILY = Family(lambda _: "nu", _asked, _solve, _document, _draw, _page, _judge)
