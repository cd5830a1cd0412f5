"""Files of labelled points without column names: npz, libsvm and Brooks text.

Every reader returns `Points`: X (n, d), dense or sparse, and what its `labelling` makes of the
labels, y (n,) in {-1, +1} or names of classes. Complaints are sentences without the file name;
`tightmargin.experiments.data.specs` puts the spec in front. Rows are counted from 1 in files of
text, where the line is named too, and from 0 in arrays.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tightmargin.experiments.data.labels import Labelling, Points, as_text, signed
from tightmargin.formulations.data.arrays import Array, real_array, refuse_non_finite
from tightmargin.number_words import number_in


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


def read_npz(
    path: Path,
    label: str,
    positive: str | None,
    labelling: Labelling = signed,
    weight: str | None = None,
) -> Points:
    """Arrays X (n, d), `label` (n,) and `weight` (n,) of an archive written by `numpy.savez`.

    Raises ValueError: no archive, a damaged one, one with pickled objects, a missing array, wrong
        shapes, or a cell that is no finite number.
    """
    if not zipfile.is_zipfile(path):
        raise ValueError("this is no npz archive: write one with np.savez(file, X=X, y=y)")
    refuse_damage(path)
    with np.load(path, allow_pickle=False) as archive:
        for wanted in ("X", label, *(() if weight is None else (weight,))):
            if wanted not in archive.files:
                held = ", ".join(archive.files)
                raise ValueError(f"the archive holds no array {wanted!r}, it holds {held}")
        X, labels = archive["X"], archive[label]
        weights = None if weight is None else real_array(weight, archive[weight])
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
    return Points(points, y, weights)


def holds_array(name: str, array: str) -> bool:
    """Whether a file is an archive with an array of that name."""
    path = Path(name).expanduser()
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return f"{array}.npy" in archive.namelist()


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


def read_libsvm(path: Path, positive: str | None, labelling: Labelling = signed) -> Points:
    """Sparse X (n, d) and labels; indices may begin at 0 or at 1.

    Raises ValueError: a line that is not `label index:value ...`, or a number that is not finite.
    """
    from sklearn.datasets import load_svmlight_file

    # It takes 1_000 for a number, as Python does.
    content = path.read_bytes()
    for line, row in enumerate(content.splitlines() if b"_" in content else (), start=1):
        words = row.partition(b"#")[0].split()
        odd = next((word for word in words if b"_" in word), None)
        if odd is not None:
            shown = odd.decode("utf-8", errors="replace")
            raise ValueError(f"this is no libsvm file: line {line} holds {shown!r}")
    try:
        X, labels = load_svmlight_file(str(path), zero_based=True)
    except (ValueError, OverflowError) as error:
        why = "an index is too large" if isinstance(error, OverflowError) else error
        raise ValueError(f"this is no libsvm file: {why}") from error
    first = None if not X.indices.size else min(1, int(X.indices.min()))
    if first == 1:
        X = X[:, 1:]
    cells = X.tocoo()
    bad = np.flatnonzero(~np.isfinite(cells.data))
    if bad.size:
        row, column = cells.row[bad[0]], cells.col[bad[0]]
        raise ValueError(f"X holds {cells.data[bad[0]]} in row {row}, column {column}")
    _refuse_non_finite_label(labels)
    found = labelling([as_text(value) for value in labels], positive, "the first column")
    return Points(X, found, first_index=first)


def as_trained(new: Points, trained: Mapping[str, Any], d: int) -> Points:
    """New points of a libsvm file with the columns of the training points.

    trained: what the record of the result says of its data: `d`, and `first_index` where a file of
        the same kind was read.
    d: number of columns: features that do not occur are 0.
    Raises ValueError: features counted from 0 where the training file counts from 1; a feature
        beyond `d`.
    """
    X, first = new.X, trained.get("first_index")
    if first == 1 and new.first_index == 0:
        raise ValueError(
            "the features are counted from 0, and from 1 in the training file: write every index "
            "one higher"
        )
    if first == 0 and new.first_index == 1:  # the feature 0 occurs in no row
        X = sp.hstack([sp.csr_matrix((X.shape[0], 1)), X], format="csr")
    if X.shape[1] > d:
        start = new.first_index if first is None else first
        raise ValueError(
            f"the feature of index {X.shape[1] - 1 + (start or 0)} occurs, and the training points "
            f"have {d} features"
        )
    return replace(new, X=sp.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], d)))


def read_brooks(path: Path, positive: str | None, labelling: Labelling = signed) -> Points:
    """Brooks text: n and d, on one line or two, then label and features of each point.

    Raises ValueError: another beginning, another number of lines or of numbers than announced, or a
        word that is no finite number, with its row, line and column.
    """
    text = path.read_bytes().decode("utf-8", errors="replace")
    numbered = enumerate(text.splitlines(), start=1)
    lines = [(number, line.split()) for number, line in numbered if line.strip()]
    header_lines = 1 if lines and len(lines[0][1]) == 2 else 2
    header = [word for _, words in lines[:header_lines] for word in words]
    if len(header) != 2 or not all(word.isascii() and word.isdigit() for word in header):
        raise ValueError(
            "this is no file of points: no csv with commas, no libsvm with index:value, and no "
            "Brooks text, which is the numbers n and d, then label and features of each point; it "
            f"begins {' '.join(header)[:40]!r}"
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
    return Points(values[:, 1:], labelling(labels, positive, "the first column"))
