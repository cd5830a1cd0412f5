"""The rows and columns that a SPEC asks for: n=, seed=, stratify, features=."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.experiments.data.labels import Points

Options = Mapping[str, str]


def whole(options: Options, name: str, default: str = "") -> int:
    """Value of an option that counts something."""
    text = options.get(name, default)
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"option {name} must be a whole number, got {text!r}")
    return int(text)


def columns_of(options: Options, d: int) -> list[int]:
    """Column numbers of the option `features`; all columns without it."""
    if "features" not in options:
        return list(range(d))
    words = options["features"].split("+")
    if not all(word.isascii() and word.isdigit() for word in words):
        raise ValueError(
            f"option features must be column numbers joined by +, got {options['features']!r}"
        )
    chosen = [int(word) for word in words]
    if max(chosen) >= d:
        raise ValueError(
            f"option features asks for column {max(chosen)}: the columns are 0 to {d - 1}"
        )
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"option features names a column twice: {options['features']}")
    return chosen


def subset(points: Points, options: Options) -> Points:
    """Draw the rows and choose the columns; X may be sparse, labels signs or names of classes."""
    X, y, weights, names = points
    columns = columns_of(options, X.shape[1])
    names = tuple(names[c] for c in columns) if names else ()
    if "n" not in options:
        return replace(points, X=X[:, columns], names=names)
    size = whole(options, "n")
    classes = np.unique(y)
    fewest = max(len(classes), 2)
    if not fewest <= size <= len(y):
        raise ValueError(f"option n must lie between {fewest} and the {len(y)} rows, got {size}")
    rng = np.random.default_rng(whole(options, "seed", "0"))
    if "stratify" in options:
        rows = _stratified(y, classes, size, rng)
    else:
        rows = np.sort(rng.choice(len(y), size, replace=False))
        _refuse_lost_classes(y[rows], classes)
    drawn = None if weights is None else weights[rows]
    return Points(X[rows][:, columns], y[rows], drawn, names, points.first_index)


def _refuse_lost_classes(drawn: NDArray[Any], classes: NDArray[Any]) -> None:
    lost = [name for name in classes if name not in drawn]
    if not lost:
        return
    what = f"are all labelled {drawn[0]:+.0f}" if drawn.dtype.kind == "f" else ""
    what = what or f"hold no point of the class {lost[0]}"
    raise ValueError(f"the {len(drawn)} rows drawn {what}: add stratify, or change seed")


def _stratified(
    y: NDArray[Any], classes: NDArray[Any], size: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Sorted row numbers; the last class is drawn first; each class keeps at least one row."""
    if len(classes) < 2:
        raise ValueError(
            "option stratify needs both labels -1 and +1"
            if y.dtype.kind == "f"
            else "option stratify needs at least two classes"
        )
    members = [np.flatnonzero(y == name) for name in classes[::-1]]
    shares = _shares(np.array([len(rows) for rows in members]), size)
    drawn = [rng.choice(m, k, replace=False) for m, k in zip(members, shares, strict=True)]
    return np.sort(np.concatenate(drawn))


def _shares(counts: NDArray[np.intp], size: int) -> list[int]:
    """Whole numbers of sum `size` nearest to the shares of the classes, none of them 0.

    What is left after rounding down goes to the largest remainders, the first of equal ones.
    """
    total = int(counts.sum())
    shares, rest = size * counts // total, size * counts % total
    shares[np.argsort(-rest, kind="stable")[: size - int(shares.sum())]] += 1
    while (shares == 0).any():
        shares[np.flatnonzero(shares == 0)[0]] = 1
        shares[int(np.argmax(shares))] -= 1
    return shares.tolist()
