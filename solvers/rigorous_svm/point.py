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
from fractions import Fraction
from typing import Any

import numpy as np

from tightmargin.formulations.common.hyperplane import balanced_alpha
from tightmargin.formulations.common.margin_levels import hinge_intercept
from tightmargin.formulations.common.rounding import (
    OUTWARD,
    excess,
    growth,
    most_hinge,
    score_errors,
)
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.lemma import Lemma
from tightmargin.solvers.exact import dot_integers, dyadic, rounded_up, scaled
from tightmargin.solvers.kernel import statement as gaps
from tightmargin.solvers.kernel.statement import (
    FeasiblePoint,
    LowerBound,
    by_lemma,
    point_by_formula,
)
from tightmargin.solvers.searches import Proven

GAP = 1e-8  # of the loss: what a certified point may leave open
ROUNDING = 1e-11  # of sum alpha, which is what the loss is a difference of
STRETCH = 1e-12  # of w: what a hyperplane may gain that loses nothing but by rounding
NOTICED = 1e-3  # of the gap: what rounding may take of it before the sum is extended
EXTENDED_LIMIT = 4_000_000  # numbers of the points that are summed in extended precision
HIDDEN = 8  # times the error of a score: losses that may be nothing but rounding
EXACT_LIMIT = 100_000  # numbers of such points that are multiplied in integers
EPS = float(np.finfo(np.float64).eps)
LONGEST = 1e-6  # of w: what it may be made longer by inside of its ball
PROOF = "weak duality of the rigorous SVM at multipliers in [0, 1], recomputed from the data"
NORM_ROW = "norm: ||w||^2 <= H^2"
NOTHING = 1e-12  # of the largest ||F'(y o alpha)|| there could be: multipliers that name no w


@dataclass(frozen=True, eq=False, repr=False)
class RsvmPoint(Proven):
    """A point of the rigorous SVM at one norm bound, with its proof.

    norm_bound: H.
    w (d,): in the coordinates of `data.factor`; ||w|| <= H, up to STRETCH where the loss is 0.
    alpha (n,): multipliers in [0, 1] with y'alpha = 0 to rounding.
    objective: E at (w, b) as they are stored, recomputed.
    attained, below: proofs of E at w, drawn into the ball by a rounding where it is longer, and of
        the bound.
    length: ||F'(y o alpha)|| = sqrt(S), the price of capacity: dE/dH = -sqrt(S).
    """

    norm_bound: float
    w: Array
    b: float
    alpha: Array
    objective: float
    attained: FeasiblePoint
    below: LowerBound | None
    length: float

    @property
    def gamma(self) -> float:
        """Multiplier of ||w||^2 <= H^2, sqrt(S) / H."""
        return self.length / self.norm_bound

    @property
    def allowed(self) -> float:
        """GAP and what rounding may leave, and at most what kernel/statement.py allows."""
        unit = gaps.unit(self.upper, self.bound)
        if not 0 < unit < math.inf:
            return GAP
        return min(gaps.CLOSED, GAP + self._rounding / unit)

    @property
    def relative_gap(self) -> float | None:
        """Gap over the objective; None where that is 0 to rounding."""
        return None if self.objective <= self._rounding else self.gap / self.objective

    @property
    def _rounding(self) -> float:
        return ROUNDING * max(1.0, float(self.alpha.sum()))

    @property
    def settled(self) -> bool:
        """Whether nothing is left to look for: the gap is proven to be closed."""
        return self.verdict.closed


def subject_of(data: TrainingData | GramData, norm_bound: float) -> tuple[str, str, float]:
    """What proofs of the rigorous SVM speak of; points of a kernel matrix are its factor."""
    return "rsvm", data.sha256, float(norm_bound)


def rsvm_point(
    data: TrainingData | GramData,
    norm_bound: float,
    alpha: Array,
    hyperplane: tuple[Array, float] | None = None,
) -> RsvmPoint:
    """Make multipliers feasible, recover the hyperplane, and recompute both values.

    norm_bound: H > 0.
    alpha (n,): approximate multipliers of the margin rows, on the scale [0, 1].
    hyperplane (w, b): a known hyperplane, w in the coordinates of `data.factor`. It is needed where
        S = 0 and the multipliers name none; it is scaled into the ball. The better one of this and
        H F'(y o alpha) / sqrt(S) is kept, with the intercept of least loss.
    """
    y, placed, subject = data.y, _placed(data.factor), subject_of(data, norm_bound)
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
    w, b = placed.stretched(y, candidates[best], offsets[best], norm_bound)
    if float(alpha.sum()) < norm_bound * length:
        alpha, length = np.zeros(data.n), 0.0  # they prove less than nothing, and price a free H
    return RsvmPoint(
        norm_bound=float(norm_bound),
        w=w,
        b=b,
        alpha=alpha,
        objective=(value := placed.loss(y, w, b)),
        attained=placed.attained(subject, y, w, b, value),
        below=by_lemma(subject, _lower_bound(y, points, norm_bound, alpha, reach, value)),
        length=length,
    )


@dataclass(frozen=True, eq=False)
class _Placed:
    """Points x_i (n, d), x_i - m, m (d,), and the length of the longest of these.

    A difference is rounded relative to itself, so that these are exact to the last digit however
    large m is.
    """

    given: Array
    points: Array
    moved: Array
    reach: float

    def stored(self, w: Array, c: float) -> float:
        """The intercept for x_i of the one for x_i - m."""
        return c - float(w @ self.moved)

    def stretched(self, y: Array, w: Array, b: float, norm_bound: float) -> tuple[Array, float]:
        """(w, b) a little longer and a loss that is proven to be 0, where that is all it takes.

        Inside of the ball by up to LONGEST, beyond it by STRETCH.
        """
        if self.loss(y, w, b) > STRETCH * len(y) or self.at_most(y, w, b) == 0:
            return w, b
        length = float(np.linalg.norm(w))
        longer = 2e-15
        while longer <= STRETCH or (longer <= LONGEST and (1 + longer) * length < norm_bound):
            other = w * (1 + longer), b * (1 + longer)
            if self.at_most(y, *other) == 0:
                return other
            longer *= 2
        return w, b

    def loss(self, y: Array, w: Array, b: float) -> float:
        """E at (w, b), with b + <w, m> from all their digits: b has those of m."""
        return float(np.maximum(0.0, 1 - y * (self.points @ w + self._level(w, b))).sum())

    def at_most(self, y: Array, w: Array, b: float, shrunk: float = 0.0) -> float:
        """A number that E does not exceed at w shortened by a share of at most `shrunk`."""
        level, products = self._level(w, b), self.points @ w
        errors = score_errors(self.points, w, level)
        drawn_in = OUTWARD * shrunk * (np.abs(products) + errors)
        terms = most_hinge(y * (products + level), errors + drawn_in)
        if not shrunk:
            # Of the points that may be on their margin, as many as rounding hides.
            hidden = np.flatnonzero((terms > 0) & (terms <= HIDDEN * (errors + EPS)))
            if 0 < hidden.size * len(w) <= EXACT_LIMIT:
                terms[hidden] = _exact_hinge(y[hidden], self.given[hidden], w, b)
        total = math.fsum(terms.tolist())
        return math.nextafter(total, math.inf) if total else 0.0

    def attained(
        self, subject: tuple[str, str, float], y: Array, w: Array, b: float, value: float
    ) -> FeasiblePoint:
        """What w proves: drawn into the ball, or where its loss is 0 beyond it, as it is."""
        norm_bound = subject[-1]
        beyond = _beyond(w, norm_bound)
        most, words = self.at_most(y, w, b, beyond), "slacks from their formula, and w in its ball"
        if most == 0 or beyond == 0 or self.at_most(y, w, b) > 0:
            return point_by_formula(subject, value, excess(most, value), words)
        eps = OUTWARD * norm_bound**2 * beyond * (2 + beyond)
        words = "slacks from their formula"
        return point_by_formula(subject, 0.0, 0.0, words, eps=eps, worst=NORM_ROW)

    def _level(self, w: Array, b: float) -> float:
        """b + <w, m>, rounded once."""
        if not self.moved.any():
            return b
        left, right = dyadic(np.append(w, b)), dyadic(np.append(self.moved, 1.0))
        product = dot_integers(left.integers, right.integers)
        return float(scaled(product, left.exponent + right.exponent))


def _exact_hinge(y: Array, points: Array, w: Array, b: float) -> list[float]:
    """max(0, 1 - y_i (<w, x_i> + b)) in integers, rounded up."""
    right, found = dyadic(np.append(w, b)), []
    for sign, x in zip(y.tolist(), points, strict=True):
        left = dyadic(np.append(x, 1.0))
        product = dot_integers(left.integers, right.integers)
        margin = int(sign) * scaled(product, left.exponent + right.exponent)
        found.append(max(0.0, rounded_up(1 - margin)))
    return found


def _placed(factor: Array) -> _Placed:
    """The points around 0; where they are if that is no farther from it than they are long."""
    mean, reach = factor.mean(axis=0), _longest(factor)
    if float(np.linalg.norm(mean)) <= reach / 2:
        return _Placed(factor, factor, np.zeros(factor.shape[1]), reach)
    moved = factor - mean
    return _Placed(factor, moved, mean, _longest(moved))


def _longest(points: Array) -> float:
    return float(np.sqrt(np.einsum("ij,ij->i", points, points).max(initial=0.0)))


def _into_ball(w: Array, radius: float) -> Array:
    norm = float(np.linalg.norm(w))
    return w if norm <= radius else w * (radius / norm)


def _beyond(w: Array, norm_bound: float) -> float:
    """By which share of H w is longer than H, at most; 0 where it is not, without rounding."""
    exact = dyadic(w)
    over = scaled(dot_integers(exact.integers, exact.integers), 2 * exact.exponent)
    allowed = Fraction(norm_bound) ** 2
    # sqrt(1 + t) - 1 <= t / 2.
    return rounded_up((over / allowed - 1) / 2) if over > allowed else 0.0


def _lower_bound(
    y: Array, points: Array, norm_bound: float, alpha: Array, reach: float, value: float
) -> Lemma:
    """sum alpha - H sqrt(S) less what rounding can hide; at least 0, which E is.

    y'alpha is 0 to rounding only. An intercept of least loss sits at some y_i - <w, x_i>, so that
    |b| <= 1 + H max ||x_i|| loses no optimum, and the rest of y'alpha costs at most that much. All
    of it for the points as they are placed: any shift of them has the same optimum.
    """
    n, double = len(y), float(np.finfo(float).eps)
    signed, mass = y * alpha, math.fsum(alpha.tolist())
    reach *= 1 + OUTWARD * growth(points.shape[1] + 4)
    left = abs(math.fsum(signed.tolist())) * (1 + norm_bound * reach)

    def bound(direction: Array, eps: float) -> float:
        length = float(np.linalg.norm(direction))
        # The sum of n products, and what the placing of the points and the norm have rounded.
        length += OUTWARD * (
            ((n + 4) * eps + 2 * double) * mass * reach + (len(direction) + 4) * double * length
        )
        price = norm_bound * length + left
        return max(0.0, mass - price - 8 * double * (mass + price))

    found = bound(signed @ points, double)
    rounding = norm_bound * (n + 4) * double * mass * reach
    if rounding > NOTICED * (value - found) and points.size <= EXTENDED_LIMIT:
        # einsum converts the points piece by piece; a product would copy all of them first.
        real: Any = np.longdouble
        direction = np.einsum("i,ij->j", signed.astype(real), points, dtype=real).astype(float)
        found = bound(direction, float(np.finfo(real).eps))
    hypotheses = {
        "H > 0": norm_bound > 0,
        "alpha lies in [0, 1]": bool((alpha >= 0).all() and (alpha <= 1).all()),
        "what y'alpha leaves is priced by a bound on b": math.isfinite(left),
    }
    return Lemma(found, PROOF, hypotheses)
