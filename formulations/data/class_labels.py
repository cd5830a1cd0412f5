"""What classes and features are called: labels of any kind, columns of a data frame, names."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.data.arrays import Array, refuse_non_finite
from tightmargin.number_words import short

# --- Labels of any kind: two of them as -1 and +1, several as the numbers 0 to K - 1 -------------

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


# --- What the features of data are called: columns of a data frame, or names that were given -----

SHOWN = 6


def feature_names_of(X: Any, given: Sequence[str], d: int) -> tuple[str, ...]:
    """Names (d,) as given, else the columns of a data frame where all are words; () for none.

    Raises ValueError: a single word, another number of names than features, a name that is no word,
        or one twice.
    """
    if isinstance(given, str):
        raise ValueError(f"feature_names must be {d} names, got {given!r}")
    names = list(given)
    if not names:
        columns = column_names(X)
        # Two columns of one name are told apart by their numbers alone.
        return columns if len(columns) == d == len(set(columns)) else ()
    if len(names) != d or not all(isinstance(name, str) for name in names):
        raise ValueError(f"feature_names must be {d} names, one for each feature; got {names!r}")
    if len(set(names)) < d:
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"feature_names holds {twice!r} twice")
    return tuple(str(name) for name in names)


def column_names(X: Any) -> tuple[str, ...]:
    """Names of the columns of a data frame where all are words; () for none."""
    columns = tuple(getattr(X, "columns", ()))
    return columns if all(isinstance(name, str) for name in columns) else ()


def paired(
    X: Any, features: Sequence[str], columns: Sequence[str] | None = None, *, extra: int = 0
) -> Any:
    """New points with their columns in the order of the training features.

    X (m, d).
    features: names of the training features; () where they have none.
    columns: names of the columns of X; by default those of a data frame. Without names on both
        sides the columns of X are taken in their order.
    extra: so many columns more than the features have are kept, as the last ones.
    Raises ValueError: a feature that X lacks, a column that is no feature, a name that X has twice.
    """
    columns = column_names(X) if columns is None else tuple(columns)
    if not features or not columns:
        return X
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise ValueError(f"the new points have two columns {twice[0]!r}: their names must differ")
    missing = [name for name in features if name not in set(columns)]
    foreign = [name for name in columns if name not in set(features)]
    if missing or len(foreign) > extra:
        parts = [
            f"{verb} {'column' if len(names) == 1 else 'columns'} {features_text(names)}"
            for verb, names in (("lack the", missing), ("have the unknown", foreign))
            if names
        ]
        raise ValueError(
            f"the new points {' and '.join(parts)}: the training features are "
            f"{features_text(features)}; name the columns of the new points like these"
        )
    order = [*features, *foreign]
    if order == list(columns):
        return X
    if hasattr(X, "columns"):
        return X[order]
    at = {name: k for k, name in enumerate(columns)}
    return X[:, [at[name] for name in order]]


def recorded_features(data: Any) -> dict[str, Any]:
    """What a record keeps of the names of features, and of where a file began to count them."""
    names, first = getattr(data, "feature_names", ()), getattr(data, "first_index", None)
    found: dict[str, Any] = {"feature_names": list(names)} if names else {}
    return found if first is None else found | {"first_index": first}


def features_text(names: Sequence[str]) -> str:
    """The names in a line, the first few of many."""
    shown = ", ".join(short(name, 24) for name in names[:SHOWN])
    left = len(names) - SHOWN
    return shown + (f" and {left} more" if left > 0 else "")


def legend(names: Sequence[str]) -> str:
    """Which weight belongs to which feature, the first few of many."""
    shown = ", ".join(f"w[{j}] of {short(name, 24)}" for j, name in enumerate(names[:SHOWN]))
    left = len(names) - SHOWN
    return shown + (f" and {left} more" if left > 0 else "")
