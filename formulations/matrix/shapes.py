"""Predictors that are matrices: their shape, flattened row by row, and what a rank bound means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tightmargin.formulations.catalogue import Origin
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.modeling.cones import lower_pairs

Shape = str | Sequence[int]

NO_PART = 1e-14  # of the largest singular value: rounding, for which there is no direction
RANK_TOLERANCE = 1e-7  # of the largest singular value: what is below counts as 0


def checked_shape(shape: Shape, d: int) -> tuple[int, int]:
    """Rows and columns (m, n) of a predictor with d entries, from "3x4" or (3, 4).

    Raises ValueError: not two whole numbers of at least 1, or their product is not d.
    """
    parts: list[int] = []
    if isinstance(shape, str):
        found = re.fullmatch(r"\s*(\d+)\s*[xX]\s*(\d+)\s*", shape)
        parts = [] if found is None else [int(part) for part in found.groups()]
    elif isinstance(shape, Sequence | np.ndarray) and getattr(shape, "ndim", 1) == 1:
        parts = [int(part) for part in shape] if all(map(_is_whole, shape)) else []
    if len(parts) != 2 or min(parts) < 1:
        raise ValueError(f"shape must be rows x columns, as in 3x4 or (3, 4); got {shape!r}")
    m, n = parts
    if m * n != d:
        raise ValueError(f"shape {m}x{n} has {m * n} entries, but the points have {d} features")
    return m, n


def checked_rank(rank: int, m: int, n: int) -> int:
    """A rank bound between 1 and min(m, n), or a ValueError naming the argument."""
    if not (_is_whole(rank) and 1 <= rank <= min(m, n)):
        raise ValueError(
            f"rank must be a whole number from 1 to {min(m, n)}, the largest that a matrix "
            f"{m}x{n} can have; got {rank!r}"
        )
    return int(rank)


def _is_whole(number: object) -> bool:
    if isinstance(number, bool | np.bool_):
        return False
    return isinstance(number, int | np.integer)


def singular_values(w: Array, m: int, n: int) -> Array:
    """Singular values (min(m, n),) of the matrix whose rows are w (m n,), largest first."""
    return np.linalg.svd(np.reshape(w, (m, n)), compute_uv=False)


def numerical_rank(values: Array) -> int:
    """Number of singular values above RANK_TOLERANCE of the largest."""
    return int((values > RANK_TOLERANCE * max(float(values[0]), 1e-300)).sum())


def nearest_of_rank(w: Array, m: int, n: int, rank: int) -> Array:
    """The matrix of at most this rank that is nearest to w (m n,), flattened again."""
    left, values, right = np.linalg.svd(np.reshape(w, (m, n)), full_matrices=False)
    return ((left[:, :rank] * values[:rank]) @ right[:rank]).ravel()


def frame(w: Array, m: int, n: int, rank: int) -> tuple[Array, Array]:
    """Factors U (m, rank) and V (n, rank) of the nearest matrix B = U V' of that rank.

    U'U = I, the top of U is lower triangular and its diagonal is not negative: any other such
    pair is (U Q, V Q) with an orthogonal Q, and Q is chosen by a QR factorisation of the top.
    """
    left = np.linalg.svd(np.reshape(w, (m, n)))[0][:, :rank]
    turn = np.linalg.qr(left[:rank].T)[0]
    U = left @ turn
    U = U * np.where(np.diag(U) < 0, -1.0, 1.0)
    U[np.triu_indices(rank, 1)] = 0.0  # rounding
    return U, np.reshape(w, (m, n)).T @ U


def shape_of(origin: Origin) -> tuple[int, int]:
    """Rows and columns of the predictors of a model."""
    return checked_shape(origin.parameters["shape"], origin.data.d)


def complete_projection(
    w: Array, m: int, n: int, rank: int
) -> tuple[float, dict[str, Array], float]:
    """Least trace of T for B, the triangles of T and P that attain it, and the trace of P."""
    left, sizes, right = np.linalg.svd(np.reshape(w, (m, n)), full_matrices=False)
    sizes = np.where(sizes > NO_PART * sizes[0], sizes, 0.0)
    norm, p = spread_norm(sizes, rank)
    inside = np.divide(sizes**2, p, out=np.zeros_like(sizes), where=p > 0)
    lifted = {"T": triangle_of((right.T * inside) @ right), "P": triangle_of((left * p) @ left.T)}
    return norm, lifted, float(p.sum())


def complete_nuclear(w: Array, m: int, n: int) -> tuple[float, dict[str, Array]]:
    """||B||_*, and the triangles of W1 and W2 whose traces are that."""
    left, sizes, right = np.linalg.svd(np.reshape(w, (m, n)), full_matrices=False)
    sizes = np.where(sizes > NO_PART * sizes[0], sizes, 0.0)
    first, second = (left * sizes) @ left.T, (right.T * sizes) @ right
    return float(sizes.sum()), {"W1": triangle_of(first), "W2": triangle_of(second)}


def triangle_of(matrix: Array) -> Array:
    """Entries of the lower triangle in the order of `lower_pairs`."""
    return np.array([matrix[i, j] for i, j in lower_pairs(len(matrix))])


def beside(B: Sequence[Any], first: list[list[Any]], second: list[list[Any]]) -> list[list[Any]]:
    """Lower-triangular rows of [[first, B'], [B, second]], of a flattened B."""
    n = len(first)
    below = [[*B[i * n : (i + 1) * n], *row] for i, row in enumerate(second)]
    return [*first, *below]


def spread_norm(values: Array, rank: int) -> tuple[float, Array]:
    """Least sum_i values_i^2 / p_i over 0 <= p_i <= 1 with sum_i p_i <= rank, and such a p.

    The squared k-support norm (Argyriou, Foygel & Srebro 2012) at k = rank: the largest convex
    function that is sum_i values_i^2 where at most `rank` of them are not 0. The values that are
    largest have p_i = 1, and the rest share what is left in proportion to their size; how many
    there are is the first number for which no share exceeds 1.

    values (k,): at least 0, largest first.
    """
    p = np.zeros(len(values))
    for kept in range(rank):
        rest = float(values[kept:].sum())
        if rest == 0:
            p[:kept] = 1.0
            return float(values[:kept] @ values[:kept]), p
        left = rank - kept
        if kept == rank - 1 or values[kept] * left <= rest:
            p[:kept], p[kept:] = 1.0, np.minimum(1.0, values[kept:] * left / rest)
            return float(values[:kept] @ values[:kept]) + rest**2 / left, p
    raise AssertionError("rank is at least 1")
