"""What a reproduction leaves: tables, what was checked, why numbers differ, a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tightmargin.experiments.reproduce.framework.comparison import Cell, Row, Table, is_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class PaperClaim:
    """A sentence that our runs bear out, or do not."""

    text: str
    holds: bool

    @property
    def outcome(self) -> str:
        """How pages and files say it."""
        return "holds" if self.holds else "DOES NOT HOLD"


@dataclass(frozen=True, eq=False)
class Report:
    """One table or figure, run again.

    Attributes
    ----------
    name, title : str
    tables : tuple of Table
    claims : tuple of PaperClaim
        What was checked besides single numbers; one that does not hold is a failure.
    notes : tuple of str
        Definitions, and why numbers differ from the print.
    figure : Figure or None
    unfinished : str
        What Ctrl-C came before; empty else. Nothing is judged then.
    """

    name: str
    title: str
    tables: tuple[Table, ...]
    claims: tuple[PaperClaim, ...] = ()
    notes: tuple[str, ...] = ()
    figure: Figure | None = None
    unfinished: str = ""

    @property
    def judged(self) -> tuple[PaperClaim, ...]:
        """The claims, once there is everything they speak of."""
        return () if self.unfinished else self.claims

    @property
    def complaints(self) -> list[str]:
        """Why the run does not agree with what was asked; empty where it does."""
        if self.unfinished:
            return []
        found = [line for table in self.tables for line in table.complaints()]
        return found + [f"does not hold: {claim.text}" for claim in self.claims if not claim.holds]


def to_json(report: Report, files: Sequence[str], seconds: float) -> dict[str, Any]:
    """One report as plain values."""
    return {
        "name": report.name,
        "title": report.title,
        "tables": [_table(table) for table in report.tables],
        "claims": [{"text": claim.text, "holds": claim.holds} for claim in report.judged],
        "notes": list(report.notes),
        "complaints": report.complaints,
        "unfinished": report.unfinished,
        "files": list(files),
        "seconds": seconds,
    }


def _table(table: Table) -> dict[str, Any]:
    pairs = [cell for _, _, cell in table.pairs() if cell.allowed is not None]
    return {
        "name": table.name,
        "title": table.title,
        "compared": len(pairs),
        "equal": sum(cell.equal for cell in pairs),
        "rows": [_row(table, row) for row in table.rows],
    }


def _row(table: Table, row: Row) -> dict[str, Any]:
    keys = {key.name: _key(word) for key, word in zip(table.keys, row.key, strict=True)}
    cells = {name: _cell(cell) for name, cell in row.cells.items()}
    verdict = None if row.verdict is None else str(row.verdict)
    return {**keys, **cells, "relative_gap": row.relative_gap, "verdict": verdict}


def _key(word: str | float) -> str | float:
    """A number where it reads like one, so that nobody has to parse it again."""
    if not isinstance(word, str) or not is_number(word):
        return word
    return int(word) if word.isdigit() else float(word)


def _cell(cell: Cell) -> Any:
    if not cell.printed:
        return cell.ours
    return {
        "ours": cell.ours,
        "paper": float(cell.printed),
        "equal": cell.equal,
        "judged": cell.allowed is not None,
        "agrees": cell.agrees,
    }
