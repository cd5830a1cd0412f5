"""What the features of data are called: columns of a data frame, or names that were given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tightmargin.number_words import short

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
