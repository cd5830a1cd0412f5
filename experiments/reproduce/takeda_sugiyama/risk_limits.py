"""Confidence limits of an error rate, and the constants c for which a bound holds or says much."""

from __future__ import annotations

import math

from scipy.special import betaincinv

from tightmargin.experiments.statistics.risk_bounds import RiskBound

CONFIDENCE = 0.95


def clopper_pearson(wrong: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Limits of a probability, exact and of the same error on both sides.

    The lower one is the p at which `wrong` or more of n happen with probability
    (1 - confidence) / 2, the upper one that at which `wrong` or fewer do.

    Raises
    ------
    ValueError
        wrong outside 0 to n, or a confidence outside (0, 1).
    """
    if not 0 <= wrong <= n or n < 1:
        raise ValueError(f"wrong must lie between 0 and n = {n}, got {wrong}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}")
    tail = (1 - confidence) / 2
    low = 0.0 if wrong == 0 else float(betaincinv(wrong, n - wrong + 1, tail))
    high = 1.0 if wrong == n else float(betaincinv(wrong + 1, n - wrong, 1 - tail))
    return low, high


def least_constant(bound: RiskBound, limit: float, *, m: int) -> float:
    """Smallest c >= 0 at which a bound that was made with c = 1 reaches a limit.

    nu + G >= limit for an upper bound, nu - G <= limit for a lower one, where
    G = sqrt(2/m (c^2 capacity + confidence)).
    """
    distance = limit - bound.nu if bound.side == "upper" else bound.nu - limit
    return _constant(bound, distance, m)


def largest_constant(bound: RiskBound, *, m: int) -> float:
    """Largest c at which the bound excludes any risk between 0 and 1; 0 where none does."""
    return _constant(bound, 1 - bound.nu if bound.side == "upper" else bound.nu, m)


def without_capacity(bound: RiskBound, *, m: int) -> float:
    """The bound as c goes to 0: nu plus or minus sqrt(2/m (ln(2/delta) - 1))."""
    far = math.sqrt(max(0.0, 2 / m * bound.confidence))
    return bound.nu + far if bound.side == "upper" else bound.nu - far


def _constant(bound: RiskBound, distance: float, m: int) -> float:
    """The c at which G is a distance."""
    if distance <= 0:
        return 0.0
    return math.sqrt(max(0.0, distance**2 * m / 2 - bound.confidence) / bound.capacity)
