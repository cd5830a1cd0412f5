"""The SDP of Cepeda, Gomez & Han 2024 with its matrix as a product: W = w~ w~' + R R'.

With the columns of R (k, r) in the rows of F = [w~'; R'] (1 + r, k), points s_i = y_i x~_i,
v_i = 1 - <w~, s_i>, h_i = ||R' s_i||^2 and T_i = v_i^2 + h_i, the SDP (21) without its z is

    min over F   ||F||^2 + penalty sum over v_i > 0 of v_i^2 / T_i,          z_i = v_i^2 / T_i.

It is not convex in F, but it is convex in (w~, W), with the slope

    Q = I - sum_i gamma_i s_i s_i',     gamma_i = penalty v_i^2 / T_i^2

in W: a stationary F with Q semidefinite is a global optimum, and an eigenvector of Q with a
negative eigenvalue is a row that lowers the value when it is added to F.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.common.least_eigenvalue import (
    OUTWARD,
    ROUNDOFF,
    UNDERFLOW,
    growth,
)
from tightmargin.formulations.common.rounded_sums import most_hinge, most_squares
from tightmargin.formulations.conic.closed_form_bound import StrengtheningBound, strengthening_bound
from tightmargin.formulations.data.arrays import Array

TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Scores:
    """What the loss is made of, for the points with v > 0 only.

    Attributes
    ----------
    inside : array (n,) of bool
        Which points these are.
    signed : array (m, k)
    v, h, T : array (m,)
    lifted : array (m, r)
        R' s_i.
    """

    inside: NDArray[np.bool_]
    signed: Array
    v: Array
    h: Array
    T: Array
    lifted: Array


@dataclass(frozen=True, eq=False)
class LowRank:
    """The function of F, and what follows from an F.

    Attributes
    ----------
    signed : array (n, k)
        y_i times the point with its constant entry.
    """

    signed: Array

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.signed)

    @property
    def k(self) -> int:
        """Length of w~."""
        return self.signed.shape[1]

    def scores(self, F: Array) -> Scores:
        """v, h and T of the points with v > 0."""
        products = self.signed @ F.T
        v = 1 - products[:, 0]
        inside = v > 0
        v, lifted = v[inside], products[inside, 1:]
        h = (lifted * lifted).sum(axis=1)
        return Scores(inside, self.signed[inside], v, h, np.maximum(v * v + h, TINY), lifted)

    def z(self, F: Array) -> Array:
        """Least z (n,) of the matrix that F stands for."""
        found, z = self.scores(F), np.zeros(self.n)
        z[found.inside] = found.v**2 / found.T
        return z

    def spent(self, F: Array) -> float:
        """Sum of z."""
        found = self.scores(F)
        return float((found.v**2 / found.T).sum())

    def most_z(self, F: Array) -> Array:
        """Numbers (n,) that the z of this F do not exceed, every rounding counted.

        z = v^2 / (v^2 + h) rises with v and falls with h.
        """
        products, sizes = self.signed @ F.T, np.abs(self.signed) @ np.abs(F).T
        off = OUTWARD * (growth(self.k + 4) * sizes + (self.k + 2) * UNDERFLOW)
        v = most_hinge(products[:, 0], off[:, 0])
        lifted = np.maximum(0.0, np.abs(products[:, 1:]) - OUTWARD * off[:, 1:])
        h = (lifted * lifted).sum(axis=1) * (1 - OUTWARD * growth(len(F) + 4))
        square = np.where(v > 0, v * v + UNDERFLOW, 0.0)
        ratio = square / np.maximum(square + h, TINY) * (1 + 8 * ROUNDOFF)
        return np.where(v > 0, np.minimum(1.0, ratio), 0.0)

    def most_spent(self, F: Array) -> float:
        """A number that the sum of z does not exceed."""
        terms = self.most_z(F).tolist()
        total = math.fsum(terms)
        return total if math.fsum([*terms, -total]) == 0 else math.nextafter(total, math.inf)

    def most_value(self, F: Array, penalty: float) -> float:
        """A number that the objective does not exceed."""
        price = penalty * self.most_spent(F) * (1 + 4 * ROUNDOFF)
        total = most_squares(F) + price
        return math.nextafter(total, math.inf) if total else 0.0

    def value_and_gradient(self, F: Array, penalty: float) -> tuple[float, Array]:
        """Objective and its gradient, of the shape of F."""
        found = self.scores(F)
        spent = float((found.v**2 / found.T).sum())
        value = float((F * F).sum()) + penalty * spent
        return value, 2 * F + penalty * self._spent_slope(found)

    @staticmethod
    def _spent_slope(found: Scores) -> Array:
        v, h, T = found.v, found.h, found.T
        slopes = np.column_stack([-2 * v * h / T**2, (-2 * v * v / T**2)[:, None] * found.lifted])
        return slopes.T @ found.signed

    def hessian(self, F: Array, penalty: float) -> Array:
        """Second derivatives (F.size, F.size), rows of F one after the other.

        Of v^2 / (v^2 + h) with h = ||g||^2: 2 h (h - 3 v^2) / T^3 in v, 4 v (v^2 - h) g / T^3
        mixed, and 8 v^2 g g' / T^3 - 2 v^2 / T^2 in g; v falls where the product <w~, s> rises.
        """
        found = self.scores(F)
        v, h, T, g, signed = found.v, found.h, found.T, found.lifted, found.signed
        c, k = F.shape
        whole = np.zeros((c, k, c, k))

        def block(a: int, b: int, weights: Array) -> None:
            part = penalty * (signed.T @ (weights[:, None] * signed))
            whole[a, :, b, :] = part
            whole[b, :, a, :] = part

        block(0, 0, 2 * h * (h - 3 * v * v) / T**3)
        for a in range(1, c):
            block(a, 0, -4 * v * (v * v - h) * g[:, a - 1] / T**3)
            for b in range(1, a + 1):
                own = -2 * v * v / T**2 if a == b else 0.0
                block(a, b, own + 8 * v * v * g[:, a - 1] * g[:, b - 1] / T**3)
        matrix = whole.reshape(c * k, c * k)
        matrix[np.diag_indices(c * k)] += 2.0
        return matrix

    def multipliers(self, F: Array, penalty: float) -> tuple[Array, Array]:
        """gamma and alpha (n,): penalty v^2 / T^2 and penalty v / T where v > 0."""
        found, ratio = self.scores(F), np.zeros(self.n)
        ratio[found.inside] = found.v / found.T
        return penalty * ratio**2, penalty * ratio

    def slope(self, F: Array, penalty: float) -> Array:
        """Q (k, k), the gradient in W."""
        gamma, _ = self.multipliers(F, penalty)
        return np.eye(self.k) - self.signed.T @ (gamma[:, None] * self.signed)

    def proof(self, F: Array, penalty: float) -> StrengtheningBound | None:
        """Lower bound on the SDP at this penalty that F implies: valid whatever F is."""
        return self.bound(*self.multipliers(F, penalty), penalty)

    def bound(self, gamma: Array, alpha: Array, penalty: float) -> StrengtheningBound | None:
        """Lower bound on the SDP at this penalty from any multipliers."""
        return strengthening_bound(self.signed, np.ones(self.n), gamma, alpha, penalty=penalty)


def compressed(F: Array, least: float) -> Array:
    """F with R turned to its principal axes, those shorter than least ||F|| left out."""
    _, lengths, axes = np.linalg.svd(F[1:], full_matrices=False)
    kept = lengths > least * float(np.linalg.norm(F))
    return np.vstack([F[:1], lengths[kept, None] * axes[kept]])


def from_lifted(weight: Array, W: Array) -> Array:
    """F of the nearest W >= w~ w~': what is not semidefinite in the difference is left out."""
    lengths, axes = np.linalg.eigh(W - np.outer(weight, weight))
    kept = lengths > 0
    rows = np.sqrt(lengths[kept])[:, None] * axes[:, kept].T
    return np.vstack([weight[None], rows[::-1]])
