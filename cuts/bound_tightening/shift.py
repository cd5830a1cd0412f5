"""Points moved so that a free intercept is small at good hyperplanes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.zero_one.loss import EPS


@dataclass(frozen=True, eq=False)
class Shifted:
    """Points x_i - c; the hyperplane (w, b) of the points as given is (w, b + <w, c>) here.

    Attributes
    ----------
    shift : array (d,)
        c, 0 unless the intercept is free.
    data : TrainingData
    rows : array (n, k)
        y_i (x_i - c, 1), or y_i x_i without an intercept.
    blur : array (n,)
        What the rounding of x_i - c may do to a violation.
    """

    shift: Array
    data: TrainingData
    rows: Array
    blur: Array


def shifted(
    data: TrainingData, intercept: str, w: Array, b: float, radius: float, largest_b: float
) -> Shifted:
    """The points moved by the point of a hyperplane that is nearest to their mean.

    Parameters
    ----------
    radius, largest_b : float
        Bounds of ||w|| and |b| at the hyperplanes that matter, for the rounding.
    """
    shift = _foot(data, w, b) if intercept == "free" else np.zeros(data.d)
    moved = TrainingData(data.X - shift, data.y)
    size = np.abs(data.X).max(axis=1) + np.abs(shift).max(initial=0.0)
    blur = 16 * EPS * data.d * radius * size + 4 * EPS * largest_b
    return Shifted(shift, moved, data.y[:, None] * augmented(moved, intercept), blur)


def _foot(data: TrainingData, w: Array, b: float) -> Array:
    mean = data.X.mean(axis=0)
    length2 = float(w @ w)
    return mean - (float(w @ mean) + b) / length2 * w if length2 > 0 else mean
