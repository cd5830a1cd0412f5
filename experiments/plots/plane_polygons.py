"""What the cuts of a two-dimensional run remove: the polygon P = {w : h(w) <= 1}, cut by cut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import ConvexHull

from tightmargin.cuts.cut.cut import Cut
from tightmargin.cuts.outer_loop.result import CuttingPlaneResult
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.reduced_hull import ReducedHulls, support

SAME = 1e-9  # relative: corners nearer to one another than that are one
ON_EDGE = 1e-6  # relative: a point that near to a row of P lies on its boundary


@dataclass(frozen=True, eq=False)
class Piece:
    """The part of P that a cut is the first to remove.

    polygon (m, 2): its corners in order; none where earlier cuts had removed it already.
    on_boundary (2, 2): the segments of it that lie on the boundary of P: what is removed of the
        faces of P.
    corners (c, 2): corners of P in it.
    """

    cut: Cut
    polygon: Array
    on_boundary: tuple[Array, ...]
    corners: Array


@dataclass(frozen=True, eq=False)
class PlaneRun:
    """A run in the plane.

    corners (m, 2): of P, counterclockwise.
    pieces: one for each cut, in their order.
    left (r, 2): corners of what all cuts leave of P; empty after a proof.
    best (2,): the longest weight found, on the boundary of P.
    gamma: norm up to which the last cuts may remove weights.
    """

    corners: Array
    pieces: tuple[Piece, ...]
    left: Array
    best: Array
    gamma: float


def plane_run(result: CuttingPlaneResult) -> PlaneRun:
    """Take a run apart.

    Raises ValueError: not two dimensions, an optimum of 0 (P is then unbounded), or cuts over (b,
        rho, xi).
    """
    hulls = result.problem.hulls
    if hulls.k != 2:
        raise ValueError(f"weights have {hulls.k} entries: only a run in the plane can be drawn")
    if result.space != "projected":
        raise ValueError("the cuts are over (w, b, rho, xi): space=projected has them over w")
    if not result.best.objective > 0:
        raise ValueError("the optimum is 0, so that the polytope has no end")
    corners = corners_of(hulls)
    left, pieces = corners, []
    for cut in result.cuts:
        row = result.problem.weight_part(cut.coefficients)
        pieces.append(_piece(cut, clipped(left, -row, -cut.rhs), corners))
        left = clipped(left, row, cut.rhs)
    best = result.problem.onto_boundary(result.best.weight)
    gamma = (1 + result.tolerance) / result.best.objective
    return PlaneRun(corners, tuple(pieces), left, best, gamma)


def corners_of(hulls: ReducedHulls) -> Array:
    """Corners (m, 2) of P, counterclockwise: one for each side of the polygon U.

    Scores change their order only in directions that are orthogonal to the difference of two
    points, so one direction between any two neighbours of those sees every corner of U.
    """
    first, second = np.triu_indices(len(hulls.signed), 1)
    along = hulls.signed[first] - hulls.signed[second]
    along = along[np.linalg.norm(along, axis=1) > 0]
    angles = np.arctan2(along[:, 0], -along[:, 1])
    angles = np.unique(np.concatenate([angles, angles + np.pi]) % (2 * np.pi))
    between = (angles + np.append(angles[1:], angles[0] + 2 * np.pi)) / 2
    directions = np.column_stack([np.cos(between), np.sin(between)])
    sides = ConvexHull(np.array([support(hulls, w).u for w in directions])).equations
    found = sides[:, :2] / -sides[:, 2:]
    found = found[np.argsort(np.arctan2(found[:, 1], found[:, 0]))]
    step = np.linalg.norm(found - np.roll(found, 1, axis=0), axis=1)
    return np.asarray(found[step > SAME * np.abs(found).max()])


def clipped(polygon: Array, row: Array, side: float) -> Array:
    """The part (m, 2) of a convex polygon where <row, w> <= side; empty where it has no area."""
    if len(polygon) == 0:
        return polygon
    excess = polygon @ row - side
    slack = SAME * (abs(side) + float(np.linalg.norm(row)) * float(np.abs(polygon).max()))
    if (excess >= -slack).all():
        return np.zeros((0, 2))
    kept = []
    for k, corner in enumerate(polygon):
        following, ahead = polygon[(k + 1) % len(polygon)], excess[(k + 1) % len(polygon)]
        if excess[k] <= slack:
            kept.append(corner)
        if min(excess[k], ahead) < -slack and max(excess[k], ahead) > slack:
            share = excess[k] / (excess[k] - ahead)
            kept.append(corner + share * (following - corner))
    return np.array(kept)


def distance_to_boundary(corners: Array, angles: Array) -> Array:
    """How far (m,) the polygon about 0 with these corners reaches at angles (m,)."""
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.asarray(1 / (directions @ _rows(corners).T).max(axis=1))


def _piece(cut: Cut, polygon: Array, corners: Array) -> Piece:
    if len(polygon) == 0:
        return Piece(cut, polygon, (), np.zeros((0, 2)))
    rows = _rows(corners)
    # A row of P is <row, w> <= 1.
    tight = np.abs(polygon @ rows.T - 1) <= ON_EDGE
    following = np.roll(tight, -1, axis=0)
    segments = tuple(
        np.array([polygon[k], polygon[(k + 1) % len(polygon)]])
        for k in np.flatnonzero((tight & following).any(axis=1))
    )
    return Piece(cut, polygon, segments, polygon[tight.sum(axis=1) >= 2])


def _rows(corners: Array) -> Array:
    """Rows (m, 2) of a polygon about 0, scaled to a side of 1, one for each of its sides."""
    pairs = np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)
    rows = np.linalg.solve(pairs, np.ones((len(corners), 2, 1)))
    return np.asarray(rows[:, :, 0], dtype=np.float64)
