"""Points that lie in one place, and what that means for every classifier."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.sparse_points import Points, is_sparse
from tightmargin.formulations.data.training_data import GramData, TrainingData


@lru_cache(maxsize=4)
def least_errors(data: TrainingData | GramData) -> int:
    """Least number of points that any function of the point gets wrong.

    Points that are equal get one score. Where p of them are positive and q negative, min(p, q)
    are on the wrong side of it, and below margin 1 for every hyperplane: the sum over all places
    is a lower bound on errors and on 0-1 violations. Points of a kernel matrix are equal when
    their rows are: then K_ii = K_ij = K_jj, and their distance in feature space is 0.

    Returns: 0 when no place holds points of both labels.
    """
    points = data.gram if isinstance(data, GramData) else data.X
    # Equal rows have equal marks, and few others do: only those are looked at.
    _, place, count = np.unique(_row_marks(points), return_inverse=True, return_counts=True)
    shared = count[place] > 1
    positive, negative = (
        Counter(_rows_as_bytes(points[shared & (data.y == label)])) for label in (1.0, -1.0)
    )
    return sum(min(positive[place], negative[place]) for place in positive.keys() & negative.keys())


def _rows_as_bytes(points: Points) -> list[bytes]:
    """One string of bytes a row: equal exactly where the rows are."""
    if not is_sparse(points):
        return [row.tobytes() for row in points + 0.0]  # -0.0 and 0.0 are one number
    ends = zip(points.indptr[:-1], points.indptr[1:], strict=True)
    return [
        points.indices[first:last].tobytes() + points.data[first:last].tobytes()
        for first, last in ends
    ]


def _row_marks(points: Points) -> NDArray[np.uint64]:
    """A number for each row (n,), equal where the rows are and seldom elsewhere."""
    d = points.shape[1]
    factors = np.random.default_rng(0).integers(1, 2**63, size=d, dtype=np.uint64)
    if not is_sparse(points):
        return (points + 0.0).view(np.uint64) @ factors
    # Sums modulo 2^64 are differences of running sums; zeros add nothing.
    products = points.data.view(np.uint64) * factors[points.indices]
    running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(products, dtype=np.uint64)])
    return running[points.indptr[1:]] - running[points.indptr[:-1]]
