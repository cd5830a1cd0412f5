"""Scores and weights of points, dense or sparse, with what rounding may have changed.

Points are read in blocks of rows: no copy of them is made, and a sum over n points is one over a
block and one over blocks, so that its error grows with sqrt(n) roundings and not with n of them
(Higham, Accuracy and stability of numerical algorithms, 2002, section 4.2).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.common.least_eigenvalue import OUTWARD, UNDERFLOW, growth
from tightmargin.formulations.common.rounded_sums import most_squares
from tightmargin.formulations.data.arrays import Array

FEWEST = 256  # rows of a block
NUMBERS = 4e6  # of a dense block at most


@dataclass(frozen=True, eq=False)
class PointRows:
    """Points (n, d) as an array or a csr matrix of doubles."""

    X: Any

    def scores(self, w: Array, b: float) -> tuple[Array, Array]:
        """<w, x_i> + b (n,), and how far they may be off."""
        n = self.X.shape[0]
        found, errors = np.empty(n), np.empty(n)
        sizes, count = np.abs(w), self._longest + 4
        for part, block in self._blocks():
            found[part] = block @ w + b
            errors[part] = growth(count) * (abs(block) @ sizes + abs(b))
        return found, OUTWARD * (errors + count * UNDERFLOW)

    def squared_weight(self, c: Array) -> float:
        """A number that ||sum_i c_i x_i||^2 does not exceed."""
        d = self.X.shape[1]
        total, sizes = np.zeros(d), np.zeros(d)
        for part, block in self._blocks():
            total += block.T @ c[part]
            sizes += abs(block).T @ np.abs(c[part])
        count = self._height + math.ceil(self.X.shape[0] / self._height) + 4
        off = OUTWARD * (growth(count) * sizes + self.X.shape[0] * UNDERFLOW)
        return most_squares(np.where(sizes == 0, 0.0, np.abs(total) + off))

    @property
    def _longest(self) -> int:
        """Most terms of a score."""
        if sp.issparse(self.X):
            return int(np.diff(self.X.indptr).max(initial=0))
        return int(self.X.shape[1])

    @property
    def _height(self) -> int:
        n, d = self.X.shape
        return max(1, min(max(FEWEST, math.isqrt(n)), math.ceil(NUMBERS / max(d, 1))))

    def _blocks(self) -> Iterator[tuple[slice, Any]]:
        n, height = self.X.shape[0], self._height
        for start in range(0, n, height):
            part = slice(start, min(start + height, n))
            yield part, self.X[part]
