"""Concavity cuts for branch and cut: proven with every rounding counted, on the sphere.

At a corner v of P take k independent points u_j of U with <u_j, v> = 1, and B the inverse of the
matrix G of these rows: P lies in the cone v - cone(B_1, ..., B_k). With 1 / mu_j the step along
-B_j to a weight of norm gamma the concavity cut (concavity.py) is sum_j mu_j (1 - <u_j, w>) >= 1.
The objective being homogeneous, it reads for ||w|| = 1 and h(w) < phi

    <a, w> <= phi beta,    a = sum_j mu_j u_j,    beta = sum_j mu_j - 1:

otherwise phi - <u_j, w> > 0 and sum_j mu_j (phi - <u_j, w>) < phi put w into the hull of phi v and
phi (v - B_j / mu_j), whose norms are below 1. That is what is checked here, for an inverse and for
points of U that are only known up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from tightmargin.cuts.cut.cut import Cut, Kind
from tightmargin.cuts.cut.origin import CutOrigin
from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.cuts.cut.scaling import scaled_cut
from tightmargin.cuts.generation.cone import exposed_points, independent_rows, steps_to_norm
from tightmargin.cuts.spatial_branching.node_bound import EPS, largest_entry, sorted_point_error
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.polytope import edges, ties_at
from tightmargin.formulations.nu.reduced_hull import ReducedHulls, support_value
from tightmargin.solvers.errors import NumberError

SHORTER = 1e-9  # of gamma: by so much the norms stay below it
EXTRA_TIES = 3  # beyond general position: with more, a face has too many vertices to list
LEAST_DEPTH = 1e-4  # of the corner's norm
WORST = 1e-3  # residual of an inverse beyond which nothing is claimed


@dataclass(frozen=True, eq=False)
class SphereCut:
    """<normal, w> <= phi side for every w of norm 1 with h(w) < phi, for phi in (level / 2, level].

    points (k, k): u_j.
    vertex, rays, theta: apex v, directions -B_j of length 1, and steps along them.
    depth: distance from v to the cut over the norm of v.
    """

    normal: Array
    side: float
    points: Array
    vertex: Array
    rays: Array
    theta: Array
    gamma: float
    depth: float
    level: float


def sphere_cut(hulls: ReducedHulls, weight: Array, level: float) -> SphereCut | None:
    """The cut at the corner of P along a weight, or None where none can be proven.

    level: objective below which every point is kept; at most that of the weight.
    """
    rows = _cone_rows(hulls, weight)
    if rows is None:
        return None
    inverse: Array = np.asarray(np.linalg.inv(rows), dtype=np.float64)
    vertex, gamma = inverse.sum(axis=1), (1 - SHORTER) / level
    if not float(np.linalg.norm(vertex)) < gamma:
        return None
    length = np.linalg.norm(inverse, axis=0)
    rays = -(inverse / length).T
    theta = steps_to_norm(vertex, rays, gamma)
    mu = length / theta
    error = _inverse_error(rows, inverse)
    if error is None or not _norms_below(hulls, rows, inverse, mu, level, error):
        return None
    normal = mu @ rows
    rounding = 4 * np.sqrt(hulls.k) * sorted_point_error(hulls, largest_entry(hulls))
    side = float(mu.sum()) - 1.0 + rounding * float(mu.sum()) / level
    side += EPS * 8 * hulls.k * (1 + float(mu.sum()))
    scale = float(np.linalg.norm(normal))
    depth = 1.0 / (scale * float(np.linalg.norm(vertex)))
    if depth < LEAST_DEPTH:
        return None
    return SphereCut(normal / scale, side / scale, rows, vertex, rays, theta, gamma, depth, level)


def in_general_position(hulls: ReducedHulls, weight: Array) -> bool:
    """Whether the ties at a corner are as many as pin it, so that its edges can be counted."""
    return edges(hulls, weight, ties_at(hulls, weight)) is not None


def _cone_rows(hulls: ReducedHulls, weight: Array) -> Array | None:
    """k independent points of U exposed by a weight, whose simplex holds v / ||v||^2 if it can.

    Then no ray of their cone makes the norm grow, and the cut is deep.
    """
    ties = ties_at(hulls, weight)
    if sum(len(group.tied) for group in ties) > hulls.k + 1 + EXTRA_TIES:
        return None
    points = exposed_points(hulls, weight, ties)
    value = support_value(hulls, weight)
    if len(points) < hulls.k or not value > 0:
        return None
    foot = weight * (value / float(weight @ weight))
    size = float(np.abs(points).max())
    shares, _ = nnls(points.T / size, foot / size)
    chosen = np.flatnonzero(shares > 0)
    if len(chosen) != hulls.k:
        unit = points / np.linalg.norm(points, axis=1, keepdims=True)
        found = independent_rows(unit, hulls.k)
        if found is None:
            return None
        chosen = found
    rows = points[chosen]
    return rows if np.linalg.cond(rows) < 1e8 else None


def _inverse_error(rows: Array, inverse: Array) -> float | None:
    """Largest relative error of a computed inverse: ||G^-1 - B|| <= that times ||B||."""
    k = len(rows)
    residual = np.abs(np.eye(k) - rows @ inverse) + 2 * k * EPS * (np.abs(rows) @ np.abs(inverse))
    norm = float(residual.sum(axis=1).max()) * k  # bounds every norm of the residual
    return None if norm > WORST else norm / (1 - norm)


def _norms_below(
    hulls: ReducedHulls, rows: Array, inverse: Array, mu: Array, level: float, error: float
) -> bool:
    """Whether the corners of what is removed, times level, have norms below 1 in truth."""
    slack = 2 * np.sqrt(hulls.k) * sorted_point_error(hulls, largest_entry(hulls))
    size = float(np.linalg.norm(inverse))
    vertex = inverse.sum(axis=1)
    apex = float(np.linalg.norm(vertex)) + np.sqrt(hulls.k) * (error + 4 * EPS) * size
    ends = np.linalg.norm(vertex[:, None] - inverse / mu, axis=0)
    ends = ends + (np.sqrt(hulls.k) + 1 / mu) * (error + 4 * hulls.k * EPS) * size
    worst = max(apex, float(ends.max()))
    return bool((level + slack) * worst + slack * apex < 1)


def as_cut(problem: PolarProblem, found: SphereCut, unit: float, number: int) -> Cut | None:
    """The same cut over the polytope of a problem, whose points are `unit` times these."""
    origin = CutOrigin(
        problem.fingerprint, "projected", found.vertex / unit, found.rays, found.theta / unit,
        found.gamma / unit, found.depth * float(np.linalg.norm(found.vertex)) / found.gamma,
        cone=found.points * unit, sides=np.ones(len(found.points)),
    )  # fmt: skip
    # Points w of P with norm above gamma: w / ||w|| has h below 1 / gamma, about the level.
    side = found.side / unit
    try:
        cut = scaled_cut(Kind.CONCAVITY, problem.split(found.normal), side, origin)
    except NumberError:
        return None
    return cut.numbered(number, 0)
