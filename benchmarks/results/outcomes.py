"""What became of every printed number: equal, near, different and why, or beyond comparison."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.results.record import Record
from tightmargin.experiments.reproduce.framework.comparison import Cell, Row, Table

FILE = Path(__file__).with_name("reasons.toml")


class Outcome(StrEnum):
    """Of one printed number."""

    AGREES = "agrees"
    NEAR = "within the stated distance"
    DIFFERS = "differs"
    IMPOSSIBLE = "cannot be right"
    INCOMPARABLE = "cannot be compared"


MEANINGS = {
    Outcome.AGREES: "ours is the printed number after rounding to its digits",
    Outcome.NEAR: "ours rounds to another one, and is as near as the reproduction asks for; the "
    "page has the reason",
    Outcome.DIFFERS: "ours is another one, and the page has the reason, or says that it is unknown",
    Outcome.IMPOSSIBLE: "the print contradicts itself or the mathematics, whatever the data",
    Outcome.INCOMPARABLE: "it belongs to another machine, or to points that nobody has: ours stand "
    "beside it",
}
OF_KIND = {"impossible": Outcome.IMPOSSIBLE, "incomparable": Outcome.INCOMPARABLE}
KINDS = ("solver", "sample", "definition", "unknown", *OF_KIND)


@dataclass(frozen=True)
class Reason:
    """Why some numbers of a reproduction are not those of the print.

    Attributes
    ----------
    where : tuple of str
        Patterns of their places, see `place`; the first reason that has one counts.
    kind : str
        solver: the paper's stopped elsewhere. sample: random points, splits or labels are others.
        definition: the paper leaves open what is counted. unknown. impossible and incomparable:
        see `Outcome`.
    text : str
    """

    where: tuple[str, ...]
    kind: str
    text: str

    def covers(self, place: str) -> bool:
        """Whether it is the reason for a number there."""
        return any(fnmatchcase(place, pattern) for pattern in self.where)


UNSTATED = Reason((), "unknown", "no reason is stated yet")


@dataclass(frozen=True)
class Judged:
    """A printed number of a finished reproduction, and what became of it.

    Attributes
    ----------
    table : Table
    row : Row
    column : str
    cell : Cell
    reason : Reason or None
        None where it agrees.
    outcome : Outcome
    """

    table: Table
    row: Row
    column: str
    cell: Cell
    reason: Reason | None
    outcome: Outcome


@cache
def reasons(name: str) -> tuple[Reason, ...]:
    """Reasons of a reproduction, the more particular ones first.

    Raises
    ------
    ValueError
        One of an unknown kind.
    """
    found = _file().get(name, [])
    for one in found:
        if one["kind"] not in KINDS:
            raise ValueError(f"{name}: the kind of a reason is one of {', '.join(KINDS)}")
    return tuple(Reason(tuple(one["where"]), one["kind"], one["text"]) for one in found)


@cache
def _file() -> dict[str, Any]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def repeated(table: Table) -> bool:
    """Whether a table prints again what another one of its reproduction has."""
    return table.name in _file()["repeated"]


def once(column: str) -> bool:
    """Whether the paper prints one number for all rows of a column."""
    return column in _file()["once"]


def fails(record: Record) -> bool:
    """Whether a statement of a record does not hold, or a row of it is not proven."""
    open_rows = any(
        row.verdict is not None and not row.verdict.closed
        for table in record.report.tables
        for row in table.rows
    )
    return open_rows or not all(claim.holds for claim in record.report.judged)


def failing() -> dict[str, str]:
    """Reproductions of which something does not hold or is not proven, with the reason."""
    return {name: str(text) for name, text in _file()["failing"].items()}


def absent() -> dict[str, str]:
    """Reproductions without a record, with the reason."""
    return {str(one["name"]): str(one["text"]) for one in _file().get("absent", [])}


def place(row: Row, column: str) -> str:
    """How reasons name a number: "1000, 0.05: D"."""
    return f"{', '.join(row.words)}: {column}"


def judged(record: Record) -> Iterator[Judged]:
    """Every printed number of a record, once; none where it is not finished."""
    known = reasons(record.name)
    for table in record.report.tables if record.finished else ():
        seen = set[str]()
        for row, column, cell in () if repeated(table) else table.pairs():
            if once(column) and column in seen:
                continue
            seen.add(column)
            at = place(row, column)
            reason = next((one for one in known if one.covers(at)), UNSTATED)
            # Equal seconds of two machines show nothing, nor do equal counts of other points.
            agrees = cell.equal and reason.kind != "incomparable"
            reason = None if agrees else reason
            yield Judged(table, row, column, cell, reason, _outcome(cell, reason))


def _outcome(cell: Cell, reason: Reason | None) -> Outcome:
    if reason is None:
        return Outcome.AGREES
    if reason.kind in OF_KIND:
        return OF_KIND[reason.kind]
    return Outcome.NEAR if cell.allowed is not None and cell.agrees else Outcome.DIFFERS


def counted(record: Record) -> Counter[Outcome]:
    """How many printed numbers of a record there are of each outcome."""
    return Counter(number.outcome for number in judged(record))
