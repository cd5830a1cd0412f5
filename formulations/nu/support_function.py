"""The optimum over (b, rho, xi) for a fixed w, by sorting: no linear program.

Write z_i = y_i x_i, c_i for the weights and

    U = { -sum_i lambda_i z_i : 0 <= lambda_i <= c_i, sum_i lambda_i = nu, sum_i lambda_i y_i = 0 },

nu / 2 times the difference of the reduced convex hulls of the two classes. By linear duality

    h(w) = min { -nu rho + sum_i c_i xi_i : y_i (<w, x_i> + b) >= rho - xi_i, xi >= 0 }
         = max { <u, w> : u in U },

the support function of U: convex, positively homogeneous, piecewise linear. Each class gives the
mass nu / 2 of its lowest scores <w, z_i>, so that h costs one product and a partial sort, and the
last scores that are used give rho - b and rho + b. Divided by nu, h is the conditional value at
risk at level 1 - nu (Takeda & Sugiyama 2008, Theorem 1). Without an intercept the equation of the
classes is absent, and all points give the mass nu together; with a penalised one that holds for
the points (x_i, 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tightmargin.formulations.common.hyperplane import augmented
from tightmargin.formulations.common.intercept_recovery import nu_margin, weighted_quantile
from tightmargin.formulations.common.least_eigenvalue import OUTWARD, growth
from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.data.training_data import GramData, TrainingData
from tightmargin.formulations.nu.weights import checked_nu, loss_weights
from tightmargin.printing import Printed

MASS_TOLERANCE = 1e-12
ALL_OF_IT = 1e-9  # relative: a mass nearer to that of the group is the whole of it
SORT_BELOW = 256


@dataclass(frozen=True, eq=False, repr=False)
class Group(Printed):
    """Points that share a mass: a class, or all points without a free intercept.

    Attributes
    ----------
    members : array (m,)
        Their numbers.
    caps : array (m,)
        What each may weigh.
    mass : float
        What they weigh together.
    equal : bool
        Whether the caps are all the same, which makes the sort quicker.
    """

    members: Index
    caps: Array
    mass: float
    equal: bool


@dataclass(frozen=True, eq=False, repr=False)
class ReducedHulls(Printed):
    """The set U: signed points, the most that each may weigh, and the masses to be given.

    Attributes
    ----------
    signed : array (n, k)
        z_i = y_i x_i; with a penalised intercept x_i has a 1 appended, k = d + 1.
    caps : array (n,)
        c_i.
    groups : tuple of Group
        The two classes with nu / 2 each when the intercept is free, else all points with nu.
    y : array (n,)
    """

    signed: Array
    caps: Array
    groups: tuple[Group, ...]
    y: Array
    nu: float

    @property
    def k(self) -> int:
        """Dimension of w (of (w, b) with a penalised intercept)."""
        return self.signed.shape[1]

    @property
    def free(self) -> bool:
        """Whether the intercept is free."""
        return len(self.groups) == 2

    @property
    def exhausted(self) -> bool:
        """Whether a group gives all its weight, as at nu_max: its level may rise at no cost."""
        return any(group.mass >= float(group.caps.sum()) * (1 - ALL_OF_IT) for group in self.groups)


@dataclass(frozen=True, eq=False)
class Support:
    """What the sort gives for one w.

    Attributes
    ----------
    value : float
        h(w) = <u, w>.
    u : array (k,)
        A point of U where the maximum is reached: a subgradient of h.
    multipliers : array (n,)
        lambda with u = -sum lambda_i z_i, the duals of the margin rows.
    """

    value: float
    u: Array
    multipliers: Array


def reduced_hulls(
    data: TrainingData | GramData,
    *,
    nu: float,
    class_balance: ArrayLike | str = "uniform",
    intercept: str = "free",
) -> ReducedHulls:
    """The set U of a data set.

    Raises
    ------
    ValueError
        nu outside (0, nu_max], where U is empty.
    """
    nu = checked_nu(data, nu, class_balance, intercept)
    points = augmented(data, intercept) if intercept == "penalised" else data.points.X
    signed = data.y[:, None] * points
    caps = loss_weights(data, class_balance)
    parts = [data.y > 0, data.y < 0] if intercept == "free" else [data.y != 0]
    groups = []
    for part in parts:
        own = caps[part]
        equal = bool(own.min() == own.max())
        groups.append(Group(np.flatnonzero(part), own, nu / len(parts), equal))
    return ReducedHulls(signed, caps, tuple(groups), data.y, nu)


def support(hulls: ReducedHulls, w: ArrayLike) -> Support:
    """Evaluate h at w (k,), with a point of U and multipliers that reach it."""
    scores = hulls.signed @ np.asarray(w, dtype=np.float64)
    multipliers = np.zeros(len(scores))
    for group in hulls.groups:
        taken, weights = lowest(scores[group.members], group)
        multipliers[group.members[taken]] = weights
    used = np.flatnonzero(multipliers)
    u = -(multipliers[used] @ hulls.signed[used])
    return Support(-float(multipliers[used] @ scores[used]), u, multipliers)


def support_value(hulls: ReducedHulls, w: ArrayLike) -> float:
    """h(w): the optimum over (b, rho, xi), positive, negative or 0."""
    return support(hulls, w).value


def lowest(scores: Array, group: Group) -> tuple[Index, Array]:
    """Points that hold the group's mass on its lowest scores, and how much of it each holds.

    By partition and not by a full sort, so that the cost grows as the number of points.

    Returns
    -------
    (array (j,), array (j,))
        Positions in `scores`, the highest used score last, and weights in (0, caps].
    """
    if group.equal:
        return _lowest_of_equal(scores, float(group.caps[0]), group.mass)
    rest = np.arange(len(scores))
    whole: list[Index] = []
    left, spare = group.mass, MASS_TOLERANCE * group.mass
    while len(rest) > SORT_BELOW:
        half = len(rest) // 2
        split = rest[np.argpartition(scores[rest], half)]
        below = float(group.caps[split[:half]].sum())
        if below >= left - spare:
            rest = split[:half]
        else:
            whole.append(split[:half])
            left -= below
            rest = split[half:]
    rest = rest[np.argsort(scores[rest])]
    filled = np.cumsum(group.caps[rest])
    last = min(int(np.searchsorted(filled, left - spare)), len(rest) - 1)
    taken = np.concatenate([*whole, rest[: last + 1]])
    weights = group.caps[taken]
    weights[-1] = min(weights[-1], left - (filled[last] - weights[-1]))
    return taken, weights


def _lowest_of_equal(scores: Array, cap: float, mass: float) -> tuple[Index, Array]:
    count = min(max(math.ceil(mass / cap * (1 - MASS_TOLERANCE)), 1), len(scores))
    taken = np.argpartition(scores, count - 1)[:count]
    weights = np.full(count, cap)
    weights[-1] = min(cap, mass - (count - 1) * cap)
    return taken, weights


def missing_mass(hulls: ReducedHulls) -> float:
    """How much of the masses the sort may leave out where they are nearly a multiple of the caps.

    In every direction or in none, since it depends on the caps alone where they are equal; where
    they are not, it is the tolerance of the sort.
    """
    total = 0.0
    for group in hulls.groups:
        if group.equal:
            weights = lowest(np.zeros(len(group.members)), group)[1]
            total += abs(group.mass - math.fsum(weights.tolist())) * OUTWARD
        else:
            total += MASS_TOLERANCE * group.mass
    return total


def support_error(hulls: ReducedHulls, w: ArrayLike) -> float:
    """A bound on |h(v) - h(w) as computed|, for v = w stretched to a length w has to rounding."""
    n, k = hulls.signed.shape
    longest = float((np.abs(hulls.signed) @ np.abs(np.asarray(w, dtype=np.float64))).max())
    return (growth(2 * n + 2 * k + 32) * hulls.nu + 2 * missing_mass(hulls)) * longest


def best_levels(hulls: ReducedHulls, w: ArrayLike) -> tuple[float, float, Array]:
    """Intercept b, level rho and slacks xi (n,) that are optimal for w (k,).

    Where a whole interval is optimal its middle is taken. Without a free intercept b is 0: with a
    penalised one it is the last entry of w.
    """
    scores = hulls.signed @ np.asarray(w, dtype=np.float64)
    if hulls.free:
        b, rho = nu_margin(scores * hulls.y, hulls.y, hulls.caps, hulls.nu)
    else:
        b, rho = 0.0, weighted_quantile(scores, hulls.caps, hulls.nu)
    return b, rho, np.maximum(0.0, rho - (scores + hulls.y * b))
