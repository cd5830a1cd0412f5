"""The penalty at which the conic SDP spends a given sum of z, by the secant in logarithms.

The sum of z falls with the penalty: the value of the SDP is concave in it, with this slope.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.data.arrays import Array
from tightmargin.solvers.conic.low_rank import LowRank
from tightmargin.solvers.conic.low_rank_minimum import low_rank_minimum

TRIALS = 60
LEAP = 20.0  # largest factor between two penalties
USUAL_SLOPE = -0.6  # of log sum z over log penalty, before there are two points
SHARE = 0.05  # of the tolerance that a spend off its target may cost


@dataclass(frozen=True, eq=False)
class Spent:
    """A point of the penalty path.

    Attributes
    ----------
    penalty : float
    F : array (1 + r, k)
        Of least value at this penalty.
    spent : float
        Sum of z.
    """

    penalty: float
    F: Array
    spent: float


def refuse_unreachable(problem: LowRank, spend: float) -> None:
    """Raise ValueError where points that are 0 cost more than the budget by themselves.

    Such a point (a point at 0 without an intercept) has u = 0 and T = 1 whatever w and W are.
    """
    zeros = int((~problem.signed.any(axis=1)).sum())
    if zeros and spend <= zeros:
        raise ValueError(
            f"budget {spend / problem.n:g} is out of reach: {zeros} of {problem.n} points are 0 "
            f"and have no intercept, so that each has z = 1; take more than {zeros / problem.n:g}"
        )


def idle_penalty(problem: LowRank) -> float:
    """Largest penalty at which w = 0, W = 0 is optimal: 1 over the norm of sum_i x~_i x~_i'."""
    largest = float(np.linalg.eigvalsh(problem.signed.T @ problem.signed)[-1])
    return 1 / max(largest, 1e-300)


def point_of_spend(
    problem: LowRank,
    spend: float,
    *,
    known: Sequence[Spent] = (),
    tolerance: float = 1e-6,
    deadline: float | None = None,
) -> Spent:
    """Point of the penalty path whose sum of z is `spend`.

    Parameters
    ----------
    spend : float
        In (0, n].
    known : sequence of Spent
        Points of the path that are known; the last is the start.
    tolerance : float
        What is off may cost this share of ||F||^2, times SHARE.
    deadline : float, optional
        Of time.perf_counter(); the nearest point is returned then, proven or not.
    """
    idle = idle_penalty(problem)
    if spend >= problem.n:
        return Spent(idle / 2, np.zeros((1, problem.k)), float(problem.n))
    seen = list(known)
    low, high = _bracket(seen, spend)
    penalty = max(_next_penalty(seen, spend), idle * (1 + 1e-9))
    nearest: Spent | None = None
    for _ in range(TRIALS):
        start = min(seen, key=lambda s: abs(np.log(s.penalty / penalty))).F if seen else None
        F = low_rank_minimum(problem, penalty, start, deadline)
        here = Spent(penalty, F, problem.spent(F))
        seen.append(here)
        if nearest is None or abs(here.spent - spend) < abs(nearest.spent - spend):
            nearest = here
        off = abs(here.spent - spend) * penalty
        late = deadline is not None and time.perf_counter() > deadline
        if off <= SHARE * tolerance * float((F * F).sum()) or late:
            break
        if here.spent > spend:
            low = max(low, penalty)
        else:
            high = min(high, penalty)
        if high <= low * (1 + 1e-15):
            break
        penalty = _inside(low, high, _next_penalty(seen, spend))
    assert nearest is not None
    return nearest


def _inside(low: float, high: float, wanted: float) -> float:
    """The wanted penalty, or a middle of the interval where it lies outside."""
    if low < wanted < high:
        return wanted
    if low > 0 and np.isfinite(high):
        return float(np.sqrt(low * high))
    return low * LEAP if low > 0 else high / LEAP


def _bracket(seen: Sequence[Spent], spend: float) -> tuple[float, float]:
    low = max((s.penalty for s in seen if s.spent > spend), default=0.0)
    high = min((s.penalty for s in seen if s.spent <= spend), default=np.inf)
    return low, high


def _next_penalty(seen: Sequence[Spent], spend: float) -> float:
    """Where the line through the two nearest points meets the spend, in logarithms."""
    if not seen:
        return 0.0
    near = sorted(seen, key=lambda s: abs(np.log(max(s.spent, 1e-300) / spend)))[:2]
    slope = USUAL_SLOPE
    if len(near) == 2:
        run = np.log(near[1].penalty / near[0].penalty)
        rise = np.log(max(near[1].spent, 1e-300) / max(near[0].spent, 1e-300))
        slope = rise / run if run * rise < 0 else USUAL_SLOPE
    # In logarithms as well: a slope near 0 leads further than a float reaches.
    step = np.log(spend / max(near[0].spent, 1e-300)) / slope
    return near[0].penalty * float(np.exp(np.clip(step, -np.log(LEAP), np.log(LEAP))))


def within_budget(problem: LowRank, F: Array, spend: float) -> Array:
    """F with as much added to W as brings the sum of z down to `spend`, every rounding counted.

    Longer rows of R first; if twice their length is not enough, a multiple of the identity.
    """
    if problem.most_spent(F) <= spend:
        return F

    def longer(t: float) -> Array:
        return np.vstack([F[:1], (1 + t) * F[1:]])

    def wider(t: float) -> Array:
        return np.vstack([F, t * np.eye(problem.k)])

    build = longer if problem.most_spent(longer(1.0)) <= spend else wider
    high = 1.0
    while problem.most_spent(build(high)) > spend:
        high *= 2
    low = 0.0
    for _ in range(60):
        middle = np.sqrt(low * high) if low > 0 else high * 1e-3
        low, high = (low, middle) if problem.most_spent(build(middle)) <= spend else (middle, high)
        if high <= 1e-15 or high - low <= 1e-3 * high:
            break
    return build(high)
