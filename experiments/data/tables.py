"""Tables of text with a column of labels: csv files, and the points and labels they hold.

Complaints name a cell by its row, counted from 1, the line of the file, and the column.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tightmargin.experiments.data.labels import Labelling, Points, nearest, signed
from tightmargin.formulations.data.arrays import Array
from tightmargin.number_words import number_in

_MISSING = ("", "?", "NA", "NaN", "nan")


@dataclass(frozen=True)
class Table:
    """Named columns and rows of text; `lines`, if any, says where each row stood in its file."""

    columns: list[str]
    rows: list[list[str]]
    lines: list[int] | None = None

    def place(self, row: int, column: int) -> str:
        """How a complaint names a cell."""
        line = f" (line {self.lines[row]})" if self.lines else ""
        return f"row {row + 1}{line}, column {self.columns[column]!r}"


def read_table(path: Path) -> Table:
    """Read a csv file with a header line.

    Raises ValueError: no csv, no row, a column named twice, or a row of another length than the
        header.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.reader(stream, skipinitialspace=True, strict=True)
            lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"this is no csv file: {error}") from error
    kept = [(number, row) for number, row in lines if row not in ([], [""])]
    if len(kept) < 2:
        raise ValueError("a header line and at least one row are needed")
    columns = kept[0][1]
    for name in columns:
        if columns.count(name) > 1:
            raise ValueError(f"the header names column {name!r} twice")
    for row_number, (number, row) in enumerate(kept[1:], start=1):
        if len(row) != len(columns):
            raise ValueError(
                f"row {row_number} (line {number}) has {len(row)} cells, "
                f"the header has {len(columns)}"
            )
    return Table(columns, [row for _, row in kept[1:]], [number for number, _ in kept[1:]])


def _complete_rows(table: Table) -> Table:
    kept = [k for k, row in enumerate(table.rows) if not any(cell in _MISSING for cell in row)]
    if not kept:
        raise ValueError("no row is complete: fill cells, or leave out the columns that are empty")
    lines = [table.lines[k] for k in kept] if table.lines else None
    return Table(table.columns, [table.rows[k] for k in kept], lines)


def _refuse_missing(table: Table) -> None:
    for r, row in enumerate(table.rows):
        for c, cell in enumerate(row):
            if cell in _MISSING:
                raise ValueError(
                    f"{table.place(r, c)} is {cell or 'empty'}: fill it, or leave such rows out "
                    "with the option complete"
                )


NUMBERS = "features must be numbers, so encode categories as 0/1 columns first"


def _numeric(table: Table, columns: Sequence[int], wanted: str = NUMBERS) -> Array:
    X = np.empty((len(table.rows), len(columns)))
    for r, row in enumerate(table.rows):
        for k, c in enumerate(columns):
            value = number_in(row[c])
            if value is None:
                raise ValueError(f"{table.place(r, c)} holds {row[c]!r}: {wanted}")
            if not math.isfinite(value):
                raise ValueError(f"{table.place(r, c)} holds {row[c]}: features must be finite")
            X[r, k] = value
    return X


def _category_order(value: str) -> tuple[int, str]:
    """Ranges such as 5-9 and 10-14 by their first number, words by the alphabet."""
    digits = re.match(r"\d+", value)
    return (int(digits.group()) if digits else -1, value)


def _dummies(table: Table, columns: Sequence[int]) -> Array:
    """0/1 columns, one for each value of each column; for two values the second only."""
    blocks = []
    for c in columns:
        cells = np.array([row[c] for row in table.rows])
        values = sorted(set(cells.tolist()), key=_category_order)
        kept = values[1:] if len(values) == 2 else values
        blocks.append((cells[:, None] == np.array(kept)[None, :]).astype(np.float64))
    return np.hstack(blocks)


def from_table(
    table: Table,
    label: str,
    positive: str | None,
    *,
    complete: bool = False,
    categorical: bool = False,
    labelling: Labelling = signed,
    weight: str | None = None,
) -> Points:
    """Points and labels of a table.

    table: cells of text.
    label: the column of labels; every other column but that of weights is a feature.
    positive: see `signed`.
    complete: leave out rows with a missing cell; otherwise the first one is refused.
    categorical: make 0/1 columns of every feature instead of reading numbers.
    labelling: `signed`, or `named` for several classes.
    weight: the column that says what the points weigh.
    Returns: with the names of the columns, but of 0/1 columns.
    Raises ValueError: no such column, or a missing, non-numeric or non-finite cell, with its row
        and column.
    """
    if label not in table.columns:
        shown = ", ".join(table.columns[:12]) + (", ..." if len(table.columns) > 12 else "")
        raise ValueError(
            f"the header names no label column {label!r}: {nearest(label, table.columns)}name it "
            f"with --label, or with label=... in the spec; the columns are {shown}"
        )
    if weight is not None and (weight not in table.columns or weight == label):
        hint = nearest(weight, table.columns)
        why = "that is the column of labels" if weight == label else "the header names no such one"
        raise ValueError(f"weight={weight}: {why}{': ' + hint.rstrip() if hint else ''}")
    if complete:
        table = _complete_rows(table)
    _refuse_missing(table)
    where = table.columns.index(label)
    features = [c for c, name in enumerate(table.columns) if name not in (label, weight)]
    if not features:
        raise ValueError(f"there is no column besides the labels {label!r}")
    X = _dummies(table, features) if categorical else _numeric(table, features)
    labels = labelling([row[where] for row in table.rows], positive, f"column {label!r}")
    weights = None
    if weight is not None:
        weights = _numeric(table, [table.columns.index(weight)], "weights must be numbers")[:, 0]
    return Points(
        X, labels, weights, () if categorical else tuple(table.columns[c] for c in features)
    )
