"""Bounds on the risk of a hyperplane from the value at risk of its margin errors.

Takeda & Sugiyama 2008, section 3.2. With alpha the value at risk and phi the CVaR of the margin
errors of m points drawn independently (margin_errors.py), R a bound on the norm of every x that can
be drawn, c a constant, and the deviation

    G(gamma) = sqrt( 2/m ( 4 c^2 (R^2 + 1)^2 / gamma^2 log2(2 m) - 1 + ln(2 / delta) ) )

each theorem holds with probability at least 1 - delta over the drawing of the points:

    3   nu > nu_bar,  phi < 0      risk <= nu + G(alpha) <= nu + G(phi)
    4   nu <= nu_bar, alpha < 0    risk <= nu + G(alpha)
    5   nu <= nu_bar, alpha > 0    risk >= nu - G(alpha), and nu - G(alpha) <= nu - G(phi)

Unsaid in the paper, asked for or checked here: R bounds every x that can be drawn; c is of a lemma
(Schoelkopf et al. 2000), and nobody has computed it: only bounds with the same c compare; |b| <= R,
which holds for minimisers; the root is real. Appendix C's y_i <w, x_i> + b is y_i (<w, x_i> + b).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.experiments.statistics.margin_errors import (
    ROUNDING,
    conditional_value_at_risk,
    margin_errors,
    unit_hyperplane,
    value_at_risk,
)
from tightmargin.formulations.data.point_weights import unweighted
from tightmargin.formulations.data.training_data import TrainingData, reads_dense_points
from tightmargin.formulations.nu.nu_svc import checked_nu
from tightmargin.formulations.parameters import positive
from tightmargin.printing import Printed

Side = Literal["upper", "lower"]


@dataclass(frozen=True, repr=False)
class RiskBound(Printed):
    """A bound on the probability of a wrong label, and every number in it.

    Attributes
    ----------
    theorem : int
        3, 4 or 5.
    side : "upper" or "lower"
    nu : float
    value_at_risk, cvar : float
        alpha and phi.
    capacity : float
        4 c^2 (R^2 + 1)^2 / alpha^2 log2(2 m).
    confidence : float
        ln(2 / delta) - 1.
    deviation : float
        G(alpha).
    bound : float
        nu + G(alpha) or nu - G(alpha): the bound on the risk.
    through_cvar : float or None
        The same with G(phi): in Theorem 3 a weaker bound on the risk; in Theorem 5 a number above
        `bound` that bounds no risk. None in Theorem 4, which has none, and where
        G(phi) is not real.
    """

    theorem: int
    side: Side
    nu: float
    value_at_risk: float
    cvar: float
    capacity: float
    confidence: float
    deviation: float
    bound: float
    through_cvar: float | None

    @property
    def vacuous(self) -> bool:
        """Whether every risk between 0 and 1 meets the bound."""
        return self.bound >= 1 if self.side == "upper" else self.bound <= 0


@unweighted
@reads_dense_points
def theorem_3(
    data: TrainingData,
    w: ArrayLike,
    b: float,
    *,
    nu: float,
    nu_bar: float,
    radius: float,
    c: float,
    delta: float,
) -> RiskBound:
    """Upper bound above nu_bar, where the CVaR is negative; lowered with it.

    Parameters
    ----------
    data : TrainingData
        The sample, drawn independently.
    w, b : array (d,), float
        Any hyperplane; it is divided by ||w||.
    nu, nu_bar : float
        nu_bar < nu <= nu_max; nu_bar is that of nu_range() with equal weights.
    radius : float
        R: no x with a greater norm is ever drawn.
    c : float
        Constant of the lemma; the paper says that a positive one exists.
    delta : float
        In (0, 1): the probability that the bound fails.

    Raises
    ------
    ValueError
        A condition of the theorem that does not hold, named.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.TrainingData([[0], [0.2], [0.7], [0.1], [0.9], [1]], [-1, -1, -1, 1, 1, 1])
    >>> words = {"nu": 0.8, "nu_bar": 0.6, "radius": 1.0, "c": 1.0, "delta": 0.05}
    >>> found = tm.theory.theorem_3(data, [1.0], -0.55, **words)
    >>> round(found.bound - found.deviation, 9)  # nu, and what the sample may deviate
    0.8
    """
    if not nu > nu_bar:
        raise ValueError(f"Theorem 3 needs nu > nu_bar, got nu = {nu:g}, nu_bar = {nu_bar:g}")
    return _bound(3, data, w, b, nu, radius, c, delta)


@unweighted
@reads_dense_points
def theorem_4(
    data: TrainingData,
    w: ArrayLike,
    b: float,
    *,
    nu: float,
    nu_bar: float,
    radius: float,
    c: float,
    delta: float,
) -> RiskBound:
    """Upper bound up to nu_bar where the value at risk is negative; a CVaR may have any sign.

    Parameters and errors are those of `theorem_3`, with 0 < nu <= nu_bar.

    Parameters
    ----------
    data, w, b, radius, c, delta
        As for `theorem_3`.
    nu, nu_bar : float
        0 < nu <= nu_bar.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.TrainingData([[0], [0.2], [0.7], [0.1], [0.9], [1]], [-1, -1, -1, 1, 1, 1])
    >>> words = {"nu": 0.4, "nu_bar": 0.6, "radius": 1.0, "c": 1.0, "delta": 0.05}
    >>> found = tm.theory.theorem_4(data, [1.0], -0.55, **words)
    >>> round(found.bound - found.deviation, 9)  # nu, and what the sample may deviate
    0.4
    """
    _refuse_above(4, nu, nu_bar)
    return _bound(4, data, w, b, nu, radius, c, delta)


@unweighted
@reads_dense_points
def theorem_5(
    data: TrainingData,
    w: ArrayLike,
    b: float,
    *,
    nu: float,
    nu_bar: float,
    radius: float,
    c: float,
    delta: float,
) -> RiskBound:
    """Lower bound up to nu_bar where the value at risk is positive; no promise of a small risk.

    Parameters and errors are those of `theorem_3`, with 0 < nu <= nu_bar.

    Parameters
    ----------
    data, w, b, radius, c, delta
        As for `theorem_3`.
    nu, nu_bar : float
        0 < nu <= nu_bar.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> words = {"nu": 0.3, "nu_bar": 0.5, "radius": 6.0, "c": 1.0, "delta": 0.05}
    >>> tm.theory.theorem_5(data, [1.0, 0.0], 0.0, **words).bound < 1
    True
    """
    _refuse_above(5, nu, nu_bar)
    return _bound(5, data, w, b, nu, radius, c, delta)


@unweighted
def risk_bound(
    data: TrainingData,
    w: ArrayLike,
    b: float,
    *,
    nu: float,
    nu_bar: float,
    radius: float,
    c: float,
    delta: float,
) -> RiskBound:
    """Bound of the theorem that applies to a hyperplane; parameters are those of `theorem_3`.

    Raises
    ------
    ValueError
        As the theorems; and where none applies: nu > nu_bar with a CVaR that is not negative, or a
        value at risk of exactly 0.
    """
    common = {"nu": nu, "nu_bar": nu_bar, "radius": radius, "c": c, "delta": delta}
    if nu > nu_bar:
        return theorem_3(data, w, b, **common)
    alpha, _ = _levels(data, w, b, nu, radius)
    return (theorem_5 if alpha > 0 else theorem_4)(data, w, b, **common)


def _bound(
    theorem: int,
    data: TrainingData,
    w: ArrayLike,
    b: float,
    nu: float,
    radius: float,
    c: float,
    delta: float,
) -> RiskBound:
    """The bound of a theorem whose condition on nu holds; its condition on the level is seen to."""
    alpha, phi = _levels(data, w, b, nu, radius)
    met, level, value = {
        3: (phi < 0, "a negative CVaR", phi),
        4: (alpha < 0, "a negative value at risk", alpha),
        5: (alpha > 0, "a positive value at risk", alpha),
    }[theorem]
    if not met:
        # The sign of -0 is a rounding's; added to 0 it is gone.
        raise ValueError(f"Theorem {theorem} needs {level}, got {value + 0.0:.6g}")
    sign = -1.0 if theorem == 5 else 1.0
    far = deviation(alpha, m=data.n, radius=radius, c=c, delta=delta)
    through = None
    if theorem != 4 and capacity(phi, data.n, radius, c) + confidence(delta) >= 0:
        through = nu + sign * deviation(phi, m=data.n, radius=radius, c=c, delta=delta)
    return RiskBound(
        theorem,
        "lower" if theorem == 5 else "upper",
        nu,
        alpha,
        phi,
        capacity=capacity(alpha, data.n, radius, c),
        confidence=confidence(delta),
        deviation=far,
        bound=nu + sign * far,
        through_cvar=through,
    )


def _levels(
    data: TrainingData, w: ArrayLike, b: float, nu: float, radius: float
) -> tuple[float, float]:
    """alpha and phi, after the conditions on nu, R and b."""
    checked_nu(data, nu, "uniform", "free")
    farthest = float(np.linalg.norm(data.X, axis=1).max())
    if farthest > positive("radius", radius) * (1 + ROUNDING):
        raise ValueError(
            f"radius = {radius:g} bounds no distribution that gave these points: one has norm "
            f"{farthest:.6g}"
        )
    _, intercept = unit_hyperplane(data, w, b)
    if abs(intercept) > radius * (1 + ROUNDING):
        raise ValueError(
            f"|b| / ||w|| = {abs(intercept):.6g} exceeds the radius {radius:g}: the hyperplane "
            "misses the ball, and the proof does not cover it"
        )
    errors = margin_errors(data, w, b)
    return value_at_risk(errors, nu), conditional_value_at_risk(errors, nu)


def _refuse_above(theorem: int, nu: float, nu_bar: float) -> None:
    if not nu <= nu_bar:
        raise ValueError(
            f"Theorem {theorem} needs nu <= nu_bar, got nu = {nu:g}, nu_bar = {nu_bar:g}"
        )


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
