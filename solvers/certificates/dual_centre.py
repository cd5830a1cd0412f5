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

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.solvers.canonical_form.conic_form import ConicForm
from tightmargin.solvers.proofs.exact_columns import multiplier_room
from tightmargin.solvers.proofs.exact_sums.steps import FREE_LIMIT
from tightmargin.solvers.proofs.implied_limits import Reach

STEPS = 40
NEAR = 1e-9
AWAY = 1e-5


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


def with_room(
    conic: ConicForm, residual: Array, z: Array, columns: Index, reach: Reach, share: float
) -> Array | None:
    """Multipliers moved by a share towards the centre of those stationary in some columns.

    Parameters
    ----------
    residual : array (n,)
        P x + q + A'z, to rounding.
    columns : array
        Those in which no rounding may be left.
    """
    linear = sum(map(len, (conic.equal, conic.low, conic.high)))
    below, above = np.isfinite(reach.low[columns]), np.isfinite(reach.high[columns])
    slope = residual[columns]
    size = np.abs(conic.q[columns]) + abs(conic.A[:, columns]).T @ np.abs(z)
    # A column with one limit and a slope that leads away from it keeps that sign by itself.
    safe = np.where(below, slope, -slope) > AWAY * size
    several = np.diff(conic.A.indptr)[columns] > 1
    one_sided = below | above
    kept = np.where(one_sided, several & ~safe, True)
    chosen = columns[kept]
    if not linear or not len(chosen) or len(chosen) > FREE_LIMIT:
        return None
    low, high = (side[:linear] for side in multiplier_room(conic, reach))
    if (low > high).any():
        return None
    block = conic.A[:linear][:, chosen].toarray().T
    target = block @ z[:linear] - residual[chosen]
    # Beside a limit the slope need not vanish: it is a multiplier of the limit, with room too.
    slopes = np.flatnonzero(one_sided[kept])
    owned = np.zeros((len(chosen), len(slopes)))
    owned[slopes, np.arange(len(slopes))] = np.where(below[kept][slopes], -1.0, 1.0)
    block = np.hstack([block, owned])
    low = np.concatenate([low, np.zeros(len(slopes))])
    high = np.concatenate([high, np.full(len(slopes), np.inf)])
    largest = max(float(np.abs(z[:linear]).max(initial=0.0)), 1e-300)
    centre = dual_centre(block, target, low, high, largest)
    if centre is None:
        return None
    moved = z.copy()
    moved[:linear] += share * (centre[:linear] - z[:linear])
    return moved
