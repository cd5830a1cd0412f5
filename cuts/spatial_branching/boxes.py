"""Boxes that cover the unit sphere: what the norm row says inside one, and where to halve it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tightmargin.cuts.cut.cut import InvalidCutError
from tightmargin.cuts.spatial_branching.node_bound import EPS, Bound
from tightmargin.cuts.spatial_branching.node_program import BoxLP
from tightmargin.cuts.spatial_branching.sphere_cuts import SphereCut
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.reduced_hull import ReducedHulls, support_value

Box = tuple[Array, Array]

OUTWARD = 1e-12  # sides are moved out by so much against rounding
WORTH = 1e-3  # a side that moves less ends the tightening
PASSES = 10
MIDDLE = 0.75  # share of the middle in the branching point, the rest being the node's weight
MARGIN = 0.1  # no child is narrower than that share of its parent


def on_sphere(lower: Array, upper: Array) -> Box | None:
    """The box shrunk without losing a point of norm 1; None when it holds none.

    What the other coordinates can contribute to sum_j w_j^2 = 1 bounds each w_j^2 from both sides.
    """
    for _ in range(PASSES):
        low, high = lower * lower, upper * upper
        most = np.maximum(low, high)
        least = np.where((lower <= 0) & (upper >= 0), 0.0, np.minimum(low, high))
        least_sum, most_sum = float(least.sum()), float(most.sum())
        if least_sum > 1 + OUTWARD or most_sum < 1 - OUTWARD:
            return None
        outer = np.sqrt(np.clip(1 - (least_sum - least) + OUTWARD, 0.0, 1.0)) + OUTWARD
        inner = np.sqrt(np.maximum(1 - (most_sum - most) - OUTWARD, 0.0)) - OUTWARD
        new_lower, new_upper = np.maximum(lower, -outer), np.minimum(upper, outer)
        # |w_j| >= inner leaves one side where the other does not reach so far.
        new_lower, new_upper = (
            np.where((inner > 0) & (new_lower > -inner), np.maximum(new_lower, inner), new_lower),
            np.where((inner > 0) & (new_upper < inner), np.minimum(new_upper, -inner), new_upper),
        )
        if (new_lower > new_upper).any():
            return None
        moved = max(float((new_lower - lower).max()), float((upper - new_upper).max()))
        lower, upper = new_lower, new_upper
        if moved < WORTH:
            break
    return lower, upper


def branching(lower: Array, upper: Array, weight: Array) -> tuple[int, float]:
    """Coordinate and point at which a node is split: where the secant row misses ||w||^2 most.

    The row (l + u)'w >= 1 + l'u allows sum_j (w_j - l_j)(u_j - w_j) too much.
    """
    missed = np.maximum(0.0, (weight - lower) * (upper - weight))
    width = upper - lower
    j = int(missed.argmax()) if float(missed.max()) > 1e-12 else int(width.argmax())
    middle = 0.5 * (float(lower[j]) + float(upper[j]))
    point = MIDDLE * middle + (1 - MIDDLE) * float(weight[j])
    margin = MARGIN * float(width[j])
    return j, min(max(point, float(lower[j]) + margin), float(upper[j]) - margin)


def halves(lower: Array, upper: Array, j: int, at: float) -> tuple[Box, Box]:
    """The two parts of a box."""
    below, above = upper.copy(), lower.copy()
    below[j] = above[j] = at
    return (lower, below), (above, upper)


def by_multipliers(bound: Bound, lower: Array, upper: Array, goal: float) -> Box | None:
    """What is left of a node's box once every w is dropped whose bound reaches the goal.

    Where r_j > 0 the bound is larger by r_j (w_j - l_j) for w_j above l_j, and so on: reduced-cost
    tightening. None when nothing is left.
    """
    slope = bound.slope
    reach = np.maximum(np.abs(lower), np.abs(upper))
    rounding = 8 * EPS * (abs(goal) + abs(bound.value) + float(np.abs(slope) @ reach))
    missing = goal - bound.value + rounding
    with np.errstate(divide="ignore"):
        step = missing / np.abs(slope) + OUTWARD
    new_upper = np.where(slope > 0, np.minimum(upper, lower + step), upper)
    new_lower = np.where(slope < 0, np.maximum(lower, upper - step), lower)
    return None if (new_lower > new_upper).any() else (new_lower, new_upper)


def root_box(program: BoxLP, level: float) -> Box | None:
    """Box that holds every w of norm 1 with h(w) < level: optimality-based tightening.

    One ray along each side of each axis; with multipliers 0 nothing is lost.
    """
    k = program.k
    axes = np.eye(k)
    upper = np.array([min(1.0, program.extent(axis, level)) for axis in axes])
    lower = -np.array([min(1.0, program.extent(-axis, level)) for axis in axes])
    return on_sphere(lower, upper)


# --- known points that boxes and cuts must not lose, for debugging --------------------------------


@dataclass(frozen=True, eq=False)
class KnownInBoxes:
    """Weights on the unit sphere; those with h below the goal of the search are to be kept.

    points (k,): none outside of debugging: then nothing is looked at.
    hulls: in units.
    unit: for messages.
    """

    points: Sequence[Array]
    hulls: ReducedHulls
    unit: float

    def inside(self, lower: Array, upper: Array, goal: float) -> list[Array]:
        """Points in a box that the search must not drop."""
        if not self.points:
            return []
        return [
            point
            for point in self._better(goal)
            if (point >= lower).all() and (point <= upper).all()
        ]

    def check_box(
        self, points: Sequence[Array], box: tuple[Array, Array] | None, goal: float, by: str
    ) -> None:
        """Refuse a step `by` which leaves a box, or nothing, without points that it had.

        Raises InvalidCutError: one of them is still better than the goal.
        """
        for point in points:
            value = support_value(self.hulls, point)
            if value >= goal:
                continue
            if box is None or (point < box[0]).any() or (point > box[1]).any():
                raise InvalidCutError(
                    f"{by} drops a known point: w = {np.array2string(point, precision=6)} has the "
                    f"objective {value * self.unit:.9g} and the goal is {goal * self.unit:.9g}"
                )

    def check_cut(self, cut: SphereCut, weight: Array, goal: float) -> None:
        """Refuse a cut, made at a weight, which removes one.

        Raises InvalidCutError.
        """
        for point in self._better(goal):
            excess = float(cut.normal @ point) - goal * cut.side
            if excess > 0:
                raise InvalidCutError(
                    f"the concavity cut at w = {np.array2string(weight, precision=6)} removes a "
                    f"known point: w = {np.array2string(point, precision=6)} violates it by "
                    f"{excess:.3g}"
                )

    def _better(self, goal: float) -> list[Array]:
        return [point for point in self.points if support_value(self.hulls, point) < goal]
