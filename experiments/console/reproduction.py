"""A reproduction as people read it: the paper's numbers and ours side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from tightmargin.experiments.console.tables import BAD, GOOD, WARN, fits, plain_table
from tightmargin.experiments.gap_study.table import seconds_text
from tightmargin.experiments.reproduce.framework.comparison import (
    Cell,
    Column,
    Row,
    Table,
    is_number,
    ours_text,
)
from tightmargin.experiments.reproduce.framework.registry import Reproduction
from tightmargin.experiments.reproduce.framework.report import Report

WIDTH = 8  # characters that a column of numbers needs


def list_page(known: Iterable[Reproduction]) -> Group:
    """All that can be run again."""
    table = plain_table("name", "what", "source", "--quick")
    for one in known:
        table.add_row(one.name, one.title, one.source, one.quick)
    last = "the beginning of several names, such as bi-vapnik, runs them all"
    return Group(table, Text(last, style="dim"))


def report_page(report: Report, files: Sequence[str], seconds: float) -> Group:
    """Tables, differences by name, what was checked, notes, files."""
    parts: list[RenderableType] = [Text(report.title, style="bold")]
    for table in filter(lambda table: table.shown, report.tables):
        wide = fits(WIDTH * _columns(table))
        order = "" if wide else "; of two numbers the paper's is the first"
        parts += [Text(f"{table.title}{order}"), _table(table, wide), *_differences(table), Text()]
    for claim in report.judged:
        style = GOOD if claim.holds else BAD
        parts.append(Text(f"{claim.outcome}: {claim.text}", style))
    parts += [Text(f"note: {note}", style="dim") for note in report.notes]
    parts += [Text(f"UNFINISHED: {report.unfinished}", BAD)] if report.unfinished else []
    parts.append(Text(f"{seconds_text(seconds)} s; written: {', '.join(files)}", style="dim"))
    return Group(*parts, Text())


def _differences(table: Table) -> list[Text]:
    pairs = [cell for _, _, cell in table.pairs() if cell.allowed is not None]
    if not pairs:
        return []
    differ = sum(not cell.equal for cell in pairs)
    lines = [Text(f"{differ} of {len(pairs)} judged numbers are not the paper's after rounding")]
    return lines + [Text(f"  differs: {line}", style=WARN) for line in table.differences()]


def _columns(table: Table) -> int:
    """How many there are where the paper's numbers and ours stand beside each other."""
    pairs = sum(table.printed(column.name) for column in table.columns)
    return len(table.keys) + len(table.columns) + pairs + 1


def _table(table: Table, wide: bool) -> RenderableType:
    pairs = [column for column in table.columns if table.printed(column.name)]
    heads = [f"\n{key.name}" for key in table.keys]
    for column in table.columns:
        heads += _heads(column, column in pairs, wide)
    keys = heads[: len(table.keys)]
    words = [head for position, head in enumerate(keys) if _words(table, position)]
    right = [head for head in heads if head not in words]
    drawn = plain_table(*heads, "\ngap", right=[*right, "\ngap"])
    for number, row in enumerate(table.rows):
        if number and len(table.keys) > 1 and row.words[0] != table.rows[number - 1].words[0]:
            drawn.add_section()
        cells: list[RenderableType] = list(row.words)
        for column in table.columns:
            cells += _cells(row.cells.get(column.name), column, column in pairs, wide)
        drawn.add_row(*cells, _proof(row))
    return drawn


def _words(table: Table, position: int) -> bool:
    """Whether a key column has anything but numbers."""
    return not all(is_number(row.words[position]) for row in table.rows)


def _proof(row: Row) -> RenderableType:
    if row.verdict is None:
        return "-"
    if str(row.verdict) != "CERTIFIED":
        return Text(str(row.verdict), BAD)
    return Text("-" if row.relative_gap is None else f"{row.relative_gap:.0e}", GOOD)


def _heads(column: Column, paired: bool, wide: bool) -> list[str]:
    if not paired:
        return [f"\n{column.name}"]
    return [f"{column.name}\npaper", f"{column.name}\nours"] if wide else [f"\n{column.name}"]


def _cells(cell: Cell | None, column: Column, paired: bool, wide: bool) -> list[RenderableType]:
    if cell is None:
        return ["", ""] if paired and wide else [""]
    text = ours_text(cell, column.form)
    if not paired:
        return [text]
    style = "" if cell.equal else WARN if cell.agrees else BAD
    mark = "" if cell.equal or cell.allowed is None else "*"
    if wide:
        return [cell.printed, Text(f"{text}{mark}", style)]
    return [Text(text if cell.equal else f"{cell.printed} {text}{mark}", style)]
