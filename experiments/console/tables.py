"""The screen, and what every page on it is made of: tables, numbers, verdicts and colours."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from tightmargin.solvers.kernel.verdict import Verdict
from tightmargin.solvers.model.claim import Status

PIPE_WIDTH = 240  # nothing wraps before this in a file or a pipe
GOOD, WARN, BAD = "green", "yellow", "bold red"


def _console() -> Console:
    """Standard output: colours and the width of the screen only on a terminal."""
    console = Console(file=sys.stdout, highlight=False, markup=False)
    if console.is_terminal:
        return console
    return Console(file=sys.stdout, highlight=False, markup=False, width=PIPE_WIDTH)


def fits(characters: int) -> bool:
    """Whether a line of so many characters fits on the screen."""
    return _console().width >= characters


def show(*parts: RenderableType) -> None:
    """Print on standard output."""
    console = _console()
    for part in parts:
        console.print(part)


def plain_table(*columns: str, right: Sequence[str] = ()) -> Table:
    """A table without borders; numbers to the right."""
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False, collapse_padding=True)
    for name in columns:
        table.add_column(
            name,
            justify="right" if name in right else "left",
            no_wrap=name in right or name in ("name", "relaxation", "solver"),
        )
    return table


def number(value: float | None, digits: int = 6) -> str:
    """A number with so many significant digits; a dash when there is none."""
    return "-" if value is None or not np.isfinite(value) else f"{value:#.{digits}g}"


COLOURS = {
    Verdict.CERTIFIED: GOOD,
    Verdict.WITHIN_TOLERANCE: WARN,
    Verdict.SOLVER_BOUND: WARN,
    Verdict.NOT_CERTIFIED: BAD,
}


def verdict_text(verdict: Verdict, remark: str = "") -> Text:
    """A verdict in its colour, with a remark."""
    return Text(f"{verdict}{remark and f' ({remark})'}", style=COLOURS[verdict])


def data_text(data: Mapping[str, Any]) -> str:
    """The data of a result in a few words: their spec and size; empty where it names none."""
    if "n" not in data:
        return ""
    classes = f", {len(data['classes'])} classes" if "classes" in data else ""
    return f"{data['spec']}: {data['n']} points, {data['d']} features{classes}"


def status_text(status: Status) -> Text:
    """A status in its colour."""
    style = {Status.OPTIMAL: GOOD, Status.FEASIBLE: WARN}.get(status, BAD)
    return Text(str(status), style=style)
