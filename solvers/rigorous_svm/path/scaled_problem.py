"""A problem of the rigorous SVM with its points around 0 and inside the unit ball.

The free intercept makes a shift of all points harmless, and a change of unit divides H: with
z_i = (x_i - mean) / reach,

    E(w, b) on x with ||w|| <= H   =   E(reach w, b + <w, mean>) on z with ||.|| <= H reach

Multipliers on the scale [0, 1] are the same on both, so that only they and w have to go back.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData

GRAM = 4000  # points up to which all inner products are kept


@dataclass(frozen=True, eq=False)
class Scaled:
    """Centred points in the unit ball.

    Attributes
    ----------
    factor : array (n, d)
        z.
    y : array (n,)
    centre : array (d,)
        The mean that was taken off.
    reach : float
        Largest ||x_i - mean||; 0 where all points lie in one place (then z = 0).
    kernel : array (n, n) or None
        Kernel matrix that came with the data, neither shifted nor divided.
    """

    factor: Array
    y: Array
    centre: Array
    reach: float
    kernel: Array | None = None

    @property
    def n(self) -> int:
        """Number of points."""
        return self.factor.shape[0]

    @property
    def rank(self) -> int:
        """Most independent directions the centred points can have."""
        return min(self.factor.shape[1], self.n - 1)

    @cached_property
    def gram(self) -> Array:
        """Inner products of all pairs; made once, and only where something asks for them."""
        return self.factor @ self.factor.T

    def products(self, chosen: NDArray[np.intp]) -> Array:
        """Inner products of some points with each other."""
        if self.factor.shape[1] < self.n / 2 or self.n > GRAM:
            rows = self.factor[chosen]
            return rows @ rows.T
        return self.gram.take(chosen, axis=0).take(chosen, axis=1)

    @property
    def smaller(self) -> int:
        """Number of points in the smaller class: half the largest loss, and half of sum alpha."""
        positive = int((self.y > 0).sum())
        return min(positive, self.n - positive)

    def bound(self, norm_bound: float) -> float:
        """H on this scale."""
        return norm_bound * self.reach

    def hyperplane(self, w: Array, b: float) -> tuple[Array, float]:
        """(w, b) of this scale in the coordinates of the data."""
        original = w / self.reach
        return original, b - float(original @ self.centre)


def scaled(data: TrainingData | GramData) -> Scaled:
    """Shift and shrink the points of a problem."""
    centre = data.factor.mean(axis=0)
    moved = data.factor - centre
    reach = float(np.sqrt(np.einsum("ij,ij->i", moved, moved).max(initial=0.0)))
    kernel = data.gram if isinstance(data, GramData) else None
    return Scaled(moved / reach if reach > 0 else moved, data.y, centre, reach, kernel)


def even_multipliers(y: Array) -> Array:
    """Multipliers (n,) that are 1 in the smaller class and equal in the larger one.

    They are feasible, their sum is the largest there is, and their direction joins the class
    means; the start of every method, as alpha = 0 is a false stationary point of the dual.
    """
    positive = y > 0
    counts = np.where(positive, positive.sum(), (~positive).sum())
    return np.asarray(counts.min() / counts, dtype=np.float64)
