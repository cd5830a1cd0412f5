"""Concavity cuts (Tuy) with gamma extension, over weights.

At a vertex v of P and the cuts so far, a cone v + cone(d_1, ..., d_m) holds everything that is
left. With theta_j the step along d_j to a weight of norm gamma and alpha such that
<alpha, d_j> >= 1 / theta_j, the cut is

    <alpha, w - v> >= 1.

What it removes lies in conv(v, v + d_j / <alpha, d_j>), whose corners have norm gamma at most; the
norm is convex, so no weight longer than gamma is lost (Horst & Tuy, Global Optimization, 1995).
With gamma a little above the longest weight known, nothing better than that by more than the
tolerance is lost, and cuts stay valid when a longer weight is found.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tightmargin.cuts.cut.cut import Cut, Kind
from tightmargin.cuts.cut.origin import CutOrigin
from tightmargin.cuts.cut.polar_problem import PolarProblem
from tightmargin.cuts.cut.scaling import scaled_cut
from tightmargin.cuts.generation.cone import (
    exposed_points,
    extreme_rays,
    independent_rows,
    steps_to_norm,
)
from tightmargin.cuts.problem import cut_along
from tightmargin.formulations.data.arrays import Array
from tightmargin.formulations.nu.polytope import edges, ties_at
from tightmargin.formulations.nu.reduced_hull import support_value
from tightmargin.solvers.errors import NumberError

TIGHT = 1e-8  # relative: where a linear program's solution counts as on a row
BACK_OFF = 1e-9  # of gamma: by so much every cut is weakened against rounding
CONDITION_LIMIT = 1e12
ROUNDING = 1e-14
STRETCH = 1e-7  # a vertex is moved out by less than that, relative, or has the wrong rows


@dataclass(frozen=True, eq=False)
class Apex:
    """A vertex with a cone that holds P and the cuts so far.

    Attributes
    ----------
    vertex : array (k,)
        On or a rounding beyond every row of the cone.
    rays : array (m, k)
        Unit directions.
    parents : tuple of int
        Numbers of the cuts among the rows.
    corner : bool
        Whether it is a corner of P, no cut being among the rows.
    rows, sides : arrays (r, k), (r,)
        The rows of the cone, of norm 1.
    """

    vertex: Array
    rays: Array
    parents: tuple[int, ...]
    corner: bool
    rows: Array
    sides: Array


class Shortness:
    """-||w||^2, the concave function that is least at the longest weight (cuts/problem.py)."""

    def value(self, x: Array) -> float:
        """At a weight (k,)."""
        return -float(x @ x)

    def steps(self, vertex: Array, rays: Array, level: float) -> Array:
        """To the ball of squared radius -level."""
        return steps_to_norm(vertex, rays, math.sqrt(-level))


def tight_rows(
    problem: PolarProblem, weight: Array, earlier: Sequence[Cut]
) -> tuple[Array, Array, tuple[int, ...]]:
    """Rows (m, k) and sides (m,) that hold on P and the cuts, and are tight at a weight.

    Cuts over weights only; the numbers of those that are tight come last.
    """
    rows, sides, parents = [], [], []
    if support_value(problem.hulls, weight) >= 1 - TIGHT:
        points = exposed_points(problem.hulls, weight, ties_at(problem.hulls, weight))
        rows += list(points)
        sides += [1.0] * len(points)
    values = problem.split(weight)
    for cut in earlier:
        if abs(cut.violation(values)) <= TIGHT * max(cut.size_at(values), 1e-300):
            rows.append(problem.weight_part(cut.coefficients))
            sides.append(cut.rhs)
            parents.append(cut.number)
    k = problem.hulls.k
    return np.array(rows).reshape(-1, k), np.array(sides), tuple(parents)


def apex_at(problem: PolarProblem, weight: Array, earlier: Sequence[Cut] = ()) -> Apex | None:
    """The vertex at a weight (k,) and its cone; None where the tight rows pin no vertex.

    Corners of P where no cut is tight have their edges by counting ties; any other vertex has the
    cone of all tight rows, simplicial or not, or that of k independent ones.
    """
    rows, sides, parents = tight_rows(problem, weight, earlier)
    k = problem.hulls.k
    if len(rows) == 0:
        return None
    length = np.linalg.norm(rows, axis=1)
    if (length == 0).any():
        return None
    unit, sides = rows / length[:, None], sides / length
    basis = independent_rows(unit, k)
    if basis is None or np.linalg.cond(unit[basis]) > CONDITION_LIMIT:
        return None
    vertex = np.linalg.solve(unit[basis], sides[basis])
    if np.linalg.norm(vertex - weight) > 1e-5 * np.linalg.norm(weight):
        return None
    # Rows that the vertex does not quite reach would not hold there: it is moved out to them, or
    # they are left out, which makes the cone larger.
    reach = unit @ vertex
    stretch = np.ones(len(unit))
    movable = (sides > 0) & (reach > 0)
    stretch[movable] = np.maximum(1.0, sides[movable] / reach[movable])
    movable &= stretch <= 1 + STRETCH
    vertex = vertex * (float(stretch[movable].max(initial=1.0)) * (1 + ROUNDING))
    kept = unit @ vertex >= sides
    if not parents:
        ties = ties_at(problem.hulls, weight)
        rays = edges(problem.hulls, vertex, ties)
        if rays is not None and kept.all():
            return Apex(vertex, rays, parents, True, unit, sides)
    rays = extreme_rays(unit[kept])
    used: NDArray[Any] = kept
    if rays is None or len(rays) == 0:
        used = basis
        vertex = np.linalg.solve(unit[basis], sides[basis])
        rays = -np.linalg.inv(unit[basis]).T
        rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    return Apex(vertex, rays, parents, not parents, unit[used], sides[used])


def concavity_cut(
    problem: PolarProblem,
    weight: Array,
    gamma: float,
    earlier: Sequence[Cut] = (),
    reach: float | None = None,
) -> Cut | None:
    """The concavity cut at the vertex of P and earlier cuts next to a weight (k,).

    Parameters
    ----------
    problem : PolarProblem
        The extended nu-SVC whose polytope P is cut.
    weight : array (k,)
        Near a vertex of P.
    gamma : float
        Weights longer than that are kept; at least the norm of the vertex.
    earlier : sequence of Cut
        Cuts over weights that hold with P.
    reach : float, optional
        Longest weight of P, for coefficients too small to be kept.

    Returns
    -------
    Cut or None
        None where the weight is no vertex as far as the numbers tell, or is longer than gamma.

    Examples
    --------
    >>> import tightmargin as tm
    >>> data = tm.data.outlier_data("clustered", n=12, d=2, sigma=0.5, seed=1)
    >>> found = tm.search.cutting_plane(data, nu=0.1)
    >>> corner = found.cuts[0].origin.vertex
    >>> cut = tm.cuts.concavity_cut(found.problem, corner, found.cuts[0].origin.gamma)
    >>> cut.violation({"w": corner}) > 0
    True
    """
    found = apex_at(problem, weight, earlier)
    cut = None if found is None else cut_along(Shortness(), found.vertex, found.rays, -(gamma**2))
    if found is None or cut is None:
        return None
    theta, alpha = cut.steps, cut.slope
    length = float(np.linalg.norm(alpha))
    rhs = -1.0 - float(alpha @ found.vertex) + BACK_OFF * length * gamma
    origin = CutOrigin(
        problem.fingerprint, "projected", found.vertex, found.rays, theta, gamma,
        depth=1.0 / (length * gamma), parents=found.parents, cone=found.rows, sides=found.sides,
    )  # fmt: skip
    most = None if reach is None else problem.split(np.full(len(weight), reach))
    try:
        return scaled_cut(Kind.CONCAVITY, problem.split(-alpha), rhs, origin, most)
    except NumberError:
        return None
