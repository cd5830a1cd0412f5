"""Training data of more than two classes, checked once and read-only ever after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import (
    Array,
    digest,
    keep_read_only,
    real_array,
    refuse_non_finite,
)
from tightmargin.formulations.data.class_labels import (
    feature_names_of,
    features_text,
    several_labels,
)
from tightmargin.formulations.data.point_weights import (
    ClassWeight,
    WeightedPoints,
    above_zero,
    weights_of_points,
    weights_text,
)
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.number_words import count_text, short
from tightmargin.printing import NUMBERS, Page, Printed

Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class MulticlassData(Printed, WeightedPoints):
    """n points of K classes.

    Parameters
    ----------
    X : array (n, d)
        Points, converted to float64. Sparse matrices are made dense up to 2 GiB.
    y : array (n,)
        Labels of two or more kinds, whole numbers or words. They are kept as the numbers 0 to
        K - 1, in their order.
    spec : str
        Where the data came from, kept for the record of a result.
    classes : tuple of str
        Names of the classes in their order; by default the labels.
    sample_weight, class_weight : optional
        As for `TrainingData`; of class_weight a sequence has K numbers in the order of the classes.
    feature_names, first_index : optional
        As for `TrainingData`.

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
    sample_weight: Array | None = field(default=None, kw_only=True)
    class_weight: ClassWeight = field(default=None, kw_only=True)
    feature_names: Sequence[str] = field(default=(), kw_only=True)
    first_index: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        points = real_array("X", self.X)
        if points.ndim != 2 or 0 in points.shape:
            raise ValueError(f"X must have shape (n, d) with n, d >= 1, got {points.shape}")
        refuse_non_finite("X", points)
        labels, kinds = several_labels(self.y, len(points))
        k = len(kinds)
        names = tuple(str(name) for name in self.classes or kinds)
        if len(names) != k or len(set(names)) != k:
            raise ValueError(f"classes must be {k} different names, got {names}")
        weights = weights_of_points(self.sample_weight, self.class_weight, names, labels)
        kept, weights = above_zero(weights, len(points))
        features = feature_names_of(self.X, self.feature_names, points.shape[1])
        object.__setattr__(self, "feature_names", features)
        keep_read_only(self, X=points[kept], y=labels[kept])
        object.__setattr__(self, "classes", names)
        object.__setattr__(self, "sample_weight", weights)
        object.__setattr__(self, "class_weight", None)

    def _title(self) -> str:
        source = f" {short(self.spec)}" if self.spec else ""
        sizes = (
            f"{count_text(self.n, 'point')}, {count_text(self.d, 'feature')}, "
            f"{self.n_classes} classes"
        ) + ("" if self.weights is None else ", weighted")
        return f"MulticlassData{source}: {sizes}"

    def _page(self) -> Page:
        shown = zip(self.classes[:NUMBERS], self.counts.tolist(), strict=False)
        told = ", ".join(f"{count} of {short(name, 12)}" for name, count in shown)
        left = self.n_classes - NUMBERS
        facts = [("labels", told + (f" and {left} classes more" if left > 0 else ""))]
        if self.weights is not None:
            facts.append(("weights", weights_text(self.weights)))
        if self.feature_names:
            facts.append(("features", features_text(self.feature_names)))
        return Page(self._title(), [*facts, ("next", ".X, .y, .to_dict()")])

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
        """Digest of X, y and weights, independent of memory layout."""
        weights = () if self.weights is None else (self.weights,)
        return digest(self.X, self.y.astype(np.float64), *weights)

    @property
    def masses(self) -> Array:
        """Sum of the weights of the points of each class (K,)."""
        found = np.bincount(self.y, weights=self.multiplicity, minlength=self.n_classes)
        return found.astype(np.float64)


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
