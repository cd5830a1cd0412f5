"""What people see of a comparison of solvers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from tightmargin.experiments.console.tables import BAD, GOOD, WARN, fits, plain_table
from tightmargin.experiments.gap_study.table import seconds_text
from tightmargin.solvers.comparison.agreement import COLUMNS, Agreement
from tightmargin.solvers.comparison.solver_runs import SolverRun

NARROW = ("solver", "objective", "difference", "agrees", "seconds", "certificate")
WIDE = 150  # characters that all columns need
_RIGHT = ("objective", "proven bound", "difference", "tolerance", "seconds")


def agreement_page(title: str, agreement: Agreement) -> Group:
    """One row a model and solver, then what does not agree; a table a model on narrow screens."""
    note = "difference from the best proven value of the entry, and tolerance of the solver, are "
    footer = [Text(f"{note}relative to max(1, |value|)", style="dim")]
    footer += [Text(f"NO: {line}", style=BAD) for line in agreement.disagreements()]
    footer += [Text(line, style=BAD) for line in agreement.unproven()]
    body = _one_table(agreement) if fits(WIDE) else _a_table_each(agreement)
    return Group(Text(title, style="bold"), *body, *footer)


def _one_table(agreement: Agreement) -> list[RenderableType]:
    table = plain_table(*COLUMNS, right=_RIGHT)
    for rows in agreement.models():
        for row in rows:
            cells = _cells(agreement, row)
            table.add_row(*(cells[name] for name in COLUMNS))
        table.add_section()
    return [table]


def _a_table_each(agreement: Agreement) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for rows in agreement.models():
        table = plain_table(*NARROW, right=_RIGHT)
        for row in rows:
            cells = _cells(agreement, row)
            table.add_row(*(cells[name] for name in NARROW))
        parts += [Text(f"{rows[0].model.label} ({rows[0].model.problem_class})"), table, Text()]
    return parts


def _cells(agreement: Agreement, row: SolverRun) -> Mapping[str, RenderableType]:
    record: dict[str, Any] = agreement.record(row)
    style = {"yes": GOOD, "NO": BAD, "-": ""}[record["agrees"]]
    if row.result is None:
        style_of_certificate = BAD if row.failed else WARN
    else:
        style_of_certificate = GOOD if record["certificate"] == "CERTIFIED" else ""
    return {
        **{name: str(record[name]) for name in ("entry", "class", "solver", "version", "status")},
        "objective": _number(record["objective"], ".9g"),
        "proven bound": _number(record["proven bound"], ".9g"),
        "difference": _number(record["difference"], ".1e"),
        "tolerance": _number(record["tolerance"], ".0e"),
        "agrees": Text(record["agrees"], style=style),
        "seconds": "-" if record["seconds"] is None else seconds_text(record["seconds"]),
        "certificate": Text(record["certificate"], style=style_of_certificate),
    }


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
