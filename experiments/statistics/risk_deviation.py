"""How far a risk may be from nu: the function G of the value at risk, and its two terms.

Takeda & Sugiyama 2008, section 3.2. For m points, a bound that fails with probability delta, R a
bound on the norm of every x that can be drawn, and c a constant that nobody has computed,

    G(gamma) = sqrt( 2/m ( 4 c^2 (R^2 + 1)^2 / gamma^2 log2(2 m) - 1 + ln(2 / delta) ) )
"""

from __future__ import annotations

import math

from tightmargin.formulations.parameters import positive


def deviation(level: float, *, m: int, radius: float, c: float, delta: float) -> float:
    """G: how far the risk may be from nu, at a value at risk of `level`.

    Decreasing in |level|, m and delta; increasing in radius and c.

    Raises
    ------
    ValueError
        `level` 0, where G is infinite; a parameter out of range; a negative radicand, which takes
        delta > 2/e and a capacity below 1 - ln(2 / delta).
    """
    radicand = capacity(level, m, radius, c) + confidence(delta)
    if radicand < 0:
        raise ValueError(
            f"the radicand {2 / m * radicand:.6g} is negative: delta = {delta:g} exceeds 2/e and "
            f"the capacity term {capacity(level, m, radius, c):.6g} is too small; there is no "
            "bound here"
        )
    return math.sqrt(2 / m * radicand)


def capacity(level: float, m: int, radius: float, c: float) -> float:
    """4 c^2 (R^2 + 1)^2 / level^2 log2(2 m), the term of G that a greater |level| makes small.

    Raises
    ------
    ValueError
        A level that is 0 or not finite; a radius or c that is not positive.
    """
    if level == 0 or not math.isfinite(level):
        raise ValueError(f"the value at risk must be finite and not 0, got {level}: no bound there")
    scale = 2 * positive("c", c) * (positive("radius", radius) ** 2 + 1) / abs(level)
    return scale * scale * math.log2(2 * m)


def confidence(delta: float) -> float:
    """ln(2 / delta) - 1, the term of G that does not depend on the hyperplane.

    Raises
    ------
    ValueError
        delta not between 0 and 1.
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta!r}")
    return math.log(2 / delta) - 1
