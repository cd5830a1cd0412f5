"""Known points that branch and cut must not lose: for debugging its boxes and its cuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tightmargin.cuts.cut.cut import InvalidCutError
from tightmargin.cuts.spatial_branching.sphere_cuts import SphereCut
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.support_function import ReducedHulls, support_value


@dataclass(frozen=True, eq=False)
class KnownInBoxes:
    """Weights on the unit sphere; those with h below the goal of the search are to be kept.

    Attributes
    ----------
    points : sequence of array (k,)
        None outside of debugging: then nothing is looked at.
    hulls : ReducedHulls
        In units.
    unit : float
        For messages.
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

        Raises
        ------
        InvalidCutError
            One of them is still better than the goal.
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

        Raises
        ------
        InvalidCutError
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
