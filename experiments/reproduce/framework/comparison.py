"""A number of ours beside the paper's, a table of such pairs, and which of them disagree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from tightmargin.solvers.kernel.verdict import Verdict, weakest

TIE = 1e-9  # of the last printed digit: a number half way between two of them rounds to either


@dataclass(frozen=True)
class Cell:
    """One number, and what the paper prints for it.

    printed: as it stands in the paper, with its trailing zeros; empty where it prints none.
    allowed: how far ours may be from the print where it does not round to it. None: it is shown and
        not judged.
    """

    ours: float
    printed: str = ""
    allowed: float | None = 0.0

    @property
    def digits(self) -> int:
        """Decimal places of the print; negative where its last digit stands before the point."""
        exponent = Decimal(self.printed).as_tuple().exponent
        assert isinstance(exponent, int)
        return -exponent

    @property
    def difference(self) -> float:
        """Ours minus the print."""
        return self.ours - float(self.printed)

    @property
    def equal(self) -> bool:
        """Whether ours is the print after rounding to its digits; also where there is none."""
        return not self.printed or abs(self.difference) <= (0.5 + TIE) * 10.0**-self.digits

    @property
    def agrees(self) -> bool:
        """Whether ours is the print after rounding, or as near as is allowed, or not judged."""
        return (
            self.equal or self.allowed is None or abs(self.difference) <= self.allowed * (1 + TIE)
        )


@dataclass(frozen=True)
class Column:
    """A column of numbers.

    name, latex: its head on the screen and in LaTeX.
    form: how a number of ours is written where the paper prints none beside it.
    """

    name: str
    latex: str
    form: str = ".4g"


@dataclass(frozen=True)
class Row:
    """Numbers of one case, with what proves ours.

    key: values of the key columns, words or numbers.
    cells: by name of the column.
    relative_gap: the largest of the runs behind the row.
    verdict: CERTIFIED where every run behind the row is; None where there is nothing to certify,
        such as in a closed form.
    """

    key: tuple[str | float, ...]
    cells: Mapping[str, Cell]
    relative_gap: float | None = None
    verdict: Verdict | None = None

    @classmethod
    def of_runs(
        cls,
        key: tuple[str | float, ...],
        cells: Mapping[str, Cell],
        gaps: Iterable[float | None],
        proofs: Iterable[bool | Verdict | str],
    ) -> Row:
        """The row of several runs with the weakest of their verdicts.

        A condition that does not hold makes it NOT_CERTIFIED; one that does says nothing, as only
        proofs do.
        """
        found = list(proofs)
        holds = all(proof for proof in found if isinstance(proof, bool))
        verdict = weakest(proof for proof in found if not isinstance(proof, bool))
        return cls(key, cells, largest(gaps), verdict if holds else Verdict.NOT_CERTIFIED)

    @property
    def words(self) -> tuple[str, ...]:
        """The key as it is written everywhere."""
        return tuple(word if isinstance(word, str) else f"{word:g}" for word in self.key)


def largest(gaps: Iterable[float | None]) -> float | None:
    """Of those that are known; None where none is."""
    return max((gap for gap in gaps if gap is not None), default=None)


_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?")


def is_number(word: str) -> bool:
    """Whether a word of a key is a number."""
    return _NUMBER.fullmatch(word) is not None


@dataclass(frozen=True)
class Table:
    """Numbers of a paper and ours.

    name: stem of the files it is written to.
    keys: what tells the rows apart.
    columns, tuple of Column.
    rows, tuple of Row.
    shown: whether it is to be read; else it is only written, as csv.
    """

    name: str
    title: str
    keys: tuple[Column, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    shown: bool = True

    def printed(self, name: str) -> bool:
        """Whether the paper prints anything in a column."""
        return any(row.cells[name].printed for row in self.rows if name in row.cells)

    def place(self, row: Row, name: str = "") -> str:
        """How a sentence names a row, or a cell of it."""
        words = [f"{key.name} {text}" for key, text in zip(self.keys, row.words, strict=True)]
        return ", ".join([*words, name] if name else words)

    def pairs(self) -> Iterator[tuple[Row, str, Cell]]:
        """All cells that the paper prints a number for, row by row."""
        for row in self.rows:
            for column in self.columns:
                cell = row.cells.get(column.name)
                if cell is not None and cell.printed:
                    yield row, column.name, cell

    def differences(self) -> list[str]:
        """Every number that is not the print after rounding, judged or not, in one line each."""
        return [
            f"{self.place(row, name)}: paper {cell.printed}, ours {ours_text(cell)} "
            f"(allowed: {cell.allowed:.2g})"
            for row, name, cell in self.pairs()
            if not cell.equal and cell.allowed is not None
        ]

    def complaints(self) -> list[str]:
        """Numbers further from the print than is allowed, and rows that are not proven."""
        found = [
            f"{self.place(row, name)}: paper {cell.printed}, ours {ours_text(cell)}, and "
            f"{cell.allowed:.2g} is allowed"
            for row, name, cell in self.pairs()
            if not cell.agrees
        ]
        return found + [
            f"{self.place(row)}: {row.verdict}, relative gap {row.relative_gap}"
            for row in self.rows
            if row.verdict is not None and not row.verdict.closed
        ]


def ours_text(cell: Cell, form: str = ".4g") -> str:
    """Our number as the print has it where they are equal, else with more digits than it."""
    if not cell.printed:
        return format(cell.ours, form)
    if cell.equal:  # a tie is written as the paper rounds it
        return cell.printed
    if "e" in cell.printed:
        places = len(cell.printed.partition(".")[2].partition("e")[0])
        mantissa, _, exponent = f"{cell.ours:.{places + 1}e}".partition("e")
        return f"{mantissa}e{int(exponent):+d}"
    places = max(0, cell.digits)
    if float(cell.ours).is_integer():
        return f"{cell.ours:.{places}f}"
    text = f"{cell.ours:.{places + 2}f}"  # unless that would seem to round to the print
    return text if not Cell(float(text), cell.printed).equal else f"{cell.ours:.{places + 4}f}"


def interval(printed: str) -> tuple[float, float]:
    """All numbers that round to the print."""
    half_a_digit = 0.5 * 10.0 ** -Cell(0.0, printed).digits
    return float(printed) - half_a_digit, float(printed) + half_a_digit


def reaches(values: Sequence[float], printed: str) -> bool:
    """Whether a number that rounds to the print lies between the least value and the largest."""
    low, high = interval(printed)
    return min(values) <= high and low <= max(values)


def within(share: float, printed: str) -> float:
    """What is allowed where ours is to be within a share of a number that rounds to the print."""
    low, high = interval(printed)
    return share * float(printed) + (1 + share) * (high - low) / 2
