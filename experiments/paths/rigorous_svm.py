"""The path of the rigorous SVM over its norm bound H, for the path command."""

from __future__ import annotations

from typing import Any

from tightmargin.experiments.console.paths import rsvm_path_page
from tightmargin.experiments.data.prepared import Prepared
from tightmargin.experiments.paths.family import Family, Settings, ending_of, judged, listed
from tightmargin.experiments.plots.paths import save_rsvm_path
from tightmargin.experiments.progress import Say
from tightmargin.experiments.statistics.capacity_report import (
    RsvmReport,
    default_norm_bounds,
    limit_numbers,
    numbers_of,
    rsvm_report,
)
from tightmargin.experiments.statistics.vc_bound import FORMS, VAPNIK, vc_bound
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.parameters import one_of, positive
from tightmargin.solvers.rigorous_svm.norm_limit import norm_limit
from tightmargin.solvers.rigorous_svm.path import METHODS, rsvm_path

ENTRIES = ("rsvm", "rsvm_dual")
PARAMETER, SHARE = "norm_bound", "capacity"
RISK_WORDS = ("eta", "vc_form")
ETA = 0.05


def _asked(name: str, own: Settings, method: str) -> Settings:
    """The list of H or of H^2 / n, and which VC bound is printed."""
    one_of("method", method, METHODS)
    if own.get("intercept", "free") != "free":
        raise ValueError(
            f"the path of {name} has the free intercept of the paper: leave intercept out, or "
            "solve value by value"
        )
    if PARAMETER in own and SHARE in own:
        raise ValueError(f"give {PARAMETER} or {SHARE} = {PARAMETER}^2 / n, not both")
    asked: Settings = {"method": method}
    for word in (PARAMETER, SHARE):
        if word in own:
            asked[word] = [positive(word, number) for number in listed(own[word])]
    asked["form"] = one_of("vc_form", own.get("vc_form", VAPNIK), FORMS)
    asked["eta"] = own.get("eta", ETA)
    vc_bound(0.0, 1.0, 1, asked["eta"], asked["form"])  # refuses a bad eta before any solve
    return asked


def _solve(
    data: TrainingData | GramData, asked: Settings, time_limit: float | None, progress: Say
) -> RsvmReport:
    limit, norm_bounds = None, asked.get(PARAMETER)
    if SHARE in asked:
        norm_bounds = [(share * data.n) ** 0.5 for share in asked[SHARE]]
    if norm_bounds is None:
        progress("the largest norm bound that matters")
        limit = norm_limit(data, time_limit=time_limit)
        norm_bounds = default_norm_bounds(data, limit)
    method = asked["method"]
    path = rsvm_path(
        data, norm_bounds, method=method, limit=limit, time_limit=time_limit, progress=progress
    )
    return rsvm_report(path, eta=asked["eta"], form=asked["form"])


def _document(name: str, report: RsvmReport, prepared: Prepared, method: str) -> dict[str, Any]:
    path = report.path
    return {
        "formulation": name,
        "method": method,
        "parameters": {"intercept": "free", "eta": report.risks.eta, "vc_form": report.form},
        "limit": limit_numbers(path.limit),
        "least_vc_bound": path.rows[report.best].norm_bound,
        "rows": [numbers_of(report, k) for k in range(len(path.rows))],
        **ending_of(path, prepared),
    }


def _judge(name: str, report: RsvmReport) -> int:
    return judged(name, report.path)


FAMILY = Family(
    lambda _: PARAMETER, _asked, _solve, _document, save_rsvm_path, rsvm_path_page, _judge,
    (SHARE, *RISK_WORDS),
)  # fmt: skip
