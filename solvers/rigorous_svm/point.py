"""A hyperplane of the rigorous SVM with multipliers, and the gap between what each of them proves.

Every method for rsvm ends here: whoever found the numbers, the loss is recomputed from (w, b), the
bound from the multipliers, and nothing else counts.

    min  E(w, b) = sum_i [1 - y_i (<w, x_i> + b)]_+       over ||w|| <= H               (3)-(5)
    for alpha in [0, 1]^n with y'alpha = 0:   E >= sum_i alpha_i - H ||F'(y o alpha)||     (12)

Bi & Vapnik 2003; F are the points, or a factor of the kernel matrix. The bound needs no S > 0, so
it holds at every H, above the largest one that matters too. Points far from 0 are moved there
first, for (w, b) on x_i is (w, b + <w, m>) on x_i - m: only b then has the digits of m.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tightmargin.formulations.common.intercept_recovery import hinge_intercept
from tightmargin.formulations.common.multipliers import balanced_alpha
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.solvers.exact_arithmetic import dot_integers, dyadic, scaled
from tightmargin.solvers.proofs.gap import closes
from tightmargin.solvers.proofs.verdict import Verdict

GAP = 1e-8  # of the loss: what a certified point may leave open
ROUNDING = 1e-11  # of sum alpha, which is what the loss is a difference of
STRETCH = 1e-12  # of w: what a hyperplane may gain that loses nothing but by rounding
NOTICED = 1e-3  # of the gap: what rounding may take of it before the sum is extended
EXTENDED_LIMIT = 4_000_000  # numbers of the points that are summed in extended precision
NOTHING = 1e-12  # of the largest ||F'(y o alpha)|| there could be: multipliers that name no w


@dataclass(frozen=True, eq=False)
class RsvmPoint:
    """A point of the rigorous SVM at one norm bound, with its proof.

    Attributes
    ----------
    norm_bound : float
        H.
    w : array (d,)
        In the coordinates of `data.factor`; ||w|| <= H, up to STRETCH where the loss is 0.
    b : float
    alpha : array (n,)
        Multipliers in [0, 1] with y'alpha = 0 to rounding.
    objective : float
        E at (w, b) as they are stored, recomputed.
    bound : float
        Proven by alpha on the least E.
    length : float
        ||F'(y o alpha)|| = sqrt(S), the price of capacity: dE/dH = -sqrt(S).
    """

    norm_bound: float
    w: Array
    b: float
    alpha: Array
    objective: float
    bound: float
    length: float

    @property
    def gamma(self) -> float:
        """Multiplier of ||w||^2 <= H^2, sqrt(S) / H."""
        return self.length / self.norm_bound

    @property
    def gap(self) -> float:
        """objective - bound, at least 0."""
        return max(0.0, self.objective - self.bound)

    @property
    def relative_gap(self) -> float | None:
        """Gap over the objective; None where that is 0 to rounding."""
        rounding = ROUNDING * max(1.0, float(self.alpha.sum()))
        return None if self.objective <= rounding else self.gap / self.objective

    @property
    def verdict(self) -> Verdict:
        """CERTIFIED where the gap is at most GAP of the objective, to rounding, and see gap.py."""
        rounding = ROUNDING * max(1.0, float(self.alpha.sum()))
        closed = self.gap <= GAP * self.objective + rounding and closes(self.objective, self.bound)
        return Verdict.CERTIFIED if closed else Verdict.NOT_CERTIFIED


def rsvm_point(
    data: TrainingData | GramData,
    norm_bound: float,
    alpha: Array,
    hyperplane: tuple[Array, float] | None = None,
) -> RsvmPoint:
    """Make multipliers feasible, recover the hyperplane, and recompute both values.

    Parameters
    ----------
    data : TrainingData or GramData
    norm_bound : float
        H > 0.
    alpha : array (n,)
        Approximate multipliers of the margin rows, on the scale [0, 1].
    hyperplane : (w, b), optional
        A known hyperplane, w in the coordinates of `data.factor`. It is needed where S = 0 and
        the multipliers name none; it is scaled into the ball. The better one of this and
        H F'(y o alpha) / sqrt(S) is kept, with the intercept of least loss.

    Multipliers whose dual value is negative are replaced by zeros once they have named their w:
    zeros prove E >= 0, and are optimal where E = 0.

    Returns
    -------
    RsvmPoint
    """
    y, placed = data.y, _placed(data.factor)
    points, reach = placed.points, placed.reach
    alpha = balanced_alpha(np.asarray(alpha, dtype=np.float64), y, np.ones(data.n), "free")
    direction = points.T @ (y * alpha)
    length = float(np.linalg.norm(direction))
    candidates = []
    if length > NOTHING * reach * data.n:
        candidates.append(direction * (norm_bound / length))
    if hyperplane is not None:
        candidates.append(_into_ball(np.asarray(hyperplane[0], dtype=np.float64), norm_bound))
    candidates = candidates or [np.zeros(data.d)]
    offsets = [
        placed.stored(w, hinge_intercept(points @ w, y, np.ones(data.n))) for w in candidates
    ]
    if hyperplane is not None:  # its own intercept may be the better one by rounding
        candidates.append(candidates[-1])
        offsets.append(float(hyperplane[1]))
    losses = [placed.loss(y, w, b) for w, b in zip(candidates, offsets, strict=True)]
    best = int(np.argmin(losses))
    w, b, value = placed.stretched(y, candidates[best], offsets[best], losses[best])
    if float(alpha.sum()) < norm_bound * length:
        alpha, length = np.zeros(data.n), 0.0  # they prove less than nothing, and price a free H
    return RsvmPoint(
        norm_bound=float(norm_bound),
        w=w,
        b=b,
        alpha=alpha,
        objective=value,
        bound=_lower_bound(y, points, norm_bound, alpha, reach, value),
        length=length,
    )


@dataclass(frozen=True, eq=False)
class _Placed:
    """Points x_i - m (n, d), m (d,), and the length of the longest of them.

    A difference is rounded relative to itself, so that these are exact to the last digit however
    large m is.
    """

    points: Array
    moved: Array
    reach: float

    def stored(self, w: Array, c: float) -> float:
        """The intercept for x_i of the one for x_i - m."""
        return c - float(w @ self.moved)

    def stretched(self, y: Array, w: Array, b: float, loss: float) -> tuple[Array, float, float]:
        """(w, b) a rounding longer and a loss of 0, where that is all it takes."""
        if not 0 < loss <= STRETCH * len(y):
            return w, b, loss
        for longer in (2e-15, 2e-14, 2e-13, STRETCH):
            other = w * (1 + longer), b * (1 + longer)
            if self.loss(y, *other) == 0:
                return *other, 0.0
        return w, b, loss

    def loss(self, y: Array, w: Array, b: float) -> float:
        """E at (w, b), with b + <w, m> from all their digits: b has those of m."""
        if self.moved.any():
            left, right = dyadic(np.append(w, b)), dyadic(np.append(self.moved, 1.0))
            product = dot_integers(left.integers, right.integers)
            b = float(scaled(product, left.exponent + right.exponent))
        return float(np.maximum(0.0, 1 - y * (self.points @ w + b)).sum())


def _placed(factor: Array) -> _Placed:
    """The points around 0; where they are if that is no farther from it than they are long."""
    mean, reach = factor.mean(axis=0), _longest(factor)
    if float(np.linalg.norm(mean)) <= reach / 2:
        return _Placed(factor, np.zeros(factor.shape[1]), reach)
    moved = factor - mean
    return _Placed(moved, mean, _longest(moved))


def _longest(points: Array) -> float:
    return float(np.sqrt(np.einsum("ij,ij->i", points, points).max(initial=0.0)))


def _into_ball(w: Array, radius: float) -> Array:
    norm = float(np.linalg.norm(w))
    return w if norm <= radius else w * (radius / norm)


def _lower_bound(
    y: Array, points: Array, norm_bound: float, alpha: Array, reach: float, value: float
) -> float:
    """sum alpha - H sqrt(S) less what rounding can hide; at least 0, which E is.

    y'alpha is 0 to rounding only. An intercept of least loss sits at some y_i - <w, x_i>, so that
    |b| <= 1 + H max ||x_i|| loses no optimum, and the rest of y'alpha costs at most that much. All
    of it for the points as they are placed: any shift of them has the same optimum.
    """
    n, double = len(y), float(np.finfo(float).eps)
    signed, mass = y * alpha, math.fsum(alpha.tolist())
    left = abs(math.fsum(signed.tolist())) * (1 + norm_bound * reach)

    def bound(direction: Array, eps: float) -> float:
        length = float(np.linalg.norm(direction))
        # The sum of n products, and what the placing of the points and the norm have rounded.
        length += ((n + 4) * eps + 2 * double) * mass * reach + (
            len(direction) + 4
        ) * double * length
        price = norm_bound * length + left
        return max(0.0, mass - price - 4 * double * (mass + price))

    plain = bound(signed @ points, double)
    rounding = norm_bound * (n + 4) * double * mass * reach
    if rounding <= NOTICED * (value - plain) or points.size > EXTENDED_LIMIT:
        return plain
    # einsum converts the points piece by piece; a product would copy all of them first.
    real: Any = np.longdouble
    direction = np.einsum("i,ij->j", signed.astype(real), points, dtype=real).astype(float)
    return bound(direction, float(np.finfo(real).eps))
