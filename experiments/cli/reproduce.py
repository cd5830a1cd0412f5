"""The reproduce command: tables and figures of the papers, run again and laid beside the print."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from tightmargin.experiments.cli import options
from tightmargin.experiments.console.documents import emit
from tightmargin.experiments.console.streams import complain, working
from tightmargin.experiments.console.tables import (
    BAD,
    GOOD,
    WARN,
    fits,
    plain_table,
    show,
    verdict_text,
)
from tightmargin.experiments.gap_study.table import seconds_text
from tightmargin.experiments.reproduce.framework.comparison import (
    Cell,
    Column,
    Row,
    Table,
    is_number,
    ours_text,
)
from tightmargin.experiments.reproduce.framework.files import save
from tightmargin.experiments.reproduce.framework.report import Report, to_json
from tightmargin.experiments.reproduce.papers import Effort, Reproduction, chosen, everything
from tightmargin.experiments.studies.pools import refuse_pool
from tightmargin.experiments.studies.result_store import opened
from tightmargin.experiments.studies.runner import StudyError
from tightmargin.solvers.kernel.verdict import Verdict

EVERY = 30.0  # seconds between two lines on progress where there is no terminal
WIDTH = 8  # characters that a column of numbers needs


def reproduce_command(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="A table or figure, or a paper for all of its."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="The small part of each, as the list says.")
    ] = False,
    jobs: Annotated[
        int, typer.Option(metavar="N", min=1, help="Processes, of one thread each.")
    ] = 1,
    backend: Annotated[
        str, typer.Option(metavar="ENGINE", help="loky: this machine. dask: a cluster.")
    ] = "loky",
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Of dask's scheduler, such as tcp://HOST:8786."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the files.")] = Path("out"),
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run again what is finished already.")
    ] = False,
    json: options.Json = False,
) -> int:
    """Run a table or figure of a paper again: the paper's numbers and ours side by side.

    Without NAME it lists what there is. csv, LaTeX and PNG are written to DIR. Every finished run
    is stored there at once, in NAME.sqlite: after Ctrl-C, or whatever else ended it, the same
    command runs only what is left. Leaves with 1 when something disagrees by more than is stated,
    is not proven, or failed.
    """
    if name is None:
        return _list(json)
    asked = chosen(name)
    refuse_pool(backend, jobs, scheduler)
    _made(out)
    how = Effort(quick, jobs, report=complain, backend=backend, scheduler=scheduler)
    documents: list[dict[str, Any]] = []
    code = 0
    for one in asked:
        began = time.perf_counter()
        try:
            with working(one.name, every=EVERY) as progress:
                store = out / f"{one.name}.sqlite"
                if fresh:
                    with opened(store) as kept:
                        kept.forget(one.name)
                report = one.run(replace(how, progress=progress, study=one.name, store=store))
                files = save(report, out)
        except KeyboardInterrupt:
            if not documents:
                raise
            complain(f"{one.name}: interrupted before its first result")
            code = 130
            break
        except StudyError as error:
            complain(f"{one.name}: {error}")
            code = max(code, 1)
            continue
        seconds = time.perf_counter() - began
        documents.append(to_json(report, files, seconds))
        if not json:
            _show(report, files, seconds)
        code = max(code, _judge(report))
        if report.unfinished:
            code = 130
            break
    if json:
        emit("reproduce", {"quick": quick, "reports": documents})
    return code


def _list(json: bool) -> int:
    if json:
        words = ("name", "title", "source", "quick")
        known = [{word: getattr(one, word) for word in words} for one in everything()]
        emit("reproduce", {"reproductions": known})
        return 0
    show(list_page(everything()))
    return 0


def _made(folder: Path) -> None:
    """Make the folder of the files, or refuse it before the work is done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--out {folder}: {error.strerror or error}") from error
    if not os.access(folder, os.W_OK):
        raise ValueError(f"--out {folder}: the folder cannot be written to")


def _show(report: Report, files: tuple[str, ...], seconds: float) -> None:
    show(report_page(report, files, seconds))


def _judge(report: Report) -> int:
    """1 with its reasons on standard error, or 0."""
    if report.unfinished:
        complain(f"{report.name}: interrupted; kept {report.unfinished}")
        return 0
    for line in report.complaints:
        complain(f"{report.name}: {line}")
    return 1 if report.complaints else 0


# --- pages ----------------------------------------------------------------------------------------


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
    if row.verdict is not Verdict.CERTIFIED:
        return verdict_text(row.verdict)
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
