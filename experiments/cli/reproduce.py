"""The reproduce command: tables and figures of the papers, run again and laid beside the print."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from tightmargin.experiments.cli import options
from tightmargin.experiments.console.documents import emit
from tightmargin.experiments.console.streams import complain, working
from tightmargin.experiments.reproduce.framework.files import save
from tightmargin.experiments.reproduce.framework.report import Report, to_json
from tightmargin.experiments.reproduce.papers import Effort, Reproduction, chosen, everything
from tightmargin.experiments.studies.pools import refuse_pool
from tightmargin.experiments.studies.result_store import opened
from tightmargin.experiments.studies.runner import StudyError

EVERY = 30.0  # seconds between two lines on progress where there is no terminal


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
        emit("reproduce", {"reproductions": [_known(one) for one in everything()]})
        return 0
    from tightmargin.experiments.console.reproduction import list_page
    from tightmargin.experiments.console.tables import show

    show(list_page(everything()))
    return 0


def _known(one: Reproduction) -> dict[str, Any]:
    return {"name": one.name, "title": one.title, "source": one.source, "quick": one.quick}


def _made(folder: Path) -> None:
    """Make the folder of the files, or refuse it before the work is done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--out {folder}: {error.strerror or error}") from error
    if not os.access(folder, os.W_OK):
        raise ValueError(f"--out {folder}: the folder cannot be written to")


def _show(report: Report, files: tuple[str, ...], seconds: float) -> None:
    from tightmargin.experiments.console.reproduction import report_page
    from tightmargin.experiments.console.tables import show

    show(report_page(report, files, seconds))


def _judge(report: Report) -> int:
    """1 with its reasons on standard error, or 0."""
    if report.unfinished:
        complain(f"{report.name}: interrupted; kept {report.unfinished}")
        return 0
    for line in report.complaints:
        complain(f"{report.name}: {line}")
    return 1 if report.complaints else 0
