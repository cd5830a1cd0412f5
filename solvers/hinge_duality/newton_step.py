"""One Newton step of a smooth hinge problem, by whichever of its three matrices is smallest.

With J the points that bend, H = ridge I + X_J' D X_J in w, and one more row for the intercept,
which is eliminated first: a free one has no ridge of its own. H is factorised where there are few
features, ridge D^-1 + X_J X_J' where there are few such points (Woodbury), and conjugate gradients
do where both are many.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from tightmargin.formulations.data.arrays import Array

Effort = tuple[int, float]

LARGEST = 1500  # rows of a matrix that is factorised
ROUGH = 30, 1e-1  # of conjugate gradients
FAINT = 1e-10  # of the points' curvature: what a direction without any is given


def newton_step(
    X: Any,
    y: Array,
    bend: Array,
    curvature: tuple[float, float],
    column: float,
    slope_w: Array,
    slope_b: float,
    effort: Effort = ROUGH,
) -> tuple[Array, float]:
    """-H^-1 slope.

    Parameters
    ----------
    X : array or csr matrix (n, d)
    y, bend : arrays (n,)
        Labels, whose squares are 1, and the second derivatives D of the losses.
    curvature : (float, float)
        Of the norm, in w and in the weight of the constant column.
    column : float
        Its entry; 0 without an intercept.
    slope_w, slope_b : array (d,), float
    effort : (int, float)
        Of conjugate gradients: how many at most, and how small their residual.
    """
    chosen = np.flatnonzero(bend)
    rows, D = X[chosen], bend[chosen]
    if not column:
        (dw,) = _solved(rows, D, curvature[0], [-slope_w], effort)
        return dw, 0.0
    shared = column * np.asarray(rows.T @ D)
    own = curvature[1] + column**2 * float(D.sum())
    if own <= 0:  # no point bends, and b is free: any step downhill
        own = FAINT * (1.0 + abs(slope_b))
    if min(rows.shape) > LARGEST:
        return _by_conjugate_gradients(rows, D, curvature[0], shared, own, slope_w, slope_b, effort)
    first, second = _solved(rows, D, curvature[0], [slope_w, shared], effort)
    left = max(own - float(shared @ second), FAINT * own)
    db = -(slope_b - float(shared @ first)) / left
    return -first - db * second, db


def _solved(rows: Any, D: Array, ridge: float, sides: list[Array], effort: Effort) -> list[Array]:
    """(ridge I + rows' D rows)^-1 times each side."""
    count, d = rows.shape
    if not count:
        return [side / ridge for side in sides]
    if d <= min(count, LARGEST) or d <= 64:
        weighted = rows.multiply(D[:, None]).tocsr() if sp.issparse(rows) else rows * D[:, None]
        matrix = _dense(rows.T @ weighted)
        matrix[np.diag_indices(d)] += ridge
        return _factorised(matrix, sides)
    if count <= LARGEST:
        matrix = _dense(rows @ rows.T)
        matrix[np.diag_indices(count)] += ridge / D
        inner = _factorised(matrix, [np.asarray(rows @ side) for side in sides])
        return [
            (side - np.asarray(rows.T @ part)) / ridge
            for side, part in zip(sides, inner, strict=True)
        ]
    nothing = np.zeros(d)
    return [
        _by_conjugate_gradients(rows, D, ridge, nothing, 1.0, -side, 0.0, effort)[0]
        for side in sides
    ]


def _by_conjugate_gradients(
    rows: Any,
    D: Array,
    ridge: float,
    shared: Array,
    own: float,
    slope_w: Array,
    slope_b: float,
    effort: Effort,
) -> tuple[Array, float]:
    """About -H^-1 slope, the intercept among the unknowns: an inexact step goes downhill too."""

    def product(v: Array) -> Array:
        w = v[:-1]
        first = ridge * w + np.asarray(rows.T @ (D * np.asarray(rows @ w))) + shared * v[-1]
        return np.append(first, float(shared @ w) + own * v[-1])

    size = len(slope_w) + 1
    operator = LinearOperator((size, size), matvec=product, dtype=np.float64)
    step, _ = cg(operator, -np.append(slope_w, slope_b), rtol=effort[1], maxiter=effort[0])
    return step[:-1], float(step[-1])


def _factorised(matrix: Array, sides: list[Array]) -> list[Array]:
    """Solutions by Cholesky, the diagonal scaled to 1: features come in all units."""
    scale = 1 / np.sqrt(np.diag(matrix))
    scaled = matrix * scale[:, None] * scale
    faint = 0.0
    for _ in range(8):
        try:
            factor = cho_factor(scaled + faint * np.eye(len(scale)), check_finite=False)
        except LinAlgError:
            faint = max(1e-14, 100 * faint)
            continue
        return [scale * cho_solve(factor, scale * side, check_finite=False) for side in sides]
    return [scale * scale * side for side in sides]


def _dense(matrix: Any) -> Array:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)
