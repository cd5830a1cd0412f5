"""Checks of the big-M models that also ask whether their slack bounds may be believed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tightmargin.formulations.catalogue import Origin, PaperCheck, Values
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.zero_one.checks import best_exact_point
from tightmargin.formulations.zero_one.conflicts import least_kept_norm, least_paid
from tightmargin.formulations.zero_one.loss import margins, trivial_points, zero_one_objective
from tightmargin.formulations.zero_one.slack_bounds import SlackBounds, closed_slack_bounds
from tightmargin.formulations.zero_one.slack_bounds_argument import (
    STATED,
    shrunk,
    stated_bounds,
    with_rows,
)

Known = tuple[Array, float, float]  # w, b, objective
AT_CUTOFF = 1e-6

Check = Callable[[Origin, Values], PaperCheck]


def doubted(check: Check) -> Check:
    """A check whose models may carry slack bounds: M is proven if these are."""

    @functools.wraps(check)
    def asked(origin: Origin, values: Values) -> PaperCheck:
        checked = check(origin, values)
        p, data = origin.parameters, origin.data.points
        if p.get("slack_bounds") is None:
            return checked
        bounds = stated_bounds(
            data, p["slack_bounds"], p["incumbent"], "none", p["penalty"], p["intercept"]
        )
        stated = replace(origin, data=data, parameters={**p, "conflicts": "none"})
        doubt = why_doubtful(stated, values, bounds, 0.0) or _too_small(p["big_m"], bounds.upper)
        repaired = dict(checked.repaired)
        objective = checked.objective
        if origin.entry == "zero_one_big_m":
            # A point that is paid for by its bound is paid for, wherever it lies.
            paid = np.maximum(repaired["z"], bounds.violated)
            objective += p["penalty"] * float(data.multiplicity @ (paid - repaired["z"]))
            repaired["z"] = paid
        return replace(checked, objective=objective, repaired=repaired, unproven=doubt)

    return asked


def _too_small(big_m: np.ndarray, upper: np.ndarray) -> str:
    """Where an M is below what the slack bounds allow, or an empty string."""
    short = upper - np.broadcast_to(np.asarray(big_m, dtype=float), upper.shape)
    worst = int(np.argmax(short))
    if short[worst] > 1e-9 * max(1.0, abs(upper[worst])):
        return f"M[{worst}] is below the proven value {upper[worst]:.6g}"
    return ""


def why_doubtful(origin: Origin, values: Values, bounds: SlackBounds, objective: float) -> str:
    """Why the bounds may cut every optimum off, or an empty string.

    Bounds no tighter than the closed forms are proven again here, and so are conflicts. Tighter
    ones need a proof of their own, a cutoff that a known point reaches, and no known point against
    them: one as good as the cutoff that they leave out. With a free intercept only points that
    keep both classes count, because w = 0 may stand in for the others.
    """
    p, data = origin.parameters, origin.data
    penalty, intercept = p["penalty"], p["intercept"]
    stated = p["conflicts"] if not isinstance(p["conflicts"], str) else ()
    doubtful = unproven_conflicts(data, bounds, penalty, intercept)
    for points in stated:
        if tuple(sorted(set(points))) in doubtful:
            return f"nothing proves that one of the points {tuple(points)} is violated"
    if objective > bounds.cutoff * (1 + AT_CUTOFF):
        return (
            f"no point as good as the cutoff {bounds.cutoff:.9g} satisfies the slack bounds: their "
            f"relaxation has {objective:.9g}"
        )
    known = known_points(origin, values)
    best = min(known, key=lambda point: point[2])
    if bounds.cutoff < best[2] * (1 - 1e-9):
        return (
            f"no known point reaches the cutoff {bounds.cutoff:.9g} of the slack bounds: the best "
            f"one has {best[2]:.9g}"
        )
    closed = closed_slack_bounds(
        data, penalty=penalty, intercept=intercept, incumbent=(best[0], best[1])
    )
    again = shrunk(with_rows(closed, bounds.conflicts, data.prices(penalty)), data, intercept)
    if not doubtful and _contains(bounds, again):
        return ""
    if bounds.proof in ("", STATED):
        return "the slack bounds are tighter than their closed form and carry no proof"
    for w, b, value in known:
        if value <= bounds.cutoff and not bounds.admits(data, w, b, intercept):
            kept = data.y[margins(data, w, b) >= 1]
            if intercept != "free" or ((kept > 0).any() and (kept < 0).any()):
                return f"the slack bounds leave out a known point of objective {value:.9g}"
    return ""


def known_points(origin: Origin, values: Values) -> list[Known]:
    """The stated incumbent, points with w = 0, and the solver's hyperplane made exact."""
    p, data = origin.parameters, origin.data
    words = {"penalty": p["penalty"], "intercept": p["intercept"]}
    found = [(t.w, t.b, t.objective) for t in trivial_points(data, **words)]
    if p["incumbent"] is not None:
        w, b = np.asarray(p["incumbent"][0], dtype=float), float(p["incumbent"][1])
        found.append((w, b, zero_one_objective(data, w, b, **words)))
    value, w, b, _ = best_exact_point(origin, values, use_z=False)
    return [*found, (w, b, value)]


def unproven_conflicts(
    data: TrainingData, bounds: SlackBounds, penalty: float, intercept: str
) -> set[tuple[int, ...]]:
    """Conflicts of the bounds that are not proven from the cutoff, one after the other.

    Keeping the points of one costs rho, and the price of a point for each disjoint conflict beside
    it that is proven already; that must exceed the cutoff.
    """
    violated, prices = set(np.flatnonzero(bounds.violated).tolist()), data.prices(penalty)
    proven: list[tuple[int, ...]] = [(i,) for i in sorted(violated)]
    doubtful: set[tuple[int, ...]] = set()
    for points in bounds.conflicts:
        if not violated.isdisjoint(points):
            continue
        norm2 = least_kept_norm(data, points, intercept)
        beside = tuple(other for other in proven if not set(points) & set(other))
        if norm2 > bounds.cutoff or norm2 > bounds.cutoff - least_paid(beside, prices):
            proven.append(points)
        else:
            doubtful.add(points)
    return doubtful


def _contains(bounds: SlackBounds, proven: SlackBounds) -> bool:
    """Whether bounds are no tighter than proven ones; conflicts apart."""
    room = 1e-12
    return bool(
        (bounds.lower <= proven.lower + room * np.abs(proven.lower)).all()
        and (bounds.upper >= proven.upper - room * np.abs(proven.upper)).all()
        and bounds.norm2 >= proven.norm2 * (1 - room)
        and bounds.intercept[0] <= proven.intercept[0] + room
        and bounds.intercept[1] >= proven.intercept[1] - room
    )
