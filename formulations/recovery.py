"""Primal quantities recovered from scores by sorting, without a solver's multipliers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def weighted_quantile(values: Array, masses: Array, mass: float) -> float:
    """Point t that minimises -mass * t + sum_i masses_i [t - values_i]_+.

    The slope is minus `mass` plus the mass of values below t; on a flat piece the middle is taken.
    """
    order = np.argsort(values, kind="stable")
    sorted_values, cumulative = values[order], np.cumsum(masses[order])
    k = int(np.searchsorted(cumulative, mass * (1 - 1e-12)))
    k = min(k, len(values) - 1)
    if abs(cumulative[k] - mass) <= 1e-12 * mass and k + 1 < len(values):
        return float(sorted_values[k] + sorted_values[k + 1]) / 2
    return float(sorted_values[k])


def hinge_intercept(scores: Array, y: Array, costs: Array) -> float:
    """Intercept b that minimises sum_i costs_i [1 - y_i (scores_i + b)]_+.

    Every point contributes one breakpoint y_i - scores_i, and the slope rises there by costs_i
    from minus the cost of the positive class.
    """
    return weighted_quantile(y - scores, costs, float(costs[y > 0].sum()))


def nu_margin(scores: Array, y: Array, costs: Array, nu: float) -> tuple[float, float]:
    """Intercept b and level rho that minimise -nu rho + sum_i costs_i [rho - y_i(s_i + b)]_+.

    In rho - b and rho + b the problem separates over the classes.
    """
    positive, negative = y > 0, y < 0
    low = weighted_quantile(scores[positive], costs[positive], nu / 2)
    high = weighted_quantile(-scores[negative], costs[negative], nu / 2)
    return (high - low) / 2, (high + low) / 2
