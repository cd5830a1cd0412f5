"""The polytope P = {w : h(w) <= 1} of the extended nu-SVC: ties, edges at a corner, its radius.

At w the scores of each group (a class; all points without a free intercept) split into the tail,
used in full, the ties at the last used score, and the rest. The ties share what mass is left, so
the face of U exposed by w is the product over the groups of

    { lambda on the ties : 0 <= lambda_i <= c_i, sum lambda_i = left },

of dimension |ties| - 1 each (0 when the ties are all used up). P is the polar of U: w / h(w) is a
corner of P when these dimensions sum to k - 1, and the edges of P there belong to the facets of
the product: one tie gets 0 and leaves the tail, or gets c_i and joins it for good. At most two
edges a tie, each from k - 1 equations: no tableau, no list of the vertices of the face, whose
number is exponential.

A number r with h(w) >= r ||w|| for every w, proven from a few points of U, without any solver.

h is the support function of U (reduced_hull.py), so every finite set S of points of U gives
h(w) >= max {<u, w> : u in S}.

0 outside the hull of S   with u its point nearest to 0, max <s, w> >= <u, w> >= -||u|| ||w||;
                          when U has no point nearer, that is the optimum over the unit sphere
0 inside                  a simplex of S that holds 0 holds a ball about it, and r is the radius;
                          a positive r proves nu < nu_bar

The nearest point comes from nonnegative least squares on ([u_1 ... u_m], 1) mu = (0, 1) (Lawson &
Hanson, Solving least squares problems, 1974, chapter 23), and S grows by the point of U in
direction -u until nothing nearer is found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.nu.reduced_hull import (
    MASS_TOLERANCE,
    ReducedHulls,
    lowest,
    missing_mass,
    support,
)

# --- Ties at a direction, and the edges of P = {w : h(w) <= 1} at a corner, by counting ----------

TIE_TOLERANCE = 1e-8  # relative to the largest score
RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Ties:
    """How one group stands at a direction.

    tail, tied: points used in full, and points at the last used score that share `left`; the others
        are not used. No point is tied when the mass ends exactly between two scores.
    left: mass for the ties: positive, and less than the sum of their caps.
    """

    tail: Index
    tied: Index
    left: float

    @property
    def dimension(self) -> int:
        """Dimension of the group's share of the exposed face."""
        return max(len(self.tied) - 1, 0)


def ties_at(
    hulls: ReducedHulls, w: ArrayLike, *, tolerance: float = TIE_TOLERANCE
) -> tuple[Ties, ...]:
    """Tail and ties of every group at w (k,).

    tolerance: scores within this share of the largest one count as equal.
    """
    scores = hulls.signed @ np.asarray(w, dtype=np.float64)
    near = tolerance * float(np.abs(scores).max())
    found = []
    for group in hulls.groups:
        members, own = group.members, scores[group.members]
        taken, _ = lowest(own, group)
        last = own[taken[-1]]
        tail, tied = members[own < last - near], members[np.abs(own - last) <= near]
        left = group.mass - float(hulls.caps[tail].sum())
        if left >= float(hulls.caps[tied].sum()) - MASS_TOLERANCE * group.mass:
            tail, tied, left = np.concatenate([tail, tied]), tied[:0], 0.0
        found.append(Ties(tail, tied, left))
    return tuple(found)


def labels(hulls: ReducedHulls, ties: tuple[Ties, ...]) -> NDArray[np.int8]:
    """Label (n,) of every point: -1 in the tail, 0 tied, +1 not used."""
    marks = np.ones(len(hulls.caps), dtype=np.int8)
    for group in ties:
        marks[group.tail] = -1
        marks[group.tied] = 0
    return marks


def is_corner(hulls: ReducedHulls, ties: tuple[Ties, ...]) -> bool:
    """Whether the ties pin the direction: their count, in general position, makes a corner of P."""
    return sum(group.dimension for group in ties) == hulls.k - 1


def edges(hulls: ReducedHulls, w: ArrayLike, ties: tuple[Ties, ...]) -> Array | None:
    """Unit directions (m, k) of the edges of P at the corner w / h(w).

    The cone they span at the corner contains P. None where the ties do not pin a corner, or are
    not in general position (equal points, say): then the count above is not the geometry.
    """
    if not is_corner(hulls, ties):
        return None
    if hulls.k == 1:
        return -np.sign(np.asarray(w, dtype=np.float64)).reshape(1, 1)
    fixed = _differences(hulls, [group.tied for group in ties])
    tails = -sum((_weighted(hulls, group.tail) for group in ties), np.zeros(hulls.k))
    found: list[Array] = []
    for g, group in enumerate(ties):
        apart = np.vstack([rows for h, rows in enumerate(fixed) if h != g] + [fixed[g][:0]])
        elsewhere = tails + sum(
            (_shared(hulls, other) for h, other in enumerate(ties) if h != g), np.zeros(hulls.k)
        )
        for i in group.tied if len(group.tied) > 1 else ():
            others = group.tied[group.tied != i]
            room = float(hulls.caps[others].sum())
            for given in (0.0, float(hulls.caps[i])):
                if not _is_facet(group.left - given, room, given, len(others)):
                    continue
                held = hulls.caps[others] * ((group.left - given) / room)
                u = elsewhere - held @ hulls.signed[others] - given * hulls.signed[i]
                rows = np.vstack([apart, *_differences(hulls, [others]), u])
                step = _null_vector(rows)
                if step is None:
                    return None
                away = float((hulls.signed[i] - hulls.signed[others[0]]) @ step)
                if abs(away) <= RANK_TOLERANCE * float(np.abs(hulls.signed[i]).max()):
                    return None
                # A tie that gets nothing leaves the tail: its score rises against the others.
                found.append(step if (away > 0) == (given == 0.0) else -step)
    return np.array(found)


def _is_facet(rest: float, room: float, given: float, others: int) -> bool:
    """Whether the other ties can share `rest` with one dimension less than before."""
    slack = MASS_TOLERANCE * (rest + room + given)
    if given > 0:
        return rest > slack
    return rest <= room + slack if others == 1 else rest < room - slack


def _weighted(hulls: ReducedHulls, members: Index) -> Array:
    return hulls.caps[members] @ hulls.signed[members]


def _shared(hulls: ReducedHulls, group: Ties) -> Array:
    """Minus the mean of the ties, weighted by what they may hold, times their mass."""
    if len(group.tied) == 0:
        return np.zeros(hulls.k)
    caps = hulls.caps[group.tied]
    return -(caps * (group.left / float(caps.sum()))) @ hulls.signed[group.tied]


def _differences(hulls: ReducedHulls, groups: list[Index]) -> list[Array]:
    """For each group, rows that vanish on a direction that keeps its points tied."""
    return [
        hulls.signed[tied[1:]] - hulls.signed[tied[0]] if len(tied) else np.zeros((0, hulls.k))
        for tied in groups
    ]


def _null_vector(rows: Array) -> Array | None:
    """Unit vector orthogonal to k - 1 independent rows (k - 1, k)."""
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    if (size == 0).any():
        return None
    _, singular, right = np.linalg.svd(rows / size)
    if singular[-1] <= RANK_TOLERANCE * singular[0]:
        return None
    return right[-1]


# --- A number r with h(w) >= r ||w|| for every w, proven from a few points of U, without any solver

ROUNDS = 200
ZERO = 1e-9  # of the size of the points: this near to 0 the hull is taken to hold it
EPS = float(np.finfo(np.float64).eps)


def proven_slope(hulls: ReducedHulls, w: Array) -> float | None:
    """r with h(v) >= r ||v|| for all v: negative, positive, or None when 0 is on the boundary.

    w (k,): where to look first; any w gives a proof, a good one a tighter number.
    """
    found, shares = _surrounded(hulls, w)
    size = float(np.abs(found).max(initial=0.0))
    if size == 0.0:
        return None
    u = shares @ found
    length = float(np.linalg.norm(u))
    if length <= ZERO * size:
        return _ball(found[shares > 0], size)
    # A point of U is a sum of n points with rounded shares, and u one of len(found) of them.
    terms = hulls.signed.shape[0] + len(found) + hulls.k
    reach = float(np.abs(hulls.signed).max())
    lost = 8 * terms * EPS + 2 * missing_mass(hulls)
    return -length - lost * float(np.sqrt(hulls.k)) * reach


def nearest_direction(hulls: ReducedHulls, w: Array) -> Array | None:
    """-u / ||u|| for the point u of U nearest to 0: h is least there over the unit sphere.

    None where U holds 0, or comes as near as rounding: h is not negative then.
    """
    found, shares = _surrounded(hulls, w)
    u = shares @ found
    length = float(np.linalg.norm(u))
    return None if length <= ZERO * float(np.abs(found).max(initial=0.0)) else -u / length


def _surrounded(hulls: ReducedHulls, w: Array) -> tuple[Array, Array]:
    """Points of U (m, k), and shares (m,) of the point of their hull that is nearest to 0."""
    directions = [*np.eye(hulls.k), *-np.eye(hulls.k), w, -w]
    found = np.array([support(hulls, v).u for v in directions])
    size = float(np.abs(found).max(initial=0.0)) or 1.0
    shares = _nearest(found / size)
    for _ in range(ROUNDS):
        u = shares @ found
        length = float(np.linalg.norm(u))
        lowest = support(hulls, -u).u
        near = float(lowest @ u) >= length**2 * (1 - 1e-9)
        if length <= ZERO * size or near:
            break
        found = np.vstack([found, lowest])
        shares = _nearest(found / size)
    return found, shares


def _nearest(points: Array) -> Array:
    """Shares (m,), sum 1, of the point of the hull nearest to 0."""
    system = np.vstack([points.T, np.ones(len(points))])
    shares, _ = nnls(system, np.r_[np.zeros(points.shape[1]), 1.0])
    return shares / shares.sum()


def _ball(corners: Array, size: float) -> float | None:
    """Radius of the ball about 0 inside a simplex; None unless 0 is well inside.

    With mu(p) the coordinates of p on the corners, mu_i(p) = a_i'p + mu_i(0): the distance to
    facet i is mu_i(0) / ||a_i||.
    """
    if len(corners) != corners.shape[1] + 1:
        return None
    system = np.vstack([corners.T / size, np.ones(len(corners))])
    if np.linalg.cond(system) > 1e9:
        return None
    inverse = np.linalg.inv(system)
    radius = size * float((inverse[:, -1] / np.linalg.norm(inverse[:, :-1], axis=1)).min())
    return radius - 1e-6 * size if radius > 2e-6 * size else None
