"""Cones at a vertex: tight rows, extreme rays, and how far a ray stays inside a ball.

A cone {x : <g, x> <= 0 for all rows g} that holds P and the cuts so far, moved to the vertex, is
all that a concavity cut needs. Rays that too many are listed make a cut shallower, one that is
missing makes it wrong; so every doubt here is decided for a larger cone.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr

from tightmargin.formulations.data.arrays import Array, Index
from tightmargin.formulations.nu.polytope import Ties
from tightmargin.formulations.nu.reduced_hull import ReducedHulls, support

RANK_TOLERANCE = 1e-9
ON_ROW = 1e-10
MAYBE_ON_ROW = 1e-7  # enough to count as a common row of two neighbouring rays
SAME = 1e-12
MOST_TIES = 10  # of a group, for listing all vertices of its share of a face
MOST_RAYS = 3000
MOST_JOINED = 5000  # pairs of neighbours, whose rays are compared with one another
SAMPLES = 8  # directions about a vertex, for each dimension, where a face has too many vertices


def independent_rows(rows: Array, count: int) -> Index | None:
    """Numbers of `count` independent rows of length 1, or None when there are not so many."""
    if len(rows) < count:
        return None
    _, r, pivots = qr(rows.T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(r))
    if len(diagonal) < count or diagonal[count - 1] <= RANK_TOLERANCE * diagonal[0]:
        return None
    return np.asarray(pivots[:count], dtype=np.int64)


def extreme_rays(rows: Array) -> Array | None:
    """Unit rays (m, k) whose cone holds {x : rows @ x <= 0}; None when that holds a line.

    By double description: the cone of k independent rows, then one row after the other, where each
    pair of neighbouring rays on the two sides of a row gives one on it. Pairs that may be
    neighbours are all taken, so that the listed rays may be more than the extreme ones.
    """
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    k = rows.shape[1]
    basis = independent_rows(rows, k)
    if basis is None:
        return None
    rays = -np.linalg.inv(rows[basis]).T
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    done = rows[basis]
    for row in np.delete(rows, basis, axis=0):
        height = rays @ row
        above = height > ON_ROW
        if above.any():
            below = height < -ON_ROW
            tight = np.abs(rays @ done.T) <= MAYBE_ON_ROW
            common = tight[above].astype(np.int64) @ tight[below].T.astype(np.int64)
            first, second = np.nonzero(common >= k - 2)
            if len(first) > MOST_JOINED:
                return None
            up, down = rays[above][first], rays[below][second]
            joined = up * -height[below][second, None] + down * height[above][first, None]
            rays = _distinct(np.vstack([rays[~above], joined]))
            if len(rays) == 0 or len(rays) > MOST_RAYS:
                return None
        done = np.vstack([done, row])
    return np.asarray(rays, dtype=np.float64)


def _distinct(rays: Array) -> Array:
    length = np.linalg.norm(rays, axis=1)
    rays = rays[length > 0] / length[length > 0, None]
    cosines = rays @ rays.T
    earlier = np.tril(cosines > 1 - SAME, -1).any(axis=1)
    return rays[~earlier]


def steps_to_norm(vertex: Array, rays: Array, gamma: float) -> Array:
    """Steps (m,) along rays (m, k) of any length until ||vertex + step ray|| = gamma.

    Positive for a vertex shorter than gamma; infinite along a ray of length 0.
    """
    room = gamma**2 - float(vertex @ vertex)
    along, square = rays @ vertex, np.einsum("ij,ij->i", rays, rays)
    root = np.sqrt(np.maximum(along**2 + square * room, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        # Two forms of the same root: neither subtracts numbers that are nearly equal.
        steps = np.where(along > 0, room / (along + root), (root - along) / square)
    return np.where(square > 0, steps, np.inf)


def exposed_points(hulls: ReducedHulls, weight: Array, ties: tuple[Ties, ...]) -> Array:
    """Vertices (m, k) of U where <u, weight> is largest; a sample of them where they are many.

    Each is a point of U whatever the ties are, so that <u, w> <= 1 holds on all of P.
    """
    found = np.zeros((1, hulls.k))
    for group in ties:
        tail = -(hulls.caps[group.tail] @ hulls.signed[group.tail])
        if len(group.tied) > MOST_TIES:
            return _sampled_points(hulls, weight)
        shares = _shares(hulls.caps[group.tied], group.left)
        parts = tail - shares @ hulls.signed[group.tied]
        found = (found[:, None, :] + parts[None, :, :]).reshape(-1, hulls.k)
    return np.unique(found, axis=0)


def _shares(caps: Array, left: float) -> Array:
    """Vertices of {0 <= lambda <= caps, sum lambda = left}: at most one entry is in between."""
    count = len(caps)
    if count == 0:
        return np.zeros((1, 0))
    full = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
    rest = left - full @ caps
    slack = 1e-12 * float(caps.sum())
    vertices = []
    for j in range(count):
        fits = (full[:, j] == 0) & (rest >= -slack) & (rest <= caps[j] + slack)
        vertex = full[fits] * caps
        vertex[:, j] = np.clip(rest[fits], 0.0, caps[j])
        vertices.append(vertex)
    return np.unique(np.vstack(vertices), axis=0)


def _sampled_points(hulls: ReducedHulls, weight: Array) -> Array:
    rng = np.random.default_rng(0)
    near = 1e-6 * float(np.linalg.norm(weight))
    directions = rng.standard_normal((SAMPLES * hulls.k, hulls.k))
    points = [support(hulls, weight + near * direction).u for direction in directions]
    return np.unique(np.array(points), axis=0)
