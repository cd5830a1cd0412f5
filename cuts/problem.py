"""What an outer loop of concavity cuts asks of a problem, and the answer for explicit rows.

The loop minimises a concave function over a polytope: it needs vertices of what is left, a cone
with its apex there that holds all of that, and how far the function stays above a level along a
ray. The polytope may be rows in arrays, as here, or be known by an oracle, as the polar polytope of
the extended nu-SVC is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.optimize import brentq

from tightmargin.formulations.data.arrays import Array

TIGHT = 1e-7  # relative: where a row counts as one that a vertex is on
CONDITION_LIMIT = 1e10
FARTHEST = 1e6  # of the size of a vertex: a ray is not followed beyond it
BACK_OFF = 1e-10  # of a step: so much shorter than computed


@dataclass(frozen=True, eq=False)
class Cone:
    """A vertex and a simplicial cone there that holds all that is left.

    Attributes
    ----------
    vertex : array (n,)
    rays : array (n, n)
        A ray a line: along ray j row j of the basis is left, at a rate of 1, and no other.
    rows, sides : arrays (n, n), (n,)
        a_j'x >= b_j, tight at the vertex.
    basis : array (n,)
        Numbers of these rows.
    """

    vertex: Array
    rays: Array
    rows: Array
    sides: Array
    basis: NDArray[np.int64]


class ConcaveProblem(Protocol):
    """A concave function over a polytope, some of which is cut off already."""

    def value(self, x: Array) -> float:
        """The function."""

    def gradient(self, x: Array) -> Array:
        """Its gradient, or a supergradient."""

    def vertex(self, cost: Array) -> Array | None:
        """A vertex of what is left, least in a direction; None where nothing is."""

    def cone_at(self, vertex: Array) -> Cone | None:
        """A cone with its apex at a vertex; None where no rows pin it."""

    def step(self, vertex: Array, ray: Array, level: float) -> float:
        """How far the function stays at a level or above along a ray from a vertex above it."""

    def add_cut(self, normal: Array, side: float) -> None:
        """Keep normal'x >= side only."""


def cut_at(problem: ConcaveProblem, cone: Cone, level: float) -> tuple[Array, float] | None:
    """The concavity cut normal'x >= side of a cone; None where the vertex is not above the level.

    What it removes of the cone is the simplex of the vertex and the ends of steps along its rays.
    """
    if not problem.value(cone.vertex) > level:
        return None
    farthest = FARTHEST * (1 + float(np.abs(cone.vertex).max()))
    steps = []
    for ray in cone.rays:
        length = float(np.abs(ray).max())
        steps.append(min(problem.step(cone.vertex, ray, level), farthest / length))
    prices = 1 / (np.array(steps) * (1 - BACK_OFF))
    if not np.isfinite(prices).all():
        return None
    normal, side = prices @ cone.rows, float(prices @ cone.sides) + 1.0
    size = 2.0 ** np.round(np.log2(np.abs(normal).max()))
    return normal / size, side / size


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
