"""A hyperplane of the rigorous SVM with multipliers, and the gap between what each of them proves.

Every method for rsvm ends here: whoever found the numbers, the loss is recomputed from (w, b), the
bound from the multipliers, and nothing else counts.

    min  E(w, b) = sum_i [1 - y_i (<w, x_i> + b)]_+       over ||w|| <= H               (3)-(5)
    for alpha in [0, 1]^n with y'alpha = 0:   E >= sum_i alpha_i - H ||F'(y o alpha)||     (12)

Bi & Vapnik 2003; F are the points, or a factor of the kernel matrix. The bound needs no S > 0, so
it holds at every H, above the largest one that matters too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.c_svc import balanced_alpha
from formulations.data import GramData, TrainingData
from formulations.recovery import hinge_intercept
from formulations.rsvm_checks import hinge_sum
from solvers.result import Verdict

Array = NDArray[np.float64]

GAP = 1e-8  # of the loss: what a certified point may leave open
ROUNDING = 1e-11  # of sum alpha, which is what the loss is a difference of
OFFSET = 0.9  # of the mean square of the points: beyond it their place is most of their size
NOTHING = 1e-12  # of the largest ||F'(y o alpha)|| there could be: multipliers that name no w


@dataclass(frozen=True, eq=False)
class RsvmPoint:
    """A point of the rigorous SVM at one norm bound, with its proof.

    Attributes
    ----------
    norm_bound : float
        H.
    w : array (d,)
        In the coordinates of `data.factor`; ||w|| <= H.
    b : float
    alpha : array (n,)
        Multipliers in [0, 1] with y'alpha = 0 to rounding.
    value : float
        E at (w, b), recomputed.
    lower_bound : float
        Proven by alpha on the least E.
    length : float
        ||F'(y o alpha)|| = sqrt(S), the price of capacity: dE/dH = -sqrt(S).
    """

    norm_bound: float
    w: Array
    b: float
    alpha: Array
    value: float
    lower_bound: float
    length: float

    @property
    def gamma(self) -> float:
        """Multiplier of ||w||^2 <= H^2, sqrt(S) / H."""
        return self.length / self.norm_bound

    @property
    def gap(self) -> float:
        """value - lower_bound, at least 0."""
        return max(0.0, self.value - self.lower_bound)

    @property
    def relative_gap(self) -> float | None:
        """Gap over the value; None where the value is 0 to rounding."""
        rounding = ROUNDING * max(1.0, float(self.alpha.sum()))
        return None if self.value <= rounding else self.gap / self.value

    @property
    def verdict(self) -> Verdict:
        """CERTIFIED where the gap is at most GAP of the value, up to rounding."""
        rounding = ROUNDING * max(1.0, float(self.alpha.sum()))
        closed = self.gap <= GAP * self.value + rounding
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
    y, factor = data.y, data.factor
    alpha = balanced_alpha(np.asarray(alpha, dtype=np.float64), y, np.ones(data.n), "free")
    near, reach = _near_zero(factor)
    direction = near.T @ (y * alpha)
    length = float(np.linalg.norm(direction))
    candidates = []
    if length > NOTHING * reach * data.n:
        candidates.append(direction * (norm_bound / length))
    if hyperplane is not None:
        candidates.append(_into_ball(np.asarray(hyperplane[0], dtype=np.float64), norm_bound))
    candidates = candidates or [np.zeros(data.d)]
    offsets = [hinge_intercept(factor @ w, y, np.ones(data.n)) for w in candidates]
    losses = [hinge_sum(data, w, b) for w, b in zip(candidates, offsets, strict=True)]
    if hyperplane is not None:  # its own intercept may be the better one by rounding
        candidates.append(candidates[-1])
        offsets.append(float(hyperplane[1]))
        losses.append(hinge_sum(data, candidates[-1], offsets[-1]))
    best = int(np.argmin(losses))
    if float(alpha.sum()) < norm_bound * length:
        alpha, length = np.zeros(data.n), 0.0  # they prove less than nothing, and price a free H
    return RsvmPoint(
        norm_bound=float(norm_bound),
        w=candidates[best],
        b=offsets[best],
        alpha=alpha,
        value=losses[best],
        lower_bound=_lower_bound(data, norm_bound, alpha, length, reach),
        length=length,
    )


def _near_zero(factor: Array) -> tuple[Array, float]:
    """Points moved to their mean where they are far from 0, and the largest norm among them.

    With y'alpha = 0 no bound and no direction depends on where 0 is, but their rounding does.
    """
    squares = np.einsum("ij,ij->i", factor, factor)
    mean = factor.mean(axis=0) if len(factor) else np.zeros(factor.shape[1])
    if float(mean @ mean) > OFFSET * float(squares.mean()):
        factor = factor - mean
        squares = np.einsum("ij,ij->i", factor, factor)
    return factor, float(np.sqrt(squares.max(initial=0.0)))


def _into_ball(w: Array, radius: float) -> Array:
    norm = float(np.linalg.norm(w))
    return w if norm <= radius else w * (radius / norm)


def _lower_bound(
    data: TrainingData | GramData, norm_bound: float, alpha: Array, length: float, reach: float
) -> float:
    """sum alpha - H sqrt(S) less what rounding can hide; at least 0, which E is.

    y'alpha is 0 to rounding only. An intercept of least loss sits at some y_i - <w, x_i>, so that
    |b| <= 1 + H max ||x_i|| loses no optimum, and the rest of y'alpha costs at most that much;
    x_i are the points as `_near_zero` moved them, which moves b along.
    """
    mass = float(alpha.sum())
    rounding = 4 * np.finfo(float).eps * np.sqrt(data.n) * (mass + norm_bound * mass * reach)
    left = abs(float(data.y @ alpha)) * (1 + norm_bound * reach)
    return max(0.0, mass - norm_bound * length - left - rounding)
