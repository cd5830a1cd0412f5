"""The hard-margin machine on a set of kept points, by Wolfe's method (Math. Programming 11, 1976).

The hyperplane of least norm2 with margins >= 1 on the kept points is dual to a point of least norm
in a polytope: the hull of the rows r_i = y_i x_i (or y_i (x_i, 1)), v = p / ||p||^2; with a free
intercept, the difference of the hulls of the two classes, w = 2 p / ||p||^2. Wolfe's method needs
only the vertex that is least in a direction, ends after finitely many steps, and leaves few points
in its support. ||p|| decreases, so 1 / ||p||^2 (4 / ||p||^2) bounds norm2 from below all along:
kept sets that are too expensive, or not separable, are given up early.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from tightmargin.formulations.data.arrays import Array, Index, Mask
from tightmargin.solvers.zero_one.enumeration.active_sets import Points

OPTIMALITY = 1e-11
STEPS = 1000
RIDGE = 1e-13  # keeps a nearly dependent corral solvable; its set is solved again anyway


def least_norm_members(
    points: Points, kept: Mask, ceiling: float = np.inf, near: Index | None = None
) -> Index | None:
    """Active set of the hyperplane of least norm2 that keeps some points.

    Parameters
    ----------
    kept : array (m,) of bool
        Which of the distinct points must have margin at least 1; with a free intercept, points of
        both classes.
    ceiling : float
        Give up once norm2 is known to be at least this.
    near : array of int, optional
        An active set of a similar problem to start from.

    Returns
    -------
    array of int or None
        Rows of `points` on the margin with positive multipliers and independent equations; None
        if the kept points cannot be separated below the ceiling.
    """
    free = points.intercept == "free"
    start = near[kept[near]] if near is not None else np.zeros(0, dtype=np.intp)
    if not free:
        first = np.flatnonzero(kept)
        left, right = points.y[first, None] * points.rows[first], np.zeros_like(points.rows[:1])
        pairs = [(int(i), 0) for i in np.searchsorted(first, start)] or [(0, 0)]
        found = _nearest_point(left, right, pairs, 1 / ceiling) if len(first) else None
        return None if found is None else first[found[0][:, 0]]
    first, second = np.flatnonzero(kept & (points.y > 0)), np.flatnonzero(kept & (points.y < 0))
    if not (len(first) and len(second)):
        return None
    pairs = _spanning_pairs(first, second, start, points.n_pos)
    found = _nearest_point(points.rows[first], points.rows[second], pairs, 4 / ceiling)
    if found is None:
        return None
    chosen, p = found
    touching = np.concatenate([first[np.unique(chosen[:, 0])], second[np.unique(chosen[:, 1])]])
    # Only which multipliers are positive is asked: numbers near 1 are right at every scale.
    rows = points.rows[touching] / np.abs(points.rows[touching]).max()
    columns = np.column_stack([rows, np.ones(len(touching))])
    alpha, _ = nnls((points.y[touching, None] * columns).T, np.append(p / np.abs(p).max(), 0.0))
    return touching[alpha > 0]


def _spanning_pairs(first: Index, second: Index, start: Index, n_pos: int) -> list[tuple[int, int]]:
    """Pairs that connect the points of an active set, one fewer than points: independent."""
    i = np.searchsorted(first, start[start < n_pos]).tolist() or [0]
    k = np.searchsorted(second, start[start >= n_pos]).tolist() or [0]
    return [(i[0], other) for other in k] + [(other, k[0]) for other in i[1:]]


def _nearest_point(
    left: Array, right: Array, pairs: list[tuple[int, int]], floor: float
) -> tuple[Index, Array] | None:
    """Pairs (i, k) and the point of least norm in the hull of all left_i - right_k.

    Starts from given pairs with affinely independent differences. None once the squared norm is
    at most `floor`.
    """
    radius2 = max(float(np.einsum("ij,ij->i", side, side).max()) for side in (left, right))
    index = np.array(pairs, dtype=np.intp)
    corral = left[index[:, 0]] - right[index[:, 1]]
    corral, weight, pairs = _to_affine_minimum(corral, np.full(len(pairs), 1 / len(pairs)), pairs)
    for _ in range(STEPS):
        p = weight @ corral
        norm2 = float(p @ p)
        if norm2 <= floor or norm2 <= OPTIMALITY * radius2:
            return None
        pair = int((left @ p).argmin()), int((right @ p).argmax())
        vertex = left[pair[0]] - right[pair[1]]
        if pair in pairs or float(vertex @ p) >= norm2 * (1 - OPTIMALITY):
            break
        corral, weight, pairs = _to_affine_minimum(
            np.vstack([corral, vertex]), np.append(weight, 0.0), [*pairs, pair]
        )
    return np.array(pairs, dtype=np.intp), p


def _to_affine_minimum(
    corral: Array, weight: Array, pairs: list[tuple[int, int]]
) -> tuple[Array, Array, list[tuple[int, int]]]:
    """Move to the least-norm point of the affine hull, dropping vertices whose weight hits zero."""
    while True:
        gram = corral @ corral.T
        size = float(gram.trace()) / len(gram) or 1.0
        gram += size  # the sum of weights, scaled like the rest
        gram.flat[:: len(gram) + 1] += RIDGE * size
        u = np.linalg.solve(gram, np.ones(len(gram)))
        target = u / u.sum()
        if (target > 0).all():
            return corral, target, pairs
        falling = np.flatnonzero(target <= 0)
        room = weight[falling] / (weight[falling] - target[falling])
        weight = weight + float(room.min()) * (target - weight)
        weight[falling[room.argmin()]] = 0.0
        stay = weight > 0
        corral, weight = corral[stay], weight[stay] / weight[stay].sum()
        pairs = [pair for pair, keep in zip(pairs, stay, strict=True) if keep]
