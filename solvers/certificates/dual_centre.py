"""Multipliers moved a little towards the middle of all that are stationary in a few columns.

At a degenerate optimum too few multipliers of a solver have room on both sides to make a residual
vanish exactly. A point z_c that has room everywhere and is stationary in those columns gives it to
all of them: (1 - theta) z + theta z_c costs theta of the distance between two bounds, and leaves
every multiplier theta of the room that z_c has. z_c is the analytic centre

    minimise -sum_i log(z_i - low_i) + log(high_i - z_i)    s.t.  A_F'z = t.
"""

from __future__ import annotations

import numpy as np
from numpy.linalg import LinAlgError

from tightmargin.formulations.data.arrays import Array

STEPS = 40
NEAR = 1e-9


def dual_centre(A: Array, target: Array, low: Array, high: Array, size: float) -> Array | None:
    """Analytic centre of {z: A z = target, low < z < high}; None where none is found.

    Parameters
    ----------
    A : array (f, m)
    target : array (f,)
    low, high : arrays (m,)
        A side that is infinite is taken to be `size` beyond the other one.
    size : float
        Natural size of the multipliers, positive.
    """
    low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0) - size)
    high = np.where(np.isfinite(high), high, low + 2 * size)
    movable = high > low
    if not movable.any():
        return None
    z = (low + high) / 2
    for _ in range(STEPS):
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            down, up = 1 / (z - low), 1 / (high - z)
            gradient = np.where(movable, up - down, 0.0)
            inverse = np.where(movable, 1 / (up * up + down * down), 0.0)
        if not (np.isfinite(gradient).all() and np.isfinite(inverse).all()):
            return None  # driven into a side: nothing is inside
        miss = A @ z - target
        normal = (A * inverse) @ A.T
        try:
            price = np.linalg.lstsq(normal, miss - A @ (inverse * gradient), rcond=None)[0]
        except LinAlgError:
            return None
        step = -inverse * (gradient + A.T @ price)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(
                step > 0, (high - z) / step, np.where(step < 0, (low - z) / step, np.inf)
            )
        length = min(1.0, 0.9 * float(room[movable].min()))
        z = z + length * step
        if not np.isfinite(z).all():
            return None
        if length == 1.0 and float(np.abs(step[movable] * (up + down)[movable]).max()) < 0.1:
            break
    terms = np.abs(A) @ np.abs(z) + np.abs(target)
    inside = (z > low) & (z < high)
    met = np.abs(A @ z - target) <= NEAR * terms
    return z if bool(inside[movable].all()) and bool(met.all()) else None
