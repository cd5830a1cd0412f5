"""Boxes shrunk by what is known of better points: multipliers of a node, and the root's extents."""

from __future__ import annotations

import numpy as np

from tightmargin.cuts.spatial_branching.boxes import OUTWARD, Box, on_sphere
from tightmargin.cuts.spatial_branching.node_bound import EPS, Bound
from tightmargin.cuts.spatial_branching.node_program import BoxLP
from tightmargin.formulations.data.arrays import Array


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
