"""What the concavity of Phi in nu gives: chords as proven bounds, and the nu to search first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby

from tightmargin.formulations.data.arrays import Array

ROUNDING = 1e-15  # of both ends: more than the formula of a chord loses


def anchors_of(
    bounds: Iterable[tuple[float, float]], bar: float | None
) -> tuple[tuple[float, float], ...]:
    """(nu, lower bound of Phi) by rising nu: 0 at 0 and at a proven lower bound of nu_bar.

    Parameters
    ----------
    bounds : iterable of (float, float)
        nu with proven lower bounds of Phi; those that are not finite are left out.
    bar : float or None
        A proven lower bound of nu_bar.
    """
    found = {0.0: 0.0}
    if bar is not None and bar > 0:
        found[bar] = 0.0
    for nu, lower in bounds:
        if math.isfinite(lower):
            found[nu] = max(lower, found.get(nu, -math.inf))
    return tuple(sorted(found.items()))


def chord(anchors: Sequence[tuple[float, float]], nu: float) -> float:
    """Proven lower bound of Phi at nu: the highest chord over it; -inf beyond the last anchor."""
    best = -math.inf
    for left, low in anchors:
        for right, high in anchors:
            if left == nu:
                best = max(best, low)
            elif left < nu <= right:
                share = (nu - left) / (right - left)
                value = (1 - share) * low + share * high
                best = max(best, value - ROUNDING * (abs(low) + abs(high)))
    return best


def ends_first(nus: Sequence[float], caps: Array, y: Array, intercept: str) -> list[float]:
    """Falling nu, but of those between two multiples of the caps the outer two first.

    Parameters
    ----------
    nus : sequence of float
        Falling.
    caps, y : array (n,)
        Weights of the loss, and labels.
    """
    sides = [y > 0, y < 0] if intercept == "free" else [y != 0]
    steps = [caps[side] * len(sides) for side in sides]
    if any(step.min() != step.max() for step in steps):
        return list(nus)

    def piece(nu: float) -> tuple[int, ...]:
        return tuple(math.ceil(nu / float(step[0]) - 1e-9) for step in steps)

    order: list[float] = []
    for _, group in groupby(nus, key=piece):
        inside = list(group)
        order += [inside[0], *([inside[-1]] if len(inside) > 1 else []), *inside[1:-1]]
    return order
