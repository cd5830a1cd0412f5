"""Whether a face of P is left by the cuts, the stop of Algorithm 10 as it is printed.

Let M hold what keeps all cuts over weights. Where M and P have a point in common, no face of P
meets M exactly if M is bounded and inside of P: M is convex, and would else cross the boundary of
P, which is the union of its proper faces. So the corners and rays of M decide, listed by double
description (cone.py); and where one is not inside, the segment to it from a common point meets a
face that is left.

The stop is a statement about norms: a longest corner of P is kept by every cut while it is longer
than gamma, and it lies on the boundary. So no face left means nothing longer than gamma.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import null_space

from tightmargin.cuts.cut.cut import Cut
from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.cuts.generation.cone import extreme_rays
from tightmargin.cuts.relaxation.faces import Face
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.reduced_hull import support_value
from tightmargin.printing import Printed

INSIDE = 1e-8  # h has to stay below 1 by so much
AT_INFINITY = 1e-9  # last coordinate of a ray of norm 1 that has no end
MARGIN, SLACK, LEVEL = "margin {}", "xi {}", "level"


class UndecidedError(Exception):
    """The corners of what the cuts leave are too many to list."""


@dataclass(frozen=True, repr=False)
class FaceSeen(Printed):
    """One face of P that a literal run identified, and what became of it.

    round: number of cuts before.
    dimension: 0 for a corner, and that of P itself where a vertex lies inside of P: cuts alone make
        it.
    rows: rows of Q that are tight on it, as the faces are told apart: "margin 3", "xi 5", "level".
    cut: "concavity" or "facial", or why there is neither and the vertex itself was cut off.
    """

    round: int
    dimension: int
    rows: tuple[str, ...]
    cut: str

    @property
    def kind(self) -> str:
        """Corner or proper face, as the algorithm's steps 4a and 4b ask; else inside of P."""
        if not self.rows:
            return "inside"
        return "corner" if self.dimension == 0 else "proper face"


def tight_on(face: Face) -> tuple[str, ...]:
    """Names of the rows that are tight on a face lifted into Q."""
    margins = [MARGIN.format(i) for i in np.flatnonzero(face.labels <= 0).tolist()]
    slacks = [SLACK.format(i) for i in np.flatnonzero(face.labels >= 0).tolist()]
    return (*margins, *slacks, LEVEL)


def weight_on_a_face(
    problem: PolarProblem, cuts: Sequence[Cut], inside: Array, unit: float
) -> Array | None:
    """A weight with h = 1 that keeps all cuts; None where there is none.

    cuts: over weights.
    inside (k,): a weight that keeps them, with h < 1.
    unit: a length that weights are measured in.
    Raises UndecidedError: too many corners to list.
    """
    hulls, k = problem.hulls, problem.hulls.k
    rows = [np.append(problem.weight_part(cut.coefficients) * unit, -cut.rhs) for cut in cuts]
    rays = extreme_rays(np.array([*rows, -np.eye(k + 1)[k]]))
    if rays is None:
        # M holds a line, which ends outside of P, or there are too many rays.
        rays = _lines(np.array(rows).reshape(-1, k + 1)[:, :k])
        if len(rays) == 0:
            raise UndecidedError
    for ray in rays:
        towards, height = ray[:k] * unit, float(ray[k])
        if height > AT_INFINITY:
            if support_value(hulls, towards / height) < 1 - INSIDE:
                continue
            towards = towards / height - inside
        crossing = _crossing(problem, inside, towards)
        if crossing is not None:
            return crossing
    return None


def _lines(rows: Array) -> Array:
    """Directions along which no row (m, k) changes, both ways, with a last coordinate of 0."""
    free = null_space(rows, rcond=AT_INFINITY).T if len(rows) else np.eye(rows.shape[1])
    return np.hstack([np.vstack([free, -free]), np.zeros((2 * len(free), 1))])


def _crossing(problem: PolarProblem, inside: Array, towards: Array) -> Array | None:
    """Where inside + t towards leaves P, by doubling and halving t; None where it does not."""
    hulls, low, high = problem.hulls, 0.0, 1.0
    if not towards.any():
        return None
    while support_value(hulls, inside + high * towards) < 1:
        low, high = high, 2 * high
        if not np.isfinite(high):
            return None
    while (middle := 0.5 * (low + high)) not in (low, high):
        if support_value(hulls, inside + middle * towards) < 1:
            low = middle
        else:
            high = middle
    return np.asarray(inside + low * towards)
