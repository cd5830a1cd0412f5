"""Tables of benchmarks: what was asked, what was reached, on which machine.

RESULTS.md holds all of it; docs/guide.md quotes its summary. A target that was missed says so.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"
PACKAGES = ("pyomo", "numpy", "scipy", "highspy", "cvxpy", "linopy", "mosek")

OURS = "tightmargin"


@dataclass(frozen=True)
class Line:
    """One route.

    Attributes
    ----------
    numbers : tuple
        One a run; their median counts.
    at_most : number, optional
        tightmargin may take this multiple of the route's number.
    at_least : number, optional
        The route must take this multiple of tightmargin's number.
    """

    route: str
    numbers: tuple[float, ...]
    at_most: float | None = None
    at_least: float | None = None

    @property
    def median(self) -> float:
        """Median of the runs."""
        return statistics.median(self.numbers)

    def asked(self, better: str) -> str:
        """Target in words."""
        if self.at_most is not None:
            return f"at most {self.at_most:g} x"
        return "" if self.at_least is None else f"{self.at_least:g} x {better}"

    def reached(self, ours: float, better: str) -> str:
        """Ratio to tightmargin's number as the target counts it; a missed target says so."""
        if self.at_most is not None:
            ratio, words, met = ours / self.median, "x", ours <= self.at_most * self.median
        else:
            ratio, words = self.median / ours, f"x {better}"
            met = self.at_least is None or ratio >= self.at_least
        return f"{_short(ratio)} {words}" + ("" if met else ", **missed**")


@dataclass(frozen=True)
class Table:
    """Routes to the same thing, tightmargin's first.

    Attributes
    ----------
    title : str
        What was measured.
    unit : str
        Of the numbers.
    note : str
        How, where the title does not say.
    better : str
        What a smaller number is.
    """

    title: str
    unit: str
    lines: tuple[Line, ...]
    note: str = ""
    better: str = "faster"

    @property
    def ours(self) -> float:
        """Median of tightmargin's own route."""
        return self.lines[0].median

    def markdown(self) -> str:
        """Return the table with its numbers."""
        rows = [
            (line.route, _short(line.median), str(len(line.numbers)), line.asked(self.better),
             line.reached(self.ours, self.better) if k else "")
            for k, line in enumerate(self.lines)
        ]  # fmt: skip
        head = ("route", self.unit, "runs", f"asked of {OURS}", "reached")
        parts = [f"## {self.title}", _grid(head, rows)]
        return "\n\n".join([*parts, self.note] if self.note else parts)

    def summary(self) -> list[tuple[str, ...]]:
        """Rows of the summary: one for each target."""
        return [
            (self.title, f"{_short(self.ours)} {self.unit}", line.route,
             line.asked(self.better), line.reached(self.ours, self.better))
            for line in self.lines
            if line.at_most is not None or line.at_least is not None
        ]  # fmt: skip


def summary(tables: Iterable[Table]) -> str:
    """One row for each target, and where and when it was measured."""
    rows: list[tuple[str, ...]] = []
    for table in tables:
        for k, row in enumerate(table.summary()):
            rows.append(row if k == 0 else ("", "", *row[2:]))
    head = ("what", OURS, "against", "asked", "reached")
    return f"{_grid(head, rows)}\n\n{machine()}"


def machine() -> str:
    """Processor, Python, packages and day."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"{_processor()}, {os.cpu_count()} cores, one thread; Python {platform.python_version()}, "
        f"{packages}; {date.today().isoformat()}."
    )


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text().splitlines():
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine()


def results(tables: Sequence[Table]) -> str:
    """Text of RESULTS.md."""
    return "\n\n".join([
        "# Speed and memory",
        "Written by `make bench`. Medians of CPU seconds of the process, or of the growth of its "
        "resident memory, all\nroutes of a table in one run on one thread. The ratios count: the "
        "seconds belong to the machine.",
        f"{BEGIN}\n{summary(tables)}\n{END}",
        *(table.markdown() for table in tables),
    ]) + "\n"  # fmt: skip


def quoted(text: str) -> str:
    """Summary between the markers of RESULTS.md or the guide."""
    before, begin, rest = text.partition(BEGIN)
    found, end, _ = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"no {BEGIN} ... {END} in the text that begins {before[:40]!r}")
    return found.strip()


def with_quotation(readme: str, quotation: str) -> str:
    """Text of the guide with the summary between its markers replaced."""
    return readme.replace(quoted(readme), quotation)


def show(tables: Iterable[Table]) -> None:
    """Print tables where a benchmark is run by itself."""
    text = "\n\n".join(table.markdown() for table in tables)
    sys.stdout.write(f"{text}\n\n{machine()}\n")


def _grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _short(number: float) -> str:
    """Three significant digits, without an exponent."""
    if number >= 100:
        return f"{number:.0f}"
    return f"{number:.3g}"
