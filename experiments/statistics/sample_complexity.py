"""How many points the hard and the soft margin need: Lee 2020, Theorems 1.1 and 1.2, checked.

Both are from Shalev-Shwartz & Ben-David, Understanding machine learning, 2014 (Theorem 15.4 and
Corollary 15.7). What the review prints is corrected here as follows.

Definition 1 asks for ||x|| >= rho with probability 1. It must be ||x|| <= rho: the bounds grow with
rho, and points of any length would be allowed. In Theorem 1.2 the labels are {-1, +1}, not {0, 1}.

Theorem 1.1 takes separability with an intercept b*, but is proven without one: there the classifier
of least norm has ||w|| <= 1 / gamma, and the ramp loss of a ball of that radius gives

    sqrt(4 (rho/gamma)^2 / m) + sqrt(2 ln(2/delta) / m).

With a free intercept |b| <= rho / gamma besides (both labels occur, so gamma <= rho), which adds as
much again to the Rademacher complexity of the ball: the first term doubles.

Theorem 1.2 holds without an intercept for  min lambda ||w||^2 + mean hinge, the normalisation of
(5) and of soft_margin_svc: the objective is 2 lambda-strongly convex, one point replaced moves the
solution by at most 2 rho / (lambda m), and rho times that is its third term,

    E hinge(A(S)) <= hinge(u) + lambda ||u||^2 + 2 rho^2 / (lambda m)     for every u.

So the constant is a true one, but not the least: strong convexity used at both solutions, of S and
of S with the point replaced, gives rho / (lambda m) for the move, which points outside the margin
attain, and rho^2 / (lambda m) for the term. With lambda / 2 in the objective, as in the section on
SGD, lambda here is half of that one, and the term is 4 rho^2 / (lambda m), or derived half of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tightmargin.formulations.parameters import one_of, positive
from tightmargin.printing import Printed

PRINTED, DERIVED = "printed", "derived"
FORMS = (PRINTED, DERIVED)
STABILITY = {PRINTED: 2.0, DERIVED: 1.0}  # c of the term c rho^2 / (lambda m)
CAPACITY = {"none": 2.0, "free": 4.0}  # c of the term c rho / (gamma sqrt(m))


@dataclass(frozen=True, repr=False)
class HardMarginBound(Printed):
    """Theorem 1.1: with probability 1 - delta, the error rate of the hard margin is at most this.

    Attributes
    ----------
    capacity : float
        sqrt(4 (rho/gamma)^2 / m), twice that with a free intercept.
    confidence : float
        sqrt(2 ln(2/delta) / m).
    """

    capacity: float
    confidence: float

    @property
    def bound(self) -> float:
        """Of the probability of a wrong label; not clipped."""
        return self.capacity + self.confidence

    @property
    def vacuous(self) -> bool:
        """Whether the bound is 1 or more, and says nothing."""
        return self.bound >= 1


@dataclass(frozen=True, repr=False)
class SoftMarginBound(Printed):
    """Theorem 1.2: the expected hinge loss, and so the error rate, of the soft margin.

    Attributes
    ----------
    ridge : float
        lambda.
    comparison : float
        hinge(u), the expected hinge loss of the hyperplane that is compared with.
    norm_cost : float
        lambda ||u||^2.
    stability : float
        2 rho^2 / (lambda m), or half of it in the derived form.
    """

    ridge: float
    comparison: float
    norm_cost: float
    stability: float

    @property
    def bound(self) -> float:
        """Of the expectation over samples; not clipped."""
        return self.comparison + self.norm_cost + self.stability

    @property
    def excess(self) -> float:
        """bound - comparison."""
        return self.norm_cost + self.stability

    @property
    def vacuous(self) -> bool:
        """Whether the bound is 1 or more: the hinge loss of w = 0, and no bound on a share."""
        return self.bound >= 1


def hard_margin_bound(
    m: int, *, margin: float, radius: float, delta: float = 0.05, intercept: str = "none"
) -> HardMarginBound:
    """Bound the error rate of hard_margin_svc on a distribution that is separable with a margin.

    Conditions, with probability 1 over (x, y): y (<w*, x> + b*) >= gamma for some ||w*|| = 1, and
    ||x|| <= rho; points drawn independently.

    Parameters
    ----------
    m : int
        Number of points.
    margin, radius : float
        gamma and rho of the distribution (not of the sample); gamma <= rho.
    delta : float
        In (0, 1): the bound fails with this probability at most.
    intercept : str
        "none", the printed theorem, with b* = 0; or "free".

    Raises
    ------
    ValueError
        Naming the argument that is out of range.

    Examples
    --------
    >>> import tightmargin as tm
    >>> few = tm.theory.hard_margin_bound(100, margin=0.5, radius=1.0).bound
    >>> many = tm.theory.hard_margin_bound(400, margin=0.5, radius=1.0).bound
    >>> round(few / many, 6)  # it falls with the root of m
    2.0
    """
    m = _whole(m)
    factor = CAPACITY[one_of("intercept", intercept, tuple(CAPACITY))]
    ratio = _ratio(margin, radius)
    return HardMarginBound(
        capacity=factor * ratio / math.sqrt(m), confidence=_spread(delta) / math.sqrt(m)
    )


def hard_margin_points(
    error: float, *, margin: float, radius: float, delta: float = 0.05, intercept: str = "none"
) -> int:
    """Sample complexity: the least m with `hard_margin_bound(m, ...).bound` <= error.

    ((2 rho/gamma + sqrt(2 ln(2/delta))) / error)^2, rounded up: it grows with 1 / gamma^2 and not
    with the dimension.

    Parameters
    ----------
    margin, radius, delta, intercept
        As in `hard_margin_bound`.
    error : float
        Positive; the others as in `hard_margin_bound`.

    Examples
    --------
    >>> import tightmargin as tm
    >>> m = tm.theory.hard_margin_points(0.1, margin=0.5, radius=1.0)
    >>> tm.theory.hard_margin_bound(m, margin=0.5, radius=1.0).bound <= 0.1
    True
    """
    one = hard_margin_bound(1, margin=margin, radius=radius, delta=delta, intercept=intercept)
    return _least((one.bound / positive("error", error)) ** 2)


def soft_margin_bound(
    m: int, *, ridge: float, radius: float, norm: float, comparison: float, form: str = PRINTED
) -> SoftMarginBound:
    """Bound the expected hinge loss of soft_margin_svc without an intercept.

    Conditions: ||x|| <= rho with probability 1, labels -1 and +1, points drawn independently. With
    a penalised intercept take sqrt(rho^2 + 1) for rho, the constant column being one feature more.

    Parameters
    ----------
    m : int
        Number of points.
    ridge, radius : float
        lambda and rho.
    norm, comparison : float
        ||u|| and the expected hinge loss of any u, which is known with the distribution only; for
        u = 0 they are 0 and 1.
    form : str
        "printed" or "derived", see the head of this file.

    Raises
    ------
    ValueError
        Naming the argument that is out of range.

    Examples
    --------
    >>> import tightmargin as tm
    >>> words = {"ridge": 0.1, "radius": 1.0, "norm": 0.0, "comparison": 1.0}
    >>> tm.theory.soft_margin_bound(100, **words).bound >= 1.0  # what w = 0 costs, and more
    True
    """
    m, ridge = _whole(m), positive("ridge", ridge)
    scale = STABILITY[one_of("form", form, FORMS)]
    return SoftMarginBound(
        ridge=ridge,
        comparison=_not_negative("comparison", comparison),
        norm_cost=ridge * _not_negative("norm", norm) ** 2,
        stability=scale * positive("radius", radius) ** 2 / (ridge * m),
    )


def chosen_ridge(m: int, *, norm_bound: float, radius: float, form: str = PRINTED) -> float:
    """The lambda that makes lambda B^2 + c rho^2 / (lambda m) least: sqrt(c rho^2 / (B^2 m)).

    c is 2 in the printed form, 1 in the derived one.
    """
    scale = STABILITY[one_of("form", form, FORMS)]
    return (
        math.sqrt(scale / _whole(m))
        * positive("radius", radius)
        / positive("norm_bound", norm_bound)
    )


def norm_ball_bound(
    m: int, *, norm_bound: float, radius: float, comparison: float, form: str = PRINTED
) -> SoftMarginBound:
    """Bound the expected hinge loss at the ridge chosen for a norm B.

        E hinge(A(S)) <= min_{||w|| <= B} hinge(w) + sqrt(8 rho^2 B^2 / m)

    in the printed form; sqrt(4 rho^2 B^2 / m) in the derived one. Both terms of the excess are
    equal.

    Parameters
    ----------
    norm_bound : float
        B.
    comparison : float
        The least expected hinge loss in the ball, or that of any w in it.
    m, radius, form
        As in `soft_margin_bound`, with its conditions.

    Examples
    --------
    >>> import tightmargin as tm
    >>> tm.theory.norm_ball_bound(800, norm_bound=1.0, radius=1.0, comparison=0.2).bound
    0.3
    """
    ridge = chosen_ridge(m, norm_bound=norm_bound, radius=radius, form=form)
    return soft_margin_bound(
        m, ridge=ridge, radius=radius, norm=norm_bound, comparison=comparison, form=form
    )


def norm_ball_points(
    excess: float, *, norm_bound: float, radius: float, form: str = PRINTED
) -> int:
    """Sample complexity: the least m at which the excess of `norm_ball_bound` is at most this.

    8 rho^2 B^2 / excess^2 rounded up, or half of it: independent of the dimension.

    Parameters
    ----------
    excess : float
        Positive: what the bound may be above the best of the ball.
    norm_bound, radius, form
        As in `norm_ball_bound`.

    Examples
    --------
    >>> import tightmargin as tm
    >>> tm.theory.norm_ball_points(0.1, norm_bound=1.0, radius=1.0)  # 8 / 0.1^2
    800
    """
    one = norm_ball_bound(1, norm_bound=norm_bound, radius=radius, comparison=0.0, form=form)
    return _least((one.excess / positive("excess", excess)) ** 2)


def _whole(m: int) -> int:
    if positive("m", m) != int(m):
        raise ValueError(f"m must be a whole number, got {m!r}")
    return int(m)


def _not_negative(name: str, value: float) -> float:
    if isinstance(value, bool) or not (isinstance(value, int | float) and 0 <= value < math.inf):
        raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}")
    return float(value)


def _ratio(margin: float, radius: float) -> float:
    """rho / gamma, at least 1: a point of label +1 and one of label -1 are 2 gamma apart."""
    if positive("margin", margin) > positive("radius", radius):
        raise ValueError(
            f"margin = {margin:g} exceeds radius = {radius:g}: no distribution with both labels "
            "is separated that far"
        )
    return radius / margin


def _spread(delta: float) -> float:
    if not positive("delta", delta) < 1:
        raise ValueError(f"delta must lie strictly between 0 and 1, got {delta!r}")
    return math.sqrt(2 * math.log(2 / delta))


def _least(m: float) -> int:
    """m rounded up, where rounding of the numbers before may have lifted a whole one."""
    return max(1, math.ceil(m * (1 - 1e-12)))
