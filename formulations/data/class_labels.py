"""Labels of any kind: two of them as -1 and +1, several as the numbers 0 to K - 1."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.data.arrays import Array, refuse_non_finite
from tightmargin.number_words import short

SIGNS = (-1, 1)
ONE_KIND = "both labels -1 and +1 must occur, got only:"


def two_labels(y: ArrayLike, n: int, positive: Any = None) -> tuple[Array, tuple[Any, Any]]:
    """Signs of the points, and the two labels that stand for -1 and for +1.

    y (n,): numbers, words, booleans or other labels of two kinds.
    positive: the one that is +1; by default the larger one, True of booleans.
    Raises ValueError: another shape, a missing label, fewer or more than two kinds, a `positive`
        that is none of them or without which the larger one is not known.
    """
    labels, place = distinct_labels(y, n)
    if len(labels) > 2:
        raise ValueError(
            f"y holds {len(labels)} kinds of labels, {_listed(labels)}: MulticlassData takes them "
            "all; for one against the rest pass y == label"
        )
    if len(labels) < 2:
        if set(labels) <= set(SIGNS):
            only = ", ".join(f"{label:+d}" for label in labels) or "none"
            raise ValueError(f"{ONE_KIND} {only}")
        raise ValueError(f"y holds one kind of label, {labels[0]!r}: two must occur")
    first, second = labels
    if positive is None:
        if not _have_an_order(labels):
            raise ValueError(f"{_listed(labels)} have no order: say which is +1 with positive=")
    elif positive not in labels:
        raise ValueError(f"positive is {positive!r}, and y holds {_listed(labels)}")
    elif positive == first:
        return np.where(place == 0, 1.0, -1.0), (second, first)
    return np.where(place == 1, 1.0, -1.0), (first, second)


def several_labels(y: ArrayLike, n: int) -> tuple[NDArray[np.int64], tuple[Any, ...]]:
    """Numbers 0 to K - 1 of the labels in their order, and the labels.

    Raises ValueError: another shape, a missing label, a number that is not whole, fewer than two
        kinds.
    """
    labels, place = distinct_labels(y, n)
    for k, label in enumerate(labels):
        if isinstance(label, float):
            row = int(np.flatnonzero(place == k)[0])
            raise ValueError(f"y holds {label} in row {row}: classes are whole numbers or words")
    if len(labels) < 2:
        raise ValueError(f"at least two classes must occur, got only {labels}")
    return place.astype(np.int64), tuple(labels)


def distinct_labels(y: ArrayLike, n: int) -> tuple[list[Any], NDArray[np.intp]]:
    """The different labels, sorted where they have an order, and the place of each point's (n,).

    Labels are plain Python values, whole numbers as int.

    Raises ValueError: another shape; a label that is missing, not finite, complex or a time;
        numbers beside words.
    """
    masked = np.flatnonzero(np.ma.getmaskarray(y)) if np.ma.isMaskedArray(y) else np.empty(0)
    if masked.size:
        raise ValueError(f"y is masked in row {masked[0]} ({masked.size} such rows)")
    found = np.asarray(y)
    if found.shape != (n,):
        raise ValueError(f"y must have shape ({n},) to match the points, got {found.shape}")
    if found.dtype.kind == "O":
        found = _of_one_kind(found)
    if found.dtype.kind not in "fiubUSO":
        raise ValueError(f"y must hold labels of two kinds, numbers or words; got {found.dtype}")
    if found.dtype.kind == "O":
        return _distinct_objects(found.tolist())
    if found.dtype.kind == "f":
        refuse_non_finite("y", found)
    kinds, place = np.unique(found, return_inverse=True)
    return [_plain(label) for label in kinds.tolist()], place.reshape(-1)


def label_text(label: Any) -> str:
    """A label for a table or a legend: +1 and -1 with their sign."""
    if isinstance(label, int) and not isinstance(label, bool) and label in SIGNS:
        return f"{label:+d}"
    return short(str(label), 12)


def plain_label(label: Any) -> Any:
    """A label as a file can hold it: numbers, words and booleans as they are, others as text."""
    return label if isinstance(label, bool | int | float | str) else str(label)


def recorded_classes(data: Any) -> dict[str, Any]:
    """What a record keeps of the labels of data; nothing where they are -1 and +1."""
    found = tuple(data.classes)
    return {} if found == SIGNS else {"classes": [plain_label(label) for label in found]}


def _of_one_kind(found: NDArray[Any]) -> NDArray[Any]:
    """Cells that pandas calls objects, as numbers, booleans or words where all of them are."""
    cells = [cell.item() if isinstance(cell, np.generic) else cell for cell in found.tolist()]
    missing = [row for row, cell in enumerate(cells) if _is_missing(cell)]
    kinds = {_kind(cell) for cell in cells if not _is_missing(cell)}
    if missing and kinds == {"number"}:
        return np.array([np.nan if _is_missing(cell) else float(cell) for cell in cells])
    if missing:
        raise ValueError(f"y is missing in row {missing[0]} ({len(missing)} such rows)")
    if len(kinds) > 1:
        raise ValueError(f"y mixes labels of the kinds {', '.join(sorted(kinds))}")
    if kinds <= {"number", "bool", "str"}:
        return np.array(cells)
    return found


def _kind(cell: Any) -> str:
    if isinstance(cell, bool):
        return "bool"
    return "number" if isinstance(cell, Real) else type(cell).__name__


def _is_missing(cell: Any) -> bool:
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or _is_nan(cell)


def _is_nan(cell: Any) -> bool:
    return isinstance(cell, float) and cell != cell


def _distinct_objects(cells: list[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    try:
        labels = list(dict.fromkeys(cells))
    except TypeError:
        raise ValueError(f"y holds {type(cells[0]).__name__}, which is no label") from None
    if _have_an_order(labels):
        labels.sort()
    at = {label: k for k, label in enumerate(labels)}
    return labels, np.array([at[cell] for cell in cells], dtype=np.intp)


def _have_an_order(labels: list[Any]) -> bool:
    try:
        sorted(labels)
    except TypeError:
        return False
    return True


def _plain(label: Any) -> Any:
    return int(label) if isinstance(label, float) and label.is_integer() else label


def _listed(labels: list[Any]) -> str:
    shown = ", ".join(repr(label) for label in labels[:4])
    return shown + (", ..." if len(labels) > 4 else "")
