"""The record of one reproduction: what was run, when, with what, and every number of its tables.

A record is what `tightmargin reproduce` has found, without its picture and without digits that
nobody compares. It is a file of JSON with a line for each row of a table; a cell is ours, or
[ours, print] or [ours, print, allowed] where the paper prints a number.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.measuring import ROOT
from tightmargin.experiments.reproduce.framework.comparison import (
    Cell,
    Column,
    Row,
    Table,
    ours_text,
)
from tightmargin.experiments.reproduce.framework.report import PaperClaim, Report
from tightmargin.solvers.kernel.verdict import Verdict

FOLDER = ROOT / "docs" / "results"
SCHEMA = "tightmargin-results/1"
DIGITS = 6  # significant ones of a number that is compared with nothing more exact


@dataclass(frozen=True)
class Record:
    """A reproduction at full size, or what there is of it.

    Attributes
    ----------
    report : Report
        Without its picture and the tables that are not shown. `unfinished` says what there is of
        a run that was stopped.
    source : str
        Where in which paper.
    date : str
        Of the day on which it was written.
    seconds : float
        Of all its runs, one thread each.
    runs : int
        How many were kept one by one; 0 where there is nothing to keep.
    processor : str
    versions : mapping
        Of Python and of what computes.
    """

    report: Report
    source: str
    date: str
    seconds: float
    runs: int
    processor: str
    versions: Mapping[str, str]

    @property
    def name(self) -> str:
        """Of the reproduction."""
        return self.report.name

    @property
    def finished(self) -> bool:
        """Whether all was run."""
        return not self.report.unfinished


def trimmed(report: Report) -> Report:
    """A report as it is kept: shown tables, short numbers, no picture."""
    tables = tuple(_trimmed_table(table) for table in report.tables if table.shown)
    return replace(report, tables=tables, figure=None)


def _trimmed_table(table: Table) -> Table:
    rows = []
    for row in table.rows:
        cells = {name: short(cell, table_form(table, name)) for name, cell in row.cells.items()}
        gap = None if row.relative_gap is None else float(f"{row.relative_gap:.1e}")
        rows.append(Row(row.words, cells, gap, row.verdict))
    return replace(table, rows=tuple(rows))


def table_form(table: Table, name: str) -> str:
    """How a column writes a number that the paper does not print."""
    return next(column.form for column in table.columns if column.name == name)


def short(cell: Cell, form: str) -> Cell:
    """The same number with no more digits than it takes to be written and judged the same."""
    if not math.isfinite(cell.ours):
        return cell
    for digits in range(DIGITS, 17):
        less = replace(cell, ours=float(f"{cell.ours:.{digits}g}"))
        same = (less.equal, less.agrees) == (cell.equal, cell.agrees)
        if same and ours_text(less, form) == ours_text(cell, form):
            return less
    return cell


# --- files ----------------------------------------------------------------------------------------


def path_of(name: str, folder: Path = FOLDER) -> Path:
    """Where the record of a reproduction stands."""
    return folder / f"{name}.json"


def write(record: Record, folder: Path = FOLDER) -> None:
    """Write a record into a folder, over an earlier one."""
    path_of(record.name, folder).write_text(to_text(record), encoding="utf-8")


def kept(folder: Path = FOLDER) -> dict[str, Record]:
    """All records of a folder by name."""
    found = [read(path) for path in sorted(folder.glob("*.json"))]
    return {record.name: record for record in found}


def read(path: Path) -> Record:
    """The record in a file.

    Raises
    ------
    ValueError
        It is none, or of another name than its file.
    """
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        if plain["schema"] != SCHEMA:
            raise ValueError(f"its schema is not {SCHEMA}")
        record = _from_plain(plain)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path.name} is no record of results: {error!r}") from error
    if path_of(record.name).name != path.name:
        raise ValueError(f"{path.name} is the record of {record.name}")
    return record


def to_text(record: Record) -> str:
    """JSON with one line a row, so that a change is seen where it is."""
    report = record.report
    head = {
        "schema": SCHEMA, "name": report.name, "title": report.title, "source": record.source,
        "unfinished": report.unfinished, "date": record.date, "seconds": record.seconds,
        "runs": record.runs, "processor": record.processor, "versions": dict(record.versions),
    }  # fmt: skip
    lines = [f"{_json(key)}: {_json(value)}" for key, value in head.items()]
    claims = [{"text": claim.text, "holds": claim.holds} for claim in report.claims]
    lines += [f'"claims": {_lines(claims)}', f'"notes": {_lines(report.notes)}']
    lines.append('"tables": [\n' + ",\n".join(map(_table_text, report.tables)) + "\n]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _table_text(table: Table) -> str:
    columns = [[column.name, column.form] for column in table.columns]
    parts = [
        f'"name": {_json(table.name)}', f'"title": {_json(table.title)}',
        f'"keys": {_json([key.name for key in table.keys])}', f'"columns": {_json(columns)}',
        f'"rows": {_lines([_plain_row(row) for row in table.rows])}',
    ]  # fmt: skip
    return "{\n" + ",\n".join(parts) + "}"


def _plain_row(row: Row) -> dict[str, Any]:
    cells = {name: _plain_cell(cell) for name, cell in row.cells.items()}
    verdict = None if row.verdict is None else str(row.verdict)
    return {"key": row.words, "cells": cells, "gap": row.relative_gap, "verdict": verdict}


def _plain_cell(cell: Cell) -> float | list[Any]:
    if not cell.printed:
        return cell.ours
    allowed = [] if cell.allowed is None else [cell.allowed]
    return [cell.ours, cell.printed, *allowed]


def _from_plain(plain: Mapping[str, Any]) -> Record:
    report = Report(
        plain["name"], plain["title"], tuple(map(_table, plain["tables"])),
        tuple(PaperClaim(claim["text"], claim["holds"]) for claim in plain["claims"]),
        tuple(plain["notes"]), unfinished=plain["unfinished"],
    )  # fmt: skip
    names = ("source", "date", "seconds", "runs", "processor", "versions")
    return Record(report, **{name: plain[name] for name in names})


def _table(plain: Mapping[str, Any]) -> Table:
    columns = tuple(Column(name, name, form) for name, form in plain["columns"])
    keys = tuple(Column(name, name) for name in plain["keys"])
    rows = tuple(
        Row(
            tuple(row["key"]),
            {name: _cell(value) for name, value in row["cells"].items()},
            row["gap"],
            None if row["verdict"] is None else Verdict(row["verdict"]),
        )
        for row in plain["rows"]
    )
    return Table(plain["name"], plain["title"], keys, columns, rows)


def _cell(plain: float | list[Any]) -> Cell:
    if not isinstance(plain, list):
        return Cell(plain)
    ours, printed, *allowed = plain
    return Cell(ours, printed, allowed[0] if allowed else None)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _lines(values: Sequence[Any]) -> str:
    return "[" + ",".join(f"\n {_json(value)}" for value in values) + "]"
