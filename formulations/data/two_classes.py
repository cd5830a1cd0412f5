"""Labels and weights of data of two classes, points or a kernel matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, keep_read_only
from tightmargin.formulations.data.class_labels import SIGNS, label_text, two_labels
from tightmargin.formulations.data.point_weights import (
    ClassWeight,
    WeightedPoints,
    above_zero,
    weights_of_points,
)
from tightmargin.number_words import count_text, short
from tightmargin.printing import Printed


@dataclass(frozen=True, eq=False, repr=False)
class TwoClasses(Printed, WeightedPoints):
    """Labels and weights of points of two classes; see `TrainingData`."""

    sample_weight: Array | None = field(default=None, kw_only=True)
    class_weight: ClassWeight = field(default=None, kw_only=True)
    positive: Any = field(default=None, kw_only=True)
    classes: Sequence[Any] = field(default=(), kw_only=True)

    def _keep_labels(self, n: int) -> NDArray[np.intp]:
        """Check labels and weights, and keep those of points that weigh something.

        Returns
        -------
        array
            Places of these points.
        """
        signs, labels = two_labels(self.y, n, self.positive)
        labels = _names_of(labels, self.classes)
        place = (signs > 0).astype(np.intp)
        weights = weights_of_points(self.sample_weight, self.class_weight, labels, place)
        kept, weights = above_zero(weights, n)
        keep_read_only(self, y=signs[kept])
        words = {"class_weight": None, "positive": None, "classes": labels}
        for name, value in {"sample_weight": weights, **words}.items():
            object.__setattr__(self, name, value)
        return kept

    def _counted(self, size: str) -> str:
        """Kind, source and size, as a title."""
        source = f" {short(self.spec)}" if self.spec else ""
        weighted = "" if self.weights is None else ", weighted"
        return (
            f"{type(self).__name__}{source}: {count_text(len(self.y), 'point')}, {size}{weighted}"
        )

    @property
    def n_pos(self) -> int:
        """Number of points labelled +1."""
        return int((self.y > 0).sum())

    @property
    def n_neg(self) -> int:
        """Number of points labelled -1."""
        return int((self.y < 0).sum())

    @cached_property
    def masses(self) -> tuple[float, float]:
        """Sums of the weights of the points labelled -1 and of those labelled +1."""
        return self.mass(self.y < 0), self.mass(self.y > 0)

    @property
    def labels_text(self) -> str:
        """How many points there are of each label."""
        negative, positive = (label_text(sign) for sign in SIGNS)
        if tuple(self.classes) != SIGNS:
            negative, positive = (
                f"{short(str(label), 12)} ({sign})"
                for label, sign in zip(self.classes, (negative, positive), strict=False)
            )
        return f"{self.n_pos} of {positive}, {self.n_neg} of {negative}"

    @property
    def _weights(self) -> tuple[Array, ...]:
        return () if self.weights is None else (self.weights,)


def _names_of(labels: tuple[Any, Any], given: Sequence[Any]) -> tuple[Any, Any]:
    """What the two labels are called, the negative one first."""
    if isinstance(given, str) or len(given) not in (0, 2) or len(set(given)) != len(given):
        raise ValueError(f"classes must be two different names, got {given!r}")
    if not given:
        return labels
    if labels != SIGNS:
        raise ValueError(f"classes name the labels -1 and +1, and y holds {labels}: leave them out")
    return given[0], given[1]
