"""Primal quantities recovered from scores by sorting, without a solver's multipliers."""

from __future__ import annotations

import numpy as np

from tightmargin.formulations.data.arrays import Array


def flat_piece(values: Array, masses: Array, mass: float) -> tuple[float, float]:
    """All t that minimise -mass * t + sum_i masses_i [t - values_i]_+, as an interval.

    The slope is minus `mass` plus the mass of values below t: 0 on a flat piece, or jumping over 0
    in one point, which is both ends then.
    """
    order = np.argsort(values, kind="stable")
    sorted_values, cumulative = values[order], np.cumsum(masses[order])
    k = int(np.searchsorted(cumulative, mass * (1 - 1e-12)))
    k = min(k, len(values) - 1)
    flat = abs(cumulative[k] - mass) <= 1e-12 * mass and k + 1 < len(values)
    return float(sorted_values[k]), float(sorted_values[k + 1 if flat else k])


def weighted_quantile(values: Array, masses: Array, mass: float) -> float:
    """Point t that minimises -mass * t + sum_i masses_i [t - values_i]_+.

    On a flat piece the middle is taken.
    """
    low, high = flat_piece(values, masses, mass)
    return low if low == high else (low + high) / 2


def hinge_intercept_interval(scores: Array, y: Array, costs: Array) -> tuple[float, float]:
    """All intercepts b that minimise sum_i costs_i [1 - y_i (scores_i + b)]_+, as an interval.

    Every point contributes one breakpoint y_i - scores_i, and the slope rises there by costs_i
    from minus the cost of the positive class. The ends are equal where a breakpoint jumps over
    slope 0; a multiplier strictly inside its box makes them equal to rounding.

    scores (n,): <w, x_i>.
    y (n,): labels, both present.
    costs (n,): positive.
    """
    return flat_piece(y - scores, costs, float(costs[y > 0].sum()))


def hinge_intercept(scores: Array, y: Array, costs: Array) -> float:
    """Intercept b that minimises sum_i costs_i [1 - y_i (scores_i + b)]_+.

    The middle of `hinge_intercept_interval`.
    """
    low, high = hinge_intercept_interval(scores, y, costs)
    return low if low == high else (low + high) / 2


def nu_margin(scores: Array, y: Array, costs: Array, nu: float) -> tuple[float, float]:
    """Intercept b and level rho that minimise -nu rho + sum_i costs_i [rho - y_i(s_i + b)]_+.

    In rho - b and rho + b the problem separates over the classes.
    """
    positive, negative = y > 0, y < 0
    low = weighted_quantile(scores[positive], costs[positive], nu / 2)
    high = weighted_quantile(-scores[negative], costs[negative], nu / 2)
    return (high - low) / 2, (high + low) / 2
