"""Intercepts and margin levels of given scores, by sorting, and the nu-property of a level.

The nu-property is what the optimal level rho says of the data, counted from the scores. With
weights c_i of sum 1 and -nu rho + sum_i c_i (rho - u_i)_+ least in rho,

    weight of the margin errors {u_i < rho}  <=  nu  <=  weight of {u_i <= rho},

and the second set holds all support vectors (Schoelkopf et al., New support vector algorithms,
Neural Computation 12, 2000, Proposition 5; with equal weights these are shares of the points). Of
a dual point the multipliers say it themselves: those at their cap weigh at most nu, those above
zero at least nu.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array

# --- Primal quantities recovered from scores by sorting, without a solver's multipliers ----------


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


# --- The nu-property: what the optimal level rho says about a data set, counted from the scores

# Of the largest score, or of the cap: as near as this a point is on the margin.
ON_MARGIN = 1e-6
ON_CAP = 1e-6
MUCH_SMALLER = 0.1
SUM = 1e-9  # the weights are added in floating point

HOLDS, FAILS = "holds", "fails"
NOT_ASKED = "not asked: rho = 0, where it need not hold"


def has_multiplier(alpha: Array, caps: Array, u: Array) -> NDArray[np.bool_]:
    """Which points have a multiplier, seen through what an interior-point solver leaves.

    At an optimum alpha_i (u_i - 1) = 0 where u_i > 1, so that one of the two is 0. Near it both are
    positive, and the one that is much smaller in its own scale is what was left over: alpha_i is
    counted where its share of its cap, or of the largest multiplier if that is less, exceeds ON_CAP
    and a tenth of what u_i - 1 is as a share of the largest score.

    Parameters
    ----------
    alpha, caps : arrays (n,)
        0 <= alpha_i <= c_i.
    u : array (n,)
        Signed scores of the hyperplane that alpha names, with the margin at 1.
    """
    size = np.minimum(caps, alpha.max(initial=0.0))
    beyond = (u - 1) / max(1.0, float(np.abs(u).max(initial=0.0)))
    found: NDArray[np.bool_] = alpha > size * np.maximum(ON_CAP, MUCH_SMALLER * beyond)
    return found


def margin_facts(u: Array, rho: float, weights: Array, nu: float, *, free: bool) -> dict[str, Any]:
    """Facts about a point with a level.

    Parameters
    ----------
    u : array (n,)
        Signed scores y_i (<w, x_i> + b).
    weights : array (n,)
        c_i, sum 1.
    free : bool
        Whether rho may be negative: where it may not, nothing is known of it at 0.
    """
    slack = ON_MARGIN * max(float(np.abs(u).max()), abs(rho))
    below, within = u < rho - slack, u <= rho + slack
    facts = _shares(below, within, weights)
    verdict = _verdict(facts, nu) if free or rho > slack else NOT_ASKED
    return {"errors": int((u <= 0).sum())} | facts | {"nu_property": verdict}


def multiplier_facts(alpha: Array, caps: Array, nu: float) -> dict[str, Any]:
    """Facts about multipliers 0 <= alpha_i <= c_i with sum nu."""
    at_cap, above = alpha >= caps * (1 - ON_CAP), alpha > caps * ON_CAP
    facts = _shares(at_cap, above, caps)
    return facts | {"nu_property": _verdict(facts, nu)}


def _shares(
    errors: NDArray[np.bool_], vectors: NDArray[np.bool_], weights: Array
) -> dict[str, Any]:
    return {
        "margin_errors": int(errors.sum()),
        "margin_error_share": float(weights[errors].sum()),
        "support_vectors": int(vectors.sum()),
        "support_vector_share": float(weights[vectors].sum()),
    }


def _verdict(facts: dict[str, Any], nu: float) -> str:
    low, high = facts["margin_error_share"], facts["support_vector_share"]
    return HOLDS if low - SUM <= nu <= high + SUM else FAILS
