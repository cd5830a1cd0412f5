"""A lower bound on h over the part of the unit sphere in a box, proven from multipliers alone.

For u in U, tau >= 0, sigma >= 0 and valid rows (l + u_)'w >= 1 + l'u_, a_m'w <= phi beta_m,

    h(w) >= <u, w> >= tau (1 + l'u_) - phi sigma'beta + sum_j min(r_j l_j, r_j u_j),
    r = u - tau (l + u_) + sum_m sigma_m a_m,

for every w in the box that keeps the rows. Rows a'w + alpha b + beta rho + gamma'xi <= c of an
edited model, with multipliers sigma, change what the shares of U may be: they are multipliers of
the margin rows, so that each is at most c_i + sigma'gamma_i, and the masses make up for what the
rows say of rho and b; all else is as before. Where the multipliers come from does not matter: they
are clipped, their masses made right, and the sum, taken in double precision, is lowered by more
than all its roundings can come to (gamma_n bounds; Higham, Accuracy and stability of numerical
algorithms, 2002, chapter 3).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.common.multipliers import with_total
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.support_function import ReducedHulls, missing_mass

EPS = 2.0**-52
ROOM = 1e-12  # relative


@dataclass(frozen=True, eq=False)
class Rows:
    """Cuts a_m'w <= phi beta_m that hold for every w of norm 1 with h(w) < phi.

    Attributes
    ----------
    normals : array (m, k)
    sides : array (m,)
        beta.
    """

    normals: Array
    sides: Array


@dataclass(frozen=True, eq=False)
class SideRows:
    """Rows a'w + alpha b + beta rho + gamma'xi <= c that a model has besides.

    Attributes
    ----------
    of_weight, of_xi : arrays (m, k), (m, n)
    of_b, of_rho, most : arrays (m,)
        alpha, which is 0 without a free intercept; beta; c.
    equal : array (m,) of bool
        Rows that come in pairs with their opposites.
    """

    of_weight: Array
    of_b: Array
    of_rho: Array
    of_xi: Array
    most: Array
    equal: NDArray[np.bool_]

    @property
    def has_levels(self) -> NDArray[np.bool_]:
        """Rows with b, rho or xi (m,)."""
        of_xi: NDArray[np.bool_] = (self.of_xi != 0).any(axis=1)
        return (self.of_b != 0) | (self.of_rho != 0) | of_xi

    @property
    def about_weights(self) -> bool:
        """Whether no row has b, rho or xi."""
        return not self.has_levels.any()


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Approximate multipliers of a node's linear program.

    Attributes
    ----------
    shares : array (n,)
        lambda of the points.
    secant : float
        tau.
    cuts : array (m,)
        sigma.
    beside : array, optional
        Of the rows of an edited model.
    """

    shares: Array
    secant: float
    cuts: Array
    beside: Array = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, eq=False)
class Bound:
    """What multipliers prove.

    Attributes
    ----------
    value : float
        Lower bound; minus infinity when the multipliers are no numbers.
    slope : array (k,)
        r: the bound rises by |r_j| for each unit by which a side moves inwards where r_j is
        positive (lower side) or negative (upper side).
    """

    value: float
    slope: Array


def within_prices(hulls: ReducedHulls, side: SideRows, sigma: Array) -> Array:
    """Multipliers (m,) of rows besides made smaller by one factor, until shares go with them.

    Each cap stays above 0 and each mass between 0 and the sum of its group's caps. Multipliers of
    a program lie on the edge of that, or a rounding beyond, where a slack is there for the row
    alone or a whole class is in the tail. With none of them all of it holds.
    """
    sigma = np.maximum(sigma, 0.0)
    change = sigma @ side.of_xi
    rho, b = float(sigma @ side.of_rho), float(sigma @ side.of_b)
    # Numbers that are to stay above 0, and how much of them goes.
    held, lost = [hulls.caps], [-change]
    for group in hulls.groups:
        sign = float(hulls.y[group.members[0]]) if hulls.free else 0.0
        falls = (rho - sign * b) / len(hulls.groups)
        total, more = float(group.caps.sum()), float(change[group.members].sum())
        held.append(np.array([group.mass, total - group.mass]) - ROOM * (group.mass + total))
        lost.append(np.array([falls, -more - falls]))
    have, goes = np.concatenate(held), np.concatenate(lost)
    falling = goes > 0
    least = float((have[falling] / goes[falling]).min(initial=np.inf))
    return sigma * max(least * (1 - ROOM), 0.0) if least < 1 + ROOM else sigma


def hulls_beside(
    hulls: ReducedHulls, side: SideRows, sigma: Array
) -> tuple[ReducedHulls, float] | None:
    """U as multipliers (m,) of rows besides change it, and how far its masses may be off.

    The caps are rounded down. None where they do not reach the mass of a group, or that is not
    positive: then no shares go with these multipliers.
    """
    if side.about_weights or not sigma.any():
        return hulls, 0.0
    each = np.abs(sigma) * (np.abs(side.of_b) + np.abs(side.of_rho))
    off = EPS * (len(sigma) + 8) * (hulls.nu + float(each.sum()))
    terms = hulls.caps + np.abs(sigma) @ np.abs(side.of_xi)
    caps = hulls.caps + sigma @ side.of_xi - EPS * (len(sigma) + 4) * terms
    rho, b = float(sigma @ side.of_rho), float(sigma @ side.of_b)
    groups = []
    for group in hulls.groups:
        sign = float(hulls.y[group.members[0]]) if hulls.free else 0.0
        mass = (hulls.nu - rho + sign * b) / len(hulls.groups)
        own = caps[group.members]
        most = float(own.sum()) * (1 - EPS * len(own)) - off
        if not (off <= mass <= most and float(own.min()) >= 0):
            return None
        groups.append(replace(group, caps=own, mass=mass, equal=False))
    return replace(hulls, caps=caps, groups=tuple(groups)), off


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
    side: SideRows | None = None,
) -> Bound:
    """Lower bound on h over {w in the box, ||w|| = 1, w keeps the rows}.

    With rows besides it is one on the objective where they are kept as well.

    Parameters
    ----------
    size : float
        `largest_entry` of the hulls.
    level : float
        phi of the rows: the bound holds where h(w) < level, and h(w) >= level elsewhere.
    side : SideRows, optional
        `found.beside` are its multipliers.
    """
    lower, upper = box
    k, off, of_side = len(lower), 0.0, 0.0
    if side is not None:
        beside = within_prices(hulls, side, found.beside)
        changed = hulls_beside(hulls, side, beside)
        if changed is None:
            return Bound(-np.inf, np.zeros(k))
        hulls, off = changed
    sigma, tau = np.maximum(found.cuts, 0.0), max(0.0, found.secant)
    product = float(lower @ upper)
    slope = member(hulls, found.shares) - tau * (lower + upper)
    value, reach = tau * (1.0 + product), np.maximum(np.abs(lower), np.abs(upper))
    width, of_cuts = float(reach.sum()), 0.0
    if side is not None:
        slope = slope + beside @ side.of_weight
        value -= float(beside @ side.most)
        of_side = float(beside @ (np.abs(side.of_weight) @ reach + np.abs(side.most)))
    if len(sigma):
        slope = slope + sigma @ rows.normals
        value -= level * float(sigma @ rows.sides)
        of_cuts = float(sigma @ (np.abs(rows.normals) @ reach + abs(level) * np.abs(rows.sides)))
    value += float(np.minimum(slope * lower, slope * upper).sum())
    mass = max(hulls.nu, sum(group.mass for group in hulls.groups))
    slack = (point_error(replace(hulls, nu=mass), size) + off * size) * width
    slack += EPS * (4 * k + 4 * len(found.beside) + 40) * of_side
    slack += EPS * (4 * k + 40) * tau * (1.0 + 4.0 * float(reach @ reach))
    slack += EPS * (4 * k + 4 * len(sigma) + 40) * of_cuts
    value -= slack
    return Bound(value if np.isfinite(value) else -np.inf, slope)
