"""Paths as people read them: rigorous SVM over H, extended nu-SVC over nu, conic estimator."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from tightmargin.cuts.nu_path.result import ExtendedNuPath
from tightmargin.experiments.console.tables import (
    data_text,
    fits,
    number,
    plain_table,
    verdict_text,
)
from tightmargin.experiments.gap_study.table import seconds_text
from tightmargin.experiments.statistics.capacity_report import RsvmReport
from tightmargin.solvers.conic.path import ConicPath
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.rigorous_svm.norm_limit import NormLimit

RSVM_COLUMNS = (
    "H", "H²/n", "E", "gap", "gamma", "C", "D", "nu", "SV", "free", "err %", "-dE/dH", "h",
    "VC bound", "method", "s", "certificate",
)  # fmt: skip
RSVM_NARROW = ("H²/n", "E", "gap", "C", "nu", "SV", "err %", "certificate")
NU_COLUMNS = (
    "nu", "CVaR", "value", "bound", "how", "rho", "lambda", "SV %", "errors", "s", "certificate",
)  # fmt: skip
NU_NARROW = ("nu", "value", "bound", "how", "certificate")
CONIC_COLUMNS = (
    "penalty", "budget", "sum z / n", "value", "bound", "gap", "rank", "errors", "method", "s",
    "certificate",
)  # fmt: skip
CONIC_NARROW = ("penalty", "sum z / n", "value", "gap", "certificate")
WORDS = ("how", "method", "certificate")  # columns of words, to the left
RSVM_WIDE, WIDE = 165, 100  # characters that all columns need

Cells = Mapping[str, RenderableType]


def path_page(
    title: str, columns: Sequence[str], rows: Iterable[Cells], ends: Iterable[str]
) -> Group:
    """Rows in the columns that are shown, and below them what holds of the whole path."""
    table = plain_table(*columns, right=[name for name in columns if name not in WORDS])
    for cells in rows:
        table.add_row(*(cells[name] for name in columns))
    return Group(Text(title, style="bold"), table, *(Text(line, style="dim") for line in ends))


def _certificate(verdict: Verdict, stop: str) -> Text:
    return verdict_text(verdict, "" if verdict is Verdict.CERTIFIED else stop)


def rsvm_path_page(report: RsvmReport) -> Group:
    """Rows by rising H, where H stops mattering, and which H the VC bound chooses."""
    data = report.path.data
    return path_page(
        f"rigorous SVM over H, {data.spec}: {data.n} points, {data.d} dimensions",
        RSVM_COLUMNS if fits(RSVM_WIDE) else RSVM_NARROW,
        (_rsvm_cells(report, k) for k in range(len(report.path.rows))),
        _rsvm_ends(report),
    )


def _rsvm_cells(report: RsvmReport, k: int) -> Cells:
    row, maps, n = report.path.rows[k], report.maps[k], report.path.data.n
    relative = row.point.relative_gap
    said = number(report.bound(k).bound, 4)
    return {
        "H": number(row.norm_bound),
        "H²/n": number(row.norm_bound**2 / n, 4),
        "E": number(row.point.objective),
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
        "certificate": _certificate(row.verdict, row.stop),
    }


def _mark(report: RsvmReport, k: int) -> str:
    """Where nu does not tell H; of optimal multipliers only."""
    maps = report.maps[k]
    if not report.path.rows[k].verdict.closed:
        return ""
    if maps.degenerate:
        return " z"
    return " =" if maps.flat else ""


def _finite(value: float) -> str:
    return "inf" if math.isinf(value) else number(value, 4)


def _rsvm_ends(report: RsvmReport) -> Iterator[str]:
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


def extended_nu_path_page(path: ExtendedNuPath) -> Group:
    """Rows by falling nu, and where the problem changes its nature."""
    rows: list[Cells] = [
        {
            "nu": f"{row.nu:.6g}{' c' if row.constant else ''}",
            "CVaR": number(row.cvar),
            "value": number(row.objective),
            "bound": number(row.bound),
            "how": row.how,
            "rho": number(row.rho, 4),
            "lambda": number(row.norm_multiplier, 4),
            "SV %": f"{100 * row.support_share:.1f}",
            "errors": str(row.errors),
            "s": seconds_text(row.seconds),
            "certificate": _certificate(row.verdict, row.stop),
        }
        for row in path.rows
    ]
    lower, upper = path.nu_bar_bounds
    between = f"between {'-' if lower is None else f'{lower:.10g}'} and {upper:.10g}"
    data = {"spec": path.data.spec, "n": path.data.n, "d": path.data.d}
    return path_page(
        f"extended_nu_svc, {data_text(data)}",
        NU_COLUMNS if fits(WIDE) else NU_NARROW,
        rows,
        (
            f"nu_bar {path.range.nu_bar:.6g}, proven {between}: convex above it, not convex below",
            f"nu_max {path.range.nu_max:.6g}",
            f"c: the CVaR is the same for all nu up to {path.range.constant_until:.6g}",
            f"{path.searches} of {len(path.rows)} nu took a search",
        ),
    )


def conic_path_page(path: ConicPath) -> Group:
    """Rows by rising penalty, and how they were found."""
    columns: tuple[str, ...] = CONIC_COLUMNS if fits(WIDE) else CONIC_NARROW
    if path.parameter == "penalty":
        columns = tuple(name for name in columns if name != "budget")
    elif "budget" not in columns:
        columns = ("budget", *columns)
    rows: list[Cells] = [
        {
            "penalty": number(row.penalty),
            "budget": f"{row.budget:.6g}",
            "sum z / n": number(row.spent, 4),
            "value": number(row.objective),
            "bound": number(row.bound),
            "gap": f"{row.gap / row.objective if row.objective > 0 else 0.0:.1e}",
            "rank": str(row.rank),
            "errors": str(row.errors),
            "method": row.method,
            "s": seconds_text(row.seconds),
            "certificate": _certificate(row.verdict, row.stop),
        }
        for row in path.rows
    ]
    data = path.data
    return path_page(
        f"conic SDP over {path.parameter}, {data.spec}: {data.n} points, {data.d} features",
        columns,
        rows,
        (
            "gap: of the value, to the proven bound; rank: of W - ww'",
            f"{path.fallbacks} of {len(path.rows)} values took an interior-point solver",
        ),
    )
