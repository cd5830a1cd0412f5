"""What concavity cuts ask of a problem: the function along rays, and for a loop vertices and cones.

A cut asks for a vertex, rays of a cone there that holds all that is left, and how far a concave
function stays above a level along them. A loop asks for vertices besides. The polytope may be rows
in arrays (cuts/concave/cut_loop), or be known by an oracle and by counting ties, as the polar
polytope of the extended nu-SVC is (cuts/generation/concavity.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.optimize import brentq, linprog

from tightmargin.formulations.data.arrays import Array

TIGHT = 1e-7  # relative: where a row counts as one that a vertex is on
CONDITION_LIMIT = 1e10
WORST_CONDITION = 1e12  # of rays that are solved for
FARTHEST = 1e6  # of the size of a vertex: a ray is not followed beyond it
BACK_OFF = 1e-10  # of a step: so much shorter than computed


@dataclass(frozen=True, eq=False)
class Cone:
    """A vertex and a simplicial cone there that holds all that is left.

    vertex (n,).
    rays (n, n): a ray a line: along ray j row j of the basis is left, at a rate of 1, and no other.
    rows, sides (n, n) (n,): a_j'x >= b_j, tight at the vertex.
    basis (n,): numbers of these rows.
    """

    vertex: Array
    rays: Array
    rows: Array
    sides: Array
    basis: NDArray[np.int64]


class ConcaveFunction(Protocol):
    """What a cut asks for."""

    def value(self, x: Array) -> float:
        """The function."""

    def steps(self, vertex: Array, rays: Array, level: float) -> Array:
        """How far (m,) it stays at a level or above along rays (m, n) from a point above it."""


class ConcaveProblem(ConcaveFunction, Protocol):
    """A concave function over a polytope, some of which is cut off already."""

    def gradient(self, x: Array) -> Array:
        """Its gradient, or a supergradient."""

    def vertex(self, cost: Array) -> Array | None:
        """A vertex of what is left, least in a direction; None where nothing is."""

    def cone_at(self, vertex: Array) -> Cone | None:
        """A cone with its apex at a vertex; None where no rows pin it."""

    def add_cut(self, normal: Array, side: float) -> None:
        """Keep normal'x >= side only."""


@dataclass(frozen=True, eq=False)
class RayCut:
    """<slope, x - vertex> >= 1, which removes no more than the simplex or hull of the ends of rays.

    slope (n,).
    steps (m,): how far the function stays at the level along each ray.
    """

    slope: Array
    steps: Array


def cut_along(
    function: ConcaveFunction, vertex: Array, rays: Array, level: float, farthest: float = np.inf
) -> RayCut | None:
    """The concavity cut of a cone (m, n) at a vertex; None where that is not above the level.

    farthest: of the entries of a step: no ray is followed beyond.
    """
    if not function.value(vertex) > level:
        return None
    steps = function.steps(vertex, rays, level)
    if np.isfinite(farthest):
        steps = np.minimum(steps, farthest / np.abs(rays).max(axis=1)) * (1 - BACK_OFF)
    slope = _deepest(vertex, rays, steps)
    return None if slope is None or not np.isfinite(slope).all() else RayCut(slope, steps)


def _deepest(vertex: Array, rays: Array, steps: Array) -> Array | None:
    """A slope (n,) with <slope, ray> >= 1 / step that cuts most of the segment to the origin.

    One equation a ray in a simplicial cone. Otherwise a small linear program; where the segment
    leaves the cone, along the mean of the ends of the rays instead.
    """
    needed = 1.0 / steps
    m, n = rays.shape
    if m == n and np.linalg.cond(rays) <= WORST_CONDITION:
        return np.asarray(np.linalg.solve(rays, needed), dtype=np.float64)
    size = float(np.linalg.norm(vertex))
    for inward in (-vertex / size, (rays * (steps / steps.max())[:, None]).mean(axis=0)):
        answer = linprog(
            inward, A_ub=-rays, b_ub=-needed * size, bounds=[(None, None)] * n, method="highs"
        )
        if answer.status == 0:
            slope = np.asarray(answer.x) / size
            along = rays @ slope
            if (along > 0).all():
                return slope * max(1.0, float((needed / along).max()))
    return None


def cut_at(problem: ConcaveFunction, cone: Cone, level: float) -> tuple[Array, float] | None:
    """The concavity cut normal'x >= side of a cone; None where the vertex is not above the level.

    What it removes of the cone is the simplex of the vertex and the ends of steps along its rays.
    """
    farthest = FARTHEST * (1 + float(np.abs(cone.vertex).max()))
    found = cut_along(problem, cone.vertex, cone.rays, level, farthest)
    if found is None:
        return None
    side = float(found.slope @ cone.vertex) + 1.0
    size = 2.0 ** np.round(np.log2(np.abs(found.slope).max()))
    return found.slope / size, side / size


def simplicial_cone(rows: Array, sides: Array, x: Array) -> Cone | None:
    """The cone of n independent rows a'x >= b among those that are tight at a point."""
    n = len(x)
    size, some = np.abs(rows) @ np.abs(x) + np.abs(sides), rows.any(axis=1)
    near = np.abs(rows @ x - sides) <= TIGHT * np.maximum(size, 1e-300)
    tight = np.flatnonzero(near & some)  # a row without coefficients is tight everywhere
    if len(tight) < n:
        return None
    unit = rows[tight] / np.linalg.norm(rows[tight], axis=1, keepdims=True)
    _, R, order = qr(unit.T, mode="economic", pivoting=True)
    if abs(R[n - 1, n - 1]) * CONDITION_LIMIT < abs(R[0, 0]):
        return None
    basis = tight[order[:n]]
    matrix, right = rows[basis], sides[basis]
    return Cone(np.linalg.solve(matrix, right), np.linalg.inv(matrix).T, matrix, right, basis)


def step_of_function(
    value: Callable[[Array], float], vertex: Array, ray: Array, level: float
) -> float:
    """The step along a ray to where a concave function falls to a level, by bracketing."""
    length = (1 + float(np.abs(vertex).max())) / max(float(np.abs(ray).max()), 1e-300)
    reach = length
    while value(vertex + reach * ray) >= level:
        reach *= 2
        if reach > FARTHEST * length:
            return reach / 2

    def above(t: float) -> float:
        return value(vertex + t * ray) - level

    return float(brentq(above, 0.0, reach, xtol=1e-14 * reach)) * (1 - 1e-9)


def step_of_parabola(height: float, slope: float, bend: float) -> float:
    """The t > 0 with height + slope t - bend t^2 = 0, for a height above 0; infinity without one.

    No difference of nearly equal numbers is taken.
    """
    root = float(np.sqrt(slope * slope + 4 * bend * height))
    if slope < 0:
        return 2 * height / (root - slope)
    return (slope + root) / (2 * bend) if bend > 0 else np.inf


def local_vertex(
    problem: ConcaveProblem, cost: Array, steps: int = 50, same: float = 1e-12
) -> Array | None:
    """A vertex of what is left that no linear step improves, from the least in a direction."""
    x = problem.vertex(cost)
    for _ in range(steps):
        if x is None:
            return None
        y = problem.vertex(problem.gradient(x))
        if y is None:
            return None
        if not problem.value(y) < problem.value(x) - same * (1 + abs(problem.value(x))):
            return x
        x = y
    return x
