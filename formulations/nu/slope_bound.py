"""A number r with h(w) >= r ||w|| for every w, proven from a few points of U, without any solver.

h is the support function of U (support_function.py), so every finite set S of points of U gives
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

import numpy as np
from scipy.optimize import nnls

from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.support_function import ReducedHulls, missing_mass, support

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
