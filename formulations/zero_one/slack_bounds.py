"""Bounds on the slacks of at least one optimum: derived from a known hyperplane, given, or stated.

Everything here speaks of the violation v_i = 1 - y_i (<w, x_i> + b): point i is kept when
v_i <= 0 and costs the penalty otherwise. `closed_slack_bounds` are formulas; bound tightening
(cuts/bound_tightening/tighten.py) and branch and bound shrink them by computation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from tightmargin.formulations.common.hyperplane import augmented, norm_of
from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import did_you_mean, finite_hyperplane, positive
from tightmargin.formulations.zero_one.big_m import (
    OUTWARD,
    BigM,
    big_m_below,
    big_m_within,
    intercept_bound_below,
)
from tightmargin.formulations.zero_one.conflicts import Conflicts, least_paid, pair_conflicts
from tightmargin.formulations.zero_one.loss import margins, trivial_points, zero_one_objective
from tightmargin.printing import Printed

# --- What at least one optimum of the 0-1 loss problem satisfies, given a hyperplane that is known

Hyperplane = tuple[ArrayLike, float]

SMALLEST_M = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class SlackBounds(Printed):
    """Statements that hold together at one optimum at least.

    Attributes
    ----------
    lower, upper : array (n,)
        lower_i <= v_i <= upper_i.
    norm2 : float
        norm2 <= this, with the norm of the objective (b counts when it is penalised).
    intercept : (float, float)
        b lies between the two; (0, 0) without an intercept.
    conflicts : tuple of tuples of int
        Of the points of each tuple at least one is violated.
    cutoff : float
        Objective that the statements start from: a known one, or a little above it.
    proof : str
        Why they hold, in one sentence.
    """

    lower: Array
    upper: Array
    norm2: float
    intercept: tuple[float, float]
    cutoff: float
    proof: str
    conflicts: tuple[tuple[int, ...], ...] = ()

    @property
    def kept(self) -> Mask:
        """Points that are kept for sure: z_i = 0."""
        return self.upper <= 0

    @property
    def violated(self) -> Mask:
        """Points that are violated for sure: z_i = 1."""
        return self.lower > 0

    @property
    def big_m(self) -> BigM:
        """M_i = upper_i, and something small and positive for points that are kept."""
        values = np.maximum(self.upper, SMALLEST_M)
        values.setflags(write=False)
        return BigM(values, f"1 - u_i <= M_i at some optimum, {self.proof}", self.cutoff)

    def admits(self, data: TrainingData, w: ArrayLike, b: float, intercept: str) -> bool:
        """Whether a hyperplane satisfies all statements; an optimum they cut off shows here."""
        weights = np.asarray(w, dtype=float)
        v = 1 - margins(data, weights, b)
        violated = v > 0
        return bool(
            np.all((self.lower <= v) & (v <= self.upper))
            and norm_of(weights, b, intercept) <= self.norm2
            and self.intercept[0] <= b <= self.intercept[1]
            and all(violated[list(points)].any() for points in self.conflicts)
        )


def closed_slack_bounds(
    data: TrainingData,
    *,
    penalty: float,
    intercept: str,
    incumbent: Hyperplane | None = None,
    slack: float = 0.0,
) -> SlackBounds:
    """Bounds in closed form from the best of an incumbent and the points with w = 0.

    Let U be the known objective times 1 + slack.

    penalised, none: every point no worse than U satisfies them. A violated point leaves
        norm2 <= U - penalty, so v_i <= 1 + ||x~_i|| sqrt(U - penalty), and
        v_i >= 1 - ||x~_i|| sqrt(U) always, by Cauchy-Schwarz.

    free: an optimum satisfies them. If some class has no kept point, w = 0 and b = +-1 is one,
        with v_i in {0, 2}. Otherwise v_i <= y_i <w, x_k - x_i> for a kept point k of the class
        of i (derive_big_m), and a kept point k of the other class gives
        y_i b <= -1 - y_i <w, x_k>, so v_i >= 2 - ||w|| ||x_i - x_k||.

    Parameters
    ----------
    incumbent : (w, b), optional
        A known hyperplane; its objective is recomputed.
    slack : float
        Relative room above the known objective: computations that round need some.

    Raises
    ------
    ValueError
        Bad penalty, intercept, incumbent or slack.
    """
    cost = positive("penalty", penalty)
    if not (math.isfinite(slack) and slack >= 0):
        raise ValueError(f"slack must be a finite number not below 0, got {slack!r}")
    known = trivial_points(data, penalty=cost, intercept=intercept)[0].objective
    if incumbent is not None:
        w, b = finite_hyperplane("incumbent", incumbent, data.d)
        stated = zero_one_objective(data, w, b, penalty=cost, intercept=intercept)
        known = min(known, stated)
    cutoff = known * (1 + slack) * OUTWARD
    m = big_m_below(data, cost, intercept, cutoff)
    radius = math.sqrt(cutoff) * OUTWARD
    if intercept == "free":
        lower = np.minimum(0.0, 2.0 - radius * other_class_reach(data))
        limit = intercept_bound_below(data, cutoff)
    else:
        norms = np.linalg.norm(augmented(data, intercept), axis=1)
        lower = 1.0 - radius * norms * OUTWARD
        limit = radius if intercept == "penalised" else 0.0
    reason = f"closed form at {cutoff:.9g}: {m.proof}"
    return SlackBounds(
        lower, m.values, cutoff * OUTWARD, (-limit, limit), cutoff=cutoff, proof=reason
    )


def other_class_reach(data: TrainingData) -> Array:
    """Distance from each point to the farthest point of the other class, (n,)."""
    reach = np.zeros(data.n)
    for label in (-1.0, 1.0):
        own, other = np.flatnonzero(data.y == label), np.flatnonzero(data.y != label)
        for rows in np.array_split(own, max(1, len(own) * len(other) // 2**22 + 1)):
            if rows.size and other.size:
                reach[rows] = cdist(data.X[rows], data.X[other]).max(axis=1)
    return reach


# --- Slack bounds as an argument of a builder: derived, given by our own code, or merely stated

STATED = "stated, without a proof"
LEAST = float(np.nextafter(0.0, 1.0))  # v_i > 0 and no more is known


def stated_bounds(
    data: TrainingData,
    slack_bounds: SlackBounds | Mapping[str, Any] | str,
    incumbent: Hyperplane | None,
    conflicts: Conflicts | str,
    penalty: float,
    intercept: str,
) -> SlackBounds:
    """Bounds of a builder from its arguments, conflicts included.

    Raises ValueError: another word than "derived", "none" or "pairs", fields that are missing or do
        not fit the data, bounds that contradict each other, conflicts without points or of unknown
        points.
    """
    derived = closed_slack_bounds(data, penalty=penalty, intercept=intercept, incumbent=incumbent)
    if isinstance(slack_bounds, str):
        if slack_bounds != "derived":
            raise ValueError(
                f"slack_bounds must be SlackBounds, its fields or 'derived', got {slack_bounds!r}"
                f"{did_you_mean(slack_bounds, ['derived'])}"
            )
        bounds = derived
    elif isinstance(slack_bounds, SlackBounds):
        bounds = _checked(data, slack_bounds)
    elif isinstance(slack_bounds, Mapping):
        bounds = _checked(data, _from_fields(slack_bounds))
    else:
        raise ValueError(
            f"slack_bounds must be SlackBounds, its fields or 'derived', got {slack_bounds!r}"
        )
    grown = with_rows(bounds, _extra(data, bounds, conflicts, intercept), data.prices(penalty))
    return shrunk(grown, data, intercept)


def with_rows(bounds: SlackBounds, conflicts: Conflicts, prices: Array) -> SlackBounds:
    """Bounds with further conflicts, and with what follows from them.

    A conflict of one point is a violated point. Disjoint conflicts, violated points among them,
    cost the price of a point each, prices (n,), which norm2 <= cutoff has to leave room for.
    """
    sets = {tuple(sorted(set(points))): None for points in (*bounds.conflicts, *conflicts)}
    lower = bounds.lower.copy()
    for points in sets:
        if len(points) == 1 and bounds.upper[points[0]] > 0:
            lower[points[0]] = max(lower[points[0]], LEAST)
    alone = tuple((int(i),) for i in np.flatnonzero(lower > 0))
    paid = least_paid((*alone, *sets), prices)
    left = max(bounds.cutoff - paid, 0.0) + 4e-16 * bounds.cutoff
    return replace(
        bounds, lower=lower, norm2=min(bounds.norm2, left * OUTWARD), conflicts=tuple(sets)
    )


def shrunk(bounds: SlackBounds, data: TrainingData, intercept: str) -> SlackBounds:
    """Bounds with what their norm implies: the closed forms of slack_bounds.py at that norm.

    These hold wherever norm2 is at most a number (with a free intercept, at one optimum: where
    some class has no kept point it is w = 0, whose norm is 0), and conflicts do not depend on the
    optimum that is meant, so all statements still hold together.
    """
    radius = math.sqrt(bounds.norm2) * OUTWARD
    upper = big_m_within(data, intercept, bounds.norm2)
    if intercept == "free":
        lower = np.minimum(0.0, 2.0 - radius * other_class_reach(data))
        limit = intercept_bound_below(data, bounds.norm2 * OUTWARD)
    else:
        norms = np.linalg.norm(augmented(data, intercept), axis=1)
        lower = 1.0 - radius * norms * OUTWARD
        limit = radius if intercept == "penalised" else 0.0
    low, high = bounds.intercept
    return replace(
        bounds,
        lower=np.maximum(bounds.lower, lower),
        upper=np.minimum(bounds.upper, upper),
        intercept=(max(low, -limit), min(high, limit)),
    )


def _extra(
    data: TrainingData, bounds: SlackBounds, conflicts: Conflicts | str, intercept: str
) -> Conflicts:
    if isinstance(conflicts, str):
        if conflicts not in ("none", "pairs"):
            raise ValueError(f"conflicts must be none, pairs or sets of points, got {conflicts!r}")
        found = conflicts == "pairs"
        return pair_conflicts(data, cutoff=bounds.cutoff, intercept=intercept) if found else ()
    return _sets_of(data, conflicts)


def _sets_of(data: TrainingData, conflicts: Iterable[Iterable[int]]) -> Conflicts:
    try:
        sets = tuple(tuple(int(i) for i in points) for points in conflicts)
    except (TypeError, ValueError) as why:
        raise ValueError(
            f"conflicts must be none, pairs or sets of points, got {conflicts!r}"
        ) from why
    for points in sets:
        if not points or not all(0 <= i < data.n for i in points):
            raise ValueError(f"conflicts: each needs points from 0 to {data.n - 1}, got {points}")
    return sets


def _from_fields(given: Mapping[str, Any]) -> SlackBounds:
    """Bounds from a mapping, whose own word for a proof counts for nothing."""
    known = [field.name for field in fields(SlackBounds)]
    for word in given:
        if word not in known:
            raise ValueError(f"slack_bounds has no field {word!r}{did_you_mean(word, known)}")
    missing = [word for word in known if word not in given and word not in ("conflicts", "proof")]
    if missing:
        raise ValueError(f"slack_bounds needs {', '.join(missing)}")
    low, high = given["intercept"]
    sets = tuple(tuple(points) for points in given.get("conflicts", ()))
    return SlackBounds(
        np.asarray(given["lower"], dtype=float), np.asarray(given["upper"], dtype=float),
        float(given["norm2"]), (float(low), float(high)), float(given["cutoff"]), STATED, sets,
    )  # fmt: skip


def _checked(data: TrainingData, bounds: SlackBounds) -> SlackBounds:
    for word in ("lower", "upper"):
        values = getattr(bounds, word)
        if np.shape(values) != (data.n,) or not np.isfinite(values).all():
            raise ValueError(f"slack_bounds: {word} must be {data.n} finite numbers")
    worst = int(np.argmax(bounds.lower - bounds.upper))
    if bounds.lower[worst] > bounds.upper[worst]:
        raise ValueError(
            f"slack_bounds: point {worst} has lower {bounds.lower[worst]:.6g} above upper "
            f"{bounds.upper[worst]:.6g}"
        )
    low, high = bounds.intercept
    if not (np.isfinite([low, high, bounds.norm2, bounds.cutoff]).all() and low <= high):
        raise ValueError(
            "slack_bounds: norm2, cutoff and the two ends of intercept, in order, must be finite"
        )
    if bounds.norm2 < 0 or bounds.cutoff < 0:
        raise ValueError("slack_bounds: norm2 and cutoff must not be negative")
    return replace(bounds, conflicts=_sets_of(data, bounds.conflicts))
