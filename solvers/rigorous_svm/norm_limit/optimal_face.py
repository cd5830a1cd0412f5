"""The hyperplane of least norm on the optimal face of the linear program (13) of Bi & Vapnik.

Any optimal multipliers alpha of (10) describe the whole face, without the number E0:

    u_i >= 1 where alpha_i = 0,   u_i <= 1 where alpha_i = 1,   u_i = 1 in between,

u_i = y_i (<w, g_i> + b), because the optimal (w, b) are those complementary to alpha. Its point of
least norm is the least solution of u_T = 1 over the rows T that it touches; the search here starts
from a guess of T, drops rows whose multiplier has the wrong sign and adds rows that are violated,
a few times all at once and then one by one (h_limit_steps).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.rigorous_svm.norm_limit.goldfarb_idnani import by_dual_steps

Mask = NDArray[np.bool_]

AT_ONCE = 4  # rounds in which all rows that are wrong or short change together
TOLERANCE = 1e-11
RANK = 1e-13
LEAST = 0.5  # ||v|| is 0, or at least 1: u = 1 at rows of both classes, no longer than 1


@dataclass(frozen=True, eq=False)
class FacePoint:
    """The least point of a face.

    Attributes
    ----------
    v : array (d,)
    c : float
    mu : array (n,)
        Multipliers: v = sum_i mu_i y_i g_i, sum_i mu_i y_i = 0; at least 0 where u_i >= 1 is asked
        for, at most 0 where u_i <= 1 is.
    touched : array (n,) of bool
        Rows with u_i = 1 to rounding.
    independent : bool
        Whether the rows (g_i, 1) that are touched are: then mu is the only choice.
    """

    v: Array
    c: float
    mu: Array
    touched: Mask
    independent: bool


def sides(alpha: Array) -> NDArray[np.int8]:
    """1 where u_i >= 1 is asked for, -1 where u_i <= 1 is, 0 where u_i = 1 is."""
    return np.where(alpha <= 0, 1, np.where(alpha >= 1, -1, 0)).astype(np.int8)


def least_on_face(
    points: Array, y: Array, side: NDArray[np.int8], touched: Mask, offset: float
) -> FacePoint | None:
    """Least norm over a face; None when the guess of touched rows leads nowhere.

    Parameters
    ----------
    points : array (n, d)
    y : array (n,)
    side : array (n,)
        See `sides`.
    touched : array (n,) of bool
        Rows to start from.
    offset : float
        Intercept to take where no row is touched, and w = 0.
    """
    active = touched | (side == 0)
    for _ in range(AT_ONCE):
        found, wrong, short = _tried(points, y, side, active, offset)
        if found is not None:
            return found
        if not (wrong.any() or short.any()):
            break
        active = (active & (wrong == 0)) | (short > 0)
    settled = by_dual_steps(points, y, side, touched | (side == 0))
    return None if settled is None else _tried(points, y, side, settled, offset)[0]


def _tried(
    points: Array, y: Array, side: NDArray[np.int8], active: Mask, offset: float
) -> tuple[FacePoint | None, Array, Array]:
    """The least point through some rows if it is that of the face; what is wrong, what is short.

    Rows that no (v, c) meets at once leave nothing to say: both are zeros then.
    """
    v, c, mu, independent = _least_through(points, y, active, offset)
    u = y * (points @ v + c)
    allowed = TOLERANCE * (1 + float(np.linalg.norm(v)) + abs(c))
    nothing = np.zeros(len(y))
    if float(np.abs(u[active] - 1).max(initial=0.0)) > 100 * allowed:
        return None, nothing, nothing
    short = np.where(active, 0.0, np.maximum(0.0, side * (1 - u)))
    wrong = np.where(active, np.maximum(0.0, -side * mu), 0.0)
    wrong[wrong <= TOLERANCE * float(np.abs(mu).max(initial=0.0))] = 0.0
    short[short <= allowed] = 0.0
    if wrong.any() or short.any():
        return None, wrong, short
    near = np.abs(u - 1) <= 100 * allowed
    mu = np.where(side * mu < 0, 0.0, mu)  # what is left of wrong signs is rounding
    only = independent and not (near & ~active).any()
    return FacePoint(v, c, mu, near, only), nothing, nothing


def _least_through(
    points: Array, y: Array, active: Mask, offset: float
) -> tuple[Array, float, Array, bool]:
    """Least ||v|| with <v, g_i> + c = y_i on some rows: v, c, multipliers, rows independent or not.

    c is free, so the rows count from their mean.
    """
    mu = np.zeros(len(y))
    if not active.any():
        return np.zeros(points.shape[1]), offset, mu, True
    rows, labels = points[active], y[active]
    mean, middle = rows.mean(axis=0), float(labels.mean())
    Q, R, order = qr((rows - mean).T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    size = max(float(diagonal.max(initial=0.0)), float(np.linalg.norm(mean)))
    rank = int((diagonal > RANK * size).sum())
    kept = R[:rank, :rank]
    inner = solve_triangular(kept, (labels - middle)[order[:rank]], trans="T")
    v = Q[:, :rank] @ inner
    beta = np.zeros(len(labels))
    beta[order[:rank]] = solve_triangular(kept, inner)
    mu[active] = labels * (beta - beta.mean())
    return v, middle - float(mean @ v), mu, rank == len(labels) - 1
