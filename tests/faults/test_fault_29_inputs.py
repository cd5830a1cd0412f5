"""Row 29: what people keep points in is converted to the same numbers, or refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tightmargin as tm

# Halves and quarters: exact in every format that follows.
X = np.array([[0.5, -1.0], [1.25, 0.0], [2.0, 2.5], [-3.0, 1.0], [0.0, 0.75], [1.0, -2.0]])
Y = np.array([1, -1, 1, -1, 1, -1])

CONVERTED: dict[str, Callable[[], tuple[Any, Any]]] = {
    "lists": lambda: (X.tolist(), Y.tolist()),
    "float32": lambda: (X.astype(np.float32), Y.astype(np.float32)),
    "array": lambda: (X.copy(), Y),
    "columns first": lambda: (np.array(X, order="F"), Y),
    "data frame": lambda: (pd.DataFrame(X, columns=["a", "b"]), pd.Series(Y)),
    "frame of mixed types": lambda: (
        pd.DataFrame({"a": X[:, 0].astype(np.float32), "b": X[:, 1]}),
        pd.Series(Y).astype("Int64"),
    ),
    "nullable frame": lambda: (pd.DataFrame(X).astype("Float64"), pd.Series(Y).astype("object")),
    "sparse frame": lambda: (pd.DataFrame(X).astype(pd.SparseDtype("float", 0.0)), Y),
    "nothing masked": lambda: (np.ma.array(X, mask=False, copy=True), np.ma.array(Y, mask=False)),
}


@pytest.mark.parametrize("kind", CONVERTED)
def test_row_29_is_converted_to_the_same_numbers(kind: str) -> None:
    points, labels = CONVERTED[kind]()
    data = tm.TrainingData(points, labels)
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, Y)
    assert data.X.dtype == data.y.dtype == np.float64
    assert data.X.flags.c_contiguous
    assert not data.X.flags.writeable
    assert data.sha256 == tm.TrainingData(X, Y).sha256
    if isinstance(points, np.ndarray):  # the data are a copy
        points[0, 0] = 99.0
        assert data.X[0, 0] == 0.5


MASKED = np.ma.array(X, mask=X > 2)
REFUSED: dict[str, tuple[Callable[[], tuple[Any, Any]], str]] = {
    "no rows": (lambda: (np.empty((0, 2)), []), r"n, d >= 1, got \(0, 2\)"),
    "one dimension": (lambda: (X[:, 0], Y), r"n, d >= 1, got \(6,\)"),
    "ragged": (lambda: ([[1.0, 2.0], [1.0]], [1, -1]), "X must hold real numbers"),
    "complex": (lambda: (X + 1j, Y), "X must hold real numbers"),
    "words": (
        lambda: (pd.DataFrame({"a": list("abcdef"), "b": X[:, 0]}), Y),
        "X must hold real numbers: 'a' in row 0, column 0",
    ),
    "missing cell": (
        lambda: (pd.DataFrame(X).astype("Float64").mask(X > 2), Y),
        "X must hold real numbers: <NA> in row 2, column 1",
    ),
    "masked label": (lambda: (X, np.ma.array(Y, mask=np.arange(6) == 2)), "y is masked in row 2"),
    "masked cell": (lambda: (MASKED, Y), "X holds nan in row 2, column 1"),
    "dates": (lambda: (np.array(pd.date_range("2020", periods=6))[:, None], Y), "dates or times"),
    "too large": (lambda: (X.astype(np.longdouble) * np.longdouble("1e4000"), Y), "X holds -?inf"),
    "one bool y": (lambda: (X, Y > 2), "one kind of label, False: two must occur"),
    "no y": (lambda: (X, None), r"y must have shape \(6,\)"),
    "missing y": (
        lambda: (X, pd.Series([1, -1, None, 1, -1, 1]).astype("Int64")), "y holds nan in row 2"
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_row_29_is_refused_in_one_line(kind: str) -> None:
    make, words = REFUSED[kind]
    points, labels = make()
    with pytest.raises(ValueError, match=words) as refusal:
        tm.TrainingData(points, labels)
    if kind != "ragged":
        assert "\n" not in str(refusal.value)
