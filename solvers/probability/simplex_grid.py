"""Class weights on a grid of the simplex, its triangulation, and cells whose corners all differ.

The weights pi = a / N with whole numbers a_1 + ... + a_K = N are triangulated after Kuhn: in the
partial sums t_j = a_1 + ... + a_j a cell starts at a grid point and raises every t_j once, in some
order, so that there are N^(K-1) cells. From t_j to t_j + 1 one step of weight goes from class j + 1
to class j: no weight differs by more than 1/N within a cell.

Let every grid point carry a label, a class of positive weight: a Sperner labelling. Then the number
of cells with all K labels is odd, and so never 0. Where the label of pi is argmax_k pi_k p_k,

    v_k p_k >= v_j p_j    for all j, with v the corner that has label k,

which bounds the ratios p_j / p_k, and with them the probabilities.

Sources: Lee 2020, Theorems 4.1, 4.2; Wu, Zhang & Liu 2010; Sperner 1928.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.printing import Printed

Whole = NDArray[np.int64]

LARGEST = 100_000  # grid points, and cells
AT_ONCE = 4_000_000  # labels of corners in one array


@dataclass(frozen=True, eq=False, repr=False)
class SimplexGrid(Printed):
    """Grid points and cells.

    steps: N; the step of the grid is 1/N.
    counts (W, K): whole numbers a >= 0 that sum to N, in lexicographic order.
    cells: numbers of the grid points at the corners of each cell.
    """

    steps: int
    counts: Whole
    cells: Whole

    @property
    def n_classes(self) -> int:
        """K."""
        return self.counts.shape[1]

    @property
    def weights(self) -> Array:
        """Weights pi (W, K), each row summing to 1."""
        return self.counts / self.steps

    @property
    def diameter(self) -> float:
        """Largest Euclidean distance within a cell: up to K weights differ, by 1/N each."""
        return math.sqrt(2 * (self.n_classes // 2)) / self.steps

    @property
    def centres(self) -> Array:
        """Barycentres of the cells (N^(K-1), K)."""
        return self.weights[self.cells].mean(axis=1)


@lru_cache(maxsize=4)
def simplex_grid(n_classes: int, steps: int) -> SimplexGrid:
    """Grid with step 1/N on the simplex of K classes.

    n_classes, steps: K >= 2 and N >= K: with fewer steps no weight is positive for all classes.
    Raises ValueError: no whole numbers, too small ones, or more than 100,000 points or cells.
    """
    for name, number, least in (("n_classes", n_classes, 2), ("grid", steps, n_classes)):
        if not isinstance(number, int | np.integer) or isinstance(number, bool) or number < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, got {number!r}")
    K, N = int(n_classes), int(steps)
    points, cells = math.comb(N + K - 1, K - 1), N ** (K - 1)
    if max(points, cells) > LARGEST:
        raise ValueError(
            f"grid={N} for {K} classes has {points:,} weights and {cells:,} cells; at most "
            f"{LARGEST:,} are taken"
        )
    bars = np.array(list(itertools.combinations(range(N + K - 1), K - 1)), dtype=np.int64)
    ends = np.hstack([np.full((points, 1), -1), bars, np.full((points, 1), N + K - 1)])
    counts = np.diff(ends, axis=1) - 1
    triangles = _kuhn_cells(counts, N)
    counts.setflags(write=False)
    triangles.setflags(write=False)
    return SimplexGrid(N, counts, triangles)


def _kuhn_cells(counts: Whole, N: int) -> Whole:
    K = counts.shape[1]
    place = (N + 1) ** np.arange(K - 1, -1, -1, dtype=np.int64)
    codes = counts @ place  # rising, as the counts are in lexicographic order
    moves = np.eye(K, dtype=np.int64)[:-1] - np.eye(K, dtype=np.int64)[1:]
    found = []
    for order in itertools.permutations(range(K - 1)):
        corners = counts[:, None, :] + np.vstack(
            [np.zeros((1, K), dtype=np.int64), np.cumsum(moves[list(order)], axis=0)]
        )
        inside = (corners >= 0).all(axis=(1, 2))
        found.append(np.searchsorted(codes, corners[inside] @ place))
    return np.concatenate(found)


def rainbow_cells(grid: SimplexGrid, labels: Whole) -> Mask:
    """Which cells carry all K labels, (m, N^(K-1)).

    labels (m, W): class of each grid point, for m labellings.
    Raises ValueError: a label with weight 0: such a labelling may have no complete cell.
    """
    barred = grid.counts[np.arange(labels.shape[1])[None, :], labels] == 0
    if barred.any():
        row, point = np.argwhere(barred)[0]
        raise ValueError(
            f"labels: {labels[row, point]} in row {row} has weight 0 at grid point {point}"
        )
    bits = np.int64(1) << labels
    found = np.empty((len(labels), len(grid.cells)), dtype=bool)
    for part in _parts(len(labels), grid.cells.size):
        found[part] = np.bitwise_or.reduce(bits[part][:, grid.cells], axis=2) == (
            (1 << grid.n_classes) - 1
        )
    return found


def _parts(m: int, each: int) -> Iterator[slice]:
    room = max(1, AT_ONCE // each)
    for start in range(0, m, room):
        yield slice(start, start + room)


def border_weights(grid: SimplexGrid, rainbow: Mask) -> Array:
    """Mean barycentre of the complete cells (m, K)."""
    found: Array = (rainbow @ grid.centres) / rainbow.sum(axis=1)[:, None]
    return found


def probabilities_at(border: Array) -> Array:
    """p_k = (1 / pi_k) / sum_j (1 / pi_j) of border weights (m, K). Lee 2020, Theorem 4.2."""
    inverse = 1 / border
    found: Array = inverse / inverse.sum(axis=1)[:, None]
    return found


def probability_intervals(grid: SimplexGrid, labels: Whole, rainbow: Mask) -> tuple[Array, Array]:
    """Least and largest p (m, K) that the labels of a complete cell allow, over all such cells.

    If every label is argmax_k pi_k p_k, then p lies between the two: from the corner v^k with label
    k and the corners v^j with the others,

        1 / (1 + sum_j v^k_k / v^k_j)  <=  p_k  <=  1 / (1 + sum_j v^j_k / v^j_j)
    """
    K = grid.n_classes
    low, high = np.ones((len(labels), K)), np.zeros((len(labels), K))
    rows, cells = np.nonzero(rainbow)
    corners = grid.cells[cells]
    order = np.argsort(np.take_along_axis(labels[rows], corners, axis=1), axis=1)
    v = grid.weights[np.take_along_axis(corners, order, axis=1)]  # (., label, class)
    own = np.einsum("ckk->ck", v)
    with np.errstate(divide="ignore"):
        least = 1 / (own[:, :, None] / v).sum(axis=2)
    largest = 1 / (v / own[:, :, None]).sum(axis=1)
    np.minimum.at(low, rows, least)
    np.maximum.at(high, rows, largest)
    return low, high
