"""What the features of data are called: columns of a data frame, or names that were given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tightmargin.number_words import short

SHOWN = 6


def feature_names_of(X: Any, given: Sequence[str], d: int) -> tuple[str, ...]:
    """Names (d,) as given, else the columns of a data frame where all are words; () for none.

    Raises
    ------
    ValueError
        A single word, another number of names than features, a name that is no word, or one twice.
    """
    if isinstance(given, str):
        raise ValueError(f"feature_names must be {d} names, got {given!r}")
    names = list(given)
    if not names:
        columns = list(getattr(X, "columns", ()))
        words = len(columns) == d and all(isinstance(name, str) for name in columns)
        # Two columns of one name are told apart by their numbers alone.
        return tuple(columns) if words and len(set(columns)) == d else ()
    if len(names) != d or not all(isinstance(name, str) for name in names):
        raise ValueError(f"feature_names must be {d} names, one for each feature; got {names!r}")
    if len(set(names)) < d:
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"feature_names holds {twice!r} twice")
    return tuple(str(name) for name in names)


def recorded_features(data: Any) -> dict[str, Any]:
    """What a record keeps of the names of features; nothing where there are none."""
    names = getattr(data, "feature_names", ())
    return {"feature_names": list(names)} if names else {}


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
