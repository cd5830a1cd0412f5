"""Fitted machines of the direct scheme, and the class probabilities that they give to points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tightmargin.formulations.data.arrays import Array, real_array, refuse_non_finite
from tightmargin.printing import Printed
from tightmargin.solvers.probability.simplex_grid import (
    SimplexGrid,
    border_weights,
    probabilities_at,
    probability_intervals,
    rainbow_cells,
)

Whole = NDArray[np.int64]

AT_ONCE = 2_000_000  # scores in one array
EQUAL = 1e-9  # relative: probabilities that differ by less are equal


@dataclass(frozen=True, eq=False, repr=False)
class DirectReading(Printed):
    """What the machines say of m points.

    Attributes
    ----------
    probabilities : array (m, K)
    border : array (m, K)
        Border weights.
    cells : array (m,)
        How many cells carried all labels: odd, and 1 for labels of one p.
    labels : array (m,)
        Class of the largest probability; of equal ones (a grid has many) the one that carries more
        grid labels, and so needs less weight to be chosen.
    low, high : arrays (m, K)
        Where p lies if every label is argmax_k pi_k p_k: what the step of the grid leaves open,
        and not what the machines got wrong. Several cells contradict that, and the mean of their
        border weights may give less or more than each of them: the interval then reaches to it.
    """

    probabilities: Array
    border: Array
    cells: Whole
    labels: Whole
    low: Array
    high: Array


@dataclass(frozen=True, eq=False, repr=False)
class DirectProbabilities(Printed):
    """Fitted machines, one for each grid weight.

    Attributes
    ----------
    B, b : arrays (W, K, d), (W, K)
        Their functions; 0 for classes of weight 0, which are barred.
    grid : SimplexGrid
        Weights (W, K), the step 1/N and the cells.
    machine : str
        "hinge", "truncated" or "exact".
    truncation : float or None
    classes : tuple of str
    seconds : float
    complete : bool
        False where the time or Ctrl-C left some searches undone: their weights have the machine
        that was reached, at worst that of the hinge loss.
    converged : bool
        Whether every d.c. search came to its end; no proof of an optimum. False where one was left
        undone, ran into its limit of iterations, or rose because a quadratic program was not solved
        to the last digit. True for hinge machines, which need none.
    gaps : array (W,) or None
        Of exact machines: what is open between the truncated loss of each and its proven bound,
        relative; 1 where none was found, 0 at the corners.
    """

    B: Array
    b: Array
    grid: SimplexGrid
    ridge: float
    machine: str
    truncation: float | None
    intercept: str
    classes: tuple[str, ...]
    seconds: float
    complete: bool
    converged: bool
    gaps: Array | None = None

    def grid_labels(self, X: ArrayLike) -> Whole:
        """Label of every grid weight at every point, (m, W)."""
        points = self._points(X)
        W, K = self.b.shape
        slopes, barred = self.B.reshape(W * K, -1).T, self.grid.counts == 0
        found = np.empty((len(points), W), dtype=np.int64)
        room = max(1, AT_ONCE // (W * K))
        for start in range(0, len(points), room):
            part = slice(start, start + room)
            scores = (points[part] @ slopes).reshape(-1, W, K) + self.b
            scores[:, barred] = -np.inf
            found[part] = scores.argmax(axis=2)
        return found

    def reading(self, X: ArrayLike) -> DirectReading:
        """Probabilities with their border weights, cells and intervals.

        Parameters
        ----------
        X : array (m, d)
            In the coordinates of the training points.

        Raises
        ------
        ValueError
            Another number of features, or cells that are no finite numbers.
        """
        labels = self.grid_labels(X)
        rainbow = rainbow_cells(self.grid, labels)
        border = border_weights(self.grid, rainbow)
        p = probabilities_at(border)
        chosen = (labels[:, :, None] == np.arange(self.grid.n_classes)).sum(axis=1)
        largest = p >= p.max(axis=1)[:, None] * (1 - EQUAL)
        low, high = probability_intervals(self.grid, labels, rainbow)
        low, high = np.minimum(low, p), np.maximum(high, p)
        return DirectReading(
            p, border, rainbow.sum(axis=1), np.where(largest, chosen, -1).argmax(axis=1), low, high
        )

    def probabilities(self, X: ArrayLike) -> Array:
        """Estimated p (m, K), positive and summing to 1."""
        return self.reading(X).probabilities

    def labels(self, X: ArrayLike) -> Whole:
        """Class of the largest probability (m,)."""
        return self.reading(X).labels

    def rainbow_cells(self, X: ArrayLike) -> Whole:
        """Number of complete cells of each point (m,)."""
        return self.reading(X).cells

    def _points(self, X: ArrayLike) -> Array:
        points = real_array("X", X)
        if points.ndim != 2 or points.shape[1] != self.B.shape[2]:
            raise ValueError(f"X must have shape (m, {self.B.shape[2]}), got {points.shape}")
        refuse_non_finite("X", points)
        return points
