"""The hard-margin machine on a set of kept points, by Wolfe's method (Math. Programming 11, 1976).

The hyperplane of least norm2 with margins >= 1 on the kept points is dual to a point of least norm
in a polytope: the hull of the rows r_i = y_i x_i (or y_i (x_i, 1)), v = p / ||p||^2, and with a free
intercept the difference of the hulls of the two classes, w = 2 p / ||p||^2. Wolfe's method needs
only the vertex that is least in a direction, ends after finitely many steps, and leaves few points
in its support. ||p|| decreases, so 1 / ||p||^2 (4 / ||p||^2) bounds norm2 from below all along:
kept sets that are too expensive, or not separable, are given up early.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from solvers.algorithms.active_sets import Points

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Mask = NDArray[np.bool_]

OPTIMALITY = 1e-11
STEPS = 1000


def least_norm_members(points: Points, kept: Mask, ceiling: float = np.inf) -> Index | None:
    """Active set of the hyperplane of least norm2 that keeps some points.

    Parameters
    ----------
    kept : array (m,) of bool
        Which of the distinct points must have margin at least 1; with a free intercept, points of
        both classes.
    ceiling : float
        Give up once norm2 is known to be at least this.

    Returns
    -------
    array of int or None
        Rows of `points` on the margin with positive multipliers and independent equations; None
        if the kept points cannot be separated below the ceiling.
    """
    free = points.intercept == "free"
    first = np.flatnonzero(kept & (points.y > 0)) if free else np.flatnonzero(kept)
    second = np.flatnonzero(kept & (points.y < 0)) if free else np.zeros(1, dtype=np.intp)
    if not (len(first) and len(second)):
        return None
    left = points.rows[first] if free else points.y[first, None] * points.rows[first]
    right = points.rows[second] if free else np.zeros((1, points.rows.shape[1]))
    found = _nearest_point(left, right, (4.0 if free else 1.0) / ceiling)
    if found is None:
        return None
    pairs, p = found
    if not free:
        return first[pairs[:, 0]]
    touching = np.concatenate([first[np.unique(pairs[:, 0])], second[np.unique(pairs[:, 1])]])
    columns = np.column_stack([points.rows, np.ones(len(points.y))])[touching]
    alpha, _ = nnls((points.y[touching, None] * columns).T, np.append(2 * p / (p @ p), 0.0))
    return touching[alpha > 0]


def _nearest_point(left: Array, right: Array, floor: float) -> tuple[Array, Array] | None:
    """Pairs (i, k) and the point of least norm in the hull of all left_i - right_k.

    None once the squared norm is at most `floor`.
    """
    radius2 = float(
        np.einsum("ij,ij->i", left, left).max() + np.einsum("ij,ij->i", right, right).max()
    )
    pairs = [(0, 0)]
    corral, weight = left[:1] - right[:1], np.ones(1)
    for _ in range(STEPS):
        p = weight @ corral
        norm2 = float(p @ p)
        if norm2 <= floor or norm2 <= OPTIMALITY * radius2:
            return None
        pair = int((left @ p).argmin()), int((right @ p).argmax())
        vertex = left[pair[0]] - right[pair[1]]
        if pair in pairs or float(vertex @ p) >= norm2 * (1 - OPTIMALITY):
            break
        pairs.append(pair)
        corral, weight = np.vstack([corral, vertex]), np.append(weight, 0.0)
        corral, weight, pairs = _to_affine_minimum(corral, weight, pairs)
    return np.array(pairs, dtype=np.intp), p


def _to_affine_minimum(
    corral: Array, weight: Array, pairs: list[tuple[int, int]]
) -> tuple[Array, Array, list[tuple[int, int]]]:
    """Move to the least-norm point of the affine hull, dropping vertices whose weight hits zero."""
    while True:
        gram = corral @ corral.T
        u = np.linalg.lstsq(gram + gram.diagonal().mean(), np.ones(len(gram)), rcond=None)[0]
        target = u / u.sum()
        if (target > 0).all():
            return corral, target, pairs
        falling = target <= 0
        room = weight[falling] / (weight[falling] - target[falling])
        weight = weight + float(room.min()) * (target - weight)
        weight[np.flatnonzero(falling)[room.argmin()]] = 0.0
        stay = weight > 0
        corral, weight = corral[stay], weight[stay] / weight[stay].sum()
        pairs = [pair for pair, keep in zip(pairs, stay, strict=True) if keep]
