"""The rows and columns that a SPEC asks for: n=, seed=, stratify, features=."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from formulations.data import Array

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


def subset(X: Any, y: Array, options: Options) -> tuple[Any, Array]:
    """Draw the rows and choose the columns; X may be sparse."""
    columns = columns_of(options, X.shape[1])
    if "n" not in options:
        return X[:, columns], y
    size = whole(options, "n")
    if not 2 <= size <= len(y):
        raise ValueError(f"option n must lie between 2 and the {len(y)} rows, got {size}")
    rng = np.random.default_rng(whole(options, "seed", "0"))
    if "stratify" in options:
        rows = _stratified(y, size, rng)
    else:
        rows = np.sort(rng.choice(len(y), size, replace=False))
        if len(np.unique(y[rows])) < len(np.unique(y)):
            raise ValueError(
                f"the {size} rows drawn are all labelled {y[rows[0]]:+.0f}: add stratify, or "
                "change seed"
            )
    return X[rows][:, columns], y[rows]


def _stratified(y: Array, size: int, rng: np.random.Generator) -> np.ndarray:
    """Sorted row numbers; positive ones are drawn first; each class keeps at least one row."""
    positive, negative = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    if not (len(positive) and len(negative)):
        raise ValueError("option stratify needs both labels -1 and +1")
    nearest_share = (2 * size * len(positive) + len(y)) // (2 * len(y))
    share = min(max(nearest_share, 1), size - 1)
    drawn = (
        rng.choice(positive, share, replace=False),
        rng.choice(negative, size - share, replace=False),
    )
    return np.sort(np.concatenate(drawn))
