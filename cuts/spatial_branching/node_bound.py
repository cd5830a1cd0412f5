"""A lower bound on h over the part of the unit sphere in a box, proven from multipliers alone.

For u in U, tau >= 0, sigma >= 0 and valid rows (l + u_)'w >= 1 + l'u_, a_m'w <= phi beta_m,

    h(w) >= <u, w> >= tau (1 + l'u_) - phi sigma'beta + sum_j min(r_j l_j, r_j u_j),
    r = u - tau (l + u_) + sum_m sigma_m a_m,

for every w in the box that keeps the rows. Where the multipliers come from does not matter: they
are clipped, their masses made right, and the sum, taken in double precision, is lowered by more
than all its roundings can come to (gamma_n bounds; Higham, Accuracy and stability of numerical
algorithms, 2002, chapter 3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tightmargin.formulations.common.hyperplane import with_total
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.reduced_hull import ReducedHulls, missing_mass

EPS = 2.0**-52


@dataclass(frozen=True, eq=False)
class Rows:
    """Cuts a_m'w <= phi beta_m that hold for every w of norm 1 with h(w) < phi.

    normals (m, k).
    sides (m,): beta.
    """

    normals: Array
    sides: Array


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Approximate multipliers of a node's linear program.

    shares (n,): lambda of the points.
    secant: tau.
    cuts (m,): sigma.
    """

    shares: Array
    secant: float
    cuts: Array


@dataclass(frozen=True, eq=False)
class Bound:
    """What multipliers prove.

    value: lower bound; minus infinity when the multipliers are no numbers.
    slope (k,): r: the bound rises by |r_j| for each unit by which a side moves inwards where r_j is
        positive (lower side) or negative (upper side).
    """

    value: float
    slope: Array


def largest_entry(hulls: ReducedHulls) -> float:
    """Largest |z_ij|."""
    return float(np.abs(hulls.signed).max())


def point_error(hulls: ReducedHulls, size: float) -> float:
    """How far each entry of a computed -sum lambda_i z_i may be from that of a point of U.

    Rounding of the sum, of the masses and of centred data: each at most n roundings of a number of
    size mass * largest entry.
    """
    n, k = hulls.signed.shape
    return EPS * (2 * n + 2 * k + 20) * hulls.nu * size


def sorted_point_error(hulls: ReducedHulls, size: float) -> float:
    """The same for points whose masses the sort gave, which may leave a little of them out."""
    return point_error(hulls, size) + missing_mass(hulls) * size


def member(hulls: ReducedHulls, shares: Array) -> Array:
    """Point (k,) of U next to -sum_i shares_i z_i: shares clipped, masses made right."""
    shares = np.minimum(np.maximum(shares, 0.0), hulls.caps)
    for group in hulls.groups:
        shares[group.members] = with_total(shares[group.members], group.caps, group.mass)
    used = np.flatnonzero(shares)
    return -(shares[used] @ hulls.signed[used])


def proven_bound(
    hulls: ReducedHulls,
    size: float,
    found: Multipliers,
    box: tuple[Array, Array],
    rows: Rows,
    level: float,
) -> Bound:
    """Lower bound on h over {w in the box, ||w|| = 1, w keeps the rows}.

    size: `largest_entry` of the hulls.
    level: phi of the rows: the bound holds where h(w) < level, and h(w) >= level elsewhere.
    """
    lower, upper = box
    k = len(lower)
    sigma, tau = np.maximum(found.cuts, 0.0), max(0.0, found.secant)
    product = float(lower @ upper)
    slope = member(hulls, found.shares) - tau * (lower + upper)
    value, reach = tau * (1.0 + product), np.maximum(np.abs(lower), np.abs(upper))
    width, of_cuts = float(reach.sum()), 0.0
    if len(sigma):
        slope = slope + sigma @ rows.normals
        value -= level * float(sigma @ rows.sides)
        of_cuts = float(sigma @ (np.abs(rows.normals) @ reach + abs(level) * np.abs(rows.sides)))
    value += float(np.minimum(slope * lower, slope * upper).sum())
    slack = point_error(hulls, size) * width
    slack += EPS * (4 * k + 40) * tau * (1.0 + 4.0 * float(reach @ reach))
    slack += EPS * (4 * k + 4 * len(sigma) + 40) * of_cuts
    value -= slack
    return Bound(value if np.isfinite(value) else -np.inf, slope)
