"""Known points of P that cuts must not lose, for debugging."""

from __future__ import annotations

import numpy as np

from tightmargin.cuts.cut.cut import Cut, InvalidCutError, Kind
from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.cuts.relaxation.faces import face_through
from tightmargin.formulations.data.arrays import Array

KEPT = 1e-7  # relative: a known point may violate a cut by so much


def known_after(problem: PolarProblem, known: list[Array], cut: Cut, gamma: float) -> list[Array]:
    """Known points on the boundary of P that a cut leaves; refuse one that removes others.

    What it must keep is whatever is longer than gamma; and facial cuts keep shorter corners as
    well.

    Raises InvalidCutError: the cut removes a point that it must keep.
    """
    left = []
    for weight in known:
        point, length = problem.point(weight), float(np.linalg.norm(weight))
        excess = cut.violation(point)
        if excess <= KEPT * cut.size_at(point):
            left.append(weight)
            continue
        longer = length > gamma * (1 + KEPT)
        if longer or (cut.kind is Kind.FACIAL and face_through(problem, weight).corner):
            raise InvalidCutError(
                f"{cut.name} ({cut.origin.space}, round {cut.round}) removes a known point: "
                f"w = {np.array2string(weight, precision=6)}, of norm {length:.6g} where "
                f"gamma = {gamma:.6g}, violates it by {excess:.3g}"
            )
    return left
