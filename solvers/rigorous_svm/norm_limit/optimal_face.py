"""The hyperplane of least norm on the optimal face of the linear program (13) of Bi & Vapnik.

Any optimal multipliers alpha of (10) describe the whole face, without the number E0:

    u_i >= 1 where alpha_i = 0,   u_i <= 1 where alpha_i = 1,   u_i = 1 in between,

u_i = y_i (<w, g_i> + b), because the optimal (w, b) are those complementary to alpha. Its point of
least norm is the least solution of u_T = 1 over the rows T that are active at it; a solver of the
quadratic program names T, and the system is solved again to full precision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq, qr, solve_triangular
from scipy.optimize import linprog, nnls

from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.formulations.data.training_data import GramData, TrainingData

Sides = NDArray[np.int8]

ROUNDS = 4  # in which rows that are wrong or short change together
TOLERANCE = 1e-11
RANK = 1e-13
INSIDE = 1e-7  # of a multiplier in [0, 1] that may be moved
NUMBERS = 1_000_000  # of the matrix of the linear program for the multipliers
CLOSE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True, eq=False)
class Rows:
    """Points g_i = (f_i - centre) / scale with ||g_i|| <= 1.

    Neither changes which hyperplane is best: a shift moves only b, a factor divides w.
    """

    points: Array
    y: Array
    centre: Array
    scale: float

    def refined(self, alpha: Array, target: Array | float = 0.0) -> Array:
        """Multipliers with sum alpha_i y_i (g_i, 1) = (target, 0), by the least move of inner ones.

        What rounding of a solver left open is taken up by the multipliers inside (0, 1); the
        result is the input where they would leave the box.
        """
        inside = (alpha > INSIDE) & (alpha < 1 - INSIDE)
        signed = self.signed
        rest = -alpha @ signed
        rest[:-1] += target
        if not inside.any():
            return alpha
        step, *_ = lstsq(signed[inside].T, rest, cond=1e-13, lapack_driver="gelsy")
        new = alpha.copy()
        new[inside] += step
        better = float(np.linalg.norm(rest - step @ signed[inside])) < float(np.linalg.norm(rest))
        return new if better and bool((new >= 0).all() and (new <= 1).all()) else alpha

    @property
    def signed(self) -> Array:
        """y_i (g_i, 1)."""
        return self.y[:, None] * np.column_stack([self.points, np.ones(len(self.y))])


def centred_rows(data: TrainingData | GramData) -> Rows:
    """Rows of the factor around their mean, the longest of length 1."""
    factor = np.asarray(data.factor)
    centre = factor.mean(axis=0)
    points = factor - centre
    points[:, np.ptp(factor, axis=0) == 0] = 0.0  # the mean of equal numbers may be off by a bit
    scale = float(np.linalg.norm(points, axis=1).max()) or 1.0
    return Rows(points / scale, data.y, centre, scale)


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
    active : array (n,) of bool
        Rows whose equations u_i = 1 determine the point; none where it did not settle.
    touched : array (n,) of bool
        Rows with u_i = 1 to rounding.
    only : bool
        The rows (g_i, 1) that are touched are independent: mu is the only choice.
    """

    v: Array
    c: float
    mu: Array
    active: Mask
    touched: Mask
    only: bool


def sides(alpha: Array) -> Sides:
    """1 where u_i >= 1 is asked for, -1 where u_i <= 1 is, 0 where u_i = 1 is."""
    return np.where(alpha <= 0, 1, np.where(alpha >= 1, -1, 0)).astype(np.int8)


def least_on_face(rows: Rows, side: Sides, guess: Mask, offset: float) -> FacePoint | None:
    """Least norm over a face; None when the guess of active rows leads nowhere.

    Active rows whose multiplier has the wrong sign leave and others that are violated enter, a few
    times. `offset` is the intercept to take where no row is active, and w = 0.
    """
    active = guess | (side == 0)
    for _ in range(ROUNDS):
        v, c, mu, independent = _least_through(rows, active, offset)
        u = rows.y * (rows.points @ v + c)
        allowed = TOLERANCE * (1 + float(np.linalg.norm(v)) + abs(c))
        if float(np.abs(u[active] - 1).max(initial=0.0)) > 100 * allowed:
            return None  # no (v, c) meets these rows at once
        if not independent:
            mu = _signed_multipliers(rows, side, active, v, mu)
        short = ~active & (side * (1 - u) > allowed)
        wrong = active & (-side * mu > TOLERANCE * float(np.abs(mu).max(initial=0.0)))
        if not (short.any() or wrong.any()):
            touched = np.abs(u - 1) <= 100 * allowed
            only = independent and not (touched & ~active).any()
            return FacePoint(v, c, np.where(side * mu < 0, 0.0, mu), active, touched, only)
        active = (active & ~wrong) | short
    return None


def _least_through(rows: Rows, active: Mask, offset: float) -> tuple[Array, float, Array, bool]:
    """Least ||v|| with <v, g_i> + c = y_i on some rows: v, c, multipliers, rows independent or not.

    c is free, so the rows count from their mean.
    """
    mu = np.zeros(len(active))
    if not active.any():
        return np.zeros(rows.points.shape[1]), offset, mu, True
    points, labels = rows.points[active], rows.y[active]
    mean, middle = points.mean(axis=0), float(labels.mean())
    Q, R, order = qr((points - mean).T, mode="economic", pivoting=True)
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


def _signed_multipliers(rows: Rows, side: Sides, active: Mask, v: Array, mu: Array) -> Array:
    """Multipliers of the signs that they should have, where dependent rows leave a choice."""
    up, down = np.flatnonzero(active & (side >= 0)), np.flatnonzero(active & (side <= 0))
    signed = rows.signed
    try:
        parts, rest = nnls(np.vstack([signed[up], -signed[down]]).T, np.append(v, 0.0))
    except RuntimeError:  # it goes round in circles among rows that depend only to rounding
        return mu
    if rest > TOLERANCE * float(np.linalg.norm(v)):
        return mu
    found = np.zeros(len(mu))
    found[up] += parts[: len(up)]
    found[down] -= parts[len(up) :]
    return found


def multipliers_at_limit(rows: Rows, alpha: Array, point: FacePoint) -> tuple[float, Array]:
    """Largest gamma at H = H_lim, and its multipliers.

        max  gamma
        s.t. sum_i alpha_i y_i f_i = gamma w,   y'alpha = 0,   0 <= alpha <= 1,
             alpha_i = 0 where u_i > 1,   alpha_i = 1 where u_i < 1

    Where the rows with u_i = 1 are independent, alpha + gamma mu is the only choice.

    Returns
    -------
    float, array (n,)
        NaN and alpha where w = 0, and gamma does not matter.
    """
    mu = point.mu
    if not point.v.any() or not mu.any():
        return np.nan, alpha
    room = np.where(mu > 0, 1 - alpha, alpha)[mu != 0] / np.abs(mu[mu != 0])
    gamma = float(room.min())
    best = np.clip(alpha + gamma * mu, 0.0, 1.0)
    if not point.only and point.touched.sum() * rows.points.shape[1] <= NUMBERS:
        gamma, best = _by_program(rows, point, gamma, best)
    return gamma * rows.scale**2, rows.refined(best, gamma * point.v)


def _by_program(rows: Rows, point: FacePoint, gamma: float, best: Array) -> tuple[float, Array]:
    """The linear program over the touched rows, if it gains anything."""
    free = point.touched
    fixed = np.where(~free & (rows.y * (rows.points @ point.v + point.c) < 1), 1.0, 0.0)
    signed, k = rows.signed, int(free.sum())
    answer = linprog(
        -np.eye(k + 1)[k],
        A_eq=np.column_stack([signed[free].T, -np.append(point.v, 0.0)]),
        b_eq=-fixed @ signed,
        bounds=[(0.0, 1.0)] * k + [(0.0, None)],
        method="highs",
        options=CLOSE,
    )
    if answer.status != 0 or answer.x[k] <= gamma:
        return gamma, best
    fixed[free] = np.clip(answer.x[:k], 0.0, 1.0)
    return float(answer.x[k]), fixed
