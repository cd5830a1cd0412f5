"""Whether simplices enclose a ball about 0, decided without trusting whoever listed them.

If each ridge belongs to an even number of simplices and one direction in general position meets an
odd number of their cones, every direction meets one: the surface projected on the sphere is a
cycle modulo 2 of odd degree, hence onto. So the hull of the points holds the ball whose radius is
the least distance of a simplex to 0; and for any p every point x of a simplex has
||x|| >= min_i <u_i, p> / ||p||, whatever errors p has.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tightmargin.formulations.data.arrays import Array, Index

TRIES = 20
CLEAR = 1e-7  # a coordinate in a cone nearer to 0 than that, relative, leaves the sign open
SINGULAR = 1e-9  # relative
ROUNDING = 1e-14  # relative, of an inner product of a few numbers


def enclosed_radius(points: Array, simplices: Index, normals: Array) -> float | None:
    """Radius of a ball about 0 inside the hull of points (m, k); None when none is proven.

    simplices (f, k): rows of `points`.
    normals (f, k): a guess of the outer normal of each simplex.
    """
    corners = points[simplices]
    distance = np.maximum(_distance(corners, normals), _distance(corners, own_normals(corners)))
    radius = float(distance.min())
    if not radius > 0 or not _ridges_are_even(simplices) or not _covers_once(corners):
        return None
    return radius


def _distance(corners: Array, normals: Array) -> Array:
    """Lower bounds (f,) on the distances of simplices from 0; minus infinity without a normal."""
    length = np.linalg.norm(normals, axis=1)
    usable = (length > 0) & np.isfinite(length)
    unit = normals / np.where(usable, length, 1.0)[:, None]
    heights = np.einsum("fij,fj->fi", corners, unit).min(axis=1)
    size = np.abs(corners).sum(axis=2).max(axis=1)
    return np.where(usable, heights - ROUNDING * corners.shape[1] * size, -np.inf)


def own_normals(corners: Array) -> Array:
    """p (f, k) with <u_i, p> = 1 on each simplex; nan where the equations are singular."""
    found = np.full(corners.shape[:2], np.nan)
    regular = _regular(corners)
    ones = np.ones((int(regular.sum()), corners.shape[1], 1))
    found[regular] = np.linalg.solve(corners[regular], ones)[:, :, 0]
    return found


def _regular(corners: Array) -> NDArray[np.bool_]:
    singular = np.linalg.svd(corners, compute_uv=False)
    return singular[:, -1] > SINGULAR * singular[:, 0]


def _ridges_are_even(simplices: Index) -> bool:
    k = simplices.shape[1]
    ordered = np.sort(simplices, axis=1)
    ridges = np.vstack([np.delete(ordered, j, axis=1) for j in range(k)])
    if k == 1:
        return len(simplices) % 2 == 0
    _, counts = np.unique(ridges, axis=0, return_counts=True)
    return not (counts % 2).any()


def _covers_once(corners: Array) -> bool:
    """Whether a direction in general position lies in an odd number of cones."""
    rng = np.random.default_rng(0)
    regular = _regular(corners)
    inverse = np.linalg.inv(corners[regular])
    flat = np.linalg.svd(corners[~regular])[2][:, -1, :]
    for _ in range(TRIES):
        direction = np.asarray(rng.standard_normal(corners.shape[1]))
        direction = direction * (1.0 / float(np.linalg.norm(direction)))
        # In the cone exactly if all coordinates on the corners are positive.
        shares = np.einsum("j,fji->fi", direction, inverse) / np.linalg.norm(inverse, axis=1)
        if (np.abs(flat @ direction) > CLEAR).all():
            outside = (shares < -CLEAR).any(axis=1)
            inside = (shares > CLEAR).all(axis=1)
            if (outside | inside).all():
                return bool(inside.sum() % 2 == 1)
    return False
