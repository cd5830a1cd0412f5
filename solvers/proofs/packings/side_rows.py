"""What a hyperplane has to meet besides its objective: rows of w and b, decided points, counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tightmargin.formulations.data.arrays import Array, Mask


class Count(NamedTuple):
    """At most so many of some points are paid for."""

    points: Mask
    most: int


@dataclass(frozen=True, eq=False)
class SideRows:
    """Restrictions of a 0-1 problem; z_i = 1 where point i is paid for.

    Attributes
    ----------
    weights, of_b, most : arrays (m, d), (m,), (m,)
        Rows <weights_k, w> + of_b_k b <= most_k.
    kept, paid : arrays (n,) of bool
        Points with z_i = 0, and with z_i = 1 whether they are violated or not.
    counts : tuple of Count
    moved : array (n,)
        Sizes of the terms of each margin that a fixed w_j or b makes constant: a model has them on
        its right side, rounded.
    constant : float
        What of the objective is decided: a gap is a share of the rest.
    """

    weights: Array
    of_b: Array
    most: Array
    kept: Mask
    paid: Mask
    counts: tuple[Count, ...]
    moved: Array
    constant: float = 0.0

    @staticmethod
    def nothing(n: int, d: int) -> SideRows:
        """Of a problem as it is."""
        nobody = np.zeros(n, dtype=bool)
        none = np.zeros(0)
        return SideRows(np.zeros((0, d)), none, none, nobody, nobody, (), np.zeros(n))

    @property
    def empty(self) -> bool:
        """Whether there are none."""
        return not (self.most.size or self.counts or self.kept.any() or self.paid.any())

    def admits(self, w: Array, b: float, tolerance: float) -> bool:
        """Whether a hyperplane meets the rows, in proportion to coefficients, w and the margin."""
        longest = float(np.abs(w).max(initial=0.0))
        terms = np.abs(self.weights).sum(axis=1) * longest + np.abs(self.most)
        terms = terms + np.abs(self.of_b) * max(abs(b), 1.0)
        left = self.weights @ w + self.of_b * b - self.most
        return bool((left <= tolerance * terms).all())

    def allows(self, given_up: Mask) -> bool:
        """Whether the decided points and the counts allow these points to be paid for."""
        if (given_up & self.kept).any():
            return False
        return all(int((given_up & count.points).sum()) <= count.most for count in self.counts)
