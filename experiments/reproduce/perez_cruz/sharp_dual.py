"""The dual of nu-SVC to rounding, from a solution to solver's accuracy: which multipliers are 0.

An interior-point code leaves multipliers that are 0 at 1e-6 of their cap, and counts of support
vectors are then counts of its tolerance. Here the points are split into those with alpha_i = 0, in
between, and at the cap; the equations of that split are solved; and where the solution breaks an
optimality condition one point changes sides. With Q = y y' o K and one mass nu / 2 for each class,
alpha is optimal where in each class

    (Q alpha)_i <= t for alpha_i > 0,    (Q alpha)_i >= t for alpha_i < cap.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array

NEAR = 1e-5  # of the cap: where a multiplier of the solver counts as 0 or at the cap at first
ROUNDING = 1e-12  # of the largest entry of K, or of the mass
MOVES = 200
ZERO, FREE, CAPPED = -1, 0, 1


def sharp_dual(gram: Array, y: Array, cap: float, nu: float, alpha: Array) -> Array:
    """Multipliers (n,) that meet all conditions to rounding; 0 and the cap are met exactly.

    gram (n, n): positive definite, so that there is one solution.
    alpha (n,): near to it.
    Raises RuntimeError: no split of the points is found that meets the conditions.
    """
    Q = gram * np.outer(y, y)
    sides = np.where(alpha <= NEAR * cap, ZERO, np.where(alpha >= (1 - NEAR) * cap, CAPPED, FREE))
    for _ in range(MOVES):
        found = _of_split(Q, y, cap, nu, sides)
        change = _outside(found, cap, sides) or _broken(Q @ found, y, cap, nu, sides, found)
        if change is None:
            return found
        point, side = change
        sides[point] = side
    raise RuntimeError(f"the multipliers of nu-SVC at nu = {nu:g} are not found to rounding")


def _of_split(Q: Array, y: Array, cap: float, nu: float, sides: NDArray[np.int_]) -> Array:
    """alpha where free points of a class have one Q alpha, and each class its mass."""
    free, found = np.flatnonzero(sides == FREE), np.where(sides == CAPPED, cap, 0.0)
    if not len(free):
        return found
    classes = [sign for sign in (1.0, -1.0) if (y[free] == sign).any()]
    member = np.array([y[free] == sign for sign in classes], dtype=float)
    k = len(classes)
    system = np.block([[Q[np.ix_(free, free)], -member.T], [member, np.zeros((k, k))]])
    left = [nu / 2 - found[y == sign].sum() for sign in classes]
    solution = np.linalg.solve(system, np.concatenate([-(Q @ found)[free], left]))
    found[free] = solution[: len(free)]
    return found


def _outside(alpha: Array, cap: float, sides: NDArray[np.int_]) -> tuple[int, int] | None:
    """The free point that is furthest outside its box, and the end it goes to."""
    free = np.flatnonzero(sides == FREE)
    beyond = np.maximum(-alpha[free], alpha[free] - cap)
    if not len(free) or beyond.max() <= 0:
        return None
    point = int(free[np.argmax(beyond)])
    return point, (ZERO if alpha[point] < 0 else CAPPED)


def _broken(
    gradient: Array, y: Array, cap: float, nu: float, sides: NDArray[np.int_], alpha: Array
) -> tuple[int, int] | None:
    """The point at an end of its box whose condition is broken most, to be free."""
    slack = ROUNDING * float(np.abs(gradient).max() + 1)
    worst, found = 0.0, None
    for sign in (1.0, -1.0):
        own = y == sign
        down, up = np.flatnonzero(own & (sides != ZERO)), np.flatnonzero(own & (sides != CAPPED))
        short = nu / 2 - float(alpha[own].sum())
        if abs(short) > ROUNDING:  # nothing of the class is free to make up for it
            change = up[np.argmin(gradient[up])] if short > 0 else down[np.argmax(gradient[down])]
            return int(change), FREE
        if not len(down) or not len(up):
            continue
        high, low = down[np.argmax(gradient[down])], up[np.argmin(gradient[up])]
        excess = float(gradient[high] - gradient[low])
        if excess > max(worst, slack):
            worst, found = excess, (int(high if sides[high] == CAPPED else low), FREE)
    return found
