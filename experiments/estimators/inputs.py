"""What scikit-learn's own checks of input let through and a certified fit must not."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

TIMES = "mM"
SPARSE = ("csr", "csc")  # into which scikit-learn turns the other formats


def plain(value: Any) -> Any:
    """The Python number or word of a numpy scalar, as grids of hyperparameters hold them."""
    return value.item() if isinstance(value, np.generic) else value


def refuse_strange(X: Any, y: Any = None) -> None:
    """Refuse masked cells and times, which numpy reads as the numbers behind them.

    Raises ValueError: naming the argument, and the first masked row.
    """
    kinds = [getattr(kind, "kind", "") for kind in _types(X)]
    if any(kind in TIMES for kind in kinds if kind):
        raise ValueError(
            "X must hold real numbers, not dates or times: give durations in a unit, as numbers"
        )
    for name, values in (("X", X), ("y", y)):
        if np.ma.isMaskedArray(values) and np.ma.getmaskarray(values).any():
            row = np.argwhere(np.ma.getmaskarray(values))[0][0]
            raise ValueError(f"{name} is masked in row {row}: leave such rows out, or fill them")


def checked(validate: Callable[..., Any], X: Any, **words: Any) -> Any:
    """What scikit-learn's validation returns; a number too large for a float is a ValueError."""
    try:
        return validate(X=X, accept_sparse=SPARSE, dtype=np.float64, **words)
    except OverflowError as error:
        raise ValueError(f"X must hold real numbers: {error}") from None


def known_labels(y: ArrayLike) -> NDArray[Any]:
    """Labels of two or more classes, numbers as numbers also where their array holds objects.

    Raises ValueError: a label that is None, which scikit-learn takes for a word; numbers that are
        no classes.
    """
    from sklearn.utils.multiclass import check_classification_targets

    labels = np.asarray(y)
    if labels.dtype == object:
        missing = [k for k, label in enumerate(labels) if label is None]
        if missing:
            raise ValueError(
                f"y is missing in row {missing[0]} ({len(missing)} such rows): leave them out"
            )
        if all(isinstance(label, Real) for label in labels):
            labels = np.array(labels.tolist())
        elif not all(isinstance(label, str) for label in labels):
            kinds = sorted({type(label).__name__ for label in labels})
            raise ValueError(f"Unknown label type: y mixes or holds {', '.join(kinds)}")
    check_classification_targets(labels)
    return labels


def _types(X: Any) -> list[Any]:
    """Types of the cells: of the columns of a data frame, or of the array."""
    columns = getattr(X, "dtypes", None)
    if columns is not None:
        return list(np.atleast_1d(np.asarray(columns, dtype=object)))
    return [getattr(X, "dtype", None)]
