"""Rows of the kernel matrix for the decomposition scheme, from points one by one.

A free intercept does not see a shift of the points, since y'alpha = 0: they are centred, which
keeps the differences of their inner products exact when they lie far from 0.
"""

from __future__ import annotations

import numpy as np

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.data.training_data import GramData, TrainingData

CACHE = 2**28  # bytes of rows that are kept, the latest used ones
FEW = 2000  # points with
WIDE = 64  # features or more: all rows at once are quicker than half of them one by one


class KernelRows:
    """Rows of K = F F', read from the kernel matrix or made from centred points and kept.

    Attributes
    ----------
    factor : array (n, d)
        F.
    diagonal : array (n,)
        K_ii.
    spread : float
        Root of the mean squared distance of the points to their mean.
    reach : float
        Largest length of a row of F.
    """

    def __init__(self, data: TrainingData | GramData) -> None:
        mean = data.factor.mean(axis=0)
        if isinstance(data, GramData):
            self._gram: Array | None = data.gram
            self.factor: Array = data.factor
            self.diagonal: Array = np.diag(data.gram).copy()
        else:
            self.factor = data.factor - mean
            whole = data.n <= FEW and data.d >= WIDE
            self._gram = self.factor @ self.factor.T if whole else None
            self.diagonal = np.einsum("ij,ij->i", self.factor, self.factor)
        left = float(self.diagonal.mean() - np.square(self.factor.mean(axis=0)).sum())
        self.spread = float(np.sqrt(max(left, 0.0)))
        self.reach = float(np.sqrt(self.diagonal.max(initial=0.0)))
        self._kept: dict[int, Array] = {}
        self._room = max(2, CACHE // (8 * data.n))

    def row(self, i: int) -> Array:
        """K_i., of shape (n,)."""
        if self._gram is not None:
            return self._gram[i]
        found = self._kept.pop(i, None)
        if found is None:
            found = self.factor @ self.factor[i]
            if len(self._kept) >= self._room:
                del self._kept[next(iter(self._kept))]
        self._kept[i] = found
        return found

    def rows(self, index: Index) -> Array:
        """K_B., of shape (q, n)."""
        if self._gram is not None:
            return self._gram[index]
        return np.array([self.row(i) for i in index.tolist()])
