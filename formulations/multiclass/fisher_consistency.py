"""Where a loss of several classes may be truncated so that its minimiser finds the right class.

A loss l of the lead u = min over k other than y of f_y - f_k, truncated at s <= 0, is

    l_s(u) = min(l(u), l(s)).

At one x let q_k = pi_k p_k, the weight of a class times its probability. The scores f that minimise
the risk sum_k q_k l_s(u_k) should have their largest entry where q has: then l_s is weighted Fisher
consistent. Lee 2020, Theorem 3.1 (Wu, Zhang & Liu 2010): for K > 2 and a loss that does not
increase, it is if

    sup over u >= -s of (l(0) - l(u)) / (l(s) - l(0)) >= K - 1,

and only if, when l is convex. A loss that does not increase has its supremum at infinity, so that
the condition is l(s) <= l(0) + (l(0) - l(inf)) / (K - 1), which at s = 0 asks for nothing:

    hinge      l(u) = max(0, 1 - u)         s in [-1/(K - 1), 0]
    logistic   l(u) = ln(1 + exp(-u))       s in [-ln(2^(K/(K - 1)) - 1), 0]

Why. With a largest score for class k alone, nobody gains by other scores than those at one and the
same distance u below it, and the risk is q_k l(u) + (Q - q_k) l_s(-u), Q = sum q. At u = 0 it is
Q l(0); from u = -s on the second term stands still at l(s), so that large u win if and only if

    q_k (l(0) - l(inf)) > (Q - q_k) (l(s) - l(0)),

and the largest q_k is more than Q / K unless all are equal. With two classes the scores the wrong
way round are never better, and u = 0 is never best, so that every s <= 0 will do.

Corrected: the theorem is printed with l'(0+) < l'(0-) <= 0, which neither example satisfies; what
is meant is l'(0) < 0, as in Theorem 4.3. The logistic example lacks the minus in exp(-u).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.parameters import one_of


@dataclass(frozen=True)
class MarginLoss:
    """A loss of the lead that does not increase, with l'(0) < 0.

    value(u) -> l(u): for arrays.
    inverse(level) -> u: the u at which l(u) = level, for levels of at least l(0).
    limit: l(inf).
    """

    name: str
    value: Callable[[ArrayLike], Array]
    inverse: Callable[[float], float]
    limit: float

    def truncated(self, u: ArrayLike, s: float) -> Array:
        """min(l(u), l(s)); s = -inf leaves the loss as it is."""
        cap = math.inf if math.isinf(s) else float(self.value(s))
        return np.minimum(self.value(u), cap)


def _hinge(u: ArrayLike) -> Array:
    return np.maximum(0.0, 1 - np.asarray(u, dtype=float))


def _logistic(u: ArrayLike) -> Array:
    return np.logaddexp(0.0, -np.asarray(u, dtype=float))


HINGE = MarginLoss("hinge", _hinge, lambda level: 1 - level, 0.0)
LOGISTIC = MarginLoss("logistic", _logistic, lambda level: -math.log(math.expm1(level)), 0.0)
LOSSES: Mapping[str, MarginLoss] = MappingProxyType({"hinge": HINGE, "logistic": LOGISTIC})

ROUNDING = 1e-12  # relative: -1/(K - 1) itself is admissible, however it was computed


def admissible_truncation(loss: str, n_classes: int) -> tuple[float, float]:
    """Range [lower, 0] of truncations s at which a loss is weighted Fisher consistent.

    Parameters
    ----------
    loss : "hinge" or "logistic"
    n_classes : int
        K >= 2. With two classes lower is -inf: no truncation is needed.

    Raises
    ------
    ValueError
        Another loss; fewer than two classes.

    Examples
    --------
    >>> import tightmargin as tm
    >>> tm.theory.admissible_truncation("hinge", 3)
    (-0.5, 0.0)
    """
    known = _loss(loss)
    K = _classes(n_classes)
    if K == 2:
        return -math.inf, 0.0
    at_zero = float(known.value(0.0))
    return known.inverse(at_zero + (at_zero - known.limit) / (K - 1)), 0.0


def consistency_ratio(loss: str, s: float) -> float:
    """sup over u >= -s of (l(0) - l(u)) / (l(s) - l(0)); inf at s = 0, where nothing divides.

    Raises ValueError: another loss; s > 0.
    """
    known, s = _loss(loss), _truncation(s)
    at_zero = float(known.value(0.0))
    rise = math.inf if math.isinf(s) else float(known.value(s)) - at_zero
    return math.inf if rise == 0 else (at_zero - known.limit) / rise


def is_consistent(loss: str, s: float, n_classes: int) -> bool:
    """Whether the truncated loss is weighted Fisher consistent for K classes.

    Parameters
    ----------
    loss : "hinge" or "logistic"
    s : float
        Truncation, at most 0.
    n_classes : int
        K >= 2.

    Raises
    ------
    ValueError
        Another loss; s > 0 (s = -inf is the loss without truncation); fewer than two classes.

    Examples
    --------
    >>> import tightmargin as tm
    >>> tm.theory.is_consistent("hinge", -0.5, 3), tm.theory.is_consistent("hinge", -2.0, 3)
    (True, False)
    """
    K = _classes(n_classes)
    return consistency_ratio(loss, s) >= (K - 1) * (1 - ROUNDING) or K == 2


def population_risk(loss: str, s: float, weights: ArrayLike, f: ArrayLike) -> Array:
    """Risk sum_k q_k l_s(min over j other than k of f_k - f_j) of scores at one x.

    weights (K,): q >= 0: weights times probabilities.
    f: scores, many at once if wanted.
    """
    q, scores = np.asarray(weights, dtype=float), np.asarray(f, dtype=float)
    known, s = _loss(loss), _truncation(s)
    ordered = np.sort(scores, axis=-1)
    top, second = ordered[..., -1:], ordered[..., -2:-1]
    # The best other score: the second for the class on top, and the top one for all others.
    leads = scores - np.where(scores == top, second, top)
    risk: Array = known.truncated(leads, s) @ q
    return risk


def confused_weights(loss: str, s: float, n_classes: int) -> Array:
    """Weights q (K,) with a single largest entry that the truncated loss does not find.

    The first class has the share half way between 1/K and the least that a minimiser notices, the
    others share the rest: there f = 0 has no larger risk than large scores for the first class.

    Raises ValueError: the loss is consistent there, and there are no such weights.
    """
    K = _classes(n_classes)
    if is_consistent(loss, s, K):
        raise ValueError(f"truncation {s:g} is consistent for {K} classes: nothing is confused")
    # Convex losses without truncation notice nothing up to 1/2; truncated ones 1 / (1 + ratio).
    noticed = min(0.5, 1 / (1 + consistency_ratio(loss, s)))
    share = (noticed + 1 / K) / 2
    return np.array([share] + [(1 - share) / (K - 1)] * (K - 1))


def _loss(loss: str) -> MarginLoss:
    return LOSSES[one_of("loss", loss, tuple(LOSSES))]


def _classes(n_classes: int) -> int:
    if isinstance(n_classes, bool) or n_classes != int(n_classes) or n_classes < 2:
        raise ValueError(f"n_classes must be a whole number of at least 2, got {n_classes!r}")
    return int(n_classes)


def _truncation(s: float) -> float:
    if not (isinstance(s, int | float | np.number) and s <= 0):
        raise ValueError(f"truncation must be a number of at most 0, got {s!r}")
    return float(s)
