"""What at least one optimum of the 0-1 loss problem satisfies, given a hyperplane that is known.

Everything here speaks of the violation v_i = 1 - y_i (<w, x_i> + b): point i is kept when
v_i <= 0 and costs the penalty otherwise. `closed_slack_bounds` are formulas; bound tightening
(cuts/bound_tightening/tighten.py) and branch and bound shrink them by computation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from tightmargin.formulations.common.hyperplane import augmented, norm_of
from tightmargin.formulations.data.arrays import Array, Mask
from tightmargin.formulations.data.training_data import TrainingData
from tightmargin.formulations.parameters import finite_hyperplane, positive
from tightmargin.formulations.zero_one.big_m import OUTWARD, BigM, big_m_below
from tightmargin.formulations.zero_one.intercept_bound import intercept_bound_below
from tightmargin.formulations.zero_one.loss import margins, trivial_points, zero_one_objective
from tightmargin.printing import Printed

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
