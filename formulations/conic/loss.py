"""The loss that a conic relaxation with a given strengthening puts on a point.

Cepeda, Gomez & Han 2024, Theorem 1 and Proposition 1, as functions of the violation v = 1 - u.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.data.arrays import Array


def hull_loss(v: ArrayLike, z: ArrayLike, gamma: ArrayLike) -> Array:
    """What Theorem 1 adds to w'Qw: gamma v_+^2 / z + gamma v_-^2 / (1 - z) - gamma v^2.

    v (n,): 1 - y_i <w, x_i>.
    z (n,): in [0, 1]; at the ends the quotients are limits: 0 where their numerator is 0, and
        infinite otherwise. Hence z = 0 forces v <= 0, z = 1 forces v >= 0, and v = 0 leaves z free.
    gamma (n,): at least 0; 1 / (x' Q^-1 x) describes the convex hull of the point's own problem.
    """
    v, z, gamma = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (v, z, gamma)))
    over, under = np.maximum(v, 0.0) ** 2, np.maximum(-v, 0.0) ** 2
    return gamma * (_quotient(over, z) + _quotient(under, 1 - z)) - gamma * v**2


def _quotient(square: Array, share: Array) -> Array:
    """square / share, its limit where the share is 0."""
    limit = np.where(square > 0, np.inf, 0.0)
    return np.where(share > 0, square / np.where(share > 0, share, 1.0), limit)


def conic_loss(v: ArrayLike, gamma: ArrayLike, penalty: ArrayLike) -> Array:
    """Loss of Proposition 1: the least penalty z + hull_loss(v, z, gamma) over 0 <= z <= 1.

    0 for v <= 0, then 2 sqrt(penalty gamma) v - gamma v^2 up to v = sqrt(penalty / gamma), then
    the constant penalty. The paper's statement is right; the proof prints -v^2 for the last term,
    without its gamma.

    v, gamma (n,).
    penalty (n,): that of each point, where their weights differ.
    """
    v, gamma = np.broadcast_arrays(np.asarray(v, float), np.asarray(gamma, float))
    rising = np.clip(v, 0.0, np.sqrt(penalty) / np.sqrt(np.maximum(gamma, 1e-300)))
    return 2 * np.sqrt(penalty * gamma) * rising - gamma * rising**2


def least_indicator(v: ArrayLike, gamma: ArrayLike, penalty: ArrayLike) -> Array:
    """The z that attains `conic_loss`: min(1, v sqrt(gamma / penalty)) for v > 0, and 0."""
    v, gamma = np.broadcast_arrays(np.asarray(v, float), np.asarray(gamma, float))
    return np.minimum(np.maximum(v, 0.0) * np.sqrt(gamma / penalty), 1.0)
