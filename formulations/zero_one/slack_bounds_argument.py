"""Slack bounds as an argument of a builder: derived, given by our own code, or merely stated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import did_you_mean
from tightmargin.formulations.zero_one.big_m import OUTWARD, big_m_within
from tightmargin.formulations.zero_one.checks import Hyperplane
from tightmargin.formulations.zero_one.conflicts import Conflicts, least_paid, pair_conflicts
from tightmargin.formulations.zero_one.intercept_bound import intercept_bound_below
from tightmargin.formulations.zero_one.slack_bounds import (
    SlackBounds,
    closed_slack_bounds,
    other_class_reach,
)

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
