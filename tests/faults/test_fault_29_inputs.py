"""Row 29: what people keep points in is converted to the same numbers, or refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
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
    "float16": lambda: (X.astype(np.float16), Y.astype(np.int8)),
    "long double": lambda: (X.astype(np.longdouble), Y),
    "big endian": lambda: (X.astype(">f8"), Y.astype(">i4")),
    "columns first": lambda: (np.array(X, order="F"), Y),
    "every second row": lambda: (np.repeat(X, 2, axis=0)[::2], np.repeat(Y, 2)[::2]),
    "read-only": lambda: (_read_only(X), _read_only(Y)),
    "objects": lambda: (X.astype(object), Y.astype(object)),
    "fractions": lambda: ([[Fraction(a) for a in row] for row in X.tolist()], Y),
    "matrix": lambda: (np.matrix(X), Y),
    "data frame": lambda: (pd.DataFrame(X, columns=["a", "b"]), pd.Series(Y)),
    "frame of mixed types": lambda: (
        pd.DataFrame({"a": X[:, 0].astype(np.float32), "b": X[:, 1]}),
        pd.Series(Y).astype("Int64"),
    ),
    "nullable frame": lambda: (pd.DataFrame(X).astype("Float64"), pd.Series(Y).astype("object")),
    "sparse frame": lambda: (pd.DataFrame(X).astype(pd.SparseDtype("float", 0.0)), Y),
    "nothing masked": lambda: (np.ma.array(X, mask=False, copy=True), np.ma.array(Y, mask=False)),
}


def _read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.setflags(write=False)
    return copy


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of np.matrix
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
    if isinstance(points, np.ndarray) and points.flags.writeable:  # the data are a copy
        points[0, 0] = 99.0
        assert data.X[0, 0] == 0.5


MASKED = np.ma.array(X, mask=X > 2)
REFUSED: dict[str, tuple[Callable[[], tuple[Any, Any]], str]] = {
    "no rows": (lambda: (np.empty((0, 2)), []), r"n, d >= 1, got \(0, 2\)"),
    "no columns": (lambda: (np.empty((6, 0)), Y), r"n, d >= 1, got \(6, 0\)"),
    "no data": (lambda: (None, Y), r"n, d >= 1|real numbers"),
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
    "none in a row": (
        lambda: ([[1.0, 2.0], [None, 1.0]], [1, -1]), "X holds nan in row 1, column 0"
    ),
    "masked label": (lambda: (X, np.ma.array(Y, mask=np.arange(6) == 2)), "y is masked in row 2"),
    "masked cell": (lambda: (MASKED, Y), "X holds nan in row 2, column 1"),
    "dates": (lambda: (np.array(pd.date_range("2020", periods=6))[:, None], Y), "dates or times"),
    "times": (lambda: (np.arange(12).reshape(6, 2).astype("m8[s]"), Y), "dates or times"),
    "dates in a frame": (
        lambda: (pd.DataFrame({"a": pd.date_range("2020", periods=6), "b": X[:, 0]}), Y),
        "dates or times",
    ),
    "too large": (lambda: (X.astype(np.longdouble) * np.longdouble("1e4000"), Y), "X holds -?inf"),
    "too large integer": (lambda: ([[10**400], [1]], [1, -1]), "X must hold real numbers: 1000"),
    "one bool y": (lambda: (X, Y > 2), "one kind of label, False: two must occur"),
    "column y": (lambda: (X, Y[:, None]), r"y must have shape \(6,\).*got \(6, 1\)"),
    "no y": (lambda: (X, None), r"y must have shape \(6,\)"),
    "missing y": (
        lambda: (X, pd.Series([1, -1, None, 1, -1, 1]).astype("Int64")), "y holds nan in row 2"
    ),
    "generator": (lambda: ((row for row in X), Y), "X must hold real numbers"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_row_29_is_refused_in_one_line(kind: str) -> None:
    make, words = REFUSED[kind]
    points, labels = make()
    with pytest.raises(ValueError, match=words) as refusal:
        tm.TrainingData(points, labels)
    if kind != "ragged":
        assert "\n" not in str(refusal.value)
