"""Multipliers that move by pairs, with all a step needs to know: f, S and who may move.

    W = H sqrt(S + floor^2) - e'alpha,   S = alpha'Q alpha,   f = K (y o alpha) up to a constant
    -y_i dW/dalpha_i = y_i - H f_i / sqrt(S + floor^2)                                 from (14)

All of a problem moves like this, and so does a working set (19), whose K is K_BB: of the rest,
nothing but f_B and S matters.

The subproblem (19) of two variables in closed form: the step of the decomposition with q = 2.

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
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array

EQUAL = 1e-14  # of K_ii + K_jj: what eta is rounding below


class SmoState:
    """State of sequential minimal optimisation: alpha (n,) in [0, 1], two of which a step changes.

    Attributes
    ----------
    alpha, f, S, floor
        See the module's docstring; a step keeps alpha, f and S together.
    """

    def __init__(
        self,
        norm_bound: float,
        y: Array,
        diagonal: Array,
        row: Callable[[int], Array],
        alpha: Array,
        f: Array,
        S: float,
        floor: float = 0.0,
    ) -> None:
        self.norm_bound, self.y, self.diagonal, self.row = norm_bound, y, diagonal, row
        self.alpha, self.f, self.S, self.floor = alpha, f, S, floor
        below, above = alpha < 1, alpha > 0
        # Who may rise along y, as 0 or -inf to be added; who may fall, as 0 or inf.
        self._up: Array = np.where(np.where(y > 0, below, above), 0.0, -np.inf)
        self._low: Array = np.where(np.where(y > 0, above, below), 0.0, np.inf)
        self._scores, self._masked = np.empty(len(y)), np.empty(len(y))

    @property
    def radius(self) -> float:
        """sqrt(S + floor^2)."""
        return math.sqrt(max(self.S, 0.0) + self.floor * self.floor)

    def candidates(self) -> tuple[Array, Array]:
        """Scores of those that may rise along y, -inf for others; of those that may fall, inf."""
        scores = self._score()
        return scores + self._up, scores + self._low

    def _score(self) -> Array:
        """-y o gradient, in an array that the next call writes over; y where there is none."""
        radius = self.radius
        np.multiply(self.f, -self.norm_bound / radius if radius else 0.0, out=self._scores)
        self._scores += self.y
        return self._scores

    def step(self, least: float = 0.0) -> bool:
        """Move the most violating pair to where it is best.

        False where no pair violates the conditions by more than `least`, or nothing moves.
        """
        scores, masked = self._score(), self._masked
        i = int(np.add(scores, self._up, out=masked).argmax())
        j = int(np.add(scores, self._low, out=masked).argmin())
        if not scores[i] - scores[j] > least:
            return False
        alpha, f = self.alpha, self.f
        row_i, row_j = self.row(i), self.row(j)
        y_i, y_j, a_i, a_j = float(self.y[i]), float(self.y[j]), float(alpha[i]), float(alpha[j])
        scale = float(self.diagonal[i] + self.diagonal[j])
        eta, p = scale - 2 * float(row_i[j]), float(f[i] - f[j])
        room_i = 1 - a_i if y_i > 0 else a_i
        room_j = a_j if y_j > 0 else 1 - a_j
        S = max(self.S, 0.0) + self.floor * self.floor
        t = pair_step(self.norm_bound, S, p, eta, y_i - y_j, min(room_i, room_j), scale)
        # a + (1 - a) is 1 in floating point too: ends of the box are met exactly.
        new_i, new_j = a_i + y_i * t, a_j - y_j * t
        if new_i == a_i and new_j == a_j:
            return False
        self._set(i, new_i)
        self._set(j, new_j)
        self.S += t * (2 * p + t * eta)
        difference = np.subtract(row_i, row_j, out=masked)
        difference *= t
        f += difference
        return True

    def replace(self, index: NDArray[np.intp], alpha: Array, S: float, rows: Array) -> bool:
        """Give some of them new multipliers, with the S that follows; False if nothing changes.

        `rows` (q, n) are the rows of K that belong to `index`.
        """
        change = self.y[index] * (alpha - self.alpha[index])
        if not change.any():
            return False
        for i, value in zip(index.tolist(), alpha.tolist(), strict=True):
            self._set(i, value)
        self.S = S
        self.f += change @ rows
        return True

    def _set(self, i: int, value: float) -> None:
        self.alpha[i] = value
        below, above = value < 1, value > 0
        rises, falls = (below, above) if self.y[i] > 0 else (above, below)
        self._up[i] = 0.0 if rises else -np.inf
        self._low[i] = 0.0 if falls else np.inf


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
