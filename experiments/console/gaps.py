"""Gap tables on the screen, each with its title and with what proves the optimum."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from tightmargin.experiments.console.tables import (
    BAD,
    fits,
    number,
    plain_table,
    status_text,
    verdict_text,
)
from tightmargin.experiments.gap_study.gap_table import Bound, Comparison, mark
from tightmargin.experiments.gap_study.study import GapStudy
from tightmargin.experiments.gap_study.table import percent, seconds_text
from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.result import SolveResult

COLUMNS = (
    "relaxation", "value", "bound", "gap", "gap %", "solver", "status", "s", "certificate",
)  # fmt: skip
NARROW = ("relaxation", "bound", "gap %", "solver", "s", "certificate")
WIDE = 100  # characters that all columns need


def gap_page(study: GapStudy) -> Group:
    """Gap table of one study with its title, and what proves the optimum."""
    columns = COLUMNS if fits(WIDE) else NARROW
    table = plain_table(*columns, right=("value", "bound", "gap", "gap %", "s"))
    for row in study.comparison.rows:
        cells = _cells(study, row)
        table.add_row(*(cells[name] for name in columns))
    exact = study.comparison.exact
    footer = []
    if exact is not None:
        table.add_section()
        cells = _exact_cells(study.comparison, exact)
        table.add_row(*(cells[name] for name in columns))
        footer.append(Text(proof_of(exact), style="dim"))
    footer += [Text(line, style="dim") for line in study.left_out]
    footer += [Text(f"WRONG: {line}", style=BAD) for line in study.complaints]
    return Group(Text(heading(study), style="bold"), table, *footer, Text())


def _cells(study: GapStudy, row: Bound) -> dict[str, RenderableType]:
    comparison = study.comparison
    refuted = comparison.why_no_relaxation(row)
    remark = Text(refuted or mark(row), style=BAD)
    included = comparison.bound_of(row)
    missing = "no bound" if included is None else f"{number(included)} ?"
    return {
        "relaxation": row.label,
        "value": number(row.value),
        "bound": number(row.bound) if row.certified else Text(missing, style=BAD),
        "gap": number(comparison.absolute_gap(row)),
        "gap %": percent(comparison.relative_gap(row)) or "-",
        "solver": row.solver,
        "status": status_text(row.status),
        "s": seconds_text(row.seconds),
        "certificate": (
            verdict_text(row.verdict, row.remark) if row.certified and not refuted else remark
        ),
    }


def _exact_cells(comparison: Comparison, exact: SolveResult) -> dict[str, RenderableType]:
    usable = comparison.upper is not None  # an inaccurate value is the upper end of no gap
    return {
        "relaxation": f"{comparison.exact_label} (exact)",
        "value": number(exact.objective),
        "bound": number(exact.bound),
        "gap": number(exact.absolute_gap if usable else None, 2),
        "gap %": percent(exact.relative_gap if usable else None) or "-",
        "solver": exact.solver,
        "status": status_text(exact.status),
        "s": seconds_text(exact.seconds),
        "certificate": verdict_text(exact.certificate.verdict, exact.certificate.reason),
    }


def heading(study: GapStudy) -> str:
    """Title of a study with the settings common to its rows."""
    words = ", ".join(f"{word} = {value}" for word, value in study.instance.settings.items())
    return f"{study.instance.title}{words and f' ({words})'}"


def proof_of(exact: SolveResult) -> str:
    """Who says that the optimum is one."""
    certificate = exact.certificate
    if exact.objective is None:
        return f"{exact.solver} {exact.version} found no point: {exact.message}"
    claim = certificate.solver_bound
    said = "" if claim is None else f"; {exact.solver} {exact.version} claims {claim:.6g}"
    if certificate.verdict is Verdict.CERTIFIED:
        return f"optimum proven by {certificate.bound_method}{said}"
    if certificate.verdict is Verdict.WITHIN_TOLERANCE:
        return f"a bound by {certificate.bound_method} meets it; {certificate.reason}{said}"
    own = "no bound of our own" if exact.bound is None else f"our own bound {exact.bound:.6g}"
    return f"best point known, optimum not proven by us: {own}{said}"
