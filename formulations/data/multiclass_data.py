"""Training data of more than two classes, checked once and read-only ever after."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.data.arrays import (
    Array,
    digest,
    keep_read_only,
    real_array,
    refuse_non_finite,
)
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.number_words import count_text, short
from tightmargin.printing import NUMBERS, Page, Printed

Labels = NDArray[np.int64]


def checked_classes(y: ArrayLike, n: int) -> Labels:
    """Labels as whole numbers 0 to K - 1, each of which occurs.

    Raises
    ------
    ValueError
        Another shape, labels that are no whole numbers or skip one, fewer than two classes.
    """
    numbers = real_array("y", y)
    if numbers.shape != (n,):
        raise ValueError(f"y must have shape ({n},) to match the points, got {numbers.shape}")
    refuse_non_finite("y", numbers)
    labels = numbers.astype(np.int64)
    odd = np.flatnonzero(labels != numbers)
    if odd.size:
        raise ValueError(f"y holds {numbers[odd[0]]} in row {odd[0]}: classes are whole numbers")
    distinct = np.unique(labels)
    if len(distinct) < 2:
        raise ValueError(f"at least two classes must occur, got only {distinct.tolist()}")
    if distinct[0] != 0 or distinct[-1] != len(distinct) - 1:
        raise ValueError(
            f"classes must be 0 to K - 1 and each must occur, got {distinct[:8].tolist()}; write "
            "np.unique(y, return_inverse=True)[1]"
        )
    return labels


@dataclass(frozen=True, eq=False, repr=False)
class MulticlassData(Printed):
    """n points of K classes.

    Parameters
    ----------
    X : array (n, d)
        Points, converted to float64. Sparse matrices are made dense up to 2 GiB.
    y : array (n,)
        Classes, whole numbers 0 to K - 1, each of which occurs.
    spec : str
        Where the data came from, kept for the record of a result.
    classes : tuple of str
        Names of the classes in the order of their numbers; by default the numbers.

    Raises
    ------
    ValueError
        Naming the argument, and the row and column of the first bad cell.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.MulticlassData([[0.0], [1.0], [2.0]], [0, 1, 2], classes=("low", "mid", "high"))
    >>> data.n_classes, data.classes
    (3, ('low', 'mid', 'high'))
    """

    X: Array
    y: Labels
    spec: str = ""
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        points = real_array("X", self.X)
        if points.ndim != 2 or 0 in points.shape:
            raise ValueError(f"X must have shape (n, d) with n, d >= 1, got {points.shape}")
        refuse_non_finite("X", points)
        labels = checked_classes(self.y, len(points))
        k = int(labels.max()) + 1
        names = tuple(str(name) for name in self.classes) or tuple(str(c) for c in range(k))
        if len(names) != k or len(set(names)) != k:
            raise ValueError(f"classes must be {k} different names, got {names}")
        keep_read_only(self, X=points, y=labels)
        object.__setattr__(self, "classes", names)

    def _title(self) -> str:
        source = f" {short(self.spec)}" if self.spec else ""
        sizes = (
            f"{count_text(self.n, 'point')}, {count_text(self.d, 'feature')}, "
            f"{self.n_classes} classes"
        )
        return f"MulticlassData{source}: {sizes}"

    def _page(self) -> Page:
        shown = zip(self.classes[:NUMBERS], self.counts.tolist(), strict=False)
        told = ", ".join(f"{count} of {short(name, 12)}" for name, count in shown)
        left = self.n_classes - NUMBERS
        return Page(
            self._title(),
            [
                ("labels", told + (f" and {left} classes more" if left > 0 else "")),
                ("next", ".X, .y, .to_dict()"),
            ],
        )

    @property
    def n(self) -> int:
        """Number of points."""
        return self.X.shape[0]

    @property
    def d(self) -> int:
        """Number of features."""
        return self.X.shape[1]

    @property
    def n_classes(self) -> int:
        """Number of classes, K."""
        return len(self.classes)

    @property
    def counts(self) -> Labels:
        """Number of points of each class (K,)."""
        return np.bincount(self.y, minlength=self.n_classes)

    @property
    def factor(self) -> Array:
        """Rows whose inner products are the (linear) kernel: the points themselves."""
        return self.X

    @cached_property
    def sha256(self) -> str:
        """Digest of X and y, independent of memory layout."""
        return digest(self.X, self.y.astype(np.float64))


BuilderData = TrainingData | GramData | MulticlassData


def points_or_kernel(data: BuilderData) -> TrainingData | GramData:
    """The data of two classes that most methods read.

    Raises
    ------
    ValueError
        Points of several classes.
    """
    if isinstance(data, MulticlassData):
        raise ValueError("this reads points of two classes, not of several")
    return data
