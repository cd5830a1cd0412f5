"""Points that are kept sparse, and what is computed of points whether they are sparse or dense.

Points are rows, a float64 array (n, d) or a csr_array of scipy.sparse. Not a csr_matrix: of an
array * is by cell and a sum over an axis has one axis less, as in numpy, so that a formula that
takes both means the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from tightmargin.formulations.data.arrays import Array, finite_points

Points = Any  # an Array, or a csr_array


class ReadOnlyCsr(sp.csr_array):
    """A csr_array that refuses new entries as its read-only arrays refuse changed ones."""

    def __setitem__(self, key: Any, value: Any) -> None:
        """Assign to a copy, which owns arrays that can be written to.

        Raises ValueError: the arrays are read-only.
        """
        if not self.data.flags.writeable:
            raise ValueError("assignment destination is read-only")
        super().__setitem__(key, value)


def sparse_points(name: str, values: Any) -> ReadOnlyCsr:
    """A sparse matrix or array of any format as a read-only csr_array of its own.

    Float64, duplicates added up, zeros left out, the columns of a row in increasing order, indices
    no wider than the shape needs: equal points have equal arrays.

    Raises ValueError: no real numbers, another shape, or a cell that is not finite; it is named.
    """
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"{name} must have shape (n, d) with n, d >= 1, got {values.shape}")
    if values.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers: {values.dtype}")
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused next
        points = ReadOnlyCsr(values, dtype=np.float64, copy=True)
        points.sum_duplicates()
    bad = np.flatnonzero(~np.isfinite(points.data))
    if bad.size:
        row = int(np.searchsorted(points.indptr, bad[0], side="right")) - 1
        raise ValueError(
            f"{name} holds {points.data[bad[0]]} in row {row}, column {points.indices[bad[0]]} "
            f"({len(bad)} such cells)"
        )
    points.eliminate_zeros()
    width = sp.get_index_dtype(maxval=max(points.nnz, *points.shape))
    points.indices = points.indices.astype(width, copy=False)
    points.indptr = points.indptr.astype(width, copy=False)
    for array in (points.data, points.indices, points.indptr):
        array.setflags(write=False)
    return points


def kept_points(name: str, values: Any, d: int | None = None) -> Points:
    """`values` as finite rows of their own, sparse where they are, with `d` columns.

    Raises ValueError: another shape, or a cell that is no finite number; it is named.
    """
    if not sp.issparse(values):
        return finite_points(name, values, d)
    points = sparse_points(name, values)
    if d is not None and points.shape[1] != d:
        raise ValueError(f"{name} must have shape (m, {d}) with m >= 1, got {points.shape}")
    return points


def is_sparse(points: Points) -> bool:
    """Whether points are kept sparse."""
    return bool(sp.issparse(points))


def share_stored(points: Points) -> float:
    """Share of the cells that are stored; of dense points all of them."""
    return float(points.nnz / np.prod(points.shape, dtype=float)) if is_sparse(points) else 1.0


def squared_lengths(points: Points) -> Array:
    """Numbers <x_i, x_i> (n,)."""
    if is_sparse(points):
        found: Array = (points * points).sum(axis=1)
        return found
    return np.einsum("ij,ij->i", points, points)


def squared_distances(points: Points, centre: Array) -> Array:
    """Numbers <x_i - c, x_i - c> (n,)."""
    if not is_sparse(points):
        return squared_lengths(points - centre)
    moved = points.copy()
    moved.data = (points.data - centre[points.indices]) ** 2
    seen = points.copy()
    seen.data = centre[points.indices] ** 2
    elsewhere = np.maximum(0.0, float(centre @ centre) - seen.sum(axis=1))
    found: Array = moved.sum(axis=1) + elsewhere
    return found


def largest_in_columns(points: Points) -> Array:
    """Numbers max_i |x_ij| (d,)."""
    sizes = abs(points).max(axis=0)
    return sizes.toarray() if is_sparse(points) else sizes


def columns_range(points: Points) -> tuple[Array, Array]:
    """The least and the largest number of each column, (d,) and (d,)."""
    low, high = points.min(axis=0), points.max(axis=0)
    return (low.toarray(), high.toarray()) if is_sparse(points) else (low, high)


def divided_rows(points: Points, divisors: Array) -> Points:
    """Rows x_i / t_i of sparse points (n, d)."""
    found = points.copy()
    found.data = points.data / np.repeat(divisors, np.diff(points.indptr))
    return found


def scaled_rows(factors: Array, points: Points) -> Points:
    """Rows f_i x_i (n, d)."""
    if is_sparse(points):
        return (sp.diags_array(factors) @ points).tocsr()
    return factors[:, None] * points


def scaled_columns(points: Points, factors: Array) -> Points:
    """Columns f_j times those of the points (n, d)."""
    return (points @ sp.diags_array(factors)).tocsr() if is_sparse(points) else points * factors


def with_ones(points: Points) -> Points:
    """Points with a constant column last, (n, d + 1)."""
    ones = np.ones((points.shape[0], 1))
    return (
        sp.hstack([points, ones], format="csr") if is_sparse(points) else np.hstack([points, ones])
    )
