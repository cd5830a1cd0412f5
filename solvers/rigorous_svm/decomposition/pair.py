"""The subproblem (19) of two variables in closed form: the step of the decomposition with q = 2.

Bi & Vapnik 2003 leave it open (section 7). The equation y'alpha = 0 leaves one direction,

    alpha_i + y_i t,   alpha_j - y_j t,   and with f = K (y o alpha)
    S(t) = S + 2 t p + t^2 eta,   p = f_i - f_j,   eta = K_ii + K_jj - 2 K_ij
    W(t) = H sqrt(eta z^2 + m) - k z + constant,   z = t + p / eta,   m = S - p^2 / eta >= 0

where k = y_i - y_j is -2, 0 or 2. W is convex, and W' = 0 where z^2 eta (H^2 eta - k^2) = k^2 m:
at z = k sqrt(m / (eta (H^2 eta - k^2))). For |k| >= H sqrt(eta) there is no such z, and W falls all
the way in the direction of k. For m = 0 the minimum is the corner z = 0, and for eta = 0, two equal
points, W = -k t.
"""

from __future__ import annotations

import math

EQUAL = 1e-14  # of K_ii + K_jj: what eta is rounding below


def pair_step(
    norm_bound: float, S: float, p: float, eta: float, k: float, limit: float, scale: float
) -> float:
    """The t in [0, limit] of least W(t).

    Parameters
    ----------
    norm_bound : float
        H > 0.
    S : float
        alpha'Q alpha before the step, or S plus the square of a floor.
    p, eta, k : float
        See the module's docstring.
    limit : float
        The t at which the first of the two variables reaches the end of its box.
    scale : float
        K_ii + K_jj, against which eta is 0 or not.
    """
    if eta <= EQUAL * scale:
        return limit if k > 0 else 0.0
    if k == 0:
        t = -p / eta
    else:
        slope = norm_bound * norm_bound * eta - k * k
        if slope <= 0:
            return limit if k > 0 else 0.0
        m = max(S - p * p / eta, 0.0)
        t = k * math.sqrt(m / (eta * slope)) - p / eta
    return min(max(t, 0.0), limit)
