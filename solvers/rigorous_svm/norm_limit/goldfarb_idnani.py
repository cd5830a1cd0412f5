"""Least norm over a polyhedron by dual steps: one row enters at a time, rows leave by ratio.

After Goldfarb & Idnani, A numerically stable dual method (Mathematical Programming 27, 1983), with
an intercept c that costs nothing: the active rows always hold both classes, which fixes it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array

Mask = NDArray[np.bool_]

STEPS = 3000
TOLERANCE = 1e-11
FLAT = 1e-12  # a rate of change that is none


def by_dual_steps(points: Array, y: Array, side: NDArray[np.int8], guess: Mask) -> Mask | None:
    """Active rows of the least ||v|| with u_i >= 1, = 1 or <= 1 (`h_limit_face.sides`).

    Parameters
    ----------
    points : array (n, d)
        Of length at most 1.
    guess : array (n,) of bool
        Rows that are probably active; the method starts from two of them.

    Returns
    -------
    array (n,) of bool or None
        None when it does not end: the rows contradict one another, or v = 0.
    """
    state = _start(points, y, side, guess)
    if state is None:
        return None
    active, mu = state
    entering: int | None = None
    for _ in range(STEPS):
        v, c = _primal(points, y, mu, active)
        u = y * (points @ v + c)
        if entering is None:
            short = np.where(active & (side != 0), 0.0, _violation(side, u))
            # Rows of the guess come first: they are few, and end up active.
            first = np.where(guess, short, 0.0)
            allowed = TOLERANCE * (1 + float(np.linalg.norm(v)) + abs(c))
            pick = first if float(first.max(initial=0.0)) > allowed else short
            if float(pick.max(initial=0.0)) <= allowed:
                return active
            entering = int(pick.argmax())
        sign = float(np.sign(1 - u[entering]))
        dmu, rate = _direction(points, y, active, entering, sign)
        blocking = active & (side != 0) & (side * dmu < -FLAT)
        room = np.full(len(y), np.inf)
        room[blocking] = np.abs(mu[blocking] / dmu[blocking])
        leaves = int(room.argmin())
        full = abs(1 - u[entering]) / rate if rate > FLAT else np.inf
        step = min(full, float(room[leaves]))
        if not np.isfinite(step):
            return None
        mu = mu + step * dmu
        mu[entering] += step * sign
        if full <= room[leaves]:
            active[entering] = True
            entering = None
        else:
            active[leaves] = False
            mu[leaves] = 0.0
    return None


def _violation(side: NDArray[np.int8], u: Array) -> Array:
    return np.where(side == 0, np.abs(1 - u), np.maximum(0.0, side * (1 - u)))


def _start(
    points: Array, y: Array, side: NDArray[np.int8], guess: Mask
) -> tuple[Mask, Array] | None:
    """Two rows of different classes with u = 1, the nearest to one another in the guess."""
    able = side >= 0
    chosen = [
        np.flatnonzero(able & guess & mine) if (able & guess & mine).any()
        else np.flatnonzero(able & mine)
        for mine in (y > 0, y < 0)
    ]  # fmt: skip
    if not (len(chosen[0]) and len(chosen[1])):
        return None
    first, second = points[chosen[0]], points[chosen[1]]
    squares = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1) - 2 * first @ second.T
    squares[squares <= FLAT] = np.inf
    i, k = np.unravel_index(int(squares.argmin()), squares.shape)
    if not np.isfinite(squares[i, k]):
        return None
    active, mu = np.zeros(len(y), dtype=bool), np.zeros(len(y))
    pair = [chosen[0][i], chosen[1][k]]
    active[pair], mu[pair] = True, 2 / squares[i, k]
    return active, mu


def _primal(points: Array, y: Array, mu: Array, active: Mask) -> tuple[Array, float]:
    """The v that mu names, and the c that the active rows ask for."""
    v = (mu * y) @ points
    return v, float((y[active] - points[active] @ v).mean())


def _direction(
    points: Array, y: Array, active: Mask, entering: int, sign: float
) -> tuple[Array, float]:
    """Change of mu when that of a row grows, other active rows staying; how fast its u nears 1."""
    index = np.flatnonzero(active)
    rows, g = points[index], points[entering]
    k, own = len(index), sign * y[entering]
    system = np.ones((k + 1, k + 1))
    system[k, k] = 0.0
    system[:k, :k] = rows @ rows.T
    right = -own * np.append(rows @ g, 1.0)
    found, *_ = np.linalg.lstsq(system, right, rcond=1e-14)
    dmu = np.zeros(len(y))
    dmu[index] = y[index] * found[:k]
    dv = found[:k] @ rows + own * g
    return dmu, float(sign * y[entering] * (g @ dv + found[k]))
