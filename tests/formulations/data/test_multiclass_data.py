"""Data of several classes: what is refused, and in which words."""

from __future__ import annotations

import numpy as np
import pytest

from tightmargin.formulations import MulticlassData

X = np.arange(12.0).reshape(6, 2)


def test_classes_are_counted_and_read_only() -> None:
    data = MulticlassData(X, [0, 1, 2, 1, 0, 1])
    assert (data.n, data.d, data.n_classes) == (6, 2, 3)
    assert data.counts.tolist() == [2, 3, 1]
    assert data.classes == ("0", "1", "2")
    with pytest.raises(ValueError, match="read-only"):
        data.y[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        data.X[0, 0] = 1


@pytest.mark.parametrize(
    ("y", "classes", "numbers"),
    [
        ([1, 2, 3, 1, 2, 3], ("1", "2", "3"), [0, 1, 2, 0, 1, 2]),
        ([0.0, 2.0, 2.0, 0.0, 0.0, 2.0], ("0", "2"), [0, 1, 1, 0, 0, 1]),
        ([-1, 1, 1, -1, 0, 10], ("-1", "0", "1", "10"), [0, 2, 2, 0, 1, 3]),
        (["b", "a", "c", "a", "a", "b"], ("a", "b", "c"), [1, 0, 2, 0, 0, 1]),
        ([True, False, True, True, True, True], ("False", "True"), [1, 0, 1, 1, 1, 1]),
    ],
)
def test_labels_of_any_kind_are_numbered_in_their_order(
    y: list[object], classes: tuple[str, ...], numbers: list[int]
) -> None:
    data = MulticlassData(X, y)  # type: ignore[arg-type]
    assert data.classes == classes
    assert data.y.tolist() == numbers
