"""Equal points of one label as one point with their weights added up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Index


@dataclass(frozen=True, eq=False)
class DistinctPoints:
    """Which points a model reads.

    rows (m,): places of the points that the model reads.
    weights (m,): what they weigh.
    group (n,): of each training point, the place in `rows` of its equal.
    share (n,): its share of the weight there, from 0 to 1.
    """

    rows: Index
    weights: Array | None
    group: Index
    share: Array


def all_points(weights: Array | None, n: int) -> DistinctPoints:
    """Every point of a weight above 0, in the order of the data."""
    share = np.ones(n) if weights is None else (weights > 0).astype(float)
    rows = np.flatnonzero(share)
    group = np.zeros(n, dtype=np.intp)
    group[rows] = np.arange(len(rows))
    return DistinctPoints(rows, None if weights is None else weights[rows], group, share)


def distinct_points(X: Any, labels: NDArray[Any], weights: Array | None) -> DistinctPoints:
    """The different points, so that a weight of 2 and a point that is there twice are one model.

    Without weights and without equal points the order is that of the data. Otherwise it is the
    order of a fixed linear function of the point, which no order of the data changes.
    """
    n = len(labels)
    kept = np.arange(n) if weights is None else np.flatnonzero(weights > 0)
    factors = np.random.default_rng(0).uniform(1.0, 2.0, X.shape[1] + 1)
    codes = np.unique(labels, return_inverse=True)[1].reshape(-1)
    if sp.issparse(X):
        X = sp.csr_array(X)
        X.sum_duplicates()
        X.eliminate_zeros()
        of_entry = np.repeat(np.arange(n), np.diff(X.indptr))
        key = np.bincount(of_entry, X.data * factors[X.indices], minlength=n)
    else:
        key = (X * factors[:-1]).sum(axis=1)
    key = key + codes * factors[-1]
    order = kept[np.argsort(key[kept], kind="stable")]
    starts = np.ones(len(order), dtype=bool)
    for k in np.flatnonzero(key[order][1:] == key[order][:-1]) + 1:
        one, other = order[k - 1], order[k]
        starts[k] = codes[one] != codes[other] or not _equal(X, one, other)
    if starts.all() and (weights is None or (weights == 1).all()):
        return all_points(None, n)
    own = np.ones(n) if weights is None else weights
    first = np.flatnonzero(starts)
    total = np.add.reduceat(own[order], first)
    group = np.zeros(n, dtype=np.intp)
    group[order] = np.cumsum(starts) - 1
    return DistinctPoints(order[first], total, group, own / total[group])


def _equal(X: Any, one: int, other: int) -> bool:
    if not sp.issparse(X):
        return bool((X[one] == X[other]).all())
    a, b = (slice(X.indptr[k], X.indptr[k + 1]) for k in (one, other))
    return np.array_equal(X.indices[a], X.indices[b]) and np.array_equal(X.data[a], X.data[b])
