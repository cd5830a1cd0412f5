"""What bounds on the violations imply of each other, in closed form."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.zero_one.conflicts import Conflicts
from tightmargin.formulations.zero_one.loss import EPS
from tightmargin.formulations.zero_one.slack_bounds import SlackBounds

TINY = float(np.finfo(np.float64).tiny)  # v_i > 0, and no more is known
OUTWARD = 1 + 1e-12


def open_conflicts(bounds: SlackBounds) -> Conflicts:
    """Conflicts without a violated point, and without their kept points."""
    kept, violated = bounds.kept, bounds.violated
    return tuple(
        tuple(i for i in points if not kept[i])
        for points in bounds.conflicts
        if not any(violated[i] for i in points)
    )


def forced_by_conflicts(bounds: SlackBounds) -> SlackBounds:
    """The last point of a conflict whose other points are kept is violated."""
    lower = bounds.lower.copy()
    for points in open_conflicts(bounds):
        if len(points) == 1:
            lower[points[0]] = max(float(lower[points[0]]), TINY)
    return replace(bounds, lower=lower)


def below_count(bounds: SlackBounds, count: float, penalty: float) -> SlackBounds:
    """norm2 <= cutoff - penalty count, where points that weigh `count` are violated."""
    left = bounds.cutoff - penalty * count + 4 * EPS * bounds.cutoff
    return replace(bounds, norm2=min(bounds.norm2, left))


def within_ball(bounds: SlackBounds, rows: Array, intercept: str, blur: Array) -> SlackBounds:
    """|<w, x_i>| <= sqrt(norm2) ||x_i|| for every point, by Cauchy-Schwarz.

    rows (n, k): y_i (x_i, 1), or y_i x_i without an intercept.
    blur (n,): rounding of v_i.
    """
    low = high = np.zeros(len(rows))
    features = rows
    if intercept == "free":
        ends = rows[:, -1:] * np.array(bounds.intercept)
        low, high, features = ends.min(axis=1), ends.max(axis=1), rows[:, :-1]
    reach = math.sqrt(bounds.norm2) * np.linalg.norm(features, axis=1) * OUTWARD + blur
    rounding = 8 * EPS * (1 + np.abs(low) + np.abs(high))
    # A point that is kept or violated stays so: its bound of 0 is no rounded number.
    return replace(
        bounds,
        lower=np.maximum(bounds.lower, 1 - high - reach - rounding),
        upper=np.minimum(bounds.upper, 1 - low + reach + rounding),
    )
