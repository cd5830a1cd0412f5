"""The path of the rigorous SVM as people read it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from tightmargin.experiments.console.tables import fits, number, plain_table, verdict_text
from tightmargin.experiments.gap_study.table import seconds_text
from tightmargin.experiments.statistics.capacity_report import RsvmReport
from tightmargin.solvers.result import Verdict
from tightmargin.solvers.rigorous_svm.norm_limit.norm_limit import NormLimit

COLUMNS = (
    "H", "H²/n", "E", "gap", "gamma", "C", "D", "nu", "SV", "free", "err %", "-dE/dH", "h",
    "VC bound", "method", "s", "certificate",
)  # fmt: skip
NARROW = ("H²/n", "E", "gap", "C", "nu", "SV", "err %", "certificate")
WIDE = 165  # characters that all columns need


def rsvm_path_page(report: RsvmReport) -> Group:
    """Rows by rising H, where H stops mattering, and which H the VC bound chooses."""
    columns = COLUMNS if fits(WIDE) else NARROW
    left = ("method", "certificate")
    table = plain_table(*columns, right=[name for name in columns if name not in left])
    for k in range(len(report.path.rows)):
        cells = _cells(report, k)
        table.add_row(*(cells[name] for name in columns))
    data = report.path.data
    title = f"rigorous SVM over H, {data.spec}: {data.n} points, {data.d} dimensions"
    lines = (Text(line, style="dim") for line in _ends(report))
    return Group(Text(title, style="bold"), table, *lines)


def _cells(report: RsvmReport, k: int) -> dict[str, RenderableType]:
    row, maps, n = report.path.rows[k], report.maps[k], report.path.data.n
    relative = row.point.relative_gap
    said = number(report.bound(k).bound, 4)
    return {
        "H": number(row.norm_bound),
        "H²/n": number(row.norm_bound**2 / n, 4),
        "E": number(row.point.value),
        "gap": f"{row.point.gap:.1e} abs" if relative is None else f"{relative:.1e}",
        "gamma": number(maps.gamma, 4),
        "C": _finite(maps.C),
        "D": _finite(maps.hull_bound),
        "nu": f"{maps.nu:.4f}{_mark(report, k)}",
        "SV": str(row.support_vectors),
        "free": str(row.free),
        "err %": f"{100 * row.errors / n:.2f}",
        "-dE/dH": number(-maps.price, 4),
        "h": number(report.risks.rows[k].h, 4),
        "VC bound": f"{said} *" if k == report.best else said,
        "method": row.method,
        "s": seconds_text(row.seconds),
        "certificate": verdict_text(
            row.verdict, "" if row.verdict is Verdict.CERTIFIED else row.stop
        ),
    }


def _mark(report: RsvmReport, k: int) -> str:
    """Where nu does not tell H; of optimal multipliers only."""
    maps = report.maps[k]
    if report.path.rows[k].verdict is not Verdict.CERTIFIED:
        return ""
    if maps.degenerate:
        return " z"
    return " =" if maps.flat else ""


def _finite(value: float) -> str:
    return "inf" if math.isinf(value) else number(value, 4)


def _ends(report: RsvmReport) -> Iterator[str]:
    """What the columns mean, and what holds of the whole path."""
    path = report.path
    yield "gap: of E, to the bound proven by alpha; SV: alpha > 0, free: 0 < alpha < 1"
    if path.limit is not None:
        yield _limit_line(path.limit, path.data.n)
    marks = {_mark(report, k) for k in range(len(path.rows))}
    if " z" in marks:
        yield (
            "z: every point of the smaller class has alpha = 1; nu and D are the same at all "
            "smaller H"
        )
    if " =" in marks:
        yield "=: nu and D are those of a stretch of H; C tells which"
    vacuous = "; no row says anything" if report.bound(report.best).vacuous else ""
    yield (
        f"*: least VC bound on the error rate ({report.form} form, eta = {report.risks.eta:g}) at "
        f"H = {path.rows[report.best].norm_bound:.6g}; 1 or more says nothing{vacuous}"
    )
    yield "h = min(R^2 H^2, d) + 1 is an estimate of the VC dimension, so that * is no guarantee"


def _limit_line(limit: NormLimit, n: int) -> str:
    """The largest H that matters, with its proven ends."""
    if math.isnan(limit.value):
        return f"H_lim: {limit.proof}"
    kind = "separable" if limit.separable else f"not separable, least E {limit.least_loss:.6g}"
    if math.isfinite(limit.upper):
        between = f"proven between {limit.lower:.10g} and {limit.upper:.10g}"
        end = "gamma = 0 and C infinite from there on"
    else:
        between = f"proven to be {limit.lower:.10g} at least"
        end = "that gamma = 0 and C is infinite from there on is computed and not proven"
        if not (limit.separable or limit.least_loss_bound):
            kind = f"no separation found, least E {limit.least_loss:.6g}"
    return f"H_lim {limit.value:.6g}, H_lim²/n {limit.value**2 / n:.4g}, {between}; {kind}; {end}"
