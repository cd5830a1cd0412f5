"""Files of labelled points: csv, npz, libsvm and Brooks text, read without guessing.

Every reader returns X (n, d), dense or sparse, and what its `labelling` makes of the labels: y (n,)
in {-1, +1}, or names of classes. Complaints are sentences without the file name;
`experiments.datasets` puts the spec in front. Rows are counted from 1 in files of text, where the
line is named too, and from 0 in arrays.
"""

from __future__ import annotations

import csv
import math
import re
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.labels import Labelling, as_text, nearest, number_in, signed
from formulations.checked_arrays import real_array, refuse_non_finite
from formulations.data import Array

_MISSING = ("", "?", "NA", "NaN", "nan")


def existing(name: str) -> Path:
    """Find the file `name`; a complaint names the file nearest in spelling."""
    path = Path(name).expanduser()
    if path.is_dir():
        raise ValueError("this is a folder: name a file in it")
    if not path.is_file():
        beside = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        close = get_close_matches(path.name, beside, n=1)
        hint = f": did you mean {path.parent / close[0]}?" if close else ""
        raise FileNotFoundError(f"there is no file {name}{hint}")
    return path


# Tables of text


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

    Raises
    ------
    ValueError
        No csv, no row, a column named twice, or a row of another length than the header.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.reader(stream, skipinitialspace=True, strict=True)
            lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
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
        raise ValueError("no row is complete")
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


def _numeric(table: Table, columns: Sequence[int]) -> Array:
    X = np.empty((len(table.rows), len(columns)))
    for r, row in enumerate(table.rows):
        for k, c in enumerate(columns):
            value = number_in(row[c])
            if value is None:
                raise ValueError(
                    f"{table.place(r, c)} holds {row[c]!r}: features must be numbers, so encode "
                    "categories as 0/1 columns first"
                )
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
) -> tuple[Array, NDArray[Any]]:
    """Points and labels of a table.

    Parameters
    ----------
    table : Table
        Cells of text.
    label : str
        The column of labels; every other column is a feature.
    positive : str or None
        See `signed`.
    complete : bool
        Leave out rows with a missing cell; otherwise the first one is refused.
    categorical : bool
        Make 0/1 columns of every feature instead of reading numbers.
    labelling : callable
        `signed`, or `named` for several classes.

    Returns
    -------
    array (n, d), array (n,)

    Raises
    ------
    ValueError
        No such column, or a missing, non-numeric or non-finite cell, with its row and column.
    """
    if label not in table.columns:
        shown = ", ".join(table.columns[:12]) + (", ..." if len(table.columns) > 12 else "")
        raise ValueError(
            f"the header names no label column {label!r}: {nearest(label, table.columns)}name it "
            f"with --label, or with label=... in the spec; the columns are {shown}"
        )
    if complete:
        table = _complete_rows(table)
    _refuse_missing(table)
    where = table.columns.index(label)
    features = [c for c in range(len(table.columns)) if c != where]
    if not features:
        raise ValueError(f"there is no column besides the labels {label!r}")
    X = _dummies(table, features) if categorical else _numeric(table, features)
    return X, labelling([row[where] for row in table.rows], positive, f"column {label!r}")


# Files without column names


def read_npz(
    path: Path, label: str, positive: str | None, labelling: Labelling = signed
) -> tuple[Array, NDArray[Any]]:
    """Arrays X (n, d) and `label` (n,) of an archive written by `numpy.savez`.

    Raises
    ------
    ValueError
        No archive, a damaged one, one with pickled objects, a missing array, wrong shapes, or a
        cell that is no finite number.
    """
    if not zipfile.is_zipfile(path):
        raise ValueError("this is no npz archive: write one with np.savez(file, X=X, y=y)")
    refuse_damage(path)
    with np.load(path, allow_pickle=False) as archive:
        for wanted in ("X", label):
            if wanted not in archive.files:
                held = ", ".join(archive.files)
                raise ValueError(f"the archive holds no array {wanted!r}, it holds {held}")
        X, labels = archive["X"], archive[label]
    if X.ndim != 2 or labels.shape != X.shape[:1]:
        raise ValueError(
            f"X must have shape (n, d) and {label} shape (n,), got {X.shape} and {labels.shape}"
        )
    if labels.dtype.kind == "S":
        labels = labels.astype(str)
    if labels.dtype.kind == "f":
        _refuse_non_finite_label(labels)
    y = labelling([as_text(value) for value in labels.tolist()], positive, f"array {label!r}")
    # Checked here, so that a bad cell is named by its row in the file and not in a subset.
    points = real_array("X", X)
    refuse_non_finite("X", points)
    return points, y


def refuse_damage(path: Path) -> None:
    """Compare checksums first: numpy would read damaged headers as Python."""
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ValueError(f"the archive is damaged: {error}") from error
    if damaged is not None:
        raise ValueError(f"the archive is damaged in {damaged}")


def _refuse_non_finite_label(labels: Array) -> None:
    bad = np.flatnonzero(~np.isfinite(labels))
    if bad.size:
        raise ValueError(f"the label in row {bad[0]} is {labels[bad[0]]}")


def read_libsvm(
    path: Path, positive: str | None, labelling: Labelling = signed
) -> tuple[Any, NDArray[Any]]:
    """Sparse X (n, d) and labels; indices may begin at 0 or at 1.

    Raises
    ------
    ValueError
        A line that is not `label index:value ...`, or a number that is not finite.
    """
    from sklearn.datasets import load_svmlight_file

    try:
        X, labels = load_svmlight_file(str(path))
    except ValueError as error:
        raise ValueError(f"this is no libsvm file: {error}") from error
    cells = X.tocoo()
    bad = np.flatnonzero(~np.isfinite(cells.data))
    if bad.size:
        row, column = cells.row[bad[0]], cells.col[bad[0]]
        raise ValueError(f"X holds {cells.data[bad[0]]} in row {row}, column {column}")
    _refuse_non_finite_label(labels)
    return X, labelling([as_text(value) for value in labels], positive, "the first column")


def read_brooks(
    path: Path, positive: str | None, labelling: Labelling = signed
) -> tuple[Array, NDArray[Any]]:
    """Brooks text: n and d, on one line or two, then label and features of each point.

    Raises
    ------
    ValueError
        Another beginning, another number of lines or of numbers than announced, or a word that is
        no finite number, with its row, line and column.
    """
    numbered = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    lines = [(number, line.split()) for number, line in numbered if line.strip()]
    header_lines = 1 if lines and len(lines[0][1]) == 2 else 2
    header = [word for _, words in lines[:header_lines] for word in words]
    if len(header) != 2 or not all(word.isascii() and word.isdigit() for word in header):
        raise ValueError(
            "a file without suffix must be Brooks text: the numbers n and d, then label and "
            f"features of each point; this one begins {' '.join(header)[:40]!r}"
        )
    n, d = (int(word) for word in header)
    body = lines[header_lines:]
    if len(body) != n or n < 1 or d < 1:
        raise ValueError(f"{n} points with {d} features are announced, {len(body)} lines follow")
    values = np.empty((n, d + 1))
    for row, (number, words) in enumerate(body):
        if len(words) != d + 1:
            raise ValueError(
                f"row {row + 1} (line {number}) has {len(words)} numbers, not {d + 1}: a label "
                f"and {d} features"
            )
        for column, word in enumerate(words):
            value = number_in(word)
            if value is None or not math.isfinite(value):
                raise ValueError(
                    f"row {row + 1} (line {number}), column {column} holds {word!r}: it must be a "
                    "finite number"
                )
            values[row, column] = value
    labels = [as_text(value) for value in values[:, 0]]
    return values[:, 1:], labelling(labels, positive, "the first column")
